/* SPDX-License-Identifier: MIT */
#include "sampler/stacks.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uthash.h>

#include "base/search.h"
#include "image/frames.h"
#include "image/maps.h"
#include "sampler/cgroup.h"

#define FRAMES_MAX UNWIND_FRAMES
#define PROCESSES_MAX 512
#define ENTRY_BYTES 64	 /* of code that calls what runs first */
#define AGAIN_NS 2000000 /* a process's mappings are read at most so often */

/* An executable mapping of a process. */
struct place {
	uint64_t start, end, offset;
	uint64_t bias;		  /* run-time addresses less those of the ELF file */
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
	int spaces;
	struct tables *tables;
	struct image *vdso; /* or NULL; all processes have the same */
	struct process *processes;
	struct noted noted[NOTED];
	struct unwind_space space; /* the one that is being published */
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

/* The recorder's own vDSO, as an image. */
static struct image *open_vdso(void)
{
	const void *at = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t n = 2 * (size_t)sysconf(_SC_PAGESIZE);
	int fd = at ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	struct err err;

	if (fd < 0)
		return NULL;
	/* the kernel maps two pages or one; what cannot be read is not written */
	if (write(fd, at, n) <= 0) {
		close(fd);
		return NULL;
	}
	return image_take(fd, "[vdso]", &err);
}

struct walker *walker_new(const struct walker_options *o)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->files = o->files;
	w->kernel_image = o->kernel_image;
	w->vdso_image = o->vdso_image;
	w->anon_image = o->anon_image;
	w->spaces = o->spaces;
	w->vdso = open_vdso();
	w->tables = tables_new(&o->memory);
	if (!w->tables) {
		walker_free(w);
		return NULL;
	}
	return w;
}

static void forget(struct walker *w, struct process *p)
{
	HASH_DEL(w->processes, p);
	if (w->spaces >= 0)
		bpf_map_delete_elem(w->spaces, &p->pid);
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
	tables_free(w->tables);
	image_close(w->vdso);
	free(w);
}

/* Mappings. */

/* What has the code of the mapping, and rules for it; or NULL. */
static struct image *image_in(const struct walker *w, const struct place *p)
{
	return p->file ? p->file->im : p->vdso ? w->vdso : NULL;
}

/* What lies between run-time and ELF addresses of a mapping. */
static uint64_t bias_of(const struct walker *w, const struct place *p)
{
	struct image *im = image_in(w, p);
	const struct image_segment *seg;
	unsigned n = im ? image_segments(im, &seg) : 0;
	uint64_t size = p->end - p->start;

	for (unsigned i = 0; i < n; i++)
		if (seg[i].offset < p->offset + size && seg[i].offset + seg[i].size > p->offset)
			return p->start - p->offset + seg[i].offset - seg[i].addr;
	return p->file || p->vdso ? p->start - p->offset : 0;
}

static uint32_t number_of(const struct walker *w, const struct place *p)
{
	return p->file ? p->file->image : p->vdso ? w->vdso_image : w->anon_image;
}

/* Tells the kernel side of the process's mappings, if its tables have room for them. */
static void publish(struct walker *w, const struct process *p)
{
	struct unwind_space *s = &w->space;

	if (w->spaces < 0 || p->n > UNWIND_RANGES)
		return;
	s->mm = p->mm;
	s->exec_vm = p->exec_vm;
	s->n = (uint32_t)p->n;
	for (size_t i = 0; i < p->n; i++) {
		const struct place *at = &p->place[i];

		if (number_of(w, at) >= UNWIND_IMAGES)
			return;
		s->range[i] = (struct unwind_mapping){ .start = at->start,
						       .end = at->end,
						       .bias = at->bias,
						       .image = number_of(w, at),
						       .rules = image_in(w, at) != NULL };
	}
	bpf_map_update_elem(w->spaces, &p->pid, s, BPF_ANY);
}

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

		if (!m->exec || m->start >> 47) /* the kernel's: [vsyscall] */
			continue;
		all[n] = (struct place){ .start = m->start,
					 .end = m->end,
					 .offset = m->offset,
					 .file = m->inode ? files_add(w->files, p->pid, m) : NULL,
					 .vdso = !strcmp(m->name, "[vdso]") };
		all[n].bias = bias_of(w, &all[n]);
		n++;
	}
	maps_fini(&maps);
	if (!all || !n) {
		free(all);
		return;
	}
	free(p->place);
	p->place = all;
	p->n = n;
	publish(w, p);
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

