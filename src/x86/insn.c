/* SPDX-License-Identifier: MIT */
#include "x86/insn.h"

#include <string.h>

#include "x86/reg.h"

const char *const insn_class_name[INSN_CLASS_N] = {
	"other", "load", "store", "rmw", "copy",    "branch", "jump",
	"ijump", "call", "icall", "ret", "syscall", "trap",
};

const char *const insn_gpr_name[16] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
};

static const ZydisDecoder *decoder(void)
{
	static ZydisDecoder d;
	static bool ready;

	if (!ready) {
		ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	}
	return &d;
}

static bool is_vector(ZydisRegister r)
{
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
	case ZYDIS_REGCLASS_MASK:
		return true;
	default:
		return false;
	}
}

static bool is_hint(const ZydisDecodedInstruction *z)
{
	return z->meta.category == ZYDIS_CATEGORY_NOP ||
	       z->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	       z->meta.category == ZYDIS_CATEGORY_PREFETCH;
}

static void add_reg(uint16_t *set, ZydisRegister r)
{
	struct reg_part p = reg_part(r);

	if (p.reg >= 0)
		*set |= (uint16_t)(1u << p.reg);
}

struct mem_use {
	int reads, writes, both;
};

static void add_operand(struct insn *in, const ZydisDecodedOperand *op, struct mem_use *m)
{
	bool reads = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool writes = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		/* what a condition may leave as it is depends on what it was */
		if (reads || (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
			add_reg(&in->gpr_read, op->reg.value);
		if (writes)
			add_reg(&in->gpr_written, op->reg.value);
		if (is_vector(op->reg.value))
			in->vector = true;
		return;
	}
	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return;
	add_reg(&in->gpr_read, op->mem.base);
	add_reg(&in->gpr_read, op->mem.index);
	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN || is_hint(&in->z))
		return;
	in->nmem++;
	m->reads += reads && !writes;
	m->writes += writes && !reads;
	m->both += reads && writes;
}

static uint8_t control_class(const struct insn *in)
{
	bool direct = in->z.raw.imm[0].is_relative;

	switch (in->z.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return direct ? INSN_CALL : INSN_ICALL;
	case ZYDIS_CATEGORY_RET:
		return in->z.mnemonic == ZYDIS_MNEMONIC_RET ? INSN_RET : INSN_TRAP;
	case ZYDIS_CATEGORY_COND_BR: /* all conditional branches except xend */
		return direct ? INSN_BRANCH : INSN_OTHER;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct					 ? INSN_JUMP
		       : in->z.mnemonic == ZYDIS_MNEMONIC_XABORT ? INSN_OTHER
								 : INSN_IJUMP;
	case ZYDIS_CATEGORY_SYSCALL:
		return INSN_SYSCALL;
	case ZYDIS_CATEGORY_SYSRET:
		return INSN_TRAP;
	case ZYDIS_CATEGORY_INTERRUPT:
		return in->z.mnemonic == ZYDIS_MNEMONIC_INT ? INSN_SYSCALL : INSN_TRAP;
	default:
		break;
	}
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return INSN_TRAP;
	default:
		return INSN_CLASS_N;
	}
}

static uint8_t classify(const struct insn *in, const struct mem_use *m)
{
	uint8_t cls = control_class(in);

	if (cls != INSN_CLASS_N)
		return cls;
	if (m->both)
		return INSN_RMW;
	if (m->reads && m->writes)
		return INSN_COPY;
	return m->writes ? INSN_STORE : m->reads ? INSN_LOAD : INSN_OTHER;
}

/* True if the flags may stay unchanged: a shift by 0, or a repeated string operation with count
 * 0. */
static bool flags_conditional(const struct insn *in)
{
	const ZydisDecodedInstruction *z = &in->z;
	int i;

	if (z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return true;
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
		i = 1;
		break;
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		i = 2;
		break;
	default:
		return false;
	}
	return in->op[i].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	       !(in->op[i].imm.value.u & (in->op[0].size == 64 ? 63 : 31));
}

/* Flags that the manuals leave undefined and Zydis's tables do not. */
static uint16_t really_undefined(const struct insn *in, uint16_t undefined)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_SBB:
		return 0;
	case ZYDIS_MNEMONIC_ANDN:
		return FL_AF | FL_PF;
	case ZYDIS_MNEMONIC_BEXTR:
		return FL_AF | FL_SF | FL_PF;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
		if (in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && in->op[1].imm.value.u == 1)
			return undefined & (uint16_t)~FL_OF;
		return undefined;
	default:
		return undefined;
	}
}

static void add_flags(struct insn *in)
{
	const ZydisAccessedFlags *f = in->z.cpu_flags;

	in->fl_read = in->fl_written = in->fl_undefined = 0;
	if (!f)
		return;
	in->fl_read = (uint16_t)(f->tested & (FL_STATUS | FL_DF));
	in->fl_written = (uint16_t)((f->modified | f->set_0 | f->set_1 | f->undefined) & FL_STATUS);
	in->fl_undefined = really_undefined(in, (uint16_t)(f->undefined & FL_STATUS));
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_VPTEST:
	case ZYDIS_MNEMONIC_VTESTPS:
	case ZYDIS_MNEMONIC_VTESTPD:
		in->fl_written = FL_STATUS; /* ZF and CF set, the others cleared */
		break;
	default:
		break;
	}
	if (flags_conditional(in)) {
		in->fl_read |= in->fl_written;
		in->fl_written = in->fl_undefined = 0;
	}
}

/* Adds the registers through which string operations address memory, since these operations move
 * them. */
