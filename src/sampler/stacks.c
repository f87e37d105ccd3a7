/* SPDX-License-Identifier: MIT */
#include "sampler/stacks.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/search.h"
#include "image/frames.h"
#include "image/maps.h"
#include "sampler/cgroup.h"

#define FRAMES_MAX 512
#define PROCESSES_MAX 512
#define AGAIN_NS 2000000 /* a process's mappings are read at most so often */

/* An executable mapping of a process. */
struct place {
	uint64_t start, end, offset;
	struct mapped_file *file; /* NULL: no file, or one that could not be opened */
	bool vdso;
};

struct process {
	pid_t pid;
	struct place *place; /* in the order of addresses */
	size_t n;
	uint64_t read;	      /* when; ns, CLOCK_MONOTONIC; 0: never */
	uint64_t mm, exec_vm; /* as in struct sample_stack, when they were read */
	char cgroup[256];
	UT_hash_handle hh;
};

/* The innermost frame of a sample's stack. */
struct noted {
	uint64_t time;
	uint32_t tid, frame;
};

#define NOTED 8192 /* samples whose windows may still be waiting to be observed */

struct walker {
	struct files *files;
	uint32_t kernel_image, vdso_image, anon_image;
	struct process *processes;
	struct noted noted[NOTED];
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
	enum frame_kind end;
};

struct walker *walker_new(struct files *files, uint32_t kernel_image, uint32_t vdso_image,
			  uint32_t anon_image)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->files = files;
	w->kernel_image = kernel_image;
	w->vdso_image = vdso_image;
	w->anon_image = anon_image;
	return w;
}

static void forget(struct walker *w, struct process *p)
{
	HASH_DEL(w->processes, p);
	free(p->place);
	free(p);
}

void walker_free(struct walker *w)
{
	struct process *p, *next;

	if (!w)
		return;
	HASH_ITER (hh, w->processes, p, next) {
		forget(w, p);
	}
	free(w);
}

/* Mappings. */

/* Reads the mappings of the process; those that are known remain where it is gone. */
static void look(struct walker *w, struct process *p, uint64_t now)
{
	struct place *all;
	struct maps maps;
	struct err err;
	size_t n = 0;

	p->read = now;
	if (maps_read(&maps, w->files->broker, p->pid, &err))
		return;
	all = calloc(maps.n + 1, sizeof(*all));
	for (size_t i = 0; all && i < maps.n; i++) {
		const struct map *m = &maps.map[i];

		if (m->exec)
			all[n++] = (struct place){ m->start, m->end, m->offset,
						   m->inode ? files_add(w->files, p->pid, m) : NULL,
						   !strcmp(m->name, "[vdso]") };
	}
	maps_fini(&maps);
	if (!all || !n) {
		free(all);
		return;
	}
	free(p->place);
	p->place = all;
	p->n = n;
}

/* Mappings that were read of another program, or before code was mapped or unmapped, say nothing of where code is now. */
static void renew(struct walker *w, struct process *p, const struct sample_stack *k)
{
	if (p->read && p->mm == k->mm && p->exec_vm == k->exec_vm)
		return;
	if (p->mm != k->mm)
		p->n = 0;
	p->mm = k->mm;
	p->exec_vm = k->exec_vm;
	look(w, p, k->time);
}

/* The process of the sample, with its mappings. NULL without memory. */
static struct process *process_of(struct walker *w, const struct sample_stack *k)
{
	pid_t pid = (pid_t)k->pid;
	struct process *p;

	HASH_FIND_INT(w->processes, &pid, p);
	if (!p) {
		if (HASH_COUNT(w->processes) >= PROCESSES_MAX)
			forget(w, w->processes); /* the oldest one */
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->pid = pid;
		cgroup_of(pid, p->cgroup, sizeof(p->cgroup));
		HASH_ADD_INT(w->processes, pid, p);
	}
	if (k->ip)
		renew(w, p, k);
	return p;
}

static const struct place *find(const struct process *p, uint64_t at)
{
	size_t low = search_first(i, 0, p->n, p->place[i].end > at);

	return low < p->n && p->place[low].start <= at ? &p->place[low] : NULL;
}

