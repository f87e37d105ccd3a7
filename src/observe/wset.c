/* SPDX-License-Identifier: MIT */
#include "observe/wset.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/search.h"

#define WORDS (WSET_CHUNK / 64)
/* most lines of a chunk that is stored as a list; above, bits take less space */
#define LISTED_MAX 255
#define PACKED_MAX (1u << 30) /* limit of bytes before compression */

const char *const wset_unit_name[WSET_UNIT_N] = {
#define X(id, name) [WSET_##id] = name,
	WSET_UNITS(X)
#undef X
};

const char *const wset_kind_name[WSET_KIND_N] = {
#define X(id, name) [WSET_KIND_##id] = name,
	WSET_KINDS(X)
#undef X
};

struct wset *wset_new(void)
{
	struct wset *w = calloc(1, sizeof(*w));

	if (w && wset_region(w, WSET_KIND_CODE, "code") < 0) {
		wset_free(w);
		return NULL;
	}
	return w;
}

static void snapshot_fini(struct wset_snapshot *s)
{
	free(s->stack);
	free(s->packed);
}

void wset_free(struct wset *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nregion; i++)
		free(w->region[i].name);
	for (size_t i = 0; i < w->nsnapshot; i++)
		snapshot_fini(&w->snapshot[i]);
	for (size_t i = 0; i < w->nfirst; i++)
		free(w->first[i].procedure);
	free(w->first);
	free(w->region);
	free(w->snapshot);
	free(w->command);
	free(w);
}

long wset_region(struct wset *w, int kind, const char *name)
{
	struct wset_region *list;

	for (size_t i = 0; i < w->nregion; i++)
		if (w->region[i].kind == kind && !strcmp(w->region[i].name, name))
			return (long)i;
	if (w->nregion >= WSET_REGIONS_MAX)
		return -1;
	if (!array_one_more(w->region, w->nregion))
		return -1;
	list = w->region;
	list[w->nregion].kind = kind;
	list[w->nregion].name = strdup(name);
	if (!list[w->nregion].name)
		return -1;
	return (long)w->nregion++;
}

int wset_first(struct wset *w, const char *procedure, uint64_t lines)
{
	size_t low = search_first(i, 0, w->nfirst, strcmp(w->first[i].procedure, procedure) >= 0);
	struct wset_first *list;
	char *name;

	if (low < w->nfirst && !strcmp(w->first[low].procedure, procedure)) {
		w->first[low].lines += lines;
		return 0;
	}
	if (!array_one_more(w->first, w->nfirst))
		return -1;
	list = w->first;
	name = strdup(procedure);
	if (!name)
		return -1;
	memmove(&list[low + 1], &list[low], (w->nfirst - low) * sizeof(*list));
	list[low] = (struct wset_first){ name, lines };
	w->nfirst++;
	return 0;
}

static int copy_snapshot(struct wset_snapshot *to, const struct wset_snapshot *from)
{
	*to = *from;
	to->stack = strdup(from->stack ? from->stack : "");
	to->packed = malloc(from->npacked ? from->npacked : 1);
	if (to->packed && from->npacked)
		memcpy(to->packed, from->packed, from->npacked);
	return to->stack && to->packed ? 0 : -1;
}

int wset_copy(struct wset *to, const struct wset *from)
{
	struct wset old;

	for (size_t i = 1; i < from->nregion; i++)
		if (wset_region(to, from->region[i].kind, from->region[i].name) < 0)
			return -1;
	for (size_t i = 0; i < from->nfirst; i++)
		if (wset_first(to, from->first[i].procedure, from->first[i].lines))
			return -1;
	old = *to;
	*to = *from;
	to->first = old.first;
	to->nfirst = old.nfirst;
	to->region = old.region;
	to->nregion = old.nregion;
	to->nsnapshot = 0;
	to->snapshot = NULL;
	to->command = from->command ? strdup(from->command) : NULL;
	if (from->command && !to->command)
		return -1;
	for (size_t i = 0; i < from->nsnapshot; i++)
		if (!array_one_more(to->snapshot, i) ||
		    copy_snapshot(&to->snapshot[to->nsnapshot++], &from->snapshot[i]))
			return -1;
	return 0;
}

/* Sets of lines. */

static int order(const struct wset_chunk *c, uint64_t at, uint32_t region)
{
	if (c->at != at)
		return c->at < at ? -1 : 1;
	return c->region == region ? 0 : c->region < region ? -1 : 1;
}

struct wset_chunk *wset_chunk(struct wset_lines *l, uint64_t at, uint32_t region)
{
	size_t low = l->n;

