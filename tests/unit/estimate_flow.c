/* SPDX-License-Identifier: MIT */
/* Propagation and reconciliation, on small graphs with known answers and on random ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfg/graph.h"
#include "estimate/propagate.h"
#include "estimate/reconcile.h"

#define LARGE 20000 /* blocks: some 100,000 instructions */

struct pair {
	uint32_t from, to;
};

static struct cfg graph(uint32_t nblocks, const struct pair *v, uint32_t n)
{
	struct cfg g = { .nblocks = nblocks, .nedges = n };

	g.block = calloc(nblocks, sizeof(*g.block));
	g.edge = calloc(n, sizeof(*g.edge));
	assert_non_null(g.block);
	assert_non_null(g.edge);
	for (uint32_t i = 0; i < n; i++)
		g.edge[i] = (struct cfg_edge){ .from = v[i].from, .to = v[i].to, .kind = CFG_FALL };
	for (uint32_t b = 0; b < nblocks; b++)
		g.block[b].ends = CFG_END_NEXT;
	assert_true(graph_link(&g) && graph_close(&g) && graph_classes(&g));
	return g;
}

static uint64_t state = 7;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state % n);
}

/* A chain of blocks with branches forward and back. */
static struct cfg random_graph(uint32_t nblocks)
{
	struct pair *v = malloc(2 * (size_t)nblocks * sizeof(*v));
	struct cfg g;
	uint32_t n = 0;

	assert_non_null(v);
	v[n++] = (struct pair){ CFG_ENTRY_BLOCK, CFG_FIRST_BLOCK };
	for (uint32_t b = CFG_FIRST_BLOCK; b < nblocks; b++) {
		int64_t to = (int64_t)b + draw(40) - 15;

		v[n++] = (struct pair){ b, b + 1 < nblocks ? b + 1 : CFG_EXIT_BLOCK };
		if (draw(2) && to >= CFG_FIRST_BLOCK && to < nblocks)
			v[n++] = (struct pair){ b, (uint32_t)to };
	}
	g = graph(nblocks, v, n);
	free(v);
	return g;
}

struct values {
	struct estimate_value *block, *edge;
};

static struct values values(const struct cfg *g)
{
	struct values v = { calloc(g->nblocks, sizeof(*v.block)),
			    calloc(g->nedges, sizeof(*v.edge)) };

	assert_non_null(v.block);
	assert_non_null(v.edge);
	return v;
}

static void done(struct cfg *g, struct values *v)
{
	cfg_fini(g);
	free(v->block);
	free(v->edge);
}

/* 2 ─▶ 3 or 4 ─▶ 5, and 5 ─▶ 2 */
static const struct pair diamond[] = { { 0, 2 }, { 2, 3 }, { 2, 4 }, { 3, 5 },
				       { 4, 5 }, { 5, 2 }, { 5, 1 } };

#define KNOWN(x) \
	{ \
		x, CONFIDENCE_HIGH \
	}

static void flow_completes_what_is_known(void **s)
{
	struct cfg g = graph(6, diamond, 7);
	struct values v = values(&g);

	(void)s;
	v.block[2] = (struct estimate_value)KNOWN(100);
	v.block[3] = (struct estimate_value)KNOWN(30);
	v.block[0] = (struct estimate_value)KNOWN(10);
	assert_int_equal(propagate(&g, v.block, v.edge), 0);
	assert_true(v.block[4].f == 70);
	assert_true(v.block[5].f == 100);
	for (uint32_t e = 0; e < g.nedges; e++) {
		assert_true(v.edge[e].confidence != CONFIDENCE_NONE);
		if (g.edge[e].from == 5)
			assert_true(v.edge[e].f == (g.edge[e].to == 2 ? 90 : 10));
	}
	/* what follows is less sure than what it follows from, but of one class it is the same */
	assert_int_equal(v.block[4].confidence, CONFIDENCE_MEDIUM);
	assert_int_equal(v.block[5].confidence, CONFIDENCE_HIGH);
	done(&g, &v);
}

static void no_estimate_is_negative(void **s)
{
	struct cfg g = graph(6, diamond, 7);
	struct values v = values(&g);

	(void)s;
	v.block[2] = (struct estimate_value)KNOWN(100);
	v.block[3] = (struct estimate_value)KNOWN(130);
	assert_int_equal(propagate(&g, v.block, v.edge), 0);
	assert_true(v.block[4].f == 0);
	done(&g, &v);
}

static void of_nothing_follows_nothing(void **s)
{
	struct cfg g = graph(6, diamond, 7);
	struct values v = values(&g);
	struct err err = { 0 };

	(void)s;
	assert_int_equal(propagate(&g, v.block, v.edge), 0);
	for (uint32_t b = 0; b < g.nblocks; b++)
		assert_int_equal(v.block[b].confidence, CONFIDENCE_NONE);
	assert_int_equal(reconcile(&g, v.block, v.edge, &err), 0);
	done(&g, &v);
}

