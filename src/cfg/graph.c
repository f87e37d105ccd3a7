/* SPDX-License-Identifier: MIT */
#include "cfg/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "cfg/cycle.h"

/* Linking of edges and blocks. */

static void count_ends(struct cfg *g)
{
	uint32_t out = 0, in = 0;

	for (uint32_t b = 0; b < g->nblocks; b++)
		g->block[b].nout = g->block[b].nin = 0;
	for (uint32_t e = 0; e < g->nedges; e++) {
		assert(g->edge[e].from < g->nblocks && g->edge[e].to < g->nblocks);
		g->block[g->edge[e].from].nout++;
		g->block[g->edge[e].to].nin++;
	}
	for (uint32_t b = 0; b < g->nblocks; b++) {
		struct cfg_block *x = &g->block[b];

		x->out = out;
		x->in = in;
		out += x->nout;
		in += x->nin;
		x->nout = x->nin =
			0; /* The counts of edges serve again while edges are filled in. */
	}
}

bool graph_link(struct cfg *g)
{
	struct cfg_edge *sorted = malloc((g->nedges + 1) * sizeof(*sorted));
	uint32_t *in = malloc((g->nedges + 1) * sizeof(*in));

	if (!sorted || !in) {
		free(sorted);
		free(in);
		return false;
	}
	count_ends(g);
	for (uint32_t e = 0; e < g->nedges; e++) {
		struct cfg_block *from = &g->block[g->edge[e].from];

		sorted[from->out + from->nout++] = g->edge[e];
	}
	for (uint32_t e = 0; e < g->nedges; e++) {
		struct cfg_block *to = &g->block[sorted[e].to];

		in[to->in + to->nin++] = e;
		invariant(!e || sorted[e - 1].from <= sorted[e].from);
	}
	free(g->edge);
	free(g->in);
	g->edge = sorted;
	g->in = in;
	return true;
}

/* Reachability. */

static void flag_unreached(struct cfg *g, uint32_t *stack)
{
	uint32_t depth = 0;

	for (uint32_t b = 0; b < g->nblocks; b++)
		g->block[b].flags |= CFG_UNREACHED;
	g->block[CFG_ENTRY_BLOCK].flags &= (uint8_t)~CFG_UNREACHED;
	g->block[CFG_EXIT_BLOCK].flags &= (uint8_t)~CFG_UNREACHED;
	stack[depth++] = CFG_ENTRY_BLOCK;
	while (depth) {
		const struct cfg_block *x = &g->block[stack[--depth]];

		for (uint32_t e = x->out; e < x->out + x->nout; e++) {
			struct cfg_block *to = &g->block[g->edge[e].to];

			if (!(to->flags & CFG_UNREACHED))
				continue;
			to->flags &= (uint8_t)~CFG_UNREACHED;
			stack[depth++] = g->edge[e].to;
		}
	}
}

/* Marks the blocks that lead to `to` and are not marked yet. */
static void mark_leading(const struct cfg *g, uint32_t to, bool *marked, uint32_t *stack)
{
	uint32_t depth = 0;

	marked[to] = true;
	stack[depth++] = to;
	while (depth) {
		const struct cfg_block *x = &g->block[stack[--depth]];

		for (uint32_t i = x->in; i < x->in + x->nin; i++) {
			uint32_t from = g->edge[g->in[i]].from;

			if (marked[from])
				continue;
			marked[from] = true;
			stack[depth++] = from;
		}
	}
}

struct tarjan {
	uint32_t *number, *low; /* by block; 0: not visited */
	uint32_t *path, depth;	/* blocks on the current path, and the next edge of each */
	uint32_t *at;
	uint32_t *open, nopen; /* blocks whose component is not complete yet */
	bool *is_open;
	uint32_t last; /* last number given */
};

/* Notes the source of the virtual edge of a component that control cannot leave: the block where
 * a walk through it ends, which closes a loop, as a loop's last block does. */
