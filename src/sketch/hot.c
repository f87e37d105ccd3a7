/* SPDX-License-Identifier: MIT */
/*
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
		h->brief = h->first;
		h->room = BRIEF_FIRST;
	}
	return h;
}

void hot_free(struct hot *h)
{
	if (h && h->brief != h->first)
		free(h->brief);
	free(h);
}

struct entry hot_entry(const struct hot *h, unsigned i)
{
	const struct brief *b;

	invariant(i < h->n);
	if (h->wide)
		return h->e[i];
	b = &h->brief[i];
	return (struct entry){ b->value, b->count, b->error, (double)b->weight };
}

bool hot_widen(struct hot *h)
{
	struct entry *e;

	if (h->wide)
		return true;
	e = malloc((h->n + 1u) * sizeof(*e));
	if (!e)
		return false;
	for (unsigned i = 0; i < h->n; i++)
		e[i] = hot_entry(h, i);
	if (h->brief != h->first)
		free(h->brief);
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

static bool grow_brief(struct hot *h)
{
	unsigned room = h->room + h->room / 2 + 2u;
	struct brief *b;

	invariant(!h->wide && h->n == h->room && h->room < h->capacity);
	if (room > h->capacity)
		room = h->capacity;
	b = realloc(h->brief == h->first ? NULL : h->brief, room * sizeof(*b));
	if (!b)
		return false;
	if (h->brief == h->first)
		memcpy(b, h->first, sizeof(h->first));
	h->brief = b;
	h->room = (uint16_t)room;
	return true;
}

/* Whether the entry is as all are, and its value is not that of the entry that was hit last. */
static inline __attribute__((unused)) bool is_sound(const struct hot *h, unsigned i)
{
	struct entry e = hot_entry(h, i);

	/* in a list that counts samples the error says what was missed, which may be more than the count */
	return (h->method == HOT_COUNTING || (e.error <= e.count && e.count >= h->rest)) &&
	       (i == h->last || h->last >= h->n || e.value != hot_entry(h, h->last).value);
}

/* Checks what holds of a list between two calls; of a long list, only its first entries. */
void hot_check(const struct hot *h)
{
	invariant(h->n <= h->capacity && h->n <= h->room);
	invariant(h->method != HOT_COUNTING || (h->tau >= 1 && h->wide));
	for (unsigned i = 0; i < h->n && i < 64; i++)
		invariant(is_sound(h, i));
}

/* The entry of the value in a wide list, or NULL. */
static struct entry *find(struct hot *h, uint64_t value)
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
	invariant(!h->wide);
	if (h->last < h->n && h->brief[h->last].value == value)
		return &h->brief[h->last];
	for (unsigned i = 0; i < h->n; i++)
		if (h->brief[i].value == value) {
			h->last = (uint16_t)i;
			return &h->brief[i];
		}
	return NULL;
}

static struct brief *least_brief(struct hot *h)
{
	struct brief *m = &h->brief[0];