	if (low && order(&l->chunk[low - 1], at, region) >= 0)
		low = search_first(i, 0, l->n, order(&l->chunk[i], at, region) >= 0);
	if (low < l->n && !order(&l->chunk[low], at, region))
		return &l->chunk[low];
	if (!array_reserve(l->chunk, l->room, l->n + 1))
		return NULL;
	memmove(&l->chunk[low + 1], &l->chunk[low], (l->n - low) * sizeof(*l->chunk));
	memset(&l->chunk[low], 0, sizeof(*l->chunk));
	l->chunk[low].at = at;
	l->chunk[low].region = region;
	l->n++;
	return &l->chunk[low];
}

void wset_lines_fini(struct wset_lines *l)
{
	free(l->chunk);
	memset(l, 0, sizeof(*l));
}

unsigned wset_chunk_count(const struct wset_chunk *c)
{
	unsigned n = 0;

	for (unsigned k = 0; k < WORDS; k++)
		n += (unsigned)__builtin_popcountll(c->bits[k]);
	return n;
}

uint64_t wset_count(const struct wset_lines *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += wset_chunk_count(&l->chunk[i]);
	return n;
}

/* Returns the start of the chunks of that place, searching from i on. */
static size_t skip_to(const struct wset_lines *l, size_t i, uint64_t at)
{
	while (i < l->n && l->chunk[i].at < at)
		i++;
	return i;
}

/* Collects all lines of a place, of any region; *i moves behind it. */
static void gather(const struct wset_lines *l, size_t *i, uint64_t at, uint64_t bits[WORDS])
{
	memset(bits, 0, WORDS * sizeof(*bits));
	for (; *i < l->n && l->chunk[*i].at == at; ++*i)
		for (unsigned k = 0; k < WORDS; k++)
			bits[k] |= l->chunk[*i].bits[k];
}

/* Returns the first chunk of that place, or of a later one. */
static size_t find_place(const struct wset_lines *l, uint64_t at)
{
	return search_first(i, 0, l->n, l->chunk[i].at >= at);
}

/* Removes these lines of a place, from any region. */
static void take_out(struct wset_lines *l, uint64_t at, const uint64_t bits[WORDS])
{
	for (size_t i = find_place(l, at); i < l->n && l->chunk[i].at == at; i++)
		for (unsigned k = 0; k < WORDS; k++)
			l->chunk[i].bits[k] &= ~bits[k];
}

int wset_or(struct wset_lines *to, const struct wset_lines *newer)
{
	uint64_t bits[WORDS];

	for (size_t i = 0, k; i < newer->n; i = k) {
		uint64_t at = newer->chunk[i].at;

		k = i;
		gather(newer, &k, at, bits);
		take_out(to, at, bits);
		for (size_t j = i; j < k; j++) {
			struct wset_chunk *c = wset_chunk(to, at, newer->chunk[j].region);

			if (!c)
				return -1;
			for (unsigned w = 0; w < WORDS; w++)
				c->bits[w] |= newer->chunk[j].bits[w];
		}
	}
	return 0;
}

uint64_t wset_common(const struct wset_lines *a, const struct wset_lines *b)
{
	uint64_t x[WORDS], y[WORDS], n = 0;

	for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
		uint64_t at = a->chunk[i].at;

		j = skip_to(b, j, at);
		if (j == b->n || b->chunk[j].at != at) {
			i = j == b->n ? a->n : skip_to(a, i, b->chunk[j].at);
			continue;
		}
		gather(a, &i, at, x);
		gather(b, &j, at, y);
		for (unsigned k = 0; k < WORDS; k++)
			n += (unsigned)__builtin_popcountll(x[k] & y[k]);
	}
	return n;
}

int wset_join(struct wset_lines *to, const struct wset_lines *from, uint32_t as)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct wset_chunk *c = &from->chunk[i];
		struct wset_chunk *at = wset_chunk(to, c->at, as == WSET_AS_IS ? c->region : as);

		if (!at)
			return -1;
		for (unsigned k = 0; k < WORDS; k++)
			at->bits[k] |= c->bits[k];
	}
	return 0;
}

int wset_shared(const struct wset_lines *l, struct wset_lines *shared)
{
	for (size_t i = 0; i < l->n;) {
		uint64_t at = l->chunk[i].at, once[WORDS] = { 0 }, twice[WORDS] = { 0 }, any = 0;
		struct wset_chunk *c;

		for (; i < l->n && l->chunk[i].at == at; i++)
			for (unsigned k = 0; k < WORDS; k++) {
				twice[k] |= once[k] & l->chunk[i].bits[k];
				once[k] |= l->chunk[i].bits[k];
				any |= twice[k];
			}
		if (!any)
			continue;
		c = wset_chunk(shared, at, 0);
		if (!c)
			return -1;
		memcpy(c->bits, twice, sizeof(twice));
	}
	return 0;
}

