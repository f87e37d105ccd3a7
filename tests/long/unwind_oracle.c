/* SPDX-License-Identifier: MIT */
/*
 * Walks of call stacks by the sampler's tables (sampler/bpf/unwind.h) against libdwfl's, at each instruction of a program
 * between two stops that it makes itself. Prints what differs and a line of sums.
 *
 * Usage: unwind_oracle EVERY PROGRAM [ARGUMENT...]     EVERY: of so many instructions one is looked at
 *        unwind_oracle --tables FILE...                all rows of files: how many, bytes of one, how long they take
 * Exit status 1: fewer than 99.9 % of the frames are equal, or a stack that was said to be whole is cut.
 */
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "oracle/singlestep.h"
#include "image/maps.h"
#include "sampler/tables.h"

#define STEPS_MAX 2000000
#define SHOWN 8

static pid_t child;
static struct tables_memory memory;

/* The surroundings of the walk. */

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define UNWIND_FUNCTION static __attribute__((noinline))
#include "sampler/bpf/unwind.h"

static struct mapping {
	struct unwind_mapping m;
	struct image *im;
} mapping[UNWIND_RANGES];
static size_t mappings;

static __always_inline int unwind_read(struct unwind_walk *w, uint64_t addr, void *to,
				       uint32_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)addr, bytes };

	(void)w;
	return process_vm_readv(child, &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -1;
}

static __always_inline int unwind_find_range(struct unwind_walk *w, uint64_t addr)
{
	for (size_t i = 0; i < mappings; i++)
		if (addr >= mapping[i].m.start && addr < mapping[i].m.end) {
			w->range = mapping[i].m;
			return 0;
		}
	return -1;
}

static __always_inline const struct unwind_image *unwind_image_at(uint32_t image)
{
	return &memory.image[image];
}

static __always_inline const uint64_t *unwind_page_at(uint32_t page)
{
	return &memory.page[page];
}

static __always_inline uint32_t unwind_row_at(uint32_t row)
{
	return memory.line[row / UNWIND_LINE].row[row % UNWIND_LINE];
}

static __always_inline const struct unwind_rule *unwind_rule_at(uint32_t rule)
{
	return &memory.rule[rule];
}

/* The program. */

static void fail(const char *what)
{
	fprintf(stderr, "unwind_oracle: %s\n", what);
	exit(2);
}

static void start(char **argv)
{
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[0], argv);
		_exit(127);
	}
}

/* Runs until the program stops itself. */
static void run_to_stop(void)
{
	int status;

	for (;;) {
		if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			fail("the program ended");
		if (WSTOPSIG(status) == SIGSTOP)
			return;
		ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	}
}

static void add_mapping(struct tables *t, const struct map *m)
{
	struct mapping *to = &mapping[mappings];
	const struct image_segment *seg;
	struct err err;

	to->im = image_open(m->name, m->name, &err);
	if (!to->im || mappings == UNWIND_RANGES)
		return;
	to->m = (struct unwind_mapping){ m->start, m->end, 0, (uint32_t)mappings + 1, 1 };
	for (unsigned i = 0, n = image_segments(to->im, &seg); i < n; i++)
		if (seg[i].offset < m->offset + (m->end - m->start) &&
		    seg[i].offset + seg[i].size > m->offset)
			to->m.bias = m->start - m->offset + seg[i].offset - seg[i].addr;
	tables_want_all(t, to->m.image, to->im);
	mappings++;
}

static void read_mappings(struct tables *t)
{
	struct maps maps;
	struct err err;

	if (maps_read(&maps, NULL, child, &err))
		fail(err.msg);
	for (size_t i = 0; i < maps.n; i++)
		if (maps.map[i].exec && maps.map[i].inode)
			add_mapping(t, &maps.map[i]);
	maps_fini(&maps);
}

/* Both walks. */

struct truth {
	uint64_t pc[UNWIND_FRAMES];
	bool activation[UNWIND_FRAMES];
	size_t n;
	bool failed; /* libdwfl did not come to the end */
};

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct truth *t = arg;
	Dwarf_Addr pc;

	if (t->n == UNWIND_FRAMES || !dwfl_frame_pc(frame, &pc, &t->activation[t->n]))
		return DWARF_CB_ABORT;
	t->pc[t->n++] = pc;
	return DWARF_CB_OK;
}

static struct unwind_walk walk;

static void take_registers(const struct user_regs_struct *r)
{
	const uint64_t reg[16] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
				   r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	memcpy(walk.reg, reg, sizeof(reg));
	walk.pc = r->rip;
}

/* The run-time address of a frame: that of the mapping of its image. */
static uint64_t run_time(uint64_t frame)
{
	uint32_t image = (uint32_t)(frame >> UNWIND_IMAGE_SHIFT);

	return (frame & UNWIND_ADDR) + mapping[image - 1].m.bias;
}

static struct sums {
	unsigned long steps, frames, differ, whole, gave_up, wrong, ends[UNWIND_UNREADABLE + 1];
	double ns;
} sums;

