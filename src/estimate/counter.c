/* SPDX-License-Identifier: MIT */
#include "estimate/counter.h"

#include <stdlib.h>

#include "estimate/parts.h"
#include "x86/insn.h"

/* part of the windows that saw the register in which other code set it */
#define DISTURBED 0.01
#define DISTURBED_ONCE 1 /* number of such windows that is accepted in any case */
#define KEPT 0xf028	 /* rbx rbp r12-r15: a called procedure preserves them */

/* A backward search, path by path, for the code that can have set a register when control comes to
 * an instruction. */
struct search {
	const struct estimate_proc *p;
	struct image *im;
	const struct tally *t;
	uint16_t
		reg; /* the register's bit in the masks gpr_read and gpr_written of an instruction */
	bool returns; /* the search reached the instruction itself: a loop */
	double other; /* times that windows saw other code set the register */
	bool *seen;   /* by block: the search reached its end */
	uint32_t *todo, n;
};

static bool decode(const struct search *c, const struct cfg_insn *at, struct insn *in)
{
	size_t n;
	const uint8_t *code = image_code(c->im, at->addr, &n);

	return code && insn_decode(in, code, n, at->addr);
}

static double observed(const struct estimate_proc *p, uint32_t insn)
{
	return p->site[insn] ? (double)p->site[insn]->observed : 0;
}

/* Whether the instruction sets a register to a constant: xor r, r or mov r, imm. */
static bool is_constant(const struct insn *in)
{
	const ZydisDecodedOperand *d = &in->op[0], *s = &in->op[1];

	if (in->z.operand_count < 2 || d->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	if (in->z.mnemonic == ZYDIS_MNEMONIC_MOV)
		return s->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	return (in->z.mnemonic == ZYDIS_MNEMONIC_XOR || in->z.mnemonic == ZYDIS_MNEMONIC_SUB) &&
	       s->type == ZYDIS_OPERAND_TYPE_REGISTER && s->reg.value == d->reg.value;
}

static bool counts_too(const struct search *c, uint64_t addr)
{
	for (int i = 0; i < TALLY_PEERS && c->t->peer[i].n; i++)
		if (c->t->peer[i].site.image == c->p->image && c->t->peer[i].site.addr == addr)
			return true;
	return false;
}

/* Whether the search ends at an instruction that sets the register. */
static bool ends_at(struct search *c, uint32_t i)
{
	const struct cfg_insn *at = &c->p->g.insn[i];
	struct insn in;

	if (at->addr == c->t->key.addr || counts_too(c, at->addr)) {
		c->returns = true;
		return true;
	}
	if (at->cls == INSN_CALL || at->cls == INSN_ICALL) {
		/* Other registers are known to survive a call where windows saw the counter go
		 * on after it. */
		if (c->reg & KEPT || c->t->agreed >= TALLY_SURE)
			return false;
		c->other += observed(c->p, i);
		return true;
	}
	if (!decode(c, at, &in)) {
		c->other += observed(c->p, i);
		return true;
	}
	if (!(in.gpr_written & c->reg))
		return false;
	if (!is_constant(&in))
		c->other += observed(c->p, i);
	return true;
}

/* Goes back from the beginning of a block. At the procedure's entry the caller may have set the
 * register to anything. */
static void go_back(struct search *c, uint32_t b)
{
	const struct cfg *g = &c->p->g;
	const struct cfg_block *k = &g->block[b];

	for (uint32_t i = k->in; i < k->in + k->nin; i++) {
		const struct cfg_edge *e = &g->edge[g->in[i]];

		if (e->from == CFG_ENTRY_BLOCK)
			c->other += k->ninsn ? observed(c->p, k->insn) : 0;
		else if (e->kind != CFG_VIRTUAL && !c->seen[e->from]) {
			c->seen[e->from] = true;
			c->todo[c->n++] = e->from;
		}
	}
}

static void search(struct search *c, uint32_t start)
{
	const struct cfg *g = &c->p->g;
	uint32_t b = start, i;

	for (i = g->block[b].insn; g->insn[i].addr != c->t->key.addr; i++)
		;
	for (;;) {
		bool ended = false;

		while (!ended && i > g->block[b].insn)
			ended = ends_at(c, --i);
		if (!ended)
			go_back(c, b);
		if (!c->n)
			return;
		b = c->todo[--c->n];
		i = g->block[b].insn + g->block[b].ninsn;
	}
}

static bool is_memory(const struct profile *p, struct site_id id)
{
	const struct site *s = profile_site_find(p, id);

	return s && (s->cls == INSN_STORE || s->cls == INSN_RMW);
}

static bool is_undisturbed(struct search *c, uint32_t block)
{
	double most = DISTURBED * (double)c->t->seen;

	c->seen = calloc(c->p->g.nblocks + 1u, sizeof(*c->seen));
	c->todo = calloc(c->p->g.nblocks + 1u, sizeof(*c->todo));
	if (c->seen && c->todo)
		search(c, block);
	free(c->seen);
	free(c->todo);
	return c->returns && c->other <= (most > DISTURBED_ONCE ? most : DISTURBED_ONCE);
}

static bool decode_tally(const struct counter_source *s, const struct tally *t, struct insn *in)
{
	struct image *im = s->src->image ? s->src->image(s->src->ctx, t->key.image) : NULL;
	size_t n = 0;
	const uint8_t *code = im ? image_code(im, t->key.addr, &n) : NULL;

	return code && insn_decode(in, code, n, t->key.addr);
}

bool counter_is_own(void *ctx, const struct tally *t)
{
	const struct counter_source *s = ctx;
	struct insn in;

	if (!is_memory(s->src->profile, t->key))
		return true;
	for (int i = 0; decode_tally(s, t, &in) && i < in.z.operand_count; i++) {
		const ZydisDecodedOperand *op = &in.op[i];

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (op->mem.base == ZYDIS_REGISTER_RIP)
			return !t->strangers;
		return op->mem.base == ZYDIS_REGISTER_RSP || op->mem.base == ZYDIS_REGISTER_RBP;
	}
	return false;
}

bool counter_is_sure(void *ctx, const struct tally *t)
{
	const struct counter_source *s = ctx;
	struct search c = { .t = t };
	struct estimate_at at;
	struct insn in;

	if (is_memory(s->src->profile, t->key))
		return t->agreed >= TALLY_SURE;
	if (!estimate_find(s->e, t->key.image, t->key.addr, &at) || !decode_tally(s, t, &in))
		return false;
	c.im = s->src->image(s->src->ctx, t->key.image);
	c.p = at.proc;
	c.reg = in.gpr_written;
	return is_undisturbed(&c, at.block);
}

bool counters_are_apart(void *ctx, const struct tally *a, const struct tally *b)
{
	const struct counter_source *s = ctx;
	struct estimate_at x, y;

	return estimate_find(s->e, a->key.image, a->key.addr, &x) &&
	       estimate_find(s->e, b->key.image, b->key.addr, &y) &&
	       part_of(s->e, x.proc, x.block) != part_of(s->e, y.proc, y.block);
}
