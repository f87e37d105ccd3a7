/* SPDX-License-Identifier: MIT */
#include "support/recordings.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "x86/insn.h"
#include "observe/misses.h"

#define PERIOD 1003009 /* ns, 997 Hz */
#define LENGTH 16

static void *must(void *p)
{
	assert(p);
	return p;
}

struct run *recordings_run(struct profile *p, const char *source, const char *command)
{
	struct run *r = must(profile_run(p));

	r->source = must(strdup(source));
	r->command = must(strdup(command));
	r->host = must(strdup("anvil"));
	r->cpu = must(strdup("Test CPU @ 2.00GHz"));
	r->kernel = must(strdup("6.1.0"));
	r->version = must(strdup("0.1.0"));
	r->event = must(strdup("cpu-clock"));
	r->unit = must(strdup("ns"));
	r->started = 1700000000;
	r->clock = 2000000000;
	r->rate = 997;
	r->burst = LENGTH;
	r->sketch = (int)p->method;
	r->sketch_capacity = p->capacity;
	r->finished = true;
	return r;
}

static struct run *add_run(struct profile *p, const char *command)
{
	return recordings_run(p, "sampler", command);
}

struct site *recordings_site(struct profile *p, uint32_t image, uint64_t addr, int cls,
			     uint64_t observed, uint64_t taken)
{
	struct site *s = must(profile_site(p, (struct site_id){ .image = image, .addr = addr }));

	s->cls = (uint8_t)cls;
	s->len = 4;
	s->observed += observed;
	s->taken += taken;
	return s;
}

void recordings_value(struct profile *p, struct site *s, int operand, uint64_t value,
		      uint64_t count)
{
	assert(!hot_add(must(profile_operand(p, s, operand)), value, count));
}

static void add_proc(struct profile_image *pi, uint64_t start, uint64_t end, const char *name)
{
	pi->proc = must(realloc(pi->proc, (pi->nproc + 1) * sizeof(*pi->proc)));
	pi->proc[pi->nproc++] = (struct profile_proc){ start, end, must(strdup(name)) };
}

static void set(struct retired *ri, int operand, uint64_t value)
{
	ri->have |= (uint16_t)(1u << operand);
	ri->value[operand] = value;
}

static void window(struct profile *p, struct run_counters *n, const struct retired *ri,
		   unsigned len, int stop)
{
	struct window w = { .pid = 100,
			    .tid = 100,
			    .weight = PERIOD,
			    .n = len,
			    .stop = (uint32_t)stop,
			    .start = ri[0].site,
			    .ri = ri };

	assert(!profile_window(p, &w));
	n->samples++;
	n->user++;
	n->windows++;
	n->instructions += len;
	n->uops += 2 * len;
	n->ahead_ns += 20 * len;
	n->stop[stop]++;
}

static void samples(struct profile *p, struct run_counters *n, uint32_t image, uint64_t addr,
		    unsigned count)
{
	bool kernel = p->image[image]->kind == IMAGE_KERNEL;

	for (unsigned i = 0; i < count; i++)
		assert(!profile_sample(p, (struct site_id){ .image = image, .addr = addr },
				       PERIOD));
	n->samples += count;
	*(kernel ? &n->kernel : &n->user) += count;
	if (!kernel)
		n->stop[RA_STOP_NOIMAGE] += count;
}

/* The loop of longest_match, from its instruction `at` on: 4 bytes each. */
static void match_window(struct profile *p, struct run_counters *n, uint32_t image, unsigned at,
			 unsigned round)
{
	static const uint8_t cls[] = { INSN_LOAD,   INSN_LOAD,	INSN_OTHER, INSN_OTHER,
				       INSN_BRANCH, INSN_OTHER, INSN_OTHER, INSN_BRANCH };
	struct retired ri[LENGTH] = { 0 };

	for (unsigned i = 0; i < LENGTH; i++) {
		unsigned k = (at + i) % 8, turn = round * 2 + (at + i) / 8;

		ri[i].site = (struct site_id){ .image = image, .addr = 0x3a10 + 4 * k };
		ri[i].cls = cls[k];
		ri[i].len = 4;
		if (k == 0)
			set(&ri[i], OPERAND_LOAD, turn % 20 ? 0x3c8 : 0x1000 + turn);
		if (k == 0)
			set(&ri[i], OPERAND_ADDRESS, 0x7f0000001000 + 8 * turn);
		if (k == 1 && turn % 5)
			set(&ri[i], OPERAND_LOAD, turn % 4);
		if (k == 2)
			set(&ri[i], OPERAND_RESULT, turn % 20 ? UINT64_MAX : turn);
		ri[i].taken = (k == 4 && turn % 4 != 0) || k == 7;
	}
	window(p, n, ri, LENGTH, RA_STOP_FULL);
}

