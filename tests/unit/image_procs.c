/* SPDX-License-Identifier: MIT */
/*
 * Procedures, lines, code and identity of files that are known: this test itself, copies of it that
 * objcopy made, and the C library.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "image/image.h"
#include "image/rows.h"

#define SELF "/proc/self/exe"

int known_global(int x);

static int known_line;

__attribute__((noinline)) int known_global(int x)
{
	known_line = __LINE__ + 1;
	return x * 3 + known_line;
}

__attribute__((noinline)) static int known_static(int x)
{
	return x ^ known_line ^ known_global(x);
}

static char dir[] = "/tmp/assay-image-XXXXXX";

static struct image *open_image(const char *path)
{
	struct err err = { 0 };
	struct image *im = image_open(path, path, &err);

	if (!im)
		fail_msg("%s", err.msg);
	return im;
}

static void run(const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command))
		fail_msg("failed: %s", command);
}

/* Where this very program was loaded, less where it says it wants to be. */
static uint64_t own_bias(void)
{
	Dl_info info;
	struct link_map *map;

	assert_true(
		dladdr1((void *)(uintptr_t)known_global, &info, (void **)&map, RTLD_DL_LINKMAP));
	return map->l_addr;
}

static uint64_t own_addr(int (*f)(int))
{
	return (uint64_t)(uintptr_t)f - own_bias();
}

static void test_own_procedures(void **state)
{
	struct image *im = open_image(SELF);
	const struct image_proc *p = image_proc_at(im, own_addr(known_global));

	(void)state;
	assert_non_null(p);
	assert_string_equal(p->name, "known_global");
	assert_int_equal(p->start, own_addr(known_global));
	assert_ptr_equal(image_proc_at(im, p->end - 1), p);
	assert_ptr_not_equal(image_proc_at(im, p->end), p);
	assert_ptr_equal(image_proc_named(im, "known_global"), p);
	p = image_proc_at(im, own_addr(known_static) + 1);
	assert_non_null(p);
	assert_string_equal(p->name, "known_static");
	assert_null(image_proc_at(im, UINT64_MAX));
	assert_null(image_proc_at(im, 0));
	assert_null(image_proc_named(im, "no such procedure"));
	assert_true(image_has_symbols(im));
	image_close(im);
}

static void check_order(struct image *im)
{
	const struct image_proc *p;
	size_t n = image_procs(im, &p);

	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(p[i].start < p[i].end);
		assert_true(!i || p[i - 1].end <= p[i].start);
		assert_true(p[i].name[0]);
		assert_ptr_equal(image_proc_at(im, p[i].start), &p[i]);
	}
}

static void test_own_lines(void **state)
{
	struct image *im = open_image(SELF);
	const struct image_proc *p = image_proc_named(im, "known_global");
	const char *file;
	int line, seen = 0;

	(void)state;
	known_global(1);
	for (uint64_t addr = p->start; addr < p->end; addr++) {
		assert_true(image_line(im, addr, &file, &line));
		assert_non_null(strstr(file, "image_procs.c"));
		assert_in_range(line, known_line - 3, known_line + 1);
		seen |= line == known_line;
	}
	assert_true(seen);
	assert_false(image_line(im, 0, &file, &line));
	assert_false(image_line(im, UINT64_MAX, &file, &line));
	image_close(im);
}

static void test_own_code(void **state)
{
	struct image *im = open_image(SELF);
	const struct image_segment *seg;
	unsigned segments = image_segments(im, &seg);
	size_t n;

	(void)state;
	assert_true(segments > 0);
	for (uint64_t at = 0; at < seg->size; at += n) {
		const uint8_t *code = image_code(im, seg->addr + at, &n);

		assert_non_null(code);
		assert_true(n >= IMAGE_CODE_MIN || n == seg->size - at);
		assert_memory_equal(code, (void *)(uintptr_t)(own_bias() + seg->addr + at), n);
	}
	/* Across the border of two pieces, and asked for again: the same bytes at the same place.
	 */
	for (uint64_t at = 1; at < seg->size && at < 1 << 18; at += 4093) {
		const uint8_t *first = image_code(im, seg->addr, &n);

		assert_ptr_equal(image_code(im, seg->addr + at, &n), first + at);
		assert_true(n >= IMAGE_CODE_MIN || n == seg->size - at);
	}
	assert_null(image_code(im, seg->addr + seg->size, &n));
	assert_null(image_code(im, seg->addr - 1, &n));
	assert_int_equal(n, 0);
	image_close(im);
}

