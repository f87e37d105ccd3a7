/* SPDX-License-Identifier: MIT */
/*
 * Encoded: method (1 byte), then varints: capacity, total, entries, and
 *   Space-Saving      rest (the most a value outside can have occurred), then value, count, error each
 *   counting samples  tau in 1/65536, then value, count each
 */
#include "sketch/hot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hot_method_name[HOT_METHOD_N] = { "space-saving", "counting" };

#define INLINE_ENTRIES 2
#define TAU_GROWTH 1.1	/* Gibbons and Matias */
#define CONFIDENCE 0.95 /* of a counting sample's upper bounds */
#define TAU_SCALE 65536.0
#define EXTRA_LIMIT 0x1p62 /* of tau or rest, encoded: so that sums of them do not wrap */

struct entry {
	uint64_t value;
	uint64_t count;
	uint64_t error; /* Space-Saving: of count, how much may be other values' */
};

struct hot {
	uint8_t method;
	uint16_t capacity, n, room;
	uint16_t last; /* entry hit last */
	uint64_t total;
	uint64_t rest; /* Space-Saving: bound of what is outside the list */
	double tau;
	struct entry *e;
	struct entry first[INLINE_ENTRIES];
};

int hot_method_by_name(const char *name)
{
	for (int i = 0; i < HOT_METHOD_N; i++)
		if (!strcmp(hot_method_name[i], name))
			return i;
	return -1;
}

/* xorshift64* (Vigna) */
static _Thread_local uint64_t random_state = 0x9e3779b97f4a7c15ull;

void hot_seed(uint64_t seed)
{
	random_state = seed * 2 + 1;
}

static double uniform(void)
{
	uint64_t x = random_state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	random_state = x;
	return (double)(x * 0x2545f4914f6cdd1dull >> 11) * 0x1p-53;
}

struct hot *hot_new(enum hot_method method, unsigned capacity)
{
	struct hot *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->method = (uint8_t)method;
	h->capacity = (uint16_t)(capacity < 1		       ? 1
				 : capacity > HOT_CAPACITY_MAX ? HOT_CAPACITY_MAX
							       : capacity);
	h->room = INLINE_ENTRIES;
	h->e = h->first;
	h->tau = 1;
	return h;
}

void hot_free(struct hot *h)
{
	if (h && h->e != h->first)
		free(h->e);
	free(h);
}

static bool grow(struct hot *h, unsigned room)
{
	struct entry *e;

	if (room > h->capacity)
		room = h->capacity;
	if (room <= h->room)
		return true;
	e = h->e == h->first ? malloc(room * sizeof(*e)) : realloc(h->e, room * sizeof(*e));
	if (!e)
		return false;
	if (h->e == h->first)
		memcpy(e, h->first, sizeof(h->first));
	h->e = e;
	h->room = (uint16_t)room;
	return true;
}

static struct entry *find(struct hot *h, uint64_t value)
{
	if (h->last < h->n && h->e[h->last].value == value)
		return &h->e[h->last];
	for (unsigned i = 0; i < h->n; i++)
		if (h->e[i].value == value) {
			h->last = (uint16_t)i;
			return &h->e[i];
		}
	return NULL;
}

static struct entry *least(struct hot *h)
{
	struct entry *m = &h->e[0];

	for (unsigned i = 1; i < h->n; i++)
		if (h->e[i].count < m->count)
			m = &h->e[i];
	return m;
}

/* Space-Saving: a new value takes the least entry's place, and count. */
static void replace_least(struct hot *h, uint64_t value, uint64_t n)
{
	struct entry *m = least(h);

	if (m->count > h->rest)
		h->rest = m->count;
	*m = (struct entry){ value, m->count + n, m->count };
}

/*
 * Counting samples: raises tau to `next`. Each entry stays as it is with probability tau / next; else it
 * loses one, and goes on losing one with probability 1 - 1 / next until it stops or is gone.
 */
static void raise_to(struct hot *h, double next)
{
	unsigned k = 0;

	if (next <= h->tau)
		return;
	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = h->e[i];

		if (uniform() >= h->tau / next) {
			e.count--;
			while (e.count && uniform() >= 1 / next)
				e.count--;
		}
		if (e.count)
			h->e[k++] = e;
	}
	h->n = (uint16_t)k;
	h->tau = next;
}

static void make_room(struct hot *h)
{
	while (h->n == h->capacity)
		raise_to(h, h->tau * TAU_GROWTH);
}

