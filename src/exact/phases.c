/* SPDX-License-Identifier: MIT */
/*
 * The recorder's side of --observe phases: turns the engine's vectors of executed blocks into
 * intervals of the profile.
 *
 * The engine tells the executions of blocks and of pairs, and where each interval ends. It does not
 * tell executions after a process's last interval: the counters of the ended process show how many
 * more there are.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "exact/exact_priv.h"
#include "observe/phases.h"

struct phases_reader {
	struct phases *phases; /* the profile's phases */
	/* By number of block in the process, n of them: */
	size_t n;
	uint64_t *told; /* executions that vectors have told */
	long *number;	/* the block's number in the profile, + 1 */
	/* By number in the profile: instructions of the present interval; below 0 if executions
	 * have not been told yet. */
	int64_t *pending;
	size_t npending;
};

static struct phases_reader *reader_of(struct exact *e, struct process *p, struct err *err)
{
	struct phases_reader *r = p->phases;

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (r)
		r->phases = profile_phases(e->profile);
	if (!r || !r->phases) {
		free(r);
		err_no_memory(err, "the exact recording");
		return NULL;
	}
	r->phases->process = (uint32_t)e->profile->nphases - 1;
	r->phases->pid = p->pid;
	r->phases->parent = p->parent ? p->parent->pid : 0;
	r->phases->wanted = e->lines.interval;
	r->phases->max = e->lines.snapshots;
	p->phases = r;
	return r;
}

/* Called when blocks are numbered anew. */
static void forget_blocks(struct phases_reader *r)
{
	free(r->told);
	free(r->number);
	r->told = NULL;
	r->number = NULL;
	r->n = 0;
}

void phases_free_reader(struct process *p)
{
	if (p->phases) {
		forget_blocks(p->phases);
		free(p->phases->pending);
	}
	free(p->phases);
	p->phases = NULL;
}

static int room_for(struct phases_reader *r, const struct process *p, struct err *err)
{
	size_t n = p->room; /* room for blocks, which doubles */
	size_t told = r->n;

	if (r->n >= p->nblock)
		return 0;
	return array_widen(r->told, told, n) && array_widen(r->number, r->n, n)
		       ? 0
		       : err_no_memory(err, "the exact recording");
}

/* Returns a block's number in the profile, + 1, and makes it if it is new. A block that the process
 * met under several numbers has one number there. */
static int find_number(struct phases_reader *r, const struct code_block *b, long *number)
{
	long n = phases_block(r->phases, b->image, b->addr, b->n);

	if (n < 0)
		return -1;
	if ((size_t)n >= r->npending && !array_widen(r->pending, r->npending, 2 * (size_t)n + 256))
		return -1;
	*number = n + 1;
	return 0;
}

static int add(struct phases_reader *r, const struct process *p, uint64_t block,
	       int64_t instructions, struct err *err)
{
	const struct code_block *b = p->block[block];

	assert(r->number); /* room_for() has made the array */
	if (!b || !b->n || !instructions)
		return 0;
	if (!r->number[block] && find_number(r, b, &r->number[block]))
		return err_no_memory(err, "the exact recording");
	assert(r->pending);
	r->pending[r->number[block] - 1] += instructions;
	return 0;
}

static int executed(struct phases_reader *r, const struct process *p, uint64_t block, int64_t times,
		    struct err *err)
{
	assert(r->told);
	r->told[block] += (uint64_t)times;
	return add(r, p, block, p->block[block] ? times * p->block[block]->n : 0, err);
}

static int take_vector(struct exact *e, struct process *p, const struct exact_vector *v,
		       struct err *err)
{
	struct phases_reader *r = reader_of(e, p, err);

	if (!r || room_for(r, p, err))
		return -1;
	if (v->n > EXACT_VECTOR_MAX || v->r.size - sizeof(*v) < v->n * sizeof(v->entry[0]))
		return exact_bad(err);
	for (uint32_t i = 0; i < v->n; i++) {
		uint32_t number = v->entry[i].number;

		if (number >= (v->pairs ? p->nway : p->nblock))
			return exact_bad(err);
		if (v->pairs)
			number = p->way[number].block;
		if (executed(r, p, number, v->entry[i].times, err))
			return -1;
	}
	return 0;
}

