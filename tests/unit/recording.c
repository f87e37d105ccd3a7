/* SPDX-License-Identifier: MIT */
/* Recordings: written, read, merged, killed, damaged. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "x86/insn.h"
#include "observe/calls.h"
#include "observe/conflicts.h"
#include "observe/edges.h"
#include "observe/locality.h"
#include "runahead/state.h"
#include "store/recording.h"

static char dir[64], file[96];
static uint64_t state = 7;

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
	snprintf(dir, sizeof(dir), "/tmp/assay-recording.XXXXXX");
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

static unsigned values = 40; /* of an operand: more than a list holds */

static void make_window(struct window *w, struct retired *ri, uint32_t image)
{
	*w = (struct window){ .pid = 1,
			      .tid = 2,
			      .time = draw() >> 20,
			      .weight = 1003009,
			      .n = (uint32_t)(draw() % 32),
			      .ri = ri };
	w->start = (struct site_id){ .image = image, .addr = 0x1000 + draw() % 500 };
	for (uint32_t i = 0; i < w->n; i++) {
		memset(&ri[i], 0, sizeof(ri[i]));
		ri[i].site = (struct site_id){ .image = image, .addr = w->start.addr + i * 3 };
		ri[i].cls = (uint8_t)(draw() % INSN_CLASS_N);
		ri[i].access = (uint8_t)(draw() % 9);
		ri[i].len = 3;
		ri[i].taken = draw() & 1;
		ri[i].have = (uint16_t)(draw() & ((1u << OPERAND_N) - 1));
		for (int k = 0; k < OPERAND_N; k++)
			ri[i].value[k] = draw() % values;
		if (ri[i].have >> OPERAND_RESULT & 1 && draw() % 3 == 0) {
			ri[i].counts = draw() & 1 ? 8 : 4;
			ri[i].reg = (uint8_t)(draw() % 16);
			ri[i].step = draw() & 1 ? 1 : -16;
		}
	}
}

static void make_profile(struct profile *p, struct err *err, struct recording *r, int windows)
{
	struct profile_image *pi;
	struct retired ri[32];
	struct window w;
	struct run *run;

	assert_int_equal(profile_init(p, err), 0);
	pi = profile_image(p, IMAGE_FILE, "/bin/thing", "abc123");
	assert_non_null(pi);
	pi->proc = calloc(1, sizeof(*pi->proc));
	pi->proc[0] = (struct profile_proc){ 0x1000, 0x2000, strdup("main") };
	pi->nproc = 1;
	pi->layout_samples = 7;
	pi->layout_squares = 29;
	run = profile_run(p);
	run->source = strdup("sampler");
	run->command = strdup("thing");
	run->rate = 997;
	run->burst = 32;
	run->distance = p->conflict_distance = 12;
	run->clock = 3100000000;
	run->sketch_capacity = HOT_CAPACITY_DEFAULT;
	run->finished = true;
	run->n.samples = (uint64_t)windows;
	run->n.stop[RA_STOP_PAGE] = 3;
	for (int i = 0; i < windows; i++) {
		make_window(&w, ri, pi->id);
		assert_int_equal(profile_window(p, &w), 0);
		if (r)
			assert_int_equal(recording_window(r, &w, err), 0);
	}
}

/* A recorded weight is less than the true one by a millionth at most. */
static void assert_rounded(double true_one, double recorded)
{
	assert_true(recorded <= true_one && recorded >= true_one * (1 - 2e-6));
}

/* Weights of lists are rounded, too. */
static void assert_same_weights(const struct profile *a, const struct profile *b)
{
	unsigned even = 0;
	struct site *s;

	SITES_EACH(&a->sites, s)
	{
		const struct site *t = profile_site_find(b, s->id);
		struct site_weights v = site_weights(s), w = site_weights(t);

		assert_rounded(v.observed, w.observed);
		assert_rounded(v.taken, w.taken);
		assert_rounded(v.square, w.square);
		even += v.observed == (double)s->observed;
		for (int i = 0; i < OPERAND_N; i++)
			if (site_hot(s, i))
				assert_in_range(1024 * (1 + hot_weight(site_hot(s, i)) -
							hot_weight(site_hot(t, i))),
						1023, 1025);
	}
	assert_true(even < a->sites.n / 2);
}

