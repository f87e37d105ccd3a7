/* SPDX-License-Identifier: MIT */
/*
 * Files that are cut short or damaged: refused with a message or read in part, but never a crash.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <elf.h>

#include "image/image.h"

static char path[] = "/tmp/assay-corrupt-XXXXXX";
static uint8_t *good;
static size_t size;

static void write_file(const void *data, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Everything there is to ask, at a few places. True if it opened. */
static bool exercise(struct err *err)
{
	struct image *im = image_open(path, path, err);
	const struct image_segment *seg;
	const struct image_proc *p;
	unsigned segments;
	size_t n, procs;

	if (!im)
		return false;
	segments = image_segments(im, &seg);
	for (unsigned i = 0; i < segments; i++) {
		const uint8_t *code = image_code(im, seg[i].addr + seg[i].size / 2, &n);

		assert_true(!code || n > 0);
	}
	procs = image_procs(im, &p);
	for (size_t i = 0; i < procs; i += procs / 7 + 1) {
		const char *file;
		int line;

		assert_true(p[i].start < p[i].end && (!i || p[i - 1].end <= p[i].start));
		if (image_line(im, p[i].start, &file, &line))
			assert_true(line > 0 && file);
	}
	image_close(im);
	return true;
}

static void refused(const void *data, size_t n, const char *why)
{
	struct err err = { 0 };

	write_file(data, n);
	assert_false(exercise(&err));
	assert_int_equal(err.code, ERR_FAILED);
	assert_non_null(strstr(err.msg, path));
	if (!strstr(err.msg, why))
		fail_msg("\"%s\" says nothing of \"%s\"", err.msg, why);
}

static void test_not_elf(void **state)
{
	struct err err = { 0 };

	(void)state;
	refused("", 0, "not an ELF file");
	refused("#!/bin/sh\necho hello\n", 21, "not an ELF file");
	refused("!<arch>\n", 8, "not an ELF file");
	refused("\177ELF", 4, "ELF");
	assert_null(image_open("/nonexistent/file", "/nonexistent/file", &err));
	assert_non_null(strstr(err.msg, "No such file"));
	assert_null(image_open("/dev/null", "/dev/null", &err));
	assert_non_null(strstr(err.msg, "not a regular file"));
	assert_null(image_open("/tmp", "/tmp", &err));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(image_open(path, path, &err)); /* and does not wait for a writer */
	unlink(path);
}

static void test_other_kinds(void **state)
{
	Elf64_Ehdr *e = malloc(size);

	(void)state;
	memcpy(e, good, size);
	e->e_machine = EM_AARCH64;
	refused(e, size, "not x86-64");
	e->e_machine = EM_X86_64;
	e->e_type = ET_REL;
	refused(e, size, "ELF type 1");
	e->e_type = ET_DYN;
	e->e_ident[EI_DATA] = ELFDATA2MSB;
	refused(e, size, "little-endian");
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_ident[EI_CLASS] = ELFCLASS32;
	refused(e, size, "64-bit");
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_phnum = 0;
	refused(e, size, "program headers");
	free(e);
}

static void test_segments_outside(void **state)
{
	uint8_t *copy = malloc(size);
	Elf64_Ehdr *e = (Elf64_Ehdr *)copy;
	Elf64_Phdr *ph, *code;

	(void)state;
	memcpy(copy, good, size);
	ph = (Elf64_Phdr *)(copy + e->e_phoff);
	for (code = ph; code->p_type != PT_LOAD || !(code->p_flags & PF_X); code++)
		assert_true(code - ph < e->e_phnum);
	code->p_offset = UINT64_MAX - 4096;
	refused(copy, size, "beyond its end");
	code->p_offset = 0;
	code->p_filesz = UINT64_MAX;
	refused(copy, size, "beyond its end");
	code->p_filesz = 8192;
	code->p_vaddr = UINT64_MAX - 100;
	refused(copy, size, "wraps around");
	free(copy);
}

