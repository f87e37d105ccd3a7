/* SPDX-License-Identifier: MIT */
/*
 * Everything that is not integer code: SSE, AVX, AVX-512, MMX, x87 and the rest. Except for what
 * lift_simd() tracks, results in these registers are unknown; memory operands keep address, size
 * and loaded value.
 */
#include "x86/lift_priv.h"

#define STORE_MAX 64 /* bytes */

/* The effects of an instruction on the tracked state. */
struct effects {
	uint32_t regs;	/* general registers that are written */
	uint64_t vregs; /* vector registers that are written */
	bool unfit;	/* has effects that unknown values cannot express */
	const ZydisDecodedOperand *read, *write;
};

static bool tracked_elsewhere(ZydisRegister r)
{
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_SEGMENT:
	case ZYDIS_REGCLASS_TABLE:
	case ZYDIS_REGCLASS_CONTROL:
	case ZYDIS_REGCLASS_DEBUG:
	case ZYDIS_REGCLASS_TEST:
	case ZYDIS_REGCLASS_BOUND:
	case ZYDIS_REGCLASS_IP:
		return true;
	default:
		return false;
	}
}

static void add_memory(struct effects *e, const ZydisDecodedOperand *op, bool reads, bool writes)
{
	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
		return;
	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		e->unfit |= writes; /* a gather has no single address */
		return;
	}
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && op->mem.base == ZYDIS_REGISTER_RSP)
		e->unfit = true;
	if (writes) {
		if (e->write || op->size == 0 || op->size > STORE_MAX * 8)
			e->unfit = true;
		e->write = op;
	}
	if (reads)
		e->read = op;
}

static void add_effects(struct effects *e, const ZydisDecodedOperand *op)
{
	bool reads = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool writes = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	struct reg_part p;

	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		add_memory(e, op, reads, writes);
		return;
	}
	if (op->type != ZYDIS_OPERAND_TYPE_REGISTER || !writes)
		return;
	p = reg_part(op->reg.value);
	if (p.reg >= 0)
		e->regs |= 1u << p.reg;
	else if (lift_vreg(op->reg.value) >= 0)
		e->vregs |= 1ull << lift_vreg(op->reg.value);
	else if (tracked_elsewhere(op->reg.value))
		e->unfit = true;
}

/* Whether the category has effects beyond registers and explicit operands. */
static bool reaches_further(const struct insn *in)
{
	switch (in->z.meta.category) {
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_SCATTER:
	case ZYDIS_CATEGORY_ENQCMD:
	case ZYDIS_CATEGORY_RDWRFSGS:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_PKU:
	case ZYDIS_CATEGORY_CET:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_WAITPKG:
	case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_CLZERO:
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_TSX_LDTRK:
		return true;
	default:
		break;
	}
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_MOVDIR64B:
		return true;
	default:
		return false;
	}
}

static int width_of(int bytes)
{
	return bytes >= 8 ? 3 : bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;
}

static void forget_registers(struct lift *l, uint32_t regs)
{
	if (regs)
		lift_emit(l, UOP_UNK, 0, 0, 0, 0, 0)->imm = regs;
}

/* Vector registers that are written without being operands. */
static uint64_t more_vector_registers(const struct insn *in, uint64_t regs)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_VZEROALL:
	case ZYDIS_MNEMONIC_VZEROUPPER:
		return 0xffff;
	case ZYDIS_MNEMONIC_VP2INTERSECTD:
	case ZYDIS_MNEMONIC_VP2INTERSECTQ: /* this instruction writes a pair of masks */
		return 0xffull << UV_K0;
	default:
		return in->z.meta.category == ZYDIS_CATEGORY_GATHER ? regs | 0xfeull << UV_K0
								    : regs;
	}
}

static void forget_vectors(struct lift *l, uint64_t regs)
{
	regs = more_vector_registers(l->in, regs);
	if (regs)
		lift_emit(l, UOP_VUNK, 0, 0, 0, 0, 0)->imm = (int64_t)regs;
}

static void forget_flags(struct lift *l)
{
	uint16_t fl = l->in->fl_written & l->live;

	if (fl)
		lift_emit(l, UOP_UNKFL, 0, 0, 0, 0, 0)->imm = fl;
}

/* Puts the operand's address into UR_EA. */
static void take_address(struct lift *l, const ZydisDecodedOperand *op)
{
	struct ea ea = lift_ea(l, op);

	lift_emit(l, UOP_LEA, 3, UR_EA, ea.a, ea.b, ea.c)->imm = ea.imm;
}

static void forget_memory(struct lift *l, const ZydisDecodedOperand *op)
{
	int bytes = op->size / 8, at = 0, w;

	while (at < bytes) {
		w = width_of(bytes - at);
		lift_emit(l, UOP_STU, w, 0, UR_EA, UR_ZERO, 0)->imm = at;
		at += 1 << w;
	}
}

static int loaded_bytes(const struct insn *in, const ZydisDecodedOperand *op)
{
	int bits = in->z.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
				   !in->z.avx.broadcast.is_static && op->element_size
			   ? op->element_size
			   : op->size;

	return bits / 8;
}

void lift_fallback(struct lift *l)
{
	struct effects e = { 0 };
	int t = -1, bytes;

	switch (l->in->z.meta.category) {
	/* prefetches and other hints access nothing that could fail */
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		lift_retire(l, 0);
		return;
	default:
		break;
	}

	if (lift_simd(l))
		return;
	for (int i = 0; i < l->in->z.operand_count; i++)
		add_effects(&e, &l->in->op[i]);
	if (e.unfit || reaches_further(l->in) || e.regs & 1u << UR_RSP) {
		lift_stop(l, RA_STOP_UNSUPPORTED);
		return;
	}
	if (e.write || e.read)
		take_address(l, e.write ? e.write : e.read);
	if (e.read && (!e.write || e.read == e.write)) {
		bytes = loaded_bytes(l->in, e.read);
		/* operands of odd sizes, and masked loads, need not be readable: only the
		 * address is recorded */
		if (bytes >= 1 && (bytes & (bytes - 1)) == 0 &&
		    l->in->z.avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED) {
			t = lift_temp(l);
			lift_load(l, width_of(bytes), t, lift_at(UR_EA, 0));
		}
	}
	if (e.write)
		forget_memory(l, e.write);
	forget_registers(l, e.regs);
	forget_vectors(l, e.vregs);
	forget_flags(l);
	lift_retire(l, (uint16_t)((t >= 0 ? UREC_A(t, UREC_LOAD) : 0) |
				  (e.write || e.read ? UREC_EA : 0)));
}

/* Lifts instructions whose only effect is on registers, with values that cannot be known: rdtsc,
 * cpuid and the like. */
void lift_unknown_registers(struct lift *l)
{
	uint32_t regs = 0;

	for (int i = 0; i < l->in->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &l->in->op[i];

		if (op_is_reg(op) && op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    reg_part(op->reg.value).reg >= 0)
			regs |= 1u << reg_part(op->reg.value).reg;
	}
	forget_registers(l, regs);
	forget_flags(l);
	lift_retire(l, 0);
}
