/* SPDX-License-Identifier: MIT */
/* Decodes the program's instructions with the decoder's library, and keeps what the later stages
 * need. */
#include <fcntl.h>

#include "x86/opcode.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/elf.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/marks.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/decode.h"
#include "engine/shared.h"
#include "engine/translate/build.h"
#include "engine/core/once.h"
#include "engine/os/sys.h"

static ZydisDecoder decoder;
static ZyanStatus (*decode)(const ZydisDecoder *, ZydisDecoderContext *, const void *, ZyanUSize,
			    ZydisDecodedInstruction *);
static ZyanStatus (*decode_operands)(const ZydisDecoder *, const ZydisDecoderContext *,
				     const ZydisDecodedInstruction *, ZydisDecodedOperand *,
				     ZyanU8);

/* Memory at fs while the decoder's library runs, which reads a stack canary there. */
static uint64_t decoder_tls[16];
#define CANARY 0x28 /* its distance from the thread pointer: the psABI for x86-64 */

static void library_failed(void)
{
	die("the decoder failed");
}

static uint64_t resolve(const char *name)
{
	if (!strcmp(name, "memcpy"))
		return (uint64_t)memcpy;
	if (!strcmp(name, "memset"))
		return (uint64_t)memset;
	if (!strcmp(name, "strlen"))
		return (uint64_t)strlen;
	if (!strcmp(name, "__assert_fail") || !strcmp(name, "__stack_chk_fail"))
		return (uint64_t)library_failed;
	return 0;
}

static const char *const library_paths[] = {
	"/usr/lib/x86_64-linux-gnu/libZydis.so.4.0",
	"/usr/lib64/libZydis.so.4.0",
	"/usr/lib/libZydis.so.4.0",
	"/usr/local/lib/libZydis.so.4.0",
};

void decode_init(void)
{
	struct library lib;
	ZyanStatus (*init)(ZydisDecoder *, ZydisMachineMode, ZydisStackWidth);
	long fd = -1;

	for (unsigned i = 0; i < 4 && fd < 0; i++)
		fd = sys(__NR_openat, AT_FDCWD, library_paths[i], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_load_library((int)fd, &lib, resolve))
		die("cannot load libZydis.so.4.0: install libzydis4.0");
	sys(__NR_close, fd);
	init = (void *)elf_symbol(&lib, "ZydisDecoderInit");
	decode = (void *)elf_symbol(&lib, "ZydisDecoderDecodeInstruction");
	decode_operands = (void *)elf_symbol(&lib, "ZydisDecoderDecodeOperands");
	init(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

void library_enter(struct thread *t)
{
	t->in_library = false;
}

void library_leave(struct thread *t)
{
	if (!t->in_library)
		return;
	rt_load_xmm(t->xmm);
	if (t->fs_aside)
		set_fs_base(t->fs_base);
}

/* Whether the program's own thread pointer leads to a readable word for the library's stack protector. */
static bool has_canary(const struct thread *t)
{
	uint64_t word;

	return rt_copy(&word, (const void *)(fs_base(t) + CANARY), sizeof(word));
}

/* Called before each call of the library, which is compiled for SSE2 and a stack protector. */
static void use_library(void)
{
	struct thread *t = self();

	if (t->in_library)
		return;
	t->in_library = true;
	/* two system calls for each use of the library are saved where they can be */
	t->fs_aside = has_fsgsbase || !has_canary(t);
	if (t->fs_aside) {
		t->fs_base = fs_base(t);
		set_fs_base((uint64_t)decoder_tls);
	}
	rt_save_xmm(t->xmm);
}

/* Whether the instruction writes the same flags with every count except 0, with which it keeps
 * them. */
static bool shifts(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		return true;
	default:
		return false;
	}
}

static bool keeps_flags_sometimes(const ZydisDecodedInstruction *d)
{
	if (shifts(d)) /* a shift by an immediate, for which see shift_flags, or by one */
		return !d->raw.imm[0].size && (d->opcode & 0xfe) != 0xd0;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
		return true;
	default:
		return d->attributes &
		       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	}
}

