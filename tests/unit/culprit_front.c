/* SPDX-License-Identifier: MIT */
/* Waiting for the front end after branches and jumps, and bounds from misses that are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "culprit/facts.h"

static const struct culprit_machine machine = {
	.data = { { .penalty = 10, .likely = 8 },
		  { .penalty = 30, .likely = 20 },
		  { .penalty = 200, .likely = 100 } },
	.dtlb = { { .penalty = 7, .likely = 5 },
		  { .penalty = 40, .likely = 30 },
		  { .penalty = 90, .likely = 60 } },
	.code = { { .room = 8, .penalty = 12, .likely = 11 },
		  { .room = 64, .penalty = 50, .likely = 40 },
		  { .room = 512, .penalty = 300, .likely = 250 } },
	.itlb = { { .room = 8, .penalty = 6, .likely = 4 },
		  { .room = 64, .penalty = 35, .likely = 25 },
		  { .room = 512, .penalty = 80, .likely = 70 } },
	.mispredict = 20,
	.branches = 100,
	.unknown = 10,
	.decoded = 100,
	.decode = 2,
};

static void is(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fabs(b)))
		fail_msg("%.12g instead of %.12g", a, b);
}

/*
 * The errors of a counter of three bits, which counts up and down with the branch's ways and expects the way of its half, by
 * the counter's states: state k is as frequent as x^k, where one way is x times as frequent as the other. Returns the part of
 * the errors that lead the rarer way.
 */
static double rarer_of_counter(double rare)
{
	double x = (1 - rare) / rare, to_rarer = 0, to_other = 0;

	for (int k = 0; k < 8; k++)
		if (k >= 4)
			to_rarer += rare * pow(x, k);
		else
			to_other += (1 - rare) * pow(x, k);
	return to_rarer / (to_rarer + to_other);
}

static void errors_lead_the_unexpected_way(void **state)
{
	(void)state;
	/* of an even branch, half of them to either side */
	is(front_wrong_to(0.5, 0.5), 0.25);
	is(front_wrong_to(0.01, 0.5), 0.005);
	/* a predictor that knows nothing but the ways' shares errs as often as the rarer way is gone */
	is(front_wrong_to(0.25, 0.25), 0.25 * rarer_of_counter(0.25));
	is(front_wrong_to(0.25, 0.75), 0.25 * (1 - rarer_of_counter(0.25)));
	is(front_wrong_to(0.1, 0.1), 0.1 * rarer_of_counter(0.1));
	/* one that errs in half of those cases is in the middle between that and even errors */
	is(front_wrong_to(0.125, 0.25), 0.125 * (0.5 + rarer_of_counter(0.25)) / 2);
	/* no more than the executions that go that way */
	is(front_wrong_to(0.9, 0.1), 0.1);
	is(front_wrong_to(0.9, 0.9), 0.8);
	assert_true(front_wrong_to(0.1, 0) == 0);
	is(front_wrong_to(0.1, 1), 0.1);
}

/* An instruction that is executed 50 times, in the middle of a line of code and of a page. */
static struct fact made(void)
{
	struct fact f = { .addr = 0x10020, .len = 4, .executions = 50 };

	f.fetch_line = f.fetch_page = (struct odds){ INFINITY, INFINITY };
	f.code_line = f.code_page = (struct odds){ 0.4, 0.2 };
	return f;
}

struct crowds {
	struct crowd lines, pages, targets, insns;
};

/* Of `units` lines of code, and as many pages, 50 uses each. 200 targets and 10 instructions, 50 uses each. */
static void place(struct fact *f, const struct front_from *from, unsigned n, bool head,
		  double units)
{
	struct crowds c;
	struct fact_source src = { .machine = &machine,
				   .code_lines = &c.lines,
				   .code_pages = &c.pages,
				   .targets = &c.targets,
				   .insns = &c.insns };

	memset(&c, 0, sizeof(c));
	assert_int_equal(crowd_add(&c.lines, 50 * units, 10 * units, units) ||
				 crowd_add(&c.pages, 50 * units, 10 * units, units) ||
				 crowd_add(&c.targets, 50 * 200, 50 * 200, 200) ||
				 crowd_add(&c.insns, 50 * 10, 50 * 10, 10),
			 0);
	assert_false(crowd_ready(&c.lines) || crowd_ready(&c.pages) || crowd_ready(&c.targets) ||
		     crowd_ready(&c.insns));
	front_place(f, from, n, head, &src);
	crowd_fini(&c.lines);
	crowd_fini(&c.pages);
	crowd_fini(&c.targets);
	crowd_fini(&c.insns);
}