static void add_string_registers(struct insn *in)
{
	if (in->z.meta.category != ZYDIS_CATEGORY_STRINGOP)
		return;
	in->gpr_written |= in->gpr_read & (1u << UR_RSI | 1u << UR_RDI);
	if (in->z.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) {
		in->gpr_read |= 1u << UR_RCX;
		in->gpr_written |= 1u << UR_RCX;
	}
}

static bool has_prefix(const ZydisDecodedInstruction *z, uint8_t value)
{
	for (int i = 0; i < z->raw.prefix_count; i++)
		if (z->raw.prefixes[i].value == value)
			return true;
	return false;
}

/*
 * Whether Zydis 4.0 decodes the bytes differently from the CPU: a SIB base of 5 under REX.B with a
 * 32-bit address size, and xchg r8, rax after F3. Also loops after F2 and F3, a prefix that decides
 * on some CPUs (seen: Zen 5) between loope and loopne, whatever the opcode.
 */
static bool misread(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_PAUSE:
		return z->raw.rex.B;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return has_prefix(z, 0xf2) || has_prefix(z, 0xf3);
	default:
		return z->address_width == 32 && z->raw.modrm.mod == 0 && z->raw.modrm.rm == 4 &&
		       z->attributes & ZYDIS_ATTRIB_HAS_SIB && z->raw.sib.base == 5 && z->raw.rex.B;
	}
}

/* The size of the access where the instruction's one memory operand tells all of it. */
static uint8_t access_size(const struct insn *in)
{
	const ZydisDecodedOperand *op = in->op;

	if ((in->cls != INSN_LOAD && in->cls != INSN_STORE && in->cls != INSN_RMW) ||
	    in->nmem != 1 || in->z.meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    in->z.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED)
		return 0;
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_BT: /* a register offset of a bit test reaches beyond the operand */
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		return 0;
	default:
		break;
	}
	while (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
		op++;
	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM || op->size % 8 || op->size > 512 ||
	    (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	     in->z.mnemonic != ZYDIS_MNEMONIC_PUSH && in->z.mnemonic != ZYDIS_MNEMONIC_POP))
		return 0;
	return (uint8_t)(op->size / 8);
}

int insn_decode(struct insn *in, const uint8_t *p, size_t n, uint64_t addr)
{
	struct mem_use m = { 0, 0, 0 };
	ZydisDecoderContext ctx;

	if (n > INSN_MAX_LEN)
		n = INSN_MAX_LEN;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(decoder(), &ctx, p, n, &in->z)))
		return 0;
	if (misread(&in->z))
		return 0;
	if (ZYAN_FAILED(ZydisDecoderDecodeOperands(decoder(), &ctx, &in->z, in->op,
						   in->z.operand_count)))
		return 0;
	in->addr = addr;
	in->len = in->z.length;
	in->vector = false;
	in->nmem = in->access = 0;
	in->gpr_read = in->gpr_written = 0;
	in->target = 0;
	for (int i = 0; i < in->z.operand_count; i++)
		add_operand(in, &in->op[i], &m);
	in->cls = classify(in, &m);
	if (insn_has_target(in))
		in->target = addr + in->len + in->op[0].imm.value.u;
	in->access = access_size(in);
	add_string_registers(in);
	add_flags(in);
	return in->len;
}

static uint16_t vectors(const struct insn *in, ZydisOperandActions actions)
{
	uint16_t bits = 0;

	for (unsigned i = 0; in->vector && i < in->z.operand_count; i++) {
		ZydisRegister r = in->op[i].reg.value;

		if (in->op[i].type != ZYDIS_OPERAND_TYPE_REGISTER || !(in->op[i].actions & actions))
			continue;
		r = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
		if (r >= ZYDIS_REGISTER_ZMM0 && r <= ZYDIS_REGISTER_ZMM15)
			bits |= (uint16_t)(1u << (r - ZYDIS_REGISTER_ZMM0));
	}
	return bits;
}

uint16_t insn_vectors_read(const struct insn *in)
{
	return vectors(in, ZYDIS_OPERAND_ACTION_MASK_READ);
}

uint16_t insn_vectors_written(const struct insn *in)
{
	return vectors(in, ZYDIS_OPERAND_ACTION_MASK_WRITE);
}

bool insn_falls_through(const struct insn *in)
{
	switch (in->cls) {
	case INSN_JUMP:
	case INSN_IJUMP:
	case INSN_RET:
	case INSN_TRAP:
		return false;
	default:
		return true;
	}
}

bool insn_ends_block(const struct insn *in)
{
	return in->cls >= INSN_BRANCH;
}

bool insn_clears(const struct insn *in)
{
	unsigned n = in->z.operand_count_visible;

	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VPXORD:
	case ZYDIS_MNEMONIC_VPXORQ:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
		break;
	default:
		return false;
	}
	/* the last two operands are the sources; a part of a register would keep the rest */
	return (n == 2 || n == 3) && in->op[n - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       in->op[n - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       in->op[n - 1].reg.value == in->op[n - 2].reg.value && in->op[0].size >= 32;
}

bool insn_may_fuse(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		return true;
	default:
		return false;
	}
}

bool insn_fuses(const struct insn *before, const struct insn *in)
{
	return in->cls == INSN_BRANCH && in->fl_read && before->cls != INSN_RMW &&
	       insn_may_fuse(before);
}

char *insn_format(const struct insn *in, char *buf, size_t n)
{
	static ZydisFormatter f;
	static bool ready;

	if (!ready) {
		ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
		ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_FALSE);
		ready = true;
	}
	if (ZYAN_FAILED(ZydisFormatterFormatInstruction(
		    &f, &in->z, in->op, in->z.operand_count_visible, buf, n, in->addr, NULL)) &&
	    n)
		buf[0] = 0;
	return buf;
}