static enum kind control(const ZydisDecodedInstruction *d)
{
	bool far = d->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return LOOP;
	case ZYDIS_MNEMONIC_JMP:
		return far ? ODD : d->raw.imm[0].is_relative ? JUMP : JUMP_INDIRECT;
	case ZYDIS_MNEMONIC_CALL:
		return far ? ODD : d->raw.imm[0].is_relative ? CALL : CALL_INDIRECT;
	case ZYDIS_MNEMONIC_RET:
		return far ? ODD : d->raw.imm[0].size ? RET_POP : RET;
	case ZYDIS_MNEMONIC_SYSCALL:
		return SYSCALL;
	case ZYDIS_MNEMONIC_RDGSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSENTER:
		return ODD;
	case ZYDIS_MNEMONIC_MOV: /* a write to gs, which belongs to the engine */
		return d->opcode == 0x8e && d->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
				       d->raw.modrm.reg == 5
			       ? ODD
			       : PLAIN;
	case ZYDIS_MNEMONIC_POP:
		return d->opcode_map == ZYDIS_OPCODE_MAP_0F && d->opcode == 0xa9 ? ODD : PLAIN;
	case ZYDIS_MNEMONIC_LGS:
		return ODD;
	case ZYDIS_MNEMONIC_INT:
		return d->raw.imm[0].value.u == 0x80 ? ODD : PLAIN;
	default:
		return d->meta.category == ZYDIS_CATEGORY_COND_BR && d->raw.imm[0].is_relative
			       ? BRANCH
			       : PLAIN;
	}
}

/*
 * What the library said of instructions of one kind: a word each, so that threads may read them while another one adds
 * to them.
 *
 *   63       known
 *   59..48   flags written
 *   43..32   flags read
 *   31..28   bytes of immediate
 *   27       the immediate is relative
 *   26       the instruction shifts
 *   23..16   kind
 */
#define KNOWN (1ull << 63)
#define KNOWN_FLAGS 0xfff
#define KNOWN_RELATIVE (1u << 27)
#define KNOWN_SHIFTS (1u << 26)
#define KNOWN_PARTS (KNOWN_RELATIVE | KNOWN_SHIFTS | 0xff0000)
_Static_assert(!(FLAGS_ALL & ~KNOWN_FLAGS), "flags");
static uint8_t opcode_operands[OPCODES];
static uint64_t known[OPCODE_KEYS];

/* Returns the flags that a shift writes: by an immediate, the count may be 0. */
static void shift_flags(struct insn *in, const uint8_t *p)
{
	if (in->imm && !(p[in->imm] & 31))
		in->writes = 0;
}

/* Decodes an instruction of a known kind. Kinds without a key are never known. The offsets of an
 * instruction's parts are left out if the instruction stays unchanged. */
static inline __attribute__((always_inline)) bool decode_known(struct insn *in, const uint8_t *p,
							       uint64_t pc)
{
	struct opcode o;
	unsigned operand, imm;
	bool rip = false;
	uint64_t k;

	opcode_begin(&o, p);
	operand = __atomic_load_n(&opcode_operands[o.number], __ATOMIC_RELAXED);
	if (operand == OPCODE_MODRM) {
		opcode_operand(&o, p);
		rip = (p[o.modrm] & 0xc7) == 5;
	} else if (operand == OPCODE_UNKNOWN) {
		return false;
	}
	k = __atomic_load_n(&known[o.key], __ATOMIC_RELAXED);
	if (!k)
		return false;
	imm = k >> 28 & 15;
	in->len = (uint8_t)(o.end + imm);
	in->kind = k >> 16 & 0xff;
	in->reads = k >> 32 & KNOWN_FLAGS;
	in->writes = k >> 48 & KNOWN_FLAGS;
	_Static_assert(PLAIN == 0, "in KNOWN_PARTS");
	if (!(k & KNOWN_PARTS) && !rip)
		return true;
	in->modrm = (uint8_t)o.modrm;
	in->disp = (uint8_t)o.disp;
	in->imm = (uint8_t)(imm ? o.end : 0);
	in->rex = (uint8_t)o.rex;
	in->gs = in->narrow = false;
	in->rip = rip;
	if (rip && in->kind == PLAIN)
		in->kind = MEMORY;
	if (k & KNOWN_SHIFTS)
		shift_flags(in, p);
	if (k & KNOWN_RELATIVE) {
		int32_t near;

		__builtin_memcpy(&near, p + o.end, sizeof(near));
		in->target = pc + in->len;
		in->target += (uint64_t)(imm == 1 ? (int8_t)p[o.end] : (int64_t)near);
	}
	return true;
}

static void remember(const struct insn *in, const ZydisDecodedInstruction *d, const uint8_t *p)
{
	unsigned kind = in->kind == MEMORY ? PLAIN : in->kind, imm = d->raw.imm[0].size / 8u;
	bool relative = d->raw.imm[0].is_relative;
	struct opcode o;

	opcode_begin(&o, p);
	if (!opcode_has_key(&o) || (relative && imm != 1 && imm != 4))
		return;
	if (in->modrm && !opcode_operand(&o, p))
		return;
	if (shifts(d) && in->imm && !in->writes) /* the count of other shifts is not known */
		return;
	__atomic_store_n(&opcode_operands[o.number], in->modrm ? OPCODE_MODRM : OPCODE_ALONE,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&known[o.key],
			 KNOWN | (uint64_t)(in->writes & KNOWN_FLAGS) << 48 |
				 (uint64_t)(in->reads & KNOWN_FLAGS) << 32 | (uint64_t)imm << 28 |
				 (relative ? KNOWN_RELATIVE : 0) | (shifts(d) ? KNOWN_SHIFTS : 0) |
				 kind << 16,
			 __ATOMIC_RELAXED);
}