	invariant(h->n && !h->wide);
	for (unsigned i = 1; i < h->n; i++)
		if (h->brief[i].count < m->count)
			m = &h->brief[i];
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
		h->brief[h->n] =
			(struct brief){ value, (float)e.weight, (uint16_t)count, (uint16_t)error };
	} else {
		room = h->room + h->room / 2 + 2u;
		if (!hot_widen(h) || (h->n == h->room && !hot_grow(h, room < most ? room : most)))
			return -1;
		h->e[h->n] = e;
	}
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

	invariant(h->method == HOT_COUNTING && h->tau >= 1);
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
		if (n + h->rest > BRIEF_MAX)
			return false;
		*rc = hot_append(h, value, n + h->rest, h->rest);
		if (!*rc)
			h->brief[h->n - 1].weight = (float)weight;
	} else {
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
	struct entry *e = find(h, value);

	if (e)
		*e = (struct entry){ value, e->count + n, e->error, e->weight + (double)n };
	else if (h->method == HOT_COUNTING)
		return enter_counting(h, value, n);
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
		e = !rc && weight != (double)n ? find(h, value) : NULL;
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

/* Gives everything added so far a weight of 1 each. */
static void weigh_evenly(struct hot *h)
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
		weigh_evenly(h);
	h->weighted = true;
	return add(h, value, 1, weight);
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
	if (n)
		memcpy(all, dst->e, n * sizeof(*all));
	/* A value that one list lacks may have occurred there as often as that list's bound for
	 * values outside. */
	for (unsigned i = 0; i < n; i++) {
		all[i].count += src->rest;
		all[i].error += src->rest;
	}
	for (unsigned i = 0; i < src->n; i++) {
		struct entry s = hot_entry(src, i);
		struct entry *d = find(dst, s.value);

		if (d) {
			struct entry *a = &all[d - dst->e];

			a->count += s.count - src->rest;
			a->error += s.error - src->rest;
			a->weight += s.weight;
		} else {
			all[n + k++] = (struct entry){ s.value, s.count + dst->rest,
						       s.error + dst->rest, s.weight };
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
	/* no value outside the sum can have occurred more often than its least entry */
	invariant(!n || all[n - 1].count >= rest);
	if (!hot_grow(dst, n)) {
		free(all);
		return -1;
	}
	if (n)
		memcpy(dst->e, all, n * sizeof(*all));
	dst->n = (uint16_t)n;
	dst->rest = rest;
	free(all);
	return 0;
}

/* A wide copy with room for `more` entries. */
static struct hot *copy(const struct hot *h, unsigned more)
{
	struct hot *c = hot_new(h->method, HOT_CAPACITY_MAX);

	if (!c || !hot_widen(c) || !hot_grow(c, h->n + more + 1u)) {
		hot_free(c);
		return NULL;
	}
	for (unsigned i = 0; i < h->n; i++)
		c->e[i] = hot_entry(h, i);
	c->n = h->n;
	c->weighted = h->weighted;
	c->weight = h->weight;
	if (h->method == HOT_COUNTING) {
		c->tau = h->tau;
		hot_counting(c)->streams = hot_counting(h)->streams;
	}
	return c;
}

/* Feeds an exact list to h, which has room for all of it. */
static void feed(struct hot *h, const struct hot *exact)
{
	invariant(hot_exact(exact));
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

	invariant(h->tau == sample->tau);
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
	hot_counting(h)->streams += hot_counting(sample)->streams;
	if (hot_counting(h)->streams > STREAMS_MAX)
		hot_counting(h)->streams = STREAMS_MAX;
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
	invariant(sum->n <= dst->room);
	memcpy(dst->e, sum->e, sum->n * sizeof(*sum->e));
	dst->n = sum->n;
	dst->tau = sum->tau;
	hot_counting(dst)->streams = hot_counting(sum)->streams;
	hot_free(a);
	hot_free(b);
	return 0;
}

static int merge(struct hot *dst, const struct hot *src)
{
	bool weighted = dst->weighted || src->weighted;

	if (dst->method != src->method || !hot_widen(dst))
		return -1;
	if (weighted && !dst->weighted)
		weigh_evenly(dst);
	if (dst->method == HOT_COUNTING ? merge_counting(dst, src) : merge_space_saving(dst, src))
		return -1;
	dst->weighted = weighted;
	dst->weight += src->weight;
	dst->total += src->total;
	hot_check(dst);
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
	if (src->method == HOT_SPACE_SAVING)
		even->rest = src->rest;
	even->total = src->total;
	weigh_evenly(even);
	rc = merge(dst, even);
	hot_free(even);
	return rc;
}

static uint64_t narrow(uint64_t v, unsigned bits)
{
	invariant(bits && bits <= 64);
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
	if (src->method == HOT_SPACE_SAVING)
		c->rest = src->rest;
	c->total = src->total;
	for (unsigned i = 0; i < c->n; i++)
		c->e[i].value = narrow(c->e[i].value + add, bits);
	rc = hot_merge(dst, c);
	hot_free(c);
	return rc;
}

int hot_scale(struct hot *h, double factor)
{
	uint64_t rest;

	invariant(factor > 0);
	if (!hot_widen(h))
		return -1;
	rest = h->method == HOT_COUNTING ? 0 : (uint64_t)ceil((double)h->rest * factor);
	for (unsigned i = 0; i < h->n; i++) {
		struct entry *e = &h->e[i];
		uint64_t error = (uint64_t)ceil((double)e->error * factor);

		e->count = (uint64_t)((double)e->count * factor);
		e->error = error < e->count ? error : e->count;
		/* the bound of the values outside was rounded up, and no entry is below it */
		if (e->count < rest) {
			e->error += rest - e->count;
			e->count = rest;
		}
		e->weight *= factor;
	}
	h->total = (uint64_t)ceil((double)h->total * factor);
	if (h->method == HOT_COUNTING)
		h->tau *= factor;
	else
		h->rest = rest;
	h->weight *= factor;
	hot_check(h);
	return 0;
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
	return h->method == HOT_COUNTING ? h->tau : 1;
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
	double m = hot_counting(h)->streams, root;

	if (h->tau <= 1)
		return 0;
	root = 1 - 1 / (9 * m) + normal_quantile(doubt) / (3 * sqrt(m));
	return floor((m == 1 ? -log(doubt) : m * root * root * root) / -log1p(-1 / h->tau));
}

/* Returns the number of occurrences that are not known to belong to a value in the list. */
static double unclaimed(const struct hot *h)
{
	double left = (double)h->total;

	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = hot_entry(h, i);

		left -= hot_certain(h, &e);
	}
	return left > 0 ? left : 0;
}

static struct hot_value report(const struct hot *h, const struct entry *e, double spare)
{
	double count = (double)e->count, low = hot_certain(h, e);
	struct hot_value v = { .value = e->value, .count = low, .low = low, .high = count };

	if (h->method == HOT_COUNTING) {
		v.high = count + missed_bound(h, DOUBT);
		v.count = count + (double)e->error + h->tau - 1;
	}
	v.high = fmin(v.high, low + spare);
	v.count = fmin(v.count, v.high);
	invariant(v.low <= v.count);
	v.weight = v.count;
	v.weight_low = v.low;
	v.weight_high = v.high;
	if (h->weighted && low > 0) {
		double certainly = e->weight;

		v.weight = fmin(certainly * v.count / low, h->weight);
		v.weight_low = fmin(certainly, h->weight);
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
		struct entry e = hot_entry(h, i);
		struct hot_value v = report(h, &e, spare);
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
	double spare = unclaimed(h), bound;

	if (h->method == HOT_SPACE_SAVING)
		return fmin((double)h->rest, spare);
	bound = missed_bound(h, DOUBT);
	if (bound < 1)
		return 0;
	/* This bound holds for all values at once: at most spare / bound values can be so
	 * frequent. */
	for (int i = 0; i < 3; i++)
		bound = missed_bound(h, DOUBT / fmax(1, spare / bound));
	return fmin(bound, spare);
}
