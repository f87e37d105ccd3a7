/* SPDX-License-Identifier: MIT */
#include "random.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "x86/lift.h"

/* Code and half of the data are where 31 bits reach, the other half is not. */
#define CODE_AT 0x21000000ull
#define LOW_AT 0x20000000ull
#define HIGH_AT 0x6a0000000000ull
#define STRIDE (TRIAL_DATA + 2 * TRIAL_PAGE)
#define SHOWN 40 /* differences printed, of a form one */

static uint8_t *map_at(uint64_t at, size_t size, int prot)
{
	void *p = mmap((void *)at, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static uint8_t *data_of(const struct random_run *r, uint32_t lane)
{
	return (lane & 1 ? r->high : r->low) + lane / 2 * STRIDE + TRIAL_PAGE;
}

static void place(struct random_run *r, struct trial *t, uint64_t number)
{
	uint32_t lane = (uint32_t)(number % LANES);

	t->place.code = r->code + lane * NATIVE_SLOT;
	t->place.data = data_of(r, lane);
}

static void run_native(const struct trial *t, struct native_result *cpu)
{
	native_set_gs_base(t->gs);
	native_run(t->place.code, &t->regs, t->in.vector ? t->vec : NULL, cpu);
}

/* Finds out which forms the CPU does not know, or cannot be made. */
static void probe(struct random_run *r)
{
	struct native_result cpu;
	struct trial *t = r->trial;

	for (uint32_t i = 0; i < r->forms.n; i++) {
		struct form *form = &r->forms.form[i];

		form->refused = true;
		for (uint32_t k = 0; k < 4 && form->refused; k++) {
			place(r, t, k);
			if (!trial_make_form(t, form, i * 4 + k))
				continue;
			run_native(t, &cpu);
			form->refused = cpu.exit == NATIVE_FAULT && cpu.sig == SIGILL;
		}
	}
}

int random_init(struct random_run *r)
{
	memset(r, 0, sizeof(*r));
	r->trial = calloc(LANES, sizeof(*r->trial));
	if (!r->trial || forms_init(&r->forms) || arena_init(&r->user))
		return -1;
	r->code = map_at(CODE_AT, LANES * NATIVE_SLOT, PROT_READ | PROT_WRITE | PROT_EXEC);
	r->low = map_at(LOW_AT, LANES / 2 * STRIDE, PROT_NONE);
	r->high = map_at(HIGH_AT, LANES / 2 * STRIDE, PROT_NONE);
	if (!r->code || !r->low || !r->high)
		return -1;
	for (uint32_t i = 0; i < LANES; i++)
		if (mprotect(data_of(r, i), TRIAL_DATA, PROT_READ | PROT_WRITE))
			return -1;
	r->has_kernel = !kernel_open(&r->kernel, r->no_kernel, sizeof(r->no_kernel));
	if (native_begin())
		return -1;
	probe(r);
	native_end();
	return 0;
}

void random_fini(struct random_run *r)
{
	if (r->has_kernel)
		kernel_close(&r->kernel);
	if (r->code)
		munmap(r->code, LANES * NATIVE_SLOT);
	if (r->low)
		munmap(r->low, LANES / 2 * STRIDE);
	if (r->high)
		munmap(r->high, LANES / 2 * STRIDE);
	arena_fini(&r->user);
	forms_fini(&r->forms);
	free(r->trial);
}

static void show(struct random_run *r, const struct trial *t, const char *build, const char *why,
		 struct tally *tally, uint64_t seed)
{
	char text[160];

	r->differences++;
	if (tally->differ++ || r->shown++ >= SHOWN)
		return;
	printf("# DIFFERENCE (%s build, --seed %llu --first %llu --count 1): %s\n", build,
	       (unsigned long long)seed, (unsigned long long)t->number, why);
	trial_print(t);
	for (uint32_t i = 0; i < LANE_UOPS; i++) {
		const struct uop *u = &r->user.uop[1 + (t - r->trial) * LANE_UOPS + i];

		printf("#   %s\n", uop_format(u, text, sizeof(text)));
		if (u->op == UOP_STOP)
			break;
	}
}

static void compare(struct random_run *r, uint32_t i, const struct native_result *cpu,
		    const struct random_opts *o)
{
	struct trial *t = &r->trial[i];
	struct form *form = forms_of(&r->forms, &t->in);
	struct tally none = { 0 }, again = { 0 }, *tally = form ? &form->tally : &none;
	char buf[160];
	const char *why =
		check_trial(t, &r->user, &r->user.lane[i].ra, cpu, tally, buf, sizeof(buf));

	r->compared[0]++;
	if (why)
		show(r, t, "user", why, tally, o->seed);
	if (!r->has_kernel)
		return;
	why = check_trial(t, &r->kernel.arena, &r->kernel.arena.lane[i].ra, cpu, &again, buf,
			  sizeof(buf));
	if (!why)
		why = arena_compare(&r->user, &r->kernel.arena, i);
	r->compared[1]++;
	if (why)
		show(r, t, "kernel", why, tally, o->seed);
}

/* Trials first … first + n: the interpreters see the memory before the CPU changes it. */
static int batch(struct random_run *r, const struct random_opts *o, uint64_t first, uint32_t n)
{
	struct native_result cpu;

	arena_clear(&r->user);
	if (r->has_kernel)
		arena_clear(&r->kernel.arena);
	for (uint32_t i = 0; i < n; i++) {
		struct trial *t = &r->trial[i];
		/* goes by the number, so that a trial can be repeated alone */
		place(r, t, first + i);
		trial_make(t, &r->forms, o->seed, first + i, o->vector_percent);
		arena_put(&r->user, i, t);
		arena_run(&r->user, i, t);
		if (r->has_kernel)
			arena_put(&r->kernel.arena, i, t);
	}
	if (r->has_kernel && kernel_run(&r->kernel, n)) {
		printf("# the kernel build does not run: %s\n", strerror(errno));
		return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct trial *t = &r->trial[i];

		trial_apply_preludes(t);
		run_native(t, &cpu);
		compare(r, i, &cpu, o);
	}
	return 0;
}

static void tally_add(struct tally *to, const struct tally *t)
{
	uint64_t *a = (uint64_t *)to;
	const uint64_t *b = (const uint64_t *)t;

	for (size_t i = 0; i < sizeof(*t) / sizeof(*a); i++)
		a[i] += b[i];
}

static void print_tally(const char *name, const struct tally *t)
{
	printf("# %-28s %8llu %8llu %6llu %6llu %7llu %7llu | %7llu %6.1f%% %6.1f%% %6.1f%% "
	       "%6.1f%% %6llu\n",
	       name, (unsigned long long)t->run, (unsigned long long)t->same,
	       (unsigned long long)t->faults, (unsigned long long)t->went_on,
	       (unsigned long long)t->refused, (unsigned long long)t->stopped,
	       (unsigned long long)t->whole,
	       t->whole ? 100.0 * (double)t->unk_reg / (double)t->whole : 0,
	       t->whole ? 100.0 * (double)t->unk_flag / (double)t->whole : 0,
	       t->whole ? 100.0 * (double)t->unk_mem / (double)t->whole : 0,
	       t->whole ? 100.0 * (double)t->unk_vec / (double)t->whole : 0,
	       (unsigned long long)t->whole_stopped);
}

static bool is_unknown(const struct tally *t)
{
	return t->unk_reg || t->unk_flag || t->unk_mem || t->whole_stopped;
}

/* All forms that were run; or else, a line a mnemonic of general registers, those of which
 * something came out unknown, or stopped the window, though all that went in was known. */
static void print_table(struct random_run *r, bool all)
{
	static struct tally by[ZYDIS_MNEMONIC_MAX_VALUE + 1];
	struct tally sum[2] = { { 0 } };
	uint32_t run[2] = { 0 }, same[2] = { 0 };

	printf("# %-28s %8s %8s %6s %6s %7s %7s | %7s %7s %7s %7s %7s %6s\n", "instruction", "run",
	       "same", "faults", "wenton", "refused", "stopped", "whole", "unkreg", "unkflag",
	       "unkmem", "unkvec", "stop");
	memset(by, 0, sizeof(by));
	for (uint32_t i = 0; i < r->forms.n; i++) {
		const struct form *f = &r->forms.form[i];

		tally_add(&sum[f->vector], &f->tally);
		run[f->vector] += f->tally.run > f->tally.refused;
		same[f->vector] += f->tally.same > 0;
		if (!f->vector)
			tally_add(&by[f->mnemonic], &f->tally);
		if (all && f->tally.run > f->tally.refused)
			print_tally(f->name, &f->tally);
	}
	for (uint32_t m = 0; m <= ZYDIS_MNEMONIC_MAX_VALUE && !all; m++)
		if (is_unknown(&by[m]))
			print_tally(ZydisMnemonicGetString((ZydisMnemonic)m), &by[m]);
	print_tally("all, general registers", &sum[0]);
	print_tally("all, vector registers", &sum[1]);
	printf("# forms of general registers: %u, run %u, interpreted %u\n", r->forms.ngeneral,
	       run[0], same[0]);
	printf("# forms of vector registers: %u, run %u, interpreted %u\n", r->forms.nvector,
	       run[1], same[1]);
}

uint64_t random_run(struct random_run *r, const struct random_opts *o)
{
	uint64_t at, end = o->first + o->count;
	uint32_t n;

	if (native_begin())
		return ++r->differences;
	for (at = o->first; at < end; at += n) {
		n = end - at < LANES ? (uint32_t)(end - at) : LANES;
		if (batch(r, o, at, n)) {
			r->differences++;
			break;
		}
	}
	native_end();
	print_table(r, o->table);
	printf("# seed %llu: %llu trials in the user build, %llu in the kernel build%s%s, "
	       "%llu differences\n",
	       (unsigned long long)o->seed, (unsigned long long)r->compared[0],
	       (unsigned long long)r->compared[1], r->has_kernel ? "" : ": ", r->no_kernel,
	       (unsigned long long)r->differences);
	fflush(stdout);
	return r->differences;
}

int random_options(struct random_opts *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "first", required_argument, NULL, 'f' },
		{ "count", required_argument, NULL, 'c' },
		{ "vector", required_argument, NULL, 'v' },
		{ "table", no_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		uint64_t v = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (c) {
		case 's':
			o->seed = v;
			break;
		case 'f':
			o->first = v;
			break;
		case 'c':
			o->count = v;
			break;
		case 'v':
			o->vector_percent = (unsigned)v;
			break;
		case 't':
			o->table = true;
			break;
		default:
			return -1;
		}
	}
	return 0;
}
