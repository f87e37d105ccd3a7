/* SPDX-License-Identifier: MIT */
/*
 * A basic block of the program to code in the cache: instructions as they are, but for control flow and
 * rip-relative operands.
 *
 * Calls push the program's return address, and use the CPU's call, so that returns are predicted:
 *
 *        call L                         ret:  mov rcx, [rsp]; look its code up
 *        jmp <block after the call>           mov [rsp], code; ret
 *     L: mov [rsp], program's address
 *        jmp <callee>
 *
 * The same code is made again, elsewhere, to find out what state the program is in where a signal stopped
 * it: so nothing here may depend on more than the block's bytes and its place in the cache.
 */
#include <Zydis/Zydis.h>

#include <fcntl.h>
#include <linux/mman.h>
#include <signal.h>

#include "dbi/rt/emit.h"
#include "dbi/rt/once.h"
#include "dbi/rt/plan.h"
#include "dbi/rt/rt.h"
#include "dbi/rt/sys.h"
#include "dbi/shared.h"

#define INSNS_MAX PLAN_INSNS
#define CODE_MAX 0x8000 /* a block's code at most */
#define STUB_SIZE 18
#define ONCE_SIZE 512
#define FLAGS_ALL \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | \
	 ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

enum kind {
	PLAIN,
	MEMORY, /* its memory operand has to be rewritten: rip-relative, or gs */
	JUMP,
	BRANCH,
	LOOP, /* jrcxz, loop: short displacements only */
	CALL,
	RET,
	RET_POP,
	JUMP_INDIRECT,
	CALL_INDIRECT,
	SYSCALL,
	ODD,
	INVALID,
};

struct insn {
	uint64_t target; /* of a direct jump */
	uint8_t len, kind;
	uint8_t modrm, disp, imm; /* offsets in the instruction, 0 if none */
	uint8_t rex;		  /* offset + 1 */
	uint32_t reads, writes;	  /* flags */
	bool rip, gs;
	bool narrow;		   /* addresses of 32 bits */
	uint16_t start, core, end; /* in the code: its sequence, its own copy, what follows */
	uint32_t spilled;
	struct stream_fields f; /* what the stream gets of it */
	uint16_t record;	/* the stream's bytes before it */
};

struct build {
	struct emit e;
	uint64_t code; /* cache address of the start */
	uint64_t pc;
	const uint8_t *bytes;
	unsigned n, len;
	struct insn in[INSNS_MAX];
	struct link link[3]; /* site and target */
	unsigned nlink;
	uint64_t returns; /* cache address where the call at its end returns to */
	uint32_t id;
	unsigned counter; /* the instruction before which the block is counted */
	bool flags_dead;  /* there */
	bool dead_at_start;
	bool once;
	uint8_t base,
		scratch;   /* registers that no instruction uses: the stream's, and one to spare */
	uint32_t reserved; /* as bits, those of them that are taken; 0 without a stream */
	bool streams;
	uint32_t record; /* the stream's bytes so far */
	unsigned word;	 /* the plan's next one */
	uint16_t closed; /* in the code: from here on the execution's record is complete */
	struct plan plan;
};

static ZydisDecoder decoder;
static ZyanStatus (*decode)(const ZydisDecoder *, ZydisDecoderContext *, const void *, ZyanUSize,
			    ZydisDecodedInstruction *);
static ZyanStatus (*decode_operands)(const ZydisDecoder *, const ZydisDecoderContext *,
				     const ZydisDecodedInstruction *, ZydisDecodedOperand *,
				     ZyanU8);

static uint64_t code_next = CACHE_BASE;
static uint64_t stub_next = CACHE_BASE + CACHE_CODE_SIZE;
/* What the decoder's library finds at fs: a stack canary. */
static uint64_t decoder_tls[16];

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

void translate_init(void)
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

/* The library is compiled for SSE2 and a stack protector. */
static void library_enter(struct thread *t)
{
	t->fs_base = fs_base();
	set_fs_base((uint64_t)decoder_tls);
	rt_save_xmm(t->xmm);
}

static void library_leave(struct thread *t)
{
	rt_load_xmm(t->xmm);
	set_fs_base(t->fs_base);
}

static bool keeps_flags_sometimes(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
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
	case ZYDIS_MNEMONIC_INT:
		return d->raw.imm[0].value.u == 0x80 ? ODD : PLAIN;
	default:
		return d->meta.category == ZYDIS_CATEGORY_COND_BR ? BRANCH : PLAIN;
	}
}