static int (*const known_table[])(int) = { known_static, known_global };
static int known_number = 4711;

static void test_own_data(void **state)
{
	struct image *im = open_image(SELF);
	uint64_t at = (uint64_t)(uintptr_t)known_table - own_bias(), value = 0;
	uint64_t called[8];
	bool constant;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_true(image_data(im, at + 8 * i, &value, 8, &constant));
		assert_int_equal(value, own_addr(known_table[i]));
		assert_true(constant);
	}
	at = (uint64_t)(uintptr_t)&known_number - own_bias();
	value = 0;
	assert_true(image_data(im, at, &value, 4, &constant));
	assert_int_equal(value, 4711);
	assert_false(constant);
	at = (uint64_t)(uintptr_t)&known_line - own_bias();
	assert_false(image_data(im, at, &value, 4, &constant)); /* .bss: no bytes of the file */
	assert_false(image_data(im, UINT64_MAX - 3, &value, 4, &constant));
	assert_true(image_called(im, called, 8) > 1);
	assert_non_null(image_proc_at(im, called[0]));
	assert_string_equal(image_proc_at(im, called[0])->name, "_start");
	image_close(im);
}

static void test_identity(void **state)
{
	struct image *im = open_image(SELF), *copy;
	char path[256], expect[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/id", dir);
	run("objcopy --remove-section=.note.gnu.build-id %s %s", "/proc/$PPID/exe", path);
	copy = open_image(path);
	assert_string_not_equal(image_build_id(copy), image_build_id(im));
	assert_memory_equal(image_build_id(copy), "noid-", 5);
	snprintf(expect, sizeof(expect), "readelf -n /proc/$PPID/exe | grep -q 'Build ID: %s$'",
		 image_build_id(im));
	run("%s", expect);
	image_close(copy);
	image_close(im);
}

static void test_stripped(void **state)
{
	const struct image_proc *whole, *p;
	struct image *im = open_image(SELF), *stripped;
	char path[256], name[64];
	const char *file;
	int line;

	(void)state;
	snprintf(path, sizeof(path), "%s/stripped", dir);
	run("objcopy --strip-all /proc/$PPID/exe %s", path);
	stripped = open_image(path);
	whole = image_proc_named(im, "known_static");
	p = image_proc_at(stripped, own_addr(known_static));
	assert_non_null(p);
	assert_int_equal(p->start, whole->start);
	assert_int_equal(p->end, whole->end);
	snprintf(name, sizeof(name), "sub_%llx", (unsigned long long)p->start);
	assert_string_equal(p->name, name);
	assert_null(image_proc_named(stripped, "known_static"));
	assert_false(image_line(stripped, p->start, &file, &line));
	assert_string_equal(image_build_id(stripped), image_build_id(im));
	check_order(im);
	check_order(stripped);
	image_close(stripped);
	image_close(im);
}

static void test_no_section_headers(void **state)
{
	const struct image_proc *p;
	struct image *im;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/sectionless", dir);
	/* e_shoff, then e_shnum and e_shstrndx: zero. */
	run("objcopy --strip-all /proc/$PPID/exe %s && "
	    "dd if=/dev/zero of=%s bs=1 seek=40 count=8 conv=notrunc 2>&1 | grep -q . && "
	    "dd if=/dev/zero of=%s bs=1 seek=60 count=4 conv=notrunc 2>&1 | grep -q .",
	    path, path, path);
	im = open_image(path);
	p = image_proc_at(im, own_addr(known_static));
	assert_non_null(p);
	assert_int_equal(p->start, own_addr(known_static));
	assert_false(image_has_symbols(im));
	image_close(im);
}

static void test_debug_link(void **state)
{
	struct image *im;
	const struct image_proc *p;
	const char *file;
	int line;

	(void)state;
	run("cd %s && objcopy --only-keep-debug /proc/$PPID/exe linked.debug && "
	    "objcopy --strip-all --add-gnu-debuglink=linked.debug /proc/$PPID/exe linked",
	    dir);
	run("cd %s && objcopy --remove-section=.note.gnu.build-id linked crc", dir);
	for (int i = 0; i < 2; i++) { /* identified by build-id, by checksum */
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", dir, i ? "crc" : "linked");
		im = open_image(path);
		p = image_proc_at(im, own_addr(known_static));
		assert_non_null(p);
		assert_string_equal(p->name, "known_static");
		assert_true(image_line(im, p->start, &file, &line));
		assert_non_null(strstr(file, "image_procs.c"));
		image_close(im);
	}
	run("cd %s && printf x >>linked.debug", dir);
	run("cd %s && objcopy --only-keep-debug /bin/sh linked.debug 2>/dev/null", dir);
	for (int i = 0; i < 2; i++) { /* a debug file of another program is not taken */
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", dir, i ? "crc" : "linked");
		im = open_image(path);
		assert_null(image_proc_named(im, "known_static"));
		image_close(im);
	}
}

static void test_c_library(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	const struct image_proc *p;
	struct link_map *map;
	struct image *im;
	static const char *const names[] = { "malloc", "free", "printf", "getpid", "qsort" };

	(void)state;
	assert_non_null(libc);
	assert_int_equal(dlinfo(libc, RTLD_DI_LINKMAP, &map), 0);
	im = open_image(map->l_name);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t addr = (uint64_t)(uintptr_t)dlsym(libc, names[i]) - map->l_addr;

		p = image_proc_named(im, names[i]);
		assert_non_null(p);
		assert_int_equal(p->start, addr);
		assert_ptr_equal(image_proc_at(im, addr), p);
		assert_true(p->end > addr && p->end < addr + 0x10000);
	}
	p = image_proc_named(im, "malloc");
	assert_string_equal(p->name, "malloc");
	p = image_proc_named(im, "__libc_malloc"); /* another name of it */
	assert_non_null(p);
	assert_string_equal(p->name, "malloc");
	check_order(im);
	image_close(im);
	dlclose(libc);
}

