/* SPDX-License-Identifier: MIT */
/* Sinks, where executions of a block wait until there are enough to process them together. The more
 * often a block runs, the more room its sink gets. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "exact/streams_priv.h"

#define SINKS_SIZE (512ul << 20) /* memory for sinks larger than the first size */

/* For each size of sinks: how many executions it has room for, and after how many emptyings the
 * block gets the next size. */
static const struct size {
	uint16_t room;
	uint8_t times;
} sizes[] = { { 0, 0 }, { 16, 2 }, { 64, 8 }, { VALUES_BATCH, 0 } };
#define OFTEN 2 /* the first size whose sinks lie in the memory for blocks that run often */
_Static_assert(sizeof(sizes) / sizeof(sizes[0]) == OFTEN + EXACT_OFTEN_SIZES, "");

bool sinks_widen(struct process *p, uint32_t n)
{
	uint32_t rooms = p->room;

	if (!array_widen(p->sink, p->sinks, 2 * n) || !array_widen(p->sink_room, rooms, n))
		return false;
	p->sink[0].head = ~0u; /* no block has this head: block 0 does not exist */
	return true;
}

int sinks_empty(struct exact *e, struct process *p, uint32_t id)
{
	struct sink *s = &p->sink[id + 1];
	struct sink_room *r = &p->sink_room[id];
	size_t n = r->start ? (size_t)(s->at - r->start) : 0;

	if (!n)
		return 0;
	s->at = r->start;
	r->emptied += r->emptied < 255;
	return values_take(e, p, p->block[id], r->start, (unsigned)(n / p->block[id]->words));
}

/* Takes memory for sinks of blocks that run often: in large pages, because they are written to in
 * any order. NULL: there is no more. */
static uint64_t *often_room(struct exact *e, unsigned size, unsigned words)
{
	struct sink_free **f = &e->sinks_free[size - OFTEN][words];
	size_t n =
		((sizes[size].room * (size_t)words + SINKS_SPARE) * sizeof(uint64_t) + 63) & ~63ul;
	char *at;

	if (*f) {
		at = (char *)*f;
		*f = (*f)->next;
		return (uint64_t *)(void *)at;
	}
	if (!e->sinks) {
		void *m = mmap(NULL, SINKS_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (m == MAP_FAILED)
			return NULL;
		madvise(m, SINKS_SIZE, MADV_HUGEPAGE);
		e->sinks = m;
	}
	if (n > SINKS_SIZE - e->sinks_used)
		return NULL;
	at = e->sinks + e->sinks_used;
	e->sinks_used += n;
	return (uint64_t *)(void *)at;
}

void sinks_drop(struct exact *e, struct process *p, uint32_t id)
{
	struct sink_room *r = &p->sink_room[id];

	if (r->size >= OFTEN) {
		struct sink_free **f = &e->sinks_free[r->size - OFTEN][r->words];
		struct sink_free *room = (void *)r->start;

		room->next = *f;
		*f = room;
	} else {
		free(r->start);
	}
	p->sink[id + 1] = (struct sink){ 0 };
	*r = (struct sink_room){ 0 };
}

int sinks_make_room(struct exact *e, struct process *p, uint32_t id)
{
	struct sink_room *r = &p->sink_room[id];
	unsigned size = r->size + 1u, words = p->block[id]->words;
	size_t n;
	uint64_t *room;

	if (sinks_empty(e, p, id))
		return -1;
	if (size == sizeof(sizes) / sizeof(sizes[0]) || r->emptied < sizes[r->size].times)
		return 0;
	n = sizes[size].room * (size_t)words;
	room = size >= OFTEN ? often_room(e, size, words)
			     : malloc((n + SINKS_SPARE) * sizeof(*room));
	if (!room)
		return size >= OFTEN ? 0 : -1;
	sinks_drop(e, p, id);
	p->sink[id + 1] = (struct sink){ .at = room,
					 .head = (id + 1) | words << EXACT_HEAD_BLOCKS,
					 .end = sinks_low(room + n) };
	*r = (struct sink_room){ .start = room, .words = (uint16_t)words, .size = (uint8_t)size };
	return 0;
}

void sinks_free(struct exact *e, struct process *p)
{
	for (uint32_t i = 0; i < p->nblock; i++)
		sinks_drop(e, p, i);
	free(p->sink);
	free(p->sink_room);
}

void sinks_close(struct exact *e)
{
	if (e->sinks)
		munmap(e->sinks, SINKS_SIZE);
}
