/* SPDX-License-Identifier: MIT */
/* A hot list and its entries, and how a value is added. */
#include "sketch/hot_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

const char *const hot_method_name[HOT_METHOD_N] = { "space-saving", "counting" };

int hot_method_by_name(const char *name)
{
	for (int i = 0; i < HOT_METHOD_N; i++)
		if (!strcmp(hot_method_name[i], name))
			return i;
	return -1;
}

struct hot *hot_new(enum hot_method method, unsigned capacity)
{
	struct hot *h = calloc(1, method == HOT_COUNTING ? sizeof(struct counting) : sizeof(*h));

	if (!h)
		return NULL;
	h->method = (uint8_t)method;
	h->capacity = (uint16_t)(capacity < 1		       ? 1
				 : capacity > HOT_CAPACITY_MAX ? HOT_CAPACITY_MAX
							       : capacity);
	h->wide = method == HOT_COUNTING;
	if (h->wide) {
		h->tau = 1;
		hot_counting(h)->streams = 1;
	} else {
		h->room = 1;
	}
	return h;
}

void hot_free(struct hot *h)
{
	if (h && !hot_holds_only(h))
		free(h->brief);
	free(h);
}

struct entry hot_entry(const struct hot *h, unsigned i)
{
	const struct brief *b;

	invariant(i < h->n);
	if (h->wide)
		return h->e[i];
	b = &hot_brief(h)[i];
	return (struct entry){ b->value, b->count, b->error, (double)b->weight };
}

bool hot_widen(struct hot *h)
{
	uint64_t rest = hot_rest(h);
	struct entry *e;

	if (h->wide)
		return true;
	e = calloc(h->n + 1u, sizeof(*e));
	if (!e)
		return false;
	for (unsigned i = 0; i < h->n; i++)
		e[i] = hot_entry(h, i);
	if (!hot_holds_only(h))
		free(h->brief);
	h->rest = rest;
	h->e = e;
	h->room = (uint16_t)(h->n + 1u);
	h->wide = true;
	return true;
}

bool hot_grow(struct hot *h, unsigned room)
{
	struct entry *e;

	invariant(h->wide && room <= HOT_CAPACITY_MAX * 2 + 1);
	if (room <= h->room)
		return true;
	e = realloc(h->e, room * sizeof(*e));
	if (!e)
		return false;
	h->e = e;
	h->room = (uint16_t)room;
	return true;
}

/* Makes room for n brief entries. */
static bool grow_brief_to(struct hot *h, unsigned n)
{
	struct brief *b, only = h->only;
	bool held = hot_holds_only(h);

	invariant(!h->wide);
	if (n <= h->room)
		return true;
	b = realloc(held ? NULL : h->brief, n * sizeof(*b));
	if (!b)
		return false;
	if (held) {
		b[0] = only;
		h->rest = 0;
	}
	h->brief = b;
	h->room = (uint16_t)n;
	return true;
}

static bool grow_brief(struct hot *h)
{
	unsigned room = h->room + h->room / 8 + 1u;

	invariant(h->n == h->room && h->room < h->capacity);
	return grow_brief_to(h, room < h->capacity ? room : h->capacity);
}

bool hot_room_for_rest(struct hot *h)
{
	return !hot_holds_only(h) || grow_brief_to(h, 2);
}

int hot_put_all(struct hot *h, const struct entry *e, unsigned n)
{
	bool fit = !h->wide;

	for (unsigned i = 0; i < n; i++)
		fit &= hot_fits(h, e[i].count);
	if (fit ? !grow_brief_to(h, n) : !hot_widen(h) || !hot_grow(h, n))
		return -1;
	for (unsigned i = 0; i < n; i++)
		hot_put(h, i, e[i]);
	h->n = (uint16_t)n;
	return 0;
}

/* Whether the entry has the form of all entries, and its value is not that of the entry that was
 * hit last. */
static inline __attribute__((unused)) bool is_sound(const struct hot *h, unsigned i)
{
	struct entry e = hot_entry(h, i);

	/* in a list that counts samples the error says what was missed, which may be more than the count */
	return (h->method == HOT_COUNTING || (e.error <= e.count && e.count >= hot_rest(h))) &&
	       (i == h->last || h->last >= h->n || e.value != hot_entry(h, h->last).value);
}

/* Checks the invariants of a list between two calls; of a long list, only its first entries. */
void hot_check(const struct hot *h)
{
	invariant(h->n <= h->capacity && h->n <= h->room);
	invariant(h->method != HOT_COUNTING || (h->tau >= 1 && h->wide));
	for (unsigned i = 0; i < h->n && i < 64; i++)
		invariant(is_sound(h, i));
}

struct entry *hot_find(struct hot *h, uint64_t value)
{
	invariant(h->wide);
	if (h->last < h->n && h->e[h->last].value == value)
		return &h->e[h->last];
	for (unsigned i = 0; i < h->n; i++)
		if (h->e[i].value == value) {
			h->last = (uint16_t)i;
			return &h->e[i];
		}
	return NULL;
}

static struct brief *find_brief(struct hot *h, uint64_t value)
{
	struct brief *b = hot_brief(h);

	invariant(!h->wide);
	if (h->last < h->n && b[h->last].value == value)
		return &b[h->last];
	for (unsigned i = 0; i < h->n; i++)
		if (b[i].value == value) {
			h->last = (uint16_t)i;
			return &b[i];
		}
	return NULL;
}