/* deflate from its entry on. */
static void deflate_window(struct profile *p, struct run_counters *n, uint32_t image,
			   unsigned round)
{
	struct retired ri[6] = { 0 };

	for (unsigned i = 0; i < 6; i++) {
		ri[i].site = (struct site_id){ .image = image, .addr = 0x4000 + 5 * i };
		ri[i].cls = i == 5 ? INSN_SYSCALL : INSN_OTHER;
		ri[i].len = 5;
		if (i)
			set(&ri[i], OPERAND_RESULT, round * 77 + i);
	}
	set(&ri[0], OPERAND_ARG0, 0x1000 + round);
	set(&ri[0], OPERAND_ARG1, 0);
	window(p, n, ri, 6, RA_STOP_SYSCALL);
}

static void finish(struct run *r)
{
	r->n.lifted = 1200;
	r->n.lift_ns = 1200 * 900;
	r->n.program_ns = r->n.samples * PERIOD;
	r->n.recorder_ns = r->n.program_ns / 250;
	r->n.elapsed_ns = r->n.program_ns + 5000000;
	r->n.processes = 1;
}

void recordings_squeeze(struct profile *p)
{
	struct run *r = add_run(p, "squeeze -9 -k 'big file.txt'");
	struct profile_image *exe, *lib, *kernel, *anon;

	exe = must(profile_image(p, IMAGE_FILE, "/nowhere/bin/squeeze", "0123456789abcdef"));
	lib = must(profile_image(p, IMAGE_FILE,
				 "/nowhere/lib/x86_64-linux-gnu/a/long/way/down/libz.so.1",
				 "fedcba9876543210"));
	kernel = must(profile_image(p, IMAGE_KERNEL, "[kernel]", ""));
	anon = must(profile_image(p, IMAGE_ANON, "[anon]", ""));
	add_proc(exe, 0x3000, 0x3100, "main");
	add_proc(exe, 0x3a10, 0x3a30, "longest_match");
	add_proc(exe, 0x4000, 0x4020, "deflate");
	add_proc(lib, 0x1200, 0x1300, "sub_1200");
	lib->stripped = true;
	add_proc(kernel, 0xffffffff81000000, 0xffffffff81000400, "clear_page_erms");
	add_proc(kernel, 0xffffffff81200000, 0xffffffff81200100, "ext4_write_begin [ext4]");
	for (unsigned i = 0; i < 800; i++)
		match_window(p, &r->n, exe->id, i % 10 < 7 ? 2 : i % 8, i);
	for (unsigned i = 0; i < 120; i++)
		deflate_window(p, &r->n, exe->id, i);
	samples(p, &r->n, exe->id, 0x3010, 3);
	samples(p, &r->n, lib->id, 0x1234, 20);
	samples(p, &r->n, lib->id, 0x9000, 7);
	samples(p, &r->n, kernel->id, 0xffffffff81000010, 30);
	samples(p, &r->n, kernel->id, 0xffffffff81200020, 9);
	samples(p, &r->n, anon->id, 0x7f1234567000, 6);
	samples(p, &r->n, 0, 0x401000, 5);
	r->n.unattributed = 5;
	r->n.lost_ring = 2;
	finish(r);
}

void recordings_kernel(struct profile *p)
{
	struct run *r = add_run(p, "-a");
	struct profile_image *kernel = must(profile_image(p, IMAGE_KERNEL, "[kernel]", ""));

	add_proc(kernel, 0xffffffff81000000, 0xffffffff81000400, "clear_page_erms");
	samples(p, &r->n, kernel->id, 0xffffffff81000010, 40);
	r->n.samples += 60;
	r->n.idle = 60;
	finish(r);
	r->n.program_ns = 0;
}

