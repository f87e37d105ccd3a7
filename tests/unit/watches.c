/* SPDX-License-Identifier: MIT */
/* What becomes of watched lines at their end. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sampler/watches.c" // NOLINT: its watches are set by hand

static uint64_t sum(const uint64_t *v, unsigned n)
{
	uint64_t all = 0;

	while (n--)
		all += v[n];
	return all;
}

/* A watch that was hit at these times and is over; when cannot be read. */
static struct reuses *settled(struct profile *p, const uint64_t *time, unsigned n)
{
	struct watches *w = watches_new(p, -1);
	struct watch *t = &w->watch[0];
	struct err err;

	assert_int_equal(profile_init(p, &err), 0);
	t->fd[0] = open("/dev/null", O_RDONLY);
	t->pid = 7;
	t->found = 1;
	for (unsigned i = 0; i < n; i++)
		t->hit[t->nhit++] = (struct hit){ time[i], 1 };
	w->open = 1;
	assert_int_equal(watches_settle(w), 0);
	watches_free(w);
	return reuses_get(p, 0, 7);
}

/* Nothing is known of what came after the last hit: that no time is made up. */
static void test_end_unknown(void **unused)
{
	const uint64_t time[2] = { 1000000, 9000000 };
	struct profile p;
	struct reuses *u = settled(&p, time, 1);

	(void)unused;
	assert_int_equal(u->watched, 1);
	assert_int_equal(u->watches, 0);
	assert_int_equal(sum(u->far_left, DISTANCE_BUCKETS) + sum(u->far_ended, DISTANCE_BUCKETS),
			 0);
	profile_fini(&p);
	u = settled(&p, time, 2);
	assert_int_equal(u->watches, REUSES_UNIT);
	assert_int_equal(u->watches_square, REUSES_UNIT);
	assert_int_equal(u->soon, 0);
	assert_int_equal(sum(u->far_left, DISTANCE_BUCKETS), 0);
	assert_int_equal(sum(u->far_ended, distance_bucket(9000000)), REUSES_UNIT);
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_end_unknown) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
