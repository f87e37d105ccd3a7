/* SPDX-License-Identifier: MIT */
/* What windows tell of words that the program counts with. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "x86/insn.h"
#include "observe/tallies.h"
#include "store/recording.h"

#define MS 1000000ull
#define WORD 0x7000
#define COUNT 0x1000 /* addresses of instructions */
#define OTHER 0x2000
#define READ 0x3000

static struct err err;
static struct profile p;
static struct retired ri[8];
static struct window w;

static int setup(void **unused)
{
	(void)unused;
	return profile_init(&p, &err);
}

static int teardown(void **unused)
{
	(void)unused;
	profile_fini(&p);
	return 0;
}

static void begin(uint64_t time, uint32_t pid)
{
	memset(ri, 0, sizeof(ri));
	w = (struct window){ .pid = pid, .tid = pid, .time = time, .weight = 1, .ri = ri };
}

static struct retired *add(uint64_t addr, int cls, uint64_t word, unsigned size)
{
	struct retired *r = &ri[w.n++];

	r->site.addr = addr;
	r->cls = (uint8_t)cls;
	r->len = 4;
	r->access = (uint8_t)size;
	r->have = 1u << OPERAND_ADDRESS;
	r->value[OPERAND_ADDRESS] = word;
	return r;
}

static void with(struct retired *r, int operand, uint64_t value)
{
	r->have |= (uint16_t)(1u << operand);
	r->value[operand] = value;
}

/* add [word], step, which is `before` then. */
static void count(uint64_t addr, uint64_t word, unsigned size, uint64_t before, int64_t step)
{
	struct retired *r = add(addr, INSN_RMW, word, size);
	uint64_t mask = size < 8 ? (1ull << 8 * size) - 1 : UINT64_MAX;

	with(r, OPERAND_LOAD, before & mask);
	with(r, OPERAND_STORE, (before + (uint64_t)step) & mask);
}

static void done(void)
{
	w.start = ri[0].site;
	assert_int_equal(profile_window(&p, &w), 0);
}

/* n windows, a millisecond apart, in each of which the word has gone `each` steps further. */
static void run(uint64_t addr, uint32_t pid, unsigned size, uint64_t from, int64_t step,
		unsigned each, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		begin((i + 1) * MS, pid);
		count(addr, WORD, size, from + (uint64_t)(step * (int64_t)(i * each)), step);
		done();
	}
}

static double only_group(void)
{
	struct tally_groups g;
	double advance;

	assert_int_equal(tallies_groups(&g, &p, NULL), 0);
	advance = g.n == 1 ? g.group[0].advance : g.n ? -1 : 0;
	tallies_groups_free(&g);
	return advance;
}

/* What the gaps of so many windows are extrapolated to. */
static double life(double gaps)
{
	return gaps + 2;
}

static void near(double a, double b)
{
	if (a < 0.999 * b || a > 1.001 * b)
		print_error("%g is not %g\n", a, b);
	assert_true(a >= 0.999 * b && a <= 1.001 * b);
}

static void counts_up_and_down(void **unused)
{
	(void)unused;
	run(COUNT, 1, 4, 100, 1, 5000, 101);
	/* the first window that saw it add something twice remembered the word */
	near(only_group(), 5000 * life(99));
	teardown(NULL);
	setup(NULL);
	run(COUNT, 1, 8, 1u << 30, -3, 5000, 101);
	near(only_group(), 3 * 5000 * life(99));
}

/*
 * A place of the stack is the counter of one loop for ten windows, 1 ms apart, in which it counts 5000 each, and for the next ten
 * the counter of another loop, which counts `fast` times as many and is that much ahead when it is first seen. Returns the
 * executions in a ms that the first loop is said to have had.
 */
static double in_turn(double fast)
{
	double advance = 0, time = 0;
	uint64_t value = 0;
	struct tally *t;

	teardown(NULL);
	setup(NULL);
	for (unsigned i = 0; i < 400; i++) {
		bool first = i / 10 % 2 == 0;

		value = i % 20 ? value + (first ? 5000 : (uint64_t)(5000 * fast)) : 0;
		begin((i + 1) * MS, 1);
		count(first ? COUNT : OTHER, WORD, 8, value, 1);
		done();
	}
	t = tallies_get(&p, (struct site_id){ .addr = COUNT });
	assert_non_null(t);
	for (unsigned i = 0; i < TALLY_OCTAVES; i++) {
		advance += t->gaps[i].advance;
		time += (double)t->gaps[i].time;
	}
	return advance / time * (double)MS;
}