void recordings_empty(struct profile *p)
{
	struct run *r = add_run(p, "true");

	finish(r);
	r->n.elapsed_ns = 900000;
}

static void elf_values(struct retired *ri, const struct insn *in, unsigned round, bool entry)
{
	if (entry) {
		set(ri, OPERAND_ARG0, 0x1000 + round);
		set(ri, OPERAND_ARG1, 0);
	}
	if (in->cls == INSN_LOAD)
		set(ri, OPERAND_LOAD, round % 20 ? 7 : round);
	else if (in->cls == INSN_OTHER && in->gpr_written)
		set(ri, OPERAND_RESULT, round % 20 ? 10 : round);
	if (in->cls == INSN_RET)
		set(ri, OPERAND_RETURN, round % 20 ? 10 : round);
	ri->taken = in->cls == INSN_BRANCH && round % 4;
}

void recordings_elf(struct profile *p, const char *path, bool finished)
{
	struct run *r = add_run(p, "tiny");
	struct profile_image *pi;
	const struct image_proc *proc;
	struct retired ri[LENGTH] = { 0 };
	struct insn in[LENGTH];
	unsigned n = 0;
	struct image *im;
	struct err err;
	size_t bytes;

	im = must(image_open(path, path, &err));
	pi = must(profile_image(p, IMAGE_FILE, path, image_build_id(im)));
	proc = must((void *)image_proc_named(im, "match"));
	for (uint64_t at = proc->start; at < proc->end && n < LENGTH; at += in[n++].len) {
		const uint8_t *code = must((void *)image_code(im, at, &bytes));

		assert(insn_decode(&in[n], code, bytes, at));
	}
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < n; i++) {
			ri[i].site = (struct site_id){ .image = pi->id, .addr = in[i].addr };
			ri[i].cls = in[i].cls;
			ri[i].len = in[i].len;
			ri[i].have = 0;
			elf_values(&ri[i], &in[i], round, i == 0);
		}
		window(p, &r->n, &ri[round % n < 2 ? 1 : 0], round % n < 2 ? n - 1 : n,
		       RA_STOP_FULL);
	}
	if (finished)
		add_proc(pi, proc->start, proc->end, "match");
	finish(r);
	r->finished = finished;
	image_close(im);
}

/* A loop from its instruction `at` on, round after round; it is left after a hundred. */
static void loop_window(struct profile *p, struct run *r, uint32_t image, const struct insn *in,
			unsigned n, unsigned at, unsigned round)
{
	struct retired ri[4 * LENGTH] = { 0 };
	unsigned k = 0;

	for (unsigned i = at; k < 4 * LENGTH && i < n; k++) {
		bool back = in[i].cls == INSN_BRANCH && (round + k / n) % 100;

		ri[k].site = (struct site_id){ .image = image, .addr = in[i].addr };
		ri[k].cls = in[i].cls;
		ri[k].len = in[i].len;
		ri[k].taken = back;
		ri[k].access = in[i].access;
		if (in[i].cls == INSN_LOAD)
			set(&ri[k], OPERAND_ADDRESS,
			    0x7f0000000000 + (round * 64 + k) * 2654435761U % (1U << 30) / 8 * 8);
		i = back ? 0 : i + 1;
	}
	window(p, &r->n, ri, k, RA_STOP_FULL);
}

void recordings_stall(struct profile *p, const char *path, const char *cpu)
{
	static const char *const name[] = { "chase", "divide", "straight" };
	struct run *r = add_run(p, "stall");
	struct profile_image *pi;
	struct image *im;
	struct err err;

	free(r->cpu);
	r->cpu = must(strdup(cpu));
	r->burst = 4 * LENGTH;
	r->distance = p->conflict_distance = LENGTH;
	im = must(image_open(path, path, &err));
	pi = must(profile_image(p, IMAGE_FILE, path, image_build_id(im)));
	for (unsigned i = 0; i < 3; i++) {
		const struct image_proc *proc = must((void *)image_proc_named(im, name[i]));
		struct insn in[LENGTH];
		unsigned n = 0;
		size_t bytes;

		for (uint64_t at = proc->start; at < proc->end && n < LENGTH; at += in[n++].len) {
			const uint8_t *code = must((void *)image_code(im, at, &bytes));

			assert(insn_decode(&in[n], code, bytes, at));
		}
		for (unsigned round = 0; round < 1000; round++)
			loop_window(p, r, pi->id, in, n, round % 10 ? 2 : round / 10 % (n - 1),
				    round);
		add_proc(pi, proc->start, proc->end, name[i]);
	}
	finish(r);
	image_close(im);
}

