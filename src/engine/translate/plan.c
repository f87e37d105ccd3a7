/* SPDX-License-Identifier: MIT */
#include "engine/translate/plan.h"

#include "engine/core/registers.h"
#ifndef invariant /* tests/unit/exact_plan.c, which includes this file, has base/invariant.h */
#include "engine/os/util.h"
#endif
#include "stream/window.h"

static uint64_t narrow(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static struct plan_value constant(uint64_t v)
{
	return (struct plan_value){ .add = (int64_t)v, .bits = 64, .constant = true };
}

static struct plan_value new_root(struct plan *p, unsigned bits)
{
	invariant(p->nroot < sizeof(p->root) / sizeof(p->root[0]));
	p->root[p->nroot] = (struct plan_root){ .word = EXACT_CONSTANT, .bits = (uint8_t)bits };
	return (struct plan_value){ .root = (uint16_t)p->nroot++, .bits = 64 };
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t times(int64_t a, unsigned scale)
{
	return (int64_t)((uint64_t)a * scale);
}

void plan_begin(struct plan *p)
{
	p->words = p->nfield = p->nroot = p->npair = 0;
	p->fs = EXACT_CONSTANT;
	p->scratch = false;
	for (unsigned i = 0; i < 16; i++)
		p->reg[i] = new_root(p, 64);
}

static unsigned add_word(struct plan *p, struct plan_word w)
{
	invariant(p->words < EXACT_WORDS_MAX);
	invariant(!p->words || p->word[p->words - 1].insn < w.insn ||
		  (p->word[p->words - 1].insn == w.insn && p->word[p->words - 1].after <= w.after));
	if (w.what == PLAN_ADDRESS || w.what == PLAN_MEMORY || w.what == PLAN_BEHIND)
		p->scratch = true;
	p->word[p->words] = w;
	return p->words++;
}

static void add_field(struct plan *p, unsigned insn, unsigned operand, struct exact_field f)
{
	invariant(p->nfield < PLAN_FIELDS);
	invariant(!p->nfield || p->field[p->nfield - 1].insn <= insn);
	f.insn = (uint8_t)insn;
	f.operand = (uint8_t)operand;
	p->field[p->nfield++] = f;
}

/* Adds a field that is a word of the stream, unchanged. */
static void add_plain(struct plan *p, unsigned insn, unsigned operand, unsigned word, unsigned bits)
{
	add_field(p, insn, operand,
		  (struct exact_field){
			  .word = (uint16_t)word, .from = (uint8_t)bits, .to = (uint8_t)bits });
}

static void add_constant(struct plan *p, unsigned insn, unsigned operand, uint64_t v)
{
	add_field(p, insn, operand,
		  (struct exact_field){
			  .word = EXACT_CONSTANT, .add = (int64_t)v, .from = 64, .to = 64 });
}

/* Adds a field of `bits` bits that is computed from a word of the stream, its root, or is constant. */
static void add_value(struct plan *p, unsigned insn, unsigned operand, struct plan_value v,
		      unsigned bits)
{
	const struct plan_root *r = &p->root[v.root];
	unsigned to = least(v.bits, bits);

	if (v.constant) {
		add_constant(p, insn, operand, narrow((uint64_t)v.add, bits));
		return;
	}
	invariant(r->word <
		  p->words); /* a value's root is put into the stream before the value is used */
	add_field(p, insn, operand,
		  (struct exact_field){ .add = plus(v.add, (int64_t)(0 - (uint64_t)r->bias)),
					.word = r->word,
					.from = (uint8_t)least(r->bits, to),
					.to = (uint8_t)to });
}

static void store_register(struct plan *p, unsigned insn, bool after, unsigned reg)
{
	struct plan_value *v = &p->reg[reg];
	unsigned bits = v->bits;
	struct plan_root *r;

	if (bits < 64) /* the root cannot be computed from a narrowed value */
		*v = new_root(p, bits);
	r = &p->root[v->root];
	r->bias = v->add;
	if (v->add)
		r->bits = 64;
	r->word = (uint16_t)add_word(p, (struct plan_word){ .insn = (uint8_t)insn,
							    .after = after,
							    .what = PLAN_REGISTER,
							    .base = (uint8_t)reg });
}

/* Returns a register's value, after its root has been put into the stream. */
static struct plan_value stored(struct plan *p, unsigned insn, bool after, unsigned reg)
{
	if (!p->reg[reg].constant && p->root[p->reg[reg].root].word == EXACT_CONSTANT)
		store_register(p, insn, after, reg);
	return p->reg[reg];
}

/* Whether the value is a root plus a constant, without narrowing. */
static bool is_plain(const struct plan *p, unsigned reg)
{
	const struct plan_value *v = &p->reg[reg];

	return v->constant || v->bits == 64;
}

/* Returns the root that stands for a + b * scale. */
static struct plan_value pair_of(struct plan *p, unsigned a, unsigned b, unsigned scale)
{
	struct plan_value v;

	invariant(b < p->nroot && scale);
	for (unsigned i = 0; i < p->npair; i++)
		if (p->pair[i].a == a && p->pair[i].b == b && p->pair[i].scale == scale)
			return (struct plan_value){ .root = p->pair[i].root, .bits = 64 };
	v = new_root(p, 64);
	if (p->npair < PLAN_PAIRS)
		p->pair[p->npair++] = (struct plan_pair){
			.a = (uint16_t)a, .b = (uint16_t)b, .root = v.root, .scale = (uint8_t)scale
		};
	return v;
}

#define NO_ROOT 0xffff

/* Returns base + index * scale + disp as a value; no register need hold its root. */
static struct plan_value sum_of(struct plan *p, unsigned base, unsigned index, unsigned scale,
				int64_t disp)
{
	unsigned a = NO_ROOT, b = NO_ROOT;
	struct plan_value v;

	if ((base != NO_REG && !is_plain(p, base)) || (index != NO_REG && !is_plain(p, index)))
		return new_root(p, 64);
	if (base != NO_REG) {
		disp = plus(disp, p->reg[base].add);
		a = p->reg[base].constant ? NO_ROOT : p->reg[base].root;
	}
	if (index != NO_REG) {
		disp = plus(disp, times(p->reg[index].add, scale));
		b = p->reg[index].constant ? NO_ROOT : p->reg[index].root;
	}
	if (a == NO_ROOT && scale == 1) {
		a = b;
		b = NO_ROOT;
	}
	if (a == NO_ROOT && b == NO_ROOT)
		return constant((uint64_t)disp);
	if (b == NO_ROOT)
		return (struct plan_value){ .add = disp, .root = (uint16_t)a, .bits = 64 };
	v = pair_of(p, a, b, scale);
	v.add = disp;
	return v;
}

/* Returns the register whose storing gives the root of an address, or NO_REG. */
static unsigned holder(const struct plan *p, const struct stream_fields *f, unsigned root)
{
	if (f->base != NO_REG && !p->reg[f->base].constant && p->reg[f->base].root == root &&
	    p->reg[f->base].bits == 64)
		return f->base;
	if (f->index != NO_REG && !p->reg[f->index].constant && p->reg[f->index].root == root &&
	    p->reg[f->index].bits == 64)
		return f->index;
	return NO_REG;
}

/* Adds a word for the address itself, and returns its number. */
static unsigned store_address(struct plan *p, unsigned insn, const struct stream_fields *f)
{
	return add_word(p, (struct plan_word){ .insn = (uint8_t)insn,
					       .what = PLAN_ADDRESS,
					       .base = f->base,
					       .index = f->index,
					       .scale = f->scale,
					       .disp = f->disp });
}

static void plan_address(struct plan *p, unsigned insn, const struct stream_fields *f,
			 uint64_t next)
{
	struct plan_value v;
	unsigned reg;

	if (f->rip) {
		add_constant(p, insn, OPERAND_ADDRESS, next + (uint64_t)f->disp);
		return;
	}
	if (f->base != NO_REG && f->index == NO_REG && !is_plain(p, f->base))
		store_register(p, insn, false,
			       f->base); /* the root is in the stream from here on */
	v = sum_of(p, f->base, f->index, f->scale, f->disp);
	if (!v.constant && p->root[v.root].word == EXACT_CONSTANT) {
		reg = holder(p, f, v.root);
		if (reg != NO_REG) {
			store_register(p, insn, false, reg);
		} else {
			p->root[v.root].bias = v.add;
			p->root[v.root].word = (uint16_t)store_address(p, insn, f);
		}
	}
	add_value(p, insn, OPERAND_ADDRESS, v, 64);
}

static struct plan_word memory_word(unsigned insn, bool after, const struct stream_fields *f,
				    uint64_t next)
{
	return (struct plan_word){ .insn = (uint8_t)insn,
				   .after = after,
				   .what = PLAN_MEMORY,
				   .base = f->base,
				   .index = f->index,
				   .scale = f->scale,
				   .size = f->size,
				   .disp = f->rip ? plus((int64_t)next, f->disp) : f->disp };
}

static void plan_before(struct plan *p, unsigned insn, const struct stream_fields *f, uint64_t next)
{
	static const uint8_t args[] = { RDI, RSI, RDX, RCX, R8, R9 };

	if (f->mask & F_ADDRESS)
		plan_address(p, insn, f, next);
	if (f->mask & F_LOAD && !(f->load_in_dest && f->mask & (F_RESULT | F_LOADED)))
		add_plain(p, insn, OPERAND_LOAD, add_word(p, memory_word(insn, false, f, next)),
			  8u * f->size);
	if (f->mask & F_STORE && f->stored != NO_REG)
		add_value(p, insn, OPERAND_STORE, stored(p, insn, false, f->stored), 8u * f->size);
	if (f->mask & F_STORE && f->stores_imm)
		add_constant(p, insn, OPERAND_STORE, narrow((uint64_t)f->imm, 8u * f->size));
	if (f->mask & F_RETURN)
		add_value(p, insn, OPERAND_RETURN, stored(p, insn, false, RAX), 64);
	for (unsigned i = 0; i < 6 && f->mask & F_ARGS; i++)
		add_value(p, insn, OPERAND_ARG0 + i, stored(p, insn, false, args[i]), 64);
	if (f->mask & F_TARGET)
		add_plain(p, insn, OPERAND_TARGET,
			  add_word(p, (struct plan_word){ .insn = (uint8_t)insn,
							  .what = PLAN_TARGET }),
			  64);
}

/* dest = base narrowed + index * scale + imm, narrowed */
static struct plan_value sum_made(struct plan *p, const struct stream_fields *f)
{
	unsigned bits = f->bits;
	struct plan_value v;

	if (f->src_bits == HIGH_BYTE)
		return new_root(p, 8);
	if (f->src_bits < bits && f->src_base != NO_REG) { /* movzx */
		v = p->reg[f->src_base];
		if (v.constant)
			return constant(narrow((uint64_t)v.add, f->src_bits));
		v.bits = (uint8_t)least(v.bits, f->src_bits);
		return v;
	}
	if (f->src_index == NO_REG && f->src_base != NO_REG) {
		v = p->reg[f->src_base];
		if (v.constant)
			return constant(narrow((uint64_t)plus(v.add, f->imm), bits));
		if (f->imm && v.bits < bits)
			return new_root(p, bits);
		v.add = plus(v.add, f->imm);
		v.bits = (uint8_t)least(v.bits, bits);
		return v;
	}
	v = sum_of(p, f->src_base, f->src_index, f->src_scale, f->imm);
	if (v.constant)
		return constant(narrow((uint64_t)v.add, bits));
	v.bits = (uint8_t)bits;
	return v;
}

static struct plan_value made(struct plan *p, const struct stream_fields *f)
{
	struct plan_value v;

	switch (f->makes) {
	case MAKES_CONSTANT:
		return constant(narrow((uint64_t)f->imm, f->bits));
	case MAKES_SUM:
		v = sum_made(p, f);
		/* narrowing that changes nothing is left out */
		if (!v.constant && !v.add && v.bits >= p->root[v.root].bits &&
		    p->root[v.root].bias == 0)
			v.bits = 64;
		return v;
	case MAKES_LOAD:
		return new_root(p, least(f->src_bits, f->bits));
	default:
		return new_root(p, f->bits);
	}
}

static void plan_after(struct plan *p, unsigned insn, const struct stream_fields *f, uint64_t next,
		       unsigned address)
{
	struct plan_value v;

	for (unsigned i = 0; i < 2; i++) {
		if (!(f->mask & (i ? F_RESULT2 : F_RESULT)))
			continue;
		v = stored(p, insn, true, f->result[i]);
		if (f->result_bits[i] == HIGH_BYTE)
			add_field(p, insn, OPERAND_RESULT + i,
				  (struct exact_field){ .word = p->root[v.root].word,
							.from = EXACT_HIGH,
							.to = 8 });
		else
			add_value(p, insn, OPERAND_RESULT + i, v, f->result_bits[i]);
		if (!i && f->mask & F_LOAD && f->load_in_dest)
			add_value(p, insn, OPERAND_LOAD, v, 8u * f->size);
	}
	if (f->mask & F_LOADED && f->mask & F_LOAD && f->load_in_dest)
		add_value(p, insn, OPERAND_LOAD, stored(p, insn, true, f->dest), 8u * f->size);
	if (!(f->mask & F_STORE) || f->stored != NO_REG || f->stores_imm)
		return;
	if (address != EXACT_CONSTANT)
		add_plain(p, insn, OPERAND_STORE,
			  add_word(p, (struct plan_word){ .insn = (uint8_t)insn,
							  .after = true,
							  .what = PLAN_BEHIND,
							  .size = f->size,
							  .disp = address }),
			  8u * f->size);
	else
		add_plain(p, insn, OPERAND_STORE, add_word(p, memory_word(insn, true, f, next)),
			  8u * f->size);
}

/* Accesses in order, for EXACT_ORDER. */

static void plan_fs(struct plan *p, unsigned insn, const struct order_access *a)
{
	struct plan_word w = { .insn = (uint8_t)insn,
			       .fs = true,
			       .what = PLAN_ADDRESS,
			       .base = a->base,
			       .index = a->index,
			       .scale = a->scale };
	bool based = a->base != NO_REG || a->index != NO_REG;
	unsigned word = p->fs;

	if (based || word == EXACT_CONSTANT)
		word = add_word(p, w);
	if (!based)
		p->fs = (uint16_t)word;
	add_field(p, insn, OPERAND_ADDRESS,
		  (struct exact_field){
			  .add = a->disp, .word = (uint16_t)word, .from = 64, .to = 64 });
}

static void tag(struct plan *p, unsigned kind, unsigned size)
{
	invariant(p->nfield && size < 1u << EXACT_ACCESS_BITS);
	p->field[p->nfield - 1].access = (uint16_t)(kind << EXACT_ACCESS_BITS | size);
}

static void plan_accesses(struct plan *p, unsigned insn, const struct stream_fields *f,
			  uint64_t next)
{
	if (f->repeats) {
		add_value(p, insn, OPERAND_ADDRESS, stored(p, insn, false, RCX), 64);
		tag(p, EXACT_REPEATS, f->access[0].size);
	}
	for (unsigned i = 0; i < f->accesses; i++) {
		const struct order_access *a = &f->access[i];
		struct stream_fields operand = { .base = a->base,
						 .index = a->index,
						 .scale = a->scale,
						 .rip = a->rip,
						 .disp = a->disp };

		if (a->fs)
			plan_fs(p, insn, a);
		else
			plan_address(p, insn, &operand, next);
		tag(p, a->kind, a->size);
	}
}

static bool written(const struct stream_fields *f, unsigned reg)
{
	return reg != NO_REG && (f->written & 1u << reg || (reg == RSP && f->stack));
}

void plan_insn(struct plan *p, unsigned insn, const struct stream_fields *f, uint64_t next)
{
	unsigned address = EXACT_CONSTANT;
	struct plan_value v = { 0 };

	invariant(insn < PLAN_INSNS && !(f->written & 1u << RSP && f->stack));
	plan_before(p, insn, f, next);
	plan_accesses(p, insn, f, next);
	/* the stored value is read after the instruction, when the registers of its address may
	 * have changed */
	if (f->mask & F_STORE && f->stored == NO_REG && !f->stores_imm &&
	    (written(f, f->base) || written(f, f->index)))
		address = store_address(p, insn, f);
	if (f->dest != NO_REG)
		v = made(p, f);
	for (unsigned i = 0; i < 16; i++)
		if (f->written & 1u << i && i != f->dest)
			p->reg[i] = new_root(p, 64);
	if (f->dest != NO_REG)
		p->reg[f->dest] = v;
	if (f->stack)
		p->reg[RSP].add = plus(p->reg[RSP].add, f->stack);
	plan_after(p, insn, f, next, address);
	if (f->stops) {
		add_value(p, insn, OPERAND_ADDRESS, stored(p, insn, true, RCX), 64);
		tag(p, EXACT_LEFT, f->access[0].size);
	}
}
