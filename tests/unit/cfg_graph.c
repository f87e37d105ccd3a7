/* SPDX-License-Identifier: MIT */
/*
 * Cycle equivalence against its definition, on small graphs: two edges are equivalent if none lies on a
 * cycle without the other.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfg/cycle.h"
#include "cfg/graph.h"
#include "oracle/rng.h"

#define GRAPHS 20000
#define NODES 12
#define EDGES 40

/* Undirected graphs. */

static bool reaches(const struct cycle_edge *e, uint32_t m, uint32_t a, uint32_t b, uint32_t not1,
		    uint32_t not2)
{
	uint32_t seen = 1u << a, before = 0;

	while (seen != before) {
		before = seen;
		for (uint32_t i = 0; i < m; i++)
			if (i != not1 && i != not2 && (seen >> e[i].a & 1 || seen >> e[i].b & 1))
				seen |= 1u << e[i].a | 1u << e[i].b;
	}
	return seen >> b & 1;
}

/* Is there a cycle with edge i, but without edge `not`? */
static bool cycle_without(const struct cycle_edge *e, uint32_t m, uint32_t i, uint32_t not )
{
	return reaches(e, m, e[i].a, e[i].b, i, not );
}

static void compare_undirected(const struct cycle_edge *e, uint32_t n, uint32_t m)
{
	uint32_t cls[EDGES];
	int64_t nclasses = cycle_classes(n, e, m, cls);

	assert_true(nclasses >= 0);
	for (uint32_t i = 0; i < m; i++) {
		assert_true(cls[i] < nclasses);
		for (uint32_t j = i + 1; j < m; j++) {
			bool on_cycles =
				cycle_without(e, m, i, EDGES) && cycle_without(e, m, j, EDGES);
			bool same = on_cycles && !cycle_without(e, m, i, j) &&
				    !cycle_without(e, m, j, i);

			if ((cls[i] == cls[j]) != same)
				fail_msg("%u nodes, %u edges: %u and %u", n, m, i, j);
		}
	}
}

static void random_undirected(void **state)
{
	struct rng r = { 5 };

	(void)state;
	for (int k = 0; k < GRAPHS; k++) {
		struct cycle_edge e[EDGES];
		uint32_t n = 1 + (uint32_t)rng_below(&r, NODES), m = n - 1;

		/* connected: each node but the first has one before it */
		for (uint32_t v = 1; v < n; v++)
			e[v - 1] = (struct cycle_edge){ (uint32_t)rng_below(&r, v), v };
		for (uint32_t more = (uint32_t)rng_below(&r, 14); more > 0; more--)
			e[m++] = (struct cycle_edge){ (uint32_t)rng_below(&r, n),
						      (uint32_t)rng_below(&r, n) };
		compare_undirected(e, n, m);
	}
}

/* Control-flow graphs. */

static void graph_init(struct cfg *g, uint32_t blocks)
{
	*g = (struct cfg){ .nblocks = blocks };
	g->block = calloc(blocks, sizeof(*g->block));
	g->edge = calloc(EDGES + NODES, sizeof(*g->edge));
	assert_non_null(g->block);
	assert_non_null(g->edge);
}

static void connect(struct cfg *g, uint32_t from, uint32_t to, int kind)
{
	assert_true(g->nedges < EDGES);
	g->edge[g->nedges++] = (struct cfg_edge){ .from = from, .to = to, .kind = (uint8_t)kind };
}

static void finish(struct cfg *g)
{
	assert_true(graph_link(g));
	assert_true(graph_close(g));
	assert_true(graph_classes(g));
}

/* Blocks reached from `from` going along edges, without block and edge `not` (numbered as below). */
static uint32_t reached(const struct cfg *g, uint32_t from, uint32_t not )
{
	uint32_t seen = 0, before = ~0u;

	if (from != not )
		seen = 1u << from;
	while (seen != before) {
		before = seen;
		for (uint32_t e = 0; e < g->nedges; e++) {
			const struct cfg_edge *x = &g->edge[e];

			if (e + g->nblocks != not &&seen >> x->from & 1 && x->to != not )
				seen |= 1u << x->to;
		}
		/* round again */
		if (seen >> CFG_EXIT_BLOCK & 1 && not != CFG_ENTRY_BLOCK)
			seen |= 1u << CFG_ENTRY_BLOCK;
	}
	return seen;
}

