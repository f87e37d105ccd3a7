/* SPDX-License-Identifier: MIT */
/* The cache of what was derived from recordings, and the digest that its files are named after. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/digest.h"
#include "store/derived.h"

#define CONTENT "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static char base[64], folder[96], name[200];

static int setup(void **unused)
{
	(void)unused;
	snprintf(base, sizeof(base), "/tmp/assay-derived.XXXXXX");
	assert_non_null(mkdtemp(base));
	snprintf(folder, sizeof(folder), "%s/assay", base);
	snprintf(name, sizeof(name), "%s/" CONTENT ".k", folder);
	setenv("XDG_CACHE_HOME", base, 1);
	return 0;
}

static int teardown(void **unused)
{
	char command[128];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static bool keep(const char *content, const char *key, const char *what)
{
	struct buffer b = { (uint8_t *)what, strlen(what), 0 };

	return derived_write(content, "k", key, &b);
}

static bool gives(const char *content, const char *key, const char *what)
{
	struct buffer b;
	bool same = derived_read(content, "k", key, &b) && b.n == strlen(what) &&
		    !memcmp(b.p, what, b.n);

	free(b.p);
	return same;
}

static bool has(const char *content, const char *key)
{
	struct buffer b;
	bool got = derived_read(content, "k", key, &b);

	free(b.p);
	return got;
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode & 0777;
}

static void test_kept(void **unused)
{
	mode_t was = umask(0);

	(void)unused;
	assert_false(has(CONTENT, "a"));
	assert_true(keep(CONTENT, "a", "what was derived"));
	umask(was);
	assert_true(gives(CONTENT, "a", "what was derived"));
	assert_false(has(OTHER, "a"));
	assert_false(has(CONTENT, "b"));
	assert_true(keep(CONTENT, "b", "otherwise"));
	assert_true(gives(CONTENT, "b", "otherwise"));
	assert_false(has(CONTENT, "a"));
	assert_int_equal(mode_of(folder), 0700);
	assert_int_equal(mode_of(name), 0600);
}

/* Each byte of a file matters: what is damaged is not given, and replaced. */
static void test_damaged(void **unused)
{
	struct stat st;

	(void)unused;
	assert_true(keep(CONTENT, "a", "what was derived"));
	assert_int_equal(stat(name, &st), 0);
	for (off_t i = 0; i < st.st_size; i++) {
		int fd = open(name, O_RDWR);
		uint8_t c;

		assert_int_equal(pread(fd, &c, 1, i), 1);
		c ^= 0x11;
		assert_int_equal(pwrite(fd, &c, 1, i), 1);
		close(fd);
		assert_true(!has(CONTENT, "a") || gives(CONTENT, "a", "what was derived"));
		assert_true(keep(CONTENT, "a", "what was derived"));
		assert_true(gives(CONTENT, "a", "what was derived"));
	}
	for (off_t i = 0; i < st.st_size; i++) {
		assert_int_equal(truncate(name, i), 0);
		assert_false(has(CONTENT, "a"));
		assert_true(keep(CONTENT, "a", "what was derived"));
	}
}

/* A folder that others may write in, or that is a link, is not used. */
static void test_folder_of_others(void **unused)
{
	(void)unused;
	assert_true(keep(CONTENT, "a", "x"));
	assert_int_equal(chmod(folder, 0777), 0);
	assert_false(has(CONTENT, "a"));
	assert_false(keep(CONTENT, "a", "y"));
	assert_int_equal(chmod(folder, 0700), 0);
	assert_true(gives(CONTENT, "a", "x"));
	if (!geteuid()) {
		assert_int_equal(chown(folder, 65534, 65534), 0);
		assert_false(has(CONTENT, "a"));
		assert_int_equal(chown(folder, 0, 0), 0);
	} else {
		print_message("not root: a folder of another owner was not tried\n");
	}
	snprintf(name, sizeof(name), "%s/elsewhere", base);
	assert_int_equal(rename(folder, name), 0);
	assert_int_equal(symlink(name, folder), 0);
	assert_false(has(CONTENT, "a"));
	assert_false(keep(CONTENT, "a", "y"));
}

