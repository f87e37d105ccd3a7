/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a recording, through every reading. Seeds are made when it starts: a recording that was
 * finished, one whose recorder was killed, one merged of counting samples, an exact one whose recorder was
 * killed, one of working sets, one of phases, and one of reuse times; of small pages, or there would be little else than
 * their unused space.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/reuses.h"
#include "report/annotate.h"
#include "report/info.h"
#include "report/phases.h"
#include "report/reuse.h"
#include "report/targets.h"
#include "report/times.h"
#include "report/value_callers.h"
#include "report/values.h"
#include "report/wset.h"
#include "observe/callers.h"
#include "store/recording.h"
#include "support/recordings.h"

#define PAGE 512

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], file[96];

static void remove_file(void)
{
	static const char *const sides[] = { "", ".old", "-journal", "-wal", "-shm" };
	char path[128];

	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		snprintf(path, sizeof(path), "%s%s", file, sides[i]);
		unlink(path);
	}
}

static void remove_all(void)
{
	static const char *const seeds[] = { "finished", "killed", "merged", "snapshot",
					     "wset",	 "phases", "reuses", "stacks" };
	char path[128];

	remove_file();
	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		snprintf(path, sizeof(path), "%s/seeds/%s", folder, seeds[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/seeds", folder);
	rmdir(path);
	rmdir(folder);
}

static void must(int rc)
{
	if (rc)
		abort();
}

/* From `file`, with small pages. */
static void keep_seed(const char *name)
{
	char to[128], sql[64];
	sqlite3 *db;

	must(sqlite3_open(file, &db) != SQLITE_OK);
	snprintf(sql, sizeof(sql), "PRAGMA page_size=%d; VACUUM", PAGE);
	must(sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK);
	sqlite3_close(db);
	snprintf(to, sizeof(to), "%s/seeds/%s", folder, name);
	must(rename(file, to));
}

static void seed_finished(void)
{
	struct profile p;
	struct err err;

	must(profile_init(&p, &err));
	recordings_squeeze(&p);
	must(recording_write(file, &p, &err));
	profile_fini(&p);
	keep_seed("finished");
}

/* Call stacks, and a value by caller. */
static void seed_stacks(void)
{
	struct caller_key key = { .site = { .image = 1, .addr = 0x3a10 },
				  .caller = { .image = 1, .addr = 0x3010 } };
	struct caller *c;
	struct hot **h;
	struct profile p;
	uint32_t frame;
	struct err err;
	long thread;

	must(profile_init(&p, &err));
	recordings_squeeze(&p);
	thread = stacks_thread(&p.stacks, 0, 7, 8, "squeeze", "/a");
	for (unsigned i = 0; i < 9; i++) {
		frame = stacks_frame(&p.stacks, 0, i < 8 ? FRAME_ROOT : FRAME_DEPTH, 0, 0);
		frame = stacks_frame(&p.stacks, frame, FRAME_CALL, 1, 0x3010);
		frame = stacks_frame(&p.stacks, frame, FRAME_CODE, 1, 0x3a10 + i);
		must(!frame || thread < 0 ||
		     stacks_add(&p.stacks, frame, (uint32_t)thread, i * 30000000ull, 1, 1e6));
	}
	c = callers_get(&p, &key);
	must(!c);
	c->observed = c->windows = 5;
	h = caller_operand(c, OPERAND_ARG0);
	must(!h);
	*h = hot_new(HOT_SPACE_SAVING, CALLERS_CAPACITY);
	must(!*h || hot_add(*h, 3, 5));
	must(recording_write(file, &p, &err));
	profile_fini(&p);
	keep_seed("stacks");
}

static void seed_killed(void)
{
	struct retired ri[4] = { 0 };
	struct window w = { .pid = 7, .tid = 8, .weight = 1e6, .n = 4, .ri = ri };
	struct recording *r;
	struct profile p;
	struct err err;

	must(profile_init(&p, &err));
	recordings_empty(&p);
	w.start.image = profile_image(&p, IMAGE_ANON, "[anon]", "")->id;
	r = recording_create(file, &err);
	must(!r);
	for (unsigned i = 0; i < 20; i++) {
		for (unsigned k = 0; k < w.n; k++) {
			ri[k].site = (struct site_id){ .image = w.start.image, .addr = 64 + 4 * k };
			ri[k].len = 4;
			ri[k].have = 1;
			ri[k].value[0] = i % 3;
		}
		w.start.addr = 64;
		must(recording_window(r, &w, &err));
	}
	must(recording_flush(r, &p, &err));
	recording_abandon(r);
	profile_fini(&p);
	keep_seed("killed");
}

static void fill_counting(struct profile *p)
{
	struct retired ri = { .len = 4, .have = 1 };
	struct window w = { .weight = 1, .n = 1, .ri = &ri };
	struct err err;

	must(profile_init(p, &err));
	p->method = HOT_COUNTING;
	p->capacity = 2;
	recordings_empty(p);
	p->run[0].sketch = HOT_COUNTING;
	for (unsigned i = 0; i < 100; i++) {
		ri.value[0] = i % 7;
		must(profile_window(p, &w));
	}
}

static void seed_merged(void)
{
	struct profile a, b;
	struct err err;

	fill_counting(&a);
	fill_counting(&b);
	must(profile_merge(&a, &b, &err));
	must(recording_write(file, &a, &err));
	profile_fini(&a);
	profile_fini(&b);
	keep_seed("merged");
}

static void seed_snapshot(void)
{
	struct recording *r;
	struct profile p;
	struct err err;

	must(profile_init(&p, &err));
	recordings_squeeze(&p);
	free(p.run[0].source);
	p.run[0].source = strdup("exact");
	must(!p.run[0].source);
	r = recording_create(file, &err);
	must(!r);
	must(recording_checkpoint(r, &p, &err));
	recording_abandon(r);
	profile_fini(&p);
	keep_seed("snapshot");
}

static void seed_wset(void)
{
	struct profile p;
	struct err err;

	must(profile_init(&p, &err));
	recordings_wset(&p);
	must(recording_write(file, &p, &err));
	profile_fini(&p);
	keep_seed("wset");
}

static void seed_phases(void)
{
	struct profile p;
	struct err err;

	must(profile_init(&p, &err));
	recordings_phases(&p);
	must(recording_write(file, &p, &err));
	profile_fini(&p);
	keep_seed("phases");
}

/* Reuse times of a process: of windows that begin in two regions, and of lines that were watched. */
static void seed_reuses(void)
{
	struct retired ri[8] = { 0 };
	struct window w = { .pid = 7, .tid = 8, .weight = 1e6, .n = 8, .ri = ri };
	struct reuses *u;
	struct profile p;
	struct err err;

	must(profile_init(&p, &err));
	recordings_empty(&p);
	p.run[0].rate = 997;
	w.start.image = profile_image(&p, IMAGE_ANON, "[anon]", "")->id;
	for (unsigned i = 0; i < 8; i++)
		ri[i] = (struct retired){ .site = { .image = w.start.image, .addr = 64 + 4 * i },
					  .len = 4,
					  .access = 8,
					  .have = 1u << OPERAND_ADDRESS };
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned k = 0; k < 8; k++)
			ri[k].value[OPERAND_ADDRESS] = 64 * (i % 5 * k);
		w.start.addr = 64 + i % 8 * 4;
		must(profile_window(&p, &w) || reuses_window(&p, &w, 1));
		p.run[0].n.windows++;
		p.run[0].n.user++;
	}
	u = reuses_find(&p, 0, 7);
	must(!u);
	for (; u; u = u->regions) { /* the process, and its first region */
		u->watched = 3;
		u->watches = u->same = 3 * REUSES_UNIT;
		u->far_ended[distance_bucket(1000000)] = 2 * REUSES_UNIT;
		u->far_left[distance_bucket(9000000)] = REUSES_UNIT;
	}
	must(recording_write(file, &p, &err));
	profile_fini(&p);
	keep_seed("reuses");
}

