/* SPDX-License-Identifier: MIT */
/* Timing facts from an instruction's bytes: registers, unit, latency. docs/methods/core-model.md
 * names the sources. */
#include <string.h>

#include "x86/reg.h"
#include "model/timing.h"

#define TICKS TIMING_TICKS

/* Cycles of latency, and tenths of cycles for which the unit is busy; 0: the unit's minimum. */
struct kind {
	const char *name; /* a prefix of the mnemonic, without v; the first match counts */
	uint8_t unit;
	uint16_t latency, busy;
};

/* Vector and floating-point instructions, by prefix of their names. */
static const struct kind vector_kinds[] = {
	{ "divp", TIMING_VECTOR_DIVIDE, 13, 50 },  { "divs", TIMING_VECTOR_DIVIDE, 13, 40 },
	{ "sqrtp", TIMING_VECTOR_DIVIDE, 18, 90 }, { "sqrts", TIMING_VECTOR_DIVIDE, 18, 60 },
	{ "rcp", TIMING_VECTORS, 4, 10 },	   { "rsqrt", TIMING_VECTORS, 4, 10 },
	{ "fmadd", TIMING_VECTORS, 4, 0 },	   { "fmsub", TIMING_VECTORS, 4, 0 },
	{ "fnmadd", TIMING_VECTORS, 4, 0 },	   { "fnmsub", TIMING_VECTORS, 4, 0 },
	{ "addsub", TIMING_VECTORS, 4, 0 },	   { "hadd", TIMING_SHUFFLE, 6, 20 },
	{ "hsub", TIMING_SHUFFLE, 6, 20 },	   { "addp", TIMING_VECTORS, 4, 0 },
	{ "adds", TIMING_VECTORS, 4, 0 },	   { "subp", TIMING_VECTORS, 4, 0 },
	{ "subs", TIMING_VECTORS, 4, 0 },	   { "mulp", TIMING_VECTORS, 4, 0 },
	{ "muls", TIMING_VECTORS, 4, 0 },	   { "minp", TIMING_VECTORS, 4, 0 },
	{ "mins", TIMING_VECTORS, 4, 0 },	   { "maxp", TIMING_VECTORS, 4, 0 },
	{ "maxs", TIMING_VECTORS, 4, 0 },	   { "cmpp", TIMING_VECTORS, 4, 0 },
	{ "cmps", TIMING_VECTORS, 4, 0 },	   { "round", TIMING_VECTORS, 8, 0 },
	{ "cvt", TIMING_VECTORS, 5, 0 },	   { "comis", TIMING_VECTORS, 3, 10 },
	{ "ucomis", TIMING_VECTORS, 3, 10 },	   { "dpp", TIMING_VECTORS, 12, 20 },
	{ "pmulld", TIMING_VECTORS, 10, 10 },	   { "pmul", TIMING_VECTORS, 5, 0 },
	{ "pmadd", TIMING_VECTORS, 5, 0 },	   { "psadbw", TIMING_SHUFFLE, 3, 0 },
	{ "mpsadbw", TIMING_SHUFFLE, 4, 20 },	   { "phadd", TIMING_SHUFFLE, 3, 20 },
	{ "phsub", TIMING_SHUFFLE, 3, 20 },	   { "phminpos", TIMING_VECTORS, 4, 10 },
	{ "aes", TIMING_VECTORS, 4, 10 },	   { "pclmul", TIMING_SHUFFLE, 6, 10 },
	{ "sha", TIMING_SHUFFLE, 5, 30 },	   { "gf2p8", TIMING_VECTORS, 3, 0 },
	{ "pcmpestr", TIMING_VECTORS, 14, 60 },	   { "pcmpistr", TIMING_VECTORS, 10, 30 },
	{ "pgather", TIMING_LOADS, 20, 80 },	   { "gather", TIMING_LOADS, 20, 80 },
	{ "pmovmskb", TIMING_VECTORS, 3, 10 },	   { "movmsk", TIMING_VECTORS, 3, 10 },
	{ "ptest", TIMING_VECTORS, 4, 10 },	   { "test", TIMING_VECTORS, 4, 10 },
	{ "pinsr", TIMING_SHUFFLE, 3, 20 },	   { "pextr", TIMING_SHUFFLE, 4, 10 },
	{ "insertps", TIMING_SHUFFLE, 1, 0 },	   { "extractps", TIMING_SHUFFLE, 4, 10 },
	{ "insert", TIMING_SHUFFLE, 3, 0 },	   { "extract", TIMING_SHUFFLE, 3, 0 },
	{ "perm", TIMING_SHUFFLE, 3, 0 },	   { "pbroadcast", TIMING_SHUFFLE, 3, 0 },
	{ "broadcast", TIMING_SHUFFLE, 3, 0 },	   { "pcompress", TIMING_SHUFFLE, 6, 20 },
	{ "compress", TIMING_SHUFFLE, 6, 20 },	   { "pexpand", TIMING_SHUFFLE, 6, 20 },
	{ "expand", TIMING_SHUFFLE, 6, 20 },	   { "pmovzx", TIMING_SHUFFLE, 1, 0 },
	{ "pmovsx", TIMING_SHUFFLE, 1, 0 },	   { "pshufb", TIMING_SHUFFLE, 1, 0 },
	{ "pshuf", TIMING_SHUFFLE, 1, 0 },	   { "shuf", TIMING_SHUFFLE, 1, 0 },
	{ "punpck", TIMING_SHUFFLE, 1, 0 },	   { "unpck", TIMING_SHUFFLE, 1, 0 },
	{ "pack", TIMING_SHUFFLE, 1, 0 },	   { "palign", TIMING_SHUFFLE, 1, 0 },
	{ "kmov", TIMING_VECTORS, 2, 10 },	   { "kortest", TIMING_VECTORS, 1, 10 },
	{ "ktest", TIMING_VECTORS, 1, 10 },	   { "kunpck", TIMING_SHUFFLE, 4, 0 },
	{ "kshift", TIMING_SHUFFLE, 4, 0 },	   { "fdiv", TIMING_VECTOR_DIVIDE, 15, 50 },
	{ "fidiv", TIMING_VECTOR_DIVIDE, 15, 50 }, { "fsqrt", TIMING_VECTOR_DIVIDE, 20, 70 },
	{ "fld", TIMING_VECTORS, 1, 0 },	   { "fxch", TIMING_NO_UNIT, 0, 0 },
	{ "fst", TIMING_VECTORS, 1, 0 },	   { "fsin", TIMING_VECTORS, 80, 250 },
	{ "fcos", TIMING_VECTORS, 80, 250 },	   { "fptan", TIMING_VECTORS, 100, 250 },
	{ "fpatan", TIMING_VECTORS, 100, 250 },	   { "f2xm1", TIMING_VECTORS, 70, 250 },
	{ "fyl2x", TIMING_VECTORS, 70, 250 },	   { "fprem", TIMING_VECTORS, 20, 100 },
	{ "fadd", TIMING_VECTORS, 3, 10 },	   { "fsub", TIMING_VECTORS, 3, 10 },
	{ "fmul", TIMING_VECTORS, 4, 10 },	   { "fi", TIMING_VECTORS, 4, 10 },
	{ "fcom", TIMING_VECTORS, 2, 10 },	   { "fucom", TIMING_VECTORS, 2, 10 },
};

