/* SPDX-License-Identifier: MIT */
/*
 * Hot lists as columns (base/columns.h): one list after the other, and of each
 *
 *   HOT_FORM     its form, 4 more if it is weighted; its capacity
 *   HOT_TOTAL    total
 *   HOT_ENTRIES  the number of its entries
 *   HOT_REST     Space-Saving: rest, the most a value outside can have occurred; else tau in 1/65536, and of a list of
 *                form 2 its streams
 *   HOT_VALUES   of each entry, in the order of values: its value, less that of the entry before
 *   HOT_CERTAIN  of each: how often it certainly occurred
 *   HOT_ERRORS   of each, form 0: rest less what its count may have too many, zigzag; form 2: what it missed
 *   HOT_WEIGHTS  of a weighted list, in 1/1024: what all occurrences weigh, then what the certain ones of each entry do
 *
 * Forms: 0 Space-Saving, 1 counting samples, 2 merged ones.
 */
#include <stdlib.h>

#include "base/columns.h"
#include "base/invariant.h"
#include "sketch/hot_priv.h"

#define TAU_SCALE 65536.0
#define EXTRA_LIMIT 0x1p62 /* limit of encoded tau and rest, so that sums of them do not wrap */
#define WEIGHT_SCALE 1024.0
#define FORM_MERGED HOT_METHOD_N /* The other forms are the numbers of the methods. */
#define WEIGHTED 4
#define NOISE 4 /* see is_noise() */
#define FEW 64	/* entries that are sorted without memory from the heap */

static uint64_t encoded_tau(const struct hot *h)
{
	double tau = h->tau * TAU_SCALE;

	return tau < EXTRA_LIMIT ? (uint64_t)tau : (uint64_t)EXTRA_LIMIT - (1u << 10);
}

static uint64_t encoded_weight(double weight)
{
	return weight < EXTRA_LIMIT / WEIGHT_SCALE ? (uint64_t)(weight * WEIGHT_SCALE + 0.5)
						   : (uint64_t)EXTRA_LIMIT;
}

static bool is_merged(const struct hot *h)
{
	return h->method == HOT_COUNTING && hot_counting(h)->streams > 1;
}