static void begin_block(struct tarjan *t, uint32_t b, uint32_t first_edge)
{
	invariant(!t->number[b] && !t->is_open[b]);
	t->number[b] = t->low[b] = ++t->last;
	t->at[b] = first_edge;
	t->path[t->depth++] = b;
	t->open[t->nopen++] = b;
	t->is_open[b] = true;
}

/* Takes the component with root `root`: the open blocks from the root on. Returns its last block if
 * no edge leaves the component, else CFG_NONE. */
static uint32_t take_component(const struct cfg *g, struct tarjan *t, uint32_t root)
{
	uint32_t first = t->nopen, source = CFG_NONE;
	bool left = false;

	invariant(t->nopen && t->is_open[root] && t->low[root] == t->number[root]);
	while (t->open[--first] != root)
		;
	for (uint32_t i = first; i < t->nopen; i++) {
		const struct cfg_block *x = &g->block[t->open[i]];

		for (uint32_t e = x->out; e < x->out + x->nout; e++) {
			uint32_t to = g->edge[e].to;

			left = left || !t->is_open[to] || t->number[to] < t->number[root];
			/* This edge closes the outermost loop. */
			if (to == root && source == CFG_NONE)
				source = t->open[i];
		}
	}
	for (uint32_t i = first; i < t->nopen; i++)
		t->is_open[t->open[i]] = false;
	t->nopen = first;
	return left ? CFG_NONE : source == CFG_NONE ? root : source;
}

/* Walks the unmarked blocks that `from` reaches; appends to `source` the last block of each
 * component that control cannot leave. */
static uint32_t find_endless(const struct cfg *g, struct tarjan *t, uint32_t from,
			     const bool *marked, uint32_t *source)
{
	uint32_t n = 0;

	begin_block(t, from, g->block[from].out);
	while (t->depth) {
		uint32_t b = t->path[t->depth - 1], up, end;
		const struct cfg_block *x = &g->block[b];

		if (t->at[b] < x->out + x->nout) {
			uint32_t to = g->edge[t->at[b]++].to;

			assert(!marked[to]);
			if (!t->number[to])
				begin_block(t, to, g->block[to].out);
			else if (t->is_open[to] && t->number[to] < t->low[b])
				t->low[b] = t->number[to];
			continue;
		}
		invariant(t->low[b] && t->low[b] <= t->number[b] && t->number[b] <= t->last);
		t->depth--;
		if (t->depth) {
			up = t->path[t->depth - 1];
			t->low[up] = t->low[b] < t->low[up] ? t->low[b] : t->low[up];
		}
		if (t->low[b] != t->number[b])
			continue;
		end = take_component(g, t, b);
		if (end != CFG_NONE)
			source[n++] = end;
	}
	return n;
}

static bool tarjan_init(struct tarjan *t, uint32_t n)
{
	*t = (struct tarjan){ 0 };
	t->number = calloc(n, sizeof(*t->number));
	t->low = malloc(n * sizeof(*t->low));
	t->path = malloc(n * sizeof(*t->path));
	t->at = malloc(n * sizeof(*t->at));
	t->open = malloc(n * sizeof(*t->open));
	t->is_open = calloc(n, sizeof(*t->is_open));
	return t->number && t->low && t->path && t->at && t->open && t->is_open;
}

static void tarjan_fini(struct tarjan *t)
{
	free(t->number);
	free(t->low);
	free(t->path);
	free(t->at);
	free(t->open);
	free(t->is_open);
}

static bool add_virtual(struct cfg *g, const uint32_t *source, uint32_t n)
{
	struct cfg_edge *edge;

	if (!n)
		return true;
	edge = realloc(g->edge, (g->nedges + n) * sizeof(*edge));
	if (!edge)
		return false;
	g->edge = edge;
	for (uint32_t i = 0; i < n; i++)
		g->edge[g->nedges++] = (struct cfg_edge){ .from = source[i],
							  .to = CFG_EXIT_BLOCK,
							  .kind = CFG_VIRTUAL };
	return graph_link(g);
}

