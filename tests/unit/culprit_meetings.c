/* SPDX-License-Identifier: MIT */
/* Conflicts by load: how many executions were judged, and which store was met most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "culprit/meetings.h"

static const struct site_id load = { .image = 1, .addr = 0x500 }, other = { .addr = 0x500 },
			    early = { .image = 1, .addr = 0x100 },
			    late = { .image = 1, .addr = 0x900 }, none = { 0 };

static void met(struct profile *p, enum conflict_kind kind, struct site_id store, struct site_id by,
		uint64_t n)
{
	struct conflict *c = conflicts_get(p, kind, store, by);

	assert_non_null(c);
	conflicts_add(c, n, n, 1, 1);
}

/* Of 100 executions of a load 40 met no store, 25 and 30 had all bytes of two stores, and 5 some of a third; 60 of them met an
 * alias besides. */
static void a_load_is_judged_once(void **state)
{
	struct err err = { 0 };
	const struct meeting *e;
	struct meetings m;
	struct profile p;

	(void)state;
	assert_int_equal(profile_init(&p, &err), 0);
	met(&p, CONFLICT_FULL, early, load, 25);
	met(&p, CONFLICT_NONE, none, load, 40);
	met(&p, CONFLICT_ALIAS, early, load, 60);
	met(&p, CONFLICT_FULL, late, load, 30);
	met(&p, CONFLICT_FULL, late, other, 1000); /* the same address in another image */
	met(&p, CONFLICT_PARTIAL, early, load, 5);
	met(&p, CONFLICT_ALIAS, early, late, 7); /* nothing else is known of it */
	assert_int_equal(meetings_make(&m, &p), 0);
	e = meetings_at(&m, load);
	assert_non_null(e);
	assert_int_equal(e->judged, 100);
	assert_int_equal(e->count[CONFLICT_NONE], 40);
	assert_int_equal(e->count[CONFLICT_FULL], 55);
	assert_int_equal(e->count[CONFLICT_PARTIAL], 5);
	assert_int_equal(e->count[CONFLICT_ALIAS], 60);
	assert_int_equal(e->most[CONFLICT_FULL], 30);
	assert_int_equal(e->store[CONFLICT_FULL].addr, late.addr);
	assert_int_equal(e->store[CONFLICT_PARTIAL].addr, early.addr);
	assert_int_equal(e->store[CONFLICT_ALIAS].addr, early.addr);
	e = meetings_at(&m, other);
	assert_non_null(e);
	assert_int_equal(e->judged, 1000);
	assert_null(meetings_at(&m, late)); /* never judged */
	assert_null(meetings_at(&m, early));
	meetings_fini(&m);
	assert_null(meetings_at(&m, load));
	profile_fini(&p);
}

static void without_conflicts_nothing_is_met(void **state)
{
	struct err err = { 0 };
	struct meetings m;
	struct profile p;

	(void)state;
	assert_int_equal(profile_init(&p, &err), 0);
	assert_int_equal(meetings_make(&m, &p), 0);
	assert_null(meetings_at(&m, load));
	meetings_fini(&m);
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load_is_judged_once),
		cmocka_unit_test(without_conflicts_nothing_is_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