/* Decodes the instruction at `at`, of which `room` bytes can be read. False if there is none. */
static bool decode_one(struct insn *in, const uint8_t *p, size_t room)
{
	ZydisDecodedInstruction d;
	ZydisDecoderContext ctx;
	ZyanStatus status = decode(&decoder, &ctx, p, room, &d);

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
		in->target = (uint64_t)p + d.length + d.raw.imm[0].value.u;
	if (d.cpu_flags) {
		in->reads = d.cpu_flags->tested;
		if (!keeps_flags_sometimes(&d))
			in->writes = d.cpu_flags->modified | d.cpu_flags->set_0 |
				     d.cpu_flags->set_1 | d.cpu_flags->undefined;
		else
			in->reads = FLAGS_ALL; /* passes them on */
	}
	if (log_mode & EXACT_STREAM) {
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

		if (ZYAN_SUCCESS(decode_operands(&decoder, &ctx, &d, op, d.operand_count)))
			stream_fields(&in->f, &d, op, (uint64_t)p + d.length);
		else
			in->f.used = 0xffff;
	}
	return true;
}

/* Registers that the instruction names or uses. */
static uint32_t registers_used(const uint8_t *p)
{
	ZydisDecodedInstruction d;
	ZydisDecoderContext ctx;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t used = 1u << RSP;
	/* as numbered by Zydis: AL CL DL BL AH CH DH BH SPL BPL SIL DIL R8B …, AX …, EAX …, RAX … */
	static const uint8_t byte_reg[20] = { 0, 1, 2, 3, 0,  1,  2,  3,  4,  5,
					      6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	if (!ZYAN_SUCCESS(decode(&decoder, &ctx, p, 15, &d)) ||
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
			unsigned v = r[k];

			if (v >= ZYDIS_REGISTER_AL && v <= ZYDIS_REGISTER_R15B)
				used |= 1u << byte_reg[v - ZYDIS_REGISTER_AL];
			else if (v >= ZYDIS_REGISTER_AX && v <= ZYDIS_REGISTER_R15W)
				used |= 1u << (v - ZYDIS_REGISTER_AX);
			else if (v >= ZYDIS_REGISTER_EAX && v <= ZYDIS_REGISTER_R15D)
				used |= 1u << (v - ZYDIS_REGISTER_EAX);
			else if (v >= ZYDIS_REGISTER_RAX && v <= ZYDIS_REGISTER_R15)
				used |= 1u << (v - ZYDIS_REGISTER_RAX);
		}
	}
	return used;
}

/* A register of the first eight, neither rsp nor rbp, that is not in `used`. */
static unsigned pick(uint32_t used)
{
	static const uint8_t order[] = { RAX, RCX, RDX, RBX, RSI, RDI };

	for (unsigned i = 0; i < sizeof(order); i++)
		if (!(used & 1u << order[i]))
			return order[i];
	die("no register is free");
}

static bool ends_block(unsigned kind)
{
	return kind >= JUMP;
}

/* Two registers that are not in `used`, rcx and rax not among them: false if there are none. */
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

static void decode_block(struct build *b, size_t room, unsigned max)
{
	static const uint32_t args =
		1u << RDI | 1u << RSI | 1u << RDX | 1u << RCX | 1u << R8 | 1u << R9;
	uint32_t used = 1u << RSP | 1u << RAX | 1u << RCX;

	b->n = b->len = 0;
	b->streams = false;
	while (b->n < max && b->len < room) {
		struct insn *in = &b->in[b->n];

		if (!decode_one(in, b->bytes + b->len, room - b->len))
			break;
		if (log_mode & EXACT_STREAM) {
			/* a call's arguments are read; look-ups use rdx */
			uint32_t more = used | in->f.used | (ends_block(in->kind) ? 1u << RDX : 0) |
					(in->f.mask & F_ARGS ? args : 0);

			if (b->n && !spare(more, &b->base, &b->scratch))
				break;
			used = more;
		}
		b->n++;
		b->len += in->len;
		if (ends_block(in->kind))
			break;
	}
	if (log_mode & EXACT_STREAM && b->n)
		b->streams = spare(used, &b->base, &b->scratch);
}

/* Code. */

static void put_link(struct build *b, uint64_t target, enum link_kind kind)
{
	struct link *l = &b->link[b->nlink++];

	*l = (struct link){ .target = target,
			    .site = (uint32_t)(b->e.at - CACHE_BASE),
			    .kind = (uint8_t)kind,
			    .edge = l->edge };
	put32(&b->e, 0);
}

static void put_link_jump(struct build *b, uint64_t target)
{
	put_align(&b->e, 1);
	put8(&b->e, 0xe9);
	put_link(b, target, LINK_JUMP);
}