/* Decodes an instruction by the library. */
static __attribute__((noinline)) bool decode_anew(struct insn *in, const uint8_t *p, uint64_t pc,
						  size_t room, bool operands)
{
	ZydisDecodedInstruction d;
	ZydisDecoderContext ctx;
	ZyanStatus status;

	use_library();
	status = decode(&decoder, &ctx, p, room, &d);
	memset(in, 0, sizeof(*in));
	if (!ZYAN_SUCCESS(status)) {
		if (status == ZYDIS_STATUS_NO_MORE_DATA)
			return false;
		in->kind = INVALID;
		in->len = 1;
		return true;
	}
	in->len = d.length;
	in->kind = (uint8_t)control(&d);
	in->gs = d.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS;
	if (d.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		in->modrm = d.raw.modrm.offset;
		in->rip = d.raw.modrm.mod == 0 && d.raw.modrm.rm == 5;
		in->narrow = d.address_width == 32;
	}
	in->disp = d.raw.disp.size ? d.raw.disp.offset : 0;
	in->imm = d.raw.imm[0].size ? d.raw.imm[0].offset : 0;
	if (d.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && d.attributes & ZYDIS_ATTRIB_HAS_REX)
		in->rex = d.raw.rex.offset + 1;
	if (in->kind == PLAIN && (in->rip || in->gs))
		in->kind = in->modrm ? MEMORY : ODD;
	if (d.raw.imm[0].is_relative)
		in->target = pc + d.length + d.raw.imm[0].value.u;
	if (d.cpu_flags) {
		in->reads = d.cpu_flags->tested;
		/* otherwise it may pass signals on, as the kernel does */
		if (!keeps_flags_sometimes(&d) && in->kind != SYSCALL && in->kind != ODD)
			in->writes = d.cpu_flags->modified | d.cpu_flags->set_0 |
				     d.cpu_flags->set_1 | d.cpu_flags->undefined;
		if (shifts(&d))
			shift_flags(in, p);
	}
	if (operands) {
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

		if (ZYAN_SUCCESS(decode_operands(&decoder, &ctx, &d, op, d.operand_count))) {
			stream_fields(&in->f, &d, op, pc + d.length);
			if (lines_on())
				shadow_operands(&in->s, &d, op, pc + d.length);
		} else {
			in->f.used = 0xffff;
		}
		if (in->s.later && in->kind <= MEMORY) {
			in->was = in->kind;
			in->kind = LATER;
		}
	} else if (room >= INSN_MAX) {
		remember(in, &d, p);
	}
	return true;
}

/* Decodes the instruction that the program has at pc: `room` bytes of it are at p. False if there is none. */
static inline bool decode_one(struct insn *in, const uint8_t *p, uint64_t pc, size_t room,
			      bool operands)
{
	if (!operands && room >= INSN_MAX && decode_known(in, p, pc))
		return true;
	return decode_anew(in, p, pc, room, operands);
}

uint32_t registers_used(const uint8_t *p)
{
	ZydisDecodedInstruction d;
	ZydisDecoderContext ctx;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t used = 1u << RSP;

	use_library();
	if (!ZYAN_SUCCESS(decode(&decoder, &ctx, p, INSN_MAX, &d)) ||
	    !ZYAN_SUCCESS(decode_operands(&decoder, &ctx, &d, op, d.operand_count)))
		return 0xffff;
	for (unsigned i = 0; i < d.operand_count; i++) {
		ZydisRegister r[3] = { ZYDIS_REGISTER_NONE, ZYDIS_REGISTER_NONE,
				       ZYDIS_REGISTER_NONE };

		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			r[0] = op[i].reg.value;
		} else if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			r[1] = op[i].mem.base;
			r[2] = op[i].mem.index;
		}
		for (unsigned k = 0; k < 3; k++) {
			unsigned n = general_register(r[k]);

			if (n != NO_REG)
				used |= 1u << n;
		}
	}
	return used;
}

bool writes_memory(const uint8_t *p)
{
	ZydisDecodedInstruction d;
	ZydisDecoderContext ctx;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	use_library();
	if (!ZYAN_SUCCESS(decode(&decoder, &ctx, p, INSN_MAX, &d)) ||
	    !ZYAN_SUCCESS(decode_operands(&decoder, &ctx, &d, op, d.operand_count)))
		return false;
	for (unsigned i = 0; i < d.operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    (op[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
		     op[i].mem.base != ZYDIS_REGISTER_RSP))
			return true;
	return false;
}

/* Finds two registers, other than rcx and rax, that are not in `used`. False if there are none. */
static bool spare(uint32_t used, uint8_t *base, uint8_t *scratch)
{
	static const uint8_t order[] = { R15, R14, R13, R12, RBP, RBX, R11,
					 R10, R9,  R8,	RSI, RDI, RDX };
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(order) && n < 2; i++)
		if (!(used & 1u << order[i]))
			*(n++ ? scratch : base) = order[i];
	return n == 2;
}

