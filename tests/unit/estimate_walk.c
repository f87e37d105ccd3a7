/* SPDX-License-Identifier: MIT */
/* Flow from branch outcomes, on two procedures made by hand; anchors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfg/graph.h"
#include "estimate/anchor.h"
#include "estimate/estimate_priv.h"
#include "estimate/parts.h"
#include "x86/insn.h"
#include "observe/locality.h"
#include "observe/tallies.h"

/*
 * Caller: 2 is a loop that runs ten times, then 3 or 4, then 5. Block 3 calls the other procedure, which is
 * one block.
 */
static const uint32_t caller_edges[][2] = { { 0, 2 }, { 2, 3 }, { 2, 2 }, { 2, 4 },
					    { 3, 5 }, { 4, 5 }, { 5, 1 } };
static const double shares[] = { 1, 0.025, 0.9, 0.075, 1, 1, 1 };
static const uint32_t callee_edges[][2] = { { 0, 2 }, { 2, 1 } };

static const struct site seen = { .observed = 1000000, .windows = 1000000 };

static void make_proc(struct estimate *e, const uint32_t (*edge)[2], uint32_t nedges,
		      uint32_t nblocks)
{
	struct estimate_proc *p = &e->proc[e->nproc++];
	struct cfg *g = &p->g;

	p->first = e->nblocks;
	e->nblocks += nblocks;
	g->nblocks = g->ninsns = nblocks;
	g->nedges = nedges;
	g->block = calloc(nblocks, sizeof(*g->block));
	g->edge = calloc(nedges, sizeof(*g->edge));
	p->site = calloc(nblocks, sizeof(struct site *));
	p->samples = calloc(nblocks, sizeof(double));
	p->observed = calloc(nblocks, sizeof(double));
	p->share = calloc(nedges, sizeof(double));
	p->block = calloc(nblocks, sizeof(*p->block));
	p->edge = calloc(nedges, sizeof(*p->edge));
	p->alone = calloc(nblocks, sizeof(*p->alone));
	assert_true(g->block && g->edge && p->site && p->samples && p->observed && p->share &&
		    p->block && p->edge && p->alone);
	for (uint32_t i = 0; i < nedges; i++)
		g->edge[i] = (struct cfg_edge){ .from = edge[i][0],
						.to = edge[i][1],
						.kind = edge[i][0] ? CFG_FALL : CFG_ENTER };
	for (uint32_t b = CFG_FIRST_BLOCK; b < nblocks; b++) {
		g->block[b] = (struct cfg_block){ .insn = b, .ninsn = 1 };
		p->site[b] = &seen;
	}
	assert_true(graph_link(g) && graph_close(g) && graph_classes(g));
}

/* The program as it ran, observed as often as `slow` says by block of the caller. */
static struct estimate program(double scale, double slow)
{
	struct estimate e = { .scale = 1 };
	const double true_f[] = { 100, 100, 1000, 25, 75, 100 };
	struct estimate_proc *p;

	e.proc = calloc(2, sizeof(*e.proc));
	e.call = calloc(1, sizeof(*e.call));
	assert_true(e.proc && e.call);
	make_proc(&e, caller_edges, 7, 6);
	make_proc(&e, callee_edges, 2, 3);
	e.call[e.ncalls++] = (struct estimate_call){ 0, 3, 1, 1 };
	p = &e.proc[0];
	memcpy(p->share, shares, sizeof(shares));
	for (uint32_t b = 0; b < 6; b++)
		p->observed[b] = scale * true_f[b] * (b == 3 ? slow : 1);
	e.proc[1].share[0] = e.proc[1].share[1] = 1;
	e.proc[1].observed[0] = e.proc[1].observed[2] = 25 * slow * scale;
	assert_int_equal(parts_make(&e), 0);
	return e;
}

static int anchor(struct estimate *e, const struct profile *p, struct err *err)
{
	const struct estimate_source src = { .profile = p };

	assert_int_equal(parts_make(e), 0); /* anew: of these samples */
	return anchor_estimate(e, &src, err);
}

static double f(const struct estimate *e, int proc, uint32_t b)
{
	return e->proc[proc].block[b].f;
}