static void test_plt(void **state)
{
	struct image *im;
	const struct image_proc *p;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/plt", dir);
	run("printf 'int puts(const char *); int main(void) { return puts(\"x\"); }' | "
	    "cc -O2 -fno-lto -fcf-protection=none -Wl,-z,lazy -x c - -o %s",
	    path);
	for (int i = 0; i < 2; i++) {
		size_t n;
		const uint8_t *code;

		im = open_image(path);
		p = image_proc_named(im, "puts@plt");
		assert_non_null(p);
		assert_int_equal(p->end - p->start, 16);
		code = image_code(im, p->start, &n);
		assert_int_equal(code[0], 0xff); /* jmp *GOT(%rip) */
		assert_int_equal(code[1], 0x25);
		check_order(im);
		image_close(im);
		run("strip %s", path);
	}
	run("printf 'int puts(const char *); int main(void) { return puts(\"x\"); }' | "
	    "cc -O2 -fno-lto -fcf-protection=full -Wl,-z,now -Wl,-z,ibtplt -x c - -o %s",
	    path);
	im = open_image(path);
	p = image_proc_named(im, "puts@plt");
	assert_non_null(p);
	check_order(im);
	image_close(im);
}

/* Nested, overlapping, unsized, aliased, and named so that a terminal would obey. */
static void test_overlaps(void **state)
{
	static const char source[] =
		".text\n"
		".globl outer\n.type outer,@function\nouter:\n .fill 16,1,0x90\n"
		".globl inner\n.type inner,@function\ninner:\n .fill 16,1,0x90\n.size inner,16\n"
		"local:\n.type local,@function\n .fill 16,1,0x90\n.size local,16\n"
		" .fill 16,1,0x90\n.size outer,64\n"
		".globl __alias\n.globl alias\n.type __alias,@function\n.type alias,@function\n"
		"__alias: alias:\n .fill 8,1,0x90\n.size alias,8\n.size __alias,8\n"
		".globl unsized\nunsized:\n .fill 8,1,0x90\n"
		".globl \"bad\033[2Jname\"\n\"bad\033[2Jname\":\n .fill 8,1,0x90\n"
		".globl last\n.type last,@function\nlast: ret\n.size last,1\n"
		/* two unwind ranges, 16 bytes each: one symbol reaches into the second */
		".balign 16\n.globl wide\n.type wide,@function\n"
		"wide: .cfi_startproc\n .fill 16,1,0x90\n.cfi_endproc\n"
		".cfi_startproc\n .fill 8,1,0x90\n.size wide,24\n .fill 4,1,0x90\n"
		".globl after\n.type after,@function\nafter: .fill 4,1,0x90\n.size after,4\n"
		".cfi_endproc\n";
	static const struct {
		uint64_t at, end;
		const char *name;
	} expect[] = {
		{ 0, 16, "outer" },    { 16, 32, "inner" },   { 32, 64, "outer" },
		{ 64, 72, "alias" },   { 72, 80, "unsized" }, { 80, 88, "bad?[2Jname" },
		{ 88, 89, "last" },    { 96, 120, "wide" },   { 120, 124, NULL },
		{ 124, 128, "after" },
	};
	const struct image_proc *p;
	struct image *im;
	char path[256];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/overlaps.s", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	run("cd %s && cc -shared -nostdlib -o overlaps overlaps.s", dir);
	snprintf(path, sizeof(path), "%s/overlaps", dir);
	im = open_image(path);
	assert_int_equal(image_procs(im, &p), sizeof(expect) / sizeof(*expect));
	for (size_t i = 0; i < sizeof(expect) / sizeof(*expect); i++) {
		if (expect[i].name)
			assert_string_equal(p[i].name, expect[i].name);
		else
			assert_memory_equal(p[i].name, "sub_", 4);
		assert_int_equal(p[i].start - p[0].start, expect[i].at);
		assert_int_equal(p[i].end - p[0].start, expect[i].end);
	}
	image_close(im);
}

