/* SPDX-License-Identifier: MIT */
/* Profiles: windows in, counters and hot values out; merging is as if one had seen all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "x86/insn.h"
#include "observe/profile.h"
#include "observe/scale.h"

#define LENGTH 8

static struct err err;
static uint64_t state = 3;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static struct site_id at(uint32_t image, uint64_t addr)
{
	return (struct site_id){ .image = image, .addr = addr };
}

/* n instructions of 4 bytes from addr on, going round after `loop` of them. */
static struct window window_of(struct retired *ri, uint32_t image, uint64_t addr, uint32_t n,
			       uint32_t loop)
{
	memset(ri, 0, n * sizeof(*ri));
	for (uint32_t i = 0; i < n; i++) {
		ri[i].site = at(image, addr + 4 * (i % loop));
		ri[i].len = 4;
	}
	return (struct window){ .weight = 1, .n = n, .start = at(image, addr), .ri = ri };
}

static const struct site *site_at(const struct profile *p, uint32_t image, uint64_t addr)
{
	const struct site *s = profile_site_find(p, at(image, addr));

	assert_non_null(s);
	return s;
}

/* A rare window, and the end of one that went on through new code: observed, and next to nothing besides. */
static void test_rare_windows(void **unused)
{
	struct retired ri[LENGTH];
	struct profile p;
	struct window w;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	p.branches = true;
	w = window_of(ri, 0, 0x100, 3, 3);
	w.rare = true;
	assert_int_equal(profile_window(&p, &w), 0);
	assert_int_equal(site_at(&p, 0, 0x100)->samples, 0);
	assert_true(site_at(&p, 0, 0x100)->time == 0);
	assert_int_equal(site_at(&p, 0, 0x104)->observed, 1);
	assert_int_equal(site_at(&p, 0, 0x104)->windows, 1);
	assert_true(site_weights(site_at(&p, 0, 0x104)).observed == PROFILE_RARE_WEIGHT);
	w = window_of(ri, 0, 0x200, 4, 4);
	w.extra = 2;
	assert_int_equal(profile_window(&p, &w), 0);
	assert_int_equal(site_at(&p, 0, 0x200)->samples, 1);
	assert_true(site_weights(site_at(&p, 0, 0x204)).observed > 0.5);
	assert_true(site_weights(site_at(&p, 0, 0x208)).observed == PROFILE_RARE_WEIGHT);
	assert_int_equal(site_at(&p, 0, 0x20c)->observed, 1);
	profile_fini(&p);
}

static void test_window(void **unused)
{
	struct retired ri[LENGTH];
	struct profile p;
	struct window w;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	w = window_of(ri, 0, 0x100, 3, 3);
	w.weight = 1003009.5;
	ri[0].cls = 2;
	ri[1].taken = true;
	assert_int_equal(profile_window(&p, &w), 0);
	w.weight = 0.25;
	ri[1].taken = false;
	assert_int_equal(profile_window(&p, &w), 0);
	/* the time is the first instruction's, the observations are everybody's */
	assert_int_equal(site_at(&p, 0, 0x100)->samples, 2);
	assert_true(site_at(&p, 0, 0x100)->time == 1003009.75);
	assert_int_equal(site_at(&p, 0, 0x100)->cls, 2);
	assert_int_equal(site_at(&p, 0, 0x104)->samples, 0);
	assert_true(site_at(&p, 0, 0x104)->time == 0);
	assert_int_equal(site_at(&p, 0, 0x104)->taken, 1);
	for (uint64_t a = 0x100; a < 0x10c; a += 4) {
		assert_int_equal(site_at(&p, 0, a)->observed, 2);
		assert_int_equal(site_at(&p, 0, a)->len, 4);
	}
	assert_null(profile_site_find(&p, at(0, 0x10c)));
	assert_null(profile_site_find(&p, at(1, 0x100)));
	profile_fini(&p);
}