/* A branch that is executed 100 times and goes here half of the time; 10 are mispredicted, at most 20, half of them here. */
static void branches_delay_what_follows(void **state)
{
	const struct fact branch = { .addr = 0x10010,
				     .len = 2,
				     .cls = INSN_BRANCH,
				     .executions = 100,
				     .mispredicted = { 0.2, 0.1 },
				     .ready = 6 };
	const struct front_from from = { .fact = &branch, .share = 1 };
	struct fact f = made();

	(void)state;
	place(&f, &from, 1, true, 4);
	is(f.branch.most, 20 / 50. * (20 + 6));
	is(f.branch.likely, 5 / 50. * (14 + 6)); /* usually 14 cycles, at most the machine's 20 */
	assert_ptr_equal(f.branch_fault, &branch);
	f = made();
	place(&f, &from, 1, false, 4);
	assert_true(f.branch.most == 0 && !f.branch_fault);
	/* no more often than control comes here */
	f = made();
	f.executions = 10;
	place(&f, &from, 1, true, 4);
	is(f.branch.most, 20 + 6);
}

/* Of ten executions four follow a misprediction, at most five. The second instruction waits for the first, the third for none,
 * the last for the second. */
static void latencies_show_behind_mispredictions(void **state)
{
	const struct fact branch = { .addr = 0x10010 }, other = { .addr = 0x10020 };
	struct fact f[4] = { { .latency = 3, .writes = 1 << 1 },
			     { .latency = 2, .reads = 1 << 1, .writes = 1 << 2 },
			     { .latency = 1, .writes = 1 << 3 },
			     { .latency = 4, .reads = 1 << 2 } };

	(void)state;
	fact_resolve(f, 4);
	f[0].branch_fault = &other;
	front_expose(f, 4, (struct odds){ 0.5, 0.4 }, &branch);
	is(f[0].exposed.likely, 0.4 * 3);
	is(f[1].exposed.likely, 0.4 * 2);
	is(f[2].exposed.likely, 0);
	is(f[3].exposed.likely, 0.4 * 4);
	is(f[1].exposed.most, 0.5 * 5);
	is(f[3].exposed.most, 0.5 * 9);
	assert_ptr_equal(f[0].branch_fault, &other);
	assert_ptr_equal(f[3].branch_fault, &branch);
}

/* Jumps here cost a cycle at most, 0.1 usually. 200 targets have 100 places, so half of them are not known, which costs 10.
 * Decoding costs 2 cycles, twice at the head of a block, at most as often as 10 instructions fill 100 places; usually only at
 * the first of 50 executions. */
static void jumps_need_targets(void **state)
{
	const struct fact jump = { .addr = 0x10010, .len = 2, .executions = 25 },
			  next = { .addr = 0x1001e, .len = 2, .executions = 25 };
	const struct front_from from[] = { { .fact = &jump, .share = 0.5, .jumped = true },
					   { .fact = &next, .share = 0.5 } };
	struct fact f = made();

	(void)state;
	place(&f, from, 2, true, 4);
	is(f.front.most, 0.5 * (1 + 10) + 2 * 2 * 10 / 100.);
	assert_true(fabs(f.front.likely - (0.5 * (0.1 + 10 * 0.5) + 2 / 50.)) < 1e-3);
	f = made();
	place(&f, from, 2, false, 4);
	is(f.front.most, 2 * 10 / 100.);
	is(f.front.likely, 2 / 50.);
}

