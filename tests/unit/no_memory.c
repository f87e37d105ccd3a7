/* SPDX-License-Identifier: MIT */
/* Recordings, readings, exports, images and lists without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cfg/cfg.h"
#include "cfg/code.h"
#include "export/export.h"
#include "html/html.h"
#include "image/image.h"
#include "image/maps.h"
#include "query/view.h"
#include "report/annotate.h"
#include "report/calltree.h"
#include "report/children.h"
#include "report/reuse.h"
#include "report/values.h"
#include "report/why.h"
#include "report/wset.h"
#include "sketch/hot.h"
#include "store/recording.h"
#include "support/no_memory.h"
#include "support/recordings.h"

static char dir[64], squeeze[96], stacks[96], phases[96], wset[96], big[96], elf[96], program[96];

static void write_one(char *path, size_t n, const char *name, void (*fill)(struct profile *))
{
	struct profile p;
	struct err err;

	snprintf(path, n, "%s/%s.db", dir, name);
	assert_int_equal(profile_init(&p, &err), 0);
	fill(&p);
	assert_int_equal(recording_write(path, &p, &err), 0);
	profile_fini(&p);
}

static void fill_stacks(struct profile *p)
{
	recordings_squeeze(p);
	recordings_stacks(p, "worker");
}

static void fill_big(struct profile *p)
{
	recordings_big(p, 400);
}

static void fill_elf(struct profile *p)
{
	recordings_elf(p, program, true);
}

/* A program with debug information, in which `match` has inlined calls. */
static void compile(void)
{
	char source[128], command[256];
	FILE *f;

	snprintf(source, sizeof(source), "%s/program.c", dir);
	snprintf(program, sizeof(program), "%s/program", dir);
	f = fopen(source, "w");
	assert_non_null(f);
	fputs("static inline __attribute__((always_inline)) long twice(const long *p)\n"
	      "{\n\treturn p[0] * p[1];\n}\n"
	      "__attribute__((noinline)) long match(const long *p, long n)\n"
	      "{\n\treturn twice(p) > n ? twice(p + 2) : n;\n}\n"
	      "void _start(void)\n"
	      "{\n\tlong a[4] = { 1, 2, 3, 4 };\n\n\tmatch(a, 5);\n\t__builtin_trap();\n}\n",
	      f);
	assert_int_equal(fclose(f), 0);
	snprintf(command, sizeof(command), "gcc -g -O1 -nostdlib -static -o %s %s", program,
		 source);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	(void)state;
	count_libraries();
	snprintf(dir, sizeof(dir), "/tmp/assay-no-memory.XXXXXX");
	assert_non_null(mkdtemp(dir));
	write_one(squeeze, sizeof(squeeze), "squeeze", recordings_squeeze);
	write_one(stacks, sizeof(stacks), "stacks", fill_stacks);
	write_one(phases, sizeof(phases), "phases", recordings_phases);
	write_one(wset, sizeof(wset), "wset", recordings_wset);
	write_one(big, sizeof(big), "big", fill_big);
	compile();
	write_one(elf, sizeof(elf), "elf", fill_elf);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* How much a profile holds, and how long its names are. */
static size_t amount(const struct profile *p)
{
	size_t n = p->sites.n + p->nrun + p->nwset + p->nphases + p->stacks.nsample;
	const struct site *s;

	for (size_t i = 0; i < p->nimage; i++)
		n += strlen(p->image[i]->path) + p->image[i]->nproc;
	for (size_t i = 0; i < p->nrun; i++)
		n += strlen(p->run[i].command) + p->run[i].n.samples;
	SITES_EACH(&p->sites, s)
	n += s->observed;
	return n;
}

/* With a failing allocation, reading a recording either fails with an error, or gives all of the recording. */
static bool read_one(const char *path, struct err *err)
{
	static const char *last;
	static size_t all;
	struct profile p;
	bool ok;

	if (last != path) {
		unsigned long kept = left;

		left = 0;
		assert_int_equal(profile_init(&p, err), 0);
		assert_int_equal(recording_read(path, &p, err), 0);
		all = amount(&p);
		profile_fini(&p);
		last = path;
		left = kept;
	}
	if (profile_init(&p, err))
		return false;
	ok = !recording_read(path, &p, err);
	if (ok)
		assert_int_equal(amount(&p), all);
	profile_fini(&p);
	return ok;
}

static bool read_squeeze(struct err *err)
{
	return read_one(squeeze, err);
}
static bool read_stacks(struct err *err)
{
	return read_one(stacks, err);
}
static bool read_phases(struct err *err)
{
	return read_one(phases, err);
}
static bool read_wset(struct err *err)
{
	return read_one(wset, err);
}
static bool read_big(struct err *err)
{
	return read_one(big, err);
}

static void recordings_are_read(void **state)
{
	(void)state;
	assert_true(try_all(read_squeeze) > 0);
	assert_true(try_all(read_stacks) > 0);
	assert_true(try_all(read_phases) > 0);
	assert_true(try_all(read_wset) > 0);
	assert_true(try_all(read_big) > 0);
}

static struct profile profile;

/* Merges into an empty profile. */
static bool merge(struct err *err)
{
	struct profile p;
	bool ok;

	if (profile_init(&p, err))
		return false;
	ok = !profile_merge(&p, &profile, err);
	profile_fini(&p);
	return ok;
}

static bool write_again(struct err *err)
{
	char path[96];
	bool ok;

	snprintf(path, sizeof(path), "%s/again.db", dir);
	ok = !recording_write(path, &profile, err);
	unlink(path);
	return ok;
}

static bool view(struct err *err)
{
	struct binaries b;
	struct view v;
	bool ok = !binaries_init(&b, &profile, NULL, err);

	if (!ok)
		return false;
	ok = !view_open(&v, &profile, &b, err);
	if (ok)
		view_fini(&v);
	binaries_fini(&b);
	return ok;
}

static bool tree(struct err *err)
{
	struct calltree t;

	if (calltree_open(&t, &profile, err))
		return false;
	calltree_close(&t);
	return true;
}

static const struct export_format *format;

static void no_note(const char *fmt, ...)
{
	(void)fmt;
}

static bool export(struct err *err)
{
	struct export_options o = { 0 };
	struct export x = { .profile = &profile, .o = &o, .note = no_note };
	bool ok;

	x.out = fopen("/dev/null", "w");
	assert_non_null(x.out);
	ok = !export_write(&x, format, err);
	fclose(x.out);
	return ok;
}

/* Formats of one image want the program's file; some formats want exact recordings, or stacks. */
static unsigned try_exports(void)
{
	unsigned n = 0;

	for (const struct export_format *const *f = export_formats; *f; f++) {
		struct err err = { 0 };

		format = *f;
		if (!format->of_image && export(&err)) {
			assert_true(try_all(export) > 0);
			n++;
		}
	}
	return n;
}

static void of_profile(void (*fill)(struct profile *), unsigned exports)
{
	struct err err;

	assert_int_equal(profile_init(&profile, &err), 0);
	fill(&profile);
	assert_true(try_all(merge) > 0);
	assert_true(try_all(write_again) > 0);
	assert_true(try_all(view) > 0);
	if (exports)
		assert_int_equal(try_exports(), exports);
	if (profile.stacks.nsample)
		assert_true(try_all(tree) > 0);
	profile_fini(&profile);
}

static void profiles_are_merged_viewed_and_exported(void **state)
{
	(void)state;
	of_profile(fill_stacks, 5);
	of_profile(recordings_exact, 5);
	of_profile(recordings_phases, 0);
	of_profile(recordings_wset, 0);
}

static const char *input, *other;
static struct reading_options options = { .verb = "test" };

/* Readings are opened without a failure: reading has a test of its own. */
static void open_reading(struct reading *r, const char *path)
{
	unsigned long kept = left;
	struct err err;

	left = 0;
	options.input = path;
	assert_int_equal(reading_open(r, &options, &err), 0);
	left = kept;
}

static int (*print)(struct reading *r, struct err *err);

static bool print_reading(struct err *err)
{
	struct reading r;
	bool ok;

	open_reading(&r, input);
	ok = !print(&r, err);
	reading_close(&r, ok ? err : NULL);
	return ok && !err->code;
}

static int print_annotated(struct reading *r, struct err *err)
{
	return annotate_print(r, &(struct annotate_options){ .full = true, .all = true }, err);
}

static int print_children(struct reading *r, struct err *err)
{
	return children_print(r, &(struct children_options){ 0 }, err);
}

static int print_values(struct reading *r, struct err *err)
{
	return values_print(r, &(struct values_options){ .all = true }, err);
}

static int print_why(struct reading *r, struct err *err)
{
	return why_print(r, &(struct why_options){ 0 }, err);
}

static int print_wset(struct reading *r, struct err *err)
{
	return wset_print(r, &(struct wset_options){ .height = 8 }, err);
}

static int print_page(struct reading *r, struct err *err)
{
	return html_write(r, &(struct html_options){ .procedures = 4, .megabytes = 3 }, stdout,
			  err);
}

static bool print_difference(struct err *err)
{
	struct reading r[2];
	struct diff_side side[2] = { { &r[0], 1 }, { &r[1], 1 } };
	bool ok;

	open_reading(&r[0], input);
	open_reading(&r[1], other);
	ok = !html_diff_write(side, &(struct diff_options){ 0 }, stdout, err);
	reading_close(&r[1], NULL);
	reading_close(&r[0], NULL);
	return ok;
}

static void try_print(const char *path, int (*how)(struct reading *, struct err *))
{
	input = path;
	print = how;
	try_all(print_reading);
}

static void readings_are_printed(void **state)
{
	FILE *out = stdout;

	(void)state;
	fflush(out);
	stdout = fopen("/dev/null", "w");
	assert_non_null(stdout);
	for (options.json = 0;; options.json = 1) {
		try_print(elf, print_annotated);
		try_print(elf, print_why);
		try_print(squeeze, print_values);
		try_print(stacks, print_children);
		try_print(wset, print_wset);
		if (options.json)
			break;
	}
	options.json = false;
	try_print(elf, print_page);
	try_print(stacks, print_page);
	input = stacks;
	other = stacks;
	try_all(print_difference);
	fclose(stdout);
	stdout = out;
}

/* A list of values that grows to its capacity, is thinned, and merged. */
static bool use_list(enum hot_method method, struct err *err)
{
	struct hot *a = hot_new(method, 64), *b = hot_new(method, 8);
	bool ok = a && b;

	for (uint64_t i = 0; ok && i < 300; i++)
		ok = !hot_add(a, i % 97, 1) && !hot_add(b, i % 7, 2);
	ok = ok && !hot_merge(a, b);
	hot_free(a);
	hot_free(b);
	return ok || !err_no_memory(err, "a list");
}

static bool use_counting(struct err *err)
{
	return use_list(HOT_COUNTING, err);
}

static bool use_space_saving(struct err *err)
{
	return use_list(HOT_SPACE_SAVING, err);
}

static void lists_grow(void **state)
{
	(void)state;
	assert_true(try_all(use_counting) > 0);
	assert_true(try_all(use_space_saving) > 0);
}

static bool open_image(struct err *err)
{
	struct image *im = image_open(program, program, err);
	struct image_inline found[IMAGE_INLINES_MAX];
	const struct image_proc *proc;
	bool ok = im;
	size_t n = im ? image_procs(im, &proc) : 0;
	const char *file;
	int line;

	for (size_t i = 0; i < n; i++)
		for (uint64_t at = proc[i].start; at < proc[i].end; at++) {
			image_line(im, at, &file, &line);
			image_inlines(im, at, found, IMAGE_INLINES_MAX);
		}
	image_close(im);
	return ok;
}

static bool parse_maps(struct err *err)
{
	struct maps m = { 0 };
	bool ok = !maps_parse(&m,
			      "00400000-00401000 r-xp 00000000 08:01 7      /usr/bin/a\n"
			      "00401000-00402000 r-xp 00001000 08:01 7      /usr/bin/a\n"
			      "00600000-00601000 r-xp 00000000 08:01 8      /usr/lib/b (deleted)\n",
			      err);

	maps_fini(&m);
	return ok;
}

/* The graphs of the program's procedures. */
static bool build_graph(struct err *err)
{
	struct image *im = image_open(program, program, err);
	struct cfg_code *code = im ? cfg_code_new(im, err) : NULL;
	struct cfg g = { 0 };
	const struct image_proc *proc;
	size_t n = code ? image_procs(im, &proc) : 0;
	bool ok = code;

	for (size_t i = 0; ok && i < n && i < 8; i++) {
		ok = !cfg_build(&g, code, proc[i].start, NULL, err);
		cfg_fini(&g);
	}
	cfg_code_free(code);
	image_close(im);
	return ok;
}

static void parsers(void **state)
{
	(void)state;
	assert_true(try_all(open_image) > 0);
	assert_true(try_all(parse_maps) > 0);
	assert_true(try_all(build_graph) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings_are_read),
		cmocka_unit_test(profiles_are_merged_viewed_and_exported),
		cmocka_unit_test(readings_are_printed),
		cmocka_unit_test(lists_grow),
		cmocka_unit_test(parsers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
