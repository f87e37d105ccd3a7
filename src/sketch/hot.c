/* SPDX-License-Identifier: MIT */
/*
 * Encoded: form (1 byte), then varints: capacity, total, entries, and
 *   0 Space-Saving      rest (the most a value outside can have occurred), then value, count, error each
 *   1 counting samples  tau in 1/65536, then value, count each
 *   2 merged ones       tau in 1/65536, streams, then value, count, missed each
 *
 * Weights: what all occurrences weigh, then what the certain ones of each entry do, in 1/1024: varints.
 *
 * A counting sample of one stream misses, of each value, the occurrences before the one that entered it:
 * as many as a coin of 1 / tau falls on the wrong side in a row, tau - 1 on average. Raising tau keeps it
 * so, as if tau had always been what it is. A list merged of several samples (`streams`) misses at most
 * the sum of as many such runs. What is merged while still exact is fed as occurrences and adds none.
 */
#include "sketch/hot_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/random.h"

const char *const hot_method_name[HOT_METHOD_N] = { "space-saving", "counting" };

#define TAU_GROWTH 1.1 /* growth of tau, after Gibbons and Matias */
#define DOUBT 0.05     /* probability that a counting sample's upper bound is exceeded */
#define TAU_SCALE 65536.0
#define STREAMS_MAX (1u << 30)
#define EXTRA_LIMIT 0x1p62 /* limit of encoded tau and rest, so that sums of them do not wrap */

int hot_method_by_name(const char *name)
{
	for (int i = 0; i < HOT_METHOD_N; i++)
		if (!strcmp(hot_method_name[i], name))
			return i;
	return -1;
}

static _Thread_local uint64_t random_state = 0x9e3779b97f4a7c15ull;

void hot_seed(uint64_t seed)
{
	random_state = seed * 2 + 1;
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
	h->streams = 1;
	return h;
}

void hot_free(struct hot *h)
{
	if (h && h->e != h->first)
		free(h->e);
	free(h);
}

bool hot_grow(struct hot *h, unsigned room)
{
	struct entry *e;

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

/* Checks what holds of a list between two calls; of a long list, only its first entries. */
static void check(const struct hot *h)
{
	invariant(h->n <= h->capacity && h->n <= h->room);
	invariant(h->method != HOT_COUNTING || (h->tau >= 1 && !h->rest));
	for (unsigned i = 0; i < h->n && i < 64; i++) {
		invariant(h->e[i].error <= h->e[i].count);
		invariant(i == h->last || h->last >= h->n || h->e[i].value != h->e[h->last].value);
	}
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
	*m = (struct entry){ value, m->count + n, m->count, (double)n };
}

static double certain(const struct hot *h, const struct entry *e)
{
	return (double)(h->method == HOT_COUNTING ? e->count : e->count - e->error);
}

int hot_append(struct hot *h, uint64_t value, uint64_t count, uint64_t error)
{
	/* A counting sample may exceed the capacity by one entry until it is thinned. */
	unsigned most = h->capacity + (h->method == HOT_COUNTING);

	if (h->n == h->room && !hot_grow(h, 2u * h->room < most ? 2u * h->room : most))
		return -1;
	h->e[h->n] = (struct entry){ value, count, error, 0 };
	h->e[h->n].weight = certain(h, &h->e[h->n]);
	h->last = h->n++;
	return 0;
}

/* Draws the number of tosses before the first success, of probability 1 / tau. */
static uint64_t failures(double tau)
{
	double n = tau > 1 ? floor(log(1 - random_part(&random_state)) / log1p(-1 / tau)) : 0;

	return n < 0x1p62 ? (uint64_t)n : 1ull << 62;
}

/*
 * Counting samples: raises tau to `next`. Each entry keeps its count with probability tau / next;
 * otherwise the occurrence that entered it is discarded, and the next occurrence to enter is sought
 * with probability 1 / next.
 */
static void raise_to(struct hot *h, double next)
{
	unsigned k = 0;

	if (next <= h->tau)
		return;
	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = h->e[i];
		uint64_t lost = random_part(&random_state) < h->tau / next ? 0 : 1 + failures(next);

		if (lost >= e.count)
			continue;
		e.weight *= (double)(e.count - lost) / (double)e.count;
		e.count -= lost;
		h->e[k++] = e;
	}
	h->n = (uint16_t)k;
	h->tau = next;
}