/* Fetches are of another line for what does not come from the line's own instructions. */
static void lines_are_fetched_on_entry(void **state)
{
	/* the second one ends in the line, the third one on another page */
	const struct fact same = { .addr = 0x10010, .len = 2 },
			  crosses = { .addr = 0xfffe, .len = 4 },
			  far = { .addr = 0x20010, .len = 2 };
	const struct front_from from[] = { { .fact = &same, .share = 0.5 },
					   { .fact = &crosses, .share = 0.25 },
					   { .fact = &far, .share = 0.25 } };
	struct fact f = made(), all = made();

	(void)state;
	place(&f, from, 3, false, 16);
	/* what is not known may come from anywhere */
	place(&all, &(struct front_from){ .share = 1 }, 1, false, 16);
	assert_true(all.icache.likely > 0 && all.itlb.likely > 0);
	is(f.icache.likely, 0.25 * all.icache.likely);
	is(f.itlb.likely, 0.25 * all.itlb.likely);
	is(f.icache.most, 0.25 * all.icache.most);
	/* nor do they cost more than the misses that are known */
	f = made();
	f.fetch_line = (struct odds){ 0.2, 0.1 };
	f.fetch_page = (struct odds){ 0.04, 0.02 };
	place(&f, from, 3, false, 16);
	is(f.icache.most, 0.2);
	is(f.icache.likely, 0.1);
	is(f.itlb.most, 0.04);
	is(f.itlb.likely, 0.02);
}

/*
 * Misses of an execution: a half of L1, a tenth of L2, a hundredth of L3. Those of the last cache, which others share, may be as
 * many as of L2. Twice as many may miss on the real machine, and one in a thousand in any case. Of TLBs there are two levels;
 * the second one stands for the third.
 */
static void known_misses_bound_costs(void **state)
{
	double each[MISS_KIND_N] = {
		[MISS_L1D] = 0.5,   [MISS_L2D] = 0.1,	       [MISS_L3D] = 0.01,
		[MISS_DTLB] = 0.2,  [MISS_DWALK] = 0.05,       [MISS_L1I] = 0.25,
		[MISS_ITLB] = 0.04, [MISS_MISPREDICTED] = 0.03
	};
	struct fact f = { .hide_line = HIDES_NOTHING, .hide_page = HIDES_NOTHING };

	(void)state;
	f.dcache = (struct odds){ 1000, 500 };
	f.dtlb = (struct odds){ 3, 2 }; /* a tighter bound stays */
	f.mispredicted = (struct odds){ 1, 0.5 };
	fact_missed(&f, each, &machine);
	is(f.dcache.most, 1.001 * 10 + 0.201 * 30 + 0.201 * 200);
	is(f.dcache.likely, 0.5 * 8 + 0.1 * 20 + 0.01 * 100);
	is(f.dtlb.most, 3);
	is(f.dtlb.likely, 3); /* of 0.2 * 5 + 0.05 * 30 + 0.05 * 60 = 5.5 */
	is(f.mispredicted.most, 0.061);
	is(f.mispredicted.likely, 0.03);
	is(f.fetch_line.most, 0.501 * 12 + 0.001 * 50 + 0.001 * 300);
	is(f.fetch_line.likely, 0.25 * 11);
	is(f.fetch_page.most, 0.081 * 6 + 0.001 * 35 + 0.001 * 80);
	is(f.fetch_page.likely, 0.04 * 4);
	/* two misses under way at a time take half as long each */
	f = (struct fact){ .hide_line = { .overlap = 2, .most = 4 }, .hide_page = HIDES_NOTHING };
	f.dcache = (struct odds){ INFINITY, 500 };
	fact_missed(&f, each, &machine);
	is(f.dcache.likely, (0.5 * 8 + 0.1 * 20 + 0.01 * 100) / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_lead_the_unexpected_way),
		cmocka_unit_test(branches_delay_what_follows),
		cmocka_unit_test(latencies_show_behind_mispredictions),
		cmocka_unit_test(jumps_need_targets),
		cmocka_unit_test(lines_are_fetched_on_entry),
		cmocka_unit_test(known_misses_bound_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