static int end_interval(struct phases_reader *r, struct err *err)
{
	struct phase_part *part = malloc((r->phases->nblock + 1) * sizeof(*part));
	size_t n = 0;
	int rc;

	if (!part)
		return err_no_memory(err, "the exact recording");
	for (size_t i = 0; i < r->phases->nblock; i++) {
		if (r->pending[i] <= 0)
			continue;
		part[n++] = (struct phase_part){ (uint32_t)i, (uint64_t)r->pending[i] };
		r->pending[i] = 0;
	}
	rc = phases_add(r->phases, part, n, err);
	free(part);
	return rc;
}

int phases_record(struct exact *e, struct process *p, const struct exact_record *c, struct err *err)
{
	struct phases_reader *r;

	if (!(e->mode & EXACT_PHASES))
		return exact_bad(err);
	if (c->kind == EXACT_VECTOR)
		return c->size >= sizeof(struct exact_vector)
			       ? take_vector(e, p, (const void *)c, err)
			       : exact_bad(err);
	r = reader_of(e, p, err);
	return r ? end_interval(r, err) : -1;
}

int phases_cut(struct exact *e, struct process *p, const struct exact_cut *c, struct err *err)
{
	struct phases_reader *r;
	const struct code_block *b;

	if (!(e->mode & EXACT_PHASES) || c->id >= p->nblock)
		return 0;
	r = reader_of(e, p, err);
	if (!r || room_for(r, p, err))
		return -1;
	b = p->block[c->id];
	if (!b || c->done > b->n)
		return 0;
	return add(r, p, c->id, c->counted ? (int64_t)c->done - b->n : c->done, err);
}

/* Called when counters have been read: adds what they exceed the told executions by. */
static int take_rest(struct phases_reader *r, const struct process *p, struct err *err)
{
	uint64_t *sum;
	int rc = 0;

	if (room_for(r, p, err))
		return -1;
	sum = calloc(p->nblock + 1, sizeof(*sum));
	if (!sum)
		return err_no_memory(err, "the exact recording");
	for (uint64_t i = 0; 2 * i < p->nbefore; i++)
		sum[i] = p->before[2 * i];
	for (size_t i = 0; i < p->nway; i++)
		sum[p->way[i].block] += p->way[i].before;
	assert(r->told || !p->nblock);
	for (size_t i = 0; i < p->nblock && !rc; i++)
		rc = executed(r, p, i, (int64_t)(sum[i] - r->told[i]), err);
	free(sum);
	return rc;
}

/* With several threads an execution may have been told in an interval, and its end by a signal or a fault in a later one,
 * in which the block did not run again. */
static int take_off(struct phases_reader *r, struct err *err)
{
	for (size_t i = 0; i < r->phases->nblock; i++) {
		if (r->pending[i] < 0 &&
		    phases_take_off(r->phases, (uint32_t)i, 0 - (uint64_t)r->pending[i], err))
			return -1;
		r->pending[i] = r->pending[i] < 0 ? 0 : r->pending[i];
	}
	return 0;
}

int phases_finish(struct exact *e, struct process *p, struct err *err)
{
	struct phases_reader *r;
	int rc;

	if (!(e->mode & EXACT_PHASES) || !p->nblock || p->replaced)
		return 0;
	r = reader_of(e, p, err);
	if (!r)
		return -1;
	rc = take_rest(r, p, err) || end_interval(r, err) || take_off(r, err) ? -1 : 0;
	phases_free_reader(p);
	return rc;
}

int phases_go_on(struct exact *e, struct process *p, struct process *from, struct err *err)
{
	struct phases_reader *r = reader_of(e, from, err);

	if (!r || take_rest(r, from, err))
		return -1;
	forget_blocks(r);
	p->phases = r;
	from->phases = NULL;
	return 0;
}