/* A recorded list has no noise (HOT_HOT). */
static void assert_same_list(const struct hot *a, const struct hot *b)
{
	struct hot_value v[HOT_CAPACITY_DEFAULT], w[HOT_CAPACITY_DEFAULT];
	unsigned n, kept;

	assert_int_equal(!a, !b);
	if (!a)
		return;
	n = hot_top(a, v, HOT_CAPACITY_DEFAULT);
	assert_int_equal(hot_total(a), hot_total(b));
	kept = hot_top(b, w, HOT_CAPACITY_DEFAULT);
	assert_in_range(kept, n ? 1 : 0, n);
	for (unsigned i = 0; i < kept; i++)
		assert_true(v[i].value == w[i].value && v[i].count == w[i].count);
	for (unsigned i = kept; i < n; i++)
		assert_true(v[i].low <= hot_rest_bound(a) / 4);
}

/* Edges, calls, conflicts. */
static void assert_same_pairs(const struct profile *a, const struct profile *b)
{
	struct conflict *c, *c_next, *d;
	struct edge *e, *e_next, *f;
	struct call *s, *s_next, *t;

	assert_int_equal(HASH_COUNT(a->edges), HASH_COUNT(b->edges));
	HASH_ITER (hh, a->edges, e, e_next) {
		HASH_FIND(hh, b->edges, &e->key, sizeof(e->key), f);
		assert_non_null(f);
		assert_int_equal(e->count, f->count);
	}
	assert_int_equal(HASH_COUNT(a->calls), HASH_COUNT(b->calls));
	HASH_ITER (hh, a->calls, s, s_next) {
		HASH_FIND(hh, b->calls, &s->key, sizeof(s->key), t);
		assert_non_null(t);
		for (int i = 0; i < CALL_VALUES; i++)
			assert_same_list(s->value[i], t->value[i]);
	}
	assert_int_equal(HASH_COUNT(a->conflicts), HASH_COUNT(b->conflicts));
	HASH_ITER (hh, a->conflicts, c, c_next) {
		HASH_FIND(hh, b->conflicts, &c->key, sizeof(c->key), d);
		assert_non_null(d);
		assert_true(c->count == d->count && c->distance == d->distance &&
			    c->nearest == d->nearest && c->farthest == d->farthest);
	}
}

static void assert_same(const struct profile *a, const struct profile *b)
{
	struct site *s;

	assert_int_equal(a->sites.n, b->sites.n);
	SITES_EACH(&a->sites, s)
	{
		const struct site *t = profile_site_find(b, s->id);

		assert_non_null(t);
		assert_int_equal(s->samples, t->samples);
		assert_int_equal(s->observed, t->observed);
		assert_int_equal(s->taken, t->taken);
		assert_int_equal(s->windows, t->windows);
		assert_int_equal(s->target, t->target);
		assert_true(s->windows <= s->observed && (s->windows || !s->observed));
		assert_true(s->time == t->time);
		for (int i = 0; i < OPERAND_N; i++) {
			assert_int_equal(!site_hot(s, i), !site_hot(t, i));
			if (site_hot(s, i))
				assert_int_equal(hot_total(site_hot(s, i)),
						 hot_total(site_hot(t, i)));
		}
	}
	assert_same_pairs(a, b);
}

