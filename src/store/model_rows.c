/* SPDX-License-Identifier: MIT */
#include "store/model_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/cycles.h"
#include "observe/distances.h"
#include "observe/locality.h"
#include "observe/misses.h"
#include "observe/reuses.h"
#include "observe/tallies.h"
#include "base/varint.h"

#define SQL_MAX 1024
#define UNSEEN_STEP 8 /* windows: if fewer saw a register's step, once each, they tell nothing */

#define X(name, what) +1
enum {
	REUSE_COUNTS =
		4 REUSES_COUNTS(X), /* columns of table reuse between its key and its lists */
};
#undef X

/* Writing rows. */

static bool step(sqlite3_stmt *s)
{
	bool done = sqlite3_step(s) == SQLITE_DONE;

	sqlite3_reset(s);
	return done;
}

static void bind_site(sqlite3_stmt *s, struct site_id id)
{
	sqlite3_bind_int64(s, 1, id.image);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)id.addr);
}

/* Encodes counts that are not 0: difference of their number to the one before, and count. */
static size_t encode(const uint64_t *count, unsigned n, uint8_t *to)
{
	struct buffer b = { .p = to };
	unsigned last = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!count[i])
			continue;
		varint_put(&b, i - last);
		varint_put(&b, count[i]);
		last = i;
	}
	return b.n;
}

static bool write_misses(sqlite3_stmt *s, const struct profile *p)
{
	const struct site *site;
	const struct misses *m;

	MISSES_EACH(p, site, m)
	{
		bind_site(s, site->id);
		for (unsigned i = 0; i < MISS_KIND_N; i++)
			sqlite3_bind_int64(s, 3 + (int)i, (sqlite3_int64)m->n[i]);
		if (!step(s))
			return false;
	}
	return true;
}

static bool write_cycles(sqlite3_stmt *s, const struct profile *p)
{
	const struct site *site;
	const struct cycles *c;

	CYCLES_EACH(p, site, c)
	{
		bind_site(s, site->id);
		for (unsigned i = 0; i < TIMING_PART_N; i++)
			sqlite3_bind_int64(s, 3 + (int)i, (sqlite3_int64)c->n[i]);
		if (!step(s))
			return false;
	}
	return true;
}

static bool write_spread(sqlite3_stmt *s, const struct profile *p)
{
	const struct site *site;

	SITES_EACH(&p->sites, site)
	{
		const struct spread *w = locality_get(site).spread;

		if (!w)
			continue;
		bind_site(s, site->id);
		sqlite3_bind_int64(s, 3, (sqlite3_int64)w->seen);
		sqlite3_bind_blob(s, 4, w->lines.rank, DISTINCT_REGISTERS, SQLITE_STATIC);
		sqlite3_bind_blob(s, 5, w->pages.rank, DISTINCT_REGISTERS, SQLITE_STATIC);
		if (!step(s))
			return false;
	}
	return true;
}

static bool write_distances(sqlite3_stmt *s, const struct profile *p)
{
	uint8_t blob[DISTANCE_BUCKETS * 2 * VARINT_MAX];

	for (size_t i = 0; i < p->ndistances; i++) {
		const struct distances *d = p->distances[i];

		sqlite3_bind_int64(s, 1, d->run);
		sqlite3_bind_int64(s, 2, (sqlite3_int64)i);
		sqlite3_bind_int64(s, 3, d->pid);
		sqlite3_bind_int64(s, 4, d->line);
		sqlite3_bind_int64(s, 5, (sqlite3_int64)d->cold);
		sqlite3_bind_blob(s, 6, blob, (int)encode(d->bucket, DISTANCE_BUCKETS, blob),
				  SQLITE_STATIC);
		if (!step(s))
			return false;
	}
	return true;
}