/* Thins the list. A new entry is thinned like the others, because it entered at the lower tau. */
static void thin(struct hot *h)
{
	while (h->n > h->capacity)
		raise_to(h, h->tau * TAU_GROWTH);
}

/* Counting samples: adds n occurrences of a value that is not in the list. */
static int enter_counting(struct hot *h, uint64_t value, uint64_t n)
{
	/* A single toss is cheaper than drawing the number of failures. */
	uint64_t skipped = n == 1 ? random_part(&random_state) * h->tau >= 1 : failures(h->tau);

	if (skipped >= n)
		return 0;
	if (hot_append(h, value, n - skipped, 0))
		return -1;
	thin(h);
	return 0;
}

int hot_add(struct hot *h, uint64_t value, uint64_t n)
{
	struct entry *e = find(h, value);
	int rc = 0;

	if (e)
		*e = (struct entry){ value, e->count + n, e->error, e->weight + (double)n };
	else if (h->method == HOT_COUNTING)
		rc = enter_counting(h, value, n);
	else if (h->n == h->capacity)
		replace_least(h, value, n);
	else
		rc = hot_append(h, value, n + h->rest, h->rest);
	if (!rc) {
		h->total += n;
		h->weight += (double)n;
	}
	check(h);
	return rc;
}

/* Gives everything added so far a weight of 1 each. */
static void weigh_evenly(struct hot *h)
{
	for (unsigned i = 0; i < h->n; i++)
		h->e[i].weight = certain(h, &h->e[i]);
	h->weight = (double)h->total;
}

int hot_add_weighted(struct hot *h, uint64_t value, double weight)
{
	struct entry *e;

	if (!h->weighted)
		weigh_evenly(h);
	h->weighted = true;
	if (hot_add(h, value, 1))
		return -1;
	h->weight += weight - 1;
	/* A counting sample may have skipped the value. */
	e = find(h, value);
	if (e)
		e->weight += weight - 1;
	return 0;
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
	uint64_t rest = dst->rest + src->rest;
	struct entry *all = calloc((size_t)dst->n + src->n + 1, sizeof(*all));

	if (!all)
		return -1;
	memcpy(all, dst->e, n * sizeof(*all));
	/* A value that one list lacks may have occurred there as often as that list's bound for
	 * values outside. */
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
			a->error += s->error - src->rest;
			a->weight += s->weight;
		} else {
			all[n + k++] = (struct entry){ s->value, s->count + dst->rest,
						       s->error + dst->rest, s->weight };
		}
	}
	n += k;
	if (n)
		qsort(all, n, sizeof(*all), most_first);
	if (n > dst->capacity) {
		if (all[dst->capacity].count > rest)
			rest = all[dst->capacity].count;
		n = dst->capacity;
	}
	if (!hot_grow(dst, n)) {
		free(all);
		return -1;
	}
	memcpy(dst->e, all, n * sizeof(*all));
	dst->n = (uint16_t)n;
	dst->rest = rest;
	free(all);
	return 0;
}

/* A copy with room for `more` entries. */
static struct hot *copy(const struct hot *h, unsigned more)
{
	struct hot *c = hot_new(h->method, HOT_CAPACITY_MAX);

	if (!c || !hot_grow(c, h->n + more + 1u)) {
		hot_free(c);
		return NULL;
	}
	memcpy(c->e, h->e, h->n * sizeof(*h->e));
	c->n = h->n;
	c->tau = h->tau;
	c->weighted = h->weighted;
	c->weight = h->weight;
	c->streams = h->streams;
	return c;
}

/* Feeds an exact list to h, which has room for all of it. */
static void feed(struct hot *h, const struct hot *exact)
{
	for (unsigned i = 0; i < exact->n; i++) {
		const struct entry *s = &exact->e[i];
		struct entry *d = find(h, s->value);

		if (d) {
			d->count += s->count;
			d->weight += s->weight;
			continue;
		}
		enter_counting(h, s->value, s->count);
		d = find(h, s->value);
		if (d)
			d->weight *= s->weight / (double)s->count;
	}
}