/* Instructions on general registers that take longer than a cycle, by their whole name. */
static const struct kind general_kinds[] = {
	{ "imul", TIMING_MULTIPLY, 3, 0 },   { "mul", TIMING_MULTIPLY, 3, 0 },
	{ "mulx", TIMING_MULTIPLY, 4, 0 },   { "bsf", TIMING_MULTIPLY, 3, 0 },
	{ "bsr", TIMING_MULTIPLY, 3, 0 },    { "tzcnt", TIMING_MULTIPLY, 3, 0 },
	{ "lzcnt", TIMING_MULTIPLY, 3, 0 },  { "popcnt", TIMING_MULTIPLY, 3, 0 },
	{ "crc32", TIMING_MULTIPLY, 3, 0 },  { "pdep", TIMING_MULTIPLY, 3, 0 },
	{ "pext", TIMING_MULTIPLY, 3, 0 },   { "shld", TIMING_MULTIPLY, 3, 0 },
	{ "shrd", TIMING_MULTIPLY, 3, 0 },   { "rcl", TIMING_ALU, 6, 0 },
	{ "rcr", TIMING_ALU, 6, 0 },	     { "xchg", TIMING_ALU, 2, 0 },
	{ "xadd", TIMING_ALU, 2, 0 },	     { "cmpxchg", TIMING_ALU, 5, 0 },
	{ "cmpxchg16b", TIMING_ALU, 12, 0 }, { "bextr", TIMING_ALU, 2, 0 },
	{ "leave", TIMING_ALU, 1, 0 },	     { "rdtsc", TIMING_ALU, 20, 200 },
	{ "rdtscp", TIMING_ALU, 30, 250 },   { "cpuid", TIMING_ALU, 100, 0 },
	{ "xgetbv", TIMING_ALU, 10, 0 },     { "pause", TIMING_ALU, 40, 400 },
	{ "rdrand", TIMING_ALU, 300, 0 },
};

