/* SPDX-License-Identifier: MIT */
#include "coproc/word.h"

#include <string.h>

const char *const word_alu_name[WORD_ALU_N] = {
#define X(id, name, index, writes) name,
	WORD_ALU_OPS(X)
#undef X
};
const bool word_alu_index[WORD_ALU_N] = {
#define X(id, name, index, writes) index,
	WORD_ALU_OPS(X)
#undef X
};
const bool word_alu_writes[WORD_ALU_N] = {
#define X(id, name, index, writes) writes,
	WORD_ALU_OPS(X)
#undef X
};
const char *const word_cond_name[COND_N] = {
#define X(id, name) name,
	WORD_CONDITIONS(X)
#undef X
};

/* Fields in the order of their bits: position, half, number of bits. */
#define LAYOUT(X) \
	X(alu.op, 0, 4, 0) \
	X(alu.dst, 0, 4, 4) \
	X(alu.a, 0, 6, 8) \
	X(alu.b, 0, 6, 14) \
	X(x.op, 0, 4, 20) \
	X(x.dst, 0, 3, 24) \
	X(x.a, 0, 6, 27) \
	X(x.b, 0, 6, 33) \
	X(y.op, 0, 4, 39) \
	X(y.dst, 0, 3, 43) \
	X(y.a, 0, 6, 46) \
	X(y.b, 0, 6, 52) \
	X(cam.op, 1, 3, 0) \
	X(cam.idx, 1, 3, 3) \
	X(cam.src, 1, 6, 6) \
	X(mem.op, 1, 3, 12) \
	X(mem.base, 1, 3, 15) \
	X(mem.idx, 1, 3, 18) \
	X(mem.reg, 1, 6, 21) \
	X(mem.mask, 1, 8, 27) \
	X(br.cond, 1, 4, 35) \
	X(br.kind, 1, 2, 39) \
	X(br.to, 1, 8, 41)
#define RESERVED_LOW 58
#define RESERVED_HIGH 49

struct word_bits word_encode(const struct word *w)
{
	uint64_t half[2] = { 0, 0 };

#define X(field, which, bits, at) \
	half[which] |= ((uint64_t)(uint16_t)w->field & ((1u << (bits)) - 1)) << (at);
	LAYOUT(X)
#undef X
	return (struct word_bits){ half[0], half[1] };
}

static bool operand_is(uint8_t o)
{
	return o < WORD_OPERANDS;
}

static bool alu_is(const struct word_op *o, bool index)
{
	return o->op < WORD_ALU_N && (!index || word_alu_index[o->op]) && operand_is(o->a) &&
	       operand_is(o->b);
}

static bool is_index(uint8_t o)
{
	return o >= WORD_INDEXES && o < WORD_FIELDS;
}

/* Clears the unused parts of an operation. */
static void tidy_alu(struct word_op *o)
{
	if (o->op == WORD_NOP)
		*o = (struct word_op){ 0 };
	if (o->op == WORD_MOV)
		o->b = 0;
	if (!word_alu_writes[o->op])
		o->dst = 0;
}

static void tidy(struct word *w)
{
	tidy_alu(&w->alu);
	tidy_alu(&w->x);
	tidy_alu(&w->y);
	if (w->cam.op == CAM_NOP)
		w->cam.idx = 0;
	if (w->cam.op == CAM_NOP || w->cam.op == CAM_DROP)
		w->cam.src = 0;
	if (w->mem.op == MEM_NOP)
		w->mem.base = w->mem.idx = w->mem.mask = 0;
	if (w->mem.op == MEM_NOP || w->mem.op == MEM_BUMP)
		w->mem.reg = 0;
	if (w->br.cond == COND_NEVER)
		w->br.kind = 0;
	if (w->br.cond == COND_NEVER || w->br.kind >= BR_DONE)
		w->br.to = 0;
}

/* Whether the assembler would assign the comparison to the index ALUs. */
static bool of_indexes(const struct word_op *o)
{
	return word_alu_index[o->op] && (is_index(o->a) || is_index(o->b)) &&
	       o->a >= WORD_CONSTANTS && o->b >= WORD_CONSTANTS;
}

static bool compares(const struct word_op *o)
{
	return o->op != WORD_NOP && !word_alu_writes[o->op];
}

static bool is_canonical(const struct word *w, struct word_bits b)
{
	struct word copy = *w;
	struct word_bits again;

	tidy(&copy);
	again = word_encode(&copy);
	return again.low == b.low && again.high == b.high &&
	       !(w->x.op == WORD_NOP && w->y.op != WORD_NOP) &&
	       !(compares(&w->alu) && of_indexes(&w->alu)) &&
	       !(compares(&w->x) && !of_indexes(&w->x)) && !(compares(&w->y) && !of_indexes(&w->y));
}

bool word_decode(struct word *w, struct word_bits b)
{
	const uint64_t half[2] = { b.low, b.high };

	memset(w, 0, sizeof(*w));
#define X(field, which, bits, at) w->field = half[which] >> (at) & ((1u << (bits)) - 1);
	LAYOUT(X)
#undef X
	if (w->br.kind == BR_RELATIVE)
		w->br.to = (int16_t)((w->br.to ^ 0x80) - 0x80); /* bit 7 is the sign */
	return !(b.low >> RESERVED_LOW) && !(b.high >> RESERVED_HIGH) && alu_is(&w->alu, false) &&
	       alu_is(&w->x, true) && alu_is(&w->y, true) && w->cam.op < CAM_N &&
	       operand_is(w->cam.src) && w->mem.op < MEM_N && operand_is(w->mem.reg) &&
	       w->br.cond < COND_N && is_canonical(w, b);
}