/* Links in the folder are not followed, neither to be read nor to be written. */
static void test_links(void **unused)
{
	char victim[96];
	struct stat st;

	(void)unused;
	snprintf(victim, sizeof(victim), "%s/victim", base);
	assert_true(keep(CONTENT, "a", "x"));
	assert_int_equal(rename(name, victim), 0);
	assert_int_equal(symlink(victim, name), 0);
	assert_false(has(CONTENT, "a"));
	assert_int_equal(stat(victim, &st), 0);
	assert_true(keep(CONTENT, "a", "something longer than that"));
	assert_int_equal(mode_of(name), 0600);
	assert_int_equal(lstat(name, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void test_nowhere(void **unused)
{
	char path[96];

	(void)unused;
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_false(keep(CONTENT, "a", "x"));
	assert_false(has(CONTENT, "a"));
	setenv("XDG_CACHE_HOME", "relative", 1);
	assert_false(keep(CONTENT, "a", "x"));
	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	assert_false(keep(CONTENT, "a", "x"));
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", base, 1);
	assert_true(keep(CONTENT, "a", "x"));
	snprintf(path, sizeof(path), "%s/.cache/assay", base);
	assert_int_equal(mode_of(path), 0700);
}

/* That a file was used so many seconds ago. */
static void used(const char *content, long ago)
{
	struct timespec times[2] = { { 0, UTIME_OMIT }, { time(NULL) - ago, 0 } };
	char path[200];

	snprintf(path, sizeof(path), "%s/%s.k", folder, content);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A sparse file. */
static void fill(const char *content, off_t size, long ago)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.k", folder, content);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
	used(content, ago);
}

static void test_bounded(void **unused)
{
	static const char content[] =
		"aa112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	char path[200];

	(void)unused;
	assert_true(keep(CONTENT, "a", "x"));
	assert_true(keep(OTHER, "a", "y"));
	fill("old", DERIVED_MAX / 2, 1000);
	fill("older", DERIVED_MAX / 2, 2000);
	fill("newer", DERIVED_MAX / 2 - 1000, 500);
	used(CONTENT, 3000);
	used(OTHER, 3000);
	assert_true(gives(OTHER, "a", "y")); /* used: not the oldest any more */
	assert_true(keep(content, "a", "z"));
	assert_true(gives(content, "a", "z"));
	assert_true(gives(OTHER, "a", "y"));
	assert_false(has(CONTENT, "a"));
	snprintf(path, sizeof(path), "%s/older.k", folder);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/newer.k", folder);
	assert_int_equal(access(path, F_OK), 0);
}

/* The digest of n bytes, each one more than the one before, added in pieces of the given size. */
static void digest_of(size_t n, size_t piece, char text[DIGEST_TEXT])
{
	uint8_t data[1000];
	struct digest d;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	digest_init(&d);
	for (size_t at = 0; at < n; at += piece)
		digest_add(&d, data + at, piece < n - at ? piece : n - at);
	digest_text(&d, text);
}

/* As b2sum -l 256 prints them. */
static void test_digest(void **unused)
{
	static const struct {
		size_t n;
		const char *text;
	} known[] = {
		{ 0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8" },
		{ 1, "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314" },
		{ 127, "f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72" },
		{ 128, "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1" },
		{ 129, "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9" },
		{ 256, "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835" },
		{ 1000, "c636324d47d89f2b2434dc2c994100663fbbaea880ff020fc5de89dd0f77a1ec" },
	};
	char text[DIGEST_TEXT];

	(void)unused;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		for (size_t piece = 1; piece <= 300; piece += 1 + piece / 3) {
			digest_of(known[i].n, piece, text);
			assert_string_equal(text, known[i].text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_folder_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nowhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
		cmocka_unit_test(test_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
