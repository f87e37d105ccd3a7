/* SPDX-License-Identifier: MIT */
#include "observe/sites.h"

#include <stdlib.h>
#include <string.h>

#include "observe/locality.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/pages.h"

#define NEIGHBOURS \
	16 /* bytes of code whose slots are adjacent, because instructions are met in order */
#define SLOTS_MIN 1024
/* number of slots from which the table lies in large pages */
#define SLOTS_LARGE (PAGES_LARGE / sizeof(uint64_t))
/* The first SMALL chunks have memory of their own. Later ones lie in large pages, IN_PAGE of them in each. */
#define SMALL 3
#define IN_PAGE (PAGES_LARGE / (SITES_CHUNK * sizeof(struct site)))

static uint32_t hash_of(const struct site_id *id)
{
	uint64_t place = (id->addr / NEIGHBOURS ^ (uint64_t)id->image << 40);

	return (uint32_t)hash_bits(place, 32) * NEIGHBOURS + (uint32_t)(id->addr % NEIGHBOURS);
}

static bool same(const struct site_id *a, const struct site_id *b)
{
	return a->addr == b->addr && a->image == b->image;
}

/* Returns the site's slot, or the free one where it belongs. */
static uint64_t *slot_of(const struct sites *t, const struct site_id *id, uint32_t hash)
{
	for (size_t i = hash;; i++) {
		uint64_t *slot = &t->slot[i & (t->slots - 1)];

		if (!*slot ||
		    (*slot >> 32 == hash && same(&sites_nth(t, (uint32_t)*slot - 1)->id, id)))
			return slot;
	}
}

static void free_slots(struct sites *t)
{
	if (t->slots >= SLOTS_LARGE)
		pages_free(t->slot, t->slots * sizeof(*t->slot));
	else
		free(t->slot);
}

static bool grow(struct sites *t)
{
	/* a large table grows in small steps, because most of its slots are free after a large one */
	size_t n = t->slots >= SLOTS_LARGE ? 2 * t->slots : t->slots ? 4 * t->slots : SLOTS_MIN;
	uint64_t *slot = n >= SLOTS_LARGE ? pages_new(n * sizeof(*slot)) : calloc(n, sizeof(*slot));

	if (!slot)
		return false;
	for (size_t i = 0; i < t->slots; i++) {
		size_t to = t->slot[i] >> 32;

		if (!t->slot[i])
			continue;
		while (slot[to & (n - 1)])
			to++;
		slot[to & (n - 1)] = t->slot[i];
	}
	free_slots(t);
	t->slot = slot;
	t->slots = n;
	return true;
}

static bool add_chunk(struct sites *t)
{
	size_t n = t->n / SITES_CHUNK;
	struct site **chunk = t->chunk;

	if (!(n & (n - 1))) { /* Capacities are powers of two. */
		chunk = realloc(t->chunk, (n ? 2 * n : 1) * sizeof(struct site *));
		if (!chunk)
			return false;
		t->chunk = chunk;
	}
	if (n < SMALL)
		chunk[n] = calloc(SITES_CHUNK, sizeof(struct site));
	else
		chunk[n] =
			(n - SMALL) % IN_PAGE ? chunk[n - 1] + SITES_CHUNK : pages_new(PAGES_LARGE);
	return chunk[n];
}

struct site *sites_find(const struct sites *t, struct site_id id)
{
	const uint64_t *slot;

	if (!t->n)
		return NULL;
	slot = slot_of(t, &id, hash_of(&id));
	return *slot ? sites_nth(t, (uint32_t)*slot - 1) : NULL;
}

/* Code is first met in the order in which it is executed, so the site after the last one mostly is the next one. */
static struct site *after_last(struct sites *t, const struct site_id *id)
{
	struct site *s = sites_nth(t, t->last + 1);

	if (!s || !same(&s->id, id))
		return NULL;
	t->last++;
	return s;
}

static struct site *get_by_hash(struct sites *t, struct site_id id)
{
	uint32_t hash = hash_of(&id);
	struct site *s;
	uint64_t *slot;

	if (2 * t->n >= t->slots && !grow(t))
		return NULL;
	slot = slot_of(t, &id, hash);
	if (*slot) {
		t->last = (uint32_t)*slot - 1;
		return sites_nth(t, t->last);
	}
	if (t->n == UINT32_MAX || (!(t->n % SITES_CHUNK) && !add_chunk(t)))
		return NULL;
	t->last = t->n;
	*slot = (uint64_t)hash << 32 | ++t->n;
	s = sites_nth(t, t->last);
	s->id = (struct site_id){ .image = id.image, .addr = id.addr };
	s->number = (uint32_t)t->last & INT32_MAX;
	return s;
}

struct site *sites_get(struct sites *t, struct site_id id)
{
	struct site *s = after_last(t, &id);

	return s ? s : get_by_hash(t, id);
}

int sites_add_note(struct sites *t, struct site *s)
{
	if (!array_one_more(t->note, t->nnote))
		return -1;
	t->note[t->nnote++] = s;
	s->noted = true;
	return 0;
}

void sites_forget_notes(struct sites *t)
{
	for (size_t i = 0; i < t->nnote; i++)
		t->note[i]->noted = false;
	t->nnote = 0;
}

struct hot **site_operand(struct site *s, int operand)
{
	return lists_place(&s->hot, &s->lists, operand);
}

struct site_weights site_weights(const struct site *s)
{
	double n = (double)s->observed, windows = (double)(s->windows ? s->windows : s->observed);

	if (s->weights)
		return *s->weights;
	/* without recorded weights, all windows weigh the same */
	return (struct site_weights){ .observed = n,
				      .taken = (double)s->taken,
				      .square = windows > 0 ? n * n / windows : 0 };
}

struct site_weights *site_weigh(struct site *s)
{
	struct site_weights *w = s->weights ? s->weights : malloc(sizeof(*w));

	if (w && !s->weights)
		*w = site_weights(s);
	s->weights = w;
	return w;
}

static int by_place(const void *a, const void *b)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;

	if (x->id.image != y->id.image)
		return x->id.image < y->id.image ? -1 : 1;
	return ((int64_t)x->id.addr > (int64_t)y->id.addr) -
	       ((int64_t)x->id.addr < (int64_t)y->id.addr);
}

struct site **sites_sorted(const struct sites *t)
{
	struct site **list = malloc((t->n + 1) * sizeof(struct site *));

	if (!list)
		return NULL;
	for (size_t i = 0; i < t->n; i++)
		list[i] = sites_nth(t, i);
	qsort(list, t->n, sizeof(*list), by_place);
	return list;
}

void sites_fini(struct sites *t)
{
	struct site *s;

	SITES_EACH(t, s)
	{
		free(s->weights);
		locality_drop(s->locality);
		lists_free(s->hot, s->lists);
	}
	for (size_t i = 0; i * SITES_CHUNK < t->n; i++)
		if (i < SMALL)
			free(t->chunk[i]);
		else if ((i - SMALL) % IN_PAGE == 0)
			pages_free(t->chunk[i], PAGES_LARGE);
	free(t->chunk);
	free((void *)t->note);
	free_slots(t);
	*t = (struct sites){ 0 };
}