/* A loop from its beginning to the branch, and a return. missed: of a hundred loads, those that the first level did not
 * have; -1: no misses. */
static void stall_counts(struct profile *p, uint32_t image, const struct image *im,
			 const struct image_proc *proc, unsigned calls, unsigned rounds, int missed)
{
	struct insn in;
	size_t bytes;

	for (uint64_t at = proc->start; at < proc->end; at += in.len) {
		const uint8_t *code = must((void *)image_code(im, at, &bytes));

		assert(insn_decode(&in, code, bytes, at));
		recordings_site(p, image, at, in.cls, in.cls == INSN_RET ? calls : rounds,
				in.cls == INSN_BRANCH ? rounds - calls : 0);
		if (missed >= 0 && in.cls == INSN_LOAD) {
			struct misses *m =
				must(misses_get(p, (struct site_id){ .image = image, .addr = at }));

			m->n[MISS_ACCESSES] = rounds;
			m->n[MISS_L1D] = rounds / 100 * (unsigned)missed;
		}
	}
}

void recordings_stall_counts(struct profile *p, const char *path, int missed)
{
	struct run *r = recordings_run(p, "exact", "stall");
	struct profile_image *pi;
	struct image *im;
	struct err err;

	im = must(image_open(path, path, &err));
	pi = must(profile_image(p, IMAGE_FILE, path, image_build_id(im)));
	stall_counts(p, pi->id, im, must((void *)image_proc_named(im, "chase")), 100, 1000000,
		     missed);
	stall_counts(p, pi->id, im, must((void *)image_proc_named(im, "divide")), 50, 250000,
		     missed);
	r->rate = 0;
	r->n.processes = 1;
	image_close(im);
}

void recordings_big(struct profile *p, unsigned sites)
{
	struct run *r = add_run(p, "cc1");
	struct profile_image *pi = must(profile_image(p, IMAGE_FILE, "/nowhere/cc1", "00"));
	uint32_t x = 1;
	char name[64];

	for (unsigned i = 0; i < sites; i += LENGTH) {
		struct retired ri[LENGTH] = { 0 };

		for (unsigned k = 0; k < LENGTH; k++) {
			x = x * 1664525 + 1013904223;
			ri[k].site =
				(struct site_id){ .image = pi->id, .addr = 0x1000 + 4 * (i + k) };
			ri[k].cls = INSN_LOAD;
			ri[k].len = 4;
			set(&ri[k], OPERAND_LOAD, x >> 28);
			set(&ri[k], OPERAND_RESULT, x >> 24);
			set(&ri[k], OPERAND_ADDRESS, x);
		}
		for (unsigned k = 0; k < 6; k++)
			window(p, &r->n, ri, LENGTH, RA_STOP_FULL);
	}
	for (unsigned i = 0; i < sites; i += 50) {
		snprintf(name, sizeof(name), "procedure_%u", i);
		add_proc(pi, 0x1000 + 4 * i, 0x1000 + 4 * (i + 50), name);
	}
	finish(r);
}

/* Executions of the loop of longest_match; deflate runs a hundredth as often. */
#define ROUNDS 1000000