/* Packing. For each set, its number of chunks; for each chunk, the distance from the place
 * before, region, number of lines; then the lines, each as its distance from the one before, or,
 * if there are many, 512 bytes of bits. */

struct bytes {
	uint8_t *p;
	size_t n, room;
};

static bool room_for(struct bytes *b, size_t n)
{
	return array_reserve(b->p, b->room, b->n + n);
}

static void put(struct bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		b->p[b->n++] = (uint8_t)(v | 0x80);
	b->p[b->n++] = (uint8_t)v;
}

static bool put_chunk(struct bytes *b, const struct wset_chunk *c, uint64_t *at, unsigned n)
{
	unsigned before = 0;

	if (!room_for(b, 32 + (n > LISTED_MAX ? sizeof(c->bits) : 2ul * n)))
		return false;
	put(b, c->at - *at);
	put(b, c->region);
	put(b, n);
	*at = c->at;
	if (n > LISTED_MAX) {
		memcpy(b->p + b->n, c->bits, sizeof(c->bits));
		b->n += sizeof(c->bits);
		return true;
	}
	for (unsigned k = 0; k < WORDS; k++)
		for (uint64_t v = c->bits[k]; v; v &= v - 1) {
			unsigned line = 64 * k + (unsigned)__builtin_ctzll(v);

			put(b, line - before);
			before = line;
		}
	return true;
}

static bool put_lines(struct bytes *b, const struct wset_lines *l, uint64_t *count)
{
	uint64_t at = 0, n = 0;

	*count = 0;
	for (size_t i = 0; i < l->n; i++)
		n += wset_chunk_count(&l->chunk[i]) > 0;
	if (!room_for(b, 16))
		return false;
	put(b, n);
	for (size_t i = 0; i < l->n; i++) {
		unsigned lines = wset_chunk_count(&l->chunk[i]);

		if (lines && !put_chunk(b, &l->chunk[i], &at, lines))
			return false;
		*count += lines;
	}
	return true;
}

void wset_sets_fini(struct wset_sets *sets)
{
	wset_lines_fini(&sets->data);
	wset_lines_fini(&sets->code);
	wset_lines_fini(&sets->thread);
}

int wset_pack(struct wset_snapshot *s, const struct wset_sets *sets, struct err *err)
{
	struct bytes b = { 0 };
	uint8_t *out = NULL, *less;
	uint64_t touches;
	size_t n = 0;

	if (put_lines(&b, &sets->data, &s->lines) && put_lines(&b, &sets->code, &s->code_lines) &&
	    (!sets->thread.n || put_lines(&b, &sets->thread, &touches)))
		out = malloc(ZSTD_compressBound(b.n));
	if (out)
		n = ZSTD_compress(out, ZSTD_compressBound(b.n), b.p, b.n, 1);
	free(b.p);
	if (!out || ZSTD_isError(n) || b.n > PACKED_MAX) {
		free(out);
		return err_no_memory(err, "working sets");
	}
	less = realloc(out, n);
	if (less)
		out = less;
	free(s->packed);
	s->packed = out;
	s->npacked = n;
	s->size = b.n;
	return 0;
}

struct in {
	const uint8_t *p, *end;
};

static bool get(struct in *c, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; shift < 64 && c->p < c->end; shift += 7) {
		uint8_t byte = *c->p++;

		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool get_bits(struct in *in, struct wset_chunk *c, uint64_t n)
{
	uint64_t line = 0, step;

	if (n > LISTED_MAX) {
		if ((size_t)(in->end - in->p) < sizeof(c->bits))
			return false;
		memcpy(c->bits, in->p, sizeof(c->bits));
		in->p += sizeof(c->bits);
		return wset_chunk_count(c) == n;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (!get(in, &step) || (i && !step) || step >= WSET_CHUNK ||
		    (line += step) >= WSET_CHUNK)
			return false;
		c->bits[line / 64] |= 1ull << line % 64;
	}
	return true;
}

/* Reads chunks, sorted and without repetition; *bad stays unchanged if memory runs out. */
static bool get_lines(size_t regions, struct in *in, struct wset_lines *l, bool *bad)
{
	uint64_t n, at = 0, region, lines, step, last = 0;

	*bad = true;
	if (!get(in, &n))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		struct wset_chunk *c;

		if (!get(in, &step) || !get(in, &region) || !get(in, &lines) ||
		    step >= 1ull << 52 || region >= regions || lines < 1 || lines > WSET_CHUNK ||
		    (at += step) >= 1ull << 52 || (i && !step && region <= last))
			return false;
		last = region;
		c = wset_chunk(l, at, (uint32_t)region);
		if (!c) {
			*bad = false;
			return false;
		}
		if (!get_bits(in, c, lines))
			return false;
	}
	return true;
}

