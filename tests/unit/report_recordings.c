/* SPDX-License-Identifier: MIT */
/*
 * Made-up recordings, read back and put in order. With arguments it writes them for tests/cli/readings.t:
 *   report_recordings DIR [ELF [stall]]
 *   report_recordings DIR many                      the recording of a million different stacks alone
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "x86/insn.h"
#include "query/lookup.h"
#include "query/view.h"
#include "store/recording.h"
#include "support/recordings.h"

static struct profile profile;
static struct binaries binaries;
static struct view view;
static struct err err;

static void see(void (*fill)(struct profile *))
{
	assert_int_equal(profile_init(&profile, &err), 0);
	fill(&profile);
	assert_int_equal(binaries_init(&binaries, &profile, NULL, &err), 0);
	assert_int_equal(view_open(&view, &profile, &binaries, &err), 0);
}

static void unsee(void)
{
	view_fini(&view);
	binaries_fini(&binaries);
	profile_fini(&profile);
}

static const struct view_proc *proc_named(const char *name)
{
	for (size_t i = 0; i < view.nproc; i++)
		if (!strcmp(view.proc[i].name, name))
			return &view.proc[i];
	fail_msg("no procedure %s", name);
	return NULL;
}

static void test_sums(void **state)
{
	(void)state;
	see(recordings_squeeze);
	assert_int_equal(view.sum.samples, 1000);
	assert_int_equal(proc_named("longest_match")->sum.samples, 800);
	assert_int_equal(proc_named("longest_match")->n, 8);
	assert_int_equal(proc_named("deflate")->sum.samples, 120);
	assert_int_equal(proc_named("deflate")->sum.observed, 720);
	assert_int_equal(proc_named("clear_page_erms")->sum.samples, 30);
	assert_true(view_share(&view, proc_named("longest_match")->sum.time) == 0.8);
	unsee();
}

static void test_what_no_procedure_covers(void **state)
{
	(void)state;
	see(recordings_squeeze);
	assert_int_equal(proc_named("[stripped]")->sum.samples, 7);
	assert_int_equal(proc_named("[stripped]")->n, 0);
	assert_int_equal(proc_named("[generated code]")->sum.samples, 6);
	assert_int_equal(proc_named("[unknown]")->sum.samples, 5);
	assert_int_equal(proc_named("sub_1200")->sum.samples, 20);
	unsee();
}

static void test_sites_in_order(void **state)
{
	(void)state;
	see(recordings_squeeze);
	for (size_t i = 1; i < view.n; i++)
		assert_true(view.site[i - 1]->id.image < view.site[i]->id.image ||
			    view.site[i - 1]->id.addr < view.site[i]->id.addr);
	unsee();
}

static void test_lookup(void **state)
{
	(void)state;
	see(recordings_squeeze);
	assert_ptr_equal(lookup_proc(&view, NULL, NULL, &err), proc_named("longest_match"));
	assert_ptr_equal(lookup_proc(&view, NULL, "libz*", &err), proc_named("sub_1200"));
	assert_ptr_equal(lookup_proc(&view, "deflate", NULL, &err), proc_named("deflate"));
	assert_ptr_equal(lookup_proc(&view, "def*", NULL, &err), proc_named("deflate"));
	assert_ptr_equal(lookup_proc(&view, "0x4007", NULL, &err), proc_named("deflate"));
	assert_null(lookup_proc(&view, "0x5000", NULL, &err));
	assert_int_equal(err.code, ERR_EMPTY);
	assert_null(lookup_proc(&view, "deflaet", NULL, &err));
	assert_int_equal(err.code, ERR_EMPTY);
	assert_non_null(strstr(err.hint, "'deflate'"));
	assert_null(lookup_proc(&view, "longest", NULL, &err));
	assert_non_null(strstr(err.hint, "'longest_match'"));
	assert_null(lookup_proc(&view, "*e*", NULL, &err));
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.hint, "0x4000 in squeeze (12.0 %)"));
	assert_null(lookup_proc(&view, "deflate", "libz*", &err));
	assert_int_equal(err.code, ERR_EMPTY);
	unsee();
}

static void test_of_one_name(void **state)
{
	struct profile_proc *first;

	(void)state;
	see(recordings_squeeze);
	first = &profile.image[proc_named("deflate")->image]->proc[0];
	view_fini(&view);
	free(first->name);
	first->name = strdup("deflate");
	assert_int_equal(view_open(&view, &profile, &binaries, &err), 0);
	assert_null(lookup_proc(&view, "deflate", NULL, &err));
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.hint, "0x3000 in squeeze"));
	unsee();
}

static void test_units_that_differ_count_samples(void **state)
{
	(void)state;
	assert_int_equal(profile_init(&profile, &err), 0);
	recordings_squeeze(&profile);
	recordings_kernel(&profile);
	free(profile.run[1].unit);
	profile.run[1].unit = strdup("cycles");
	assert_int_equal(binaries_init(&binaries, &profile, NULL, &err), 0);
	assert_int_equal(view_open(&view, &profile, &binaries, &err), 0);
	assert_true(view.by_samples);
	assert_true(view.sum.time == 1040);
	unsee();
}

static void test_tables_that_lie(void **state)
{
	(void)state;
	assert_int_equal(profile_init(&profile, &err), 0);
	recordings_squeeze(&profile);
	/* unsorted, overlapping, empty, huge */
	profile.image[1]->proc[0].end = UINT64_MAX;
	profile.image[1]->proc[1].start = 0x5000;
	profile.image[1]->proc[2].end = 0;
	assert_int_equal(binaries_init(&binaries, &profile, NULL, &err), 0);
	assert_int_equal(view_open(&view, &profile, &binaries, &err), 0);
	assert_int_equal(view.sum.samples, 1000);
	unsee();
}

