/* SPDX-License-Identifier: MIT */
/* Threads count executions of blocks in shared memory. Reads the counters, and adds what they have
 * counted since the last poll to sites, branches and edges of the profile. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "exact/exact_priv.h"

/* Where counters are read after each sample, those of at most that many threads stay mapped. */
#define MAPPED_MAX 1024

const void *counters_map(struct exact *e, struct counted *t, uint64_t at, uint64_t n)
{
	if (!t->mapped && e->sampling && e->nmapped < MAPPED_MAX) {
		t->mapped = exact_map(e, t->at, EXACT_COUNTERS_SIZE);
		e->nmapped += t->mapped != NULL;
	}
	return t->mapped ? t->mapped + at : exact_map(e, t->at + at, n);
}

void counters_unmap(const struct counted *t, const void *p, uint64_t n)
{
	if (p && !t->mapped)
		munmap((void *)p, n);
}

void counters_forget(struct exact *e, struct counted *t)
{
	if (!t->mapped)
		return;
	munmap((void *)t->mapped, EXACT_COUNTERS_SIZE);
	t->mapped = NULL;
	e->nmapped--;
}

int counters_add(struct exact *e, struct process *p, uint32_t i, uint64_t count, uint64_t second)
{
	struct code_block *b = p->block[i];
	uint64_t went = count;

	if (!b || e->discard)
		return 0;
	for (unsigned k = 0; k < b->n; k++) {
		b->site[k]->observed += count;
		if (sites_note(&e->profile->sites, b->site[k]))
			return -1;
	}
	fields_count(b, 0, b->n, count);
	if (b->branch) {
		went = b->exit ? count : p->inverted[i] ? count - second : second;
		b->site[b->n - 1]->taken += went;
	}
	return b->leaves ? ways_leave(e, p, b, went) : 0;
}

int counters_cut(struct exact *e, struct process *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->ncut && !e->discard; i++) {
		const struct exact_cut *c = &p->cut[i];
		struct code_block *b = c->id < p->nblock ? p->block[c->id] : NULL;
		unsigned from, to;

		if (!b)
			continue;
		from = c->counted ? c->done : 0;
		to = c->counted ? b->n : c->done;
		for (unsigned k = from; k < to && k < b->n; k++) {
			b->site[k]->observed += c->counted ? ~0ull : 1;
			rc |= sites_note(&e->profile->sites, b->site[k]);
		}
		fields_count(b, from, to, c->counted ? ~0ull : 1);
		if (c->counted && b->branch && p->inverted[c->id] && c->done < b->n)
			b->site[b->n - 1]->taken--;
		if (c->counted && b->leaves && c->done < b->n && (!b->branch || p->inverted[c->id]))
			rc |= ways_leave(e, p, b, ~0ull);
	}
	p->ncut = 0;
	return rc;
}

/* Returns, of n counters, the executions that left the block behind the place where it is counted. */
static uint64_t left_early(const struct process *p, uint32_t i, const uint64_t *counter, uint64_t n)
{
	const struct code_block *b = p->block[i];
	uint64_t sum = 0;

	for (uint32_t k = b ? b->before : 0; b && k < b->exits && 2ull * (i + 1 + k) < n; k++)
		sum += counter[2 * (i + 1 + k)];
	return sum;
}

int counters_invert(struct exact *e, struct process *p, uint32_t i)
{
	struct code_block *b = p->block[i];
	uint64_t count, second, went;

	if (p->inverted[i])
		return 0;
	p->inverted[i] = true;
	if (!b || !b->branch || b->exit || 2 * i + 1 >= p->nbefore)
		return 0;
	count = p->before[2 * i] - left_early(p, i, p->before, p->nbefore);
	second = p->before[2 * i + 1];
	went = count - second -
	       second; /* the counter was taken for that of the branch's other direction */
	b->site[b->n - 1]->taken += went;
	if (sites_note(&e->profile->sites, b->site[b->n - 1]))
		return -1;
	return b->leaves ? ways_leave(e, p, b, went) : 0;
}

/* Sums the present counters over threads, in p->now. False: no memory. */
static bool sum_counters(struct exact *e, struct process *p, uint64_t n)
{
	uint64_t bytes = (n * 8 + EXACT_PAGE - 1) & ~(EXACT_PAGE - 1), *sum;

	if (!array_reserve(p->now, p->now_room, n))
		return false;
	sum = p->now;
	memset(sum, 0, n * sizeof(*sum));
	for (size_t t = 0; t < p->nthread; t++) {
		struct counted *of = p->thread[t];
		const uint64_t *c;

		if (!of->at)
			continue;
		c = counters_map(e, of, 0, bytes);
		if (!c) /* without this thread the sums would be less than before */
			return false;
		/* the exits of a block are read before the block: at least as many executions
		 * entered as left */
		for (uint64_t i = n; i-- > 0;)
			sum[i] += __atomic_load_n(&c[i], __ATOMIC_RELAXED);
		counters_unmap(of, c, bytes);
	}
	return true;
}

/* Turns the counters of the last poll into how much has been counted since. */
static void subtract_before(struct process *p, uint64_t n)
{
	uint64_t old = p->nbefore < n ? p->nbefore : n;

	for (uint64_t i = 0; i < old; i++)
		p->before[i] = p->now[i] - p->before[i];
	memcpy(p->before + old, p->now + old, (n - old) * sizeof(*p->now));
}

static void keep_now(struct process *p, uint64_t n)
{
	uint64_t *before = p->before;
	size_t room = p->before_room;

	p->before = p->now;
	p->before_room = p->now_room;
	p->now = before;
	p->now_room = room;
	p->nbefore = n;
}

/* Returns the first block from i on that has been counted; the number of blocks if there is none. */
static uint32_t next_counted(const struct process *p, const uint64_t *since, uint32_t i)
{
	while (i < p->nblock && !(since[2 * i] | since[2 * i + 1]))
		i++;
	return i;
}

static int count_blocks(struct exact *e, struct process *p, const uint64_t *since, uint64_t n)
{
	uint32_t counted = 0;
	int rc = 0;

	for (uint32_t i = 0; i < p->nblock && !rc; i++) {
		uint64_t count;

		if (counted <= i)
			counted = next_counted(p, since, i);
		if (counted - i > p->most_exits) { /* nor have these blocks' exits been counted */
			i = counted - p->most_exits - 1;
			continue;
		}
		count = since[2 * i] - left_early(p, i, since, n);
		if (count || since[2 * i + 1])
			rc = counters_add(e, p, i, count, since[2 * i + 1]);
	}
	return rc;
}

int counters_read(struct exact *e, struct process *p, struct err *err)
{
	uint64_t n = 2ull * p->nblock;
	int rc;

	if (!n)
		return 0;
	if (!sum_counters(e, p, n) || !array_reserve(p->before, p->before_room, n))
		return err_no_memory(err, "the exact recording");
	exact_note_phase(e, p);
	subtract_before(p, n);
	rc = count_blocks(e, p, p->before, n);
	keep_now(p, n);
	return rc ? err_no_memory(err, "the exact recording") : ways_count(e, p, err);
}

void counters_free(struct process *p)
{
	free(p->before);
	free(p->now);
	p->before = p->now = NULL;
	p->before_room = p->now_room = 0;
	p->nbefore = 0;
}
