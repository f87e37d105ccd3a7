/* SPDX-License-Identifier: MIT */
#include "sampler/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "image/frames.h"
#include "sampler/spaces.h"

#define FRAMES_MAX UNWIND_FRAMES

/* The innermost frame of a sample's stack. */
struct noted {
	uint64_t time;
	uint32_t tid, frame;
};

#define NOTED 8192 /* number of samples whose windows may still be waiting to be observed */

struct walker {
	struct files *files;
	uint32_t kernel_image;
	struct tables *tables;
	struct noted noted[NOTED];
	struct spaces spaces;
};

/* A stack that is being walked. */
struct walk {
	const struct sample_stack *k;
	struct frame_state state;
	struct {
		uint64_t addr;
		uint32_t image, kind;
	} frame[FRAMES_MAX];
	unsigned n;
	bool by_fp; /* the last step was by frame pointer */
	enum frame_kind end;
};

struct walker *walker_new(const struct walker_options *o)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->files = o->files;
	w->kernel_image = o->kernel_image;
	w->spaces.files = o->files;
	w->spaces.vdso_image = o->vdso_image;
	w->spaces.anon_image = o->anon_image;
	w->spaces.map = o->spaces;
	spaces_init(&w->spaces);
	w->tables = tables_new(&o->memory);
	if (!w->tables) {
		walker_free(w);
		return NULL;
	}
	return w;
}

void walker_free(struct walker *w)
{
	if (!w)
		return;
	spaces_fini(&w->spaces);
	tables_free(w->tables);
	free(w);
}

void walker_follow(struct walker *w, struct sideband *sideband, pid_t only)
{
	w->spaces.sideband = sideband;
	if (only)
		spaces_follow(&w->spaces, only);
}

void walker_advance(struct walker *w, uint64_t until)
{
	spaces_advance(&w->spaces, until);
}

/* Walking. */

static bool read_copy(void *ctx, uint64_t at, uint64_t *v)
{
	const struct walk *k = ctx;
	uint64_t from = at - k->k->reg[4];

	if (from > k->k->n || k->k->n - from < 8)
		return false;
	memcpy(v, k->k->bytes + from, 8);
	return true;
}

/* Appends the frame at the address. False: the stack ends there, and k->end has the reason. */
static bool note(struct walker *w, struct walk *k, const struct place *p, uint64_t at,
		 bool returned)
{
	if (!p) {
		k->end = FRAME_UNMAPPED;
		return false;
	}
	if (k->n == FRAMES_MAX) {
		k->end = FRAME_DEPTH;
		return false;
	}
	k->frame[k->n].addr = at - p->bias;
	k->frame[k->n].image = spaces_number(&w->spaces, p);
	k->frame[k->n++].kind = returned ? FRAME_CALL : FRAME_CODE;
	return true;
}

/*
 * Steps to the caller of code without unwind information: compilers that generate code at run time keep frame pointers.
 * The step is believed if return address and frame lie where such can be.
 */
static enum frames_next by_frame_pointer(struct walker *w, struct walk *k, struct process *p)
{
	uint64_t fp = k->state.reg[5], pc, caller;

	if (!fp && k->by_fp) /* a chain of frame pointers ends with 0 */
		return FRAMES_OUTERMOST;
	if (fp < k->state.reg[4] || fp & 7 || !read_copy(k, fp, &caller) ||
	    !read_copy(k, fp + 8, &pc) || !pc || !spaces_find(&w->spaces, p, pc - 1, k->k->time))
		return FRAMES_UNKNOWN;
	k->state.pc = pc;
	k->state.reg[4] = fp + 16;
	k->state.reg[5] = caller;
	k->state.interrupted = false;
	k->by_fp = true;
	return FRAMES_CALLER;
}

/* Whether the image begins to run at the address: such code has no caller, and often no rule. */
static bool is_entry(struct image *im, uint64_t addr)
{
	uint64_t entry;

	return image_called(im, &entry, 1) == 1 && addr - entry < TABLES_ENTRY;
}

static enum frames_next to_caller(struct walker *w, struct walk *k, struct process *p,
				  const struct place *at, bool returned)
{
	struct image *im = spaces_image(&w->spaces, at);
	enum frames_next next = FRAMES_UNKNOWN;

	if (im) {
		tables_want(w->tables, spaces_number(&w->spaces, at), im,
			    k->state.pc - returned - at->bias);
		next = frames_next(im, &k->state, 0 - at->bias, returned, read_copy, k);
		if (next == FRAMES_CALLER)
			k->by_fp = false;
		if (next == FRAMES_UNKNOWN && is_entry(im, k->state.pc - at->bias))
			return FRAMES_OUTERMOST;
	} else {
		files_note_generator(w->files, p->pid);
	}
	return next == FRAMES_UNKNOWN ? by_frame_pointer(w, k, p) : next;
}

static enum frame_kind reason(const struct walk *k, const struct place *at, enum frames_next next)
{
	switch (next) {
	case FRAMES_OUTERMOST:
		return FRAME_ROOT;
	case FRAMES_UNKNOWN:
		return at->file || at->vdso ? FRAME_NO_UNWIND : FRAME_GENERATED;
	default:
		return k->k->n > STACK_COPY - 8192 ? FRAME_DEPTH : FRAME_UNREADABLE;
	}
}

static void walk_user(struct walker *w, struct walk *k, struct process *p)
{
	enum frames_next next;
	bool returned = false;

	k->by_fp = false;
	k->state = (struct frame_state){ .pc = k->k->ip };
	memcpy(k->state.reg, k->k->reg, sizeof(k->state.reg));
	for (;;) {
		const struct place *at =
			spaces_find(&w->spaces, p, k->state.pc - returned, k->k->time);

		if (!note(w, k, at, k->state.pc, returned))
			return;
		next = to_caller(w, k, p, at, returned);
		if (next != FRAMES_CALLER) {
			k->end = reason(k, at, next);
			return;
		}
		returned = !k->state.interrupted;
	}
}

