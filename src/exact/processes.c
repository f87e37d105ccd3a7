/* SPDX-License-Identifier: MIT */
/* The processes of an exact recording: adds those that have begun, with what they inherit from a
 * parent or continue from an earlier image; gives back and frees what ended ones had. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "exact/exact_priv.h"

static struct process *find_process(const struct exact *e, uint64_t at)
{
	struct process *p;

	HASH_FIND(hh, e->by_at, &at, sizeof(at), p);
	return p;
}

/* Copies what the parent had when it forked; the parent may have continued since. */
static int inherit(struct exact *e, struct process *p, const struct exact_process *r,
		   struct err *err)
{
	struct process *from = p->parent;

	if (from->bytes < r->parent_log && exact_read_log_to(e, from, r->parent_log, err))
		return -1;
	for (uint32_t i = 0; i < from->nblock && i < r->parent_blocks; i++)
		if (exact_add_block(e, p, from->block[i], from->inverted[i], err))
			return -1;
	for (size_t i = 0; i < from->nimage && i < r->parent_images; i++) {
		if (!array_one_more(p->image, p->nimage))
			return err_no_memory(err, "the exact recording");
		p->image[p->nimage++] = from->image[i];
	}
	return ways_inherit(p, r->parent_pairs, err);
}

/* Maps a process's record, for writing as well, because the recorder answers in it. */
static void *map_process(const struct exact *e, uint64_t at)
{
	void *p;

	if (!exact_fits(at, EXACT_PAGE))
		return NULL;
	p = mmap(NULL, EXACT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, (off_t)at);
	return p == MAP_FAILED ? NULL : p;
}

static void unmap(struct process *p)
{
	if (p->log)
		munmap(p->log, EXACT_LOG_SIZE);
	if (p->shared)
		munmap(p->shared, EXACT_PAGE);
	p->log = NULL;
	p->shared = NULL;
}

/* Copies a process's record. The copy cannot change while it is checked, whereas the program can change the mapping. */
static int read_process(const struct exact *e, uint64_t at, struct exact_process *r,
			struct err *err)
{
	if (exact_fits(at, EXACT_PAGE) &&
	    pread(e->fd, r, sizeof(*r), (off_t)at) == (ssize_t)sizeof(*r))
		return 0;
	exact_bad(err);
	return -1;
}

/* Adds the process to the list and the table of processes. False, with nothing added: no memory. */
static bool enlist(struct exact *e, struct process *p)
{
	if (!array_one_more(e->process, e->nprocess))
		return false;
	HASH_ADD(hh, e->by_at, at, sizeof(p->at), p);
	if (!p->hh.tbl)
		return false;
	e->process[e->nprocess++] = p;
	return true;
}

/* Adds a process whose record is mapped: only such processes are listed. */
static struct process *add_process(struct exact *e, uint64_t at, const struct exact_process *r,
				   struct err *err)
{
	struct process *p;

	if (!r->pid || r->pid > INT32_MAX || !exact_fits(r->log, EXACT_LOG_SIZE) ||
	    find_process(e, at)) {
		exact_bad(err);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (p) {
		*p = (struct process){ .at = at, .pid = r->pid, .chunk = r->log, .users = 1 };
		p->shared = map_process(e, at);
		if (p->shared && enlist(e, p))
			return p;
		unmap(p);
		free(p);
	}
	err_no_memory(err, "the exact recording");
	return NULL;
}

static int new_process(struct exact *e, uint64_t at, struct err *err)
{
	struct exact_process r;
	struct process *p, *parent, *replaced;
	bool goes_on;
	int rc = 0;

	if (read_process(e, at, &r, err))
		return -1;
	parent = find_process(e, r.parent);
	replaced = find_process(e, r.replaces);
	p = add_process(e, at, &r, err);
	if (!p)
		return -1;
	goes_on = replaced && !replaced->replaced && !replaced->done;
	if (replaced)
		replaced->replaced = true;
	if (replaced && r.same)
		replaced->successor = p;
	if (parent && !parent->released) {
		p->parent = parent;
		parent->users++;
		parent->forked++;
		rc = inherit(e, p, &r, err);
	}
	if (!replaced || !r.same)
		e->totals.processes++;
	else if (!rc) /* the process has ended: everything that it logged is read first */
		rc = exact_read_log(e, replaced, err) || lines_go_on(p, replaced, err) ? -1 : 0;
	if (!rc && goes_on && e->mode & EXACT_PHASES)
		rc = exact_read_log(e, replaced, err) || counters_read(e, replaced, err) ||
				     phases_go_on(e, p, replaced, err)
			     ? -1
			     : 0;
	return rc;
}

/* Adds the process at *at to the list, and moves *at to the preceding one in the chain. */
static bool list_process(const struct exact *e, uint64_t *at, uint64_t **list, size_t *n,
			 struct err *err)
{
	struct exact_process r;

