/* SPDX-License-Identifier: MIT */
#include "observe/conflicts.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/keyed.h"
#include "x86/insn.h"

#define PAGE_BITS 0xfffu

struct conflict_store {
	uint64_t addr, at; /* at: position of the store, counted like conflicts_past.now */
	struct site_id site;
	uint32_t size;
};

/*
 * An index that makes long runs fast. Most loads meet no store: no store within the distance
 * touched the same 8 bytes, by the lower 12 bits of addresses. And most conflicts repeat an earlier
 * one.
 */
#define GRANULE_BITS 3
#define GRANULES ((PAGE_BITS + 1) >> GRANULE_BITS)
#define MET_BITS 12
struct conflicts_index {
	uint64_t touched[GRANULES]; /* `at` + 1 of the last store to the bytes; 0: none */
	struct conflict *met[1u << MET_BITS];
};

const char *const conflict_kind_name[CONFLICT_KIND_N] = { "none", "full", "partial", "alias" };

struct conflict *conflicts_get(struct profile *p, enum conflict_kind kind, struct site_id store,
			       struct site_id load)
{
	struct conflict_key wanted = { .store = store, .load = load, .kind = kind };

	wanted.store.zero = wanted.load.zero = 0;
	return keyed_get(p->conflicts, key, &wanted);
}

void conflicts_add(struct conflict *c, uint64_t count, uint64_t distance, uint32_t nearest,
		   uint32_t farthest)
{
	if (!c->count || nearest < c->nearest)
		c->nearest = nearest;
	if (!c->count || farthest > c->farthest)
		c->farthest = farthest;
	c->count += count;
	c->distance += distance;
}

int conflicts_begin(struct conflicts_past *t, unsigned distance)
{
	uint32_t room = 1;

	while (room < distance)
		room *= 2;
	*t = (struct conflicts_past){ .room = room };
	t->store = calloc(room, sizeof(*t->store));
	t->index = calloc(1, sizeof(*t->index));
	if (t->store && t->index)
		return 0;
	conflicts_end(t);
	return -1;
}

void conflicts_end(struct conflicts_past *t)
{
	free(t->store);
	free(t->index);
	t->store = NULL;
	t->index = NULL;
}

static bool overlap(uint64_t a, uint32_t na, uint64_t b, uint32_t nb)
{
	return a - b < nb || b - a < na;
}

/* Whether both accesses overlap by their addresses within a page. */
static bool alias(uint64_t a, uint32_t na, uint64_t b, uint32_t nb)
{
	return ((a - b) & PAGE_BITS) < nb || ((b - a) & PAGE_BITS) < na;
}

static bool is_same(const struct site_id *a, const struct site_id *b)
{
	return a->addr == b->addr && a->image == b->image;
}

/* Like conflicts_get(), with a cache. */
static struct conflict *get(struct profile *p, const struct conflicts_past *t,
			    enum conflict_kind kind, struct site_id store, struct site_id load)
{
	struct conflict **met;

	if (!t->index)
		return conflicts_get(p, kind, store, load);
	met = &t->index->met[hash_bits((load.addr * 5 + store.addr) * 4 + kind, MET_BITS)];
	if (!*met || (*met)->key.kind != kind || !is_same(&(*met)->key.load, &load) ||
	    !is_same(&(*met)->key.store, &store))
		*met = conflicts_get(p, kind, store, load);
	return *met;
}

static int found(struct profile *p, enum conflict_kind kind, const struct conflict_store *s,
		 const struct conflicts_past *t, const struct retired *r)
{
	struct site_id none = { 0 };
	struct conflict *c = get(p, t, kind, s ? s->site : none, r->site);
	uint32_t distance = s ? (uint32_t)(t->now - s->at) : 0;

	if (!c)
		return -1;
	conflicts_add(c, 1, distance, distance, distance);
	return 0;
}