/* If both loops count about as fast, they may count in one variable: of 200 gaps that the first loop began, the first and one that
 * ends with the first sight of the other are lost. Else the other's value does not tell how far the first came. */
static void variables_in_one_place_are_told_apart_by_rate(void **unused)
{
	(void)unused;
	near(in_turn(1), 5000);
	near(in_turn(1.5), (179 * 5000 + 19 * 7500) / 198.);
	near(in_turn(20), 5000);
}

static void wraps(void **unused)
{
	(void)unused;
	run(COUNT, 1, 4, 0xffffff00, 1, 5000, 101);
	near(only_group(), 5000 * life(99));
	teardown(NULL);
	setup(NULL);
	run(COUNT, 1, 1, 0, 1, 10, 101); /* a byte wraps all the time, 10 of 256 further */
	near(only_group(), 10 * life(99));
}

static void by_load_add_store(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 101; i++) {
		begin((i + 1) * MS, 1);
		with(add(COUNT, INSN_LOAD, WORD, 8), OPERAND_LOAD, 7 + 100 * i);
		add(COUNT + 4, INSN_OTHER, 0, 0)->have = 0;
		with(add(COUNT + 8, INSN_STORE, WORD, 8), OPERAND_STORE, 8 + 100 * i);
		done();
	}
	near(only_group(), 100 * life(99));
}

/* What is copied there counts, but not this instruction: nothing was loaded from where it stores. */
static void copies_are_none(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 101; i++) {
		begin((i + 1) * MS, 1);
		with(add(COUNT, INSN_STORE, WORD, 8), OPERAND_STORE, 2 * i);
		with(add(READ, INSN_LOAD, WORD, 8), OPERAND_LOAD, 2 * i);
		with(add(COUNT, INSN_STORE, WORD, 8), OPERAND_STORE, 2 * i + 1);
		done();
	}
	near(only_group(), 0);
}

static void other_steps_are_none(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 101; i++) {
		begin((i + 1) * MS, 1);
		count(COUNT, WORD, 8, 100 * i, i % 10 ? 1 : 50);
		done();
	}
	near(only_group(), 0);
}

/* Others read the word more often: gaps that no window of the tally's ends. */
static void loads_are_seen(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 1001; i++) {
		begin((i + 1) * MS, 1);
		if (i % 20 == 0)
			count(COUNT, WORD, 4, 10 * i, 1);
		with(add(READ, INSN_LOAD, WORD, 4), OPERAND_LOAD, 10 * i + (i % 20 == 0));
		done();
	}
	near(only_group(), 10 * life(980));
}

/* The word is another variable of code that no window sees beside the count. */
static void loads_of_other_code_are_not(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 1001; i++) {
		begin((i + 1) * MS, 1);
		if (i % 20 == 0)
			count(COUNT, WORD, 4, 10 * i, 1);
		else
			with(add(OTHER, INSN_LOAD, WORD, 4), OPERAND_LOAD, 3 * i);
		done();
	}
	near(only_group(), 10 * 20 * life(49));
}

/* Set to 0 again every so often: in each such gap it went on as in others. */
static void set_back(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 1001; i++) {
		begin((i + 1) * MS, 1);
		count(COUNT, WORD, 4, (100 * i) % 1050, 1);
		done();
	}
	near(only_group(), 100 * life(999));
	/* … too often */
	teardown(NULL);
	setup(NULL);
	for (unsigned i = 0; i < 1001; i++) {
		begin((i + 1) * MS, 1);
		count(COUNT, WORD, 4, (100 * i) % 150, 1);
		done();
	}
	near(only_group(), 0);
}

/* An exponential distribution's, of that mean, by an additive sequence in place of a random one. */
static uint64_t gap(unsigned i, double mean)
{
	double part = fmod((i + 0.5) * 0.6180339887498949, 1);

	return (uint64_t)(-mean * log(1 - part));
}

/*
 * n samples of a word that advances by one a microsecond and is set back every so many; ending when, in nanoseconds.
 * After the first of every 20 comes a pause.
 */
static uint64_t sawtooth(unsigned n, unsigned every, uint64_t pause)
{
	uint64_t time = MS;

	for (unsigned i = 0; i < n; i++) {
		begin(time, 1);
		count(COUNT, WORD, 4, time / 1000 % every, 1);
		done();
		time += gap(i, 20 * MS) + (i % 20 ? 0 : pause);
	}
	return time;
}

