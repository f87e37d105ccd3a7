/* SPDX-License-Identifier: MIT */
#include "store/snapshot.h"

#include <math.h>
#include <string.h>

#include "observe/locality.h"

#define HAS_TARGET (1u << OPERAND_N)
#define HAS_WEIGHTS (2u << OPERAND_N)
#define HAS_LOCALITY (4u << OPERAND_N)
#define HAS_SHARING (8u << OPERAND_N)
#define SITE_WEIGHTS 3

enum {
#define X(id, what) SITE_##id,
	SITE_COLUMNS(X)
#undef X
	SITE_LISTS,
	SITE_WEIGHT = SITE_LISTS + HOT_COLUMNS,
	SITE_LOCALITY = SITE_WEIGHT + SITE_WEIGHTS,
	SITE_MET = SITE_LOCALITY + LOCALITY_N,
	SITE_CONTENDED,
	SITE_COLUMN_N
};
_Static_assert(SITE_COLUMN_N <= COLUMNS_MAX, "columns of sites");

enum {
	EDGE_IMAGE,
	EDGE_ADDRESS,
	EDGE_TO_IMAGE,
	EDGE_TO_ADDRESS,
	EDGE_KIND,
	EDGE_COUNT,
	EDGE_COLUMN_N
};

void snapshot_begin_sites(struct snapshot *s, enum hot_extent extent)
{
	*s = (struct snapshot){ .columns.n = SITE_COLUMN_N, .extent = extent };
}

void snapshot_begin_edges(struct snapshot *s)
{
	*s = (struct snapshot){ .columns.n = EDGE_COLUMN_N };
}

void snapshot_next(struct snapshot *s)
{
	s->last = 0;
	s->times = (struct times){ 0 };
}

/*
 * Branches taken of a site, limited to 0 and its executions: in a snapshot of running counters one may be read before the
 * other.
 */
static uint64_t taken_of(const struct site *s)
{
	return (int64_t)s->taken < 0 ? 0 : s->taken > s->observed ? s->observed : s->taken;
}

/* All addresses tell which memory an instruction uses, and all targets where control went. */
static bool is_place(int operand)
{
	return operand == OPERAND_ADDRESS || operand == OPERAND_TARGET;
}

static bool put_lists(struct buffer *column, const struct site *s, enum hot_extent extent)
{
	for (int i = 0; i < OPERAND_N; i++)
		if (site_hot(s, i) && !hot_encode(site_hot(s, i), is_place(i) ? HOT_ALL : extent,
						  &column[SITE_LISTS]))
			return false;
	return true;
}

/* Appends the upper half of the bits of a value, which is a millionth less at most: digits that mean nothing do not
 * compress. */
static bool put_coarse(struct buffer *b, double v)
{
	uint32_t half = (uint32_t)(times_bits(v) >> 32);

	if (!buffer_room(b, sizeof(half)))
		return false;
	memcpy(b->p + b->n, &half, sizeof(half));
	b->n += sizeof(half);
	return true;
}