static const struct place *place_at(struct walker *w, struct process *p, uint64_t at, uint64_t now)
{
	const struct place *found = find(p, at);

	if (!found && now - p->read > AGAIN_NS) {
		look(w, p, now);
		found = find(p, at);
	}
	return found;
}

static uint64_t addr_in(const struct place *p, uint64_t at)
{
	uint64_t offset = at - p->start + p->offset;

	return p->file ? files_addr(p->file, offset) : offset;
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

/* Appends the frame at the address. False: the stack ends there, for the reason in k->end. */
static bool note(struct walker *w, struct walk *k, const struct place *p, uint64_t at,
		 bool returned)
{
	uint32_t image = !p	   ? 0
			 : p->file ? p->file->image
			 : p->vdso ? w->vdso_image
				   : w->anon_image;

	if (!p) {
		k->end = FRAME_UNMAPPED;
		return false;
	}
	if (k->n == FRAMES_MAX) {
		k->end = FRAME_DEPTH;
		return false;
	}
	k->frame[k->n].addr = p->file ? addr_in(p, at) : at;
	k->frame[k->n].image = image;
	k->frame[k->n++].kind = returned ? FRAME_CALL : FRAME_CODE;
	return true;
}

/*
 * The caller of code without unwind information, which compilers that generate code at run time keep by frame pointers. It is
 * believed if its return address and its frame are where they can be.
 */
static enum frames_next by_frame_pointer(struct walker *w, struct walk *k, struct process *p)
{
	uint64_t fp = k->state.reg[5], pc, caller;

	if (fp < k->state.reg[4] || fp & 7 || !read_copy(k, fp, &caller) ||
	    !read_copy(k, fp + 8, &pc) || !pc || !place_at(w, p, pc - 1, k->k->time))
		return FRAMES_UNKNOWN;
	k->state.pc = pc;
	k->state.reg[4] = fp + 16;
	k->state.reg[5] = caller;
	k->state.interrupted = false;
	return FRAMES_CALLER;
}

static enum frames_next to_caller(struct walker *w, struct walk *k, struct process *p,
				  const struct place *at, bool returned)
{
	enum frames_next next = FRAMES_UNKNOWN;

	if (at->file && at->file->im)
		next = frames_next(at->file->im, &k->state, addr_in(at, k->state.pc) - k->state.pc,
				   returned, read_copy, k);
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

	k->state = (struct frame_state){ .pc = k->k->ip };
	memcpy(k->state.reg, k->k->reg, sizeof(k->state.reg));
	for (;;) {
		const struct place *at = place_at(w, p, k->state.pc - returned, k->k->time);

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

/* The frame in the kernel, below those of user space. */
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

int walker_add(struct walker *w, const struct sample_stack *k, size_t bytes, uint64_t since)
{
	struct stacks *s = &w->files->profile->stacks;
	char comm[sizeof(k->comm) + 1] = "";
	struct process *p;
	struct walk walk;
	uint32_t frame;
	long thread;

	if (bytes < offsetof(struct sample_stack, bytes) ||
	    k->n > bytes - offsetof(struct sample_stack, bytes))
		return 0;
	p = process_of(w, k);
	if (!p)
		return -1;
	walk.k = k;
	walk.n = 0;
	walk.end = FRAME_ROOT;
	walk_kernel(w, &walk);
	if (k->ip)
		walk_user(w, &walk, p);
	memcpy(comm, k->comm, sizeof(k->comm));
	thread = stacks_thread(s, 0, k->pid, k->tid, comm, p->cgroup);
	frame = stacks_frame(s, 0, walk.end, 0, 0);
	for (unsigned i = walk.n; frame && i--;)
		frame = stacks_frame(s, frame, walk.frame[i].kind, walk.frame[i].image,
				     walk.frame[i].addr);
	if (!frame || thread < 0)
		return -1;
	w->noted[note_of(k->tid, k->time)] = (struct noted){ k->time, k->tid, frame };
	return stacks_add(s, frame, (uint32_t)thread, since, 1, (double)k->period);
}
