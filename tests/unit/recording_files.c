/* SPDX-License-Identifier: MIT */
/* Recordings as files: their journals, their locks, what somebody else may have put in their places. */
#include <dlfcn.h>
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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "store/recording.h"
#include "base/varint.h"
#include "support/recordings.h"

#define MAGIC "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
#define NOBODY 65534
#define GIB (1u << 30)
#ifdef __SANITIZE_ADDRESS__ /* keeps what was freed, and shadows of it */
#define MEMORY_MAX (2048l << 10)
#else
#define MEMORY_MAX (512l << 10) /* KiB */
#endif

static char dir[64], file[96], journal[112], old[112], victim[96];

static int setup(void **unused)
{
	(void)unused;
	snprintf(dir, sizeof(dir), "/tmp/assay-files.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/x.db", dir);
	snprintf(journal, sizeof(journal), "%s-journal", file);
	snprintf(old, sizeof(old), "%s.old", file);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	return 0;
}

static int teardown(void **unused)
{
	char command[128];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Who opens a database by its name opens what lies there then: this is what happens right before. */
static void (*before_opening)(void);

int sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs)
{
	int (*real)(const char *, sqlite3 **, int, const char *) =
		(int (*)(const char *, sqlite3 **, int, const char *))dlsym(RTLD_NEXT,
									    "sqlite3_open_v2");

	if (before_opening)
		before_opening();
	before_opening = NULL;
	return real(name, db, flags, vfs);
}

static uint8_t *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data;

	assert_non_null(f);
	fstat(fileno(f), &st);
	data = malloc((size_t)st.st_size + 1);
	*n = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	return data;
}

static void spit(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

static void copy(const char *from, const char *to)
{
	size_t n;
	uint8_t *data = slurp(from, &n);

	spit(to, data, n);
	free(data);
}

static bool there(const char *path)
{
	return !access(path, F_OK);
}

static sqlite3 *open_sql(const char *path)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	return db;
}

static void sql(sqlite3 *db, const char *text)
{
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
}

static void assert_integrity(const char *path)
{
	sqlite3 *db = open_sql(path);
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(s, 0), "ok");
	sqlite3_finalize(s);
	sqlite3_close(db);
}

static void write_recording(const char *path)
{
	struct profile p;
	struct err err;

	assert_int_equal(profile_init(&p, &err), 0);
	recordings_squeeze(&p);
	assert_int_equal(recording_write(path, &p, &err), 0);
	profile_fini(&p);
}

static int read_recording(const char *path, struct err *err)
{
	struct profile p;
	int rc;

	*err = (struct err){ 0 };
	assert_int_equal(profile_init(&p, err), 0);
	rc = recording_read(path, &p, err);
	profile_fini(&p);
	return rc;
}

/* The recording and the journal of a transaction that was going on when its writer was killed: pages of both are written. */
static void make_hot(void)
{
	char other[96], side[112];
	sqlite3 *db;

	snprintf(other, sizeof(other), "%s/y.db", dir);
	snprintf(side, sizeof(side), "%s-journal", other);
	write_recording(other);
	db = open_sql(other);
	sql(db, "PRAGMA synchronous=OFF; PRAGMA cache_size=1; BEGIN;"
		"UPDATE run SET command = hex(randomblob(90000)); DELETE FROM site;"
		"UPDATE image SET path = hex(randomblob(90000))");
	copy(other, file);
	copy(side, journal);
	sqlite3_close(db);
}

/* As SQLite has it: a page's number, the name, its length, the sum of its bytes, the magic. */
static void name_super_journal(const char *name)
{
	uint8_t end[4 + 96 + 16] = { 0 };
	uint32_t sum = 0, n = (uint32_t)strlen(name);
	FILE *f = fopen(journal, "ab");

	for (uint32_t i = 0; i < n; i++)
		sum += (uint8_t)name[i];
	end[1] = 4; /* page 0x40000000 / 4096 + 1 */
	end[3] = 1;
	memcpy(end + 4, name, n);
	for (unsigned i = 0; i < 4; i++) {
		end[4 + n + i] = (uint8_t)(n >> (24 - 8 * i));
		end[8 + n + i] = (uint8_t)(sum >> (24 - 8 * i));
	}
	memcpy(end + 12 + n, MAGIC, 8);
	assert_non_null(f);
	assert_int_equal(fwrite(end, 1, 20 + n, f), 20 + n);
	fclose(f);
}