static void true_observations_are_kept(void **state)
{
	struct estimate e = program(1, 1);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(walk_estimate(&e, &err), 0);
	assert_true(fabs(f(&e, 0, 2) - 1000) < 1);
	assert_true(fabs(f(&e, 0, 3) - 25) < 0.1);
	assert_true(fabs(f(&e, 0, 4) - 75) < 0.1);
	assert_true(fabs(f(&e, 1, 2) - 25) < 0.1);
	estimate_fini(&e);
}

/* A block that is slow is observed too often; flow knows how often it runs, and what it calls. */
static void flow_corrects_what_time_weights(void **state)
{
	struct estimate e = program(1, 5);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(walk_estimate(&e, &err), 0);
	assert_true(f(&e, 0, 3) < 30); /* 125 were observed */
	assert_true(f(&e, 1, 2) < 30);
	assert_true(fabs(f(&e, 0, 5) - 100) < 5);
	estimate_fini(&e);
}

static void calls_join_procedures(void **state)
{
	struct estimate e = program(1, 1);
	struct err err = { 0 };

	(void)state;
	/* who else calls it is not known: what was observed beyond the call is theirs */
	e.proc[1].observed[0] = e.proc[1].observed[2] = 125;
	assert_int_equal(walk_estimate(&e, &err), 0);
	assert_true(fabs(f(&e, 1, 2) - 125) < 1);
	estimate_fini(&e);
}

static void scale_makes_no_difference(void **state)
{
	struct estimate a = program(1, 2), b = program(1024, 2);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(walk_estimate(&a, &err), 0);
	assert_int_equal(walk_estimate(&b, &err), 0);
	for (uint32_t k = 0; k < 6; k++)
		assert_true(fabs(f(&a, 0, k) * 1024 - f(&b, 0, k)) <= 1e-2 * f(&b, 0, k));
	estimate_fini(&a);
	estimate_fini(&b);
}

/* Branches that were never seen to leave a loop give it no end. */
static void a_loop_without_an_end_stays_finite(void **state)
{
	struct estimate e = program(1, 1);
	struct err err = { 0 };

	(void)state;
	e.proc[0].share[2] = 1;
	e.proc[0].share[1] = e.proc[0].share[3] = 0;
	assert_int_equal(walk_estimate(&e, &err), 0);
	assert_true(isfinite(f(&e, 0, 2)) && f(&e, 0, 2) > 0);
	estimate_fini(&e);
}

static void nothing_observed_is_nothing_estimated(void **state)
{
	struct estimate e = program(0, 1);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(walk_estimate(&e, &err), 0);
	for (uint32_t k = 0; k < 6; k++)
		assert_true(f(&e, 0, k) == 0);
	estimate_fini(&e);
}

/* Each instruction, executed 2000 times its frequency, takes as long as is usual, times `slow` those of the callee. */
static void sample(struct estimate *e, struct profile *p, struct site *sites, double slow)
{
	struct site *s;
	struct err err = { 0 };

	assert_int_equal(profile_init(p, &err), 0);
	profile_run(p)->unit = strdup("cycles");
	s = profile_site(p, (struct site_id){ .addr = 0x10 });
	s->samples = 1000;
	s->time = 1000 * 2000 * ANCHOR_CYCLES / 16;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t b = 2; b < e->proc[i].g.nblocks; b++, sites++) {
			double samples = 16 * e->proc[i].block[b].f * (i ? slow : 1);

			*sites = seen;
			sites->samples = (uint64_t)(samples + 0.5);
			e->proc[i].site[b] = sites;
			e->proc[i].samples[b] = (double)sites->samples;
		}
}

/* An instruction of the callee counts that it ran 2000 times its frequency. */
static void count(struct estimate *e, struct profile *p)
{
	struct cfg *g = &e->proc[1].g;
	struct tally *t = tallies_get(p, (struct site_id){ .addr = 0x1000 });
	struct site *s = profile_site(p, t->key);
	struct tally_gaps *gaps = tally_own_gaps(t);

	assert_true(s && gaps);
	s->cls = INSN_RMW;
	t->step = -2;
	t->agreed = t->seen = 1000;
	gaps[5] = (struct tally_gaps){ .n = 1000, .time = 1000000, .advance = 2 * 25 * 2000 };
	g->insn = calloc(g->ninsns, sizeof(*g->insn));
	e->range = calloc(1, sizeof(*e->range));
	assert_true(g->insn && e->range);
	g->insn[2] = (struct cfg_insn){ .addr = 0x1000, .len = 1 };
	g->block[2].start = 0x1000;
	g->block[2].end = 0x1001;
	e->range[e->nranges++] =
		(struct estimate_range){ .proc = 1, .start = 0x1000, .end = 0x1001 };
}