static uint64_t rip_target(const struct insn *in, const uint8_t *p, uint64_t next)
{
	int32_t disp;
	uint64_t target;

	memcpy(&disp, p + in->disp, sizeof(disp));
	target = next + (uint64_t)(int64_t)disp;
	return in->narrow ? (uint32_t)target : target;
}

/* The operand goes by way of a register: [gs base + effective address], or a target out of reach. */
static void put_by_register(struct build *b, struct insn *in, const uint8_t *p, uint64_t next)
{
	struct emit *e = &b->e;
	uint32_t used = registers_used(p) | b->reserved;
	unsigned r = pick(used), skip = 0, prefixes = 0, s = NO_REG;
	unsigned modrm = p[in->modrm], tail = in->modrm + 1;

	in->spilled |= 1u << r;
	put_spill(e, r);
	if (in->rip) {
		put_imm64(e, r, rip_target(in, p, next));
		tail += 4;
	} else { /* lea r, [operand] */
		unsigned rex = in->rex ? p[in->rex - 1] & 3 : 0, has_sib = (modrm & 7) == 4;
		unsigned mod = modrm >> 6;
		unsigned disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;

		if (mod == 0 && has_sib && (p[tail] & 7) == 5)
			disp = 4;
		put8(e, 0x48 | rex);
		put8(e, 0x8d);
		put8(e, (modrm & 0xc7) | r << 3);
		put_bytes(e, p + tail, has_sib + disp);
		tail += has_sib + disp;
	}
	if (in->gs) {
		s = pick(used | 1u << r);
		in->spilled |= 1u << s;
		put_spill(e, s);
		put_gs(e, 0x8b, s, T_GS_BASE);
		put8(e, 0x48); /* lea r, [r + s] */
		put8(e, 0x8d);
		put8(e, r << 3 | 4);
		put8(e, s << 3 | r);
	}
	in->core = (uint16_t)(e->at - b->code);
	/* the instruction with [r]; a gs prefix drops out */
	for (unsigned i = 0; i < in->modrm; i++) {
		unsigned byte = p[i];

		if (!skip && byte == 0x65 && in->gs) {
			skip = 1;
			continue;
		}
		if (in->rex && i + 1 == in->rex)
			byte &= ~3u; /* neither B nor X: r is of the first eight */
		put8(e, byte);
		prefixes++;
	}
	if (!in->rex && prefixes >= 3) { /* VEX, EVEX: B and X are stored inverted */
		uint8_t *op = e->out - prefixes;

		while (*op == 0x66 || *op == 0x67 || *op == 0x64 || *op == 0x65 || *op == 0x2e ||
		       *op == 0x3e || *op == 0x26 || *op == 0x36 || *op == 0xf2 || *op == 0xf3)
			op++;
		if (*op == 0xc4 || *op == 0x62)
			op[1] |= 0x60;
	}
	put8(e, (modrm & 0x38) | r);
	put_bytes(e, p + tail, in->len - tail);
	in->end = (uint16_t)(e->at - b->code);
	put_restore(e, r);
	if (s != NO_REG)
		put_restore(e, s);
}

/* An instruction with a rip-relative or a gs operand. */
static void put_memory(struct build *b, struct insn *in, const uint8_t *p, uint64_t next)
{
	struct emit *e = &b->e;
	uint64_t target, there;

	if (in->gs || !in->rip) {
		put_by_register(b, in, p, next);
		return;
	}
	target = rip_target(in, p, next);
	there = target - (e->at + in->len);
	if (there == (uint64_t)(int64_t)(int32_t)there && !in->narrow) {
		put_bytes(e, p, in->disp);
		put32(e, there);
		put_bytes(e, p + in->disp + 4, in->len - in->disp - 4u);
	} else if (target < 0x80000000) { /* [disp32] without a base */
		put_bytes(e, p, in->modrm);
		put8(e, (p[in->modrm] & 0x38) | 4);
		put8(e, 0x25);
		put32(e, target);
		put_bytes(e, p + in->disp + 4, in->len - in->disp - 4u);
	} else {
		put_by_register(b, in, p, next);
	}
}