static void exact_match(struct profile *p, uint32_t image)
{
	static const struct {
		uint8_t cls;
		unsigned taken; /* of 10 */
	} insn[] = {
		{ INSN_LOAD, 0 },   { INSN_LOAD, 0 },  { INSN_OTHER, 0 }, { INSN_OTHER, 0 },
		{ INSN_BRANCH, 7 }, { INSN_OTHER, 0 }, { INSN_OTHER, 0 }, { INSN_BRANCH, 10 }
	};
	struct site *s[8];

	for (unsigned k = 0; k < 8; k++)
		s[k] = recordings_site(p, image, 0x3a10 + 4 * k, insn[k].cls, ROUNDS,
				       ROUNDS / 10 * insn[k].taken);
	recordings_value(p, s[0], OPERAND_LOAD, 0x3c8, ROUNDS / 10 * 9);
	for (unsigned i = 0; i < 1000; i++) {
		recordings_value(p, s[0], OPERAND_LOAD, 0x1000 + i, ROUNDS / 10000);
		recordings_value(p, s[0], OPERAND_ADDRESS, 0x7f0000001000 + 8 * i, ROUNDS / 1000);
	}
	for (unsigned i = 0; i < 4; i++)
		recordings_value(p, s[1], OPERAND_LOAD, i, ROUNDS / 4);
	recordings_value(p, s[2], OPERAND_RESULT, UINT64_MAX, ROUNDS / 100 * 94);
	recordings_value(p, s[2], OPERAND_RESULT, 7, ROUNDS / 100 * 6);
}

static void exact_deflate(struct profile *p, uint32_t image)
{
	for (unsigned i = 0; i < 6; i++) {
		struct site *s =
			recordings_site(p, image, 0x4000 + 5 * i,
					i == 5 ? INSN_SYSCALL : INSN_OTHER, ROUNDS / 100, 0);

		if (!i)
			recordings_value(p, s, OPERAND_ARG1, 0, ROUNDS / 100);
		for (unsigned k = 0; i && i < 5 && k < ROUNDS / 100; k++)
			recordings_value(p, s, OPERAND_RESULT, k * 77 + i, 1);
	}
}

void recordings_exact(struct profile *p)
{
	struct run *r;
	struct profile_image *exe, *anon;

	p->capacity = 2048;
	r = recordings_run(p, "exact", "squeeze -9 -k 'big file.txt'");
	exe = must(profile_image(p, IMAGE_FILE, "/nowhere/bin/squeeze", "0123456789abcdef"));
	anon = must(profile_image(p, IMAGE_ANON, "[anon]", ""));
	add_proc(exe, 0x3000, 0x3100, "main");
	add_proc(exe, 0x3a10, 0x3a30, "longest_match");
	add_proc(exe, 0x4000, 0x4020, "deflate");
	exact_match(p, exe->id);
	exact_deflate(p, exe->id);
	for (unsigned i = 0; i < 20; i++)
		recordings_site(p, exe->id, 0x3000 + 4 * i, INSN_OTHER, 3, 0);
	recordings_site(p, anon->id, 0x7f7654321000, INSN_OTHER, ROUNDS / 10, 0);
	r->rate = 0;
	r->n.elapsed_ns = 30000000000;
	r->n.processes = 1;
}

static void add_lines(struct wset_lines *l, uint64_t from, unsigned n, uint32_t region)
{
	for (uint64_t i = from; i < from + n; i++)
		((struct wset_chunk *)must(wset_chunk(l, i / WSET_CHUNK, region)))
			->bits[i % WSET_CHUNK / 64] |= 1ull << i % 64;
}

/* An interval of lines from one on, so many, in a region, of which a second thread touched some; and one of code. */
static void add_interval(struct wset *w, uint64_t end, uint64_t from, unsigned n, uint32_t region,
			 unsigned shared)
{
	struct wset_snapshot s = {
		.start = w->nsnapshot ? w->snapshot[w->nsnapshot - 1].end : 0,
		.end = end,
		.cpu_ns = 1000 * end,
		.wall_ns = 2000 * end,
		.stack = strdup("longest_match;deflate;main"),
	};
	struct wset_sets sets = { 0 };
	struct err err;

	add_lines(&sets.data, from, n, region);
	if (shared) {
		add_lines(&sets.thread, from, n, 0);
		add_lines(&sets.thread, from, shared, 1);
	}
	((struct wset_chunk *)must(wset_chunk(&sets.code, 1, WSET_CODE)))->bits[0] = 0xff;
	s.first = w->nsnapshot ? 0 : n;
	if (wset_pack(&s, &sets, &err) || wset_add(w, &s, &err))
		abort();
	wset_sets_fini(&sets);
}

