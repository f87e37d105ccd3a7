/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "image/maps.h"

static void test_parse(void **state)
{
	static const char text[] =
		"00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon\n"
		"7f0000000000-7f0000001000 rw-s 00000000 00:01 42 /memfd:x (deleted)\n"
		"7f0000002000-7f0000003000 ---p 00000000 00:00 0 \n"
		"7f0000004000-7f0000005000 r--p 00000000 103:1f 7  /tmp/a\\012b\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]";
	struct err err;
	struct maps m;

	(void)state;
	assert_int_equal(maps_parse(&m, text, &err), 0);
	assert_int_equal(m.n, 5);
	assert_int_equal(m.map[0].start, 0x400000);
	assert_int_equal(m.map[0].end, 0x452000);
	assert_int_equal(m.map[0].offset, 0x1000);
	assert_int_equal(m.map[0].dev_major, 8);
	assert_int_equal(m.map[0].dev_minor, 2);
	assert_int_equal(m.map[0].inode, 173521);
	assert_true(m.map[0].read && !m.map[0].write && m.map[0].exec && !m.map[0].shared);
	assert_string_equal(m.map[0].name, "/usr/bin/dbus daemon");
	assert_false(m.map[0].deleted);
	assert_true(m.map[1].deleted && m.map[1].shared && m.map[1].write);
	assert_string_equal(m.map[1].name, "/memfd:x");
	assert_string_equal(m.map[2].name, "");
	assert_string_equal(m.map[3].name, "/tmp/a\nb");
	assert_int_equal(m.map[3].dev_major, 0x103);
	assert_int_equal(m.map[3].dev_minor, 0x1f);
	assert_string_equal(m.map[4].name, "[vsyscall]");
	assert_null(maps_find(&m, 0x3fffff));
	assert_ptr_equal(maps_find(&m, 0x400000), &m.map[0]);
	assert_ptr_equal(maps_find(&m, 0x451fff), &m.map[0]);
	assert_null(maps_find(&m, 0x452000));
	assert_ptr_equal(maps_find(&m, 0xffffffffff600010), &m.map[4]);
	assert_null(maps_find(&m, UINT64_MAX));
	maps_fini(&m);
	assert_int_equal(maps_parse(&m, "", &err), 0);
	assert_int_equal(m.n, 0);
	maps_fini(&m);
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"x",
		"\n",
		"00400000-00452000",
		"00452000-00400000 r-xp 00000000 08:02 1 /x",
		"00400000-00400000 r-xp 00000000 08:02 1 /x",
		"00400000 00452000 r-xp 00000000 08:02 1 /x",
		"00400000-00452000 rwxz 00000000 08:02 1 /x",
		"00400000-00452000 r-x",
		"00400000-00452000 r-xp 00000000 08-02 1 /x",
		"00400000-00452000 r-xp 00000000 08:02 /x",
		"00400000-00452000 r-xp 00000000 08:02 1/x",
		"00400000-00452000 r-xp 00000000 08:02 99999999999999999999999 /x",
		"00400000-00452000 r-xp 00000000 100000000:02 1 /x",
		"11111111100400000-11111111100452000 r-xp 00000000 08:02 1 /x",
	};
	struct maps m;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err err = { 0 };

		assert_int_equal(maps_parse(&m, bad[i], &err), -1);
		assert_int_equal(err.code, ERR_FAILED);
		assert_true(err.msg[0]);
		assert_int_equal(m.n, 0);
	}
}

static void test_own(void **state)
{
	struct maps m;
	struct err err;
	const struct map *map;
	char file[4096];
	struct stat here, self;
	int on_stack;

	(void)state;
	assert_int_equal(maps_read(&m, NULL, getpid(), &err), 0);
	map = maps_find(&m, (uint64_t)(uintptr_t)&on_stack);
	assert_non_null(map);
	assert_string_equal(map->name, "[stack]");
	assert_null(maps_file(map, getpid(), file, sizeof(file), &err));
	assert_non_null(strstr(err.msg, "no file"));
	map = maps_find(&m, (uint64_t)(uintptr_t)test_own);
	assert_non_null(map);
	assert_true(map->exec);
	assert_ptr_equal(maps_file(map, getpid(), file, sizeof(file), &err), file);
	assert_int_equal(stat(file, &here), 0);
	assert_int_equal(stat("/proc/self/exe", &self), 0);
	assert_int_equal(here.st_ino, self.st_ino);
	maps_fini(&m);
}