static int append(struct hot *h, uint64_t value, uint64_t count, uint64_t error)
{
	if (h->n == h->room && !grow(h, 2u * h->room))
		return -1;
	h->e[h->n] = (struct entry){ value, count, error };
	h->last = h->n++;
	return 0;
}

/* n tosses of which the first success enters the value. */
static int enter_counting(struct hot *h, uint64_t value, uint64_t n)
{
	if (h->tau > 1) {
		double skipped = floor(log(1 - uniform()) / log1p(-1 / h->tau));

		if (skipped >= (double)n)
			return 0;
		n -= (uint64_t)skipped;
	}
	make_room(h);
	return append(h, value, n, 0);
}

int hot_add(struct hot *h, uint64_t value, uint64_t n)
{
	struct entry *e = find(h, value);
	int rc = 0;

	if (e)
		e->count += n;
	else if (h->method == HOT_COUNTING)
		rc = enter_counting(h, value, n);
	else if (h->n == h->capacity)
		replace_least(h, value, n);
	else
		rc = append(h, value, n + h->rest, h->rest);
	if (!rc)
		h->total += n;
	return rc;
}

static int most_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->value > y->value) - (x->value < y->value);
}

static int merge_space_saving(struct hot *dst, const struct hot *src)
{
	unsigned n = dst->n, k = 0;
	struct entry *all = calloc((size_t)dst->n + src->n + 1, sizeof(*all));

	if (!all)
		return -1;
	memcpy(all, dst->e, n * sizeof(*all));
	/* what one list does not hold may have occurred there as often as its bound says */
	for (unsigned i = 0; i < n; i++) {
		all[i].count += src->rest;
		all[i].error += src->rest;
	}
	for (unsigned i = 0; i < src->n; i++) {
		const struct entry *s = &src->e[i];
		struct entry *d = find(dst, s->value);

		if (d) {
			struct entry *a = &all[d - dst->e];

			a->count += s->count - src->rest;
			a->error = a->error - src->rest + s->error;
		} else {
			all[n + k++] = (struct entry){ s->value, s->count + dst->rest,
						       s->error + dst->rest };
		}
	}
	n += k;
	if (n)
		qsort(all, n, sizeof(*all), most_first);
	dst->rest += src->rest;
	if (n > dst->capacity) {
		if (all[dst->capacity].count > dst->rest)
			dst->rest = all[dst->capacity].count;
		n = dst->capacity;
	}
	if (!grow(dst, n)) {
		free(all);
		return -1;
	}
	memcpy(dst->e, all, n * sizeof(*all));
	dst->n = (uint16_t)n;
	free(all);
	return 0;
}

static int merge_counting(struct hot *dst, const struct hot *src)
{
	struct hot *copy = hot_new(HOT_COUNTING, HOT_CAPACITY_MAX);
	int rc = 0;

	if (!copy || !grow(copy, src->n)) {
		hot_free(copy);
		return -1;
	}
	memcpy(copy->e, src->e, src->n * sizeof(*src->e));
	copy->n = src->n;
	copy->tau = src->tau;
	raise_to(copy, dst->tau);
	raise_to(dst, copy->tau);
	for (unsigned i = 0; i < copy->n && !rc; i++) {
		struct entry *d = find(dst, copy->e[i].value);

		if (d) {
			d->count += copy->e[i].count;
			continue;
		}
		make_room(dst);
		rc = append(dst, copy->e[i].value, copy->e[i].count, 0);
	}
	hot_free(copy);
	return rc;
}

int hot_merge(struct hot *dst, const struct hot *src)
{
	if (dst->method != src->method)
		return -1;
	if (dst->method == HOT_COUNTING ? merge_counting(dst, src) : merge_space_saving(dst, src))
		return -1;
	dst->total += src->total;
	return 0;
}

uint64_t hot_total(const struct hot *h)
{
	return h->total;
}

unsigned hot_distinct(const struct hot *h)
{
	return h->n;
}

bool hot_exact(const struct hot *h)
{
	return h->method == HOT_COUNTING ? h->tau <= 1 : h->rest == 0;
}

double hot_tau(const struct hot *h)
{
	return h->tau;
}

double hot_confidence(const struct hot *h)
{
	return h->method == HOT_COUNTING && h->tau > 1 ? CONFIDENCE : 1;
}

enum hot_method hot_method(const struct hot *h)
{
	return h->method;
}

/* The number of occurrences before a value entered is geometric: P(> k) = (1 - 1 / tau)^k. */
static double missed_bound(const struct hot *h)
{
	return h->tau > 1 ? ceil(log(1 - CONFIDENCE) / log1p(-1 / h->tau)) : 0;
}