static bool is_near(double a, double b)
{
	return a > 0.95 * b && a < 1.05 * b;
}

static bool is_within(double a, double b, double factor)
{
	return a > b / factor && a < b * factor;
}

/* The scale by time alone, where the recording's time and the samples of some blocks are that many
 * times those of 2000 executions a frequency, and nothing waits. */
static double scale_by_time(double time, double stalled)
{
	struct estimate e = program(1, 1);
	struct err err = { 0 };
	struct profile p;
	struct site sites[5];
	double scale;

	assert_int_equal(walk_estimate(&e, &err), 0);
	sample(&e, &p, sites, 1);
	profile_site(&p, (struct site_id){ .addr = 0x10 })->time *= time;
	for (uint32_t b = 3; b < 6; b++) {
		e.proc[0].samples[b] *= stalled;
		sites[b - 2].samples = (uint64_t)((double)sites[b - 2].samples * stalled);
	}
	assert_int_equal(anchor(&e, &p, &err), 0);
	assert_true(is_near(f(&e, 0, 2), 1000));
	scale = e.scale;
	profile_fini(&p);
	estimate_fini(&e);
	return scale;
}

static void time_is_the_anchor_where_nothing_counts(void **state)
{
	(void)state;
	assert_true(is_within(scale_by_time(1, 1), 2000, 2));
	assert_true(is_near(scale_by_time(3, 1), 3 * scale_by_time(1, 1)));
	/* most of the time is now what few instructions wait for, which hardly matters */
	assert_true(
		is_within(scale_by_time(1, 100), scale_by_time(1, 1), sqrt(1 + 99 * 200 / 1225.)));
}

/* Time that mispredicted branches took is not that of executions. */
static void mispredicted_branches_take_their_time(void **state)
{
	struct locality wrong = { .branches = 1000000, .mispredicted = 10000 };
	struct estimate e = program(1, 1);
	struct err err = { 0 };
	struct profile p;
	struct site sites[5];

	(void)state;
	assert_int_equal(walk_estimate(&e, &err), 0);
	sample(&e, &p, sites, 1);
	sites[0].cls = INSN_BRANCH;
	sites[0].observed = sites[0].windows = 1000000;
	sites[0].taken = 900000;
	sites[0].locality = &wrong;
	assert_int_equal(anchor(&e, &p, &err), 0);
	assert_true(e.scale < 0.9 * scale_by_time(1, 1));
	profile_fini(&p);
	estimate_fini(&e);
}

/* The scale, where the loop is one block of n instructions that have so many samples each. */
static double scale_of_block(const uint64_t *samples, uint32_t n)
{
	struct estimate e = program(1, 1);
	struct err err = { 0 };
	struct profile p;
	struct site sites[5], in_block[64] = { 0 };
	struct estimate_proc *q = &e.proc[0];
	double scale;

	assert_int_equal(walk_estimate(&e, &err), 0);
	sample(&e, &p, sites, 1);
	free(q->site);
	q->site = calloc(n + 6, sizeof(*q->site));
	assert_non_null(q->site);
	q->samples[2] = 0;
	for (uint32_t i = 0; i < n; i++) {
		in_block[i].samples = samples[i];
		q->site[i] = &in_block[i];
		q->samples[2] += (double)samples[i];
	}
	for (uint32_t b = 3; b < 6; b++) {
		q->g.block[b].insn = n + b - 3;
		q->site[n + b - 3] = &sites[b - 2];
	}
	q->g.block[2].insn = 0;
	q->g.block[2].ninsn = n;
	q->g.ninsns = n + 3;
	assert_int_equal(anchor(&e, &p, &err), 0);
	scale = e.scale;
	profile_fini(&p);
	estimate_fini(&e);
	return scale;
}

/* sample() gives each of the loop's executions 16 samples an instruction */
#define OF_ONE (16 * 1000)

/* Where in a block samples fall does not matter: instructions retire together. */
static void blocks_share_their_samples(void **state)
{
	const uint64_t even[] = { OF_ONE, OF_ONE, OF_ONE, OF_ONE };
	const uint64_t chance[] = { 3 * OF_ONE, 0, 0, OF_ONE };

	(void)state;
	assert_true(is_near(scale_of_block(chance, 4), scale_of_block(even, 4)));
	assert_true(is_near(scale_of_block(even, 4), scale_by_time(1, 1)));
}