/*
 * Whether the block goes on after a branch that probably does not jump. That pays with a stream,
 * which then gets fewer and longer executions. Without a stream, translating code twice costs more
 * than the counters save. With a schedule each execution of a block has to have the same number of
 * instructions, so that they can be subtracted at once.
 */
static bool goes_on(const struct build *b, const struct insn *in, unsigned exits)
{
	return !schedule_on && log_mode & EXACT_STREAM & ~EXACT_CALLS && in->kind == BRANCH &&
	       exits < EXITS_MAX && in->target > b->pc + b->len;
}

/* Finds a register for marks that is not in `used`; rax keeps flags there. */
static bool spare_one(uint32_t used, uint8_t *tmp)
{
	static const uint8_t order[] = { RDX, RCX, RBX, RSI, RDI, R8,  R9,
					 R10, R11, R14, R15, RBP, R13, R12 };

	for (unsigned i = 0; i < sizeof(order); i++)
		if (!(used & 1u << order[i])) {
			*tmp = order[i];
			return true;
		}
	*tmp = NO_REG;
	return false;
}

#define FLAGS_LOOK 8  /* most instructions that are examined */
#define MARKS_MAX 256 /* most marks in a block, so that its code does not become too long */

bool decode_flags_dead(const uint8_t *p, size_t room)
{
	uint32_t live = FLAGS_ALL;

	for (unsigned i = 0; i < FLAGS_LOOK; i++) {
		struct insn in;

		if (!decode_one(&in, p, (uint64_t)p, room, false) || in.reads & live & FLAGS_ALL)
			return false;
		live &= ~in.writes;
		if (!live)
			return true;
		if (ends_block(in.kind))
			return false;
		p += in.len;
		room -= in.len;
	}
	return false;
}

/* Decodes a block without its operands, for modes that do not observe them. */
static void decode_kinds(struct build *b, size_t room, unsigned max, bool partly)
{
	const uint8_t *p = b->bytes;
	unsigned n = 0, len = 0, least = partly ? INSN_MAX : 1;

	while (n < max && len + least <= room) {
		struct insn *in = &b->in[n];

		if (!decode_one(in, p + len, b->pc + len, room - len, false))
			break;
		n++;
		len += in->len;
		if (ends_block(in->kind))
			break;
	}
	b->n = n;
	b->len = len;
}

void decode_block(struct build *b, size_t room, unsigned max, bool partly)
{
	static const uint32_t args =
		1u << RDI | 1u << RSI | 1u << RDX | 1u << RCX | 1u << R8 | 1u << R9;
	uint32_t used = 1u << RSP | 1u << RAX | (lines_on() ? 0 : 1u << RCX);
	unsigned marks = 0, exits = 0;

	b->n = b->len = 0;
	b->streams = false;
	if (!(log_mode & (EXACT_STREAM | EXACT_LINES))) {
		decode_kinds(b, room, max, partly);
		return;
	}
	while (b->n < max && b->len + (partly ? INSN_MAX : 1) <= room) {
		struct insn *in = &b->in[b->n];

		if (!decode_one(in, b->bytes + b->len, b->pc + b->len, room - b->len, true))
			break;
		if (log_mode & EXACT_STREAM) {
			/* a call's arguments are read at the block's end, where the look-up of its target uses rdx */
			uint32_t more =
				used | in->f.used |
				(ends_block(in->kind) && in->kind != BRANCH ? 1u << RDX : 0) |
				(in->f.mask & F_ARGS ? args : 0);

			if (b->n && !spare(more, &b->base, &b->scratch))
				break;
			used = more;
		} else if (lines_on()) {
			uint32_t more = used | in->f.used;

			for (unsigned k = 0; k < in->s.n; k++)
				marks += 2 + (in->s.a[k].size >> lines.shift);
			if (b->n && (marks > MARKS_MAX || !spare_one(more, &b->shadow.tmp)))
				break;
			used = more;
		}
		b->n++;
		b->len += in->len;
		if (ends_block(in->kind) && !goes_on(b, in, exits++))
			break;
	}
	invariant(b->n <= INSNS_MAX && b->len <= room);
	if (lines_on())
		spare_one(used, &b->shadow.tmp);
	if (log_mode & EXACT_STREAM && b->n)
		b->streams = spare(used, &b->base, &b->scratch);
}