#define LOCKED 18 /* latency of an atomic operation, in cycles */
#define SYSTEM_CALL \
	100 /* cycles of entering and leaving the kernel, whose own work is not simulated */

static unsigned register_of(ZydisRegister r)
{
	struct reg_part p = reg_part(r);

	if (p.reg >= 0)
		return TIMING_GPR + (unsigned)p.reg;
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_XMM:
		return TIMING_VECTOR + (unsigned)(r - ZYDIS_REGISTER_XMM0);
	case ZYDIS_REGCLASS_YMM:
		return TIMING_VECTOR + (unsigned)(r - ZYDIS_REGISTER_YMM0);
	case ZYDIS_REGCLASS_ZMM:
		return TIMING_VECTOR + (unsigned)(r - ZYDIS_REGISTER_ZMM0);
	case ZYDIS_REGCLASS_MASK:
		return r == ZYDIS_REGISTER_K0 ? TIMING_ALWAYS
					      : TIMING_MASK + (unsigned)(r - ZYDIS_REGISTER_K0);
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_X87:
		return TIMING_X87;
	default:
		return TIMING_ALWAYS;
	}
}

static void add(uint8_t *set, unsigned n, unsigned empty, unsigned r)
{
	for (unsigned i = 0; i < n && r != TIMING_ALWAYS; i++) {
		if (set[i] == r)
			return;
		if (set[i] == empty) {
			set[i] = (uint8_t)r;
			return;
		}
	}
}

static void add_source(struct timing_insn *t, unsigned r)
{
	add(t->source, TIMING_SOURCES, TIMING_ALWAYS, r);
}

static void add_memory(struct timing_insn *t, const struct insn *in, const ZydisDecodedOperand *op)
{
	unsigned base = register_of(op->mem.base), index = register_of(op->mem.index);

	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN) { /* the instruction is a lea */
		add_source(t, base);
		add_source(t, index);
		return;
	}
	add(t->address, TIMING_ADDRESSES, TIMING_ALWAYS, base);
	add(t->address, TIMING_ADDRESSES, TIMING_ALWAYS, index);
	if (!in->nmem)
		return;
	t->loads |= (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
	t->stores |= (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

/* Pushes, pops, calls and returns adjust rsp at decoding, which takes no time. */
static bool moves_stack(const struct insn *in, const ZydisDecodedOperand *op)
{
	return op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	       op->reg.value == ZYDIS_REGISTER_RSP && in->z.mnemonic != ZYDIS_MNEMONIC_LEAVE;
}

static void add_register(struct timing_insn *t, const struct insn *in,
			 const ZydisDecodedOperand *op)
{
	unsigned r = register_of(op->reg.value);
	bool writes = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	/* writes of eight and sixteen bits merge with the register's old value */
	bool part = writes && r < TIMING_FLAGS && op->size < 32;

	if (r == TIMING_ALWAYS || moves_stack(in, op))
		return;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ || part)
		add_source(t, r);
	if (writes)
		add(t->result, TIMING_RESULTS, TIMING_SINK, r);
}

/* Whether it moves a whole register, which renaming does. */
static bool is_move(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVDQA:
	case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_VMOVDQA64:
	case ZYDIS_MNEMONIC_VMOVDQU64:
		return in->op[0].size >= 32;
	default:
		return false;
	}
}

static bool is_plain_move(const struct insn *in)
{
	return is_move(in) || in->z.mnemonic == ZYDIS_MNEMONIC_MOVZX ||
	       in->z.mnemonic == ZYDIS_MNEMONIC_MOVSX || in->z.mnemonic == ZYDIS_MNEMONIC_MOVSXD;
}

static void set_kind(struct timing_insn *t, const struct kind *k)
{
	t->unit = k->unit;
	t->latency = k->latency;
	t->busy = k->busy * (TICKS / 10);
}

static void vector_kind(struct timing_insn *t, const struct insn *in)
{
	const char *name = ZydisMnemonicGetString(in->z.mnemonic);

	t->unit = TIMING_VECTORS;
	t->latency = 1;
	name += *name == 'v';
	/* moves between general and vector registers */
	if (!strncmp(name, "mov", 3) && !in->nmem && (in->gpr_read || in->gpr_written))
		t->latency = 3;
	for (size_t i = 0; i < sizeof(vector_kinds) / sizeof(vector_kinds[0]); i++)
		if (!strncmp(name, vector_kinds[i].name, strlen(vector_kinds[i].name))) {
			set_kind(t, &vector_kinds[i]);
			return;
		}
}

