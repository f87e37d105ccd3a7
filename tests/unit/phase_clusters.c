/* SPDX-License-Identifier: MIT */
/* Phases whose right answer is known: how many, how large, which interval stands for each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "phase/clusters.h"

#define LENGTH 10000

/* An interval of phase k: 8 blocks of its own and two that all share, with some chance. */
static void add(struct phases *p, unsigned k, uint64_t length, unsigned chance)
{
	struct phase_part part[10];
	uint64_t sum = 0;
	struct err err;

	for (unsigned b = 0; b < 10; b++) {
		uint64_t noise = chance ? points_random(p->ninterval, b) % chance : 0;

		part[b].block = b < 2 ? b : 2 + 8 * k + (b - 2);
		part[b].instructions = b == 9 ? length - sum : length / 10 + noise;
		sum += part[b].instructions;
	}
	assert_int_equal(phases_add(p, part, 10, &err), 0);
}

static struct phases *begin(unsigned k)
{
	struct phases *p = phases_new();

	assert_non_null(p);
	for (unsigned b = 0; b < 2 + 8 * k; b++)
		assert_int_equal(phases_block(p, 1, 0x1000 + 16 * b, 5), b);
	return p;
}

/* Phases with so many intervals each, one behind the other, `rounds` times. */
static struct phases *make(const unsigned *intervals, unsigned k, unsigned rounds, unsigned chance)
{
	struct phases *p = begin(k);

	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < k; i++)
			for (unsigned n = 0; n < intervals[i]; n++)
				add(p, i, LENGTH, chance);
	return p;
}

static void find(struct clusters *c, const struct phases *p, struct clusters_options o)
{
	struct err err;

	assert_int_equal(clusters_find(c, p, &o, &err), 0);
}

static void known_phases(void **state)
{
	static const unsigned intervals[4] = { 40, 10, 30, 20 };

	(void)state;
	for (unsigned chance = 0; chance <= 100; chance += 50) {
		struct phases *p = make(intervals, 4, 2, chance);
		struct clusters c;

		find(&c, p, (struct clusters_options){ 0 });
		assert_int_equal(c.k, 4);
		for (unsigned k = 0; k < 4; k++) {
			assert_int_equal(c.cluster[k].intervals, 2 * intervals[k]);
			assert_true(fabs(c.cluster[k].share - intervals[k] / 100.0) < 1e-9);
			assert_int_equal(c.label[c.cluster[k].sample], k);
			assert_true(c.cluster[k].held > 0.95);
		}
		for (unsigned i = 0; i < 40; i++)
			assert_int_equal(c.label[i], 0);
		assert_int_equal(c.label[100], 0);
		assert_int_equal(c.label[199], 3);
		assert_true(c.silhouette > 0.9);
		assert_true(c.within < c.between / 10);
		clusters_fini(&c);
		phases_free(p);
	}
}

static void early_is_earlier(void **state)
{
	static const unsigned intervals[3] = { 50, 50, 50 };
	struct phases *p = make(intervals, 3, 3, 900);
	struct clusters best, early;
	unsigned before = 0;

	(void)state;
	find(&best, p, (struct clusters_options){ .k = 3 });
	find(&early, p, (struct clusters_options){ .k = 3, .early = true });
	for (unsigned k = 0; k < 3; k++) {
		assert_true(early.cluster[k].sample <= best.cluster[k].sample);
		assert_int_equal(early.label[early.cluster[k].sample], k);
		before += early.cluster[k].sample < best.cluster[k].sample;
	}
	assert_true(before > 0);
	assert_true(early.early_end <= best.early_end);
	assert_true(early.early_end < 0.5);
	clusters_fini(&best);
	clusters_fini(&early);
	phases_free(p);
}

static void same_again(void **state)
{
	static const unsigned intervals[3] = { 30, 20, 50 };
	struct phases *p = make(intervals, 3, 2, 500);
	struct clusters a, b;

	(void)state;
	find(&a, p, (struct clusters_options){ 0 });
	find(&b, p, (struct clusters_options){ 0 });
	assert_int_equal(a.k, b.k);
	assert_memory_equal(a.label, b.label, a.n * sizeof(*a.label));
	assert_memory_equal(a.bic, b.bic, sizeof(a.bic));
	for (unsigned k = 0; k < a.k; k++)
		assert_int_equal(a.cluster[k].sample, b.cluster[k].sample);
	clusters_fini(&a);
	clusters_fini(&b);
	phases_free(p);
}