/* Adds a counting sample of the same tau to h, which has room. */
static void add_sample(struct hot *h, const struct hot *sample)
{
	uint64_t missed = h->tau < 0x1p60 ? (uint64_t)(h->tau - 0.5) : 1ull << 60;

	for (unsigned i = 0; i < sample->n; i++) {
		const struct entry *s = &sample->e[i];
		struct entry *d = find(h, s->value);

		if (d) {
			d->count += s->count;
			d->error += s->error + missed;
			d->weight += s->weight;
		} else if (!hot_append(h, s->value, s->count, s->error)) {
			h->e[h->n - 1].weight = s->weight;
		}
	}
	h->streams += sample->streams;
	if (h->streams > STREAMS_MAX)
		h->streams = STREAMS_MAX;
}

static int merge_counting(struct hot *dst, const struct hot *src)
{
	bool src_exact = hot_exact(src);
	struct hot *a = copy(dst, src->n), *b = copy(src, dst->n), *sum = a;

	if (!a || !b || !hot_grow(dst, dst->capacity)) {
		hot_free(a);
		hot_free(b);
		return -1;
	}
	if (src_exact) {
		feed(a, b);
	} else if (hot_exact(dst)) {
		feed(b, a);
		sum = b;
	} else {
		raise_to(a, b->tau);
		raise_to(b, a->tau);
		add_sample(a, b);
	}
	sum->capacity = dst->capacity;
	thin(sum);
	memcpy(dst->e, sum->e, sum->n * sizeof(*sum->e));
	dst->n = sum->n;
	dst->tau = sum->tau;
	dst->streams = sum->streams;
	hot_free(a);
	hot_free(b);
	return 0;
}

static int merge(struct hot *dst, const struct hot *src)
{
	bool weighted = dst->weighted || src->weighted;

	if (dst->method != src->method)
		return -1;
	if (weighted && !dst->weighted)
		weigh_evenly(dst);
	if (dst->method == HOT_COUNTING ? merge_counting(dst, src) : merge_space_saving(dst, src))
		return -1;
	dst->weighted = weighted;
	dst->weight += src->weight;
	dst->total += src->total;
	return 0;
}

int hot_merge(struct hot *dst, const struct hot *src)
{
	struct hot *even;
	int rc;

	if (!dst->weighted || src->weighted)
		return merge(dst, src);
	even = copy(src, 0);
	if (!even)
		return -1;
	even->capacity = src->capacity;
	even->rest = src->rest;
	even->total = src->total;
	weigh_evenly(even);
	rc = merge(dst, even);
	hot_free(even);
	return rc;
}

static uint64_t narrow(uint64_t v, unsigned bits)
{
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

int hot_merge_sum(struct hot *dst, const struct hot *src, uint64_t add, unsigned bits)
{
	struct hot *c;
	int rc = -1;

	if (!add && bits == 64)
		return hot_merge(dst, src);
	c = copy(src, 0);
	if (!c)
		return -1;
	c->capacity = src->capacity;
	c->rest = src->rest;
	c->total = src->total;
	for (unsigned i = 0; i < c->n; i++)
		c->e[i].value = narrow(c->e[i].value + add, bits);
	rc = hot_merge(dst, c);
	hot_free(c);
	return rc;
}

void hot_scale(struct hot *h, double factor)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct entry *e = &h->e[i];
		uint64_t error = (uint64_t)ceil((double)e->error * factor);

		e->count = (uint64_t)((double)e->count * factor);
		e->error = error < e->count ? error : e->count;
		e->weight *= factor;
	}
	h->total = (uint64_t)ceil((double)h->total * factor);
	h->rest = (uint64_t)ceil((double)h->rest * factor);
	h->tau *= h->method == HOT_COUNTING ? factor : 1;
	h->weight *= factor;
}

double hot_weight(const struct hot *h)
{
	return h->weighted ? h->weight : (double)h->total;
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
	return h->method == HOT_COUNTING && h->tau > 1 ? 1 - DOUBT : 1;
}

enum hot_method hot_method(const struct hot *h)
{
	return h->method;
}