static void test_written_and_read(void **unused)
{
	struct profile p, q;
	struct stat st;
	struct err err;

	(void)unused;
	make_profile(&p, &err, NULL, 500);
	assert_int_equal(recording_write(file, &p, &err), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_same(&p, &q);
	assert_same_weights(&p, &q);
	assert_string_equal(q.run[0].command, "thing");
	assert_int_equal(q.run[0].n.stop[RA_STOP_PAGE], 3);
	assert_true(q.run[0].clock == 3100000000);
	assert_true(q.run[0].finished);
	assert_string_equal(q.image[1]->proc[0].name, "main");
	assert_int_equal(q.image[1]->layout_samples, 7);
	assert_int_equal(q.image[1]->layout_squares, 29);
	profile_fini(&p);
	profile_fini(&q);
}

/* Localities are kept with the sites. */
static void test_localities(void **unused)
{
	const struct locality some = { 100, 30, 20, 90, 8, 7, 50, 6, 40, 9, NULL };
	struct spread spread = { .seen = 70 };
	struct locality l;
	struct recording *r;
	struct profile p, q;
	struct site *s;
	struct err err;
	size_t n = 0;

	(void)unused;
	for (uint64_t i = 0; i < 70; i++)
		distinct_add(&spread.lines, i);
	distinct_add(&spread.pages, 1);
	make_profile(&p, &err, NULL, 500);
	SITES_EACH(&p.sites, s)
	{
		if (n++ % 3)
			continue;
		/* some with counts that need more than 16 bits */
		l = some;
		l.fetches += n % 5 ? n : UINT16_MAX * n;
		assert_int_equal(locality_count(s, &l), 0);
		if (n % 2)
			assert_int_equal(locality_spread(locality_of(s), &spread), 0);
	}
	r = recording_create(file, &err);
	assert_non_null(r);
	assert_int_equal(recording_finish(r, &p, &err), 0);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_same(&p, &q);
	assert_same_weights(&p, &q);
	SITES_EACH(&p.sites, s)
	{
		const struct site *t = profile_site_find(&q, s->id);
		const struct locality x = locality_get(s), y = locality_get(t);

		assert_int_equal(!s->locality, !t->locality);
		assert_memory_equal(&x, &y, offsetof(struct locality, spread));
		assert_int_equal(!x.spread, !y.spread);
		if (x.spread)
			assert_memory_equal(x.spread, y.spread, sizeof(spread));
	}
	profile_fini(&p);
	profile_fini(&q);
}

static void test_journal_gives_the_same(void **unused)
{
	struct recording *r;
	struct profile p, q;
	struct err err;

	(void)unused;
	r = recording_create(file, &err);
	assert_non_null(r);
	make_profile(&p, &err, r, 300);
	assert_int_equal(recording_flush(r, &p, &err), 0);
	recording_abandon(r);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_same(&p, &q);
	assert_same_weights(&p, &q);
	profile_fini(&p);
	profile_fini(&q);
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* A journal that has become long gives way to a snapshot, to which what came later is added. */
static void test_journal_is_replaced(void **unused)
{
	struct retired ri[32];
	struct recording *r;
	struct profile p, q;
	struct window w;
	struct err err;
	off_t most = 0;

	(void)unused;
	/* Lists that hold all values add up to the same from a snapshot and later windows; full ones resolve ties otherwise. */
	values = HOT_CAPACITY_DEFAULT;
	r = recording_create(file, &err);
	assert_non_null(r);
	make_profile(&p, &err, r, 100);
	for (int i = 1; i <= 30000; i++) {
		make_window(&w, ri, 1);
		assert_int_equal(profile_window(&p, &w), 0);
		assert_int_equal(recording_window(r, &w, &err), 0);
		if (i % 1000)
			continue;
		assert_int_equal(recording_flush(r, &p, &err), 0);
		if (i == 15000)
			most = size_of(file);
	}
	assert_true(size_of(file) < most * 3 / 2);
	recording_abandon(r);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_same(&p, &q);
	profile_fini(&p);
	profile_fini(&q);
	values = 40;
}

/* As long as --burst allows. */
static void test_journal_of_long_windows(void **unused)
{
	struct retired *ri = calloc(RA_BURST_MAX, sizeof(*ri));
	struct window w = { .pid = 1,
			    .tid = 1,
			    .weight = 1,
			    .start = { .image = 1, .addr = 0x1000 },
			    .n = RA_BURST_MAX,
			    .ri = ri };
	struct recording *r;
	struct profile p, q;
	struct err err;

	(void)unused;
	make_profile(&p, &err, NULL, 0);
	r = recording_create(file, &err);
	assert_non_null(r);
	for (uint32_t i = 0; i < w.n; i++)
		ri[i] = (struct retired){ .site = { .image = 1, .addr = 0x1000 + i }, .len = 1 };
	assert_int_equal(profile_window(&p, &w), 0);
	assert_int_equal(recording_window(r, &w, &err), 0);
	assert_int_equal(recording_flush(r, &p, &err), 0);
	recording_abandon(r);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_same(&p, &q);
	profile_fini(&p);
	profile_fini(&q);
	free(ri);
}

/* Snapshots replace each other; what is written at the end replaces them. */
static void test_snapshot_gives_the_same(void **unused)
{
	struct profile p, q, more;
	struct recording *r;
	struct err err;

	(void)unused;
	make_profile(&p, &err, NULL, 100);
	make_profile(&more, &err, NULL, 30000);
	r = recording_create(file, &err);
	assert_non_null(r);
	assert_int_equal(recording_checkpoint(r, &p, &err), 0);
	assert_int_equal(recording_checkpoint(r, &more, &err), 0);
	recording_abandon(r);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_same(&more, &q);
	profile_fini(&q);
	r = recording_create(file, &err);
	assert_non_null(r);
	assert_int_equal(recording_checkpoint(r, &p, &err), 0);
	assert_int_equal(recording_finish(r, &more, &err), 0);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_same(&more, &q);
	profile_fini(&q);
	profile_fini(&p);
	profile_fini(&more);
}

/* Counters are read while they run: a branch may seem to be taken more often than it ran, or less than never. */
static void test_snapshot_of_running_counters(void **unused)
{
	struct profile p, q;
	struct site *s, *t;
	struct recording *r;
	struct err err;

	(void)unused;
	make_profile(&p, &err, NULL, 0);
	s = profile_site(&p, (struct site_id){ .image = 1, .addr = 0x40 });
	t = profile_site(&p, (struct site_id){ .image = 1, .addr = 0x50 });
	s->observed = t->observed = 10;
	s->taken = 12;
	t->taken = ~0ull;
	r = recording_create(file, &err);
	assert_int_equal(recording_checkpoint(r, &p, &err), 0);
	recording_abandon(r);
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), 0);
	assert_int_equal(profile_site_find(&q, s->id)->taken, 10);
	assert_int_equal(profile_site_find(&q, t->id)->taken, 0);
	profile_fini(&p);
	profile_fini(&q);
}