/* Set back so often that most gaps tell nothing, but those of a few lengths do: enough if the word is seen all the time. */
static void steady(void **unused)
{
	double all;

	(void)unused;
	all = (double)sawtooth(3000, 60000, 0) / 1000;
	near(only_group(), all);
	/* … not with pauses: what it does in them is not known */
	teardown(NULL);
	setup(NULL);
	sawtooth(3000, 60000, 200 * MS);
	near(only_group(), 0);
	/* … nor with so few */
	teardown(NULL);
	setup(NULL);
	sawtooth(900, 80000, 0);
	near(only_group(), 0);
}

/* Two instructions on one word: what it advances by is theirs together. */
static void two_of_one_word(void **unused)
{
	struct tally_groups g;

	(void)unused;
	for (unsigned i = 0; i < 201; i++) {
		begin((i + 1) * MS, 1);
		count(i % 3 ? COUNT : OTHER, WORD, 4, 30 * i, i % 3 ? 1 : 4);
		done();
	}
	assert_int_equal(tallies_groups(&g, &p, NULL), 0);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.group[0].n, 2);
	assert_int_equal(g.group[0].tally[0]->key.addr, COUNT);
	/* a window more until both were seen twice */
	near(g.group[0].advance, 30 * life(198));
	tallies_groups_free(&g);
}

/* Many words at a time, two instructions on each, which lie among those of the others; every third word is spoilt. */
static void many_groups(void **unused)
{
	enum {
		WORDS = 30,
		GOOD = 20
	};
	struct tally_groups g;

	(void)unused;
	for (unsigned i = 0; i < 202; i++)
		for (unsigned k = 0; k < WORDS; k++) {
			begin((i + 1) * MS + k, 1);
			if (k % 3 == 2 && i % 5 == 0)
				with(add(READ + k, INSN_STORE, WORD + 8 * k, 4), OPERAND_STORE,
				     i * i);
			else
				count((i % 3 ? COUNT : OTHER) + WORDS - k, WORD + 8 * k, 4,
				      (uint64_t)(k + 1) * i, 1);
			done();
		}
	assert_int_equal(tallies_groups(&g, &p, NULL), 0);
	assert_int_equal(g.n, GOOD);
	for (unsigned i = 0; i < g.n; i++) {
		const struct tally_group *group = &g.group[i];
		unsigned k;

		assert_int_equal(group->n, 2);
		k = WORDS - (unsigned)(group->tally[0]->key.addr - COUNT);
		assert_int_equal(group->tally[1]->key.addr, OTHER + WORDS - k);
		assert_true(k % 3 != 2);
		near(group->advance, (k + 1) * life(199));
	}
	tallies_groups_free(&g);
}

static void up_and_down_is_none(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 201; i++) {
		begin((i + 1) * MS, 1);
		count(i % 3 ? COUNT : OTHER, WORD, 4, 30 * i, i % 3 ? 1 : -1);
		done();
	}
	near(only_group(), 0);
}

static void strangers_spoil_it(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 201; i++) {
		begin((i + 1) * MS, 1);
		if (i % 20)
			count(COUNT, WORD, 4, 30 * i, 1);
		else
			with(add(OTHER, INSN_STORE, WORD, 4), OPERAND_STORE, 30 * i);
		done();
	}
	near(only_group(), 0);
}

/* Threads of a process share a word; another process has its own at that address. */
static void processes(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 202; i++) {
		begin((i + 1) * MS, 1 + i % 2);
		w.tid = 10 + i % 7;
		count(COUNT, WORD, 4, i % 2 ? 1000000 - 10 * i : 20 * i, 1);
		done();
	}
	/* the second one goes down */
	near(only_group(), 0);
	teardown(NULL);
	setup(NULL);
	for (unsigned i = 0; i < 202; i++) {
		begin((i + 1) * MS, 1 + i % 2);
		w.tid = 10 + i % 7;
		count(COUNT, WORD, 4, i % 2 ? 1000000 + 10 * i : 20 * i, 1);
		done();
	}
	/* 2 ms a gap, of 40 and of 20 steps: half each, but for one more of the first */
	near(only_group(), (99.0 * 40 + 100 * 20) * 203 / 199);
}