/* Does a cycle go through `x` and not through `not`? Blocks are numbered first, then edges. */
static bool passes_without(const struct cfg *g, uint32_t x, uint32_t not )
{
	uint32_t seen = 0;

	if (x >= g->nblocks) {
		const struct cfg_edge *e = &g->edge[x - g->nblocks];

		return e->from != not &&reached(g, e->to, not ) >> e->from & 1;
	}
	for (uint32_t e = 0; e < g->nedges; e++)
		if (g->edge[e].from == x && e + g->nblocks != not )
			seen |= reached(g, g->edge[e].to, not );
	if (x == CFG_EXIT_BLOCK)
		seen |= reached(g, CFG_ENTRY_BLOCK, not );
	return seen >> x & 1;
}

static uint32_t class_of(const struct cfg *g, uint32_t x)
{
	return x < g->nblocks ? g->block[x].cls : g->edge[x - g->nblocks].cls;
}

static bool is_reached(const struct cfg *g, uint32_t x)
{
	uint32_t b = x < g->nblocks ? x : g->edge[x - g->nblocks].from;

	return !(g->block[b].flags & CFG_UNREACHED);
}

static void check_links(const struct cfg *g)
{
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct cfg_block *x = &g->block[b];

		for (uint32_t e = x->out; e < x->out + x->nout; e++)
			assert_int_equal(g->edge[e].from, b);
		for (uint32_t i = x->in; i < x->in + x->nin; i++)
			assert_int_equal(g->edge[g->in[i]].to, b);
	}
}

static void compare_directed(const struct cfg *g)
{
	uint32_t n = g->nblocks + g->nedges;

	check_links(g);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		assert_int_equal(is_reached(g, b), reached(g, CFG_ENTRY_BLOCK, CFG_NONE) >> b & 1 ||
							   b == CFG_EXIT_BLOCK);
		if (is_reached(g, b))
			assert_true(reached(g, b, CFG_NONE) >> CFG_EXIT_BLOCK & 1);
	}
	for (uint32_t i = 0; i < n; i++) {
		assert_true(class_of(g, i) < g->nclasses);
		for (uint32_t j = i + 1; j < n; j++) {
			bool same = is_reached(g, i) && is_reached(g, j) &&
				    !passes_without(g, i, j) && !passes_without(g, j, i);

			if ((class_of(g, i) == class_of(g, j)) != same)
				fail_msg("%u blocks, %u edges: %u and %u", g->nblocks, g->nedges, i,
					 j);
		}
	}
}

/* Any graph: loops that cannot be reduced, that do not end, blocks that are not reached. */
static void random_directed(void **state)
{
	struct rng r = { 6 };
	int endless = 0, unreached = 0;

	(void)state;
	for (int k = 0; k < GRAPHS; k++) {
		struct cfg g;
		uint32_t n = 3 + (uint32_t)rng_below(&r, NODES - 2), code = n - 2;

		graph_init(&g, n);
		connect(&g, CFG_ENTRY_BLOCK, 2, CFG_ENTER);
		for (uint32_t b = 2; b < n; b++)
			for (uint64_t out = 1 + rng_below(&r, 3) / 2; out > 0; out--)
				connect(&g, b, 2 + (uint32_t)rng_below(&r, code), CFG_JUMP);
		for (uint64_t out = rng_below(&r, 4); out > 0; out--)
			connect(&g, 2 + (uint32_t)rng_below(&r, code), CFG_EXIT_BLOCK, CFG_RETURN);
		if (rng_below(&r, 8) == 0)
			connect(&g, CFG_ENTRY_BLOCK, 2 + (uint32_t)rng_below(&r, code), CFG_UNWIND);
		finish(&g);
		for (uint32_t e = 0; e < g.nedges; e++)
			endless += g.edge[e].kind == CFG_VIRTUAL;
		for (uint32_t b = 0; b < n; b++)
			unreached += (g.block[b].flags & CFG_UNREACHED) != 0;
		compare_directed(&g);
		cfg_fini(&g);
	}
	assert_true(endless > GRAPHS / 10);
	assert_true(unreached > GRAPHS / 10);
}

struct known {
	const char *name;
	uint32_t blocks;
	int edges[24][2];    /* ends with 0, 0 */
	const char *classes; /* of the blocks from the first of code on: a letter each */
};

