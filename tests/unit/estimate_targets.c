/* SPDX-License-Identifier: MIT */
/* Where indirect transfers went: edges' places, hot lists' weights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "estimate/targets.h"
#include "observe/edges.h"

#define MAPPED 0x7f0000400000u /* where the image was */
#define FROM ((struct site_id){ .image = 1, .addr = 0x1000 })

static struct profile p;
static struct targets t;

static int setup(void **state)
{
	struct err err = { 0 };

	(void)state;
	return profile_init(&p, &err) || !profile_image(&p, IMAGE_FILE, "/bin/x", "01") ||
	       !profile_site(&p, FROM);
}

static int teardown(void **state)
{
	(void)state;
	targets_fini(&t);
	profile_fini(&p);
	return 0;
}

static struct site *site(void)
{
	return profile_site_find(&p, FROM);
}

static void went(uint64_t to, uint64_t n, double weight)
{
	struct hot *h = weight > 0 ? profile_operand(&p, site(), OPERAND_TARGET) : NULL;

	assert_int_equal(
		edges_add(&p, EDGE_WENT, FROM, (struct site_id){ .image = 1, .addr = to }, n), 0);
	for (uint64_t i = 0; h && i < n; i++)
		assert_int_equal(hot_add_weighted(h, MAPPED + to, weight), 0);
}

static void read_targets(void)
{
	struct err err = { 0 };

	assert_int_equal(targets_init(&t, &p, &err), 0);
	assert_int_equal(targets_of(&t, site(), &err), 0);
}

static double share(uint64_t to)
{
	return targets_share(&t, 1, to, to + 1);
}

static void test_shares_are_weighed(void **state)
{
	(void)state;
	went(0x2040, 30, 0.5);
	went(0x3080, 10, 1.5);
	read_targets();
	assert_int_equal(t.n, 2);
	assert_true(fabs(share(0x2040) - 0.5) < 1e-9);
	assert_true(fabs(share(0x3080) - 0.5) < 1e-9);
	assert_true(fabs(targets_share(&t, 1, 0x2000, 0x4000) - 1) < 1e-9);
	assert_true(targets_share(&t, 2, 0x2000, 0x4000) == 0);
}

/* The list tells them apart by the lower bits alone: these share what both weigh. */
static void test_same_place_in_a_page(void **state)
{
	(void)state;
	went(0x2040, 30, 0.5);
	went(0x3040, 10, 1.5);
	read_targets();
	assert_true(fabs(share(0x2040) - 0.75) < 1e-9);
}

static void test_without_a_list(void **state)
{
	(void)state;
	went(0x2040, 30, 0);
	went(0x3080, 10, 0);
	read_targets();
	assert_true(fabs(share(0x2040) - 0.75) < 1e-9);
}

/* Of others' edges, and of what interrupted it, nothing is taken. */
static void test_never_seen(void **state)
{
	struct site_id other = { .image = 1, .addr = 0x1004 };

	(void)state;
	assert_int_equal(edges_add(&p, EDGE_WENT, other, FROM, 5), 0);
	assert_int_equal(edges_add(&p, EDGE_CAME, FROM, other, 5), 0);
	read_targets();
	assert_int_equal(t.n, 0);
	assert_true(share(0x1004) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shares_are_weighed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_place_in_a_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_a_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_never_seen, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
