/* SPDX-License-Identifier: MIT */
#include "sampler/spaces.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"
#include "sampler/cgroup.h"

#define PROCESSES_MAX 1024
#define PLACES_MAX 4096
#define AGAIN_NS 2000000 /* least time between two readings of a process's mappings */

/* The recorder's own vDSO, as an image. */
static struct image *open_vdso(void)
{
	const void *at = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t n = 2 * (size_t)sysconf(_SC_PAGESIZE);
	int fd = at ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	struct err err;

	if (fd < 0)
		return NULL;
	/* the kernel maps two pages or one; write() stops at a page that cannot be read */
	if (write(fd, at, n) <= 0) {
		close(fd);
		return NULL;
	}
	return image_take(fd, "[vdso]", &err);
}

void spaces_init(struct spaces *s)
{
	s->vdso = open_vdso();
}

static void forget(struct spaces *s, struct process *p)
{
	HASH_DEL(s->processes, p);
	if (s->map >= 0)
		bpf_map_delete_elem(s->map, &p->pid);
	free(p->place);
	free(p);
}

void spaces_fini(struct spaces *s)
{
	struct process *p, *next;

	HASH_ITER (hh, s->processes, p, next) {
		forget(s, p);
	}
	sideband_close(s->sideband);
	image_close(s->vdso);
}

/* Mappings. */

struct image *spaces_image(const struct spaces *s, const struct place *p)
{
	return p->file ? p->file->im : p->vdso ? s->vdso : NULL;
}

uint32_t spaces_number(const struct spaces *s, const struct place *p)
{
	return p->file ? p->file->image : p->vdso ? s->vdso_image : s->anon_image;
}

/* Returns the difference of run-time and ELF addresses of a mapping. */
static uint64_t bias_of(const struct spaces *s, const struct place *p)
{
	struct image *im = spaces_image(s, p);
	const struct image_segment *seg;
	unsigned n = im ? image_segments(im, &seg) : 0;
	uint64_t size = p->end - p->start;

	for (unsigned i = 0; i < n; i++)
		if (seg[i].offset < p->offset + size && seg[i].offset + seg[i].size > p->offset)
			return p->start - p->offset + seg[i].offset - seg[i].addr;
	return p->file || p->vdso ? p->start - p->offset : 0;
}

static struct place place_of(struct spaces *s, pid_t pid, const struct map *m)
{
	struct place p = {
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.file = m->inode ? files_add(s->files, pid, m) : NULL,
		.vdso = !strcmp(m->name, "[vdso]"),
	};

	p.bias = bias_of(s, &p);
	return p;
}

static size_t first_after(const struct process *p, uint64_t at)
{
	return search_first(i, 0, p->n, p->place[i].end > at);
}

/* Removes [start, end) from the mapping of that number. */
static void cut(struct process *p, size_t i, uint64_t start, uint64_t end)
{
	struct place *at = &p->place[i];

	if (at->start <
	    start) { /* the part behind the gap is mapped again, or found missing later */
		at->end = start;
	} else if (at->end > end) {
		at->offset += end - at->start;
		at->start = end;
	} else {
		memmove(at, at + 1, (p->n - i - 1) * sizeof(*at));
		p->n--;
	}
}

/* Adds a mapping and removes the parts of others that it replaces. */
static void insert(struct process *p, const struct place *place)
{
	size_t i = first_after(p, place->start);

	while (i < p->n && p->place[i].start < place->end) {
		size_t before = p->n;

		cut(p, i, place->start, place->end);
		i += p->n == before;
	}
	if (p->n == PLACES_MAX || !array_reserve(p->place, p->cap, p->n + 1))
		return;
	i = first_after(p, place->start);
	memmove(&p->place[i + 1], &p->place[i], (p->n - i) * sizeof(*place));
	p->place[i] = *place;
	p->n++;
}

/* Tells the kernel side the process's mappings, if the tables have room for them. */
static void publish(struct spaces *s, const struct process *p)
{
	struct unwind_space *to = &s->space;

	if (s->map < 0 || p->n > UNWIND_RANGES)
		return;
	to->mm = p->mm;
	to->exec_vm = p->exec_vm;
	to->n = (uint32_t)p->n;
	for (size_t i = 0; i < p->n; i++) {
		const struct place *at = &p->place[i];

		if (spaces_number(s, at) >= UNWIND_IMAGES)
			return;
		to->range[i] = (struct unwind_mapping){ .start = at->start,
							.end = at->end,
							.bias = at->bias,
							.image = spaces_number(s, at),
							.rules = spaces_image(s, at) != NULL };
	}
	bpf_map_update_elem(s->map, &p->pid, to, BPF_ANY);
}