/* mov rcx, <operand of an indirect jump or call>; rcx has been spilled. */
static void put_target(struct build *b, struct insn *in, const uint8_t *p, uint64_t next)
{
	struct emit *e = &b->e;
	unsigned modrm = p[in->modrm], rex = in->rex ? p[in->rex - 1] & 3 : 0, n = 0;
	unsigned start = (unsigned)(e->at - b->code);
	uint8_t mov[24];
	struct insn m = *in;

	if (modrm >> 6 == 3) {
		put8(e, 0x48 | (rex & 1));
		put8(e, 0x8b);
		put8(e, 0xc8 | (modrm & 7));
		return;
	}
	for (unsigned i = 0; i + 1 < in->modrm; i++)
		if (p[i] == 0x64 || p[i] == 0x65 || p[i] == 0x67)
			mov[n++] = p[i];
	m.rex = (uint8_t)(n + 1);
	mov[n++] = (uint8_t)(0x48 | rex);
	mov[n++] = 0x8b;
	m.modrm = (uint8_t)n;
	mov[n++] = (uint8_t)((modrm & 0xc7) | RCX << 3);
	m.disp = (uint8_t)(in->disp ? in->disp + (m.modrm - in->modrm) : 0);
	for (unsigned i = in->modrm + 1u; i < in->len; i++)
		mov[n++] = p[i];
	m.len = (uint8_t)n;
	m.spilled = 0;
	if (in->rip || in->gs)
		put_memory(b, &m, mov, next);
	else
		put_bytes(e, mov, n);
	in->spilled |= m.spilled;
	in->core = m.core > start ? m.core : in->core;
}

/* Goes to the code of the address in rcx. */
static void put_lookup(struct build *b)
{
	struct emit *e = &b->e;
	static const uint8_t index[] = {
		0x0f, 0xb7, 0xc1, /* movzx eax, cx */
		0x8d, 0x04, 0x00, /* lea eax, [rax + rax] */
	};
	static const uint8_t compare[] = {
		0x48, 0x8d, 0x0c, 0x11, /* lea rcx, [rcx + rdx] */
		0xe3, 0x05,		/* jrcxz over the next one */
	};

	if (b->once) {
		put_jump(e, (uint64_t)rt_once_jump);
		return;
	}
	put_spill(e, RAX);
	put_spill(e, RDX);
	put_bytes(e, index, sizeof(index));
	put8(e, 0x65); /* mov rdx, gs:[rax * 8 + table] */
	put8(e, 0x48);
	put8(e, 0x8b);
	put8(e, 0x14);
	put8(e, 0xc5);
	put32(e, T_NEAR_TABLE);
	put_bytes(e, compare, sizeof(compare));
	put_jump(e, (uint64_t)rt_ibl_jump_miss);
	put8(e, 0x65); /* mov rax, gs:[rax * 8 + table + 8] */
	put8(e, 0x48);
	put8(e, 0x8b);
	put8(e, 0x04);
	put8(e, 0xc5);
	put32(e, T_NEAR_TABLE + 8);
	put_gs(e, 0x89, RAX, T_TARGET);
	put_restore(e, RAX);
	put_restore(e, RCX);
	put_restore(e, RDX);
	put8(e, 0x65); /* jmp gs:[target] */
	put8(e, 0xff);
	put8(e, 0x24);
	put8(e, 0x25);
	put32(e, T_TARGET);
}

static void put_store_return(struct emit *e, uint64_t pc)
{
	if (pc < 0x80000000) {
		put8(e, 0x48); /* mov qword [rsp], imm */
		put8(e, 0xc7);
		put8(e, 0x04);
		put8(e, 0x24);
		put32(e, pc);
	} else {
		put8(e, 0xc7); /* mov dword [rsp], imm */
		put8(e, 0x04);
		put8(e, 0x24);
		put32(e, pc);
		put8(e, 0xc7); /* mov dword [rsp + 4], imm */
		put8(e, 0x44);
		put8(e, 0x24);
		put8(e, 0x04);
		put32(e, pc >> 32);
	}
}

/* call L; jmp <after>; L: … */
static void put_call(struct build *b, uint64_t next)
{
	struct emit *e = &b->e;
	unsigned gap = (unsigned)(e->at + 5 + 1) & 63, pad = gap > 60 ? 64 - gap : 0;

	put8(e, 0xe8);
	put32(e, pad + 5);
	b->returns = e->at;
	put_nops(e, pad);
	put8(e, 0xe9);
	put_link(b, next, LINK_JUMP);
	put_store_return(e, next);
}

/* The stream. */

static void plan_stream(struct build *b)
{
	uint64_t next = b->pc;

	b->reserved = 0;
	b->word = b->record = 0;
	plan_begin(&b->plan);
	if (!b->streams || b->once)
		return;
	for (unsigned i = 0; i < b->n; i++) {
		next += b->in[i].len;
		plan_insn(&b->plan, i, &b->in[i].f, next);
	}
	if (b->plan.words)
		b->reserved = 1u << b->base | (b->plan.scratch ? 1u << b->scratch : 0);
}

static void put_word(struct build *b, unsigned reg)
{
	put_based(&b->e, 0x89, reg, b->base, b->record);
	b->record += 8;
	b->word++;
}