static void adds_up_and_is_kept(void **unused)
{
	char path[] = "/tmp/tallies-XXXXXX";
	struct profile twice, read;

	(void)unused;
	run(COUNT, 1, 4, 100, 1, 5000, 101);
	run(OTHER, 2, 4, 100, 2, 5000, 101);
	assert_int_equal(profile_init(&twice, &err), 0);
	assert_int_equal(profile_merge(&twice, &p, &err), 0);
	assert_int_equal(profile_merge(&twice, &p, &err), 0);
	assert_int_equal(tallies_get(&twice, (struct site_id){ .addr = COUNT })->agreed, 202);
	assert_int_equal(tallies_get(&twice, (struct site_id){ .addr = OTHER })->step, 2);

	close(mkstemp(path));
	assert_int_equal(recording_write(path, &twice, &err), 0);
	assert_int_equal(profile_init(&read, &err), 0);
	assert_int_equal(recording_read(path, &read, &err), 0);
	for (struct tally *t = twice.tallies; t; t = t->hh.next) {
		const struct tally *r = tallies_get(&read, t->key);

		assert_int_equal(r->step, t->step);
		assert_int_equal(r->agreed, t->agreed);
		assert_int_equal(r->seen, t->seen);
		assert_memory_equal(r->gaps, t->gaps, TALLY_OCTAVES * sizeof(*t->gaps));
		assert_memory_equal(r->peer, t->peer, sizeof(t->peer));
	}
	unlink(path);
	profile_fini(&read);
	profile_fini(&twice);
}

/* A word that changes in its highest bit: a step of half of all numbers. */
static void the_longest_way_is_kept(void **unused)
{
	char path[] = "/tmp/tallies-XXXXXX";
	struct profile read;
	struct tally_gaps *gaps;
	struct tally *t;

	(void)unused;
	run(COUNT, 1, 4, 100, 1, 5000, 101);
	t = tallies_get(&p, (struct site_id){ .addr = COUNT });
	t->step = INT64_MIN;
	gaps = tally_own_gaps(t);
	assert_non_null(gaps);
	gaps[3] = (struct tally_gaps){ .n = 1, .time = MS, .advance = 0x1p63 };
	close(mkstemp(path));
	assert_int_equal(recording_write(path, &p, &err), 0);
	assert_int_equal(profile_init(&read, &err), 0);
	assert_int_equal(recording_read(path, &read, &err), 0);
	t = tallies_get(&read, (struct site_id){ .addr = COUNT });
	assert_true(t->step == INT64_MIN && t->gaps[3].advance >= 0x1p60);
	unlink(path);
	profile_fini(&read);
}

/* Registers. */

/* add reg, step, which is `after` then. */
static void count_register(uint64_t addr, uint8_t reg, uint64_t after, int32_t step)
{
	struct retired *r = add(addr, INSN_OTHER, 0, 0);

	r->have = 0;
	r->counts = 8;
	r->reg = reg;
	r->step = step;
	with(r, OPERAND_RESULT, after);
}

static bool all_are(void *ctx, const struct tally *t)
{
	(void)ctx;
	(void)t;
	return true;
}

static bool none_is(void *ctx, const struct tally *t)
{
	(void)ctx;
	(void)t;
	return false;
}

static bool are_apart(void *ctx, const struct tally *a, const struct tally *b)
{
	return *(const bool *)ctx && a != b;
}

/* Groups where all are sure; *g is to be freed. */
static size_t groups_apart(struct tally_groups *g, bool own, bool apart)
{
	const struct tallies_judge judge = { all_are, own ? all_are : none_is, are_apart, &apart };

	assert_int_equal(tallies_groups(g, &p, &judge), 0);
	return g->n;
}

static size_t groups(struct tally_groups *g, bool own)
{
	return groups_apart(g, own, false);
}

/* n windows of two rounds of a loop, a millisecond and `each` rounds apart; other: its second half counts with another
 * instruction. */
static void loop(uint64_t other, uint64_t from, unsigned each, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		begin(w.time + MS, 1);
		count_register(COUNT, 3, from + (uint64_t)i * each + 1, 1);
		count_register(other, 3, from + (uint64_t)i * each + 2, 1);
		done();
	}
}

static void a_register_tells_too(void **state)
{
	struct tally_groups g;

	(void)state;
	loop(COUNT, 5, 7000, 100);
	assert_int_equal(groups(&g, true), 1);
	assert_true(fabs(g.group[0].advance - 7000 * life(99)) < 1);
	tallies_groups_free(&g);
	/* nobody says whether it is the register's only use */
	assert_true(only_group() == 0);
}

static void two_instructions_count_with_one_register(void **state)
{
	struct tally_groups g;

	(void)state;
	loop(OTHER, 5, 7000, 100);
	assert_int_equal(groups(&g, true), 1);
	assert_int_equal(g.group[0].n, 2);
	/* the register's life begins for each of them, which adds two mean gaps to the 101 */
	near(g.group[0].advance, 7000 * (life(99) + 2));
	tallies_groups_free(&g);
}