/* Whether the snapshot has the stated number of lines, each touched by some thread. */
static bool is_sound(const struct wset_snapshot *s, const struct wset_sets *sets)
{
	return wset_count(&sets->data) == s->lines && wset_count(&sets->code) == s->code_lines &&
	       (!sets->thread.n || wset_common(&sets->data, &sets->thread) == s->lines);
}

int wset_unpack(const struct wset *w, const struct wset_snapshot *s, struct wset_sets *sets,
		struct err *err)
{
	struct in in = { NULL, NULL };
	uint8_t *p = NULL;
	bool ok, bad = true;

	*sets = (struct wset_sets){ 0 };
	if (s->size < 2 || s->size > PACKED_MAX ||
	    ZSTD_getFrameContentSize(s->packed, s->npacked) != s->size)
		return err_set(err, ERR_FAILED, "a working set is malformed");
	p = malloc(s->size);
	if (!p)
		return err_no_memory(err, "working sets");
	in = (struct in){ p, p + s->size };
	ok = ZSTD_decompress(p, s->size, s->packed, s->npacked) == s->size &&
	     get_lines(w->nregion, &in, &sets->data, &bad) &&
	     get_lines(w->nregion, &in, &sets->code, &bad) &&
	     (in.p == in.end || get_lines(WSET_THREADS_MAX, &in, &sets->thread, &bad));
	if (ok)
		ok = in.p == in.end && is_sound(s, sets);
	free(p);
	if (ok)
		return 0;
	wset_sets_fini(sets);
	return bad ? err_set(err, ERR_FAILED, "a working set is malformed")
		   : err_no_memory(err, "working sets");
}

int wset_sets_or(struct wset_sets *to, const struct wset_sets *newer)
{
	bool threads = to->thread.n || newer->thread.n;

	if (threads && !to->thread.n && wset_join(&to->thread, &to->data, 0))
		return -1;
	if (threads && (newer->thread.n ? wset_join(&to->thread, &newer->thread, WSET_AS_IS)
					: wset_join(&to->thread, &newer->data, 0)))
		return -1;
	return wset_or(&to->data, &newer->data) || wset_or(&to->code, &newer->code) ? -1 : 0;
}

/*
 * a
 *
 * = b; a ends where b ended, and b is freed.
 */
static int merge(const struct wset *w, struct wset_snapshot *a, struct wset_snapshot *b,
		 struct err *err)
{
	struct wset_sets x, y = { 0 };
	int rc = wset_unpack(w, a, &x, err);

	if (!rc)
		rc = wset_unpack(w, b, &y, err);
	if (!rc && wset_sets_or(&x, &y))
		rc = err_no_memory(err, "working sets");
	if (!rc)
		rc = wset_pack(a, &x, err);
	wset_sets_fini(&x);
	wset_sets_fini(&y);
	if (rc)
		return rc;
	free(a->stack);
	a->stack = b->stack;
	b->stack = NULL;
	a->end = b->end;
	a->cpu_ns = b->cpu_ns;
	a->wall_ns = b->wall_ns;
	a->first += b->first;
	snapshot_fini(b);
	return 0;
}

int wset_add(struct wset *w, struct wset_snapshot *s, struct err *err)
{
	struct wset_snapshot *list;
	size_t n = 0;

	if (!array_one_more(w->snapshot, w->nsnapshot)) {
		snapshot_fini(s);
		return err_no_memory(err, "working sets");
	}
	list = w->snapshot;
	list[w->nsnapshot++] = *s;
	if (w->nsnapshot < w->max || w->max < 2)
		return 0;
	for (size_t i = 0; i + 1 < w->nsnapshot; i += 2) {
		if (merge(w, &list[i], &list[i + 1], err)) {
			/* closes the gap left by merged snapshots */
			memmove(&list[n], &list[i], (w->nsnapshot - i) * sizeof(*list));
			w->nsnapshot = n + w->nsnapshot - i;
			return -1;
		}
		list[n++] = list[i];
	}
	if (w->nsnapshot % 2)
		list[n++] = list[w->nsnapshot - 1];
	w->nsnapshot = n;
	return 0;
}
