/* SPDX-License-Identifier: MIT */
#include "cfg/height.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "x86/reg.h"

#define UNKNOWN INT32_MIN
/* an unknown height: of another stack, or another frame of this one, as after longjmp */
#define ELSEWHERE (INT32_MIN + 1)
#define FAR (1 << 24) /* largest height in bytes that is tracked */

/* Heights before an instruction: rsp, and rbp as a frame pointer, relative to rsp at the entry. */
struct height {
	int32_t sp, bp;
	bool known; /* control was followed to this instruction */
};

struct heights {
	struct height *v;
	uint32_t n; /* number of instructions of the graph when the table of heights was made */
	uint32_t *todo, ntodo;
};

struct heights *heights_new(void)
{
	return calloc(1, sizeof(struct heights));
}

void heights_free(struct heights *h)
{
	if (!h)
		return;
	free(h->v);
	free(h->todo);
	free(h);
}

static int32_t plus(int32_t at, int64_t by)
{
	int64_t to = (int64_t)at + by;

	if (at == ELSEWHERE)
		return at;
	return at == UNKNOWN || to > FAR || to < -FAR ? UNKNOWN : (int32_t)to;
}

static int register_of(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER ? reg_part(op->reg.value).reg : -1;
}

/* Height of the address [base + disp] of a lea, with base rsp or rbp. */
static int32_t address_of(const struct height *h, const ZydisDecodedOperand *op)
{
	int base = reg_part(op->mem.base).reg;

	if (op->mem.index != ZYDIS_REGISTER_NONE || (base != UR_RSP && base != UR_RBP))
		return UNKNOWN;
	return plus(base == UR_RSP ? h->sp : h->bp, op->mem.disp.value);
}

static void step(struct height *h, const struct insn *in)
{
	int to = register_of(&in->op[0]), from = register_of(&in->op[1]);
	int32_t *at = to == UR_RSP ? &h->sp : &h->bp;
	bool immediate = in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	int64_t value = in->op[1].imm.value.s;

	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		h->sp = plus(h->sp, -(int64_t)(in->z.operand_width / 8));
		return;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		h->sp = plus(h->sp, in->z.operand_width / 8);
		if (to == UR_RSP || to == UR_RBP)
			*at = UNKNOWN;
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		h->sp = plus(h->bp, 8);
		h->bp = UNKNOWN;
		return;
	/* The callee returns with the stack pointer that it was called with. */
	case ZYDIS_MNEMONIC_CALL:
		return;
	default:
		break;
	}
	if (to != UR_RSP && to != UR_RBP) { /* rsp may be the second register, as in xchg */
		h->sp = in->gpr_written >> UR_RSP & 1 ? ELSEWHERE : h->sp;
		h->bp = in->gpr_written >> UR_RBP & 1 ? UNKNOWN : h->bp;
		return;
	}
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		*at = immediate ? plus(*at, value) : UNKNOWN;
		break;
	case ZYDIS_MNEMONIC_SUB:
		*at = immediate ? plus(*at, -value) : UNKNOWN;
		break;
	case ZYDIS_MNEMONIC_MOV:
		*at = from == UR_RSP ? h->sp : from == UR_RBP ? h->bp : ELSEWHERE;
		break;
	case ZYDIS_MNEMONIC_LEA:
		*at = address_of(h, &in->op[1]);
		break;
	default:
		*at = UNKNOWN;
		break;
	}
}

static void arrive(struct heights *h, uint32_t insn, const struct height *with)
{
	if (insn == CFG_NONE || h->v[insn].known)
		return;
	h->v[insn] = *with;
	h->v[insn].known = true;
	invariant(h->ntodo < h->n);
	h->todo[h->ntodo++] = insn;
}

static void leave(struct heights *h, const struct walk *w, uint32_t insn, const struct height *with)
{
	const struct walk_insn *x = &w->insn[insn];

	if (!x->noreturn)
		arrive(h, x->next, with);
	arrive(h, x->to, with);
	if (x->jump == CFG_NONE)
		return;
	for (uint32_t i = 0; i < w->jump[x->jump].n; i++)
		arrive(h, walk_at(w, w->jump[x->jump].to[i]), with);
}

static bool make(struct heights *h, struct walk *w)
{
	uint32_t v = h->n, todo = v;

	h->n = 0;
	if (!array_widen(h->v, v, w->n) || !array_widen(h->todo, todo, w->n))
		return false;
	h->n = w->n;
	memset(h->v, 0, w->n * sizeof(*h->v));
	arrive(h, walk_at(w, w->proc.start), &(struct height){ 0, UNKNOWN, true });
	while (h->ntodo) {
		uint32_t i = h->todo[--h->ntodo];
		struct height now = h->v[i];
		struct insn in;

		if (walk_writes(w, i) & (1u << UR_RSP | 1u << UR_RBP)) {
			if (code_decode_fully(w->code, w->insn[i].addr, &in))
				step(&now, &in);
			else
				now.sp = now.bp = UNKNOWN;
		}
		leave(h, w, i, &now);
	}
	return true;
}

bool heights_at_entry(struct heights *h, struct walk *w, uint32_t insn)
{
	if (h->n != w->n && !make(h, w))
		return false;
	invariant(insn < h->n);
	return h->v[insn].known && (h->v[insn].sp == 0 || h->v[insn].sp == ELSEWHERE);
}
