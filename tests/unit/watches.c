/* SPDX-License-Identifier: MIT */
/* Watched lines: which words are watched, which hits count, and the reuse times that follow at the end. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sampler/watches.c" // NOLINT: its watches are set by hand

#define PID 7
#define TID 8
#define LINE 0x7000000040ull

static struct profile profile;

static int begin(void **state)
{
	struct err err;

	(void)state;
	return profile_init(&profile, &err);
}

static int end(void **state)
{
	(void)state;
	profile_fini(&profile);
	return 0;
}

static uint64_t sum(const uint64_t *v)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < DISTANCE_BUCKETS; i++)
		all += v[i];
	return all;
}

/* A watch on the first four words of the line, whose clock cannot be read. */
static struct watch *add(struct watches *w)
{
	struct watch *t = room_for(w, 0);

	assert_non_null(t);
	*t = (struct watch){ .pid = PID, .tid = TID, .found = 1 };
	memset(t->fd, -1, sizeof(t->fd));
	t->fd[0] = open("/dev/null", O_RDONLY);
	for (unsigned k = 0; k < REUSES_WATCHED; k++)
		t->addr[k] = LINE + k * WORD;
	w->open++;
	return t;
}

static void hit(struct watch *t, uint64_t time, unsigned word)
{
	t->hit[t->nhit++] = (struct hit){ time, 1u << word };
}

static struct reuses *settled(struct watches *w)
{
	assert_int_equal(watches_settle(w), 0);
	assert_int_equal(w->open, 0);
	watches_free(w);
	return reuses_get(&profile, 0, PID);
}

/* Nothing is known of what came after the last hit: no time is made up for it. */
static void the_end_is_unknown(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct reuses *u;

	(void)state;
	hit(add(w), 1000000, 0);
	u = settled(w);
	assert_int_equal(u->watched, 1);
	assert_int_equal(u->watches, 0);
	assert_int_equal(sum(u->far_left) + sum(u->far_ended), 0);
}

/* The time between two hits, without that of the exception itself, for which a constant stands. */
static void a_far_time_ends_at_the_next_hit(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct watch *t = add(w);
	struct reuses *u;

	(void)state;
	hit(t, 1000000, 0);
	hit(t, 9000000, 0);
	u = settled(w);
	assert_int_equal(u->watches, REUSES_UNIT);
	assert_int_equal(u->watches_square, REUSES_UNIT);
	assert_int_equal(u->soon, 0);
	assert_int_equal(u->same, REUSES_UNIT);
	assert_int_equal(u->other, 0);
	assert_int_equal(sum(u->far_left), 0);
	assert_int_equal(sum(u->far_ended), REUSES_UNIT);
	assert_int_equal(u->far_ended[distance_bucket(8000000 - 10000)], REUSES_UNIT);
}

/* Hits that follow one another at once are one visit; the far time begins with the last of them. */
static void a_visit_has_several_hits(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct watch *t = add(w);
	struct reuses *u;

	(void)state;
	hit(t, 1000000, 0);
	hit(t, 1008000, 1);
	hit(t, 1016000, 0);
	hit(t, 5016000, 2);
	u = settled(w);
	assert_int_equal(u->soon, REUSES_UNIT);
	/* such hits take 8,000 ns: that is the time of an exception */
	assert_int_equal(u->far_ended[distance_bucket(4000000 - 8000)], REUSES_UNIT);
	assert_int_equal(sum(u->far_ended), REUSES_UNIT);
	/* word 2 was not among those before */
	assert_int_equal(u->same, 0);
	assert_int_equal(u->other, REUSES_UNIT);
}

/* Two words of the next visit: as if it had one of those before. */
static void several_words_count_as_the_same(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct watch *t = add(w);
	struct reuses *u;

	(void)state;
	hit(t, 1000000, 0);
	hit(t, 5000000, 1);
	hit(t, 5008000, 2);
	u = settled(w);
	assert_int_equal(u->same, REUSES_UNIT);
	assert_int_equal(u->other, 0);
	assert_int_equal(u->soon, 0);
}

/* No second visit: the time until the watch was over is one that was left open. */
static void a_line_that_is_left(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct watch *t = add(w), *never;
	struct reuses *u;

	(void)state;
	hit(t, 1000000, 0);
	t->end = 3000000;
	never = add(w);
	never->end = 700000;
	u = settled(w);
	assert_int_equal(u->watched, 2);
	assert_int_equal(u->watches, REUSES_UNIT);
	assert_int_equal(u->unhit, REUSES_UNIT);
	assert_int_equal(sum(u->far_ended), 0);
	assert_int_equal(sum(u->far_left), 2 * REUSES_UNIT);
	assert_int_equal(u->far_left[distance_bucket(2000000 - 10000)], REUSES_UNIT);
	assert_int_equal(u->far_left[distance_bucket(700000)], REUSES_UNIT);
}

/* A touch that was drawn from three stands for three; the region of its window has it, too. */
static void a_watch_stands_for_the_touches_it_was_drawn_from(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct watch *t = add(w);
	struct site_id start = { .image = 0, .addr = 0x1234 };
	struct reuses *u = reuses_get(&profile, 0, PID), *other, *region;

	(void)state;
	region = reuses_region_add(u, reuses_place(start));
	start.addr += REUSES_REGION_BYTES;
	other = reuses_region_add(u, reuses_place(start));
	assert_non_null(region);
	assert_non_null(other);
	t->start.addr = 0x1234;
	t->found = 3;
	t->before = true;
	hit(t, 1000000, 3);
	hit(t, 9000000, 3);
	u = settled(w);
	assert_int_equal(u->watched, 1);
	assert_int_equal(u->watches, 3 * REUSES_UNIT);
	assert_int_equal(u->watches_square, 9 * REUSES_UNIT);
	assert_int_equal(u->before, 3 * REUSES_UNIT);
	assert_int_equal(sum(u->far_ended), 3 * REUSES_UNIT);
	assert_int_equal(region->watches, 3 * REUSES_UNIT);
	assert_int_equal(sum(region->far_ended), 3 * REUSES_UNIT);
	assert_int_equal(other->watched, 0);
}