/* The value of which put_coarse() keeps all bits. */
static double coarse(double v)
{
	uint64_t bits = times_bits(v) & ~0xffffffffull;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static bool put_weights(struct buffer *column, const struct site_weights *w)
{
	double observed = coarse(w->observed);

	return put_coarse(&column[SITE_WEIGHT], observed) &&
	       put_coarse(&column[SITE_WEIGHT + 1], w->taken) &&
	       put_coarse(&column[SITE_WEIGHT + 2], fmin(w->square, observed * observed));
}

static bool put_locality(struct buffer *column, const struct site *s)
{
	struct locality l = locality_get(s);
	unsigned i = SITE_LOCALITY;
	bool ok = true;

#define X(name, what) ok = ok && column_put(&column[i++], l.name);
	LOCALITIES(X)
#undef X
	return ok && (!l.met || (column_put(&column[SITE_MET], l.met) &&
				 column_put(&column[SITE_CONTENDED], l.contended)));
}

static unsigned parts_of(const struct site *s)
{
	unsigned have = 0;

	for (int i = 0; i < OPERAND_N; i++)
		have |= (site_hot(s, i) ? 1u : 0) << i;
	return have | (s->target ? HAS_TARGET : 0) | (s->weights ? HAS_WEIGHTS : 0) |
	       (s->locality ? HAS_LOCALITY : 0) | (locality_get(s).met ? HAS_SHARING : 0);
}

bool snapshot_put(struct snapshot *to, const struct site *s)
{
	const uint64_t v[SITE_LISTS] = {
		[SITE_IMAGE] = s->id.image,
		[SITE_ADDRESS] = zigzag((int64_t)(s->id.addr - to->last)),
		[SITE_CLASS] = s->cls,
		[SITE_LENGTH] = s->len,
		[SITE_SAMPLES] = s->samples,
		[SITE_TIME] = times_put(&to->times, s->time, s->samples),
		[SITE_OBSERVED] = s->observed,
		[SITE_TAKEN] = taken_of(s),
		[SITE_REPEATED] = s->observed - s->windows,
		[SITE_OPERANDS] = parts_of(s),
		[SITE_TARGET] = zigzag((int64_t)(s->target - s->id.addr)),
	};
	struct buffer *column = to->columns.of;

	for (unsigned i = 0; i < SITE_LISTS; i++)
		if ((i != SITE_TARGET || s->target) && !column_put(&column[i], v[i]))
			return false;
	to->last = s->id.addr;
	return put_lists(column, s, to->extent) &&
	       (!s->weights || put_weights(column, s->weights)) &&
	       (!s->locality || put_locality(column, s));
}

static int malformed(struct err *err)
{
	return err_set(err, ERR_FAILED, "malformed snapshot");
}

static int read_lists(struct cursor *column, struct site *s, unsigned have, struct err *err)
{
	for (; have; have &= have - 1) {
		int i = __builtin_ctz(have);
		struct hot **to;

		if (site_hot(s, i))
			return malformed(err);
		to = site_operand(s, i);
		if (!to)
			return err_no_memory(err, "the recording");
		*to = hot_decode(&column[SITE_LISTS], err);
		if (!*to)
			return -1;
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

static bool get_coarse(struct cursor *c, double *v)
{
	uint64_t bits;
	uint32_t half;

	if (c->end - c->p < (ptrdiff_t)sizeof(half))
		return false;
	memcpy(&half, c->p, sizeof(half));
	c->p += sizeof(half);
	bits = (uint64_t)half << 32;
	memcpy(v, &bits, sizeof(*v));
	return true;
}

static int read_weights(struct cursor *column, struct site *s, struct err *err)
{
	struct site_weights w = { 0 }, *to;

	/* Each site may occur only once. */
	if (s->weights || !get_coarse(&column[SITE_WEIGHT], &w.observed) ||
	    !get_coarse(&column[SITE_WEIGHT + 1], &w.taken) ||
	    !get_coarse(&column[SITE_WEIGHT + 2], &w.square) || !is_plausible(&w, s->observed))
		return malformed(err);
	to = site_weigh(s);
	if (!to)
		return err_no_memory(err, "the recording");
	*to = w;
	return 0;
}

static int read_locality(struct cursor *column, struct site *s, bool sharing, struct err *err)
{
	unsigned i = SITE_LOCALITY;
	struct locality l = { 0 };
	bool ok = true;

#define X(name, what) ok = ok && varint_get(&column[i++], &l.name) && l.name <= COUNT_MAX;
	LOCALITIES(X)
#undef X
	if (sharing)
		ok = ok && varint_get(&column[SITE_MET], &l.met) &&
		     varint_get(&column[SITE_CONTENDED], &l.contended) && l.met <= COUNT_MAX &&
		     l.contended <= l.met;
	if (!ok || s->locality || l.lines > l.accesses || l.pages > l.lines ||
	    l.code_lines > l.fetches || l.code_pages > l.code_lines || l.mispredicted > l.branches)
		return malformed(err);
	return locality_count(s, &l) ? err_no_memory(err, "the recording") : 0;
}

/* Reads the numbers that each site has, and its target. */
static bool get_numbers(struct cursor *column, struct times *times, uint64_t v[SITE_LISTS],
			double *time)
{
	for (unsigned i = 0; i < SITE_TARGET; i++)
		if (!varint_get(&column[i], &v[i]))
			return false;
	*time = times_get(times, v[SITE_TIME], v[SITE_SAMPLES]);
	v[SITE_TARGET] = 0;
	return !(v[SITE_OPERANDS] & HAS_TARGET) ||
	       varint_get(&column[SITE_TARGET], &v[SITE_TARGET]);
}

static bool is_site(const uint64_t v[SITE_LISTS], double time, size_t nmap)
{
	return v[SITE_IMAGE] < nmap && v[SITE_CLASS] <= 255 && v[SITE_LENGTH] <= 15 &&
	       v[SITE_SAMPLES] <= COUNT_MAX && v[SITE_OBSERVED] <= COUNT_MAX &&
	       v[SITE_TAKEN] <= v[SITE_OBSERVED] && v[SITE_REPEATED] <= v[SITE_OBSERVED] &&
	       v[SITE_OPERANDS] < 2 * HAS_SHARING && isfinite(time) && time >= 0;
}

/* What one blob's sites are read with. */
struct reading {
	struct cursor column[COLUMNS_MAX];
	struct profile *to;
	const uint32_t *map;
	size_t nmap;
	uint64_t last;
	struct times times;
};

static int read_site(struct reading *r, struct err *err)
{
	uint64_t v[SITE_LISTS];
	struct site *s;
	unsigned have;
	double time;

	if (!get_numbers(r->column, &r->times, v, &time) || !is_site(v, time, r->nmap))
		return malformed(err);
	r->last += (uint64_t)unzigzag(v[SITE_ADDRESS]);
	s = profile_site(r->to,
			 (struct site_id){ .image = r->map[v[SITE_IMAGE]], .addr = r->last });
	if (!s)
		return err_no_memory(err, "the recording");
	s->cls = (uint8_t)v[SITE_CLASS];
	s->len = (uint8_t)v[SITE_LENGTH];
	s->samples += v[SITE_SAMPLES];
	s->time += time;
	profile_site_observed(s, v[SITE_OBSERVED], v[SITE_TAKEN],
			      v[SITE_OBSERVED] - v[SITE_REPEATED]);
	have = (unsigned)v[SITE_OPERANDS];
	if (have & HAS_TARGET)
		s->target = r->last + (uint64_t)unzigzag(v[SITE_TARGET]);
	if (read_lists(r->column, s, have & (HAS_TARGET - 1), err) ||
	    (have & HAS_WEIGHTS && read_weights(r->column, s, err)) ||
	    (have & HAS_LOCALITY && read_locality(r->column, s, have & HAS_SHARING, err)))
		return -1;
	return 0;
}

int snapshot_read(const uint8_t *p, size_t n, struct profile *to, const uint32_t *map, size_t nmap,
		  struct err *err)
{
	struct reading r = { .to = to, .map = map, .nmap = nmap };
	const struct cursor *image = &r.column[SITE_IMAGE];

	if (!columns_split(r.column, SITE_COLUMN_N, p, n))
		return malformed(err);
	while (image->p < image->end)
		if (read_site(&r, err))
			return -1;
	return columns_ended(r.column, SITE_COLUMN_N) ? 0 : malformed(err);
}

/* Edges. */

bool snapshot_put_edge(struct snapshot *to, const struct edge *e)
{
	const uint64_t v[EDGE_COLUMN_N] = {
		[EDGE_IMAGE] = e->key.from.image,
		[EDGE_ADDRESS] = zigzag((int64_t)(e->key.from.addr - to->last)),
		[EDGE_TO_IMAGE] = e->key.to.image,
		[EDGE_TO_ADDRESS] = zigzag((int64_t)(e->key.to.addr - e->key.from.addr)),
		[EDGE_KIND] = e->key.kind,
		[EDGE_COUNT] = e->count,
	};

	for (unsigned i = 0; i < EDGE_COLUMN_N; i++)
		if (!column_put(&to->columns.of[i], v[i]))
			return false;
	to->last = e->key.from.addr;
	return true;
}

static int read_edge(struct reading *r, struct err *err)
{
	struct site_id from = { 0 }, at = { 0 };
	uint64_t v[EDGE_COLUMN_N];

	for (unsigned i = 0; i < EDGE_COLUMN_N; i++)
		if (!varint_get(&r->column[i], &v[i]))
			return malformed(err);
	if (v[EDGE_IMAGE] >= r->nmap || v[EDGE_TO_IMAGE] >= r->nmap ||
	    v[EDGE_KIND] >= EDGE_KIND_N || v[EDGE_COUNT] > COUNT_MAX)
		return malformed(err);
	r->last += (uint64_t)unzigzag(v[EDGE_ADDRESS]);
	from.image = r->map[v[EDGE_IMAGE]];
	from.addr = r->last;
	at.image = r->map[v[EDGE_TO_IMAGE]];
	at.addr = r->last + (uint64_t)unzigzag(v[EDGE_TO_ADDRESS]);
	if (edges_add(r->to, (enum edge_kind)v[EDGE_KIND], from, at, v[EDGE_COUNT]))
		return err_no_memory(err, "the recording");
	return 0;
}

int snapshot_read_edges(const uint8_t *p, size_t n, struct profile *to, const uint32_t *map,
			size_t nmap, struct err *err)
{
	struct reading r = { .to = to, .map = map, .nmap = nmap };

	if (!columns_split(r.column, EDGE_COLUMN_N, p, n))
		return malformed(err);
	while (!columns_ended(r.column, EDGE_COLUMN_N))
		if (read_edge(&r, err))
			return -1;
	return 0;
}