static struct brief *least_brief(struct hot *h)
{
	struct brief *b = hot_brief(h), *m = b;

	invariant(h->n && !h->wide);
	for (unsigned i = 1; i < h->n; i++)
		if (b[i].count < m->count)
			m = &b[i];
	return m;
}

static struct entry *least(struct hot *h)
{
	struct entry *m = &h->e[0];

	invariant(h->n && h->wide);
	for (unsigned i = 1; i < h->n; i++)
		if (h->e[i].count < m->count)
			m = &h->e[i];
	return m;
}

/* Space-Saving: a new value takes the least entry's place, and count. */
static void replace_least(struct hot *h, uint64_t value, uint64_t n)
{
	struct entry *m = least(h);

	invariant(h->n == h->capacity && m->count >= h->rest);
	if (m->count > h->rest)
		h->rest = m->count;
	*m = (struct entry){ value, m->count + n, m->count, (double)n };
}

int hot_append(struct hot *h, uint64_t value, uint64_t count, uint64_t error)
{
	/* A counting sample may exceed the capacity by one entry until it is thinned. */
	unsigned most = h->capacity + (h->method == HOT_COUNTING), room;
	struct entry e = { value, count, error, 0 };

	invariant(h->n < most && count && (h->method == HOT_COUNTING || error <= count));
	e.weight = hot_certain(h, &e);
	if (!h->wide && count <= BRIEF_MAX) {
		if (h->n == h->room && !grow_brief(h))
			return -1;
		hot_put(h, h->n, e);
	} else {
		room = h->room + h->room / 2 + 2u;
		if (!hot_widen(h) || (h->n == h->room && !hot_grow(h, room < most ? room : most)))
			return -1;
		h->e[h->n] = e;
	}
	h->last = h->n++;
	return 0;
}

/* Space-Saving in brief entries. False: one of them would become too large. */
static bool add_brief(struct hot *h, uint64_t value, uint64_t n, double weight, int *rc)
{
	struct brief *b = find_brief(h, value), *least;

	*rc = 0;
	if (n > BRIEF_MAX)
		return false;
	if (b) {
		if (b->count + n > BRIEF_MAX)
			return false;
		b->count = (uint16_t)(b->count + n);
		b->weight += (float)weight;
	} else if (h->n < h->capacity) {
		if (n + hot_rest(h) > BRIEF_MAX)
			return false;
		*rc = hot_append(h, value, n + hot_rest(h), hot_rest(h));
		if (!*rc)
			hot_weigh(h, h->n - 1u, weight);
	} else {
		if (!hot_room_for_rest(h)) {
			*rc = -1;
			return true;
		}
		least = least_brief(h);
		if (least->count + n > BRIEF_MAX)
			return false;
		if (least->count > h->rest)
			h->rest = least->count;
		*least = (struct brief){ value, (float)weight, (uint16_t)(least->count + n),
					 least->count };
	}
	return true;
}

static int add_wide(struct hot *h, uint64_t value, uint64_t n)
{
	struct entry *e = hot_find(h, value);

	if (e)
		*e = (struct entry){ value, e->count + n, e->error, e->weight + (double)n };
	else if (h->method == HOT_COUNTING)
		return hot_enter(h, value, n);
	else if (h->n == h->capacity)
		replace_least(h, value, n);
	else
		return hot_append(h, value, n + h->rest, h->rest);
	return 0;
}

/* Adds n occurrences that weigh as much together. */
static int add(struct hot *h, uint64_t value, uint64_t n, double weight)
{
	struct entry *e;
	int rc;

	if (h->wide || !add_brief(h, value, n, weight, &rc)) {
		if (!hot_widen(h))
			return -1;
		rc = add_wide(h, value, n);
		/* A counting sample may have skipped the value. */
		e = !rc && weight != (double)n ? hot_find(h, value) : NULL;
		if (e)
			e->weight += weight - (double)n;
	}
	if (!rc) {
		h->total += n;
		h->weight += weight;
	}
	hot_check(h);
	return rc;
}

int hot_add(struct hot *h, uint64_t value, uint64_t n)
{
	return add(h, value, n, (double)n);
}

void hot_weigh_evenly(struct hot *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = hot_entry(h, i);

		hot_weigh(h, i, hot_certain(h, &e));
	}
	h->weight = (double)h->total;
}

int hot_add_weighted(struct hot *h, uint64_t value, double weight)
{
	if (!h->weighted)
		hot_weigh_evenly(h);
	h->weighted = true;
	return add(h, value, 1, weight);
}

struct hot *hot_counted(unsigned capacity, uint64_t total, uint64_t rest, const uint64_t *value,
			const uint64_t *count, unsigned n)
{
	struct hot *h = hot_new(HOT_SPACE_SAVING, capacity);

	if (!h)
		return NULL;
	if (rest && !hot_room_for_rest(h)) {
		hot_free(h);
		return NULL;
	}
	h->total = total;
	if (rest)
		h->rest = rest;
	for (unsigned i = 0; i < n; i++) {
		invariant(count[i] >= rest);
		if (hot_append(h, value[i], count[i], 0)) {
			hot_free(h);
			return NULL;
		}
	}
	h->last = 0;
	return h;
}