static bool write_site_distances(sqlite3_stmt *s, const struct profile *p)
{
	uint8_t blob[DISTANCE_OCTAVES * 2 * VARINT_MAX];
	struct site_distances *d, *tmp;

	HASH_ITER (hh, p->site_distances, d, tmp) {
		size_t n = encode(d->octave, DISTANCE_OCTAVES, blob);

		if (!n && !d->cold)
			continue;
		bind_site(s, d->key);
		sqlite3_bind_int64(s, 3, (sqlite3_int64)d->cold);
		sqlite3_bind_blob(s, 4, blob, (int)n, SQLITE_STATIC);
		if (!step(s))
			return false;
	}
	return true;
}

/* Encodes gaps that exist: difference of their number to the one before, and sums. */
static size_t encode_gaps(const struct tally *t, uint8_t *to)
{
	struct buffer b = { .p = to };
	unsigned last = 0;

	for (unsigned i = 0; i < TALLY_OCTAVES; i++) {
		const struct tally_gaps *g = &t->gaps[i];

		if (!g->n && !g->back)
			continue;
		varint_put(&b, i - last);
		varint_put(&b, g->n);
		varint_put(&b, g->back);
		varint_put(&b, g->time);
		varint_put(&b, g->back_time);
		/* as a double, COUNT_MAX is rounded up by one */
		varint_put(&b, g->advance < (double)COUNT_MAX ? (uint64_t)g->advance : COUNT_MAX);
		last = i;
	}
	return b.n;
}

static size_t encode_peers(const struct tally *t, uint8_t *to)
{
	struct buffer b = { .p = to };

	for (unsigned i = 0; i < TALLY_PEERS && t->peer[i].n; i++) {
		varint_put(&b, t->peer[i].site.image);
		varint_put(&b, t->peer[i].site.addr);
		varint_put(&b, t->peer[i].n);
	}
	return b.n;
}

/* Writes the tallies that are sure, or may become so when more is added. */
static bool write_tallies(sqlite3_stmt *s, const struct profile *p)
{
	uint8_t gaps[TALLY_OCTAVES * 6 * VARINT_MAX], peers[TALLY_PEERS * 3 * VARINT_MAX];
	struct tally *t, *tmp;

	HASH_ITER (hh, p->tallies, t, tmp) {
		if (t->agreed || t->differed ? !tally_is_sure(t, 2) : t->seen < UNSEEN_STEP)
			continue;
		bind_site(s, t->key);
		sqlite3_bind_int64(s, 3, t->step);
		sqlite3_bind_int64(s, 4, (sqlite3_int64)t->agreed);
		sqlite3_bind_int64(s, 5, (sqlite3_int64)t->differed);
		sqlite3_bind_int64(s, 6, (sqlite3_int64)t->seen);
		sqlite3_bind_int64(s, 7, (sqlite3_int64)t->strangers);
		sqlite3_bind_blob(s, 8, gaps, (int)encode_gaps(t, gaps), SQLITE_STATIC);
		sqlite3_bind_blob(s, 9, peers, (int)encode_peers(t, peers), SQLITE_STATIC);
		if (!step(s))
			return false;
	}
	return true;
}

#define X(name, what) , u->name

/* Binds counts of reuse times to the columns from `at` on, and writes the row. */
static bool write_reuse(sqlite3_stmt *s, int at, const struct reuses *u)
{
	uint8_t blob[4][DISTANCE_BUCKETS * 2 * VARINT_MAX];
	const uint64_t column[] = { u->windows, u->instructions, u->touches,
				    u->watched REUSES_COUNTS(X) };
	const size_t n[] = {
		encode(u->near_ended, REUSES_NEAR, blob[0]),
		encode(u->near_left, REUSES_NEAR, blob[1]),
		encode(u->far_ended, DISTANCE_BUCKETS, blob[2]),
		encode(u->far_left, DISTANCE_BUCKETS, blob[3]),
	};

	for (unsigned i = 0; i < sizeof(column) / sizeof(column[0]); i++)
		sqlite3_bind_int64(s, at++, (sqlite3_int64)column[i]);
	for (unsigned i = 0; i < 4; i++)
		sqlite3_bind_blob(s, at++, blob[i], (int)n[i], SQLITE_STATIC);
	sqlite3_bind_int64(s, at++, (sqlite3_int64)u->touches_square);
	sqlite3_bind_int64(s, at, (sqlite3_int64)u->watches_square);
	return step(s);
}