static int by_value(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* What is written of a list. */
struct written {
	struct entry *e;
	unsigned n;
	uint64_t rest; /* Space-Saving */
};

static uint64_t certain(const struct entry *e)
{
	return e->count - e->error;
}

/* The number of the entry that most certainly is the hottest. */
static unsigned hottest(const struct written *w)
{
	unsigned most = 0;

	for (unsigned i = 1; i < w->n; i++)
		if (certain(&w->e[i]) > certain(&w->e[most]))
			most = i;
	return most;
}

/* Whether values outside the list may have occurred so much more often that nothing tells the entry from them. */
static bool is_noise(const struct written *w, const struct entry *e)
{
	return certain(e) <= w->rest / NOISE;
}

/* Makes `rest` a bound of what the entries that are left out may have occurred, too. */
static void raise_rest(struct written *w, uint64_t rest)
{
	for (unsigned i = 0; i < w->n; i++) {
		uint64_t lacks = w->e[i].count < rest ? rest - w->e[i].count : 0;

		w->e[i].count += lacks;
		w->e[i].error += lacks;
	}
	w->rest = rest;
}

/*
 * Leaves out noise: of a list of 32 values, those that certainly were less than 0.8 % of all occurrences. The bounds of the
 * others may become wider. One entry is left in any case.
 */
static void leave_out(struct written *w)
{
	unsigned keep = hottest(w), n = 0;
	uint64_t rest = w->rest;

	for (unsigned i = 0; i < w->n; i++) {
		if (i == keep || !is_noise(w, &w->e[i]))
			w->e[n++] = w->e[i];
		else if (w->e[i].count > rest)
			rest = w->e[i].count;
	}
	w->n = n;
	raise_rest(w, rest);
}

static bool put_head(const struct hot *h, const struct written *w, struct buffer *column)
{
	bool merged = is_merged(h);
	unsigned form = merged ? FORM_MERGED : h->method;

	return column_put(&column[HOT_FORM], form | (h->weighted ? WEIGHTED : 0)) &&
	       column_put(&column[HOT_FORM], h->capacity) &&
	       column_put(&column[HOT_TOTAL], h->total) && column_put(&column[HOT_ENTRIES], w->n) &&
	       column_put(&column[HOT_REST],
			  h->method == HOT_COUNTING ? encoded_tau(h) : w->rest) &&
	       (!merged || column_put(&column[HOT_REST], hot_counting(h)->streams)) &&
	       (!h->weighted || column_put(&column[HOT_WEIGHTS], encoded_weight(h->weight)));
}

static bool put_entry(const struct hot *h, const struct entry *e, uint64_t rest, uint64_t last,
		      struct buffer *column)
{
	bool ok =
		column_put(&column[HOT_VALUES], e->value - last) &&
		column_put(&column[HOT_CERTAIN], h->method == HOT_COUNTING ? e->count : certain(e));

	if (ok && h->method == HOT_SPACE_SAVING)
		ok = column_put(&column[HOT_ERRORS], zigzag((int64_t)(rest - e->error)));
	else if (ok && is_merged(h))
		ok = column_put(&column[HOT_ERRORS], e->error);
	return ok && (!h->weighted || column_put(&column[HOT_WEIGHTS], encoded_weight(e->weight)));
}

bool hot_encode(const struct hot *h, enum hot_extent extent, struct buffer *column)
{
	struct entry few[FEW], *e = h->n <= FEW ? few : calloc(h->n, sizeof(*e));
	struct written w = { e, h->n, h->method == HOT_SPACE_SAVING ? hot_rest(h) : 0 };
	bool ok;

	if (!e)
		return false;
	for (unsigned i = 0; i < h->n; i++)
		e[i] = hot_entry(h, i);
	if (h->n)
		qsort(e, h->n, sizeof(*e), by_value);
	if (extent == HOT_HOT && w.n && w.rest)
		leave_out(&w);
	ok = put_head(h, &w, column);
	for (unsigned i = 0; i < w.n && ok; i++)
		ok = put_entry(h, &e[i], w.rest, i ? e[i - 1].value : 0, column);
	if (e != few)
		free(e);
	return ok;
}

/* Reads a weight, and rejects one that exceeds what that many occurrences can weigh. */
static bool get_weight(struct cursor *column, double occurrences, double *weight)
{
	uint64_t v;

	if (!varint_get(&column[HOT_WEIGHTS], &v))
		return false;
	*weight = (double)v / WEIGHT_SCALE;
	return *weight <= HOT_WEIGHT_MAX * occurrences + 1;
}

/* Reads how often an entry occurred. */
static bool get_counts(const struct hot *h, uint64_t rest, struct cursor *column, struct entry *e)
{
	uint64_t error;

	if (!varint_get(&column[HOT_CERTAIN], &e->count) || e->count > UINT64_MAX / 4)
		return false;
	if (h->method == HOT_SPACE_SAVING) {
		if (!varint_get(&column[HOT_ERRORS], &error))
			return false;
		e->error = rest - (uint64_t)unzigzag(error);
		if (e->error > UINT64_MAX / 4)
			return false;
		e->count += e->error;
	} else if (hot_counting(h)->streams > 1 && !varint_get(&column[HOT_ERRORS], &e->error)) {
		return false;
	}
	return true;
}

/* Whether an entry could come from a list that was filled and merged. */
static bool plausible(const struct hot *h, const struct entry *e, double *spare)
{
	if (!e->count || e->count > UINT64_MAX / 4 || e->error > UINT64_MAX / 4)
		return false;
	if (h->method == HOT_SPACE_SAVING && e->count < hot_rest(h))
		return false;
	*spare -= hot_certain(h, e);
	return *spare >= 0;
}

static bool get_entries(struct hot *h, uint64_t n, uint64_t rest, struct cursor *column)
{
	double spare = (double)h->total;
	uint64_t last = 0, more;

	for (uint64_t i = 0; i < n; i++) {
		struct entry e = { 0 };

		if (!varint_get(&column[HOT_VALUES], &more) || (i && !more) ||
		    more > UINT64_MAX - last || !get_counts(h, rest, column, &e))
			return false;
		last += more;
		e.value = last;
		if (!plausible(h, &e, &spare) || hot_append(h, e.value, e.count, e.error))
			return false;
		if (!h->weighted)
			continue;
		if (!get_weight(column, hot_certain(h, &e), &e.weight))
			return false;
		hot_weigh(h, h->n - 1u, e.weight);
	}
	return true;
}

/* Reads what is before the entries; their number goes to *n, and the rest as it is stored to *rest. */
static struct hot *get_head(struct cursor *column, uint64_t *n, uint64_t *rest)
{
	uint64_t form, capacity, total, streams = 1;
	bool weighted;
	struct hot *h;

	if (!varint_get(&column[HOT_FORM], &form) || !varint_get(&column[HOT_FORM], &capacity) ||
	    !varint_get(&column[HOT_TOTAL], &total) || !varint_get(&column[HOT_ENTRIES], n) ||
	    !varint_get(&column[HOT_REST], rest))
		return NULL;
	weighted = form & WEIGHTED;
	form &= ~(uint64_t)WEIGHTED;
	if (form > FORM_MERGED ||
	    (form == FORM_MERGED && !varint_get(&column[HOT_REST], &streams)) || capacity < 1 ||
	    capacity > HOT_CAPACITY_MAX || *n > capacity || total > UINT64_MAX / 4 ||
	    (double)*rest >= EXTRA_LIMIT || streams < 1 || streams > STREAMS_MAX)
		return NULL;
	h = hot_new(form == FORM_MERGED ? HOT_COUNTING : (enum hot_method)form, (unsigned)capacity);
	if (!h)
		return NULL;
	h->total = total;
	h->weighted = weighted;
	if (h->method == HOT_COUNTING) {
		hot_counting(h)->streams = (uint32_t)streams;
		h->tau = *rest < TAU_SCALE ? 1 : (double)*rest / TAU_SCALE;
	} else if (*rest && total) {
		if (!hot_room_for_rest(h)) {
			hot_free(h);
			return NULL;
		}
		h->rest = *rest > total ? total : *rest;
	}
	return h;
}

struct hot *hot_decode(struct cursor *column, struct err *err)
{
	uint64_t n, rest;
	struct hot *h = get_head(column, &n, &rest);

	if (!h || (h->weighted && !get_weight(column, (double)h->total, &h->weight)) ||
	    !get_entries(h, n, rest, column)) {
		hot_free(h);
		err_set(err, ERR_FAILED, "malformed hot list");
		return NULL;
	}
	h->last = 0;
	hot_check(h);
	return h;
}