static void a_register_that_others_change_tells_nothing(void **state)
{
	struct tally_groups g;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		begin(w.time + MS, 1);
		count_register(COUNT, 3, i * 7000 + 1, 1);
		count_register(COUNT, 3, i * 7000 + 9, 1);
		done();
	}
	assert_int_equal(groups(&g, true), 0);
	tallies_groups_free(&g);
}

static void threads_have_registers_of_their_own(void **state)
{
	struct tally_groups g;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		begin(w.time + MS / 2, 1 + i % 2);
		for (unsigned k = 1; k <= 2; k++)
			count_register(COUNT, 3, (i % 2 ? 1000000000 : 0) + i / 2 * 7000 + k, 1);
		done();
	}
	assert_int_equal(groups(&g, true), 1);
	near(g.group[0].advance, 2 * 7000 * life(99));
	tallies_groups_free(&g);
}

/* A loop that is run again and again begins anew: each time a gap is lost, of a word that others may set more. */
static void a_loop_that_begins_anew_loses_a_gap(void **state)
{
	struct tally_groups g;

	(void)state;
	for (unsigned k = 0; k < 20; k++) {
		loop(COUNT, 5, 7000, 5);
		w.time += 500 * MS;
	}
	assert_int_equal(groups(&g, false), 0);
	tallies_groups_free(&g);
	assert_int_equal(groups(&g, true), 1);
	/* 19 of 99 gaps are lost, and taken to be like the 80 others */
	near(g.group[0].advance, 7000 * life(99));
	near(g.group[0].gaps, 80);
	assert_true(g.group[0].resets == 0); /* of the gaps that are used */
	tallies_groups_free(&g);
}

/* A loop of 1000 executions, of which 700 pass in a gap, so that seven gaps in ten end in a reset. */
static void a_loop_that_begins_anew_in_most_gaps_counts(void **state)
{
	struct tally_groups g;
	unsigned at = 0;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		loop(COUNT, 5 + at, 0, 1);
		at = (at + 700) % 1000;
	}
	assert_int_equal(groups(&g, false), 0);
	tallies_groups_free(&g);
	assert_int_equal(groups(&g, true), 1);
	/* the loop is at 0, 700, 400, 100, 800, ...: 139 of the 199 gaps end in a reset */
	near(g.group[0].gaps, 199);
	near(g.group[0].resets, 139 / 199.);
	near(g.group[0].advance, 700 * life(199));
	tallies_groups_free(&g);
}

/* A window of a procedure whose counter lies where others have theirs, or something else. */
static void uses_place(uint64_t *time, uint64_t addr, bool counts, uint64_t value)
{
	begin(*time += MS, 1);
	for (unsigned i = 0; i < 3; i++)
		if (counts)
			count(addr, WORD, 8, value + i, 1);
		else
			with(add(addr, INSN_STORE, WORD, 8), OPERAND_STORE, value << i);
	done();
}

/* Loops that run one after the other, in three rounds, have their counters in the same place of the
 * stack, which holds something large in between. */
static void a_place_of_the_stack_serves_one_after_the_other(void **state)
{
	struct tally_groups g;
	uint64_t time = 0;

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 100; i++)
			uses_place(&time, COUNT, true, (uint64_t)i * 5000);
		for (unsigned i = 0; i < 100; i++)
			uses_place(&time, READ, false, 1ull << 40);
		for (unsigned i = 0; i < 100; i++)
			uses_place(&time, OTHER, true, (uint64_t)i * 70);
	}
	assert_int_equal(groups_apart(&g, true, true), 2);
	assert_true(fabs(g.group[0].advance / (300.0 * 5000) - 1) < 0.005);
	assert_true(fabs(g.group[1].advance / (300.0 * 70) - 1) < 0.02);
	tallies_groups_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(counts_up_and_down),
		TEST(variables_in_one_place_are_told_apart_by_rate),
		TEST(wraps),
		TEST(by_load_add_store),
		TEST(copies_are_none),
		TEST(other_steps_are_none),
		TEST(loads_are_seen),
		TEST(loads_of_other_code_are_not),
		TEST(set_back),
		TEST(steady),
		TEST(two_of_one_word),
		TEST(many_groups),
		TEST(up_and_down_is_none),
		TEST(strangers_spoil_it),
		TEST(processes),
		TEST(adds_up_and_is_kept),
		TEST(the_longest_way_is_kept),
		TEST(a_register_tells_too),
		TEST(two_instructions_count_with_one_register),
		TEST(a_register_that_others_change_tells_nothing),
		TEST(threads_have_registers_of_their_own),
		TEST(a_loop_that_begins_anew_loses_a_gap),
		TEST(a_loop_that_begins_anew_in_most_gaps_counts),
		TEST(a_place_of_the_stack_serves_one_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
