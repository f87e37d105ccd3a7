/* SPDX-License-Identifier: MIT */
#include "sampler/decode.h"

#include "x86/insn.h"

static void set(struct retired *r, int operand, uint64_t value)
{
	r->have |= (uint16_t)(1u << operand);
	r->value[operand] = value;
}

/* Returns the operand of an instruction of that class that a record of that kind holds. */
static int operand_of(int kind, const struct code_site *site, bool second)
{
	switch (kind) {
	case UREC_LOAD:
		return OPERAND_LOAD;
	case UREC_STORE:
		return OPERAND_STORE;
	default:
		if (site->cls == INSN_RET)
			return OPERAND_RETURN;
		if (site->cls == INSN_IJUMP || site->cls == INSN_ICALL)
			return OPERAND_TARGET;
		return second ? OPERAND_RESULT2 : OPERAND_RESULT;
	}
}

/* Decodes the words that follow a head, and returns their number. */
static uint32_t decode_fields(const struct code *c, uint64_t head, const uint64_t *out, uint32_t n,
			      struct retired *r, const struct code_site *site)
{
	uint16_t rec = c->uop[(uint32_t)head].rec;
	int kind_a = rec >> 5 & 3, kind_b = rec >> 12 & 3;
	uint32_t k = 0;

	if ((head & RA_HAS_EA) && k < n)
		set(r, OPERAND_ADDRESS, out[k++]);
	if ((head & RA_HAS_A) && k < n)
		set(r, operand_of(kind_a, site, false), out[k++]);
	if ((head & RA_HAS_B) && k < n)
		set(r, operand_of(kind_b, site, kind_a == UREC_RESULT), out[k++]);
	return k;
}

static uint32_t decode_args(uint64_t head, const uint64_t *out, uint32_t n, struct retired *r)
{
	uint32_t k = 0;

	for (int i = 0; i < 6; i++)
		if ((head >> (RA_ARGS_SHIFT + i) & 1) && k < n)
			set(r, OPERAND_ARG0 + i, out[k++]);
	return k;
}

/* Whether the instruction's result is known, and the instruction does nothing but add a constant to
 * a general register other than the stack pointer. */
static void decode_step(const struct uop *u, struct retired *r)
{
	bool sum = u->op == UOP_ADD || u->op == UOP_ADDK,
	     less = u->op == UOP_SUB || u->op == UOP_SUBK;
	bool own =
		u->op == UOP_LEA ? u->b == UR_ZERO && u->imm : (sum || less) && u->flags & UF_IMM;
	int64_t step = less ? -(int64_t)u->imm : (int64_t)u->imm;
	uint32_t w = u->flags & UF_WIDTH;

	if (!own || !(u->flags & UF_RETIRE) || u->dst != u->a || u->dst > UR_R15 ||
	    u->dst == UR_RSP || w < 2 || !step || step != (int32_t)step)
		return;
	r->counts = (uint8_t)(1u << w);
	r->reg = u->dst;
	r->step = (int32_t)step;
}

uint32_t decode_window(const struct code *c, const uint64_t *out, uint32_t n, struct retired *ri,
		       uint32_t max)
{
	struct code_cursor at = { 0 };
	struct code_site site;
	uint32_t i = 0, k = 0;

	while (i < n && k < max) {
		struct retired *r = &ri[k];
		uint64_t head = out[i++];

		r->have = 0;
		if (head & RA_ARGS) {
			i += decode_args(head, out + i, n - i, r);
			if (i >= n)
				break;
			head = out[i++];
		}
		if (!code_site_next(c, (uint32_t)head, &at, &site) || !site.len)
			break;
		r->site = (struct site_id){ .image = site.image, .addr = site.addr };
		r->cls = site.cls;
		r->len = site.len;
		r->access = site.access;
		r->taken = head & RA_TAKEN;
		i += decode_fields(c, head, out + i, n - i, r, &site);
		r->counts = 0;
		r->step = 0;
		if (r->have >> OPERAND_RESULT & 1)
			decode_step(&c->uop[(uint32_t)head], r);
		k++;
	}
	return k;
}