/* The standard normal distribution's upper quantile (Abramowitz and Stegun 26.2.23, to 0.0005). */
static double normal_quantile(double doubt)
{
	double t = sqrt(-2 * log(doubt));

	return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/*
 * Returns the number of missed occurrences of a value that is exceeded with probability `doubt`.
 * Each run of failures is an exponential variable rounded down; their sum is at most a gamma
 * variable (Wilson and Hilferty, to 0.5 %).
 */
static double missed_bound(const struct hot *h, double doubt)
{
	double m = h->streams, root;

	if (h->tau <= 1)
		return 0;
	root = 1 - 1 / (9 * m) + normal_quantile(doubt) / (3 * sqrt(m));
	return floor((h->streams == 1 ? -log(doubt) : m * root * root * root) /
		     -log1p(-1 / h->tau));
}

/* Returns the number of occurrences that are not known to belong to a value in the list. */
static double unclaimed(const struct hot *h)
{
	double left = (double)h->total;

	for (unsigned i = 0; i < h->n; i++)
		left -= certain(h, &h->e[i]);
	return left > 0 ? left : 0;
}

static struct hot_value report(const struct hot *h, const struct entry *e, double spare)
{
	double count = (double)e->count, low = certain(h, e);
	struct hot_value v = { .value = e->value, .count = low, .low = low, .high = count };

	if (h->method == HOT_COUNTING) {
		v.high = count + missed_bound(h, DOUBT);
		v.count = count + (double)e->error + h->tau - 1;
	}
	v.high = fmin(v.high, low + spare);
	v.count = fmin(v.count, v.high);
	v.weight = v.count;
	v.weight_low = v.low;
	v.weight_high = v.high;
	if (h->weighted && low > 0) {
		double certainly = e->weight;

		v.weight = fmin(certainly * v.count / low, h->weight);
		v.weight_low = certainly;
		v.weight_high = fmin(certainly + (v.high - low) * HOT_WEIGHT_MAX, h->weight);
	} else if (h->weighted) {
		v.weight = v.weight_low = 0;
		v.weight_high = fmin(v.high * HOT_WEIGHT_MAX, h->weight);
	}
	return v;
}

unsigned hot_top(const struct hot *h, struct hot_value *out, unsigned n)
{
	double spare = unclaimed(h);
	unsigned k = 0;

	for (unsigned i = 0; i < h->n; i++) {
		struct hot_value v = report(h, &h->e[i], spare);
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
	double spare = unclaimed(h), bound = missed_bound(h, DOUBT);

	if (h->method == HOT_SPACE_SAVING)
		return fmin((double)h->rest, spare);
	if (bound < 1)
		return 0;
	/* This bound holds for all values at once: at most spare / bound values can be so
	 * frequent. */
	for (int i = 0; i < 3; i++)
		bound = missed_bound(h, DOUBT / fmax(1, spare / bound));
	return fmin(bound, spare);
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
	return 1 + 5 * 10 + (size_t)h->n * 30;
}

#define FORM_MERGED HOT_METHOD_N /* The other forms are the numbers of the methods. */

static uint64_t encoded_tau(const struct hot *h)
{
	double tau = h->tau * TAU_SCALE;

	return tau < EXTRA_LIMIT ? (uint64_t)tau : (uint64_t)EXTRA_LIMIT - (1u << 10);
}

size_t hot_encode(const struct hot *h, uint8_t *p)
{
	bool merged = h->method == HOT_COUNTING && h->streams > 1;
	uint8_t *start = p;

	*p++ = merged ? FORM_MERGED : h->method;
	p = put(p, h->capacity);
	p = put(p, h->total);
	p = put(p, h->n);
	p = put(p, h->method == HOT_COUNTING ? encoded_tau(h) : h->rest);
	if (merged)
		p = put(p, h->streams);
	for (unsigned i = 0; i < h->n; i++) {
		p = put(p, h->e[i].value);
		p = put(p, h->e[i].count);
		if (h->method == HOT_SPACE_SAVING || merged)
			p = put(p, h->e[i].error);
	}
	return (size_t)(p - start);
}

/* Whether an entry could come from a list that was filled and merged. */
static bool plausible(const struct hot *h, const struct entry *e, double *spare)
{
	if (!e->count || e->count > UINT64_MAX / 4 || e->error > UINT64_MAX / 4)
		return false;
	if (h->method == HOT_SPACE_SAVING && (e->error > e->count || e->count < h->rest))
		return false;
	*spare -= certain(h, e);
	return *spare >= 0;
}

static bool decode_entries(struct hot *h, uint64_t n, const uint8_t **p, const uint8_t *end)
{
	double spare = (double)h->total;

	for (uint64_t i = 0; i < n; i++) {
		struct entry e = { 0 };

		if (!get(p, end, &e.value) || !get(p, end, &e.count) ||
		    ((h->method == HOT_SPACE_SAVING || h->streams > 1) && !get(p, end, &e.error)))
			return false;
		if (!plausible(h, &e, &spare) || find(h, e.value) ||
		    hot_append(h, e.value, e.count, e.error))
			return false;
	}
	return true;
}

/* Decodes the part before the entries; their number goes to *n. */
static struct hot *decode_head(const uint8_t **p, const uint8_t *end, uint64_t *n)
{
	uint64_t capacity, total, extra, streams = 1;
	struct hot *h;
	uint8_t form;

	if (*p == end)
		return NULL;
	form = *(*p)++;
	if (form > FORM_MERGED || !get(p, end, &capacity) || !get(p, end, &total) ||
	    !get(p, end, n) || !get(p, end, &extra) ||
	    (form == FORM_MERGED && !get(p, end, &streams)))
		return NULL;
	if (capacity < 1 || capacity > HOT_CAPACITY_MAX || *n > capacity ||
	    total > UINT64_MAX / 4 || (double)extra >= EXTRA_LIMIT || streams < 1 ||
	    streams > STREAMS_MAX)
		return NULL;
	h = hot_new(form == FORM_MERGED ? HOT_COUNTING : form, (unsigned)capacity);
	if (!h)
		return NULL;
	h->total = total;
	h->streams = (uint32_t)streams;
	if (h->method == HOT_COUNTING)
		h->tau = extra < TAU_SCALE ? 1 : (double)extra / TAU_SCALE;
	else
		h->rest = extra > total ? total : extra;
	return h;
}

struct hot *hot_decode(const uint8_t *p, size_t n, size_t *used, struct err *err)
{
	const uint8_t *start = p, *end = p + n;
	uint64_t entries;
	struct hot *h = decode_head(&p, end, &entries);

	if (!h || !decode_entries(h, entries, &p, end)) {
		hot_free(h);
		err_set(err, ERR_FAILED, "malformed hot list");
		return NULL;
	}
	h->last = 0;
	*used = (size_t)(p - start);
	return h;
}

/* Encoded weights. */

#define WEIGHT_SCALE 1024.0

static uint8_t *put_weight(uint8_t *p, double weight)
{
	return put(p, weight < EXTRA_LIMIT / WEIGHT_SCALE ? (uint64_t)(weight * WEIGHT_SCALE + 0.5)
							  : (uint64_t)EXTRA_LIMIT);
}

size_t hot_weights_encode(const struct hot *h, uint8_t *p)
{
	uint8_t *start = p;

	if (!h->weighted)
		return 0;
	p = put_weight(p, h->weight);
	for (unsigned i = 0; i < h->n; i++)
		p = put_weight(p, h->e[i].weight);
	return (size_t)(p - start);
}

/* Reads a weight, and rejects one that exceeds what that many occurrences can weigh. */
static bool get_weight(const uint8_t **p, const uint8_t *end, double occurrences, double *weight)
{
	uint64_t v;

	if (!get(p, end, &v))
		return false;
	*weight = (double)v / WEIGHT_SCALE;
	return *weight <= HOT_WEIGHT_MAX * occurrences + 1;
}

size_t hot_weights_decode(struct hot *h, const uint8_t *p, size_t n)
{
	const uint8_t *start = p, *end = p + n;

	if (!get_weight(&p, end, (double)h->total, &h->weight))
		return 0;
	for (unsigned i = 0; i < h->n; i++)
		if (!get_weight(&p, end, certain(h, &h->e[i]), &h->e[i].weight))
			return 0;
	h->weighted = true;
	return (size_t)(p - start);
}