static void put_stream_begin(struct build *b)
{
	struct emit *e = &b->e;

	if (!b->reserved)
		return;
	put_spill(e, b->base);
	if (b->plan.scratch)
		put_spill(e, b->scratch);
	put_gs(e, 0x8b, b->base, T_STREAM);
	put8(e, 0x48 | (b->base >= 8)); /* mov qword [base], head */
	put8(e, 0xc7);
	put8(e, b->base & 7);
	if ((b->base & 7) == 4) {
		e->out[-1] = 4;
		put8(e, 0x24);
	} else if ((b->base & 7) == 5) {
		e->out[-1] = 0x45;
		put8(e, 0);
	}
	put32(e, (b->id + 1) | b->plan.words << EXACT_HEAD_BLOCKS);
	b->record = 8;
}

static void put_stream_end(struct build *b)
{
	struct emit *e = &b->e;

	if (!b->reserved)
		return;
	put_lea(e, b->base, b->base, NO_REG, 1, b->record);
	put_gs(e, 0x89, b->base, T_STREAM);
	b->closed = (uint16_t)(e->at - b->code);
	if (b->plan.scratch)
		put_restore(e, b->scratch);
	put_restore(e, b->base);
}

/* The value at an address to the scratch register, zero-extended. */
static void put_fetch(struct build *b, unsigned base, unsigned index, unsigned scale, int64_t disp,
		      unsigned size)
{
	struct emit *e = &b->e;
	unsigned s = b->scratch, rex;

	if (base == NO_REG && disp != (int32_t)disp) {
		put_imm64(e, s, (uint64_t)disp);
		base = s;
		disp = 0;
	}
	rex = rex_of(s, base, index) | (size == 8 ? 8 : 0);
	if (rex)
		put8(e, 0x40 | rex);
	if (size < 4)
		put8(e, 0x0f);
	put8(e, size == 1 ? 0xb6 : size == 2 ? 0xb7 : 0x8b);
	put_operand(e, s, base, index, scale, disp);
}

static void put_planned(struct build *b, const struct plan_word *w)
{
	switch (w->what) {
	case PLAN_REGISTER:
		put_word(b, w->base);
		break;
	case PLAN_ADDRESS:
		put_lea(&b->e, b->scratch, w->base, w->index, w->scale, w->disp);
		put_word(b, b->scratch);
		break;
	case PLAN_MEMORY:
		put_fetch(b, w->base, w->index, w->scale, w->disp, w->size);
		put_word(b, b->scratch);
		break;
	case PLAN_BEHIND:
		put_based(&b->e, 0x8b, b->scratch, b->base, 8 + 8 * (uint32_t)w->disp);
		put_fetch(b, b->scratch, NO_REG, 1, 0, w->size);
		put_word(b, b->scratch);
		break;
	default: /* rcx holds it */
		put_word(b, RCX);
		break;
	}
}

/* The stream's words before an instruction, or after it. */
static void put_fields(struct build *b, unsigned insn, bool after, bool target)
{
	while (b->word < b->plan.words) {
		const struct plan_word *w = &b->plan.word[b->word];

		if (w->insn != insn || w->after != after || (w->what == PLAN_TARGET) != target)
			break;
		put_planned(b, w);
	}
}

