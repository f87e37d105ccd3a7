/* SPDX-License-Identifier: MIT */
/* Parts of a program, and what one says of another's scale. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfg/graph.h"
#include "estimate/estimate_priv.h"
#include "estimate/parts.h"

/* Two loops, of blocks 2 and 3, and of 4 and 5, one after the other. */
#define EDGES 7
static const uint32_t edges[EDGES][2] = { { 0, 2 }, { 2, 3 }, { 3, 2 }, { 3, 4 },
					  { 4, 5 }, { 5, 4 }, { 5, 1 } };
#define SEEN 1000 /* times that windows saw each block */

/* Windows saw control pass from one loop to the other, and leave that, so often. */
static struct estimate loops(struct site site[6], double passed)
{
	const double ends = passed / SEEN,
		     share[EDGES] = { 1, 1, 1 - ends, ends, 1, 1 - ends, ends };
	struct estimate e = { .scale = 1, .nproc = 1, .nblocks = 6 };
	struct estimate_proc *p = e.proc = calloc(1, sizeof(*p));
	struct cfg *g;

	assert_non_null(p);
	g = &p->g;
	g->nblocks = g->ninsns = 6;
	g->nedges = EDGES;
	g->block = calloc(6, sizeof(*g->block));
	g->edge = calloc(EDGES, sizeof(*g->edge));
	p->site = calloc(6, sizeof(struct site *));
	p->samples = calloc(6, sizeof(double));
	p->observed = calloc(6, sizeof(double));
	p->share = calloc(EDGES, sizeof(double));
	p->block = calloc(6, sizeof(*p->block));
	p->edge = calloc(EDGES, sizeof(*p->edge));
	assert_true(g->block && g->edge && p->site && p->samples && p->observed && p->share &&
		    p->block && p->edge);
	for (uint32_t i = 0; i < EDGES; i++) {
		g->edge[i] = (struct cfg_edge){ .from = edges[i][0],
						.to = edges[i][1],
						.kind = i ? CFG_FALL : CFG_ENTER };
		p->share[i] = share[i];
	}
	for (uint32_t b = CFG_FIRST_BLOCK; b < 6; b++) {
		g->block[b] = (struct cfg_block){ .insn = b, .ninsn = 1 };
		site[b] = (struct site){ .observed = SEEN };
		p->site[b] = &site[b];
		p->samples[b] = b;
		p->block[b].f = 10;
	}
	assert_true(graph_link(g) && graph_close(g) && graph_classes(g));
	assert_int_equal(parts_make(&e), 0);
	return e;
}

static struct part *part_at(const struct estimate *e, uint32_t block)
{
	return &e->parts->part[part_of(e, &e->proc[0], block)];
}

static void what_is_seen_to_follow_is_one_part(void **state)
{
	struct site site[6];
	struct estimate e = loops(site, 3);

	(void)state;
	assert_int_equal(part_of(&e, &e.proc[0], 2), part_of(&e, &e.proc[0], 3));
	assert_int_equal(part_of(&e, &e.proc[0], 4), part_of(&e, &e.proc[0], 5));
	assert_int_not_equal(part_of(&e, &e.proc[0], 3), part_of(&e, &e.proc[0], 4));
	assert_true(part_at(&e, 2)->samples == 5 && part_at(&e, 4)->samples == 9);
	assert_int_equal(e.parts->nties, 1);
	assert_true(fabs(e.parts->tie[0].passed - 3) < 1e-9);
	estimate_fini(&e);
}

/* Of a thousand executions that mostly go another way, 16 passes tie two loops. */
static void sixteen_passes_tie(void **state)
{
	struct site site[6];

	(void)state;
	for (int passes = 15; passes <= 16; passes++) {
		struct estimate e = loops(site, passes);
		bool one = part_of(&e, &e.proc[0], 3) == part_of(&e, &e.proc[0], 4);

		assert_int_equal(one, passes == 16);
		estimate_fini(&e);
	}
}

/* The rest of a procedure behind a branch that windows hardly ever pass, since they end there, but
 * then to the same side: it runs as often as the branch. Of k passes, 1 / (k + 2) may go another way, and come another way, so k
 * is to be 16 * 2 / (k + 2): 5 are enough, 4 are not. */
static void what_always_follows_is_one_part(void **state)
{
	for (uint64_t passes = 4; passes <= 5; passes++) {
		struct site site[6];
		struct estimate e = loops(site, 16);
		struct estimate_proc *p = &e.proc[0];

		site[3].observed = passes;
		p->share[2] = 0;
		p->share[3] = 1;
		p->share[5] = 0;
		p->share[6] = 1;
		site[5].observed = 0;
		assert_int_equal(parts_make(&e), 0);
		assert_int_equal(part_of(&e, p, 2), part_of(&e, p, 3));
		if (passes == 5)
			assert_int_equal(part_of(&e, p, 3), part_of(&e, p, 4));
		else
			assert_int_not_equal(part_of(&e, p, 3), part_of(&e, p, 4));
		estimate_fini(&e);
	}
	(void)state;
}

/* As above, where the other way into the rest comes from padding that is decoded as code, unless that was seen to run: then
 * only one of the branch's k passes may be another, and 4 are enough for 16 / (k + 2). */
static void padding_leads_nowhere(void **state)
{
	static const uint8_t flags[] = { 0, CFG_UNREACHED, CFG_SEEN, CFG_UNREACHED | CFG_SEEN };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct site site[6];
		struct estimate e = loops(site, 16);
		struct estimate_proc *p = &e.proc[0];

		p->g.block[5].flags = flags[i];
		site[3].observed = 4;
		p->share[2] = p->share[5] = 0;
		p->share[3] = p->share[6] = 1;
		site[5].observed = 0;
		assert_int_equal(parts_make(&e), 0);
		assert_int_equal(part_of(&e, p, 3) == part_of(&e, p, 4), flags[i] == CFG_UNREACHED);
		estimate_fini(&e);
	}
}

