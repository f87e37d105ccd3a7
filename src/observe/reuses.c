/* SPDX-License-Identifier: MIT */
#include "observe/reuses.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/keyed.h"
#include "x86/insn.h"

#define SLOTS (4 * RA_BURST_MAX) /* a power of two, at least twice the number of touches */

struct reuses *reuses_find(const struct profile *p, uint32_t run, uint32_t pid)
{
	uint64_t key = (uint64_t)run << 32 | pid;
	struct reuses *u;

	HASH_FIND(hh, p->reuses, &key, sizeof(key), u);
	return u;
}

struct reuses *reuses_get(struct profile *p, uint32_t run, uint32_t pid)
{
	uint64_t wanted = (uint64_t)run << 32 | pid;
	struct reuses *u = keyed_get(p->reuses, key, &wanted);

	if (!u)
		return NULL;
	u->run = run;
	u->pid = pid;
	return u;
}

/* Regions of code. */

struct site_id reuses_place(struct site_id id)
{
	id.addr &= ~(uint64_t)(REUSES_REGION_BYTES - 1);
	return id;
}

struct reuses *reuses_region_find(const struct reuses *u, struct site_id place)
{
	struct reuses *r;

	HASH_FIND(hh, u->regions, &place, sizeof(place), r);
	return r;
}

struct reuses *reuses_region_add(struct reuses *u, struct site_id place)
{
	struct reuses *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->key = u->key;
	r->run = u->run;
	r->pid = u->pid;
	r->place = place;
	HASH_ADD(hh, u->regions, place, sizeof(r->place), r);
	if (!r->hh.tbl) {
		free(r);
		return NULL;
	}
	return r;
}

static int by_windows(const void *a, const void *b)
{
	const struct reuses *const *x = a, *const *y = b;

	return ((*x)->windows > (*y)->windows) - ((*x)->windows < (*y)->windows);
}

/* Drops a quarter of a process's regions: those where the fewest windows began. */
static void drop_regions(struct profile *p, struct reuses *u)
{
	struct reuses *list[REUSES_REGIONS], *r;
	unsigned n = 0;

	for (r = u->regions; r && n < REUSES_REGIONS; r = r->hh.next)
		list[n++] = r;
	qsort(list, n, sizeof(struct reuses *), by_windows);
	for (unsigned i = 0; i < n && i < REUSES_REGIONS / 4; i++) {
		assert(u->regions);
		HASH_DELETE(hh, u->regions, list[i]);
		free(list[i]);
		p->reuse_regions--;
	}
}

/* Finds or makes the region where a window begins; NULL: there are too many, or no memory. */
static struct reuses *region_of(struct profile *p, struct reuses *u, struct site_id start)
{
	struct site_id place = reuses_place(start);
	struct reuses *r = reuses_region_find(u, place);

	if (r)
		return r;
	if (HASH_COUNT(u->regions) == REUSES_REGIONS)
		drop_regions(p, u);
	if (p->reuse_regions == REUSES_REGIONS_ALL)
		return NULL;
	r = reuses_region_add(u, place);
	p->reuse_regions += r != NULL;
	return r;
}

uint64_t reuses_units(double weight)
{
	return (uint64_t)(weight * REUSES_UNIT + 0.5);
}

unsigned reuses_touches(const struct window *w, uint64_t at[REUSES_TOUCHES])
{
	unsigned n = 0;

	for (uint32_t i = 0; i < w->n && n + 1 < REUSES_TOUCHES; i++) {
		const struct retired *r = &w->ri[i];
		uint64_t first = r->value[OPERAND_ADDRESS];
		uint64_t last = first + (r->access ? r->access - 1u : 0);

		if (!(r->have >> OPERAND_ADDRESS & 1))
			continue;
		at[n++] = first;
		if (first / REUSES_LINE != last / REUSES_LINE)
			at[n++] = last & ~(uint64_t)(REUSES_LINE - 1);
	}
	return n;
}