/* Reads the mappings of the process; the known ones remain if the process has ended. */
static bool look(struct spaces *s, struct process *p, uint64_t now)
{
	struct maps maps;
	struct err err;

	p->read = now;
	if (maps_read(&maps, s->files->broker, p->pid, &err))
		return false;
	p->n = 0;
	for (size_t i = 0; i < maps.n; i++) {
		const struct map *m = &maps.map[i];

		if (m->exec && !(m->start >> 47)) { /* excludes the kernel's [vsyscall] */
			struct place place = place_of(s, p->pid, m);

			insert(p, &place);
		}
	}
	maps_fini(&maps);
	p->followed = s->sideband != NULL;
	return true;
}

/* Processes. */

static struct process *known(const struct spaces *s, pid_t pid)
{
	struct process *p;

	HASH_FIND_INT(s->processes, &pid, p);
	return p;
}

struct process *spaces_process(struct spaces *s, pid_t pid)
{
	struct process *p = known(s, pid);

	if (p)
		return p;
	if (HASH_COUNT(s->processes) >= PROCESSES_MAX)
		forget(s, s->processes); /* replaces the oldest process */
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD_INT(s->processes, pid, p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	return p;
}

const char *spaces_cgroup(struct process *p)
{
	if (!p->cgroup_known)
		cgroup_of(p->pid, p->cgroup, sizeof(p->cgroup));
	p->cgroup_known = true;
	return p->cgroup;
}

void spaces_follow(struct spaces *s, pid_t pid)
{
	s->only = pid;
	spaces_process(s, pid);
}

static bool wanted(const struct spaces *s, pid_t pid)
{
	return !s->only || known(s, pid);
}

static void on_fork(struct spaces *s, const struct sideband_record *r)
{
	struct process *child = wanted(s, r->parent) ? spaces_process(s, r->pid) : NULL, *parent;

	if (!child)
		return;
	parent = spaces_process(s, r->parent);
	if (!parent || (!parent->followed && !look(s, parent, r->time)))
		return;
	child->followed = true;
	child->n = 0;
	child->mm = 0;
	child->cgroup_known = parent->cgroup_known;
	memcpy(child->cgroup, parent->cgroup, sizeof(child->cgroup));
	for (size_t i = 0; i < parent->n; i++)
		insert(child, &parent->place[i]);
}

static void on_exec(struct spaces *s, const struct sideband_record *r)
{
	struct process *p = wanted(s, r->pid) ? spaces_process(s, r->pid) : NULL;

	if (!p)
		return;
	p->n = 0;
	p->mm = 0;
	p->followed = true;
}

static void on_map(struct spaces *s, const struct sideband_record *r)
{
	struct process *p = known(s, r->pid);
	struct place place;

	if (!p || !p->followed || r->map.start >> 47)
		return;
	place = place_of(s, r->pid, &r->map);
	insert(p, &place);
}

/* A process that has ended is forgotten a little later, because its samples may still arrive. */
static void on_end(struct spaces *s, const struct sideband_record *r)
{
	pid_t *slot = &s->ended[s->nended % SPACES_ENDED];
	struct process *p = *slot ? known(s, *slot) : NULL;

	if (!known(s, r->pid))
		return;
	if (p && p->pid != r->pid)
		forget(s, p);
	*slot = r->pid;
	s->nended++;
}

static void apply(struct spaces *s, const struct sideband_record *r)
{
	switch (r->kind) {
	case SIDEBAND_MAP:
		on_map(s, r);
		break;
	case SIDEBAND_EXEC:
		on_exec(s, r);
		break;
	case SIDEBAND_FORK:
		on_fork(s, r);
		break;
	case SIDEBAND_EXIT:
		on_end(s, r);
		break;
	}
}

void spaces_advance(struct spaces *s, uint64_t until)
{
	const struct sideband_record *r;

	while (s->sideband && (r = sideband_next(s->sideband, until)))
		apply(s, r);
}

void spaces_enter(struct spaces *s, struct process *p, uint64_t mm, uint64_t exec_vm, uint64_t time)
{
	if (p->mm == mm && p->exec_vm == exec_vm && (p->followed || p->read))
		return;
	if (!p->followed) {
		if (p->mm != mm)
			p->n = 0;
		look(s, p, time);
	}
	p->mm = mm;
	p->exec_vm = exec_vm;
	if (p->n)
		publish(s, p);
}

static const struct place *find(const struct process *p, uint64_t at)
{
	size_t i = first_after(p, at);

	return i < p->n && p->place[i].start <= at ? &p->place[i] : NULL;
}

const struct place *spaces_find(struct spaces *s, struct process *p, uint64_t at, uint64_t time)
{
	const struct place *found = find(p, at);

	if (!found && time > p->read + AGAIN_NS && look(s, p, time)) {
		publish(s, p);
		found = find(p, at);
	}
	return found;
}