static void test_no_process(void **state)
{
	struct err err = { 0 };
	struct maps m;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(maps_read(&m, NULL, pid, &err), -1);
	assert_non_null(strstr(err.msg, "no process"));
	assert_int_equal(m.n, 0);
}

struct mapped {
	char path[64];
	void *at;
	struct maps maps;
	const struct map *map;
};

static void refresh(struct mapped *f)
{
	struct err err;

	maps_fini(&f->maps);
	assert_int_equal(maps_read(&f->maps, NULL, getpid(), &err), 0);
	f->map = maps_find(&f->maps, (uint64_t)(uintptr_t)f->at);
	assert_non_null(f->map);
}

static void write_page(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void map_file(struct mapped *f)
{
	int fd;

	*f = (struct mapped){ .path = "/tmp/assay-maps-XXXXXX" };
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	write_page(f->path, "first");
	fd = open(f->path, O_RDONLY);
	f->at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(f->at, MAP_FAILED);
	close(fd);
	refresh(f);
}

static void unmap_file(struct mapped *f)
{
	maps_fini(&f->maps);
	munmap(f->at, 4096);
	unlink(f->path);
}

static bool map_files_allowed(const struct mapped *f)
{
	char link[128];
	struct stat st;

	snprintf(link, sizeof(link), "/proc/self/map_files/%llx-%llx",
		 (unsigned long long)f->map->start, (unsigned long long)f->map->end);
	return !stat(link, &st);
}

static void expect_first(struct mapped *f)
{
	char file[4096], text[6] = "";
	struct err err = { 0 };

	if (map_files_allowed(f)) {
		int fd;

		assert_ptr_equal(maps_file(f->map, getpid(), file, sizeof(file), &err), file);
		fd = open(file, O_RDONLY);
		assert_int_equal(read(fd, text, 5), 5);
		assert_string_equal(text, "first");
		close(fd);
	} else {
		assert_null(maps_file(f->map, getpid(), file, sizeof(file), &err));
		assert_true(strstr(err.msg, "deleted") || strstr(err.msg, "replaced"));
		assert_true(err.hint[0]);
	}
}

/* The mapping as an unprivileged reader meets it: no link below map_files has these addresses. */
static char *without_map_files(const struct mapped *f, char *buf, size_t n, struct err *err)
{
	struct map other = *f->map;

	other.start += 1;
	return maps_file(&other, getpid(), buf, n, err);
}

static void test_deleted(void **state)
{
	struct mapped f;
	struct err err = { 0 };
	char file[4096];

	(void)state;
	map_file(&f);
	assert_non_null(without_map_files(&f, file, sizeof(file), &err));
	unlink(f.path);
	refresh(&f);
	assert_true(f.map->deleted);
	assert_string_equal(f.map->name, f.path);
	expect_first(&f);
	assert_null(without_map_files(&f, file, sizeof(file), &err));
	assert_non_null(strstr(err.msg, "deleted"));
	assert_true(err.hint[0]);
	unmap_file(&f);
}

static void test_replaced(void **state)
{
	struct mapped f;
	struct err err = { 0 };
	char other[80], file[4096];

	(void)state;
	map_file(&f);
	snprintf(other, sizeof(other), "%s.new", f.path);
	write_page(other, "other");
	/* What was read of the process before the file was replaced: the name is that of another
	 * now. */
	assert_int_equal(rename(other, f.path), 0);
	expect_first(&f);
	assert_null(without_map_files(&f, file, sizeof(file), &err));
	assert_non_null(strstr(err.msg, "replaced"));
	refresh(&f);
	assert_true(f.map->deleted);
	expect_first(&f);
	assert_null(without_map_files(&f, file, sizeof(file), &err));
	unmap_file(&f);
}

static void test_named_deleted(void **state)
{
	struct mapped f;
	struct err err = { 0 };
	char odd[80], file[4096];

	(void)state;
	map_file(&f);
	snprintf(odd, sizeof(odd), "%s (deleted)", f.path);
	assert_int_equal(rename(f.path, odd), 0);
	refresh(&f);
	assert_non_null(without_map_files(&f, file, sizeof(file), &err));
	assert_non_null(strstr(file, " (deleted)"));
	assert_null(maps_file(f.map, getpid(), file, 8, &err)); /* no room for any path */
	unmap_file(&f);
	unlink(odd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	      cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_own),	      cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_deleted),	      cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_named_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