/* Blocks: 0 entry, 1 exit. */
static const struct known known[] = {
	{ "straight", 4, { { 0, 2 }, { 2, 3 }, { 3, 1 } }, "aa" },
	{ "diamond", 6, { { 0, 2 }, { 2, 3 }, { 2, 4 }, { 3, 5 }, { 4, 5 }, { 5, 1 } }, "abca" },
	{ "if without else", 5, { { 0, 2 }, { 2, 3 }, { 2, 4 }, { 3, 4 }, { 4, 1 } }, "aba" },
	{ "loop with the test first",
	  5,
	  { { 0, 2 }, { 2, 3 }, { 3, 2 }, { 2, 4 }, { 4, 1 } },
	  "bca" },
	{ "loop with the test last", 4, { { 0, 2 }, { 2, 2 }, { 2, 3 }, { 3, 1 } }, "ba" },
	{ "nested loops",
	  7,
	  { { 0, 2 }, { 2, 3 }, { 3, 4 }, { 4, 4 }, { 4, 5 }, { 5, 3 }, { 5, 6 }, { 6, 1 } },
	  "abcba" },
	{ "two loops",
	  6,
	  { { 0, 2 }, { 2, 2 }, { 2, 3 }, { 3, 4 }, { 4, 4 }, { 4, 5 }, { 5, 1 } },
	  "baca" },
	{ "irreducible",
	  6,
	  { { 0, 2 }, { 2, 3 }, { 2, 4 }, { 3, 4 }, { 4, 3 }, { 4, 5 }, { 5, 1 } },
	  "abca" },
	{ "endless loop", 4, { { 0, 2 }, { 2, 3 }, { 3, 3 } }, "ab" },
	{ "endless loop of two", 5, { { 0, 2 }, { 2, 3 }, { 3, 4 }, { 4, 3 } }, "abb" },
	{ "endless loop beside a way out",
	  6,
	  { { 0, 2 }, { 2, 3 }, { 2, 4 }, { 3, 1 }, { 4, 5 }, { 5, 4 } },
	  "abcc" },
	{ "early return",
	  6,
	  { { 0, 2 }, { 2, 3 }, { 2, 4 }, { 3, 1 }, { 4, 5 }, { 5, 1 } },
	  "abcc" },
	{ "several edges to one block",
	  5,
	  { { 0, 2 }, { 2, 3 }, { 2, 3 }, { 2, 4 }, { 3, 4 }, { 4, 1 } },
	  "aba" },
};

static void known_graphs(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		const struct known *t = &known[k];
		struct cfg g;

		graph_init(&g, t->blocks);
		for (int i = 0; t->edges[i][0] || t->edges[i][1]; i++)
			connect(&g, (uint32_t)t->edges[i][0], (uint32_t)t->edges[i][1], CFG_JUMP);
		finish(&g);
		compare_directed(&g);
		for (uint32_t a = 2; a < t->blocks; a++)
			for (uint32_t b = 2; b < t->blocks; b++)
				if ((g.block[a].cls == g.block[b].cls) !=
				    (t->classes[a - 2] == t->classes[b - 2]))
					fail_msg("%s: %u and %u", t->name, a, b);
		assert_int_equal(g.block[CFG_ENTRY_BLOCK].cls, 0);
		assert_int_equal(g.block[CFG_EXIT_BLOCK].cls, 0);
		for (uint32_t b = 2; b < t->blocks; b++)
			if ((g.block[b].cls == 0) != (t->classes[b - 2] == 'a'))
				fail_msg("%s: %u and the calls", t->name, b);
		cfg_fini(&g);
	}
}

/* With edges missing, only what a call divides is together. */
static void missing_edges(void **state)
{
	struct cfg g;

	(void)state;
	graph_init(&g, 6);
	connect(&g, 0, 2, CFG_ENTER);
	connect(&g, 2, 3, CFG_AFTER);
	connect(&g, 3, 4, CFG_JUMP);
	connect(&g, 4, 5, CFG_AFTER);
	connect(&g, 3, 5, CFG_FALL);
	connect(&g, 5, 1, CFG_LOST);
	g.missing = true;
	finish(&g);
	assert_int_equal(g.block[2].cls, g.block[3].cls);
	assert_int_equal(g.edge[g.block[2].out].cls, g.block[3].cls);
	assert_int_not_equal(g.block[3].cls, g.block[4].cls);
	assert_int_not_equal(g.block[4].cls, g.block[5].cls);
	assert_int_not_equal(g.block[0].cls, g.block[2].cls);
	assert_int_equal(g.nclasses, 6 + 6 - 2);
	cfg_fini(&g);
}

static uint32_t edge_between(const struct cfg *g, uint32_t from, uint32_t to)
{
	for (uint32_t e = 0; e < g->nedges; e++)
		if (g->edge[e].from == from && g->edge[e].to == to)
			return e;
	fail_msg("no edge from %u to %u", from, to);
	return 0;
}