static void test_merge_adds(void **unused)
{
	struct profile a, b, ab, ba;
	char other[112];
	struct err err;

	(void)unused;
	snprintf(other, sizeof(other), "%s/y.db", dir);
	make_profile(&a, &err, NULL, 400);
	make_profile(&b, &err, NULL, 300);
	assert_int_equal(recording_write(file, &a, &err), 0);
	assert_int_equal(recording_write(other, &b, &err), 0);
	assert_int_equal(profile_init(&ab, &err), 0);
	assert_int_equal(profile_init(&ba, &err), 0);
	assert_int_equal(recording_read(file, &ab, &err), 0);
	assert_int_equal(recording_read(other, &ab, &err), 0);
	assert_int_equal(recording_read(other, &ba, &err), 0);
	assert_int_equal(recording_read(file, &ba, &err), 0);
	assert_same(&ab, &ba);
	assert_int_equal(ab.nrun, 2);
	assert_int_equal(ab.run[0].n.samples + ab.run[1].n.samples, 700);
	profile_fini(&a);
	profile_fini(&b);
	profile_fini(&ab);
	profile_fini(&ba);
}

static void test_old_is_kept(void **unused)
{
	struct profile p;
	char old[112];
	struct stat st;
	struct err err;
	int fd;

	(void)unused;
	snprintf(old, sizeof(old), "%s.old", file);
	make_profile(&p, &err, NULL, 10);
	assert_int_equal(recording_write(file, &p, &err), 0);
	assert_int_equal(recording_write(file, &p, &err), 0);
	assert_int_equal(stat(old, &st), 0);
	unlink(file);
	fd = open(file, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, "mine", 4), 4);
	close(fd);
	assert_int_equal(recording_write(file, &p, &err), -1);
	assert_non_null(strstr(err.msg, "no recording"));
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, 4);
	profile_fini(&p);
}

