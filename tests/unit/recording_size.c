/* SPDX-License-Identifier: MIT */
/* How large recordings are: of code that was rarely seen, and of call stacks. */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "observe/calls.h"
#include "observe/conflicts.h"
#include "store/recording.h"

#define EMPTY 200000 /* bytes that an empty recording has at most: a page for each table */
#define COLD 10000   /* instructions */

static char dir[64], file[80];
static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int setup(void **unused)
{
	(void)unused;
	snprintf(dir, sizeof(dir), "/tmp/assay-size.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/x.db", dir);
	return 0;
}

static int teardown(void **unused)
{
	char command[128];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void make_profile(struct profile *p)
{
	struct err err;
	struct run *run;

	assert_int_equal(profile_init(p, &err), 0);
	assert_non_null(profile_image(p, IMAGE_FILE, "/bin/thing", "abc123"));
	run = profile_run(p);
	run->source = strdup("sampler");
	run->command = strdup("thing");
	run->sketch_capacity = HOT_CAPACITY_DEFAULT;
	run->finished = true;
}

static int64_t size_of_file(void)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

static int64_t ask(const char *sql)
{
	sqlite3_stmt *s;
	sqlite3 *db;
	int64_t n;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

/* Windows of straight code, which one window alone saw, or a few: on another stack each time. */
static void see_cold_code(struct profile *p)
{
	struct retired ri[20];

	for (int i = 0; i < COLD / 20 * 3; i++) {
		struct window w = { .pid = 1, .tid = 1, .weight = 200601, .n = 20, .ri = ri };
		uint64_t at = draw() % (COLD / 20) * 100,
			 stack = 0x7ff000000000 + draw() % (1ull << 32) * 16;

		w.start = (struct site_id){ .image = 1, .addr = 0x1000 + at };
		memset(ri, 0, sizeof(ri));
		for (unsigned k = 0; k < 20; k++) {
			ri[k].site = (struct site_id){ .image = 1, .addr = w.start.addr + 5 * k };
			ri[k].len = 5;
			ri[k].have = 1u << OPERAND_ADDRESS;
			ri[k].value[OPERAND_ADDRESS] = stack + 8 * k;
		}
		assert_int_equal(profile_window(p, &w), 0);
	}
}

/* Four bytes say of an instruction where it is, what was seen of it, and at which addresses. */
static void test_cold_sites(void **unused)
{
	struct profile p;
	struct err err;

	(void)unused;
	make_profile(&p);
	see_cold_code(&p);
	assert_true(p.sites.n > COLD * 9 / 10);
	assert_int_equal(recording_write(file, &p, &err), 0);
	assert_true(ask("SELECT sum(length(sites)) FROM site") < 4 * (int64_t)p.sites.n);
	assert_true(size_of_file() < EMPTY + 4 * (int64_t)p.sites.n);
	profile_fini(&p);
}

/* Pairs of neighbours: fewer bytes than the four numbers would have that say which sites they are. */
static void test_pairs(void **unused)
{
	struct conflict *c;
	struct profile p;
	struct err err;

	(void)unused;
	make_profile(&p);
	for (uint64_t i = 0; i < COLD; i++) {
		const struct site_id load = { .image = 1, .addr = 0x1000 + 7 * i },
				     store = { .image = 1,
					       .addr = load.addr - 7 * (1 + draw() % 50) };
		struct call *call = calls_get(&p, load, store);

		c = conflicts_get(&p, CONFLICT_FULL, store, load);
		assert_true(c && call);
		conflicts_add(c, 1, 9, 9, 9);
		assert_int_equal(calls_value(&p, call, OPERAND_ARG0, draw() % 3), 0);
	}
	assert_int_equal(recording_write(file, &p, &err), 0);
	assert_true(ask("SELECT sum(length(conflicts)) FROM conflict") < 2 * COLD);
	assert_true(ask("SELECT sum(length(calls)) FROM call") < 2 * COLD);
	profile_fini(&p);
}

/* One second of samples in 20 places, whose stacks share all but the last frame. */
static void sample(struct profile *p, uint64_t second)
{
	struct stacks *s = &p->stacks;
	uint32_t root = stacks_frame(s, 0, FRAME_ROOT, 0, 0), leaf;
	long thread = stacks_thread(s, 0, 1, 1, "x", "");

	assert_true(root && thread >= 0);
	leaf = stacks_frame(s, root, FRAME_CODE, 1, 0x2000 + second);
	for (uint64_t i = 0; i < 1000; i++) {
		uint32_t f =
			i % 50 ? stacks_frame(s, root, FRAME_CODE, 1, 0x1000 + draw() % 20) : leaf;

		assert_int_equal(stacks_add(s, f, (uint32_t)thread,
					    second * 1000000000 + i * 1000000, 1, 1003009),
				 0);
	}
}

/* Frames and samples that are written as they come are written together at the end, samples of one place and time as one. */
static void test_stacks(void **unused)
{
	struct recording *r;
	struct profile p, back;
	struct err err;

	(void)unused;
	make_profile(&p);
	r = recording_create(file, &err);
	assert_non_null(r);
	for (uint64_t second = 0; second < 30; second++) {
		sample(&p, second);
		assert_int_equal(recording_flush(r, &p, &err), 0);
	}
	assert_int_equal(recording_finish(r, &p, &err), 0);
	assert_int_equal(ask("SELECT count(*) FROM frame"), 1);
	assert_int_equal(ask("SELECT count(*) FROM stack"), 1);
	/* 750 buckets of 40 ms, each of up to 21 places, which have less than a byte each */
	assert_true(ask("SELECT sum(length(samples)) FROM stack") < 750 * 14);
	assert_int_equal(profile_init(&back, &err), 0);
	assert_int_equal(recording_read(file, &back, &err), 0);
	assert_int_equal(back.stacks.nframe, p.stacks.nframe);
	assert_memory_equal(back.stacks.frame, p.stacks.frame,
			    p.stacks.nframe * sizeof(*p.stacks.frame));
	assert_true(back.stacks.nsample <= 750 * 21);
	stacks_fold(&p.stacks);
	stacks_fold(&back.stacks);
	assert_int_equal(back.stacks.nsample, p.stacks.nsample);
	assert_memory_equal(back.stacks.sample, p.stacks.sample,
			    p.stacks.nsample * sizeof(*p.stacks.sample));
	profile_fini(&back);
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cold_sites, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stacks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
