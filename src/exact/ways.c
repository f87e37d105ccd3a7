/* SPDX-License-Identifier: MIT */
/* The recorder's side of edges: pairs and their counters, edges that are logged one by one, and the
 * places where threads end. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "exact/exact_priv.h"
#include "observe/edges.h"

_Static_assert((int)EXACT_WENT == (int)EDGE_WENT && (int)EXACT_CAME == (int)EDGE_CAME, "kinds");

struct site_id ways_at(const struct process *p, uint64_t pc)
{
	for (size_t i = p->nimage; i-- > 0;)
		if (pc >= p->image[i].start && pc < p->image[i].end)
			return (struct site_id){ .image = p->image[i].image,
						 .addr = pc + p->image[i].to_addr };
	return (struct site_id){ .addr = pc };
}

struct site_id ways_place(const struct process *p, const struct exact_place *at)
{
	const struct process_image *pi =
		at->image && at->image <= p->nimage ? &p->image[at->image - 1] : NULL;

	return (struct site_id){ .image = pi ? pi->image : 0,
				 .addr = at->pc + (pi ? pi->to_addr : 0) };
}

static const struct code_block *block_at(const struct process *p, uint64_t id)
{
	return id < p->nblock && p->block[id] && p->block[id]->n ? p->block[id] : NULL;
}

static struct site_id last_of(const struct code_block *b)
{
	return b->site[b->n - 1]->id;
}

static bool add(struct process *p, const struct way *w)
{
	if (!array_reserve(p->way, p->way_room, p->nway + 1))
		return false;
	p->way[p->nway++] = *w;
	return true;
}

int ways_pair(struct process *p, const struct exact_pair *r, struct err *err)
{
	const struct code_block *b = block_at(p, r->block);
	struct way w = { 0 };

	if (!b || r->number != p->nway || r->number >= EXACT_PAIRS_MAX)
		return exact_bad(err);
	w.block = r->block;
	w.near = r->near;
	w.from = last_of(b);
	w.to = ways_place(p, &r->to);
	return add(p, &w) ? 0 : err_no_memory(err, "the exact recording");
}

int ways_edge(struct exact *e, const struct process *p, const struct exact_edge *r, struct err *err)
{
	const struct code_block *b = r->block ? block_at(p, r->block - 1) : NULL;

	if (r->kind >= EDGE_KIND_N || (r->block && !b))
		return exact_bad(err);
	if (edges_add(e->profile, (enum edge_kind)r->kind, b ? last_of(b) : ways_place(p, &r->from),
		      ways_place(p, &r->to), 1))
		return err_no_memory(err, "the exact recording");
	return 0;
}

int ways_inherit(struct process *p, uint32_t n, struct err *err)
{
	for (size_t i = 0; i < p->parent->nway && i < n; i++) {
		struct way w = p->parent->way[i];

		if (!block_at(
			    p,
			    w.block)) /* the child claims fewer blocks than its parent's pairs need */
			return exact_bad(err);
		w.before = 0;
		if (!add(p, &w))
			return err_no_memory(err, "the exact recording");
	}
	return 0;
}

static int count(struct exact *e, struct process *p, struct way *w, uint64_t now)
{
	if (now == w->before)
		return 0;
	if (e->discard) {
		w->before = now;
		return 0;
	}
	if (counters_add(e, p, w->block, now - w->before, 0))
		return -1;
	if (!w->edge)
		w->edge = edges_get(e->profile, EDGE_WENT, w->from, w->to);
	if (!w->edge)
		return -1;
	w->edge->count += now - w->before;
	w->before = now;
	return 0;
}

/* Adds how often the thread went each way: the way's counter, and the count in its slot while the way is in one. -1
 * without memory. */
static int add_thread(struct exact *e, const struct process *p, struct counted *t, uint64_t *sum)
{
	const uint64_t bytes = EXACT_COUNTERS_SIZE - EXACT_PAIRS_AT;
	const char *all = counters_map(e, t, EXACT_PAIRS_AT, bytes);
	const uint64_t *c = (const void *)all;
	const struct exact_near *near;

	if (!all)
		return -1;
	near = (const void *)(all + (EXACT_NEAR_AT - EXACT_PAIRS_AT));
	for (size_t i = 0; i < p->nway; i++) {
		uint32_t slot = p->way[i].near;

		sum[i] += __atomic_load_n(&c[i], __ATOMIC_RELAXED);
		if (slot < EXACT_NEAR_SLOTS &&
		    __atomic_load_n(&near[slot].pair, __ATOMIC_RELAXED) == i + 1)
			sum[i] += __atomic_load_n(&near[slot].count, __ATOMIC_RELAXED);
	}
	counters_unmap(t, all, bytes);
	return 0;
}

int ways_count(struct exact *e, struct process *p, struct err *err)
{
	uint64_t *sum = calloc(p->nway + 1, sizeof(*sum));
	int rc = 0;

	if (!sum)
		return err_no_memory(err, "the exact recording");
	for (size_t t = 0; t < p->nthread && p->nway && !rc; t++)
		rc = p->thread[t]->at ? add_thread(e, p, p->thread[t], sum) : 0;
	exact_note_phase(e, p);
	for (size_t i = 0; i < p->nway && !rc; i++)
		rc = count(e, p, &p->way[i], sum[i]);
	free(sum);
	return rc ? err_no_memory(err, "the exact recording") : 0;
}

int ways_leave(struct exact *e, const struct process *p, const struct code_block *b, uint64_t n)
{
	return edges_add(e->profile, EDGE_WENT, last_of(b), ways_at(p, b->leaves), n);
}

int ways_end(struct exact *e, struct process *p, struct err *err)
{
	const uint64_t at = 8ull * EXACT_INSIDE, page = EXACT_STREAM_PAGE;

	for (size_t t = 0; t < p->nthread && !e->discard; t++) {
		uint64_t counters = p->thread[t]->at;
		const struct code_block *b;
		const uint64_t *c;

		if (!counters)
			continue;
		c = exact_map(e, counters + (at & ~(page - 1)), page);
		if (!c)
			return err_no_memory(err, "the exact recording");
		b = block_at(p, __atomic_load_n(&c[(at & (page - 1)) / 8], __ATOMIC_RELAXED) - 1);
		munmap((void *)c, page);
		if (b && edges_add(e->profile, EDGE_WENT, last_of(b), EDGE_OUTSIDE, 1))
			return err_no_memory(err, "the exact recording");
	}
	return 0;
}