/* A stripped program with the table of procedures of Go: three of 32 bytes, of which a symbol names the last one, too. */
static void test_go(void **state)
{
	static const char source[] =
		".text\n .fill 64,1,0x90\n"
		".globl symbol\n.type symbol,@function\nsymbol: .fill 32,1,0x90\n.size symbol,32\n"
		".section .gopclntab,\"a\"\n"
		"table: .long 0xfffffff1\n.byte 0,0,1,8\n.quad 3,1,0\n"
		".quad names-table, units-table, files-table, values-table, places-table\n"
		"names: .asciz \"\"\nfirst: .asciz \"main.first\"\nsecond: .asciz "
		"\"main.\\033[2J\"\n"
		"third: .asciz \"main.third\"\nunits: .long 0, file-files\n"
		"files: .asciz \"wrong.go\"\nfile: .asciz \"made/main.go\"\n"
		"values: .byte 0\nroom: .byte 2,32,0\nfile_0: .byte 2,32,0\n"
		"lines: .byte 16,4,4,28,0\n"
		"places: .long 0,r1-places, 32,r2-places, 64,r3-places, 96\n"
		".macro record place, name, unit\n"
		".long \\place, \\name-names, 0, 0, room-values, file_0-values, lines-values, 0, "
		"\\unit, 0\n"
		".endm\n"
		"r1: record 0, first, 1\nr2: record 32, second, 2\nr3: record 64, third, 0\n";
	static const char *const names[] = { "main.first", "main.?[2J", "symbol" };
	const struct image_proc *p;
	struct image *im;
	char path[256];
	const char *file;
	FILE *f;
	int line;

	(void)state;
	snprintf(path, sizeof(path), "%s/go.s", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	run("cd %s && cc -shared -nostdlib -o go go.s && strip go", dir);
	snprintf(path, sizeof(path), "%s/go", dir);
	im = open_image(path);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(image_procs(im, &p), 3);
		for (size_t i = 0; i < 3; i++) {
			assert_string_equal(p[i].name, names[i]);
			assert_int_equal(p[i].start, p[0].start + 32 * i);
			assert_int_equal(p[i].end, p[i].start + 32);
		}
		assert_ptr_equal(image_proc_named(im, "main.first"), &p[0]);
		image_forget_names(im);
		assert_true(image_read_names(im));
	}
	assert_int_equal(image_procs(im, &p), 3);
	assert_true(image_has_symbols(im));
	assert_true(image_line(im, p[0].start + 3, &file, &line));
	assert_string_equal(file, "made/main.go");
	assert_int_equal(line, 7);
	assert_true(image_line(im, p[0].start + 4, &file, &line));
	assert_int_equal(line, 9);
	assert_true(image_line(im, p[2].start, &file, &line));
	assert_string_equal(file, "wrong.go");
	assert_false(image_line(im, p[1].start, &file,
				&line)); /* the unit is beyond the table of them */
	assert_false(image_line(im, p[2].end, &file, &line));
	image_close(im);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	run("rm -r %s", dir);
	return 0;
}