/* Position + 1 of the last touch of a line in this window; 0 if there was none. */
struct seen {
	uint64_t line;
	unsigned time;
};

static struct seen *find(struct seen *seen, size_t slots, uint64_t line)
{
	size_t i = hash_mix(line) >> 40 & (slots - 1);

	while (seen[i].time && seen[i].line != line)
		i = (i + 1) & (slots - 1);
	return &seen[i];
}

static unsigned near_bucket(unsigned time)
{
	unsigned b = distance_bucket(time);

	return b < REUSES_NEAR ? b : REUSES_NEAR - 1;
}

/* Adds `units` of a time to u and to its region. */
static void count(struct reuses *u, struct reuses *region, bool ended, unsigned time,
		  uint64_t units)
{
	unsigned b = near_bucket(time);

	*(ended ? &u->near_ended[b] : &u->near_left[b]) += units;
	if (region)
		*(ended ? &region->near_ended[b] : &region->near_left[b]) += units;
}

static void count_window(struct reuses *u, const struct window *w, unsigned touches, double weight)
{
	uint64_t units = reuses_units(weight);

	if (!u)
		return;
	u->windows++;
	u->instructions += w->n * units;
	u->touches += touches * units;
	u->touches_square += reuses_units(touches * weight * touches * weight);
}

int reuses_window(struct profile *p, const struct window *w, double weight)
{
	struct reuses *u = reuses_get(p, p->nrun ? (uint32_t)p->nrun - 1 : 0, w->pid);
	struct reuses *region = u ? region_of(p, u, w->start) : NULL;
	uint64_t at[REUSES_TOUCHES], units = reuses_units(weight);
	struct seen seen[SLOTS];
	unsigned n = reuses_touches(w, at);
	size_t slots = 64;

	if (!u)
		return -1;
	while (slots < 2 * n)
		slots *= 2;
	memset(seen, 0, slots * sizeof(*seen));
	count_window(u, w, n, weight);
	count_window(region, w, n, weight);
	for (unsigned i = 0; i < n; i++) {
		struct seen *s = find(seen, slots, at[i] / REUSES_LINE);

		if (s->time)
			count(u, region, true, i + 1 - s->time, units);
		*s = (struct seen){ at[i] / REUSES_LINE, i + 1 };
	}
	for (size_t i = 0; i < slots; i++)
		if (seen[i].time)
			count(u, region, false, n - seen[i].time, units);
	return 0;
}

/* Copies all counts. */
static void copy(struct reuses *to, const struct reuses *from)
{
	struct reuses kept = *to;

	*to = *from;
	to->hh = kept.hh;
	to->key = kept.key;
	to->run = kept.run;
	to->place = kept.place;
	to->regions = kept.regions;
}

int reuses_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	uint32_t runs = (uint32_t)dst->nrun;
	const struct reuses *u, *r;

	for (u = src->reuses; u; u = u->hh.next) {
		struct reuses *d = reuses_get(dst, u->run + runs, u->pid);

		if (!d)
			return -1;
		copy(d, u);
		for (r = u->regions; r; r = r->hh.next) {
			struct site_id place = { .image = map[r->place.image],
						 .addr = r->place.addr };
			struct reuses *to = reuses_region_find(d, place);

			/* two images of src may become one of dst */
			if (to)
				continue;
			to = reuses_region_add(d, place);
			if (!to)
				return -1;
			copy(to, r);
		}
	}
	return 0;
}

static void free_list(struct reuses *u)
{
	struct reuses *next;

	for (; u; u = next) {
		struct reuses *regions = u->regions;

		next = u->hh.next;
		HASH_CLEAR(hh, u->regions);
		free_list(regions);
		free(u);
	}
}

void reuses_free(struct profile *p)
{
	struct reuses *u = p->reuses;

	HASH_CLEAR(hh, p->reuses);
	free_list(u);
}