static void degenerate(void **state)
{
	static const unsigned one = 1, many = 60;
	struct phases *p = make(&one, 1, 1, 0), *empty = begin(1);
	struct clusters c;
	struct err err;

	(void)state;
	find(&c, p, (struct clusters_options){ 0 });
	assert_int_equal(c.k, 1);
	assert_true(c.cluster[0].share == 1 && c.silhouette == 0 && c.between == 0);
	clusters_fini(&c);
	find(&c, p, (struct clusters_options){ .k = 30 });
	assert_int_equal(c.k, 1);
	clusters_fini(&c);
	phases_free(p);

	p = make(&many, 1, 1, 0); /* all the same */
	find(&c, p, (struct clusters_options){ 0 });
	assert_int_equal(c.k, 1);
	assert_int_equal(c.cluster[0].sample, 0);
	clusters_fini(&c);
	find(&c, p, (struct clusters_options){ .k = 7 });
	assert_int_equal(c.k, 1);
	clusters_fini(&c);
	phases_free(p);

	assert_int_equal(clusters_find(&c, empty, &(struct clusters_options){ 0 }, &err), -1);
	assert_int_equal(err.code, ERR_EMPTY);
	phases_free(empty);
}

/* The end of the run is mostly shorter than an interval. */
static void short_end(void **state)
{
	static const unsigned intervals[2] = { 10, 10 };
	struct phases *p = make(intervals, 2, 1, 0);
	struct clusters c;

	(void)state;
	add(p, 0, 100, 0);
	find(&c, p, (struct clusters_options){ 0 });
	assert_int_equal(c.k, 2);
	assert_int_equal(c.label[20], 0);
	assert_int_equal(c.instructions, 20 * LENGTH + 100);
	assert_int_equal(c.cluster[0].instructions, 10 * LENGTH + 100);
	assert_true(c.cluster[0].sample < 10);
	clusters_fini(&c);
	phases_free(p);
}

/* Neighbours become one; sums stay. */
static void halving(void **state)
{
	struct phases *p = begin(2);
	uint64_t sum = 0;

	(void)state;
	p->max = 8;
	for (unsigned i = 0; i < 7; i++)
		add(p, i % 2, LENGTH + i, 0);
	assert_int_equal(p->ninterval, 7);
	add(p, 1, LENGTH, 0);
	assert_int_equal(p->ninterval, 4);
	assert_int_equal(phases_instructions(p), 8 * LENGTH + 21);
	for (size_t i = 0; i < p->ninterval; i++) {
		struct phases_walk w = phases_walk(&p->interval[i]);
		uint64_t own = 0, before = 0, n = 0;

		while (phases_next(&w)) {
			assert_true(!n++ || w.part.block > before);
			before = w.part.block;
			own += w.part.instructions;
		}
		assert_int_equal(n, 18);
		assert_int_equal(own, p->interval[i].end - p->interval[i].start);
		assert_true(!i || p->interval[i].start == p->interval[i - 1].end);
		sum += own;
	}
	assert_int_equal(sum, 8 * LENGTH + 21);
	phases_free(p);
}

/* What was told too early goes from the latest intervals. */
static void taken_off(void **state)
{
	struct phases *p = begin(1);
	struct err err;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(phases_add(p, (struct phase_part[]){ { 1, 10 }, { 4, 5 } },
					    i == 1 ? 1 : 2, &err),
				 0);
	assert_int_equal(phases_instructions(p), 40);
	assert_int_equal(phases_take_off(p, 4, 7, &err), 0);
	assert_int_equal(phases_instructions(p), 33);
	assert_int_equal(p->interval[0].end, 13);
	assert_int_equal(phases_take_off(p, 1, 12, &err), 0);
	assert_int_equal(p->ninterval, 2); /* the last one was empty */
	assert_int_equal(phases_instructions(p), 21);
	assert_int_equal(p->interval[1].start, 13);
	phases_free(p);
}

static void bad_vectors(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t n;
	} bad[] = {
		{ { 0 }, 0 },	       /* nothing */
		{ { 0, 0 }, 2 },       /* no instruction */
		{ { 0, 5, 0, 5 }, 4 }, /* a block twice */
		{ { 9, 5, 1, 5 }, 4 }, /* no such block */
		{ { 10, 5 }, 2 },      /* likewise */
		{ { 0 }, 1 },	       /* cut short */
		{ { 0, 0x80 }, 2 },    /* likewise */
		{ { 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f }, 10 }, /* too many */
	};
	struct phases *p = begin(1);
	static const uint8_t good[] = { 0, 5, 9, 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_non_null(phases_add_packed(p, bad[i].bytes, bad[i].n));
	assert_int_equal(p->ninterval, 0);
	assert_null(phases_add_packed(p, good, sizeof(good)));
	assert_int_equal(phases_instructions(p), 12);
	phases_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_phases), cmocka_unit_test(early_is_earlier),
		cmocka_unit_test(same_again),	cmocka_unit_test(degenerate),
		cmocka_unit_test(short_end),	cmocka_unit_test(halving),
		cmocka_unit_test(taken_off),	cmocka_unit_test(bad_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