#define EACH_GRANULE(i, addr, n) \
	for (uint64_t i = (addr) >> GRANULE_BITS; i <= ((addr) + (n)-1) >> GRANULE_BITS; i++)

/* Whether a store within the distance can overlap the load, or be an alias. */
static bool may_meet(const struct conflicts_past *t, uint64_t addr, uint32_t n, uint64_t distance)
{
	if (!t->index)
		return true;
	EACH_GRANULE(i, addr, n)
	{
		uint64_t at = t->index->touched[i % GRANULES];

		if (at && t->now + 1 - at <= distance)
			return true;
	}
	return false;
}

static int load(struct profile *p, const struct conflicts_past *t, const struct retired *r)
{
	uint64_t addr = r->value[OPERAND_ADDRESS];
	bool aliased = false;

	if (t->now - t->since < p->conflict_distance)
		return 0;
	for (uint32_t i = may_meet(t, addr, r->access, p->conflict_distance) ? t->n : t->oldest;
	     i-- != t->oldest;) {
		const struct conflict_store *s = &t->store[i & (t->room - 1)];

		if (t->now - s->at > p->conflict_distance)
			break;
		if (overlap(addr, r->access, s->addr, s->size)) {
			bool full = addr >= s->addr && addr + r->access <= s->addr + s->size;

			return found(p, full ? CONFLICT_FULL : CONFLICT_PARTIAL, s, t, r);
		}
		if (aliased || !alias(addr, r->access, s->addr, s->size))
			continue;
		aliased = true;
		if (found(p, CONFLICT_ALIAS, s, t, r))
			return -1;
	}
	return found(p, CONFLICT_NONE, NULL, t, r);
}

static void store(struct conflicts_past *t, const struct retired *r)
{
	t->store[t->n & (t->room - 1)] = (struct conflict_store){
		.addr = r->value[OPERAND_ADDRESS], .at = t->now, .site = r->site, .size = r->access
	};
	t->n++;
	if (t->n - t->oldest > t->room)
		t->oldest = t->n - t->room;
	if (t->index)
		EACH_GRANULE(i, r->value[OPERAND_ADDRESS], r->access)
	t->index->touched[i % GRANULES] = t->now + 1;
}

int conflicts_step(struct profile *p, struct conflicts_past *t, const struct retired *r)
{
	int rc = 0;

	if (r->access && r->have >> OPERAND_ADDRESS & 1) {
		if (r->cls != INSN_STORE)
			rc = load(p, t, r);
		if (r->cls != INSN_LOAD)
			store(t, r);
	}
	t->now++;
	return rc;
}

void conflicts_skip(struct conflicts_past *t, unsigned n)
{
	t->now += n;
}

int conflicts_window(struct profile *p, const struct window *w)
{
	struct conflict_store room[CONFLICT_WINDOW];
	struct conflicts_past t = { .room = CONFLICT_WINDOW, .store = room };

	if (!p->conflict_distance || w->n <= p->conflict_distance)
		return 0;
	for (uint32_t i = 0; i < w->n; i++)
		if (conflicts_step(p, &t, &w->ri[i]))
			return -1;
	return 0;
}

int conflicts_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	struct conflict *s, *tmp;

	HASH_ITER (hh, src->conflicts, s, tmp) {
		struct site_id from = { .image = map[s->key.store.image],
					.addr = s->key.store.addr };
		struct site_id to = { .image = map[s->key.load.image], .addr = s->key.load.addr };
		struct conflict *d = conflicts_get(dst, (enum conflict_kind)s->key.kind, from, to);

		if (!d)
			return -1;
		conflicts_add(d, s->count, s->distance, s->nearest, s->farthest);
	}
	return 0;
}

void conflicts_free(struct profile *p)
{
	struct conflict *c = p->conflicts, *next;

	HASH_CLEAR(hh, p->conflicts);
	for (; c; c = next) {
		next = c->hh.next;
		free(c);
	}
}