/* A window that could not run ahead is a time sample all the same. */
static void test_empty_window_and_sample(void **unused)
{
	struct window w = { .weight = 5, .start = { .addr = 0x40 } };
	struct profile p;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	assert_int_equal(profile_window(&p, &w), 0);
	assert_int_equal(profile_sample(&p, at(0, 0x40), 2), 0);
	assert_int_equal(site_at(&p, 0, 0x40)->samples, 2);
	assert_true(site_at(&p, 0, 0x40)->time == 7);
	assert_int_equal(site_at(&p, 0, 0x40)->observed, 0);
	assert_int_equal(site_at(&p, 0, 0x40)->windows, 0);
	profile_fini(&p);
}

static void test_values(void **unused)
{
	struct retired ri[LENGTH];
	struct hot_value v[4];
	const struct site *s;
	struct profile p;
	struct window w;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	for (unsigned i = 0; i < 30; i++) {
		w = window_of(ri, 0, 0x100, 2, 2);
		if (i % 3) { /* else it is not known */
			ri[0].have = 1u << OPERAND_LOAD | 1u << OPERAND_ADDRESS;
			ri[0].value[OPERAND_LOAD] = i % 3;
			ri[0].value[OPERAND_ADDRESS] = 0x7000;
		}
		ri[1].value[OPERAND_RESULT] = 77; /* not had: not there */
		assert_int_equal(profile_window(&p, &w), 0);
	}
	s = site_at(&p, 0, 0x100);
	assert_int_equal(s->observed, 30);
	assert_int_equal(hot_total(site_hot(s, OPERAND_LOAD)), 20);
	assert_int_equal(hot_top(site_hot(s, OPERAND_LOAD), v, 4), 2);
	assert_int_equal(v[0].value, 1);
	assert_true(v[0].count == 10 && v[1].count == 10);
	assert_int_equal(v[1].value, 2);
	assert_int_equal(hot_top(site_hot(s, OPERAND_ADDRESS), v, 4), 1);
	assert_int_equal(v[0].value, 0x7000);
	for (int i = 0; i < OPERAND_N; i++) {
		assert_int_equal(!site_hot(s, i), i != OPERAND_LOAD && i != OPERAND_ADDRESS);
		assert_null(site_hot(site_at(&p, 0, 0x104), i));
	}
	profile_fini(&p);
}

/* New hot lists are of the profile's method and capacity. */
static void test_hot_lists_as_told(void **unused)
{
	struct retired ri[LENGTH];
	struct profile p;
	struct window w;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	p.method = HOT_COUNTING;
	p.capacity = 3;
	for (unsigned i = 0; i < 50; i++) {
		w = window_of(ri, 0, 0, 1, 1);
		ri[0].have = 1;
		ri[0].value[0] = i;
		assert_int_equal(profile_window(&p, &w), 0);
	}
	assert_int_equal(hot_method(site_hot(site_at(&p, 0, 0), 0)), HOT_COUNTING);
	assert_in_range(hot_distinct(site_hot(site_at(&p, 0, 0), 0)), 0, 3);
	assert_int_equal(hot_total(site_hot(site_at(&p, 0, 0), 0)), 50);
	profile_fini(&p);
}

/* Different windows that saw a site, however often each did. */
static void test_windows_of_a_site(void **unused)
{
	struct retired ri[LENGTH];
	struct profile p;
	struct window w;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	w = window_of(ri, 0, 0x100, LENGTH, 2); /* each site four times */
	for (int i = 0; i < 5; i++)
		assert_int_equal(profile_window(&p, &w), 0);
	w = window_of(ri, 0, 0x104, LENGTH, LENGTH); /* once, not the first site */
	assert_int_equal(profile_window(&p, &w), 0);
	assert_int_equal(site_at(&p, 0, 0x100)->observed, 20);
	assert_int_equal(site_at(&p, 0, 0x100)->windows, 5);
	assert_int_equal(site_at(&p, 0, 0x104)->observed, 21);
	assert_int_equal(site_at(&p, 0, 0x104)->windows, 6);
	assert_int_equal(site_at(&p, 0, 0x108)->windows, 1);
	profile_fini(&p);
}