void recordings_wset(struct profile *p)
{
	recordings_exact(p);
	for (unsigned i = 0; i < 2; i++) {
		struct wset *w = must(profile_wset(p));

		w->process = i;
		w->pid = 100 + i;
		w->parent = i ? 100 : 0;
		w->line = 64;
		w->max = 512;
		w->unit = WSET_INSTRUCTIONS;
		w->interval = 1000;
		w->command = must(strdup("squeeze"));
		wset_region(w, WSET_KIND_HEAP, "[heap]");
		wset_region(w, WSET_KIND_STACK, "[stack]");
		add_interval(w, 1000, 0x100000, 300, 1, i ? 0 : 100);
		add_interval(w, 2000, 0x100100, 44, 1, 0);
		add_interval(w, 2500, 0x1fffff0, 3, 2, 0);
		if (wset_first(w, "longest_match", 340) || wset_first(w, "main", 7))
			abort();
	}
}

static void add_vector(struct phases *p, uint64_t first, uint64_t second)
{
	struct phase_part part[2] = { { 0, first }, { 1, second } };
	struct err err;

	if (phases_add(p, first ? part : part + 1, first && second ? 2 : 1, &err))
		abort();
}

void recordings_phases(struct profile *p)
{
	struct phases *ph;
	const struct site *s;
	uint32_t image = 0;

	recordings_exact(p);
	SITES_EACH(&p->sites, s)
	{
		image = s->id.image > image ? s->id.image : image;
	}
	ph = must(profile_phases(p));
	ph->pid = 100;
	ph->wanted = 1000;
	ph->max = 100;
	if (phases_block(ph, 1, 0x1000, 3) || phases_block(ph, image, 0x2000, 4) != 1)
		abort();
	for (unsigned i = 0; i < 60; i++)
		add_vector(ph, i % 30 < 20 ? 1000 + i : 0, i % 30 < 10 ? 0 : 400);
}

#define STACKS_NAMES 4

/* Chains below the same main, some of which are cut: thread 0 first, thread 1 in the second half. */
void recordings_stacks(struct profile *p, const char *hostile)
{
	static const char *const name[STACKS_NAMES] = { "main", "deflate", "longest_match", NULL };
	struct run *r = add_run(p, "squeeze -9 file");
	struct profile_image *im =
		must(profile_image(p, IMAGE_FILE, "/usr/bin/squeeze", "aabbccdd00112233"));
	uint32_t root, cut, frame[STACKS_NAMES], deep;
	long thread[2];

	for (unsigned i = 0; i < STACKS_NAMES; i++)
		add_proc(im, 0x1000 + 0x100 * i, 0x1100 + 0x100 * i, name[i] ? name[i] : hostile);
	root = stacks_frame(&p->stacks, 0, FRAME_ROOT, 0, 0);
	cut = stacks_frame(&p->stacks, 0, FRAME_NO_UNWIND, 0, 0);
	frame[0] = stacks_frame(&p->stacks, root, FRAME_CALL, im->id, 0x1010);
	frame[1] = stacks_frame(&p->stacks, frame[0], FRAME_CALL, im->id, 0x1110);
	frame[2] = stacks_frame(&p->stacks, frame[1], FRAME_CODE, im->id, 0x1208);
	frame[3] = stacks_frame(&p->stacks, frame[1], FRAME_CODE, im->id, 0x1304);
	deep = stacks_frame(&p->stacks, cut, FRAME_CODE, im->id, 0x1208);
	thread[0] = stacks_thread(&p->stacks, 0, 100, 100, "squeeze", "user.slice/job");
	thread[1] = stacks_thread(&p->stacks, 0, 100, 101, hostile, "");
	for (unsigned i = 0; i < 200; i++) {
		uint32_t at = i % 10 == 0 ? deep : i % 2 ? frame[2] : frame[3];
		struct site *s = recordings_site(p, im->id, i % 10 && !(i % 2) ? 0x1304 : 0x1208,
						 INSN_OTHER, 1, 0);

		s->samples++;
		s->time += PERIOD;
		r->n.samples++;
		assert(!stacks_add(&p->stacks, at, (uint32_t)thread[i >= 100 && i % 3 == 0],
				   (uint64_t)i * PERIOD, 1, PERIOD));
	}
	r->n.user = r->n.samples;
	r->n.elapsed_ns = r->n.program_ns = 200 * (uint64_t)PERIOD;
	r->n.processes = 1;
}

