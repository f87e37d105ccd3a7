/* SPDX-License-Identifier: MIT */
#include "estimate/loops.h"

#include <math.h>
#include <stdlib.h>

#include "base/search.h"

#define DEEP 8 /* most calls within one another */

struct loops {
	const struct estimate *e;
	struct estimate_call *call; /* sorted by block; of each block the most frequent one first */
};

static int by_from(const void *a, const void *b)
{
	const struct estimate_call *x = a, *y = b;

	if (x->from_proc != y->from_proc)
		return x->from_proc < y->from_proc ? -1 : 1;
	if (x->from_block != y->from_block)
		return x->from_block < y->from_block ? -1 : 1;
	return (x->share < y->share) - (x->share > y->share);
}

struct loops *loops_new(const struct estimate *e)
{
	struct loops *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->e = e;
	l->call = malloc((e->ncalls + 1) * sizeof(*l->call));
	if (!l->call) {
		free(l);
		return NULL;
	}
	for (size_t i = 0; i < e->ncalls; i++)
		l->call[i] = e->call[i];
	if (e->ncalls)
		qsort(l->call, e->ncalls, sizeof(*l->call), by_from);
	return l;
}

void loops_free(struct loops *l)
{
	if (l)
		free(l->call);
	free(l);
}

/* The procedure that the block calls, or jumps to, most often; -1: none is known. */
static long called_by(const struct loops *l, struct loop_step at)
{
	const struct estimate_call first = { .from_proc = at.proc,
					     .from_block = at.block,
					     .share = INFINITY };
	size_t low = search_first(i, 0, l->e->ncalls, by_from(&l->call[i], &first) >= 0);

	return low < l->e->ncalls && l->call[low].from_proc == at.proc &&
			       l->call[low].from_block == at.block
		       ? (long)l->call[low].to_proc
		       : -1;
}

/* The block to which control goes most often; CFG_EXIT_BLOCK: none. *share: multiplied by how often it goes there. */
static uint32_t next_of(const struct estimate_proc *p, uint32_t b, double *share)
{
	const struct cfg_block *k = &p->g.block[b];
	uint32_t best = k->out;

	for (uint32_t e = k->out; e < k->out + k->nout; e++)
		if (p->share[e] > p->share[best])
			best = e;
	if (k->ends == CFG_END_BRANCH || k->ends == CFG_END_TABLE)
		*share *= k->nout ? p->share[best] : 0;
	return k->nout ? p->g.edge[best].to : CFG_EXIT_BLOCK;
}

/* The block at which calls enter a procedure most often. */
static uint32_t entered_at(const struct estimate_proc *p)
{
	const struct cfg_block *k = &p->g.block[CFG_ENTRY_BLOCK];
	uint32_t best = CFG_EXIT_BLOCK;
	double most = 0;

	for (uint32_t e = k->out; e < k->out + k->nout; e++)
		if (p->g.edge[e].kind == CFG_ENTER && p->edge[e].f >= most) {
			best = p->g.edge[e].to;
			most = p->edge[e].f;
		}
	return best;
}

/* Where control goes behind a block. stack: where the procedures that are under way return to. False: that is not known. */
static bool step_on(const struct loops *l, struct loop_step *at, struct loop_step stack[DEEP],
		    unsigned *depth, double *share)
{
	const struct estimate_proc *p = &l->e->proc[at->proc];
	const struct cfg_block *k = &p->g.block[at->block];
	uint32_t next = next_of(p, at->block, share);
	long to;

	switch (k->ends) {
	case CFG_END_CALL:
	case CFG_END_TAIL:
		to = called_by(l, *at);
		if (to < 0 || (k->ends == CFG_END_CALL && *depth == DEEP))
			return false;
		if (k->ends == CFG_END_CALL)
			stack[(*depth)++] = (struct loop_step){ at->proc, next };
		*at = (struct loop_step){ (uint32_t)to, entered_at(&l->e->proc[to]) };
		break;
	case CFG_END_RETURN:
		if (!*depth)
			return false;
		*at = stack[--*depth];
		break;
	case CFG_END_NEXT:
	case CFG_END_BRANCH:
	case CFG_END_JUMP:
	case CFG_END_TABLE:
		at->block = next;
		break;
	default:
		return false;
	}
	return at->block >= CFG_FIRST_BLOCK;
}

unsigned loops_find(const struct loops *l, uint32_t proc, uint32_t block, unsigned insns,
		    struct loop_step step[LOOP_STEPS], double *again)
{
	struct loop_step at = { proc, block }, stack[DEEP];
	unsigned depth = 0, n = 0, ninsns = 0;

	*again = 1;
	do {
		ninsns += l->e->proc[at.proc].g.block[at.block].ninsn;
		if (n == LOOP_STEPS || ninsns > insns)
			return 0;
		step[n++] = at;
		if (!step_on(l, &at, stack, &depth, again))
			return 0;
	} while (depth || at.proc != proc || at.block != block);
	return n;
}
