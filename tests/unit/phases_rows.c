/* SPDX-License-Identifier: MIT */
/* Phases in recordings: what is written is read, merging appends, and what is damaged is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/recording.h"
#include "support/recordings.h"

static char folder[64], file[96];

static int begin(void **unused)
{
	(void)unused;
	snprintf(folder, sizeof(folder), "/tmp/assay-phases-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof(file), "%s/phases.db", folder);
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	unlink(file);
	return rmdir(folder);
}

static void make(struct profile *p)
{
	struct err err;

	assert_int_equal(profile_init(p, &err), 0);
	recordings_phases(p);
}

static void write_it(const struct profile *p)
{
	struct err err;

	unlink(file);
	assert_int_equal(recording_write(file, p, &err), 0);
}

static void same(const struct profile *a, const struct phases *x, const struct profile *b,
		 const struct phases *y)
{
	assert_int_equal(x->pid, y->pid);
	assert_int_equal(x->wanted, y->wanted);
	assert_int_equal(x->max, y->max);
	assert_int_equal(x->nblock, y->nblock);
	for (size_t i = 0; i < x->nblock; i++) {
		assert_int_equal(x->block[i].addr, y->block[i].addr);
		assert_int_equal(x->block[i].n, y->block[i].n);
		assert_string_equal(a->image[x->block[i].image]->path,
				    b->image[y->block[i].image]->path);
	}
	assert_int_equal(x->ninterval, y->ninterval);
	for (size_t i = 0; i < x->ninterval; i++) {
		assert_int_equal(x->interval[i].start, y->interval[i].start);
		assert_int_equal(x->interval[i].end, y->interval[i].end);
		assert_int_equal(x->interval[i].size, y->interval[i].size);
		assert_memory_equal(x->interval[i].vector, y->interval[i].vector,
				    x->interval[i].size);
	}
}

static void written_and_read(void **state)
{
	struct profile p, q;
	struct err err;

	(void)state;
	make(&p);
	write_it(&p);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_int_equal(q.nphases, 1);
	same(&p, p.phases[0], &q, q.phases[0]);
	assert_int_equal(recording_read(file, &q, &err), 0); /* merged: another run */
	assert_int_equal(q.nphases, 2);
	assert_int_equal(q.phases[0]->run, 0);
	assert_int_equal(q.phases[1]->run, 1);
	same(&p, p.phases[0], &q, q.phases[1]);
	write_it(&q);
	profile_fini(&q);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_int_equal(q.nphases, 2);
	same(&p, p.phases[0], &q, q.phases[1]);
	profile_fini(&p);
	profile_fini(&q);
}

static void damaged(void **state)
{
	static const char *const change[] = {
		"UPDATE phases SET run = 1",
		"UPDATE phases SET run = -1",
		"UPDATE phases SET pid = -1",
		"UPDATE phases SET wanted = -1",
		"UPDATE phases SET max = 1 << 40",
		"UPDATE phases SET size = size + 1",
		"UPDATE phases SET size = 0",
		"UPDATE phases SET size = 1 << 50",
		"UPDATE phases SET blocks = NULL",
		"UPDATE phases SET blocks = substr(blocks, 1, length(blocks) - 1)",
		"UPDATE phases SET blocks = intervals, size = p.size FROM phases_part p",
		"UPDATE phases_part SET process = 7",
		"UPDATE phases_part SET run = 3",
		"UPDATE phases_part SET size = size - 1",
		"UPDATE phases_part SET intervals = x'00'",
		"UPDATE phases_part SET intervals = blocks, size = p.size FROM phases p",
		"DELETE FROM phases",
	};
	struct profile p;

	(void)state;
	make(&p);
	for (size_t i = 0; i < sizeof(change) / sizeof(*change); i++) {
		struct profile q;
		struct err err = { 0 };
		sqlite3 *db;

		write_it(&p);
		assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
		if (sqlite3_exec(db, change[i], NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s: %s", change[i], sqlite3_errmsg(db));
		sqlite3_close(db);
		assert_int_equal(profile_init(&q, &err), 0);
		if (!recording_read(file, &q, &err))
			fail_msg("%s: it is read", change[i]);
		assert_non_null(strstr(err.msg, "is damaged"));
		profile_fini(&q);
	}
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