/* What one side does not know, the sum does not: also of windows that come later. */
static void test_windows_unknown(void **unused)
{
	struct retired ri[LENGTH];
	struct site s = { 0 };
	struct profile p;
	struct window w;

	(void)unused;
	profile_site_observed(&s, 10, 2, 4);
	profile_site_observed(&s, 6, 1, 3);
	assert_int_equal(s.observed, 16);
	assert_int_equal(s.taken, 3);
	assert_int_equal(s.windows, 7);
	profile_site_observed(&s, 0, 0, 0); /* adds nothing, hides nothing */
	assert_int_equal(s.windows, 7);
	profile_site_observed(&s, 5, 0, 0);
	assert_int_equal(s.windows, 0);
	profile_site_observed(&s, 6, 0, 3);
	assert_int_equal(s.windows, 0);
	assert_int_equal(s.observed, 27);

	assert_int_equal(profile_init(&p, &err), 0);
	profile_site_observed(profile_site(&p, at(0, 0x100)), 8, 0, 0);
	w = window_of(ri, 0, 0x100, 2, 2);
	assert_int_equal(profile_window(&p, &w), 0);
	assert_int_equal(site_at(&p, 0, 0x100)->observed, 9);
	assert_int_equal(site_at(&p, 0, 0x100)->windows, 0);
	assert_int_equal(site_at(&p, 0, 0x104)->windows, 1);
	profile_fini(&p);
}

static void test_images(void **unused)
{
	struct profile_image *a, *b;
	struct profile p;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	assert_int_equal(p.nimage, 1);
	assert_int_equal(p.image[0]->kind, IMAGE_UNKNOWN);
	a = profile_image(&p, IMAGE_FILE, "/bin/a", "01");
	b = profile_image(&p, IMAGE_FILE, "/bin/a", "02"); /* replaced meanwhile */
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(profile_image(&p, IMAGE_FILE, "/bin/a", "01"), a);
	assert_ptr_not_equal(profile_image(&p, IMAGE_ANON, "/bin/a", "01"), a);
	for (unsigned i = 0; i < 100; i++) { /* pointers stay good */
		char path[16];

		snprintf(path, sizeof(path), "/lib/%u", i);
		assert_non_null(profile_image(&p, IMAGE_FILE, path, ""));
	}
	assert_ptr_equal(profile_image(&p, IMAGE_FILE, "/bin/a", "02"), b);
	assert_int_equal(p.nimage, 104);
	profile_fini(&p);
}

/* Merging. */

static void random_window(struct profile *p, const uint32_t *image)
{
	struct retired ri[LENGTH];
	struct window w = window_of(ri, image[draw() % 3], 0x1000 + 4 * (draw() % 20), LENGTH,
				    1 + (uint32_t)(draw() % LENGTH));

	w.weight = (double)(draw() % 5);
	for (unsigned i = 0; i < LENGTH; i++) {
		ri[i].taken = draw() & 1;
		ri[i].have = (uint16_t)(draw() % (1u << OPERAND_N));
		for (int k = 0; k < OPERAND_N; k++)
			ri[i].value[k] = draw() % 10; /* lists stay exact */
	}
	assert_int_equal(profile_window(p, &w), 0);
}

static void begin(struct profile *p, uint32_t *image, const char *const *path)
{
	struct run *r;

	assert_int_equal(profile_init(p, &err), 0);
	for (int i = 0; i < 3; i++)
		image[i] = profile_image(p, IMAGE_FILE, path[i], "")->id;
	r = profile_run(p);
	r->command = strdup("x");
	r->n.windows = 1000;
	r->n.stop[RA_STOP_FULL] = 7;
}

static void same_values(const struct hot *a, const struct hot *b)
{
	struct hot_value v[16], w[16];
	unsigned n;

	assert_int_equal(!a, !b);
	if (!a)
		return;
	n = hot_top(a, v, 16);
	assert_true(hot_exact(a) && hot_exact(b));
	assert_int_equal(hot_total(a), hot_total(b));
	assert_int_equal(hot_top(b, w, 16), n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(v[i].value, w[i].value);
		assert_true(v[i].count == w[i].count);
	}
}