static void show(const char *what, const struct truth *t, size_t at)
{
	static int shown;

	if (shown++ >= SHOWN)
		return;
	fprintf(stderr,
		"%s at %#" PRIx64 ", frame %zu: %#" PRIx64 " of %u, not %#" PRIx64 " of %zu\n",
		what, t->pc[0], at, at < walk.out.n ? run_time(walk.out.frame[at]) : 0, walk.out.n,
		at < t->n ? t->pc[at] : 0, t->n);
}

static void compare(const struct truth *t)
{
	size_t n = t->n > walk.out.n ? walk.out.n : t->n;

	sums.steps++;
	sums.ends[walk.end]++;
	for (size_t i = 0; i < n; i++) {
		sums.frames++;
		if (run_time(walk.out.frame[i]) == t->pc[i])
			continue;
		sums.differ++;
		show("another frame", t, i);
		break;
	}
	sums.whole += walk.end == UNWIND_ROOT;
	if (walk.end > UNWIND_DEPTH)
		show("gave up", t, walk.out.n);
	if (walk.end == UNWIND_ROOT && walk.out.n < t->n) {
		sums.wrong++;
		show("cut, and said to be whole", t, n);
	} else if (walk.end == UNWIND_ROOT && walk.out.n > t->n && !t->failed) {
		sums.differ++;
		show("too long", t, n);
	}
}

static void look(Dwfl *dwfl)
{
	struct user_regs_struct r;
	struct truth t = { .n = 0 };

	if (ptrace(PTRACE_GETREGS, child, 0, &r))
		fail("cannot read registers");
	take_registers(&r);
	unwind_begin(&walk);
	while (!unwind_step(&walk))
		;
	t.failed = dwfl_getthread_frames(dwfl, child, on_frame, &t) != 0;
	if (t.n)
		compare(&t);
}

/* Steps until the program stops itself again. */
static void step_through(Dwfl *dwfl, unsigned every)
{
	struct user_regs_struct r;
	int status, sig = 0;

	for (unsigned long i = 0; i < STEPS_MAX; i++) {
		if (i % every == 0)
			look(dwfl);
		if (ptrace(PTRACE_GETREGS, child, 0, &r) || single_step(child, child, &r, sig))
			fail("the program cannot be stepped");
		if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			fail("the program ended");
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (sig == SIGSTOP)
			return;
	}
}

static Dwfl *attach(void)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl || dwfl_linux_proc_report(dwfl, child) || dwfl_report_end(dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(dwfl, child, true))
		fail("libdwfl cannot attach");
	return dwfl;
}

static void allocate(void)
{
	memory.image = calloc(UNWIND_IMAGES, sizeof(*memory.image));
	memory.page = calloc(UNWIND_PAGES, sizeof(*memory.page));
	memory.line = calloc(UNWIND_ROWS / UNWIND_LINE, sizeof(*memory.line));
	memory.rule = calloc(UNWIND_RULES, sizeof(*memory.rule));
	if (!memory.image || !memory.page || !memory.line || !memory.rule)
		fail("no memory");
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void measure_tables(const char *file)
{
	struct tables_size size;
	double began;
	struct tables *t;
	struct image *im;
	struct err err;

	im = image_open(file, file, &err);
	if (!im)
		fail(err.msg);
	allocate();
	t = tables_new(&memory);
	began = now_ms();
	tables_want_all(t, 1, im);
	size = tables_size(t);
	printf("%s: %zu rows, %zu rules, %zu pages, %.2f bytes a row, %.1f ms\n", file, size.rows,
	       size.rules, size.pages,
	       (double)(size.rows * 4 + size.pages * sizeof(uint64_t) +
			size.rules * sizeof(struct unwind_rule)) /
		       (double)(size.rows ? size.rows : 1),
	       now_ms() - began);
	tables_free(t);
	image_close(im);
}

int main(int argc, char **argv)
{
	struct tables *t;
	Dwfl *dwfl;

	for (int i = 2; i < argc && !strcmp(argv[1], "--tables"); i++)
		measure_tables(argv[i]);
	if (argc > 2 && !strcmp(argv[1], "--tables"))
		return 0;
	if (argc < 3)
		fail("usage: unwind_oracle EVERY PROGRAM [ARGUMENT...]");
	allocate();
	t = tables_new(&memory);
	start(argv + 2);
	run_to_stop();
	read_mappings(t);
	dwfl = attach();
	step_through(dwfl, (unsigned)atoi(argv[1]));
	dwfl_end(dwfl);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (size_t i = 0; i < mappings; i++)
		image_close(mapping[i].im);
	tables_free(t);
	printf("%lu steps, %lu frames, %lu differ, %lu whole, %lu cut and said to be whole; gave "
	       "up: "
	       "%lu without rule, %lu without mapping, %lu without rows, %lu odd, %lu unreadable\n",
	       sums.steps, sums.frames, sums.differ, sums.whole, sums.wrong,
	       sums.ends[UNWIND_NO_RULE], sums.ends[UNWIND_NO_RANGE], sums.ends[UNWIND_NO_ROWS],
	       sums.ends[UNWIND_ODD], sums.ends[UNWIND_UNREADABLE]);
	return !sums.steps || sums.wrong || sums.differ * 1000 > sums.frames;
}