#undef X

static bool write_reuses(sqlite3_stmt *s, const struct profile *p)
{
	const struct reuses *u;

	for (u = p->reuses; u; u = u->hh.next) {
		sqlite3_bind_int64(s, 1, u->run);
		sqlite3_bind_int64(s, 2, u->pid);
		if (!write_reuse(s, 3, u))
			return false;
	}
	return true;
}

static bool write_reuse_regions(sqlite3_stmt *s, const struct profile *p)
{
	const struct reuses *u, *r;

	for (u = p->reuses; u; u = u->hh.next)
		for (r = u->regions; r; r = r->hh.next) {
			sqlite3_bind_int64(s, 1, r->run);
			sqlite3_bind_int64(s, 2, r->pid);
			sqlite3_bind_int64(s, 3, r->place.image);
			sqlite3_bind_int64(s, 4, (sqlite3_int64)r->place.addr);
			if (!write_reuse(s, 5, r))
				return false;
		}
	return true;
}

static bool write_table(sqlite3 *db, const struct profile *p, const char *table, unsigned columns,
			bool (*write)(sqlite3_stmt *, const struct profile *))
{
	char sql[SQL_MAX];
	sqlite3_stmt *s;
	bool ok;
	int n;

	snprintf(sql, sizeof(sql), "DELETE FROM %s", table);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return false;
	n = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?", table);
	for (unsigned i = 1; i < columns; i++)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n, ",?");
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return false;
	ok = write(s, p);
	sqlite3_finalize(s);
	return ok;
}

bool model_rows_write(sqlite3 *db, const struct profile *p)
{
	return write_table(db, p, "spread", 5, write_spread) &&
	       (!p->misses.chunks || write_table(db, p, "miss", 2 + MISS_KIND_N, write_misses)) &&
	       (!p->cycles.chunks ||
		write_table(db, p, "cycle", 2 + TIMING_PART_N, write_cycles)) &&
	       (!p->ndistances || write_table(db, p, "distance", 6, write_distances)) &&
	       (!p->site_distances ||
		write_table(db, p, "site_distance", 4, write_site_distances)) &&
	       (!p->tallies || write_table(db, p, "tally", 9, write_tallies)) &&
	       (!p->reuses ||
		(write_table(db, p, "reuse", 2 + REUSE_COUNTS + 4 + 2, write_reuses) &&
		 write_table(db, p, "reuse_region", 4 + REUSE_COUNTS + 4 + 2,
			     write_reuse_regions)));
}

/* Reading rows. */

struct rows {
	sqlite3 *db;
	struct profile *p;
	const uint32_t *map;
	size_t nmap, first_run;
};

static bool site_at(const struct rows *r, sqlite3_stmt *s, struct site_id *id)
{
	int64_t image = sqlite3_column_int64(s, 0);

	if (image < 0 || (size_t)image >= r->nmap)
		return false;
	*id = (struct site_id){ .image = r->map[image],
				.addr = (uint64_t)sqlite3_column_int64(s, 1) };
	return true;
}

static bool count_at(sqlite3_stmt *s, int at, uint64_t *v)
{
	*v = (uint64_t)sqlite3_column_int64(s, at);
	return *v <= COUNT_MAX;
}

/* Adds counts that encode() wrote. */
static bool decode(sqlite3_stmt *s, int at, uint64_t *count, unsigned n)
{
	const uint8_t *p = sqlite3_column_blob(s, at);
	struct cursor c = { p, p ? p + sqlite3_column_bytes(s, at) : p };
	uint64_t i = 0;

	while (c.p < c.end) {
		uint64_t step, v;

		if (!varint_get(&c, &step) || !varint_get(&c, &v) || step >= n ||
		    (i += step) >= n || v > COUNT_MAX)
			return false;
		count[i] += v;
	}
	return true;
}