/* Of images that are numbered otherwise in each. */
static void test_merge_is_concatenation(void **unused)
{
	static const char *const one[] = { "/a", "/b", "/c" }, *const two[] = { "/c", "/a", "/d" };
	uint32_t image[3], image1[3], image2[3];
	struct profile whole, part1, part2;
	struct run_counters n;
	struct site *s;
	uint64_t begun;

	(void)unused;
	begin(&whole, image, one);
	begun = state;
	for (int i = 0; i < 300; i++)
		random_window(&whole, image);
	image[0] = profile_image(&whole, IMAGE_FILE, "/c", "")->id;
	image[1] = profile_image(&whole, IMAGE_FILE, "/a", "")->id;
	image[2] = profile_image(&whole, IMAGE_FILE, "/d", "")->id;
	for (int i = 0; i < 300; i++)
		random_window(&whole, image);
	state = begun; /* the same again, in two */
	begin(&part1, image1, one);
	begin(&part2, image2, two);
	for (int i = 0; i < 300; i++)
		random_window(&part1, image1);
	for (int i = 0; i < 300; i++)
		random_window(&part2, image2);
	assert_int_equal(profile_merge(&part1, &part2, &err), 0);

	assert_int_equal(part1.nrun, 2);
	profile_counters(&part1, &n);
	assert_int_equal(n.windows, 2000);
	assert_int_equal(n.stop[RA_STOP_FULL], 14);
	assert_int_equal(whole.sites.n, part1.sites.n);
	SITES_EACH(&whole.sites, s)
	{
		const struct profile_image *pi = whole.image[s->id.image];
		const struct site *t = site_at(
			&part1, profile_image(&part1, pi->kind, pi->path, "")->id, s->id.addr);

		assert_int_equal(s->samples, t->samples);
		assert_true(s->time == t->time);
		assert_int_equal(s->observed, t->observed);
		assert_int_equal(s->taken, t->taken);
		assert_int_equal(s->windows, t->windows);
		assert_int_equal(s->len, t->len);
		for (int i = 0; i < OPERAND_N; i++)
			same_values(site_hot(s, i), site_hot(t, i));
	}
	profile_fini(&whole);
	profile_fini(&part1);
	profile_fini(&part2);
}

static void add_proc(struct profile_image *pi, uint64_t start, const char *name)
{
	pi->proc = realloc(pi->proc, (pi->nproc + 1) * sizeof(*pi->proc));
	assert_non_null(pi->proc);
	pi->proc[pi->nproc++] = (struct profile_proc){ start, start + 0x10, strdup(name) };
}

static void test_merge_of_procedures(void **unused)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct profile_image *x, *y;
	struct profile p, q;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	assert_int_equal(profile_init(&q, &err), 0);
	x = profile_image(&p, IMAGE_FILE, "/a", "");
	y = profile_image(&q, IMAGE_FILE, "/a", "");
	y->stripped = true;
	add_proc(x, 0x10, "a");
	add_proc(x, 0x30, "c");
	add_proc(y, 0x20, "b");
	add_proc(y, 0x30, "c");
	add_proc(y, 0x40, "d");
	assert_int_equal(profile_merge(&p, &q, &err), 0);
	assert_int_equal(x->nproc, 4);
	assert_true(x->stripped);
	for (size_t i = 0; i < x->nproc; i++) {
		assert_int_equal(x->proc[i].start, 0x10 + 0x10 * i);
		assert_string_equal(x->proc[i].name, names[i]);
	}
	assert_int_equal(y->nproc, 3); /* the source keeps its own */
	profile_fini(&p);
	profile_fini(&q);
}

static void test_merge_of_two_methods(void **unused)
{
	struct profile p, q;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	assert_int_equal(profile_init(&q, &err), 0);
	profile_run(&p)->sketch = HOT_SPACE_SAVING;
	profile_run(&q)->sketch = HOT_COUNTING;
	assert_int_equal(profile_merge(&p, &q, &err), -1);
	assert_non_null(strstr(err.msg, "space-saving, counting"));
	assert_non_null(strstr(err.hint, "--sketch"));
	profile_fini(&p);
	profile_fini(&q);
}