static void test_super_journal(void **unused)
{
	struct err err;
	int rc;

	(void)unused;
	make_hot();
	spit(victim, "precious", 8);
	name_super_journal(victim);
	rc = read_recording(file, &err);
	assert_true(there(victim));
	assert_int_equal(rc, -1);
	assert_true(there(journal));
	assert_non_null(strstr(err.msg, "super-journal"));
	assert_non_null(strstr(err.hint, "delete"));
}

/* Rolled back for the reader alone, to the byte as SQLite does; the files stay as they are. */
static void test_hot_journal(void **unused)
{
	char ours[DIGEST_TEXT], sqlites[DIGEST_TEXT];
	uint8_t *was[2], *is[2];
	size_t n[4];
	struct profile p;
	struct err err = { 0 };
	sqlite3 *db;

	(void)unused;
	make_hot();
	was[0] = slurp(file, &n[0]);
	was[1] = slurp(journal, &n[1]);
	assert_true(n[1] > 3 * 4096);
	assert_int_equal(profile_init(&p, &err), 0);
	if (recording_read_known(file, &p, ours, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(p.run[0].command, "squeeze -9 -k 'big file.txt'");
	profile_fini(&p);
	is[0] = slurp(file, &n[2]);
	is[1] = slurp(journal, &n[3]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(n[i], n[i + 2]);
		assert_memory_equal(was[i], is[i], n[i]);
		free(was[i]);
		free(is[i]);
	}
	db = open_sql(file);
	sql(db, "SELECT count(*) FROM run");
	sqlite3_close(db);
	assert_false(there(journal));
	free(slurp(file, &n[2]));
	assert_true(n[2] < n[0]); /* there was something to roll back */
	assert_int_equal(profile_init(&p, &err), 0);
	assert_int_equal(recording_read_known(file, &p, sqlites, &err), 0);
	profile_fini(&p);
	assert_string_equal(ours, sqlites);
}

/* Whatever is cut off: SQLite's result, or a message. */
static void test_cut_journals(void **unused)
{
	char copied[96], side[112];
	uint8_t *data, *was;
	size_t n, nwas;

	(void)unused;
	make_hot();
	snprintf(copied, sizeof(copied), "%s/c.db", dir);
	snprintf(side, sizeof(side), "%s-journal", copied);
	data = slurp(journal, &n);
	was = slurp(file, &nwas);
	for (size_t cut = 0; cut < n; cut += cut < 40 ? 9 : 1 + n / 23) {
		char ours[DIGEST_TEXT], sqlites[DIGEST_TEXT];
		struct profile p, q;
		struct err a = { 0 }, b = { 0 };
		sqlite3 *db;
		int rc;

		spit(copied, was, nwas);
		spit(side, data, cut);
		assert_int_equal(profile_init(&p, &a), 0);
		assert_int_equal(profile_init(&q, &b), 0);
		rc = recording_read_known(copied, &p, ours, &a);
		db = open_sql(copied);
		sqlite3_exec(db, "SELECT count(*) FROM run", NULL, NULL, NULL);
		sqlite3_close(db);
		unlink(side);
		assert_int_equal(recording_read_known(copied, &q, sqlites, &b), rc);
		if (!rc)
			assert_string_equal(ours, sqlites);
		else
			assert_true(a.msg[0] && b.msg[0]);
		profile_fini(&p);
		profile_fini(&q);
	}
	free(data);
	free(was);
}

static void test_journal_of_another_owner(void **unused)
{
	struct err err;

	(void)unused;
	if (geteuid()) {
		print_message("not root: cannot give a file away\n");
		skip();
	}
	make_hot();
	assert_int_equal(chown(journal, NOBODY, NOBODY), 0);
	assert_int_equal(read_recording(file, &err), -1);
	assert_non_null(strstr(err.msg, "belongs to user 65534"));
	assert_true(there(journal));
	/* a recorder that was root gave the recording away */
	assert_int_equal(chown(journal, 0, 0), 0);
	assert_int_equal(chown(file, NOBODY, NOBODY), 0);
	assert_int_equal(read_recording(file, &err), 0);
	/* somebody else's, of one owner, may be read */
	assert_int_equal(chown(journal, NOBODY, NOBODY), 0);
	assert_int_equal(read_recording(file, &err), 0);
	assert_true(there(journal));
}

static void test_journal_that_is_no_file(void **unused)
{
	struct err err;

	(void)unused;
	make_hot();
	assert_int_equal(rename(journal, victim), 0);
	assert_int_equal(symlink(victim, journal), 0);
	assert_int_equal(read_recording(file, &err), -1);
	assert_non_null(strstr(err.msg, "x.db-journal"));
	unlink(journal);
	assert_int_equal(mkfifo(journal, 0600), 0);
	assert_int_equal(read_recording(file, &err), -1);
	assert_non_null(strstr(err.msg, "no regular file"));
}

static void test_other_files(void **unused)
{
	struct err err;
	sqlite3 *db;

	(void)unused;
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(read_recording(file, &err), -1);
	assert_non_null(strstr(err.msg, "not a regular file"));
	unlink(file);
	write_recording(file);
	db = open_sql(file);
	sql(db, "PRAGMA journal_mode=WAL");
	sqlite3_close(db);
	assert_int_equal(read_recording(file, &err), -1);
	assert_non_null(strstr(err.msg, "WAL"));
	assert_non_null(strstr(err.hint, "journal_mode=DELETE"));
}

/* A recorder in a process of its own, which has written and waits. */
static pid_t start_recorder(const char *path)
{
	int ready[2];
	char said = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct recording *r;
		struct profile p;
		struct err err;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		profile_init(&p, &err);
		recordings_squeeze(&p);
		r = recording_create(path, &err);
		if (r && !recording_checkpoint(r, &p, &err) && write(ready[1], "!", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &said, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_recorder(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_two_recorders(void **unused)
{
	pid_t first;
	struct err err;
	struct recording *r;
	char text[32];

	(void)unused;
	write_recording(file);
	first = start_recorder(file);
	snprintf(text, sizeof(text), "process %d", (int)first);
	assert_true(there(old));
	copy(old, victim);
	for (int i = 0; i < 3; i++) {
		r = recording_create(file, &err);
		assert_null(r);
		assert_int_equal(err.code, ERR_FAILED);
		assert_non_null(strstr(err.msg, text));
		assert_true(there(journal));
	}
	assert_int_equal(read_recording(file, &err), -1);
	assert_non_null(strstr(err.msg, text));
	assert_int_equal(read_recording(old, &err), 0);
	end_recorder(first);
	assert_int_equal(read_recording(file, &err), 0);
	write_recording(file); /* the one that was killed is the old one now */
	assert_int_equal(read_recording(old, &err), 0);
	assert_integrity(old);
	assert_integrity(file);
	assert_integrity(victim);
	assert_false(there(journal));
}

static void test_recorder_at_the_old_name(void **unused)
{
	struct recording *r;
	struct err err;
	pid_t first;

	(void)unused;
	write_recording(file);
	first = start_recorder(old);
	r = recording_create(file, &err);
	assert_null(r);
	assert_non_null(strstr(err.msg, "x.db.old is being recorded by process"));
	end_recorder(first);
	assert_int_equal(read_recording(old, &err), 0);
	assert_int_equal(read_recording(file, &err), 0);
}

#define MANY 8

/* All at once: one of them records. */
static void test_many_recorders(void **unused)
{
	pid_t pid[MANY];
	int go[2], ended[2], winners = 0;
	char said[MANY];

	(void)unused;
	write_recording(file);
	copy(file, victim);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ended), 0);
	for (int i = 0; i < MANY; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			struct recording *r;
			struct err err;
			char c;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(go[1]);
			if (read(go[0], &c, 1) < 0)
				_exit(1);
			r = recording_create(file, &err);
			if (write(ended[1], r ? "1" : "0", 1) == 1)
				for (;;)
					pause();
			_exit(1);
		}
	}
	close(go[1]);
	for (size_t got = 0; got < MANY;) {
		ssize_t n = read(ended[0], said + got, MANY - got);

		assert_true(n > 0);
		got += (size_t)n;
	}
	for (int i = 0; i < MANY; i++) {
		winners += said[i] == '1';
		end_recorder(pid[i]);
	}
	assert_int_equal(winners, 1);
	assert_integrity(old);
	assert_integrity(file);
	close(go[0]);
	close(ended[0]);
	close(ended[1]);
}

static void swap_for_link(void)
{
	char moved[112];

	snprintf(moved, sizeof(moved), "%s/moved", dir);
	assert_int_equal(rename(file, moved), 0);
	assert_int_equal(symlink(victim, file), 0);
}

/* Between its creation and its opening the file is swapped for another one. */
static void test_swapped(void **unused)
{
	char moved[112];
	struct profile p;
	struct stat st;
	struct err err;

	(void)unused;
	snprintf(moved, sizeof(moved), "%s/moved", dir);
	spit(victim, "", 0);
	assert_int_equal(profile_init(&p, &err), 0);
	recordings_squeeze(&p);
	before_opening = swap_for_link;
	recording_write(file, &p, &err);
	assert_null(before_opening);
	profile_fini(&p);
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 0);
	unlink(file);
	assert_int_equal(read_recording(moved, &err), 0);
}

/* What another process put where the journal was is not the recorder's to delete. */
static void test_journal_swapped(void **unused)
{
	struct recording *r;
	struct profile p;
	struct err err;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	recordings_squeeze(&p);
	r = recording_create(file, &err);
	assert_non_null(r);
	unlink(journal);
	spit(journal, "", 0);
	assert_int_equal(recording_finish(r, &p, &err), 0);
	profile_fini(&p);
	assert_true(there(journal));
	assert_int_equal(read_recording(file, &err), 0);
}

static void test_journal_left_alone(void **unused)
{
	struct err err;

	(void)unused;
	make_hot();
	unlink(file);
	write_recording(file); /* the journal of a recording that is gone: away with it */
	assert_false(there(journal));
	unlink(file);
	spit(journal, "precious", 8);
	assert_null(recording_create(file, &err));
	assert_non_null(strstr(err.msg, "x.db-journal"));
	assert_true(there(journal));
}

static uint32_t number_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A trunk's bytes behind its list: numbers of pages that are free no longer, and zeros. */
static bool lists_pages(const uint8_t *trunk, uint32_t leaves, uint32_t pages)
{
	for (size_t at = 8 + 4ul * leaves; at < 4096; at += 4)
		if (number_at(trunk + at) > pages)
			return false;
	return true;
}

/* Pages of the list of free ones: leaves are listed in trunks, which list nothing else. */
static size_t count_free(const uint8_t *data, size_t *dirty)
{
	static const uint8_t zeros[4096];
	size_t n = 0;

	*dirty = 0;
	for (uint32_t trunk = number_at(data + 32); trunk; n++) {
		const uint8_t *t = data + (trunk - 1) * 4096ul;
		uint32_t leaves = number_at(t + 4);

		*dirty += !lists_pages(t, leaves, number_at(data + 28));
		for (uint32_t i = 0; i < leaves; i++, n++)
			*dirty += memcmp(data + (number_at(t + 8 + 4ul * i) - 1) * 4096ul, zeros,
					 4096) != 0;
		trunk = number_at(t);
	}
	return n;
}

/* The journal of windows is replaced at the end. */
static void test_free_pages(void **unused)
{
	struct retired ri[32] = { 0 };
	struct window w = { .pid = 1, .tid = 1, .weight = 1, .n = 32, .ri = ri };
	struct recording *r;
	struct profile p;
	struct err err;
	size_t n, dirty, freed, most = 0;
	uint8_t *data;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	recordings_squeeze(&p);
	r = recording_create(file, &err);
	assert_non_null(r);
	srandom(7);
	for (int i = 0; i < 6000; i++) {
		for (int k = 0; k < 32; k++) {
			ri[k].len = 1;
			ri[k].have = 1;
			ri[k].value[0] = (uint64_t)random() << 31 ^ (uint64_t)random();
		}
		assert_int_equal(recording_window(r, &w, &err), 0);
		if (i % 100 != 99)
			continue;
		assert_int_equal(recording_flush(r, &p, &err), 0);
		data = slurp(file, &n);
		freed = count_free(data, &dirty);
		most = freed > most ? freed : most;
		assert_int_equal(dirty, 0);
		free(data);
	}
	/* the journal was replaced in between, and its pages were free */
	assert_true(most > 100);
	assert_int_equal(recording_finish(r, &p, &err), 0);
	profile_fini(&p);
	data = slurp(file, &n);
	assert_int_equal(count_free(data, &dirty), 0);
	assert_true(n < 400000);
	free(data);
}

/* So many bytes of zeros, compressed. */
static void *compress_zeros(size_t bytes, size_t *n)
{
	static uint8_t zeros[1 << 20];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_outBuffer out = { malloc(1 << 20), 1 << 20, 0 };

	ZSTD_CCtx_setPledgedSrcSize(c, bytes);
	for (size_t at = 0; at < bytes; at += sizeof(zeros)) {
		ZSTD_inBuffer in = { zeros, sizeof(zeros), 0 };

		while (in.pos < in.size)
			assert_false(
				ZSTD_isError(ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue)));
	}
	assert_int_equal(ZSTD_compressStream2(c, &out, &(ZSTD_inBuffer){ zeros, 0, 0 }, ZSTD_e_end),
			 0);
	ZSTD_freeCCtx(c);
	*n = out.pos;
	return out.dst;
}

static void insert_rows(const char *insert, int rows, size_t size, const void *data, size_t n)
{
	sqlite3 *db = open_sql(file);
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_prepare_v2(db, insert, -1, &s, NULL), SQLITE_OK);
	for (int i = 0; i < rows; i++) {
		sqlite3_bind_int64(s, 1, (sqlite3_int64)size);
		sqlite3_bind_blob(s, 2, data, (int)n, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(s), SQLITE_DONE);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
}

/* Read in a process of its own: refused for that reason, with little memory. */
static void assert_refused(const char *reason)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct profile p;
		struct err err = { 0 };

		alarm(60); /* else this would take hours */
		profile_init(&p, &err);
		_exit(!recording_read(file, &p, &err) || !strstr(err.msg, reason));
	}
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	assert_int_equal(status, 0);
	assert_true(usage.ru_maxrss < MEMORY_MAX);
}