/* Adds the counts in n columns from the third on. */
static bool add_counts(sqlite3_stmt *s, unsigned n, uint64_t *count)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t v;

		if (!count_at(s, 2 + (int)i, &v))
			return false;
		count[i] += v;
	}
	return true;
}

static enum pairs_result read_miss(const struct rows *r, sqlite3_stmt *s)
{
	struct site_id id;
	struct misses *m;

	if (!site_at(r, s, &id))
		return PAIRS_MALFORMED;
	m = misses_get(r->p, id);
	if (!m)
		return PAIRS_MEMORY;
	return add_counts(s, MISS_KIND_N, m->n) ? PAIRS_OK : PAIRS_MALFORMED;
}

static enum pairs_result read_cycle(const struct rows *r, sqlite3_stmt *s)
{
	struct site_id id;
	struct cycles *c;

	if (!site_at(r, s, &id))
		return PAIRS_MALFORMED;
	c = cycles_get(r->p, id);
	if (!c)
		return PAIRS_MEMORY;
	return add_counts(s, TIMING_PART_N, c->n) ? PAIRS_OK : PAIRS_MALFORMED;
}

static bool distinct_at(sqlite3_stmt *s, int column, struct distinct *d)
{
	const uint8_t *rank = sqlite3_column_blob(s, column);

	if (!rank || sqlite3_column_bytes(s, column) != DISTINCT_REGISTERS)
		return false;
	memcpy(d->rank, rank, DISTINCT_REGISTERS);
	for (int i = 0; i < DISTINCT_REGISTERS; i++)
		if (d->rank[i] > DISTINCT_RANK_MAX)
			return false;
	return true;
}

static enum pairs_result read_spread(const struct rows *r, sqlite3_stmt *s)
{
	struct locality *to;
	struct spread w;
	struct site_id id;
	struct site *site;

	if (!site_at(r, s, &id) || !count_at(s, 2, &w.seen) || !distinct_at(s, 3, &w.lines) ||
	    !distinct_at(s, 4, &w.pages))
		return PAIRS_MALFORMED;
	site = profile_site(r->p, id);
	to = site ? locality_of(site) : NULL;
	return to && !locality_spread(to, &w) ? PAIRS_OK : PAIRS_MEMORY;
}

static enum pairs_result read_distance(const struct rows *r, sqlite3_stmt *s)
{
	uint64_t run = (uint64_t)sqlite3_column_int64(s, 0), line, pid, cold;
	struct distances *d;

	if (run >= r->p->nrun - r->first_run || !count_at(s, 2, &pid) || pid > UINT32_MAX ||
	    !count_at(s, 3, &line) || line < 1 || line > 1u << 30 || line & (line - 1) ||
	    !count_at(s, 4, &cold))
		return PAIRS_MALFORMED;
	d = distances_new(r->p);
	if (!d)
		return PAIRS_MEMORY;
	d->run = (uint32_t)(run + r->first_run);
	d->pid = (uint32_t)pid;
	d->line = (uint32_t)line;
	d->cold = cold;
	return decode(s, 5, d->bucket, DISTANCE_BUCKETS) ? PAIRS_OK : PAIRS_MALFORMED;
}

static enum pairs_result read_site_distance(const struct rows *r, sqlite3_stmt *s)
{
	struct site_distances *d;
	struct site_id id;
	uint64_t cold;

	if (!site_at(r, s, &id) || !count_at(s, 2, &cold))
		return PAIRS_MALFORMED;
	d = distances_site(r->p, id);
	if (!d)
		return PAIRS_MEMORY;
	d->cold += cold;
	return decode(s, 3, d->octave, DISTANCE_OCTAVES) ? PAIRS_OK : PAIRS_MALFORMED;
}