/*
 * A loop of 8 instructions whose branch goes either way, each time with even chances; where it is taken, what it
 * leads to is held up for 12 cycles, else nothing for longer than one. Windows begin where time is spent: without
 * weights the branch would be seen taken far too often. Iterations go in runs, so that a window sees few of them.
 */
static void test_weights_correct_time(void **unused)
{
	enum {
		STEPS = 4000,
		WINDOWS = 6000
	};
	static bool way[STEPS];
	static unsigned at_cycle[STEPS * 19];
	static struct retired ri[64];
	const struct site *branch;
	struct site_weights weights;
	unsigned cycles = 0, taken = 0;
	struct profile p;
	double raw, truth;

	(void)unused;
	for (unsigned i = 0; i < STEPS; i++) {
		way[i] = i % 40 ? way[i - 1] : draw() % 2;
		taken += way[i];
		for (unsigned k = 0; k < 8; k++) {
			unsigned length = k == 7 && way[i] ? 12 : 1;

			while (length--)
				at_cycle[cycles++] = i * 8 + k;
		}
	}
	truth = (double)taken / STEPS;
	assert_int_equal(profile_init(&p, &err), 0);
	for (int i = 0; i < WINDOWS; i++) {
		unsigned first = at_cycle[draw() % cycles];
		struct window w = { .weight = 1, .n = 64, .ri = ri };

		memset(ri, 0, sizeof(ri));
		for (unsigned j = 0; j < 64; j++) {
			unsigned step = (first + j) / 8 % STEPS, k = (first + j) % 8;

			/* the eighth is another instruction where the branch was taken */
			ri[j].site = at(1, 0x1000 + 4 * (k + (k == 7 && way[step])));
			ri[j].len = 4;
			ri[j].taken = k == 6 && way[step];
		}
		w.start = ri[0].site;
		assert_int_equal(profile_window(&p, &w), 0);
	}
	branch = site_at(&p, 1, 0x1000 + 4 * 6);
	raw = (double)branch->taken / (double)branch->observed;
	weights = site_weights(branch);
	assert_true(raw > truth + 0.15);
	assert_true(weights.taken / weights.observed < truth + 0.05);
	assert_true(weights.taken / weights.observed > truth - 0.05);
	/* windows see the branch about eight times each */
	assert_true(weights.observed * weights.observed / weights.square < WINDOWS);
	profile_fini(&p);
}

/*
 * Two phases of as many instructions take turns: in one a branch in eight always goes the same way, in the other it goes
 * either way, and what it leads to waits for 20 cycles each time that goes wrong. All windows of a phase are of that
 * phase: where they begin does not tell how much faster the other one is.
 */
static void test_weights_correct_pace(void **unused)
{
	enum {
		PHASE = 4096, /* iterations */
		STEPS = 2 * PHASE,
		LONG = 256,
		WINDOWS = 3000
	};
	static bool way[STEPS];
	static double ends[STEPS]; /* cycles */
	static struct retired ri[LONG];
	struct site_weights weights;
	const struct site *branch;
	unsigned taken = 0;
	double cycles = 0, truth, raw, share;
	struct profile p;

	(void)unused;
	for (unsigned i = 0; i < STEPS; i++) {
		way[i] = i < PHASE || draw() % 2;
		taken += way[i];
		cycles += 8 * 0.5 + (i >= PHASE && draw() % 2 ? 20 : 0);
		ends[i] = cycles;
	}
	truth = (double)taken / STEPS;
	assert_int_equal(profile_init(&p, &err), 0);
	for (int i = 0; i < WINDOWS; i++) {
		double now = (double)(draw() % 1000000) / 1e6 * cycles;
		struct window w = { .weight = 1, .n = LONG, .ri = ri };
		unsigned low = 0, high = STEPS - 1, first;

		while (low < high) {
			unsigned mid = low + (high - low) / 2;

			if (ends[mid] <= now)
				low = mid + 1;
			else
				high = mid;
		}
		/* what waits is the first of the iteration */
		first = low * 8 + (ends[low] - now < 4 ? (unsigned)(8 - 2 * (ends[low] - now)) : 0);
		memset(ri, 0, sizeof(ri));
		for (unsigned j = 0; j < LONG; j++) {
			unsigned step = (first + j) / 8 % STEPS, k = (first + j) % 8;

			ri[j].site = at(1, 0x1000 + 4 * k);
			ri[j].len = 4;
			ri[j].cls = k == 7 ? INSN_BRANCH : INSN_OTHER;
			ri[j].taken = k == 7 && way[step];
		}
		w.start = ri[0].site;
		assert_int_equal(profile_window(&p, &w), 0);
	}
	branch = site_at(&p, 1, 0x1000 + 4 * 7);
	raw = (double)branch->taken / (double)branch->observed;
	weights = site_weights(branch);
	share = weights.taken / weights.observed;
	assert_true(raw < truth - 0.1);
	assert_true(share > truth - 0.03 && share < truth + 0.03);
	profile_fini(&p);
}