/* NULL without memory. */
static struct process *process_of(struct walker *w, pid_t pid)
{
	struct process *p;

	HASH_FIND_INT(w->processes, &pid, p);
	if (p)
		return p;
	if (HASH_COUNT(w->processes) >= PROCESSES_MAX)
		forget(w, w->processes); /* the oldest one */
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	cgroup_of(pid, p->cgroup, sizeof(p->cgroup));
	HASH_ADD_INT(w->processes, pid, p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
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
	if (!p) {
		k->end = FRAME_UNMAPPED;
		return false;
	}
	if (k->n == FRAMES_MAX) {
		k->end = FRAME_DEPTH;
		return false;
	}
	k->frame[k->n].addr = at - p->bias;
	k->frame[k->n].image = number_of(w, p);
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

	if (!fp && k->by_fp) /* a chain of frame pointers ends so */
		return FRAMES_OUTERMOST;
	if (fp < k->state.reg[4] || fp & 7 || !read_copy(k, fp, &caller) ||
	    !read_copy(k, fp + 8, &pc) || !pc || !place_at(w, p, pc - 1, k->k->time))
		return FRAMES_UNKNOWN;
	k->state.pc = pc;
	k->state.reg[4] = fp + 16;
	k->state.reg[5] = caller;
	k->state.interrupted = false;
	k->by_fp = true;
	return FRAMES_CALLER;
}

/* Whether the address is where the image begins to run: no caller, and often no rule. */
static bool is_entry(struct image *im, uint64_t addr)
{
	uint64_t entry;

	return image_called(im, &entry, 1) == 1 && addr - entry < ENTRY_BYTES;
}

static enum frames_next to_caller(struct walker *w, struct walk *k, struct process *p,
				  const struct place *at, bool returned)
{
	struct image *im = image_in(w, at);
	enum frames_next next = FRAMES_UNKNOWN;

	if (im) {
		tables_want(w->tables, number_of(w, at), im, k->state.pc - returned - at->bias);
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

/* What a sample is of. */
struct who {
	uint32_t pid, tid;
	const char *comm; /* 16 bytes */
	uint64_t time, since;
	double weight;
};

/* Adds a sample of the process that ended in the frame; 0: there was no memory for the frame. -1 without memory. */
static int add(struct walker *w, const struct process *p, const struct who *who, uint32_t frame)
{
	struct stacks *s = &w->files->profile->stacks;
	char comm[17] = "";
	long thread;

	memcpy(comm, who->comm, 16);
	thread = stacks_thread(s, 0, who->pid, who->tid, comm, p->cgroup);
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
	p = process_of(w, (pid_t)k->pid);
	if (!p)
		return -1;
	walk.k = k;
	walk.n = 0;
	walk.end = FRAME_ROOT;
	walk_kernel(w, &walk);
	if (k->ip) {
		renew(w, p, k);
		walk_user(w, &walk, p);
	}
	frame = stacks_frame(s, 0, walk.end, 0, 0);
	for (unsigned i = walk.n; frame && i--;)
		frame = stacks_frame(s, frame, walk.frame[i].kind, walk.frame[i].image,
				     walk.frame[i].addr);
	return add(w, p, &who, frame);
}

int walker_add_frames(struct walker *w, const struct unwind_frames *k, size_t bytes, uint64_t since)
{
	const struct who who = { k->pid, k->tid, k->comm, k->time, since, (double)k->period };
	struct stacks *s = &w->files->profile->stacks;
	size_t images = w->files->profile->nimage;
	struct process *p;
	uint32_t frame;

	if (bytes < offsetof(struct unwind_frames, frame) ||
	    k->n > (bytes - offsetof(struct unwind_frames, frame)) / 8)
		return 0;
	p = process_of(w, (pid_t)k->pid);
	if (!p)
		return -1;
	frame = stacks_frame(s, 0, k->end == UNWIND_ROOT ? FRAME_ROOT : FRAME_DEPTH, 0, 0);
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
	struct profile_image *pi = w->files->profile->image[w->vdso_image];
	const struct image_proc *p;
	size_t n = w->vdso ? image_procs(w->vdso, &p) : 0, cap = pi->nproc;

	for (size_t i = 0; i < n; i++)
		if (!files_add_procedure(pi, p[i].start, p[i].end, p[i].name, &cap))
			break;
	files_sort_procedures(pi);
}

struct tables_size walker_tables(const struct walker *w)
{
	return tables_size(w->tables);
}
