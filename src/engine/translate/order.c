/* SPDX-License-Identifier: MIT */
/* An instruction's accesses to memory, if their addresses are plain arithmetic. */
#include "engine/translate/fields.h"
#include "engine/core/registers.h"
#include "engine/translate/block.h"
#include "engine/shared.h"

#define SIZE_MAX_ACCESS ((1u << EXACT_ACCESS_BITS) - 1)

/* Whether the instruction accesses nothing, or memory other than its operand says. */
static bool touches_elsewhere(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *op)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
		return op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return only_names(d);
	}
}

static bool is_64(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_NONE || (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15);
}

static unsigned kind_of(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *op)
{
	bool reads = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool writes = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	if (d->meta.category == ZYDIS_CATEGORY_PREFETCH)
		return EXACT_PREFETCH;
	return reads && writes ? EXACT_MODIFY : reads ? EXACT_LOAD : writes ? EXACT_STORE : 0;
}

static void add(struct stream_fields *f, const ZydisDecodedInstruction *d,
		const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *m = &op->mem;
	unsigned bytes = op->size / 8, kind = kind_of(d, op);
	bool hidden = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	struct order_access a = { .kind = (uint8_t)kind };

	if (m->type != ZYDIS_MEMOP_TYPE_MEM || d->address_width != 64 ||
	    m->segment == ZYDIS_REGISTER_GS || !bytes || !kind || f->accesses == 2)
		return;
	if (!is_64(m->index) || (!is_64(m->base) && m->base != ZYDIS_REGISTER_RIP))
		return; /* xlat */
	a.fs = m->segment == ZYDIS_REGISTER_FS;
	a.rip = m->base == ZYDIS_REGISTER_RIP;
	if (a.fs && a.rip)
		return;
	a.base = (uint8_t)general_register(m->base);
	a.index = (uint8_t)general_register(m->index);
	a.scale = m->scale ? m->scale : 1;
	a.disp = m->disp.has_displacement ? m->disp.value : 0;
	a.size = (uint16_t)(bytes < SIZE_MAX_ACCESS ? bytes : SIZE_MAX_ACCESS);
	if (hidden && m->base == ZYDIS_REGISTER_RSP && kind == EXACT_STORE)
		a.disp -= bytes;
	else if (d->mnemonic == ZYDIS_MNEMONIC_POP && m->base == ZYDIS_REGISTER_RSP && !hidden)
		a.disp += d->operand_width / 8; /* the address uses rsp's value after the step */
	f->access[f->accesses++] = a;
}

void order_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		  const ZydisDecodedOperand *op)
{
	bool string = d->meta.category == ZYDIS_CATEGORY_STRINGOP;

	for (unsigned i = 0; i < d->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && !touches_elsewhere(d, op))
			add(f, d, &op[i]);
	if (f->accesses == 2 && f->access[0].kind == EXACT_STORE) {
		struct order_access store = f->access[0];

		f->access[0] = f->access[1];
		f->access[1] = store;
	}
	if (!f->accesses || !string || d->address_width != 64)
		return;
	f->stops = d->attributes & (ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	f->repeats = f->stops || d->attributes & ZYDIS_ATTRIB_HAS_REP;
}