/*
 * Phases of 300 and of 100 instructions, in the mean: of a quarter cycle each, at one of so many places, 512 bytes apart, and of
 * 4 at as many others. Of what takes no time of its own windows begin too seldom even with weights; but as many end
 * in each phase as ran there. How far the fast phases' part is off.
 */
static double balanced(unsigned places)
{
	enum {
		STEPS = 200000,
		LONG = 128,
		WINDOWS = 20000
	};
	static uint64_t at[STEPS + LONG];
	static double ends[STEPS + LONG]; /* cycles */
	static struct retired ri[LONG];
	unsigned place = 0;
	double cycles = 0, fast = 0, seen = 0, raw = 0, all = 0, all_raw = 0;
	bool is_fast = true;
	struct profile p;
	const struct site *s;

	for (unsigned i = 0; i < STEPS + LONG; i++) {
		if (draw() % (is_fast ? 300 : 100) == 0) {
			is_fast = !is_fast;
			place = draw() % places;
		}
		at[i] = (is_fast ? 0x1000000 : 0x2000000) + 512 * place + i % 32 * 4;
		cycles += is_fast ? 0.25 : 4;
		fast += is_fast;
		ends[i] = cycles;
	}
	assert_int_equal(profile_init(&p, &err), 0);
	for (int i = 0; i < WINDOWS; i++) {
		double now = (double)(draw() % 1000000) / 1e6 * ends[STEPS - 1];
		struct window w = { .weight = 1, .n = LONG, .ri = ri };
		unsigned low = 0, high = STEPS - 1;

		while (low < high) {
			unsigned mid = low + (high - low) / 2;

			if (ends[mid] <= now)
				low = mid + 1;
			else
				high = mid;
		}
		for (unsigned k = 0; k < LONG; k++)
			ri[k] = (struct retired){ .site = { .image = 1, .addr = at[low + k] },
						  .cls = INSN_OTHER,
						  .len = 4 };
		w.start = ri[0].site;
		assert_int_equal(profile_window(&p, &w), 0);
	}
	fast /= STEPS + LONG;
	SITES_EACH(&p.sites, s)
	{
		bool here = s->id.addr < 0x2000000;

		all += site_weights(s).observed;
		seen += here ? site_weights(s).observed : 0;
		all_raw += (double)s->observed;
		raw += here ? (double)s->observed : 0;
	}
	assert_true(raw / all_raw < fast - 0.25);
	profile_fini(&p);
	return fabs(seen / all - fast);
}

static void test_weights_balance(void **unused)
{
	(void)unused;
	assert_true(balanced(1) < 0.12);
}

/* A few windows began at each; where they lie many did. */
static void test_weights_balance_places(void **unused)
{
	(void)unused;
	assert_true(balanced(1000) < 0.22);
}

