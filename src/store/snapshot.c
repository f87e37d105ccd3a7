/* SPDX-License-Identifier: MIT */
#include "store/snapshot.h"

#include <math.h>
#include <string.h>

#define FIELDS 10
#define TARGET (1u << OPERAND_N)

uint64_t snapshot_taken(const struct site *s)
{
	return (int64_t)s->taken < 0 ? 0 : s->taken > s->observed ? s->observed : s->taken;
}

bool snapshot_put(struct buffer *b, const struct site *s, uint64_t *last)
{
	unsigned have = 0;
	uint64_t time;

	if (!buffer_room(b, (FIELDS + 1) * VARINT_MAX))
		return false;
	for (int i = 0; i < OPERAND_N; i++)
		have |= (s->operand[i] ? 1u : 0) << i;
	memcpy(&time, &s->time, sizeof(time));
	varint_put(b, s->id.image);
	varint_put(b, zigzag((int64_t)(s->id.addr - *last)));
	varint_put(b, s->cls);
	varint_put(b, s->len);
	varint_put(b, s->samples);
	varint_put(b, time);
	varint_put(b, s->observed);
	varint_put(b, snapshot_taken(s));
	varint_put(b, s->windows);
	varint_put(b, have | (s->target ? TARGET : 0));
	if (s->target)
		varint_put(b, s->target);
	*last = s->id.addr;
	for (int i = 0; i < OPERAND_N; i++) {
		if (!s->operand[i])
			continue;
		if (!buffer_room(b, hot_encoded_max(s->operand[i])))
			return false;
		b->n += hot_encode(s->operand[i], b->p + b->n);
	}
	return true;
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

		if (s->operand[i])
			return malformed(err);
		to = site_operand(s, i);
		if (!to)
			return err_set(err, ERR_FAILED, "no memory");
		*to = hot_decode(c->p, (size_t)(c->end - c->p), &used, err);
		if (!*to)
			return -1;
		c->p += used;
	}
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
	double time;

	for (int i = 0; i < FIELDS; i++)
		if (!varint_get(c, &v[i]))
			return malformed(err);
	memcpy(&time, &v[TIME], sizeof(time));
	if (v[IMAGE] >= nmap || v[CLASS] > 255 || v[LENGTH] > 15 || v[SAMPLES] > COUNT_MAX ||
	    v[OBSERVED] > COUNT_MAX || v[TAKEN] > v[OBSERVED] || v[WINDOWS] > v[OBSERVED] ||
	    v[HAVE] >= 2 * TARGET || !isfinite(time) || time < 0)
		return malformed(err);
	*last += (uint64_t)unzigzag(v[ADDRESS]);
	s = profile_site(to, (struct site_id){ .image = map[v[IMAGE]], .addr = *last });
	if (!s)
		return err_set(err, ERR_FAILED, "no memory");
	s->cls = (uint8_t)v[CLASS];
	s->len = (uint8_t)v[LENGTH];
	s->samples += v[SAMPLES];
	s->time += time;
	profile_site_observed(s, v[OBSERVED], v[TAKEN], v[WINDOWS]);
	if (v[HAVE] & TARGET && !varint_get(c, &s->target))
		return malformed(err);
	return read_lists(c, s, (unsigned)v[HAVE] & (TARGET - 1), err);
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
			return err_set(err, ERR_FAILED, "no memory");
	}
	return 0;
}
