/* SPDX-License-Identifier: MIT */
#include "report/conflicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "observe/conflicts.h"
#include "query/lookup.h"
#include "report/place.h"
#include "query/share.h"

/* Executions of a load that were judged. */
struct judged {
	struct site_id load;
	uint64_t count;
};

struct pair {
	const struct conflict *c;
	uint64_t judged;
	struct share share;
	double time; /* time of the load and of the next instruction, for its share */
};

struct conflicts {
	struct reading *r;
	const struct conflicts_options *o;
	const struct view_proc *only;
	struct judged *judged;
	size_t njudged;
	struct pair *v;
	size_t n, total;
};

enum {
	COLUMN_TIME,
	COLUMN_SHARE,
	COLUMN_KIND,
	COLUMN_DISTANCE,
	COLUMN_LOAD,
	COLUMN_STORE,
	COLUMN_N
};

static const struct column text_columns[COLUMN_N] = {
	[COLUMN_TIME] = { NULL, "time", "%", 6, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_SHARE] = { NULL, "share", "%", 12, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_KIND] = { NULL, "kind", NULL, 7, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_DISTANCE] = { NULL, "distance", NULL, 8, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_LOAD] = { NULL, "load", NULL, 19, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_STORE] = { NULL, "store", NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

static const struct column json_columns[] = {
	[COLUMN_TIME] = { "time_share", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "share", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "bound", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "low", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "count", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	{ "observations", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	{ "kind", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "distance", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	{ "nearest", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	{ "farthest", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	{ "load", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	{ "store", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
};

static int by_load(const void *a, const void *b)
{
	const struct judged *x = a, *y = b;

	return site_id_order(x->load, y->load);
}

/* Adds up the judged executions of each load. */
static int sum_judged(struct conflicts *cs)
{
	const struct profile *p = &cs->r->profile;
	struct conflict *c, *tmp;
	size_t k = 0;

	cs->judged = calloc(HASH_COUNT(p->conflicts) + 1, sizeof(*cs->judged));
	if (!cs->judged)
		return -1;
	HASH_ITER (hh, p->conflicts, c, tmp)
		if (c->key.kind != CONFLICT_ALIAS)
			cs->judged[cs->njudged++] = (struct judged){ c->key.load, c->count };
	if (cs->njudged)
		qsort(cs->judged, cs->njudged, sizeof(*cs->judged), by_load);
	for (size_t i = 1; i < cs->njudged; i++)
		if (!site_id_order(cs->judged[k].load, cs->judged[i].load))
			cs->judged[k].count += cs->judged[i].count;
		else
			cs->judged[++k] = cs->judged[i];
	cs->njudged = cs->njudged ? k + 1 : 0;
	return 0;
}

static uint64_t judged(const struct conflicts *cs, struct site_id load)
{
	const struct judged key = { .load = load };
	const struct judged *j = NULL;

	if (cs->njudged)
		j = bsearch(&key, cs->judged, cs->njudged, sizeof(key), by_load);
	return j ? j->count : 0;
}

static bool is_asked(const char *kinds, const char *kind)
{
	size_t n = strlen(kind);

	for (; kinds; kinds = strchr(kinds, ',') ? strchr(kinds, ',') + 1 : NULL)
		if (strcspn(kinds, ",") == n && !strncmp(kinds, kind, n))
			return true;
	return false;
}

static const struct view_proc *proc_of(const struct view *v, struct site_id id)
{
	size_t i = place_index(v, id);

	return i == SIZE_MAX ? NULL : &v->proc[v->proc_of[i]];
}

/* The time of a load, and, where time is sampled, of the next instruction, which waits for the
 * load to retire and gets its samples. i: index of the load. */
static double time_at(const struct view *v, size_t i)
{
	const struct site *s = v->site[i], *next = i + 1 < v->n ? v->site[i + 1] : NULL;
	double time = view_time(v, s);

	if (!v->exact && next && next->id.image == s->id.image &&
	    next->id.addr == s->id.addr + s->len)
		time += view_time(v, next);
	return time;
}

static void consider(struct conflicts *cs, const struct conflict *c)
{
	const struct view *v = &cs->r->view;
	struct pair q = { .c = c, .judged = judged(cs, c->key.load) };
	size_t i = place_index(v, c->key.load);
	double count = (double)c->count;

	if (c->key.kind == CONFLICT_NONE || i == SIZE_MAX || !q.judged)
		return;
	if (cs->o->kinds && !is_asked(cs->o->kinds, conflict_kind_name[c->key.kind]))
		return;
	if (!view_image_matches(v, c->key.load.image, cs->o->image))
		return;
	if (cs->only && &v->proc[v->proc_of[i]] != cs->only && proc_of(v, c->key.store) != cs->only)
		return;
	if (v->exact) {
		const struct hot_value exact = { .count = count, .low = count, .high = count };

		q.share = share_all(&exact, (double)q.judged);
	} else {
		q.share = share_of(count, (double)q.judged);
	}
	if (q.share.value < cs->o->min_share)
		return;
	q.time = time_at(v, i) * q.share.value;
	cs->v[cs->n++] = q;
}

/* Forwarded loads, which cost nothing, come last. */
static bool is_forwarded(const struct pair *q)
{
	return q->c->key.kind != CONFLICT_PARTIAL && q->c->key.kind != CONFLICT_ALIAS;
}

static int best_first(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = is_forwarded(x) - is_forwarded(y);

	if (order)
		return order;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	if (x->c->count != y->c->count)
		return x->c->count > y->c->count ? -1 : 1;
	order = site_id_order(x->c->key.load, y->c->key.load);
	return order ? order : site_id_order(x->c->key.store, y->c->key.store);
}

static int find_pairs(struct conflicts *cs, struct err *err)
{
	const struct profile *p = &cs->r->profile;
	struct conflict *c, *tmp;

	if (cs->o->procedure) {
		cs->only = lookup_proc(&cs->r->view, cs->o->procedure, cs->o->image, err);
		if (!cs->only)
			return -1;
	}
	cs->v = calloc(HASH_COUNT(p->conflicts) + 1, sizeof(*cs->v));
	if (!cs->v || sum_judged(cs))
		return err_no_memory(err, "the report");
	HASH_ITER (hh, p->conflicts, c, tmp) {
		consider(cs, c);
	}
	if (cs->n)
		qsort(cs->v, cs->n, sizeof(*cs->v), best_first);
	cs->total = cs->n;
	if (cs->o->n && cs->n > cs->o->n)
		cs->n = cs->o->n;
	return 0;
}

static int refuse_none(const struct conflicts *cs, struct err *err)
{
	const struct profile *p = &cs->r->profile;
	bool judged_any = cs->njudged > 0;

	if (judged_any) {
		err_set(err, ERR_EMPTY,
			"of %zu loads that were looked at, none has such a conflict", cs->njudged);
		return err_hint(err, "a lower --min-share, or other --kind, may show some");
	}
	if (cs->r->view.exact) {
		err_set(err, ERR_EMPTY, "%s is an exact recording without conflicts", cs->r->path);
		return err_hint(err, "`assay record --exact --observe conflicts -- CMD` has them, "
				     "`assay record -- CMD` samples them");
	}
	err_set(err, ERR_EMPTY, "%s holds no conflicts", cs->r->path);
	return err_hint(
		err,
		p->nrun && p->run[0].distance
			? "`assay info` says why windows ended before they could show some"
			: "record with a --burst of at least 2, and a --distance of at least 1");
}

/* Printing conflicts. */

static void print_text(struct conflicts *cs, const struct pair *q)
{
	struct emit *e = &cs->r->emit;
	const struct conflict *c = q->c;
	char share[40], bound[16], distance[48], load[600], store[600];
	struct place at, from;
	struct cell cell[COLUMN_N];

	place_find(&at, cs->r, c->key.load);
	place_find(&from, cs->r, c->key.store);
	fmt_percent(q->share.value, share, sizeof(share));
	if (q->share.bound > 0)
		snprintf(share + strlen(share), sizeof(share) - strlen(share), "+-%s",
			 fmt_percent(q->share.bound, bound, sizeof(bound)));
	if (c->nearest == c->farthest)
		snprintf(distance, sizeof(distance), "%u", c->nearest);
	else
		snprintf(distance, sizeof(distance), "%u-%u", c->nearest, c->farthest);
	cell[COLUMN_TIME] = cell_real(view_share(&cs->r->view, q->time));
	cell[COLUMN_SHARE] = cell_text(share);
	cell[COLUMN_KIND] = cell_text(conflict_kind_name[c->key.kind]);
	cell[COLUMN_DISTANCE] = cell_text(distance);
	cell[COLUMN_LOAD] =
		cell_text(place_text(&at, emit_column_width(e, COLUMN_LOAD), load, sizeof(load)));
	cell[COLUMN_STORE] = cell_text(
		place_text(&from, emit_column_width(e, COLUMN_STORE), store, sizeof(store)));
	emit_row(e, cell);
	if (at.line[0] || from.line[0])
		emit_line(e, "%*s%s <- %s", emit_column_at(e, COLUMN_KIND), "",
			  at.line[0] ? at.line : "?", from.line[0] ? from.line : "?");
}

static void print_json(struct conflicts *cs, const struct pair *q)
{
	const struct conflict *c = q->c;
	struct place at, from;

	place_find(&at, cs->r, c->key.load);
	place_find(&from, cs->r, c->key.store);
	{
		const struct cell cell[] = {
			cell_real(view_share(&cs->r->view, q->time)),
			cell_real(q->share.value),
			cell_real(q->share.bound),
			cell_real(q->share.low),
			cell_count(c->count),
			cell_count(q->judged),
			cell_text(conflict_kind_name[c->key.kind]),
			cell_real((double)c->distance / (double)c->count),
			cell_count(c->nearest),
			cell_count(c->farthest),
			cell_json(place_json(&at)),
			cell_json(place_json(&from)),
		};

		emit_row(&cs->r->emit, cell);
	}
}

static const struct term kind_terms[] = {
	{ "partial", "the store wrote a part of what is loaded, so forwarding fails" },
	{ "alias", "addresses of store and load differ in bits 12 and up alone (4K aliasing)" },
	{ "full", "the store wrote all that is loaded, so it is forwarded" },
	{ "share", "of the executions of the load" },
	{ 0 },
};

static const struct term sampled_terms[] = {
	{ "time", "of the program's time, at the load and the instruction behind it, for its "
		  "share" },
	{ "distance", "instructions from store to load, within half a window" },
	{ 0 },
};

static const struct term exact_terms[] = {
	{ "all", "of the executed instructions, at the load, for its share" },
	{ "distance", "instructions from store to load" },
	{ 0 },
};

static void print_footer(struct conflicts *cs)
{
	struct emit *e = &cs->r->emit;
	bool exact = cs->r->view.exact;
	char a[32], b[32];

	emit_line(e, "%s", "");
	emit_footer(e,
		    "%s of %s pairs shown; more by -n 0, others by --kind, --image, --procedure.",
		    fmt_count(cs->n, a, sizeof(a)), fmt_count(cs->total, b, sizeof(b)));
	emit_terms(e, kind_terms);
	emit_terms(e, exact ? exact_terms : sampled_terms);
}

static void print_all(struct conflicts *cs)
{
	struct column column[EMIT_COLUMNS];
	bool json = cs->r->emit.json;
	int n = json ? (int)(sizeof(json_columns) / sizeof(json_columns[0])) : COLUMN_N;

	memcpy(column, json ? json_columns : text_columns,
	       json ? sizeof(json_columns) : sizeof(text_columns));
	if (cs->r->view.exact) {
		column[COLUMN_TIME].key = json ? "executed_share" : NULL;
		column[COLUMN_TIME].header = json ? NULL : "all";
	}
	reading_heading(cs->r);
	emit_table(&cs->r->emit, "conflicts", column, n);
	for (size_t i = 0; i < cs->n; i++) {
		if (json)
			print_json(cs, &cs->v[i]);
		else
			print_text(cs, &cs->v[i]);
	}
	emit_set(&cs->r->emit, "conflicts_total", json_integer((json_int_t)cs->total));
	emit_set(&cs->r->emit, "within",
		 json_integer((json_int_t)cs->r->profile.conflict_distance));
	print_footer(cs);
}

int conflicts_print(struct reading *r, const struct conflicts_options *o, struct err *err)
{
	struct conflicts cs = { .r = r, .o = o };
	int rc = find_pairs(&cs, err);

	if (!rc && !cs.n)
		rc = refuse_none(&cs, err);
	if (!rc)
		print_all(&cs);
	free(cs.judged);
	free(cs.v);
	return rc;
}