/* Recordings that are not weighed add 1 for each observation. */
static void test_weights_merge(void **unused)
{
	struct retired ri[LENGTH];
	struct window w = window_of(ri, 0, 0x1000, LENGTH, LENGTH);
	struct site_weights sum, part;
	struct profile p, q;
	struct site *s;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	assert_int_equal(profile_init(&q, &err), 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(profile_window(&p, &w), 0);
	part = site_weights(site_at(&p, 0, 0x1004));
	assert_true(part.observed < 50 && part.observed > 0);
	s = profile_site(&q, at(0, 0x1004));
	assert_non_null(s);
	profile_site_observed(s, 30, 10, 15);
	sum = site_weights(s);
	assert_true(sum.observed == 30 && sum.taken == 10 && sum.square == 60);
	assert_int_equal(profile_merge(&q, &p, &err), 0);
	sum = site_weights(site_at(&q, 0, 0x1004));
	assert_true(sum.observed == 30 + part.observed);
	assert_true(sum.square == 60 + part.square);
	assert_int_equal(site_at(&q, 0, 0x1004)->observed, 80);
	profile_fini(&p);
	profile_fini(&q);
}

/* So many that they and their slots lie in large pages, several of them: each is found, where it was first. */
static void test_many_sites(void **arg)
{
	const unsigned n = 300000;
	struct site **first = malloc(n * sizeof(struct site *)), **sorted;
	struct sites t = { 0 };
	uint64_t sum = 0;
	struct site *s;

	(void)arg;
	assert_non_null(first);
	for (unsigned i = 0; i < n; i++) {
		first[i] = sites_get(&t, at(i % 3, 7ull * (n - i)));
		assert_non_null(first[i]);
		assert_true(first[i]->observed == 0 && first[i]->taken == 0 && !first[i]->weights);
		first[i]->observed = i;
	}
	assert_int_equal(t.n, n);
	for (unsigned i = 0; i < n; i++) {
		assert_ptr_equal(sites_find(&t, at(i % 3, 7ull * (n - i))), first[i]);
		assert_int_equal(first[i]->observed, i);
	}
	assert_null(sites_find(&t, at(0, 1)));
	SITES_EACH(&t, s)
	{
		sum += s->observed;
	}
	assert_int_equal(sum, (uint64_t)n * (n - 1) / 2);
	sorted = sites_sorted(&t);
	assert_non_null(sorted);
	for (unsigned i = 1; i < n; i++)
		assert_true(sorted[i - 1]->id.image < sorted[i]->id.image ||
			    (sorted[i - 1]->id.image == sorted[i]->id.image &&
			     sorted[i - 1]->id.addr < sorted[i]->id.addr));
	free(sorted);
	free(first);
	sites_fini(&t);
	assert_int_equal(t.n, 0);
}

/* Executions that counters took back leave no batch that had them. */
static void test_limited_windows(void **unused)
{
	static const struct {
		int64_t observed;
		uint64_t windows, limited;
	} of[] = { { 5, 3, 3 }, { 3, 3, 3 }, { 2, 3, 2 }, { 0, 3, 0 }, { -1, 3, 0 }, { 4, 0, 0 } };
	struct profile p;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct site *s = profile_site(&p, (struct site_id){ .addr = i });

		s->observed = (uint64_t)of[i].observed;
		s->windows = of[i].windows;
	}
	profile_limit_windows(&p);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		assert_int_equal(profile_site(&p, (struct site_id){ .addr = i })->windows,
				 of[i].limited);
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_empty_window_and_sample),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_hot_lists_as_told),
		cmocka_unit_test(test_windows_of_a_site),
		cmocka_unit_test(test_windows_unknown),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_merge_is_concatenation),
		cmocka_unit_test(test_merge_of_procedures),
		cmocka_unit_test(test_merge_of_two_methods),
		cmocka_unit_test(test_weights_correct_time),
		cmocka_unit_test(test_weights_correct_pace),
		cmocka_unit_test(test_weights_balance),
		cmocka_unit_test(test_weights_balance_places),
		cmocka_unit_test(test_weights_merge),
		cmocka_unit_test(test_rare_windows),
		cmocka_unit_test(test_many_sites),
		cmocka_unit_test(test_limited_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