static struct hot_value report(const struct hot *h, const struct entry *e)
{
	double count = (double)e->count, total = (double)h->total;
	struct hot_value v = { e->value, count, count, count };

	if (h->method == HOT_COUNTING) {
		v.count = count + h->tau - 1; /* unbiased for a fixed tau */
		v.high = count + missed_bound(h);
		if (v.high > total)
			v.high = total;
		if (v.count > v.high)
			v.count = v.high;
	} else {
		v.low = (double)(e->count - e->error);
		if (v.high > total)
			v.high = total;
		v.count = v.low; /* what it replaced was hardly itself */
	}
	return v;
}

unsigned hot_top(const struct hot *h, struct hot_value *out, unsigned n)
{
	unsigned k = 0;

	for (unsigned i = 0; i < h->n; i++) {
		struct hot_value v = report(h, &h->e[i]);
		unsigned at = k;

		while (at > 0 && (out[at - 1].count < v.count ||
				  (out[at - 1].count == v.count && out[at - 1].value > v.value)))
			at--;
		if (at == n)
			continue;
		if (k < n)
			k++;
		memmove(&out[at + 1], &out[at], (k - 1 - at) * sizeof(*out));
		out[at] = v;
	}
	return k;
}

double hot_rest_bound(const struct hot *h)
{
	return h->method == HOT_COUNTING ? missed_bound(h) : (double)h->rest;
}

/* Encoding. */

static uint8_t *put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static bool get(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; shift < 64 && *p < end; shift += 7) {
		uint8_t b = *(*p)++;

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

size_t hot_encoded_max(const struct hot *h)
{
	return 1 + 4 * 10 + (size_t)h->n * 30;
}

static uint64_t encoded_tau(const struct hot *h)
{
	double tau = h->tau * TAU_SCALE;

	return tau < EXTRA_LIMIT ? (uint64_t)tau : (uint64_t)EXTRA_LIMIT - (1u << 10);
}

size_t hot_encode(const struct hot *h, uint8_t *p)
{
	uint8_t *start = p;

	*p++ = h->method;
	p = put(p, h->capacity);
	p = put(p, h->total);
	p = put(p, h->n);
	p = put(p, h->method == HOT_COUNTING ? encoded_tau(h) : h->rest);
	for (unsigned i = 0; i < h->n; i++) {
		p = put(p, h->e[i].value);
		p = put(p, h->e[i].count);
		if (h->method == HOT_SPACE_SAVING)
			p = put(p, h->e[i].error);
	}
	return (size_t)(p - start);
}

static bool decode_entries(struct hot *h, uint64_t n, const uint8_t **p, const uint8_t *end)
{
	for (uint64_t i = 0; i < n; i++) {
		struct entry e = { 0 };

		if (!get(p, end, &e.value) || !get(p, end, &e.count) ||
		    (h->method == HOT_SPACE_SAVING && !get(p, end, &e.error)))
			return false;
		if (!e.count || e.count > UINT64_MAX / 4 || e.error > e.count ||
		    e.count - e.error > h->total || find(h, e.value) ||
		    append(h, e.value, e.count, e.error))
			return false;
	}
	return true;
}

struct hot *hot_decode(const uint8_t *p, size_t n, size_t *used, struct err *err)
{
	const uint8_t *start = p, *end = p + n;
	uint64_t capacity, total, count, extra;
	struct hot *h;

	if (n < 2 || *p >= HOT_METHOD_N)
		goto bad;
	p++;
	if (!get(&p, end, &capacity) || !get(&p, end, &total) || !get(&p, end, &count) ||
	    !get(&p, end, &extra) || capacity < 1 || capacity > HOT_CAPACITY_MAX ||
	    count > capacity || total > UINT64_MAX / 4)
		goto bad;
	h = hot_new(*start, (unsigned)capacity);
	if (!h) {
		err_set(err, ERR_FAILED, "no memory for a hot list");
		return NULL;
	}
	h->total = total;
	if ((double)extra >= EXTRA_LIMIT) {
		hot_free(h);
		goto bad;
	}
	if (h->method == HOT_COUNTING)
		h->tau = extra < TAU_SCALE ? 1 : (double)extra / TAU_SCALE;
	else
		h->rest = extra > total ? total : extra;
	if (!decode_entries(h, count, &p, end)) {
		hot_free(h);
		goto bad;
	}
	h->last = 0;
	*used = (size_t)(p - start);
	return h;
bad:
	err_set(err, ERR_FAILED, "malformed hot list");
	return NULL;
}