/* Whether the two rows are the same. */
static bool same_rows(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->start == b->start && a->end == b->end &&
	       !memcmp(&a->rule, &b->rule, sizeof(a->rule));
}

/* Copies of code and unwind information that are forgotten are read again, with the same content. */
static void test_copies(void **state)
{
	struct image *im = open_image(SELF);
	uint64_t at = own_addr(known_global);
	struct unwind_row before = { 0 }, after = { 0 };
	uint8_t code[IMAGE_CODE_MIN];
	const uint8_t *p;
	size_t n;

	(void)state;
	assert_int_equal(image_copies_bytes(im), 0);
	rows_at(im, at, &before);
	p = image_code(im, at, &n);
	assert_true(before.rule.kind != RULE_NONE && p && n >= sizeof(code));
	memcpy(code, p, sizeof(code));
	assert_true(image_copies_bytes(im) >= n);
	for (int i = 0; i < 2; i++) {
		image_forget_copies(im);
		assert_int_equal(image_copies_bytes(im), 0);
	}
	p = image_code(im, at, &n);
	assert_true(p && n >= sizeof(code) && !memcmp(p, code, sizeof(code)));
	rows_at(im, at, &after);
	assert_true(same_rows(&before, &after));
	image_close(im);
}

/* Unwind rules are found wherever the linker puts the table that .eh_frame is searched by: GNU ld before it, gold behind it. */
static void test_table_behind(void **state)
{
	static const char *const linkers[] = { "bfd", "gold" };
	static const char *const names[] = { "first", "second", "third" };
	struct unwind_row row[2][3] = { 0 };
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/rules.s", dir);
	run("for f in first second third; do echo \".globl $f\n.type $f, @function\n$f: "
	    ".cfi_startproc\n"
	    "push %%rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %%rbp, -16\npop %%rbp\n"
	    ".cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size $f, .-$f\"; done > %s",
	    path);
	for (int i = 0; i < 2; i++) {
		struct image *im;

		run("cd %s && cc -shared -nostdlib -fuse-ld=%s -o rules rules.s", dir, linkers[i]);
		snprintf(path, sizeof(path), "%s/rules", dir);
		im = open_image(path);
		for (int k = 0; k < 3; k++) {
			const struct image_proc *p = image_proc_named(im, names[k]);

			assert_non_null(p);
			rows_at(im, p->start + 1, &row[i][k]);
			assert_int_equal(row[i][k].start, p->start + 1);
			assert_int_equal(row[i][k].end, p->start + 2);
		}
		image_close(im);
	}
	for (int k = 0; k < 3; k++) {
		assert_int_not_equal(row[0][k].rule.kind, RULE_NONE);
		assert_memory_equal(&row[0][k].rule, &row[1][k].rule, sizeof(row[0][k].rule));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_procedures),
		cmocka_unit_test(test_own_lines),
		cmocka_unit_test(test_own_code),
		cmocka_unit_test(test_own_data),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_no_section_headers),
		cmocka_unit_test(test_debug_link),
		cmocka_unit_test(test_c_library),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_table_behind),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