static void divide_kind(struct timing_insn *t, const struct insn *in)
{
	bool wide = in->op[0].size == 64;

	t->unit = TIMING_DIVIDE;
	t->latency = wide ? 16 : 12;
	t->busy = (wide ? 10u : 6u) * TICKS;
	t->slots = 4;
}

static void general_kind(struct timing_insn *t, const struct insn *in)
{
	const char *name = ZydisMnemonicGetString(in->z.mnemonic);

	t->unit = TIMING_ALU;
	t->latency = 1;
	if (!strcmp(name, "div") || !strcmp(name, "idiv")) {
		divide_kind(t, in);
		return;
	}
	for (size_t i = 0; i < sizeof(general_kinds) / sizeof(general_kinds[0]); i++)
		if (!strcmp(name, general_kinds[i].name))
			set_kind(t, &general_kinds[i]);
}

/* Whether the instruction needs no unit for an operation: moves done by renaming, plain loads
 * and stores, and nops. */
static bool no_operation(const struct insn *in)
{
	bool accesses = in->nmem != 0;

	switch (in->z.meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		return true;
	case ZYDIS_CATEGORY_STRINGOP:
		return accesses;
	default:
		break;
	}
	if (insn_clears(in) || is_move(in) || (accesses && is_plain_move(in)))
		return true;
	return accesses && in->vector && (in->cls == INSN_LOAD || in->cls == INSN_STORE) &&
	       (in->z.meta.category == ZYDIS_CATEGORY_DATAXFER ||
		in->z.meta.category == ZYDIS_CATEGORY_BROADCAST);
}

static void set_operation(struct timing_insn *t, const struct insn *in)
{
	if (no_operation(in))
		return;
	if (in->cls == INSN_SYSCALL || in->z.mnemonic == ZYDIS_MNEMONIC_CPUID) {
		t->latency = SYSTEM_CALL;
		t->serial = true;
		return;
	}
	if (in->vector)
		vector_kind(t, in);
	else
		general_kind(t, in);
	if (in->z.mnemonic == ZYDIS_MNEMONIC_LFENCE || in->z.mnemonic == ZYDIS_MNEMONIC_MFENCE)
		t->serial = true;
	if (in->z.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	    (in->z.mnemonic == ZYDIS_MNEMONIC_XCHG && in->nmem))
		t->latency = LOCKED;
}

/* Computes the ticks for which an operation occupies one of several units. */
static void set_busy(struct timing_insn *t, const struct machine *m)
{
	uint32_t each = t->unit == TIMING_ALU	    ? TICKS / m->alus
			: t->unit == TIMING_VECTORS ? TICKS / m->vectors
						    : TICKS;

	if (t->unit && !t->busy)
		t->busy = each;
}

static uint8_t slots_of(const struct insn *in)
{
	switch (in->cls) {
	case INSN_RMW:
	case INSN_COPY:
	case INSN_CALL:
	case INSN_ICALL:
		return 2;
	default:
		return in->z.meta.category == ZYDIS_CATEGORY_STRINGOP ? 4 : 1;
	}
}

static void set_branch(struct timing_insn *t, const struct insn *in, const struct insn *before)
{
	if (in->cls < INSN_BRANCH || in->cls > INSN_RET)
		return;
	if (in->cls == INSN_BRANCH || in->cls == INSN_IJUMP || in->cls == INSN_ICALL) {
		t->latency = 1;
		t->unit = TIMING_ALU;
	}
	if (before && insn_fuses(before, in)) {
		/* A fused branch executes with its compare, whose flags it would otherwise wait
		 * for. */
		t->slots = 0;
		t->latency = 0;
		t->unit = TIMING_NO_UNIT;
	}
}

void timing_prepare(struct timing_insn *t, const struct insn *in, const struct insn *before,
		    const struct machine *m)
{
	*t = (struct timing_insn){ .slots = slots_of(in) };
	memset(t->address, TIMING_ALWAYS, sizeof(t->address));
	memset(t->source, TIMING_ALWAYS, sizeof(t->source));
	memset(t->result, TIMING_SINK, sizeof(t->result));
	for (unsigned i = 0; i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
			add_register(t, in, op);
		else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
			add_memory(t, in, op);
	}
	if (in->fl_read)
		add_source(t, TIMING_FLAGS);
	if (in->fl_written)
		add(t->result, TIMING_RESULTS, TIMING_SINK, TIMING_FLAGS);
	if (insn_clears(in))
		memset(t->source, TIMING_ALWAYS, sizeof(t->source));
	set_operation(t, in);
	set_branch(t, in, before);
	set_busy(t, m);
}
