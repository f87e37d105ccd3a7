/* SPDX-License-Identifier: MIT */
/*
 * Hot lists as bytes. Form (1 byte), then varints: capacity, total, entries, and
 *   0 Space-Saving      rest (the most a value outside can have occurred), then value, count, error each
 *   1 counting samples  tau in 1/65536, then value, count each
 *   2 merged ones       tau in 1/65536, streams, then value, count, missed each
 *
 * Weights: what all occurrences weigh, then what the certain ones of each entry do, in 1/1024: varints.
 */
#include "sketch/hot_priv.h"

#define TAU_SCALE 65536.0
#define EXTRA_LIMIT 0x1p62 /* limit of encoded tau and rest, so that sums of them do not wrap */

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
	bool merged = h->method == HOT_COUNTING && hot_counting(h)->streams > 1;
	uint8_t *start = p;

	*p++ = merged ? FORM_MERGED : h->method;
	p = put(p, h->capacity);
	p = put(p, h->total);
	p = put(p, h->n);
	p = put(p, h->method == HOT_COUNTING ? encoded_tau(h) : h->rest);
	if (merged)
		p = put(p, hot_counting(h)->streams);
	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = hot_entry(h, i);

		p = put(p, e.value);
		p = put(p, e.count);
		if (h->method == HOT_SPACE_SAVING || merged)
			p = put(p, e.error);
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
	*spare -= hot_certain(h, e);
	return *spare >= 0;
}

static bool has(const struct hot *h, uint64_t value)
{
	for (unsigned i = 0; i < h->n; i++)
		if (hot_entry(h, i).value == value)
			return true;
	return false;
}

static bool decode_entries(struct hot *h, uint64_t n, const uint8_t **p, const uint8_t *end)
{
	bool errors = h->method == HOT_SPACE_SAVING || hot_counting(h)->streams > 1;
	double spare = (double)h->total;

	for (uint64_t i = 0; i < n; i++) {
		struct entry e = { 0 };

		if (!get(p, end, &e.value) || !get(p, end, &e.count) ||
		    (errors && !get(p, end, &e.error)))
			return false;
		if (!plausible(h, &e, &spare) || has(h, e.value) ||
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
	if (h->method == HOT_COUNTING) {
		hot_counting(h)->streams = (uint32_t)streams;
		h->tau = extra < TAU_SCALE ? 1 : (double)extra / TAU_SCALE;
	} else {
		h->rest = extra > total ? total : extra;
	}
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
		p = put_weight(p, hot_entry(h, i).weight);
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
	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = hot_entry(h, i);

		if (!get_weight(&p, end, hot_certain(h, &e), &e.weight))
			return 0;
		hot_weigh(h, i, e.weight);
	}
	h->weighted = true;
	return (size_t)(p - start);
}