void recordings_many_stacks(struct profile *p, unsigned levels)
{
	struct run *r = add_run(p, "random recursion");
	struct profile_image *im =
		must(profile_image(p, IMAGE_FILE, "/usr/bin/recursion", "aabbccdd00112233"));
	uint32_t *row = calloc((size_t)1 << levels, sizeof(*row));
	long thread = stacks_thread(&p->stacks, 0, 100, 100, "recursion", "");
	struct site *s = recordings_site(p, im->id, 0x1010, INSN_OTHER, 1, 0);
	size_t n = 1;

	assert(row && thread >= 0);
	add_proc(im, 0x1000, 0x1100, "even");
	add_proc(im, 0x1100, 0x1200, "odd");
	row[0] = stacks_frame(&p->stacks, 0, FRAME_ROOT, 0, 0);
	for (unsigned level = 1; level <= levels; level++, n *= 2) {
		for (size_t i = n; i-- > 0;) {
			unsigned kind = level < levels ? FRAME_CALL : FRAME_CODE;
			uint32_t caller = row[i];

			row[2 * i] = stacks_frame(&p->stacks, caller, kind, im->id, 0x1010);
			row[2 * i + 1] = stacks_frame(&p->stacks, caller, kind, im->id, 0x1110);
		}
	}
	for (size_t i = 0; i < n; i++)
		assert(!stacks_add(&p->stacks, row[i], (uint32_t)thread, i * PERIOD / 1000, 1,
				   PERIOD));
	free(row);
	s->samples = r->n.samples = r->n.user = n;
	s->time = (double)n * PERIOD;
	r->n.elapsed_ns = r->n.program_ns = n * (uint64_t)PERIOD;
	r->n.processes = 1;
}

#define FOREST_PROCS 3000
#define FOREST_STACKS 15000
#define FOREST_THREADS 3000
#define FOREST_DEPTH 9

/* The caller of a stack's frames is one of few near the root, and one of many further on. */
static uint32_t forest_stack(struct profile *p, uint32_t image, uint32_t root, uint32_t *x)
{
	uint32_t at = root;

	for (unsigned depth = 0; depth < FOREST_DEPTH; depth++) {
		unsigned kinds = depth < 5 ? 2u << depth : FOREST_PROCS, proc;

		*x = *x * 1664525 + 1013904223;
		proc = (*x >> 12) % kinds;
		at = stacks_frame(&p->stacks, at,
				  depth + 1 < FOREST_DEPTH ? FRAME_CALL : FRAME_CODE, image,
				  0x100000 + 0x100 * proc + 0x10);
	}
	return at;
}

void recordings_forest(struct profile *p)
{
	struct profile_image *im, *kernel;
	uint32_t root, x = 1;
	char name[120];

	recordings_big(p, 20000);
	im = p->image[1];
	kernel = must(profile_image(p, IMAGE_KERNEL, "[kernel]", ""));
	add_proc(kernel, 0xffffffff81000000, 0xffffffff81000400, "clear_page_erms");
	for (unsigned i = 0; i < FOREST_PROCS; i++) {
		snprintf(name, sizeof(name), "a_procedure_with_a_long_name_as_libraries_have_%u",
			 i);
		add_proc(im, 0x100000 + 0x100 * i, 0x100100 + 0x100 * i, name);
	}
	root = stacks_frame(&p->stacks, 0, FRAME_ROOT, 0, 0);
	for (unsigned i = 0; i < FOREST_STACKS; i++) {
		uint32_t tid = 1000 + i * FOREST_THREADS / FOREST_STACKS;
		long thread = stacks_thread(&p->stacks, 0, tid, tid, tid % 2 ? "odd" : "even", "");

		uint32_t at = forest_stack(p, im->id, root, &x);

		if (i % 4 == 0) {
			at = stacks_frame(&p->stacks, at, FRAME_CODE, kernel->id,
					  0xffffffff81000010);
			samples(p, &p->run[0].n, kernel->id, 0xffffffff81000010, 1);
		}
		assert(thread >= 0);
		assert(!stacks_add(&p->stacks, at, (uint32_t)thread, (uint64_t)i * PERIOD, 1,
				   PERIOD));
	}
}