static void test_rows_that_expand(void **unused)
{
	static const char *const insert[] = {
		"INSERT INTO journal(size, windows) VALUES(?,?)",
		"INSERT INTO site(size, sites) VALUES(?,?)",
		"INSERT INTO edge(size, edges) VALUES(?,?)",
	};
	size_t n;
	void *zeros = compress_zeros(GIB, &n);

	(void)unused;
	for (size_t i = 0; i < sizeof(insert) / sizeof(*insert); i++) {
		unlink(file);
		write_recording(file);
		insert_rows(insert[i], 100, GIB, zeros, n);
		assert_refused("would expand to more than");
	}
	free(zeros);
}

/* Windows in a row, of one instruction after the other: each is a new one. */
static void test_instructions_without_end(void **unused)
{
	const size_t windows = 3000, each = 2048, bytes = windows * (each * 5 + 80);
	struct buffer b = { 0 };
	size_t n;
	void *out = malloc(ZSTD_compressBound(bytes));

	(void)unused;
	assert_true(buffer_room(&b, bytes));
	for (size_t i = 0; i < windows; i++) {
		const uint64_t head[] = { 1, 1, 0, 1, 0, 0, i * each, each };

		for (size_t k = 0; k < sizeof(head) / sizeof(*head); k++)
			varint_put(&b, head[k]);
		for (size_t k = 0; k < each;
		     k++) { /* image, where from the last one, class, length, values */
			memcpy(b.p + b.n, "\0\2\0\1\0", 5);
			b.n += 5;
		}
	}
	n = ZSTD_compress(out, ZSTD_compressBound(bytes), b.p, b.n, 1);
	write_recording(file);
	insert_rows("INSERT INTO journal(size, windows) VALUES(?,?)", 1, b.n, out, n);
	assert_refused("more instructions than its size allows");
	free(b.p);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_super_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hot_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_journals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_of_another_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_that_is_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_recorders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_recorder_at_the_old_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_recorders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_swapped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_swapped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_free_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_that_expand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_instructions_without_end, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