/* Adds the frame in the kernel, below those of user space. */
static void walk_kernel(struct walker *w, struct walk *k)
{
	if (!k->k->kernel_ip)
		return;
	k->frame[0].addr = k->k->kernel_ip;
	k->frame[0].image = w->kernel_image;
	k->frame[0].kind = FRAME_CODE;
	k->n = 1;
}

static size_t note_of(uint32_t tid, uint64_t time)
{
	return (tid + time / 1024) % NOTED;
}

uint32_t walker_frame(const struct walker *w, uint32_t tid, uint64_t time)
{
	const struct noted *n = &w->noted[note_of(tid, time)];

	return n->tid == tid && n->time == time ? n->frame : 0;
}

/* Describes the sample's process, thread and time. */
struct who {
	uint32_t pid, tid;
	const char *comm; /* 16 bytes */
	uint64_t time, since;
	double weight;
};

/* Adds a sample of the process that ended in the frame; frame 0: there was no memory for the frame. -1 without memory. */
static int add(struct walker *w, struct process *p, const struct who *who, uint32_t frame)
{
	struct stacks *s = &w->files->profile->stacks;
	char comm[17] = "";
	long thread;

	memcpy(comm, who->comm, 16);
	thread = stacks_thread(s, 0, who->pid, who->tid, comm, spaces_cgroup(p));
	if (!frame || thread < 0)
		return -1;
	w->noted[note_of(who->tid, who->time)] = (struct noted){ who->time, who->tid, frame };
	return stacks_add(s, frame, (uint32_t)thread, who->since, 1, who->weight);
}

int walker_add(struct walker *w, const struct sample_stack *k, size_t bytes, uint64_t since)
{
	struct stacks *s = &w->files->profile->stacks;
	const struct who who = { k->pid, k->tid, k->comm, k->time, since, (double)k->period };
	struct process *p;
	struct walk walk;
	uint32_t frame;

	if (bytes < offsetof(struct sample_stack, bytes) ||
	    k->n > bytes - offsetof(struct sample_stack, bytes))
		return 0;
	spaces_advance(&w->spaces, k->time);
	p = spaces_process(&w->spaces, (pid_t)k->pid);
	if (!p)
		return -1;
	walk.k = k;
	walk.n = 0;
	walk.end = FRAME_ROOT;
	walk_kernel(w, &walk);
	if (k->ip) {
		spaces_enter(&w->spaces, p, k->mm, k->exec_vm, k->time);
		walk_user(w, &walk, p);
	}
	frame = stacks_frame(s, 0, walk.end, 0, 0);
	for (unsigned i = walk.n; frame && i--;)
		frame = stacks_frame(s, frame, walk.frame[i].kind, walk.frame[i].image,
				     walk.frame[i].addr);
	return add(w, p, &who, frame);
}

/* Tells why a stack that the kernel side walked ends. While the ring buffer is full, a walk that stopped early is not
 * continued. */
static enum frame_kind end_of(const struct walker *w, const struct unwind_frames *k)
{
	uint64_t last = k->n ? k->frame[k->n - 1] >> UNWIND_IMAGE_SHIFT : 0;

	switch (k->end) {
	case UNWIND_ROOT:
		return FRAME_ROOT;
	case UNWIND_DEPTH:
		return FRAME_DEPTH;
	case UNWIND_NO_RULE:
		return last == w->spaces.anon_image ? FRAME_GENERATED : FRAME_NO_UNWIND;
	default:
		return FRAME_NOT_WALKED;
	}
}

int walker_add_frames(struct walker *w, const struct unwind_frames *k, size_t bytes, uint64_t since)
{
	const struct who who = { k->pid, k->tid, k->comm, k->time, since, (double)k->period };
	struct stacks *s = &w->files->profile->stacks;
	size_t images = w->files->profile->nimage;
	enum frame_kind end;
	struct process *p;
	uint32_t frame;

	if (bytes < offsetof(struct unwind_frames, frame) ||
	    k->n > (bytes - offsetof(struct unwind_frames, frame)) / 8)
		return 0;
	spaces_advance(&w->spaces, k->time);
	p = spaces_process(&w->spaces, (pid_t)k->pid);
	if (!p)
		return -1;
	end = end_of(w, k);
	if (end == FRAME_GENERATED)
		files_note_generator(w->files, p->pid);
	frame = stacks_frame(s, 0, end, 0, 0);
	for (uint32_t i = k->n; frame && i--;) {
		uint64_t f = k->frame[i];
		uint32_t image = (uint32_t)(f >> UNWIND_IMAGE_SHIFT);

		frame = stacks_frame(s, frame, f & UNWIND_CALL ? FRAME_CALL : FRAME_CODE,
				     image < images ? image : 0, f & UNWIND_ADDR);
	}
	if (frame && k->kernel_ip)
		frame = stacks_frame(s, frame, FRAME_CODE, w->kernel_image, k->kernel_ip);
	return add(w, p, &who, frame);
}

void walker_name_procedures(struct walker *w)
{
	struct profile_image *pi = w->files->profile->image[w->spaces.vdso_image];
	const struct image_proc *p;
	size_t n = w->spaces.vdso ? image_procs(w->spaces.vdso, &p) : 0, cap = pi->nproc;

	for (size_t i = 0; i < n; i++)
		if (!files_add_procedure(pi, p[i].start, p[i].end, p[i].name, &cap))
			break;
	files_sort_procedures(pi);
}