static void write_one(const char *dir, const char *name, void (*fill)(struct profile *))
{
	struct profile p;
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (profile_init(&p, &err))
		exit(1);
	fill(&p);
	if (recording_write(path, &p, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	profile_fini(&p);
}

static const char *elf;

static void fill_elf(struct profile *p)
{
	recordings_elf(p, elf, true);
}

static void fill_killed(struct profile *p)
{
	recordings_elf(p, elf, false);
}

static void fill_stall(struct profile *p)
{
	recordings_stall(p, elf, "AMD EPYC 9654");
}

static void fill_counts(struct profile *p)
{
	recordings_stall_counts(p, elf, -1);
}

/* Of all that fill_counts has, only the last instruction. */
static void fill_hardly(struct profile *p)
{
	const struct site *s, *last = NULL;
	const struct profile_image *pi;
	struct profile all;

	if (profile_init(&all, &err))
		exit(1);
	fill_counts(&all);
	SITES_EACH(&all.sites, s)
	last = last && last->id.addr > s->id.addr ? last : s;
	pi = all.image[last->id.image];
	recordings_run(p, "exact", "stall")->n.processes = 1;
	recordings_site(p, profile_image(p, pi->kind, pi->path, pi->build_id)->id, last->id.addr,
			last->cls, last->observed, last->taken);
	profile_fini(&all);
}

static void fill_missed(struct profile *p)
{
	recordings_stall_counts(p, elf, 2);
}

static void fill_strange(struct profile *p)
{
	recordings_stall(p, elf, "Brand New 9000");
}

static void fill_big(struct profile *p)
{
	recordings_big(p, 200000);
}

/* What a page, a table of names or a line of text could take for its own. */
static void fill_stacks(struct profile *p)
{
	recordings_stacks(p, "</script><img src=x onerror=alert(1)>;\"'`&${x}\\\n\x1b[31m");
}

/* As above, and 300 samples more in the innermost procedure of its second one. */
static void fill_slower_stacks(struct profile *p)
{
	const uint32_t frame = (fill_stacks(p), p->stacks.sample[1].frame);
	struct site *s = recordings_site(p, 1, 0x1208, INSN_OTHER, 1, 0);

	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(stacks_add(&p->stacks, frame, 0, i * 500000ull, 1, 1e6), 0);
	s->samples += 300;
	s->time += 300e6;
	p->run[0].n.samples += 300;
	p->run[0].n.program_ns += 300000000;
}

static void fill_plain_stacks(struct profile *p)
{
	recordings_stacks(p, "fill_window");
}

static void fill_blanks(struct profile *p)
{
	fill_plain_stacks(p);
	free(p->image[1]->path);
	p->image[1]->path = strdup("/usr/bin/with a blank");
}

static int write_all(const char *dir)
{
	write_one(dir, "stacks.db", fill_plain_stacks);
	write_one(dir, "hostile.db", fill_stacks);
	write_one(dir, "blanks.db", fill_blanks);
	write_one(dir, "slower.db", fill_slower_stacks);
	write_one(dir, "squeeze.db", recordings_squeeze);
	write_one(dir, "kernel.db", recordings_kernel);
	write_one(dir, "empty.db", recordings_empty);
	write_one(dir, "big.db", fill_big);
	write_one(dir, "forest.db", recordings_forest);
	if (elf) {
		write_one(dir, "elf.db", fill_elf);
		write_one(dir, "killed.db", fill_killed);
	}
	return 0;
}

static void fill_many_stacks(struct profile *p)
{
	recordings_many_stacks(p, 20);
}

/* Those of tests/cli/culprits.t. */
static int write_stalls(const char *dir)
{
	write_one(dir, "stall.db", fill_stall);
	write_one(dir, "counts.db", fill_counts);
	write_one(dir, "hardly.db", fill_hardly);
	write_one(dir, "missed.db", fill_missed);
	write_one(dir, "exact.db", recordings_exact);
	write_one(dir, "strange.db", fill_strange);
	write_one(dir, "empty.db", recordings_empty);
	write_one(dir, "squeeze.db", recordings_squeeze);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_what_no_procedure_covers),
		cmocka_unit_test(test_sites_in_order),
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_of_one_name),
		cmocka_unit_test(test_units_that_differ_count_samples),
		cmocka_unit_test(test_tables_that_lie),
	};

	elf = argc > 2 ? argv[2] : NULL;
	if (argc > 3)
		return write_stalls(argv[1]);
	if (argc > 2 && !strcmp(argv[2], "many")) {
		write_one(argv[1], "many.db", fill_many_stacks);
		return 0;
	}
	if (argc > 1)
		return write_all(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