static void what_is_counted_is_surer_than_time(void **state)
{
	static const double wrong[] = { 1, 1.5, 0.5, 100, 0.01 }; /* what times say */

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct estimate e = program(1, 1);
		struct err err = { 0 };
		struct profile p;
		struct site sites[5], *s;

		assert_int_equal(walk_estimate(&e, &err), 0);
		sample(&e, &p, sites, 1);
		s = profile_site(&p, (struct site_id){ .addr = 0x10 });
		s->time *= wrong[i];
		count(&e, &p);
		assert_int_equal(anchor(&e, &p, &err), 0);
		if (wrong[i] > 10 || wrong[i] < 0.1) /* something else is counted */
			assert_true(is_within(e.scale, 2000 * wrong[i], 2));
		else
			assert_true(is_within(e.scale, 2000, 1.15));
		profile_fini(&p);
		estimate_fini(&e);
	}
}

static void what_takes_unusually_long_is_doubtful(void **state)
{
	(void)state;
	for (int slow = 1; slow < 10; slow += 4) {
		struct estimate e = program(1, 1);
		struct err err = { 0 };
		struct profile p;
		struct site sites[5];

		assert_int_equal(walk_estimate(&e, &err), 0);
		e.proc[1].block[2].confidence = e.proc[1].edge[1].confidence = CONFIDENCE_HIGH;
		sample(&e, &p, sites, slow);
		assert_int_equal(anchor(&e, &p, &err), 0);
		assert_int_equal(e.proc[1].block[2].confidence,
				 slow > 1 ? CONFIDENCE_LOW : CONFIDENCE_HIGH);
		assert_int_equal(e.proc[1].edge[1].confidence,
				 slow > 1 ? CONFIDENCE_LOW : CONFIDENCE_HIGH);
		profile_fini(&p);
		estimate_fini(&e);
	}
}

static void without_samples_there_is_no_anchor(void **state)
{
	struct estimate e = program(1, 1);
	struct err err = { 0 };
	struct profile p;

	(void)state;
	assert_int_equal(profile_init(&p, &err), 0);
	assert_int_equal(walk_estimate(&e, &err), 0);
	e.scale = 3;
	count(&e, &p);
	assert_int_equal(anchor(&e, &p, &err), 0);
	assert_true(e.scale == 3);
	profile_fini(&p);
	estimate_fini(&e);
}

/* An exact run of the caller: as it ran, 2000 times, but for block 3, which never did. Instructions are at 1, 2, …;
 * the callee's image was not counted. */
static bool counts_of_caller(void *ctx, uint32_t image, uint64_t addr, struct estimate_count *n)
{
	static const double executed[] = { 0, 0, 1000, 0, 100, 100 };

	(void)ctx;
	*n = (struct estimate_count){ 2000 * executed[addr], addr == 2 ? 2000 * 900 : 0 };
	return image == 0;
}

static void number_instructions(struct estimate *e)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct cfg *g = &e->proc[i].g;

		e->proc[i].image = i;
		g->insn = calloc(g->ninsns, sizeof(*g->insn));
		assert_non_null(g->insn);
		for (uint32_t k = 2; k < g->ninsns; k++)
			g->insn[k] = (struct cfg_insn){ .addr = k, .len = 1 };
	}
	/* block 2 is a branch, taken to itself */
	e->proc[0].g.block[2].ends = CFG_END_BRANCH;
	e->proc[0].g.edge[2].kind = CFG_TAKEN;
}

/* Whether the sampled run did the work as often as the exact run is said only of parts that the program counts itself. */
static double apart_where(bool counted)
{
	const struct estimate_source src = { .count = counts_of_caller };
	struct estimate e = program(1, 1);
	struct err err = { 0 };
	double apart;

	number_instructions(&e);
	assert_int_equal(walk_estimate(&e, &err), 0);
	for (uint32_t b = 2; b < 6; b++)
		e.proc[0].samples[b] = 10;
	e.scale = 500;
	for (uint32_t b = 2; b < 6; b++)
		e.parts->part[part_of(&e, &e.proc[0], b)].counted = counted;
	assert_int_equal(counted_estimate(&e, &src, &err), 0);
	apart = e.apart;
	estimate_fini(&e);
	return apart;
}