static void estimates_that_contradict_are_reconciled(void **s)
{
	struct cfg g = graph(6, diamond, 7);
	struct values v = values(&g);
	struct err err = { 0 };

	(void)s;
	v.block[0] = (struct estimate_value)KNOWN(1000);
	v.block[2] = (struct estimate_value)KNOWN(10000);
	v.block[3] = (struct estimate_value)KNOWN(3000);
	v.block[4] = (struct estimate_value){ 5000, CONFIDENCE_LOW };
	assert_int_equal(reconcile(&g, v.block, v.edge, &err), 0);
	/* the doubtful one gives way */
	assert_true(fabs(v.block[4].f - 7000) < 1);
	assert_true(fabs(v.block[3].f - 3000) < 1);
	assert_true(fabs(v.block[5].f - 10000) < 1);
	done(&g, &v);
}

static void assert_conserves(const struct cfg *g, const struct values *v)
{
	double most = 0;

	for (uint32_t b = 0; b < g->nblocks; b++)
		most = fmax(most, v->block[b].f);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		double in = 0, out = 0;

		for (uint32_t i = 0; i < g->block[b].nin; i++)
			in += v->edge[g->in[g->block[b].in + i]].f;
		for (uint32_t i = 0; i < g->block[b].nout; i++)
			out += v->edge[g->block[b].out + i].f;
		if (g->block[b].flags & CFG_UNREACHED)
			continue;
		if (b != CFG_ENTRY_BLOCK)
			assert_true(fabs(in - v->block[b].f) <= 1e-6 * most);
		if (b != CFG_EXIT_BLOCK)
			assert_true(fabs(out - v->block[b].f) <= 1e-6 * most);
		assert_true(v->block[b].f >= 0);
	}
}

/* Estimates that obey no flow, some of them missing. */
static void guess(const struct cfg *g, struct values *v, double scale)
{
	for (uint32_t b = CFG_FIRST_BLOCK; b < g->nblocks; b++)
		v->block[b] = (struct estimate_value){ scale * (1 + draw(100000)),
						       (uint8_t)draw(CONFIDENCE_N) };
	for (uint32_t e = 0; e < g->nedges; e++)
		v->edge[e] = (struct estimate_value){
			scale * draw(50000), (uint8_t)(draw(4) ? CONFIDENCE_NONE : CONFIDENCE_LOW)
		};
}

static void flow_is_conserved_once_reconciled(void **s)
{
	(void)s;
	for (int i = 0; i < 60; i++) {
		struct cfg g = random_graph(3 + draw(200));
		struct values v = values(&g);
		struct err err = { 0 };

		guess(&g, &v, 1);
		assert_int_equal(reconcile(&g, v.block, v.edge, &err), 0);
		assert_conserves(&g, &v);
		done(&g, &v);
	}
}

static void scale_makes_no_difference(void **s)
{
	(void)s;
	for (int i = 0; i < 10; i++) {
		struct cfg g = random_graph(50);
		struct values a = values(&g), b = values(&g);
		struct err err = { 0 };
		double scale = ldexp(1, (int)draw(40) - 20);

		guess(&g, &a, 1);
		for (uint32_t k = 0; k < g.nblocks; k++) {
			b.block[k] = a.block[k];
			b.block[k].f *= scale;
		}
		for (uint32_t k = 0; k < g.nedges; k++) {
			b.edge[k] = a.edge[k];
			b.edge[k].f *= scale;
		}
		assert_int_equal(reconcile(&g, a.block, a.edge, &err), 0);
		assert_int_equal(reconcile(&g, b.block, b.edge, &err), 0);
		for (uint32_t k = 0; k < g.nblocks; k++)
			assert_true(fabs(a.block[k].f * scale - b.block[k].f) <=
				    1e-9 * fabs(b.block[k].f));
		free(b.block);
		free(b.edge);
		done(&g, &a);
	}
}

static void a_large_procedure_is_no_trouble(void **s)
{
	struct cfg g = random_graph(LARGE);
	struct values v = values(&g);
	struct err err = { 0 };

	(void)s;
	guess(&g, &v, 1);
	assert_int_equal(reconcile(&g, v.block, v.edge, &err), 1); /* it is left alone */
	memset(v.block, 0, g.nblocks * sizeof(*v.block));
	memset(v.edge, 0, g.nedges * sizeof(*v.edge));
	v.block[LARGE / 2] = (struct estimate_value)KNOWN(5);
	assert_int_equal(propagate(&g, v.block, v.edge), 0);
	done(&g, &v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow_completes_what_is_known),
		cmocka_unit_test(no_estimate_is_negative),
		cmocka_unit_test(of_nothing_follows_nothing),
		cmocka_unit_test(estimates_that_contradict_are_reconciled),
		cmocka_unit_test(flow_is_conserved_once_reconciled),
		cmocka_unit_test(scale_makes_no_difference),
		cmocka_unit_test(a_large_procedure_is_no_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
