/* SPDX-License-Identifier: MIT */
/*
 * Hot lists as bytes. Form (1 byte), then varints: capacity, total, entries, and
 *   0 Space-Saving      rest (the most a value outside can have occurred), then value, count, error each
 *   1 counting samples  tau in 1/65536, then value, count each
 *   2 merged ones       tau in 1/65536, streams, then value, count, missed each
 *
 * Weights: what all occurrences weigh, then what the certain ones of each entry do, in 1/1024: varints.
 */
#include "base/invariant.h"
#include "base/varint.h"
#include "sketch/hot_priv.h"

#define TAU_SCALE 65536.0
#define EXTRA_LIMIT 0x1p62 /* limit of encoded tau and rest, so that sums of them do not wrap */

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
	struct buffer b = { .p = p };

	b.p[b.n++] = merged ? FORM_MERGED : h->method;
	varint_put(&b, h->capacity);
	varint_put(&b, h->total);
	varint_put(&b, h->n);
	varint_put(&b, h->method == HOT_COUNTING ? encoded_tau(h) : h->rest);
	if (merged)
		varint_put(&b, hot_counting(h)->streams);
	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = hot_entry(h, i);

		varint_put(&b, e.value);
		varint_put(&b, e.count);
		if (h->method == HOT_SPACE_SAVING || merged)
			varint_put(&b, e.error);
	}
	invariant(b.n <= hot_encoded_max(h));
	return b.n;
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

static bool decode_entries(struct hot *h, uint64_t n, struct cursor *c)
{
	bool errors = h->method == HOT_SPACE_SAVING || hot_counting(h)->streams > 1;
	double spare = (double)h->total;

	for (uint64_t i = 0; i < n; i++) {
		struct entry e = { 0 };

		if (!varint_get(c, &e.value) || !varint_get(c, &e.count) ||
		    (errors && !varint_get(c, &e.error)))
			return false;
		if (!plausible(h, &e, &spare) || has(h, e.value) ||
		    hot_append(h, e.value, e.count, e.error))
			return false;
	}
	return true;
}

/* Decodes the part before the entries; their number goes to *n. */
static struct hot *decode_head(struct cursor *c, uint64_t *n)
{
	uint64_t capacity, total, extra, streams = 1;
	struct hot *h;
	uint8_t form;

	if (c->p == c->end)
		return NULL;
	form = *c->p++;
	if (form > FORM_MERGED || !varint_get(c, &capacity) || !varint_get(c, &total) ||
	    !varint_get(c, n) || !varint_get(c, &extra) ||
	    (form == FORM_MERGED && !varint_get(c, &streams)))
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
	struct cursor c = { p, p + n };
	uint64_t entries;
	struct hot *h = decode_head(&c, &entries);

	if (!h || !decode_entries(h, entries, &c)) {
		hot_free(h);
		err_set(err, ERR_FAILED, "malformed hot list");
		return NULL;
	}
	h->last = 0;
	hot_check(h);
	*used = (size_t)(c.p - p);
	return h;
}

/* Encoded weights. */

#define WEIGHT_SCALE 1024.0

static void put_weight(struct buffer *b, double weight)
{
	varint_put(b, weight < EXTRA_LIMIT / WEIGHT_SCALE ? (uint64_t)(weight * WEIGHT_SCALE + 0.5)
							  : (uint64_t)EXTRA_LIMIT);
}

size_t hot_weights_encode(const struct hot *h, uint8_t *p)
{
	struct buffer b = { .p = p };

	if (!h->weighted)
		return 0;
	put_weight(&b, h->weight);
	for (unsigned i = 0; i < h->n; i++)
		put_weight(&b, hot_entry(h, i).weight);
	invariant(b.n <= hot_encoded_max(h));
	return b.n;
}

/* Reads a weight, and rejects one that exceeds what that many occurrences can weigh. */
static bool get_weight(struct cursor *c, double occurrences, double *weight)
{
	uint64_t v;

	if (!varint_get(c, &v))
		return false;
	*weight = (double)v / WEIGHT_SCALE;
	return *weight <= HOT_WEIGHT_MAX * occurrences + 1;
}

size_t hot_weights_decode(struct hot *h, const uint8_t *p, size_t n)
{
	struct cursor c = { p, p + n };

	if (!get_weight(&c, (double)h->total, &h->weight))
		return 0;
	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = hot_entry(h, i);

		if (!get_weight(&c, hot_certain(h, &e), &e.weight))
			return 0;
		hot_weigh(h, i, e.weight);
	}
	h->weighted = true;
	return (size_t)(c.p - p);
}