/* A part that nothing is known of is as far off as the tie is weak: its variance is that of the known one, and 4 over the
 * passes. */
static void one_part_tells_of_another(void **state)
{
	(void)state;
	for (uint64_t passes = 1; passes <= 10; passes += 9) {
		struct site site[6];
		struct estimate e = loops(site, (double)passes);
		struct part *known = part_at(&e, 2), *other = part_at(&e, 4);

		known->weight = 100;
		known->sum = 100 * log(7);
		parts_solve(e.parts);
		assert_true(fabs(known->scale - log(7)) < 1e-6);
		assert_true(fabs(other->scale - log(7)) < 1e-6);
		assert_true(fabs(known->variance - 0.01) < 1e-9);
		assert_true(fabs(other->variance - (0.01 + 4 / (double)passes)) < 1e-9);
		estimate_fini(&e);
	}
}

/*
 * Two that are known are hardly drawn together by one pass: its weight is 1 / 4, theirs are 100. a = b / 4 / 100.25 and
 * b = (100 log 100 + a / 4) / 100.25 are 0.011456 and 4.593716.
 */
static void phases_keep_their_scales(void **state)
{
	struct site site[6];
	struct estimate e = loops(site, 1);
	struct part *a = part_at(&e, 2), *b = part_at(&e, 4);

	(void)state;
	a->weight = b->weight = 100;
	a->sum = 0;
	b->sum = 100 * log(100);
	parts_solve(e.parts);
	assert_true(fabs(a->scale - 0.011456) < 1e-5 && fabs(b->scale - 4.593716) < 1e-5);
	parts_multiply(&e, part_of(&e, &e.proc[0], 4), 3);
	assert_true(e.proc[0].block[2].f == 10 && e.proc[0].block[4].f == 30);
	estimate_fini(&e);
}

/* The two loops call a procedure of one block, the first one three times as often. */
static struct estimate calling(struct site site[7], struct estimate_call call[2])
{
	static struct cfg_block block[3];
	struct estimate e = loops(site, 1);
	struct estimate_proc *p = realloc(e.proc, 2 * sizeof(*p));

	assert_non_null(p);
	e.proc = p;
	p[1] = (struct estimate_proc){ .first = 6,
				       .g = { .nblocks = 3, .ninsns = 1, .block = block } };
	p[1].site = calloc(1, sizeof(struct site *));
	p[1].samples = calloc(3, sizeof(double));
	p[1].observed = calloc(3, sizeof(double));
	p[1].block = calloc(3, sizeof(*p[1].block));
	assert_true(p[1].site && p[1].samples && p[1].observed && p[1].block);
	call[0] = (struct estimate_call){ .from_block = 2, .to_proc = 1, .share = 1 };
	call[1] = (struct estimate_call){ .from_block = 4, .to_proc = 1, .share = 1 };
	e.call = call;
	e.ncalls = 2;
	e.nproc = 2;
	e.nblocks = 9;
	p[0].block[2].f = 3;
	p[0].block[4].f = 1;
	assert_int_equal(parts_make(&e), 0);
	return e;
}

static void called(struct estimate *e)
{
	e->call = NULL;
	e->proc[1].g.block = NULL;
	estimate_fini(e);
}

/* A procedure that two loops call does not tie them; it runs as often as both call it. The loops are drawn together a little, as
 * above: to 0.005466 and 2.191760, at which the calls, three to one, are log((3 * 1.00548 + 8.95095) / 4) = 1.095891. */
static void a_procedure_of_two_parts_ties_neither(void **state)
{
	struct estimate_call call[2];
	struct site site[7];
	struct estimate e = calling(site, call);
	struct part *a = part_at(&e, 2), *b = part_at(&e, 4),
		    *both = &e.parts->part[e.parts->of[6]];

	(void)state;
	assert_true(a != b && both != a && both != b);
	parts_weigh_calls(&e);
	a->weight = b->weight = 100;
	a->sum = 0;
	b->sum = 100 * log(9);
	parts_solve(e.parts);
	assert_true(fabs(a->scale - 0.005466) < 1e-5 && fabs(b->scale - 2.191760) < 1e-5);
	assert_true(fabs(both->scale - 1.095891) < 1e-5);
	called(&e);
}

/* If nearly all calls come from one part, the procedure belongs to it: nine in ten, or 1000 to 111. */
static void a_procedure_belongs_to_its_caller(void **state)
{
	static const double share[] = { 0.01, 0.11, 0.112 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct estimate_call call[2];
		struct site site[7];
		struct estimate e = calling(site, call);

		call[1].share = share[i];
		assert_int_equal(parts_make(&e), 0);
		assert_int_equal(e.parts->of[6] == part_of(&e, &e.proc[0], 2), i < 2);
		assert_int_not_equal(e.parts->of[6], part_of(&e, &e.proc[0], 4));
		called(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_seen_to_follow_is_one_part),
		cmocka_unit_test(sixteen_passes_tie),
		cmocka_unit_test(what_always_follows_is_one_part),
		cmocka_unit_test(padding_leads_nowhere),
		cmocka_unit_test(one_part_tells_of_another),
		cmocka_unit_test(phases_keep_their_scales),
		cmocka_unit_test(a_procedure_of_two_parts_ties_neither),
		cmocka_unit_test(a_procedure_belongs_to_its_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
