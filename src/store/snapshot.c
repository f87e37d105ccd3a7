/* SPDX-License-Identifier: MIT */
#include "store/snapshot.h"

#include <math.h>
#include <string.h>

#include "observe/locality.h"

#define FIELDS 10
#define TARGET (1u << OPERAND_N)
#define WEIGHTS (2u << OPERAND_N)
#define LOCALITY (4u << OPERAND_N)
#define SHARING (8u << OPERAND_N)

/*
 * Branches taken of a site, limited to 0 and its executions: in a snapshot of running counters one may be read before the
 * other.
 */
static uint64_t taken_of(const struct site *s)
{
	return (int64_t)s->taken < 0 ? 0 : s->taken > s->observed ? s->observed : s->taken;
}

static bool put_lists(struct buffer *b, const struct site *s)
{
	for (int i = 0; i < OPERAND_N; i++) {
		if (!site_hot(s, i))
			continue;
		if (!buffer_room(b, hot_encoded_max(site_hot(s, i))))
			return false;
		b->n += hot_encode(site_hot(s, i), b->p + b->n);
	}
	return true;
}

static void put_double(struct buffer *b, double v)
{
	memcpy(b->p + b->n, &v, sizeof(v));
	b->n += sizeof(v);
}

/* The value without the lower half of its bits, a millionth less at most: digits that mean nothing do not compress. */
static double coarse(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	bits &= ~0xffffffffull;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static bool put_weights(struct buffer *b, const struct site *s)
{
	double observed = coarse(s->weights->observed);

	if (!buffer_room(b, 3 * sizeof(double)))
		return false;
	put_double(b, observed);
	put_double(b, coarse(s->weights->taken));
	put_double(b, coarse(fmin(s->weights->square, observed * observed)));
	for (int i = 0; i < OPERAND_N; i++) {
		size_t n;

		if (!site_hot(s, i))
			continue;
		if (!buffer_room(b, 1 + hot_encoded_max(site_hot(s, i))))
			return false;
		n = hot_weights_encode(site_hot(s, i), b->p + b->n + 1);
		b->p[b->n] = n > 0;
		b->n += 1 + n;
	}
	return true;
}

static bool put_locality(struct buffer *b, const struct locality *l)
{
	if (!buffer_room(b, (LOCALITY_N + 2) * VARINT_MAX))
		return false;
#define X(name, what) varint_put(b, l->name);
	LOCALITIES(X)
#undef X
	if (l->met) {
		varint_put(b, l->met);
		varint_put(b, l->contended);
	}
	return true;
}

bool snapshot_put(struct buffer *b, const struct site *s, uint64_t *last)
{
	unsigned have = 0;
	uint64_t time;

	if (!buffer_room(b, (FIELDS + 1) * VARINT_MAX))
		return false;
	for (int i = 0; i < OPERAND_N; i++)
		have |= (site_hot(s, i) ? 1u : 0) << i;
	memcpy(&time, &s->time, sizeof(time));
	varint_put(b, s->id.image);
	varint_put(b, zigzag((int64_t)(s->id.addr - *last)));
	varint_put(b, s->cls);
	varint_put(b, s->len);
	varint_put(b, s->samples);
	varint_put(b, time);
	varint_put(b, s->observed);
	varint_put(b, taken_of(s));
	varint_put(b, s->windows);
	varint_put(b, have | (s->target ? TARGET : 0) | (s->weights ? WEIGHTS : 0) |
			      (s->locality ? LOCALITY : 0) |
			      (s->locality && s->locality->met ? SHARING : 0));
	if (s->target)
		varint_put(b, s->target);
	*last = s->id.addr;
	return put_lists(b, s) && (!s->weights || put_weights(b, s)) &&
	       (!s->locality || put_locality(b, s->locality));
}

static int malformed(struct err *err)
{
	return err_set(err, ERR_FAILED, "malformed snapshot");
}

static int read_lists(struct cursor *c, struct site *s, unsigned have, struct err *err)
{
	for (; have; have &= have - 1) {
		int i = __builtin_ctz(have);
		struct hot **to;
		size_t used;

		if (site_hot(s, i))
			return malformed(err);
		to = site_operand(s, i);
		if (!to)
			return err_no_memory(err, "the recording");
		*to = hot_decode(c->p, (size_t)(c->end - c->p), &used, err);
		if (!*to)
			return -1;
		c->p += used;
	}
	return 0;
}

/* Whether the weights are possible for a site with that many observations. */
static bool is_plausible(const struct site_weights *w, uint64_t observed)
{
	double n = (double)observed;

	return w->observed >= 0 && w->observed <= HOT_WEIGHT_MAX * n + 1 && w->taken >= 0 &&
	       w->taken <= w->observed * (1 + 1e-9) && w->square >= 0 &&
	       w->square <= w->observed * w->observed * (1 + 1e-9);
}

static bool get_double(struct cursor *c, double *v)
{
	if (c->end - c->p < (ptrdiff_t)sizeof(*v))
		return false;
	memcpy(v, c->p, sizeof(*v));
	c->p += sizeof(*v);
	return true;
}

static int read_list_weights(struct cursor *c, struct site *s, unsigned have, struct err *err)
{
	for (; have; have &= have - 1) {
		size_t used;

		if (c->p == c->end || *c->p > 1)
			return malformed(err);
		if (!*c->p++)
			continue;
		used = hot_weights_decode(site_hot(s, __builtin_ctz(have)), c->p,
					  (size_t)(c->end - c->p));
		if (!used)
			return malformed(err);
		c->p += used;
	}
	return 0;
}

static int read_weights(struct cursor *c, struct site *s, unsigned have, struct err *err)
{
	struct site_weights w = { 0 }, *to;

	/* Each site may occur only once. */
	if (s->weights || !get_double(c, &w.observed) || !get_double(c, &w.taken) ||
	    !get_double(c, &w.square) || !is_plausible(&w, s->observed))
		return malformed(err);
	to = site_weigh(s);
	if (!to)
		return err_no_memory(err, "the recording");
	*to = w;
	return read_list_weights(c, s, have, err);
}

static int read_locality(struct cursor *c, struct site *s, bool sharing, struct err *err)
{
	struct locality l = { 0 }, *to;
	bool ok = true;

#define X(name, what) ok = ok && varint_get(c, &l.name) && l.name <= COUNT_MAX;
	LOCALITIES(X)
#undef X
	if (sharing)
		ok = ok && varint_get(c, &l.met) && varint_get(c, &l.contended) &&
		     l.met <= COUNT_MAX && l.contended <= l.met;
	if (!ok || s->locality || l.lines > l.accesses || l.pages > l.lines ||
	    l.code_lines > l.fetches || l.code_pages > l.code_lines || l.mispredicted > l.branches)
		return malformed(err);
	to = locality_of(s);
	if (!to)
		return err_no_memory(err, "the recording");
	*to = l;
	return 0;
}

static int read_site(struct cursor *c, struct profile *to, const uint32_t *map, size_t nmap,
		     uint64_t *last, struct err *err)
{
	enum {
		IMAGE,
		ADDRESS,
		CLASS,
		LENGTH,
		SAMPLES,
		TIME,
		OBSERVED,
		TAKEN,
		WINDOWS,
		HAVE
	};
	uint64_t v[FIELDS];
	struct site *s;
	unsigned have;
	double time;

	for (int i = 0; i < FIELDS; i++)
		if (!varint_get(c, &v[i]))
			return malformed(err);
	memcpy(&time, &v[TIME], sizeof(time));
	if (v[IMAGE] >= nmap || v[CLASS] > 255 || v[LENGTH] > 15 || v[SAMPLES] > COUNT_MAX ||
	    v[OBSERVED] > COUNT_MAX || v[TAKEN] > v[OBSERVED] || v[WINDOWS] > v[OBSERVED] ||
	    v[HAVE] >= 2 * SHARING || !isfinite(time) || time < 0)
		return malformed(err);
	*last += (uint64_t)unzigzag(v[ADDRESS]);
	s = profile_site(to, (struct site_id){ .image = map[v[IMAGE]], .addr = *last });
	if (!s)
		return err_no_memory(err, "the recording");
	s->cls = (uint8_t)v[CLASS];
	s->len = (uint8_t)v[LENGTH];
	s->samples += v[SAMPLES];
	s->time += time;
	profile_site_observed(s, v[OBSERVED], v[TAKEN], v[WINDOWS]);
	if (v[HAVE] & TARGET && !varint_get(c, &s->target))
		return malformed(err);
	have = (unsigned)v[HAVE] & (TARGET - 1);
	if (read_lists(c, s, have, err) || (v[HAVE] & WEIGHTS && read_weights(c, s, have, err)) ||
	    (v[HAVE] & LOCALITY && read_locality(c, s, v[HAVE] & SHARING, err)))
		return -1;
	return 0;
}

int snapshot_read(const uint8_t *p, size_t n, struct profile *to, const uint32_t *map, size_t nmap,
		  struct err *err)
{
	struct cursor c = { p, p + n };
	uint64_t last = 0;

	while (c.p < c.end)
		if (read_site(&c, to, map, nmap, &last, err))
			return -1;
	return 0;
}

/* Edges. */

bool snapshot_put_edge(struct buffer *b, const struct edge *e, uint64_t *last)
{
	if (!buffer_room(b, 6 * VARINT_MAX))
		return false;
	varint_put(b, e->key.from.image);
	varint_put(b, zigzag((int64_t)(e->key.from.addr - *last)));
	varint_put(b, e->key.to.image);
	varint_put(b, zigzag((int64_t)(e->key.to.addr - e->key.from.addr)));
	varint_put(b, e->key.kind);
	varint_put(b, e->count);
	*last = e->key.from.addr;
	return true;
}

int snapshot_read_edges(const uint8_t *p, size_t n, struct profile *to, const uint32_t *map,
			size_t nmap, struct err *err)
{
	struct cursor c = { p, p + n };
	uint64_t last = 0, v[6];

	while (c.p < c.end) {
		struct site_id from = { 0 }, at = { 0 };

		for (int i = 0; i < 6; i++)
			if (!varint_get(&c, &v[i]))
				return malformed(err);
		if (v[0] >= nmap || v[2] >= nmap || v[4] >= EDGE_KIND_N || v[5] > COUNT_MAX)
			return malformed(err);
		last += (uint64_t)unzigzag(v[1]);
		from.image = map[v[0]];
		from.addr = last;
		at.image = map[v[2]];
		at.addr = last + (uint64_t)unzigzag(v[3]);
		if (edges_add(to, (enum edge_kind)v[4], from, at, v[5]))
			return err_no_memory(err, "the recording");
	}
	return 0;
}