static void put_control(struct build *b, struct insn *in, const uint8_t *p, uint64_t next)
{
	struct emit *e = &b->e;

	switch (in->kind) {
	case JUMP:
		put_link_jump(b, in->target);
		break;
	case BRANCH:
		put_align(e, 2);
		put8(e, 0x0f);
		put8(e, 0x80 | (p[in->imm - 1u] & 15));
		b->link[b->nlink].edge = true;
		put_link(b, in->target, LINK_JUMP);
		put_link_jump(b, next);
		break;
	case LOOP: {
		unsigned size = in->len + 10u, room = 64 - (unsigned)(e->at & 63);

		if (room < size)
			put_nops(e, room);
		in->core = (uint16_t)(e->at - b->code);
		put_bytes(e, p, in->imm);
		put8(e, 5);
		put8(e, 0xe9);
		put_link(b, next, LINK_JUMP);
		put8(e, 0xe9);
		b->link[b->nlink].edge = true;
		put_link(b, in->target, LINK_JUMP);
		break;
	}
	case CALL:
		put_call(b, next);
		put_link_jump(b, in->target);
		break;
	case RET:
	case RET_POP:
		in->spilled |= 1u << RCX;
		put_spill(e, RCX);
		in->core = (uint16_t)(e->at - b->code);
		put8(e, 0x48); /* mov rcx, [rsp] */
		put8(e, 0x8b);
		put8(e, 0x0c);
		put8(e, 0x24);
		if (in->kind == RET_POP) {
			put8(e, 0x48); /* lea rsp, [rsp + n] */
			put8(e, 0x8d);
			put8(e, 0xa4);
			put8(e, 0x24);
			put32(e, 8u + *(const uint16_t *)(p + in->imm));
		}
		if (b->once)
			put_jump(e,
				 in->kind == RET ? (uint64_t)rt_once_ret : (uint64_t)rt_once_jump);
		else
			put_jump(e, in->kind == RET ? (uint64_t)rt_ibl_ret : (uint64_t)rt_ibl_jump);
		break;
	case JUMP_INDIRECT:
	case CALL_INDIRECT:
		in->spilled |= 1u << RCX;
		put_spill(e, RCX);
		in->core = (uint16_t)(e->at - b->code);
		put_target(b, in, p, next);
		put_fields(b, b->n - 1, false, true);
		put_stream_end(b);
		if (in->kind == CALL_INDIRECT)
			put_call(b, next);
		put_lookup(b);
		break;
	case SYSCALL:
		put8(e, 0xe9);
		put_link(b, next, LINK_SYSCALL);
		break;
	case ODD:
		put8(e, 0xe9);
		put_link(b, next - in->len, LINK_ODD);
		break;
	default: /* ud2 */
		put8(e, 0x0f);
		put8(e, 0x0b);
		break;
	}
}

/* Where the block is counted: where no flag is live, if there is such a place. A handler of a fault between
 * there and the next instruction that writes flags sees other ones than the program's: to keep them would
 * cost 4 to 7 %. */
static void place_counter(struct build *b)
{
	uint32_t live = FLAGS_ALL;

	b->counter = 0;
	b->flags_dead = false;
	for (unsigned i = b->n; i-- > 0;) {
		live = (live & ~b->in[i].writes) | (b->in[i].reads & FLAGS_ALL);
		if (!live) {
			b->counter = i;
			b->flags_dead = true;
		}
	}
	b->dead_at_start = !live;
}

static void put_block(struct build *b)
{
	const uint8_t *p = b->bytes;
	struct emit *e = &b->e;
	unsigned last = b->n - 1;
	bool count = log_mode & EXACT_COUNTS && !b->once;

	for (unsigned i = 0; i < sizeof(b->link) / sizeof(b->link[0]); i++)
		b->link[i].edge = false;
	if (log_mode & EXACT_COUNTS)
		place_counter(b);
	plan_stream(b);
	for (unsigned i = 0; i < b->n; i++) {
		struct insn *in = &b->in[i];
		uint64_t next = (uint64_t)p + in->len;

		in->spilled = b->reserved;
		in->start = (uint16_t)(e->at - b->code);
		in->end = 0;
		if (!i)
			put_stream_begin(b);
		in->record = (uint16_t)b->record;
		if (count && i == b->counter) {
			put_count(e, 2 * b->id, b->flags_dead);
			if (!b->flags_dead)
				in->spilled |= 1u << RAX;
		}
		put_fields(b, i, false, false);
		if (ends_block(in->kind) && in->kind != JUMP_INDIRECT && in->kind != CALL_INDIRECT)
			put_stream_end(b);
		in->core = (uint16_t)(e->at - b->code);
		if (in->kind == PLAIN)
			put_bytes(e, p, in->len);
		else if (in->kind == MEMORY)
			put_memory(b, in, p, next);
		else
			put_control(b, in, p, next);
		if (!in->end)
			in->end = (uint16_t)(e->at - b->code);
		put_fields(b, i, true, false);
		p += in->len;
	}
	if (!ends_block(b->in[last].kind)) {
		put_stream_end(b);
		put_link_jump(b, (uint64_t)p);
	}
}

static void put_stub(struct link *l, uint32_t number)
{
	struct emit e = { (uint8_t *)CACHE_BASE + l->stub, CACHE_BASE + l->stub };

	put8(&e, 0x65); /* mov qword gs:[exit link], number */
	put8(&e, 0x48);
	put8(&e, 0xc7);
	put8(&e, 0x04);
	put8(&e, 0x25);
	put32(&e, T_EXIT_LINK);
	put32(&e, number);
	put_jump(&e, (uint64_t)rt_exit);
}

static void publish(struct build *b, struct block *blk)
{
	blk->link = nlinks;
	blk->links = b->nlink;
	for (unsigned i = 0; i < b->nlink; i++) {
		struct link *l = &links[nlinks];
		uint64_t site;

		*l = b->link[i];
		l->from = (uint32_t)(blk - blocks);
		l->stub = (uint32_t)(stub_next - CACHE_BASE);
		stub_next += STUB_SIZE;
		put_stub(l, nlinks++);
		site = CACHE_BASE + l->site;
		*(int32_t *)site = (int32_t)(CACHE_BASE + l->stub - (site + 4));
		if (l->kind != LINK_JUMP)
			l->site = 0;
	}
}

