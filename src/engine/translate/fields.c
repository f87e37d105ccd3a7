/* SPDX-License-Identifier: MIT */
#include "engine/translate/fields.h"

#include "engine/record/log.h"
#include "engine/translate/block.h"
#include "engine/shared.h"

static unsigned bits_of(ZydisRegister r)
{
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
		return 64;
	if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D)
		return 32;
	if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W)
		return 16;
	return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH ? HIGH_BYTE : 8;
}

static void use(struct stream_fields *f, ZydisRegister r)
{
	unsigned n = general_register(r);

	if (n != NO_REG)
		f->used |= (uint16_t)(1u << n);
}

static void need(struct stream_fields *f, ZydisRegister r)
{
	unsigned n = general_register(r);

	if (n != NO_REG)
		f->read |= (uint16_t)(1u << n);
}

static void add_result(struct stream_fields *f, const ZydisDecodedOperand *op)
{
	unsigned r = general_register(op->reg.value);
	bool second = f->mask & F_RESULT;

	if (r == NO_REG || r == RSP || f->mask & F_RESULT2)
		return;
	f->result[second] = (uint8_t)r;
	f->result_bits[second] = (uint8_t)bits_of(op->reg.value);
	f->mask |= second ? F_RESULT2 : F_RESULT;
}

static bool is_64(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_NONE || (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15);
}

bool only_names(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
		return true;
	default:
		return d->meta.category == ZYDIS_CATEGORY_NOP ||
		       d->meta.category == ZYDIS_CATEGORY_WIDENOP;
	}
}

/* Whether the instruction accesses nothing, or memory other than its operand says. */
static bool touches_elsewhere(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_ENTER:
		return true;
	default:
		return d->meta.category == ZYDIS_CATEGORY_PREFETCH || only_names(d);
	}
}

/* Whether the instruction may leave parts of its operand alone, and not fault there. */
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

/* Finds the first memory operand that is accessed, if its address is plain arithmetic. */
static void add_memory(struct stream_fields *f, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *m = &op->mem;
	unsigned bytes = op->size / 8;
	bool hidden = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	bool stack = hidden && m->base == ZYDIS_REGISTER_RSP;

	if (!(log_mode & (EXACT_ADDRESSES | EXACT_VALUES | EXACT_LOADED)))
		return;
	if (f->mask & (F_ADDRESS | F_LOADED) || m->type != ZYDIS_MEMOP_TYPE_MEM ||
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
	f->mask |= log_mode & EXACT_LOADED ? F_LOADED : F_ADDRESS;
	if (!(log_mode & (EXACT_VALUES | EXACT_LOADED)) || (hidden && !stack) || is_masked(d))
		return;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		f->mask |= F_LOAD;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && log_mode & EXACT_VALUES)
		f->mask |= F_STORE;
}

static bool is_string(const ZydisDecodedInstruction *d)
{
	return d->meta.category == ZYDIS_CATEGORY_STRINGOP ||
	       d->attributes &
		       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static bool is_register(const ZydisDecodedOperand *op, unsigned least)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       general_register(op->reg.value) != NO_REG && bits_of(op->reg.value) >= least;
}

/* dest = src + imm */
static void add_sum(struct stream_fields *f, const ZydisDecodedOperand *src, int64_t imm)
{
	f->makes = MAKES_SUM;
	f->src_base = (uint8_t)general_register(src->reg.value);
	f->src_bits = (uint8_t)bits_of(src->reg.value);
	f->imm = imm;
}

/* dest = imm */
static void add_constant(struct stream_fields *f, uint64_t imm)
{
	f->makes = MAKES_CONSTANT;
	f->imm = (int64_t)imm;
}

static void add_loaded(struct stream_fields *f, unsigned bits)
{
	f->makes = MAKES_LOAD;
	f->load_in_dest = true;
	f->src_bits = (uint8_t)bits;
}