	if (e->nprocess + *n >= EXACT_PROCESSES_MAX) {
		exact_too_many("processes", EXACT_PROCESSES_MAX, err);
		return false;
	}
	if (!array_one_more(*list, *n)) {
		err_no_memory(err, "the exact recording");
		return false;
	}
	(*list)[(*n)++] = *at;
	if (read_process(e, *at, &r, err))
		return false;
	*at = r.next;
	return true;
}

/* The chain has the newest process first; the oldest one is added first. */
int processes_add_new(struct exact *e, struct err *err)
{
	uint64_t at = __atomic_load_n(&e->header->process, __ATOMIC_ACQUIRE), *new = NULL;
	size_t n = 0;
	int rc = 0;

	while (at && !find_process(e, at) && !rc)
		rc = list_process(e, &at, &new, &n, err) ? 0 : -1;
	while (n-- > 0 && !rc)
		rc = new_process(e, new[n], err);
	free(new);
	return rc;
}

void processes_give_back(struct exact *e, struct process *p)
{
	for (size_t t = 0; t < p->nthread; t++) {
		if (p->thread[t]->stream) {
			munmap(p->thread[t]->stream, EXACT_STREAM_SIZE + EXACT_STREAM_PAGE);
			p->thread[t]->stream = NULL;
			exact_punch(e, p->thread[t]->stream_at, EXACT_STREAM_SIZE);
		}
		counters_forget(e, p->thread[t]);
		if (p->thread[t]->at)
			exact_punch(e, p->thread[t]->at, EXACT_COUNTERS_SIZE);
		if (p->thread[t]->firsts)
			exact_punch(e, p->thread[t]->firsts, EXACT_FIRSTS_SIZE);
	}
	p->forks = __atomic_load_n(&p->shared->forks, __ATOMIC_RELAXED);
	unmap(p);
	if (p->chunk)
		exact_punch(e, p->chunk, EXACT_LOG_SIZE);
	p->chunk = 0;
	counters_free(p);
}

/* Drops one user of the process's blocks. */
static void leave_code(struct process *p)
{
	while (p && --p->users == 0) {
		struct code_memory *m;

		for (struct code_block *b = p->own; b; b = b->next) {
			fields_free(b);
			order_free_block(b);
			calls_free_block(b);
		}
		p->own = NULL;
		while ((m = p->memory)) {
			p->memory = m->next;
			free(m);
		}
		p = p->parent;
	}
}

void processes_release(struct exact *e, struct process *p)
{
	if (p->released)
		return;
	p->released = true;
	e->nblock -= p->nblock;
	e->nthread -= p->nthread;
	if (p->sink)
		streams_free(e, p);
	if (e->consumer)
		order_free(e, p);
	calls_end(p);
	phases_free_reader(p);
	unmap(p);
	free(p->block);
	free(p->inverted);
	counters_free(p);
	for (size_t i = 0; i < p->nthread; i++) {
		counters_forget(e, p->thread[i]);
		free(p->thread[i]);
	}
	free(p->thread);
	if (!p->lines) { /* a reader of lines still names places by the images */
		free(p->image);
		p->image = NULL;
		p->nimage = 0;
	}
	free(p->way);
	free(p->cut);
	p->block = NULL;
	p->inverted = NULL;
	p->thread = NULL;
	p->way = NULL;
	p->nway = p->way_room = 0;
	p->cut = NULL;
	p->sink = NULL;
	p->sinks = 0;
	p->sink_room = NULL;
	p->nblock = p->room = 0;
	p->nthread = p->ncut = 0;
	p->chunk = 0;
	leave_code(p);
}

void processes_free(struct exact *e)
{
	HASH_CLEAR(hh, e->by_at);
	for (size_t i = 0; i < e->nprocess; i++)
		processes_release(e, e->process[i]);
	for (size_t i = 0; i < e->nprocess; i++) {
		lines_free(e->process[i]);
		free(e->process[i]->image);
		free(e->process[i]);
	}
	free(e->process);
}