/* A writer in a process of its own, killed at any moment: what it said it had flushed is there. */
static void write_until_killed(volatile uint64_t *flushed)
{
	struct retired ri[32];
	struct recording *r;
	struct profile p;
	struct window w;
	struct err err;

	r = recording_create(file, &err);
	make_profile(&p, &err, r, 1);
	for (uint64_t n = 1;;) {
		if (recording_flush(r, &p, &err))
			_exit(1);
		*flushed = n;
		for (int i = 0; i < 50; i++, n++) {
			make_window(&w, ri, 1);
			profile_window(&p, &w);
			recording_window(r, &w, &err);
		}
		if (n > 3000) { /* now and then a whole recording */
			recording_finish(r, &p, &err);
			*flushed = n;
			for (;;)
				pause();
		}
	}
}

static uint64_t samples_of(const struct profile *p)
{
	struct site *s;
	uint64_t n = 0;

	SITES_EACH(&p->sites, s)
	n += s->samples;
	return n;
}

static void test_killed_writers(void **unused)
{
	volatile uint64_t *flushed =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	assert_true(flushed != MAP_FAILED);
	for (int round = 0; round < 40; round++) {
		struct profile p;
		struct err err;
		pid_t pid;

		*flushed = 0;
		unlink(file);
		pid = fork();
		if (!pid)
			write_until_killed(flushed);
		while (!*flushed)
			usleep(500);
		usleep((useconds_t)(draw() % 60000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_int_equal(profile_init(&p, &err), 0);
		if (recording_read(file, &p, &err))
			fail_msg("%s", err.msg);
		assert_true(samples_of(&p) >= *flushed);
		profile_fini(&p);
	}
	munmap((void *)flushed, 4096);
}

static void test_full_disk(void **unused)
{
	struct rlimit old, small = { 200000, RLIM_INFINITY };
	uint64_t flushed = 0;
	struct retired ri[32];
	struct recording *r;
	struct profile p, q;
	struct window w;
	struct err err = { 0 };

	(void)unused;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	r = recording_create(file, &err);
	make_profile(&p, &err, r, 1);
	setrlimit(RLIMIT_FSIZE, &small);
	for (uint64_t n = 1; n < 100000 && !err.code; n++) {
		make_window(&w, ri, 1);
		profile_window(&p, &w);
		recording_window(r, &w, &err);
		if (n % 100 == 0 && !recording_flush(r, &p, &err))
			flushed = n;
	}
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err.code, ERR_FAILED);
	assert_true(flushed > 0);
	recording_abandon(r);
	assert_int_equal(profile_init(&q, &err), 0);
	if (recording_read(file, &q, &err))
		fail_msg("%s", err.msg);
	assert_true(samples_of(&q) >= flushed);
	profile_fini(&p);
	profile_fini(&q);
}

static size_t slurp(uint8_t **data)
{
	FILE *f = fopen(file, "rb");
	struct stat st;
	size_t n;

	assert_non_null(f);
	fstat(fileno(f), &st);
	*data = malloc((size_t)st.st_size);
	n = fread(*data, 1, (size_t)st.st_size, f);
	fclose(f);
	return n;
}

static void spit(const uint8_t *data, size_t n)
{
	FILE *f = fopen(file, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

/* Nothing to hold but that it ends, with an error that says something or a profile that can be used. */
static int read_any(void)
{
	struct run_counters n;
	struct profile p;
	struct err err = { 0 };
	int rc;

	assert_int_equal(profile_init(&p, &err), 0);
	rc = recording_read(file, &p, &err);
	if (rc) {
		assert_int_equal(err.code, ERR_FAILED);
		assert_true(strlen(err.msg) > 10);
	} else {
		profile_counters(&p, &n);
	}
	profile_fini(&p);
	return rc;
}

static void test_damaged(void **unused)
{
	struct profile p;
	struct err err;
	uint8_t *data;
	size_t n;

	(void)unused;
	make_profile(&p, &err, NULL, 200);
	assert_int_equal(recording_write(file, &p, &err), 0);
	n = slurp(&data);
	for (int i = 0; i < 400; i++) {
		size_t at = i < 100 ? draw() % 4096 : draw() % n;
		uint8_t was = data[at];

		data[at] ^= (uint8_t)(1 + draw() % 255);
		spit(data, n);
		read_any();
		data[at] = was;
	}
	for (size_t cut = 0; cut < n; cut += 1 + n / 60) {
		spit(data, cut);
		assert_int_equal(read_any(), -1);
	}
	free(data);
	profile_fini(&p);
}

static void pragma(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_not_ours(void **unused)
{
	struct profile p, q;
	struct err err;

	(void)unused;
	make_profile(&p, &err, NULL, 5);
	assert_int_equal(recording_write(file, &p, &err), 0);
	pragma("PRAGMA user_version = 77");
	assert_int_equal(profile_init(&q, &err), 0);
	assert_int_equal(recording_read(file, &q, &err), -1);
	assert_non_null(strstr(err.msg, "77"));
	assert_non_null(strstr(err.hint, "newer"));
	pragma("PRAGMA user_version = 1");
	assert_int_equal(recording_read(file, &q, &err), -1);
	assert_non_null(strstr(err.hint, "record again"));
	pragma("PRAGMA application_id = 5");
	assert_int_equal(recording_read(file, &q, &err), -1);
	assert_non_null(strstr(err.msg, "no recording"));
	unlink(file);
	assert_int_equal(recording_read(file, &q, &err), -1);
	assert_non_null(strstr(err.msg, "No such file"));
	profile_fini(&p);
	profile_fini(&q);
}

/* What a file could have SQLite do is refused before it is done. */
static void test_more_than_tables(void **unused)
{
	static const struct {
		const char *sql;
	} list[] = {
		{ "DROP TABLE procedure;"
		  "CREATE VIEW procedure(image, start, end, name) AS WITH RECURSIVE n(i) AS"
		  "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 0, i, i, 'x' FROM n" },
		{ "CREATE TRIGGER t AFTER INSERT ON site BEGIN DELETE FROM site; END" },
		{ "CREATE INDEX i ON site(size)" },
		{ "DROP TABLE journal;"
		  "CREATE TABLE journal(seq INTEGER PRIMARY KEY, windows BLOB,"
		  " size INTEGER AS (zeroblob(900000000)))" },
		{ "DROP TABLE counter;"
		  "CREATE VIRTUAL TABLE counter USING fts5(run, name, value)" },
	};
	struct profile p, q;
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		make_profile(&p, &err, NULL, 5);
		assert_int_equal(recording_write(file, &p, &err), 0);
		pragma(list[i].sql);
		assert_int_equal(profile_init(&q, &err), 0);
		assert_int_equal(recording_read(file, &q, &err), -1);
		assert_non_null(strstr(err.msg, "more than tables"));
		profile_fini(&p);
		profile_fini(&q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_written_and_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_localities, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_gives_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_is_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_of_long_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_snapshot_gives_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(test_snapshot_of_running_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merge_adds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_writers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_than_tables, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