static bool decode_gaps(sqlite3_stmt *s, int at, struct tally_gaps *gaps)
{
	const uint8_t *p = sqlite3_column_blob(s, at);
	struct cursor c = { p, p ? p + sqlite3_column_bytes(s, at) : p };
	uint64_t i = 0, step, advance;

	while (c.p < c.end) {
		struct tally_gaps g;

		if (!varint_get(&c, &step) || step >= TALLY_OCTAVES ||
		    (i += step) >= TALLY_OCTAVES || !varint_get(&c, &g.n) ||
		    !varint_get(&c, &g.back) || !varint_get(&c, &g.time) ||
		    !varint_get(&c, &g.back_time) || !varint_get(&c, &advance))
			return false;
		if (g.n > COUNT_MAX || g.back > COUNT_MAX || g.time > COUNT_MAX || g.time < g.n ||
		    g.back_time > COUNT_MAX || g.back_time < g.back || advance > COUNT_MAX)
			return false;
		g.advance = (double)advance;
		gaps[i] = g;
	}
	return true;
}

static bool decode_peers(const struct rows *r, sqlite3_stmt *s, int at, struct tally *t)
{
	const uint8_t *p = sqlite3_column_blob(s, at);
	struct cursor c = { p, p ? p + sqlite3_column_bytes(s, at) : p };
	uint64_t image, addr, n;

	while (c.p < c.end) {
		if (!varint_get(&c, &image) || !varint_get(&c, &addr) || !varint_get(&c, &n) ||
		    image >= r->nmap || n < 1 || n > COUNT_MAX)
			return false;
		tally_add_peer(t, (struct site_id){ .image = r->map[image], .addr = addr }, n);
	}
	return true;
}

static enum pairs_result read_tally(const struct rows *r, sqlite3_stmt *s)
{
	struct tally_gaps gaps[TALLY_OCTAVES] = { { 0 } };
	struct tally more = { .step = sqlite3_column_int64(s, 2), .gaps = tally_no_gaps }, *t;
	struct site_id id;

	if (!site_at(r, s, &id) || !count_at(s, 3, &more.agreed) ||
	    !count_at(s, 4, &more.differed) || !count_at(s, 5, &more.seen) ||
	    !count_at(s, 6, &more.strangers) || !decode_gaps(s, 7, gaps))
		return PAIRS_MALFORMED;
	if (sqlite3_column_bytes(s, 7))
		more.gaps = gaps;
	t = tallies_get(r->p, id);
	if (!t || tally_add(t, &more))
		return PAIRS_MEMORY;
	return decode_peers(r, s, 8, t) ? PAIRS_OK : PAIRS_MALFORMED;
}

#define X(name, what) , &u->name

/* Reads counts of reuse times from the columns from `at` on. */
static enum pairs_result read_counts(sqlite3_stmt *s, int at, struct reuses *u)
{
	uint64_t *const *count;

	count = (uint64_t *const[]){ &u->windows, &u->instructions, &u->touches,
				     &u->watched REUSES_COUNTS(X) };
	for (unsigned i = 0; i < REUSE_COUNTS; i++)
		if (!count_at(s, at++, count[i]))
			return PAIRS_MALFORMED;
	if (u->soon > u->watches || u->before > u->watches ||
	    !count_at(s, at + 4, &u->touches_square) || !count_at(s, at + 5, &u->watches_square))
		return PAIRS_MALFORMED;
	return decode(s, at, u->near_ended, REUSES_NEAR) &&
			       decode(s, at + 1, u->near_left, REUSES_NEAR) &&
			       decode(s, at + 2, u->far_ended, DISTANCE_BUCKETS) &&
			       decode(s, at + 3, u->far_left, DISTANCE_BUCKETS)
		       ? PAIRS_OK
		       : PAIRS_MALFORMED;
}

#undef X

static bool process_at(const struct rows *r, sqlite3_stmt *s, uint32_t *run, uint32_t *pid)
{
	uint64_t n = (uint64_t)sqlite3_column_int64(s, 0), id;

	if (n >= r->p->nrun - r->first_run || !count_at(s, 1, &id) || id > UINT32_MAX)
		return false;
	*run = (uint32_t)(n + r->first_run);
	*pid = (uint32_t)id;
	return true;
}