/* A hit counts if it is of this thread, of a watched word, and the word's next one. */
static void hits_of_others_do_not_count(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct watch *t = add(w);

	(void)state;
	watches_hit(w, TID, LINE + WORD, 1, 100);
	assert_int_equal(t->nhit, 1);
	assert_int_equal(t->hit[0].time, 100);
	assert_int_equal(t->hit[0].word, 2);
	watches_hit(w, TID + 1, LINE + WORD, 2, 200);
	watches_hit(w, TID, LINE + REUSES_WATCHED * WORD, 1, 300);
	watches_hit(w, TID, LINE + WORD, 1, 400); /* of a watch that was there before */
	watches_hit(w, TID, LINE + WORD, 3, 500);
	assert_int_equal(t->nhit, 1);
	watches_hit(w, TID, LINE, 1, 600);
	assert_int_equal(t->nhit, 2);
	assert_int_equal(t->hit[1].word, 1);
	assert_int_equal(w->hits, 6);
	watches_free(w);
}

/* After its last hit a word is no longer watched, so the watch ends there. */
static void a_word_has_a_number_of_hits(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct watch *t = add(w);

	(void)state;
	for (unsigned n = 1; n < WATCH_HITS; n++)
		watches_hit(w, TID, LINE, n, 1000000 * n);
	assert_int_equal(w->nover, 0);
	assert_true(t->fd[0] >= 0);
	assert_false(watches_wanted(w, TID));
	watches_hit(w, TID, LINE, WATCH_HITS, 1000000 * WATCH_HITS);
	assert_int_equal(w->nover, 1);
	assert_int_equal(w->over[0].end, 1000000 * WATCH_HITS);
	assert_int_equal(w->over[0].nhit, WATCH_HITS);
	assert_true(t->fd[0] < 0);
	assert_true(watches_wanted(w, TID));
	watches_free(w);
}

static void a_watch_without_hits_expires(void **state)
{
	struct watches *w = watches_new(&profile, -1);
	struct watch *t = add(w);
	struct run_counters n = { 0 };

	(void)state;
	t->moved = 5000;
	watches_expire(w, 5000 + WATCH_NS);
	assert_int_equal(w->nover, 0);
	watches_expire(w, 5001 + WATCH_NS);
	assert_int_equal(w->nover, 1);
	watches_count(w, &n);
	assert_int_equal(n.watch_unhit, 1);
	watches_free(w);
}

/* The word that was touched comes first; the others are different ones of its line. */
static void words_are_of_one_line(void **state)
{
	struct watches w = { .random = 1 };
	unsigned seen = 0;

	(void)state;
	for (unsigned n = 0; n < 1000; n++) {
		uint64_t touched = LINE + n % REUSES_LINE, word[REUSES_WATCHED];
		unsigned set = 0;

		choose_words(&w, touched, word);
		assert_int_equal(word[0], touched & ~(uint64_t)(WORD - 1));
		for (unsigned k = 0; k < REUSES_WATCHED; k++) {
			assert_int_equal(word[k] / REUSES_LINE, LINE / REUSES_LINE);
			assert_int_equal(word[k] % WORD, 0);
			set |= 1u << word[k] % REUSES_LINE / WORD;
		}
		assert_int_equal(__builtin_popcount(set), REUSES_WATCHED);
		seen |= touched % REUSES_LINE / WORD ? 0 : set;
	}
	assert_int_equal(seen, (1u << REUSES_WORDS) - 1); /* each is chosen at times */
}

/* A touch may be watched if its line is not touched again for long; what came before it tells whether it begins a visit. */
static void touches_that_are_followed_by_none(void **state)
{
	uint64_t at[2 * REUSES_LONG + 2],
		word[REUSES_WATCHED] = { LINE, LINE + 8, LINE + 16, LINE + 24 };
	const unsigned i = REUSES_LONG, n = 2 * REUSES_LONG + 2;

	(void)state;
	for (unsigned k = 0; k < n; k++)
		at[k] = 0x1000 * (k + 1);
	at[i] = LINE;
	assert_true(is_long(at, n, i));
	assert_false(touched_before(at, i, word));
	at[0] = LINE + 17; /* the earliest that counts, in the third word */
	assert_true(touched_before(at, i, word));
	at[0] = LINE + 32; /* a word that is not watched */
	assert_false(touched_before(at, i, word));
	at[i + REUSES_LONG + 1] = LINE;
	assert_true(is_long(at, n, i));
	at[i + REUSES_LONG] = LINE + 56;
	assert_false(is_long(at, n, i));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(the_end_is_unknown),
		TEST(a_far_time_ends_at_the_next_hit),
		TEST(a_visit_has_several_hits),
		TEST(several_words_count_as_the_same),
		TEST(a_line_that_is_left),
		TEST(a_watch_stands_for_the_touches_it_was_drawn_from),
		TEST(hits_of_others_do_not_count),
		TEST(a_word_has_a_number_of_hits),
		TEST(a_watch_without_hits_expires),
		TEST(words_are_of_one_line),
		TEST(touches_that_are_followed_by_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