/* Adds the folder of seeds, and a length at which they fit, to libFuzzer's arguments. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char seeds[96], length[] = "-max_len=65536";
	char **all = calloc((size_t)*argc + 3, sizeof(*all));

	unsetenv("XDG_CACHE_HOME"); /* nothing is kept of one input for another */
	unsetenv("HOME");
	snprintf(folder, sizeof(folder), "/dev/shm/assay-fuzz-XXXXXX");
	must(!all || !mkdtemp(folder));
	atexit(remove_all);
	snprintf(file, sizeof(file), "%s/assay.db", folder);
	snprintf(seeds, sizeof(seeds), "%s/seeds", folder);
	must(mkdir(seeds, 0700));
	seed_finished();
	seed_snapshot();
	seed_stacks();
	seed_killed();
	seed_merged();
	seed_wset();
	seed_phases();
	seed_reuses();
	must(!freopen("/dev/null", "w", stdout));
	memcpy(all, *argv, (size_t)*argc * sizeof(*all));
	all[(*argc)++] = length;
	all[(*argc)++] = seeds;
	*argv = all;
	return 0;
}

static void read_all(struct reading *r)
{
	const struct times_options lines = { .by = "line" }, times = { .n = 0 };
	const struct annotate_options annotate = { .full = true, .all = true };
	const struct wset_options wset = { .height = 10 }, map = { .height = 9, .map = true };
	const struct reuse_options reuse = { .n = 3 };
	const struct values_options values = { .operand = "all", .all = true }, few = { .n = 3 };
	const struct phases_options phases = { .n = 3 };
	const struct targets_options targets = { .warmup = -1, .most = 5, .least = 0.5 };
	const struct targets_options spaced = { .systematic = true, .samples = 3, .most = 2 };
	struct err err = { 0 };

	times_print(r, &times, &err);
	times_print(r, &lines, &err);
	annotate_print(r, &annotate, &err);
	values_print(r, &values, &err);
	values_print(r, &few, &err);
	value_callers_print(r, &values, &err);
	info_print(r, &err);
	reuse_print(r, &reuse, &err);
	wset_print(r, &wset, &err);
	wset_print(r, &map, &err);
	phases_print(r, &phases, &err);
	targets_print(r, &targets, &err);
	targets_print(r, &spaced, &err);
}

/* Of whole pages: what is cut short is refused at once, and shrinking or growing it is what libFuzzer
 * does most. */
static void write_file(const uint8_t *data, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd < 0 || write(fd, data, size) != (ssize_t)size ||
	     ftruncate(fd, (off_t)((size + PAGE - 1) / PAGE * PAGE)));
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading_options o = { .verb = "fuzz", .input = file, .empty_too = true };
	struct err err = { 0 };
	struct reading r;

	remove_file();
	write_file(data, size);
	if (reading_open(&r, &o, &err)) {
		if (!err.code || !err.msg[0])
			abort();
		return 0;
	}
	read_all(&r);
	emit_close(&r.emit, &err);
	emit_open(&r.emit, "fuzz", true, true, true);
	read_all(&r);
	reading_close(&r, &err);
	o.caller = "*";
	if (!reading_open(&r, &o, &err)) {
		read_all(&r);
		reading_close(&r, &err);
	}
	return 0;
}