static void add_move(struct stream_fields *f, const ZydisDecodedOperand *src)
{
	if (src->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		add_constant(f, src->imm.value.u);
	else if (src->type == ZYDIS_OPERAND_TYPE_MEMORY)
		add_loaded(f, src->size);
	else if (is_register(src, 8))
		add_sum(f, src, 0);
}

static void add_lea(struct stream_fields *f, const ZydisDecodedInstruction *d,
		    const ZydisDecodedOperand *op, uint64_t next)
{
	const ZydisDecodedOperandMem *m = &op->mem;
	int64_t disp = m->disp.has_displacement ? m->disp.value : 0;

	if (d->address_width != 64)
		return;
	if (m->base == ZYDIS_REGISTER_RIP) {
		add_constant(f, next + (uint64_t)disp);
	} else {
		f->makes = MAKES_SUM;
		f->src_base = (uint8_t)general_register(m->base);
		f->src_bits = 64;
		f->src_index = (uint8_t)general_register(m->index);
		f->src_scale = m->scale ? m->scale : 1;
		f->imm = disp;
	}
}

/* Describes how the first operand, a whole register, gets its value. */
static void add_making(struct stream_fields *f, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op, uint64_t next)
{
	const ZydisDecodedOperand *src = &op[1];
	bool same;

	if (d->operand_count < 1 || !is_register(&op[0], 32) ||
	    !(op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	if (d->mnemonic == ZYDIS_MNEMONIC_BSF || d->mnemonic == ZYDIS_MNEMONIC_BSR ||
	    (op[0].actions & ZYDIS_OPERAND_ACTION_CONDWRITE &&
	     d->meta.category != ZYDIS_CATEGORY_CMOV))
		return; /* the register may keep its value, without zero extension */
	f->dest = (uint8_t)general_register(op[0].reg.value);
	f->bits = (uint8_t)bits_of(op[0].reg.value);
	same = d->operand_count_visible == 2 && src->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       op[0].reg.value == src->reg.value;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
		add_move(f, src);
		break;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		f->load_in_dest = src->type == ZYDIS_OPERAND_TYPE_MEMORY;
		break;
	case ZYDIS_MNEMONIC_POP:
		add_loaded(f, 64);
		break;
	case ZYDIS_MNEMONIC_LEA:
		add_lea(f, d, src, next);
		break;
	case ZYDIS_MNEMONIC_XOR:
		if (same)
			add_constant(f, 0);
		break;
	case ZYDIS_MNEMONIC_SUB:
		if (same)
			add_constant(f, 0);
		else if (src->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			add_sum(f, &op[0], (int64_t)(0 - src->imm.value.u));
		break;
	case ZYDIS_MNEMONIC_ADD:
		if (src->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			add_sum(f, &op[0], (int64_t)src->imm.value.u);
		break;
	case ZYDIS_MNEMONIC_INC:
		add_sum(f, &op[0], 1);
		break;
	case ZYDIS_MNEMONIC_DEC:
		add_sum(f, &op[0], -1);
		break;
	default:
		break;
	}
}

/* Describes what the instruction stores, if that is a register or a constant. */
static void add_stored(struct stream_fields *f, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperand *src = d->mnemonic == ZYDIS_MNEMONIC_PUSH ? &op[0] : &op[1];

	if (d->mnemonic != ZYDIS_MNEMONIC_PUSH &&
	    (d->mnemonic != ZYDIS_MNEMONIC_MOV || op[0].type != ZYDIS_OPERAND_TYPE_MEMORY))
		return;
	if (src->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		f->stores_imm = true;
		f->imm = (int64_t)src->imm.value.u;
	} else if (is_register(src, 8)) {
		f->stored = (uint8_t)general_register(src->reg.value);
	}
}

static void add_stack(struct stream_fields *f, const ZydisDecodedInstruction *d,
		      const ZydisDecodedOperand *op)
{
	bool rsp =
		op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].reg.value == ZYDIS_REGISTER_RSP;

	if (d->operand_width != 64)
		return;
	if (d->mnemonic == ZYDIS_MNEMONIC_PUSH)
		f->stack = -8;
	else if (d->mnemonic == ZYDIS_MNEMONIC_POP && !rsp)
		f->stack = 8;
	if (f->stack)
		f->written &= (uint16_t) ~(1u << RSP);
}

/* pop [rsp + n]: the address uses rsp's value after the pop. */
static bool moves_its_base(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *op)
{
	return d->mnemonic == ZYDIS_MNEMONIC_POP && op->mem.base == ZYDIS_REGISTER_RSP &&
	       op->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
}

/* Describes where the return address lies; for a ret, also its value. */
static void add_return_address(struct stream_fields *f, bool ret)
{
	f->base = RSP;
	f->index = NO_REG;
	f->scale = 1;
	f->size = 8;
	f->disp = ret ? 0 : -8;
	f->mask = ret ? F_ADDRESS | F_LOAD : F_ADDRESS;
}

void stream_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op, uint64_t next)
{
	bool call = d->meta.category == ZYDIS_CATEGORY_CALL;
	bool ret = d->meta.category == ZYDIS_CATEGORY_RET;
	bool control = call || ret || d->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		       d->meta.category == ZYDIS_CATEGORY_COND_BR ||
		       d->meta.category == ZYDIS_CATEGORY_SYSCALL;

	*f = (struct stream_fields){ .base = NO_REG,
				     .index = NO_REG,
				     .dest = NO_REG,
				     .stored = NO_REG,
				     .src_base = NO_REG,
				     .src_index = NO_REG };
	for (unsigned i = 0; i < d->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			use(f, o->reg.value);
			if (o->actions & ~(unsigned)ZYDIS_OPERAND_ACTION_WRITE ||
			    bits_of(o->reg.value) < 32)
				need(f, o->reg.value);
			if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
				continue;
			if (general_register(o->reg.value) != NO_REG)
				f->written |= (uint16_t)(1u << general_register(o->reg.value));
			if (log_mode & EXACT_VALUES && !control && !is_string(d))
				add_result(f, o);
		} else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			use(f, o->mem.base);
			use(f, o->mem.index);
			need(f, o->mem.base);
			need(f, o->mem.index);
			/* the memory operands of cmps alone describe the addresses that step on */
			if (is_string(d) && o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
			    general_register(o->mem.base) != NO_REG)
				f->written |= (uint16_t)(1u << general_register(o->mem.base));
			if (!control)
				add_memory(f, d, o);
			if (moves_its_base(d, o))
				f->disp += d->operand_width / 8;
		}
	}
	/* addresses are those of the first element; the loaded values are not told */
	if (is_string(d))
		f->mask &= F_ADDRESS;
	if (control) {
		f->written = 0; /* the instruction ends the block */
	} else {
		add_making(f, d, op, next);
		add_stored(f, d, op);
		add_stack(f, d, op);
	}
	if (log_mode & EXACT_ORDER)
		order_fields(f, d, op);
	if (log_mode & EXACT_CALLS && (call || ret))
		add_return_address(f, ret);
	else if (!(log_mode & EXACT_VALUES))
		return;
	if (ret)
		f->mask |= F_RETURN;
	if (call)
		f->mask |= F_ARGS;
	if ((call || d->meta.category == ZYDIS_CATEGORY_UNCOND_BR) && !d->raw.imm[0].is_relative)
		f->mask |= F_TARGET;
}