/* A thread's own block for code that changes all the time: made anew at each execution. */
static struct block *once_block(struct thread *t)
{
	struct block *blk;

	if (t->once)
		return &blocks[t->once - 1];
	blk = &blocks[nblocks];
	*blk = (struct block){ .pc = ~0ul, .code = code_next, .size = ONCE_SIZE, .links = 3 };
	code_next += ONCE_SIZE;
	blk->link = nlinks;
	for (unsigned i = 0; i < blk->links; i++) {
		links[nlinks] = (struct link){ .from = nblocks,
					       .stub = (uint32_t)(stub_next - CACHE_BASE) };
		stub_next += STUB_SIZE;
		put_stub(&links[nlinks], nlinks);
		nlinks++;
	}
	__atomic_store_n(&nblocks, nblocks + 1, __ATOMIC_RELEASE);
	t->once = nblocks;
	return blk;
}

static void publish_once(struct build *b, struct block *blk)
{
	blk->pc = b->pc;
	blk->len = (uint16_t)b->len;
	blk->n = (uint16_t)b->n;
	blk->flags = BLOCK_ONCE;
	for (unsigned i = 0; i < b->nlink; i++) {
		struct link *l = &links[blk->link + i];
		uint64_t site = CACHE_BASE + b->link[i].site;

		l->target = b->link[i].target;
		l->kind = b->link[i].kind;
		l->edge = b->link[i].edge;
		l->site = 0;
		*(int32_t *)site = (int32_t)(CACHE_BASE + l->stub - (site + 4));
	}
}

static bool constant(const struct region *r)
{
	return r->inode && !(r->prot & PROT_WRITE) && !r->shared;
}

/*
 * The block that was made last ends in a jump that was just taken for the first time: its target is to
 * take the jump's place. If it was the branch before that jump, its condition is inverted first. Only in
 * code that does not change, and while nobody else can be running it. Returns where the code goes.
 */
static struct link *take_place(struct link *l)
{
	struct block *b = &blocks[l->from];
	struct link *last;

	if (threads->next || l->from + 1 != nblocks || b->flags & ~(unsigned)BLOCK_FLAGS_DEAD ||
	    !b->links)
		return NULL;
	last = &links[b->link + b->links - 1];
	if ((uint64_t)CACHE_BASE + last->site + 4 != code_next || last->linked ||
	    last->kind != LINK_JUMP || (last->edge && log_mode & EXACT_COUNTS))
		return NULL;
	if (l != last) {
		uint8_t *op = (uint8_t *)CACHE_BASE + l->site - 1;
		uint64_t target = l->target;

		if ((op[0] & 0xf0) != 0x80 || op[-1] != 0x0f || l->linked)
			return NULL;
		op[0] ^= 1;
		l->target = last->target;
		last->target = target;
		b->flags |= BLOCK_INVERTED;
		log_inverted(l->from);
	}
	b->size -= 5;
	code_next -= 5;
	return last;
}

static const uint8_t *block_lengths(const struct build *b)
{
	static uint8_t len[INSNS_MAX];

	for (unsigned i = 0; i < b->n; i++)
		len[i] = b->in[i].len;
	return len;
}

/* How much of the code at pc, of which `room` bytes are mapped, is there: a mapping can be longer than its
 * file. A block lies on two pages at most. */
static size_t readable(uint64_t pc, size_t room)
{
	size_t page = 4096 - (pc & 4095);
	char c;

	if (!rt_copy(&c, (const void *)pc, 1))
		return 0;
	return room > page && !rt_copy(&c, (const void *)(pc + page), 1) ? page : room;
}

struct block *translate(struct thread *t, uint64_t pc, struct link *from)
{
	static struct build b;
	struct region *r = region_of(pc);
	struct block *blk;
	size_t room, mapped;