static enum pairs_result read_reuse(const struct rows *r, sqlite3_stmt *s)
{
	uint32_t run, pid;
	struct reuses *u;

	if (!process_at(r, s, &run, &pid))
		return PAIRS_MALFORMED;
	u = reuses_get(r->p, run, pid);
	return u ? read_counts(s, 2, u) : PAIRS_MEMORY;
}

static enum pairs_result read_reuse_region(const struct rows *r, sqlite3_stmt *s)
{
	int64_t image = sqlite3_column_int64(s, 2);
	struct reuses *u, *region;
	struct site_id place;
	uint32_t run, pid;

	if (!process_at(r, s, &run, &pid) || image < 0 || (size_t)image >= r->nmap)
		return PAIRS_MALFORMED;
	place = (struct site_id){ .image = r->map[image],
				  .addr = (uint64_t)sqlite3_column_int64(s, 3) };
	u = reuses_find(r->p, run, pid);
	if (!u || HASH_COUNT(u->regions) >= REUSES_REGIONS || place.addr % REUSES_REGION_BYTES)
		return PAIRS_MALFORMED;
	region = reuses_region_find(u, place);
	if (!region)
		region = reuses_region_add(u, place);
	return region ? read_counts(s, 4, region) : PAIRS_MEMORY;
}

/* Whether the regions of each process, which are parts of it, have no more than it has. */
static bool regions_fit(const struct profile *p)
{
	const struct reuses *u, *r;

	for (u = p->reuses; u; u = u->hh.next) {
		uint64_t windows = u->windows, touches = u->touches, watched = u->watched;

		for (r = u->regions; r; r = r->hh.next) {
			if (r->windows > windows || r->touches > touches || r->watched > watched)
				return false;
			windows -= r->windows;
			touches -= r->touches;
			watched -= r->watched;
		}
	}
	return true;
}

#define X(id, name, what) ", " name
#define Y(name, what) ", " #name
#define REUSE_SELECT(place, table) \
	"SELECT run, pid, " place "windows, instructions, touches, watched" REUSES_COUNTS( \
		Y) ", near_ended, near_left, far_ended, far_left, touches_square, watches_square" \
		   " FROM " table

enum pairs_result model_rows_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
				  size_t first_run, const char **what)
{
	const struct {
		const char *name, *sql;
		enum pairs_result (*row)(const struct rows *, sqlite3_stmt *);
	} table[] = {
		{ "miss", "SELECT image, address" MISSES(X) " FROM miss", read_miss },
		{ "cycle", "SELECT image, address" TIMING_PARTS(X) " FROM cycle", read_cycle },
		{ "spread", "SELECT image, address, seen, lines, pages FROM spread", read_spread },
		{ "distance", "SELECT run, number, pid, line, cold, buckets FROM distance",
		  read_distance },
		{ "site_distance", "SELECT image, address, cold, octaves FROM site_distance",
		  read_site_distance },
		{ "tally",
		  "SELECT image, address, step, agreed, differed, seen, strangers, gaps, peers"
		  " FROM tally",
		  read_tally },
		{ "reuse", REUSE_SELECT("", "reuse"), read_reuse },
		{ "reuse_region", REUSE_SELECT("image, address, ", "reuse_region"),
		  read_reuse_region },
	};
	const struct rows r = { db, p, map, nmap, first_run };
	enum pairs_result result = PAIRS_OK;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && !result; i++) {
		sqlite3_stmt *s;
		int rc = SQLITE_ROW;

		*what = table[i].name;
		if (sqlite3_prepare_v2(db, table[i].sql, -1, &s, NULL) != SQLITE_OK)
			return PAIRS_DATABASE;
		while (!result && (rc = sqlite3_step(s)) == SQLITE_ROW)
			result = table[i].row(&r, s);
		sqlite3_finalize(s);
		if (!result && rc != SQLITE_DONE)
			result = PAIRS_DATABASE;
	}
	/* regions come in the last table */
	return result || regions_fit(p) ? result : PAIRS_MALFORMED;
}

#undef X
#undef Y
#undef REUSE_SELECT
