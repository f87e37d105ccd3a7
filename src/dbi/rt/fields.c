/* SPDX-License-Identifier: MIT */
#include "dbi/rt/fields.h"

#include "dbi/rt/rt.h"
#include "dbi/shared.h"

unsigned general_register(ZydisRegister r)
{
	/* as numbered by Zydis: AL CL DL BL AH CH DH BH SPL BPL SIL DIL R8B … */
	static const uint8_t byte_reg[20] = { 0, 1, 2, 3, 0,  1,  2,  3,  4,  5,
					      6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_R15B)
		return byte_reg[r - ZYDIS_REGISTER_AL];
	if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W)
		return r - ZYDIS_REGISTER_AX;
	if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D)
		return r - ZYDIS_REGISTER_EAX;
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
		return r - ZYDIS_REGISTER_RAX;
	return NO_REG;
}

static unsigned width_of(ZydisRegister r)
{
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
		return EXACT_64;
	if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D)
		return EXACT_32;
	if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W)
		return EXACT_16;
	return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH ? EXACT_8_HIGH : EXACT_8;
}

static void use(struct stream_fields *f, ZydisRegister r)
{
	unsigned n = general_register(r);

	if (n != NO_REG)
		f->used |= (uint16_t)(1u << n);
}

static void add_result(struct stream_fields *f, const ZydisDecodedOperand *op)
{
	unsigned r = general_register(op->reg.value);
	bool second = f->mask & EXACT_F_RESULT;

	if (r == NO_REG || r == RSP || f->mask & EXACT_F_RESULT2)
		return;
	f->result[second] = (uint8_t)r;
	f->mask |= second ? EXACT_F_RESULT2 : EXACT_F_RESULT;
	f->mask |= (uint16_t)(width_of(op->reg.value)
			      << (second ? EXACT_F_WIDTH2_SHIFT : EXACT_F_WIDTH_SHIFT));
}

static bool is_64(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_NONE || (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15);
}

/* Accesses nothing, or not where its operand says. */
static bool touches_elsewhere(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_ENTER:
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
		return true;
	default:
		return d->meta.category == ZYDIS_CATEGORY_PREFETCH ||
		       d->meta.category == ZYDIS_CATEGORY_NOP ||
		       d->meta.category == ZYDIS_CATEGORY_WIDENOP;
	}
}

/* May leave parts of its operand alone, and not fault there. */
static bool is_masked(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		return true;
	default:
		return d->avx.mask.mode != ZYDIS_MASK_MODE_INVALID &&
		       d->avx.mask.mode != ZYDIS_MASK_MODE_DISABLED;
	}
}

/* The first memory operand that is accessed, if its address is plain arithmetic. */
static void add_memory(struct stream_fields *f, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *m = &op->mem;
	unsigned bytes = op->size / 8;
	bool hidden = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	bool stack = hidden && m->base == ZYDIS_REGISTER_RSP;

	if (f->mask & EXACT_F_ADDRESS || m->type != ZYDIS_MEMOP_TYPE_MEM ||
	    d->address_width != 64 || m->segment == ZYDIS_REGISTER_FS ||
	    m->segment == ZYDIS_REGISTER_GS || bytes == 0)
		return;
	if (!is_64(m->index) || (!is_64(m->base) && m->base != ZYDIS_REGISTER_RIP))
		return; /* a vector of indices, xlat */
	if (!(op->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE)) ||
	    touches_elsewhere(d))
		return;
	f->rip = m->base == ZYDIS_REGISTER_RIP;
	f->base = (uint8_t)general_register(m->base);
	f->index = (uint8_t)general_register(m->index);
	f->scale = m->scale ? m->scale : 1;
	f->disp = m->disp.has_displacement ? m->disp.value : 0;
	if (stack && op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		f->disp -= bytes;
	f->size = bytes >= 8 ? 8 : bytes >= 4 ? 4 : bytes >= 2 ? 2 : 1;
	f->mask |= EXACT_F_ADDRESS;
	if (!(log_mode & EXACT_VALUES) || (hidden && !stack) || is_masked(d))
		return;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		f->mask |= EXACT_F_LOAD;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		f->mask |= EXACT_F_STORE;
}

static bool is_string(const ZydisDecodedInstruction *d)
{
	return d->meta.category == ZYDIS_CATEGORY_STRINGOP ||
	       d->attributes &
		       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

void stream_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op)
{
	bool call = d->meta.category == ZYDIS_CATEGORY_CALL;
	bool ret = d->meta.category == ZYDIS_CATEGORY_RET;
	bool control = call || ret || d->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		       d->meta.category == ZYDIS_CATEGORY_COND_BR ||
		       d->meta.category == ZYDIS_CATEGORY_SYSCALL;

	*f = (struct stream_fields){ .base = NO_REG, .index = NO_REG };
	for (unsigned i = 0; i < d->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			use(f, o->reg.value);
			if (log_mode & EXACT_VALUES && !control &&
			    o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && !is_string(d))
				add_result(f, o);
		} else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			use(f, o->mem.base);
			use(f, o->mem.index);
			if (!control)
				add_memory(f, d, o);
		}
	}
	if (is_string(d)) /* addresses are those of the first element; what it read is not told */
		f->mask &= EXACT_F_ADDRESS;
	if (!(log_mode & EXACT_VALUES))
		return;
	if (ret)
		f->mask = EXACT_F_RETURN;
	if (call)
		f->mask = EXACT_F_ARGS;
	if ((call || d->meta.category == ZYDIS_CATEGORY_UNCOND_BR) && !d->raw.imm[0].is_relative)
		f->mask |= EXACT_F_TARGET;
}