static void how_often_the_work_was_done_needs_counting_parts(void **state)
{
	(void)state;
	assert_true(is_near(apart_where(true), 4));
	assert_true(apart_where(false) == 0);
}

static void what_an_exact_run_counted_replaces_estimates(void **state)
{
	const struct estimate_source src = { .count = counts_of_caller };
	struct estimate e = program(1, 1);
	struct err err = { 0 };
	const struct estimate_proc *p = &e.proc[0];

	(void)state;
	number_instructions(&e);
	assert_int_equal(walk_estimate(&e, &err), 0);
	for (uint32_t b = 2; b < 6; b++)
		e.proc[0].samples[b] = 10;
	e.proc[0].block[4].f = 1; /* estimated wrongly */
	e.scale = 500;		  /* as is the scale */
	assert_true(is_near(estimate_counted_scale(&e, &src), 2000));
	assert_int_equal(counted_estimate(&e, &src, &err), 0);
	assert_true(is_near(e.scale, 2000));
	assert_true(fabs(f(&e, 0, 2) * e.scale - 2000000) < 1);
	assert_true(fabs(f(&e, 0, 4) * e.scale - 200000) < 1);
	assert_int_equal(p->block[4].confidence, CONFIDENCE_HIGH);
	assert_true(fabs(p->edge[2].f * e.scale - 1800000) < 1);
	assert_true(fabs(p->edge[1].f * e.scale - 200000) < 1);
	/* it has samples, so it ran, whatever the exact run did */
	assert_true(fabs(f(&e, 0, 3) - 25) < 0.1);
	assert_int_equal(p->block[3].confidence, CONFIDENCE_LOW);
	/* of an image that was not counted */
	assert_true(fabs(f(&e, 1, 2) - 25) < 0.1);
	estimate_fini(&e);
}

static void where_nothing_was_counted_all_stays(void **state)
{
	const struct estimate_source src = { .count = counts_of_caller };
	struct estimate e = program(1, 1);
	struct err err = { 0 };

	(void)state;
	number_instructions(&e);
	e.proc[0].image = 1;
	assert_int_equal(walk_estimate(&e, &err), 0);
	e.proc[0].samples[2] = 10;
	e.scale = 500;
	assert_true(estimate_counted_scale(&e, &src) == 0);
	assert_int_equal(counted_estimate(&e, &src, &err), 0);
	assert_true(e.scale == 500 && e.apart == 0);
	assert_true(fabs(f(&e, 0, 2) - 1000) < 1);
	estimate_fini(&e);
}

static void a_clock_is_measured_or_of_the_cpus_name(void **state)
{
	(void)state;
	char xeon[] = "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", epyc[] = "AMD EPYC";
	char absurd[] = "x @ 1e9";

	assert_true(anchor_ghz(&(struct run){ .cpu = xeon }) == 2.5);
	assert_true(anchor_ghz(&(struct run){ .cpu = xeon, .clock = 3100000000 }) == 3.1);
	assert_true(anchor_ghz(&(struct run){ .cpu = epyc }) == ANCHOR_GHZ);
	assert_true(anchor_ghz(&(struct run){ .cpu = absurd }) == ANCHOR_GHZ);
	assert_true(anchor_ghz(&(struct run){ .cpu = NULL }) == ANCHOR_GHZ);
	assert_true(anchor_ghz(NULL) == ANCHOR_GHZ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(true_observations_are_kept),
		cmocka_unit_test(flow_corrects_what_time_weights),
		cmocka_unit_test(calls_join_procedures),
		cmocka_unit_test(scale_makes_no_difference),
		cmocka_unit_test(a_loop_without_an_end_stays_finite),
		cmocka_unit_test(nothing_observed_is_nothing_estimated),
		cmocka_unit_test(time_is_the_anchor_where_nothing_counts),
		cmocka_unit_test(mispredicted_branches_take_their_time),
		cmocka_unit_test(blocks_share_their_samples),
		cmocka_unit_test(what_is_counted_is_surer_than_time),
		cmocka_unit_test(what_takes_unusually_long_is_doubtful),
		cmocka_unit_test(without_samples_there_is_no_anchor),
		cmocka_unit_test(what_an_exact_run_counted_replaces_estimates),
		cmocka_unit_test(how_often_the_work_was_done_needs_counting_parts),
		cmocka_unit_test(where_nothing_was_counted_all_stays),
		cmocka_unit_test(a_clock_is_measured_or_of_the_cpus_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