static void test_truncated(void **state)
{
	struct err err;
	unsigned opened = 0;

	(void)state;
	for (size_t i = 0; i < 400; i++) {
		size_t n = i < 200 ? i * 8 : size * (i - 200) / 200;

		write_file(good, n < size ? n : size);
		err = (struct err){ 0 };
		if (exercise(&err))
			opened++;
		else
			assert_true(err.msg[0]);
	}
	assert_true(opened > 0 && opened < 200);
}

static void test_shrinks_while_open(void **state)
{
	const struct image_segment *seg;
	const struct image_proc *p;
	struct err err;
	struct image *im;
	size_t n;

	(void)state;
	write_file(good, size);
	im = image_open(path, path, &err);
	assert_non_null(im);
	image_segments(im, &seg);
	assert_int_equal(truncate(path, 64), 0);
	assert_null(image_code(im, seg->addr, &n));
	assert_int_equal(n, 0);
	assert_int_equal(image_procs(im, &p), 0);
	image_close(im);
}

static void test_damaged(void **state)
{
	uint8_t *copy = malloc(size);
	uint64_t r = 88172645463325252ull;
	struct err err;

	(void)state;
	for (int i = 0; i < 600; i++) {
		const Elf64_Ehdr *e = (const Elf64_Ehdr *)good;
		size_t from = i % 3 == 0 ? e->e_shoff : 0;
		size_t span = i % 3 == 2 ? size : 1024;

		memcpy(copy, good, size);
		for (int k = 0; k < (i % 3 == 2 ? 2000 : 4); k++) {
			r ^= r << 13;
			r ^= r >> 7;
			r ^= r << 17;
			copy[(from + r % span) % size] = (uint8_t)(r >> 56);
		}
		memcpy(copy, good, 20);
		write_file(copy, size);
		exercise(&err);
	}
	free(copy);
}

static bool has_line(const uint8_t *file)
{
	struct err err;
	struct image *im;
	const char *name;
	int line;
	bool has;

	write_file(file, size);
	im = image_open(path, path, &err);
	assert_non_null(im);
	assert_non_null(image_proc_named(im, "h"));
	has = image_line(im, image_proc_named(im, "h")->start, &name, &line);
	image_close(im);
	return has;
}

/* A string without an end, at the end of its section: libdw would read on beyond it. */
static void test_strings_without_end(void **state)
{
	uint8_t *copy = malloc(size);
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)good;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(good + e->e_shoff);
	int found = 0;

	(void)state;
	assert_true(has_line(good));
	for (int i = 0; i < e->e_shnum; i++) {
		const char *name = (const char *)good + sh[e->e_shstrndx].sh_offset + sh[i].sh_name;

		if (strcmp(name, ".debug_str") != 0 && strcmp(name, ".debug_line_str") != 0)
			continue;
		found++;
		memcpy(copy, good, size);
		copy[sh[i].sh_offset + sh[i].sh_size - 1] = 'x';
		assert_false(has_line(copy));
	}
	assert_true(found > 0);
	free(copy);
}

/* A small shared object with everything in it: symbols, PLT, unwind and debug information. */
static int make_good(void **state)
{
	char command[512];
	struct stat st;
	int fd = mkstemp(path);
	FILE *f;

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	snprintf(command, sizeof(command),
		 "printf 'int puts(const char *); static int k(int i) { return i * 3; }"
		 "int g(int i) { puts(\"x\"); return k(i) + i; } int h(int i) { return g(i) ^ 5; "
		 "}' | "
		 "cc -O1 -g -shared -fPIC -x c - -o %s",
		 path);
	if (system(command) || stat(path, &st))
		return -1;
	size = (size_t)st.st_size;
	good = malloc(size);
	f = fopen(path, "r");
	if (!f || !good || fread(good, 1, size, f) != size)
		return -1;
	return fclose(f);
}

static int remove_good(void **state)
{
	(void)state;
	free(good);
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_segments_outside),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_shrinks_while_open),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_strings_without_end),
	};

	return cmocka_run_group_tests(tests, make_good, remove_good);
}
