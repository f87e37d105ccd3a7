/* SPDX-License-Identifier: MIT */
#include "cfg/cfg.h"

#include <math.h>
#include <stdlib.h>

#include "base/search.h"

const char *const cfg_end_name[CFG_END_N] = {
#define X(id, name) name,
	CFG_ENDS(X)
#undef X
};

const char *const cfg_edge_name[CFG_EDGE_N] = {
#define X(id, name) name,
	CFG_EDGES(X)
#undef X
};

void cfg_fini(struct cfg *g)
{
	free(g->part);
	free(g->block);
	free(g->edge);
	free(g->in);
	free(g->insn);
	*g = (struct cfg){ 0 };
}

static bool begins_insn(const struct cfg *g, const struct cfg_block *x, uint64_t addr)
{
	uint32_t lo = search_first(i, x->insn, x->insn + x->ninsn, g->insn[i].addr >= addr);

	return lo < x->insn + x->ninsn && g->insn[lo].addr == addr;
}

uint32_t cfg_block_at(const struct cfg *g, uint64_t addr)
{
	uint32_t lo = search_first(i, CFG_FIRST_BLOCK, g->nblocks, g->block[i].start > addr);

	for (uint32_t b = lo; b-- > CFG_FIRST_BLOCK;) {
		if (begins_insn(g, &g->block[b], addr))
			return b;
		if (!(g->block[b].flags & CFG_OVERLAPS))
			break;
	}
	return CFG_NONE;
}

bool cfg_is_untaken(const struct cfg *g, uint32_t edge)
{
	const struct cfg_block *from = &g->block[g->edge[edge].from];

	return from->ends == CFG_END_BRANCH && edge == from->out;
}

double cfg_edge_passed(const struct cfg *g, uint32_t edge, double left, double taken, double came)
{
	const struct cfg_edge *e = &g->edge[edge];
	const struct cfg_block *from = &g->block[e->from], *to = &g->block[e->to];

	if (e->kind == CFG_VIRTUAL)
		return 0;
	if (from->ends == CFG_END_BRANCH)
		return cfg_is_untaken(g, edge) ? fmax(left - taken, 0) : taken;
	if (to->nin == 1 && to->ninsn)
		return came;
	/* The called procedure may not return. */
	return edge == from->out && e->kind != CFG_AFTER &&
			       (from->nout == 1 || g->edge[edge + 1].kind == CFG_VIRTUAL)
		       ? left
		       : NAN;
}
