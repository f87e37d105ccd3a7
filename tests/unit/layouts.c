/* SPDX-License-Identifier: MIT */
/* The effective number of layouts that images were executed in. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "observe/layouts.h"

static uint32_t image_of(struct profile *p, const char *path)
{
	struct profile_image *pi = profile_image(p, IMAGE_FILE, path, "");

	assert_non_null(pi);
	return pi->id;
}

static void note(struct profile *p, uint32_t image, uint64_t stack, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(layouts_note(p, image, stack), 0);
}

static bool are(const struct profile *p, uint32_t image, double wanted)
{
	return fabs(layouts_of(p->image[image]) - wanted) < 1e-9;
}

static void samples_weigh_layouts(void **state)
{
	struct profile p;
	struct err err;
	uint32_t a, b;

	(void)state;
	assert_int_equal(profile_init(&p, &err), 0);
	a = image_of(&p, "/a");
	b = image_of(&p, "/b");
	assert_true(are(&p, a, 1)); /* nothing is known */
	note(&p, a, 0x1000, 3);
	assert_true(are(&p, a, 1));
	note(&p, a, 0x2000, 1);
	assert_true(are(&p, a, 16.0 / 10)); /* (3 + 1)^2 / (9 + 1) */
	note(&p, a, 0x2000, 2);
	assert_true(are(&p, a, 2));
	assert_true(are(&p, b, 1));
	for (uint64_t i = 0; i < 10; i++)
		note(&p, b, i, 7);
	assert_true(are(&p, b, 10));
	assert_true(are(&p, a, 2));
	profile_fini(&p);
}

/* Layouts of two runs are different ones. */
static void merging_adds(void **state)
{
	struct profile p, q;
	struct err err;

	(void)state;
	assert_int_equal(profile_init(&p, &err) | profile_init(&q, &err), 0);
	note(&p, image_of(&p, "/a"), 0x1000, 5);
	image_of(&q, "/other");
	note(&q, image_of(&q, "/a"), 0x1000, 5);
	assert_int_equal(profile_merge(&p, &q, &err), 0);
	assert_true(are(&p, image_of(&p, "/a"), 2));
	profile_fini(&p);
	profile_fini(&q);
}

/* Of more layouts than are remembered each was counted once. */
static void forgotten_layouts_stay_counted(void **state)
{
	struct profile p;
	struct err err;
	uint32_t a;

	(void)state;
	assert_int_equal(profile_init(&p, &err), 0);
	a = image_of(&p, "/a");
	for (uint64_t i = 0; i < 40000; i++)
		note(&p, a, i, 1);
	assert_true(are(&p, a, 40000));
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_weigh_layouts),
		cmocka_unit_test(merging_adds),
		cmocka_unit_test(forgotten_layouts_stay_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