static double passed(const struct cfg *g, uint32_t from, uint32_t to, double left, double taken,
		     double came)
{
	return cfg_edge_passed(g, edge_between(g, from, to), left, taken, came);
}

static void counted_blocks_tell_of_edges(void **state)
{
	struct cfg g;

	(void)state;
	graph_init(&g, 9);
	for (uint32_t b = CFG_FIRST_BLOCK; b < 9; b++)
		g.block[b].ninsn = 1;
	connect(&g, 0, 2, CFG_ENTER);
	g.block[2].ends = CFG_END_BRANCH; /* not taken it runs into the next procedure */
	connect(&g, 2, 1, CFG_TAIL);
	connect(&g, 2, 3, CFG_TAKEN);
	g.block[3].ends = CFG_END_CALL;
	connect(&g, 3, 4, CFG_AFTER);
	g.block[4].ends = CFG_END_TABLE;
	connect(&g, 4, 5, CFG_CASE);
	connect(&g, 4, 6, CFG_CASE);
	g.block[5].ends = CFG_END_JUMP;
	connect(&g, 5, 6, CFG_JUMP);
	g.block[6].ends = CFG_END_CALL;
	connect(&g, 6, 7, CFG_AFTER);
	g.block[7].ends = CFG_END_BRANCH; /* a loop without an end */
	connect(&g, 7, 7, CFG_FALL);
	connect(&g, 7, 8, CFG_TAKEN);
	g.block[8].ends = CFG_END_JUMP;
	connect(&g, 8, 7, CFG_JUMP);
	finish(&g);
	assert_true(passed(&g, 2, 1, 10, 7, NAN) == 3);
	assert_true(passed(&g, 2, 3, 10, 7, NAN) == 7);
	assert_true(cfg_is_untaken(&g, edge_between(&g, 2, 1)));
	assert_false(cfg_is_untaken(&g, edge_between(&g, 2, 3)));
	assert_false(cfg_is_untaken(&g, edge_between(&g, 5, 6)));
	assert_true(passed(&g, 3, 4, 7, 0, 6) == 6); /* one call did not return */
	assert_true(passed(&g, 4, 5, 6, 0, 2) == 2);
	assert_true(isnan(passed(&g, 4, 6, 6, 0, 6))); /* two ways there */
	assert_true(passed(&g, 5, 6, 2, 0, 6) == 2);
	assert_true(isnan(passed(&g, 6, 7, 6, 0, 100)));
	assert_true(passed(&g, 7, 7, 100, 60, 100) == 40);
	assert_true(passed(&g, 8, 7, 60, 0, 100) == 60);
	for (uint32_t e = 0; e < g.nedges; e++)
		if (g.edge[e].kind == CFG_VIRTUAL)
			assert_true(cfg_edge_passed(&g, e, 60, 60, 60) == 0);
	cfg_fini(&g);
}

/* A chain of diamonds in loops: twice the size must not take much more than twice the steps. Steps are
 * not to be had, so only that a large one is done at all, and rightly. */
static void large(void **state)
{
	uint32_t n = 300000, m = 0;
	struct cycle_edge *e = calloc(5 * (size_t)n + 1, sizeof(*e));
	uint32_t *cls = calloc(5 * (size_t)n + 1, sizeof(*cls));

	(void)state;
	assert_non_null(e);
	assert_non_null(cls);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = 3 * i;

		e[m++] = (struct cycle_edge){ v, v + 1 };
		e[m++] = (struct cycle_edge){ v, v + 2 };
		e[m++] = (struct cycle_edge){ v + 1, v + 3 };
		e[m++] = (struct cycle_edge){ v + 2, v + 3 };
	}
	e[m++] = (struct cycle_edge){ 3 * n, 0 };
	assert_int_equal(cycle_classes(3 * n + 1, e, m, cls), 2 * n + 1);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(cls[4 * i], cls[4 * i + 2]);
		assert_int_equal(cls[4 * i + 1], cls[4 * i + 3]);
		assert_int_not_equal(cls[4 * i], cls[4 * i + 1]);
	}
	free(e);
	free(cls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_undirected),
		cmocka_unit_test(random_directed),
		cmocka_unit_test(known_graphs),
		cmocka_unit_test(missing_edges),
		cmocka_unit_test(counted_blocks_tell_of_edges),
		cmocka_unit_test(large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