bool graph_close(struct cfg *g)
{
	uint32_t *stack = malloc(g->nblocks * sizeof(*stack)), n = 0;
	bool *marked = calloc(g->nblocks, sizeof(*marked));
	struct tarjan t;
	bool ok = tarjan_init(&t, g->nblocks) && stack && marked;

	if (ok) {
		flag_unreached(g, stack);
		mark_leading(g, CFG_EXIT_BLOCK, marked, stack);
		for (uint32_t b = 0; b < g->nblocks; b++)
			if (!marked[b] && !t.number[b])
				n += find_endless(g, &t, b, marked, stack + n);
		ok = add_virtual(g, stack, n);
	}
	tarjan_fini(&t);
	free(stack);
	free(marked);
	return ok;
}

/* Frequency-equivalence classes. */

static void number_singly(struct cfg *g)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < g->nblocks; b++)
		g->block[b].cls = n++;
	for (uint32_t e = 0; e < g->nedges; e++)
		g->edge[e].cls = n++;
	/* Blocks are sorted by address, so the second part of a block that a call divides comes
	 * after the first. */
	for (uint32_t b = CFG_FIRST_BLOCK; b < g->nblocks; b++) {
		const struct cfg_block *x = &g->block[b];
		struct cfg_edge *e = &g->edge[x->out];

		if (x->nout == 1 && e->kind == CFG_AFTER && g->block[e->to].nin == 1)
			g->block[e->to].cls = e->cls = x->cls;
	}
}

/* Each block becomes two nodes with an edge between them. The edges of unreached blocks lie on
 * no cycle. */
static bool number_by_cycles(struct cfg *g)
{
	uint32_t n = g->nblocks, m = g->nedges;
	struct cycle_edge *edge = malloc((n + m + 1) * sizeof(*edge));
	uint32_t *cls = malloc((n + m + 1) * sizeof(*cls));
	bool ok = false;

	if (!edge || !cls)
		goto out;
	for (uint32_t b = 0; b < n; b++)
		edge[b] = (struct cycle_edge){ 2 * b, 2 * b + 1 };
	for (uint32_t e = 0; e < m; e++) {
		const struct cfg_edge *x = &g->edge[e];

		edge[n + e] = (struct cycle_edge){ 2 * x->from + 1, 2 * x->to };
		/* an edge outside the graph is a cycle by itself */
		if (g->block[x->from].flags & CFG_UNREACHED)
			edge[n + e].a = edge[n + e].b;
	}
	edge[n + m] = (struct cycle_edge){ 2 * CFG_EXIT_BLOCK + 1, 2 * CFG_ENTRY_BLOCK };
	ok = cycle_classes(2 * n, edge, n + m + 1, cls) >= 0;
	for (uint32_t b = 0; b < n && ok; b++)
		g->block[b].cls = cls[b];
	for (uint32_t e = 0; e < m && ok; e++)
		g->edge[e].cls = cls[n + e];
out:
	free(edge);
	free(cls);
	return ok;
}

static uint32_t renumbered(uint32_t cls, uint32_t *map, uint32_t *n)
{
	if (map[cls] == CFG_NONE)
		map[cls] = (*n)++;
	return map[cls];
}

/* Numbers classes without gaps, in the order of blocks, then of edges. */
static bool renumber(struct cfg *g)
{
	uint32_t size = 2 * (g->nblocks + g->nedges + 1), n = 0;
	uint32_t *map = malloc(size * sizeof(*map));

	if (!map)
		return false;
	memset(map, 0xff, size * sizeof(*map));
	for (uint32_t b = 0; b < g->nblocks; b++)
		g->block[b].cls = renumbered(g->block[b].cls, map, &n);
	for (uint32_t e = 0; e < g->nedges; e++)
		g->edge[e].cls = renumbered(g->edge[e].cls, map, &n);
	g->nclasses = n;
	free(map);
	return true;
}

bool graph_classes(struct cfg *g)
{
	if (g->missing)
		number_singly(g);
	else if (!number_by_cycles(g))
		return false;
	return renumber(g);
}