	if (!r) {
		signals_raise(t, SIGSEGV, regions_fault(pc), pc);
		return NULL;
	}
	mapped = r->end - pc;
	room = readable(pc, mapped);
	b.bytes = (const uint8_t *)pc;
	b.pc = pc;
	library_enter(t);
	decode_block(&b, room, INSNS_MAX);
	b.once = b.n && !regions_watch(r, pc, b.len);
	if (b.once)
		decode_block(&b, room, 1);
	if (!b.n) { /* runs over the end of what can be executed, perhaps into another region */
		library_leave(t);
		if (room < mapped) {
			signals_raise(t, SIGBUS, BUS_ADRERR, pc + room);
			return NULL;
		}
		r = region_of(r->end);
		if (!r) {
			signals_raise(t, SIGSEGV, regions_fault(pc + room), pc + room);
			return NULL;
		}
		b.once = !regions_watch(r, pc, 15);
		library_enter(t);
		decode_block(&b, r->end - pc, 1);
		if (!b.n)
			die("no instruction at %lx", pc);
	}
	if (nblocks + 1 >= 1u << 22 || nlinks + 4 >= 1u << 23 ||
	    code_next + CODE_MAX > CACHE_BASE + CACHE_CODE_SIZE ||
	    stub_next + 256 > CACHE_BASE + CACHE_SIZE)
		die("the code cache is full");
	from = from && from->kind == LINK_JUMP && !b.once && constant(r) ? take_place(from) : NULL;
	blk = b.once ? once_block(t) : &blocks[nblocks];
	b.code = b.once ? blk->code : code_next;
	b.e = (struct emit){ (uint8_t *)b.code, b.code };
	b.id = (uint32_t)(blk - blocks);
	b.nlink = 0;
	b.returns = 0;
	put_block(&b);
	library_leave(t);
	if (b.once) {
		publish_once(&b, blk);
		once_note(t, blk, r);
		return blk;
	}
	*blk = (struct block){ .pc = pc,
			       .code = code_next,
			       .size = (uint32_t)(b.e.at - code_next),
			       .len = (uint16_t)b.len,
			       .n = (uint16_t)b.n,
			       .flags = b.dead_at_start ? BLOCK_FLAGS_DEAD : 0 };
	code_next = b.e.at;
	if (!r->image)
		r->image = log_image(r);
	log_block(blk, b.id, r->image, block_lengths(&b), &b.plan);
	publish(&b, blk);
	if (from) {
		from->linked = from->fallen = true;
		blk->in = (uint32_t)(from - links) + 1;
	}
	__atomic_store_n(&nblocks, nblocks + 1, __ATOMIC_RELEASE);
	cache_add(blk);
	if (b.returns)
		cache_add_return(pc + b.len, b.returns);
	return blk;
}

uint64_t translate_edge(const struct link *l, const struct block *to)
{
	struct emit e = { (uint8_t *)stub_next, stub_next };
	uint64_t at = stub_next;

	put_count(&e, 2 * l->from + 1, to->flags & BLOCK_FLAGS_DEAD);
	put_jump(&e, to->code);
	stub_next = e.at;
	return at;
}

bool translate_place(struct thread *t, const struct block *blk, uint64_t at, struct place *out)
{
	struct build *b = (struct build *)((char *)t + T_SCRATCH);
	unsigned o = (unsigned)(at - blk->code);
	uint64_t pc = blk->pc;
	size_t room;

	b->bytes = (const uint8_t *)pc;
	b->pc = pc;
	b->code = blk->code;
	b->e = (struct emit){ (uint8_t *)(b + 1), blk->code };
	b->id = (uint32_t)(blk - blocks);
	b->once = blk->flags & BLOCK_ONCE;
	b->nlink = 0;
	library_enter(t);
	/* as much as there was: of what cannot be decoded, one byte is the block's */
	room = ((pc + blk->len - 1) | 4095) + 1 - pc;
	decode_block(b, room, blk->n);
	put_block(b);
	library_leave(t);
	for (unsigned i = 0; i < b->n; i++) {
		const struct insn *in = &b->in[i];
		bool last = i + 1 == b->n;
		bool before = o == in->start || (o > in->start && o <= in->core);
		bool inside = o > in->core && (o < in->end || (last && ends_block(in->kind)));

		out->base = b->reserved && o < b->closed ? b->base : NO_REG;
		out->closed = b->reserved && o >= b->closed ? b->record : 0;
		if ((before || inside) && o < blk->size) {
			out->pc = pc;
			out->next = pc + in->len;
			out->spilled = o > in->start ? in->spilled : i ? b->reserved : 0;
			out->done = i;
			out->clean = o == in->start;
			out->counted = i > b->counter || (i == b->counter && o >= in->core);
			out->record = in->record;
			return true;
		}
		pc += in->len;
		if (o >= in->end && o < (last ? blk->size : b->in[i + 1].start)) {
			out->pc = out->next = pc;
			out->spilled = in->spilled;
			out->done = i + 1;
			out->clean = false;
			out->counted = i >= b->counter;
			out->record = last ? b->record : b->in[i + 1].record;
			return true;
		}
	}
	return false;
}
