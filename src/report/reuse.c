/* SPDX-License-Identifier: MIT */
#include "report/reuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "model/machine.h"
#include "observe/distances.h"
#include "observe/reuses.h"
#include "report/place.h"
#include "report/reuse_sampled.h"

#define LEAST 1024 /* bytes of the smallest cache in the table */
#define CACHES 3
#define ROWS (DISTANCE_BITS + CACHES)
#define BAR 30
#define KNOWN 0.5      /* share of the time; below it the recording lacks estimates of executions */
#define FEW_WATCHED 30 /* watched lines below which the estimate is unreliable */

/* A procedure that touched lines. */
struct user {
	uint32_t proc;
	uint64_t touches;
	double missed[CACHES]; /* touches missed in a cache of each size */
};

struct curve {
	struct reading *r;
	const struct reuse_options *o;
	struct distances sum;
	uint64_t touches;
	bool estimated;
	struct sampled_reuse sampled;
	struct machine machine;
	struct cache_mark {
		const char *name;
		uint64_t bytes;
	} mark[CACHES]; /* ascending sizes; 0: the cache does not exist */
	struct user *user;
	size_t nuser;
};

enum {
	SIZE_BYTES,
	SIZE_MISSES,
	SIZE_BAR,
	SIZE_COLUMNS
};

static const struct column estimated_text[] = {
	{ NULL, "cache", NULL, 9, EMIT_RIGHT, EMIT_TEXT },
	{ NULL, "misses", "%", 9, EMIT_RIGHT, EMIT_SHARE },
	{ NULL, "from", NULL, 6, EMIT_RIGHT, EMIT_SHARE },
	{ NULL, "to", NULL, 6, EMIT_RIGHT, EMIT_SHARE },
	{ NULL, "", NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

static const struct column size_text[SIZE_COLUMNS] = {
	[SIZE_BYTES] = { NULL, "cache", NULL, 9, EMIT_RIGHT, EMIT_TEXT },
	[SIZE_MISSES] = { NULL, "misses", "%", 9, EMIT_RIGHT, EMIT_SHARE },
	[SIZE_BAR] = { NULL, "", NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

static const struct column size_json[] = {
	{ "bytes", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	{ "misses", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	{ "ratio", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "cache", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "low", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE }, /* these two exist only in estimates */
	{ "high", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
};
#define SIZE_JSON_EXACT 4

/* The share of touches at distances [from, to) that a cache of so many lines misses: they are taken as evenly spread. */
static double missed_between(uint64_t from, uint64_t to, double lines)
{
	double a = (double)from, b = (double)to;

	return a >= lines ? 1 : b <= lines ? 0 : (b - lines) / (b - a);
}

/* Misses of a cache of that many lines. */
static double misses_of(const struct distances *d, double lines)
{
	double n = (double)d->cold;

	for (unsigned b = 0; b < DISTANCE_BUCKETS; b++)
		n += missed_between(distance_of_bucket(b), distance_of_bucket(b + 1), lines) *
		     (double)d->bucket[b];
	return n;
}

static double site_misses(const struct site_distances *d, double lines)
{
	double n = (double)d->cold;

	for (unsigned o = 0; o < DISTANCE_OCTAVES; o++)
		n += missed_between(distance_of_octave(o), distance_of_octave(o + 1), lines) *
		     (double)d->octave[o];
	return n;
}

static double ratio(const struct curve *c, double bytes)
{
	return misses_of(&c->sum, bytes / c->sum.line) / (double)c->touches;
}

/* The same with its bounds, of an estimate: by the estimate itself, since counted touches are of whole buckets. */
static double ratio_within(const struct curve *c, double bytes, double *low, double *high)
{
	return c->estimated ? sampled_reuse_misses(&c->sampled, bytes / c->sum.line, low, high)
			    : ratio(c, bytes);
}

/* Adds up the estimate, in the form of counted touches. */
static int add_up_sampled(struct curve *c, struct err *err)
{
	struct sampled_reuse *s = &c->sampled;
	double before = 1;

	if (sampled_reuse_make(s, c->r, c->o->process, err))
		return -1;
	if (!s->ngroups || s->touches < 1) {
		err_set(err, ERR_EMPTY, "%s has no reuse times%s", c->r->path,
			c->o->process ? " of that process" : "");
		return err_hint(err, "`assay reuse --json` lists processes");
	}
	c->estimated = true;
	c->sum.line = REUSES_LINE;
	for (unsigned b = 0; b < DISTANCE_BUCKETS; b++) {
		double bound = (double)distance_of_bucket(b + 1);
		double m = sampled_reuse_misses(s, bound, NULL, NULL);

		c->sum.bucket[b] = (uint64_t)((before - m) * s->touches + 0.5);
		before = m;
	}
	c->sum.cold = (uint64_t)(before * s->touches + 0.5);
	c->touches = distances_total(&c->sum);
	return 0;
}

/* Adds up processes with the same line size as the first one. */
static int add_up(struct curve *c, struct err *err)
{
	const struct profile *p = &c->r->profile;

	for (size_t i = 0; i < p->ndistances; i++) {
		const struct distances *d = p->distances[i];

		if (c->o->process && d->pid != c->o->process)
			continue;
		if (c->sum.line && d->line != c->sum.line) {
			err_set(err, ERR_FAILED, "%s adds up lines of %u and of %u bytes",
				c->r->path, c->sum.line, d->line);
			return err_hint(err, "--process PID shows one process");
		}
		c->sum.line = d->line;
		c->sum.cold += d->cold;
		for (unsigned b = 0; b < DISTANCE_BUCKETS; b++)
			c->sum.bucket[b] += d->bucket[b];
	}
	c->touches = distances_total(&c->sum);
	if (c->touches)
		return 0;
	if (p->reuses)
		return add_up_sampled(c, err);
	if (p->ndistances && c->o->process) {
		err_set(err, ERR_EMPTY, "%s has no process %u", c->r->path, c->o->process);
		return err_hint(err, "`assay reuse --json` lists them");
	}
	err_set(err, ERR_EMPTY, "%s holds no reuse distances", c->r->path);
	return err_hint(err, "`assay record --reuse -- CMD` records an estimate, "
			     "`assay record --exact --observe reuse -- CMD` all");
}

/* Marks the caches of the machine that recorded. */
static void mark_caches(struct curve *c)
{
	const char *text = c->r->profile.nrun ? c->r->profile.run[0].machine : NULL;
	struct err ignored;

	memset(&c->machine, 0, sizeof(c->machine));
	if (!text || machine_parse(&c->machine, text, &ignored))
		machine_this(&c->machine);
	c->mark[0] = (struct cache_mark){ "L1d", c->machine.l1d.size };
	c->mark[1] = (struct cache_mark){ "L2", c->machine.l2.size };
	c->mark[2] = (struct cache_mark){ "L3", c->machine.l3.size };
}

static const char *mark_of(const struct curve *c, uint64_t bytes)
{
	for (unsigned i = 0; i < CACHES; i++)
		if (c->mark[i].bytes == bytes)
			return c->mark[i].name;
	return NULL;
}

/* Formats a size as caches are called: 48 KiB, 32 MiB. */
static char *size_text_of(uint64_t bytes, char *buf, size_t n)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned i = 0;

	while (i < 4 && bytes >= 1024 && !(bytes & 1023)) {
		bytes >>= 10;
		i++;
	}
	snprintf(buf, n, "%lu %s", (unsigned long)bytes, unit[i]);
	return buf;
}

/* Chooses the sizes of the table, ascending: powers of two up to where only new lines miss, and
 * the marks. Returns how many. */
static unsigned sizes_of(const struct curve *c, uint64_t *size)
{
	double lines = c->estimated ? c->sampled.lines : (double)c->sum.cold;
	uint64_t end = (uint64_t)(lines * c->sum.line);
	unsigned n = 0;

	for (uint64_t s = LEAST; n + CACHES < ROWS; s *= 2) {
		for (unsigned i = 0; i < CACHES; i++)
			if (c->mark[i].bytes > s / 2 && c->mark[i].bytes < s)
				size[n++] = c->mark[i].bytes;
		if (s / 2 < end || mark_of(c, s))
			size[n++] = s;
		if (s >= end && s >= c->mark[CACHES - 1].bytes)
			break;
	}
	return n;
}

static void print_sizes(struct curve *c)
{
	struct emit *e = &c->r->emit;
	uint64_t size[ROWS];
	unsigned n = sizes_of(c, size);

	emit_table(e, "sizes",
		   e->json	  ? size_json
		   : c->estimated ? estimated_text
				  : size_text,
		   e->json	  ? SIZE_JSON_EXACT + 2 * c->estimated
		   : c->estimated ? (int)(sizeof(estimated_text) / sizeof(estimated_text[0]))
				  : SIZE_COLUMNS);
	for (unsigned i = 0; i < n; i++) {
		double low = 0, high = 0, share = ratio_within(c, (double)size[i], &low, &high);
		const char *mark = mark_of(c, size[i]);
		char bytes[32], bar[BAR + 32];
		int full = (int)(share * BAR + 0.5);

		snprintf(bar, sizeof(bar), "%.*s%s%s", full, "##############################",
			 mark ? " <- " : "", mark ? mark : "");
		if (e->json) {
			const struct cell cell[] = {
				cell_count(size[i]), cell_real(share * (double)c->touches),
				cell_real(share),    cell_text(mark),
				cell_real(low),	     cell_real(high)
			};

			emit_row(e, cell);
		} else if (c->estimated) {
			const struct cell cell[] = {
				cell_text(size_text_of(size[i], bytes, sizeof(bytes))),
				cell_real(share), cell_real(low), cell_real(high), cell_text(bar)
			};

			emit_row(e, cell);
		} else {
			const struct cell cell[] = { cell_text(size_text_of(size[i], bytes,
									    sizeof(bytes))),
						     cell_real(share), cell_text(bar) };

			emit_row(e, cell);
		}
	}
}

/* Table of procedures. */

static int by_proc(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return (x->proc > y->proc) - (x->proc < y->proc);
}

/* Sorts by misses of the middle cache, most first. */
static int by_misses(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	for (int i = 1; i < CACHES; i++)
		if (x->missed[i] > y->missed[i] || x->missed[i] < y->missed[i])
			return x->missed[i] > y->missed[i] ? -1 : 1;
	if (x->touches != y->touches)
		return x->touches > y->touches ? -1 : 1;
	return by_proc(a, b);
}

static int sum_users(struct curve *c)
{
	const struct profile *p = &c->r->profile;
	struct site_distances *d, *tmp;
	size_t k = 0;

	c->user = calloc(HASH_COUNT(p->site_distances) + 1, sizeof(*c->user));
	if (!c->user)
		return -1;
	HASH_ITER (hh, p->site_distances, d, tmp) {
		size_t at = place_index(&c->r->view, d->key);
		struct user *u = &c->user[c->nuser];

		if (at == SIZE_MAX)
			continue;
		u->proc = c->r->view.proc_of[at];
		u->touches = d->cold;
		for (unsigned o = 0; o < DISTANCE_OCTAVES; o++)
			u->touches += d->octave[o];
		for (unsigned i = 0; i < CACHES; i++)
			u->missed[i] = site_misses(d, (double)c->mark[i].bytes / c->sum.line);
		c->nuser++;
	}
	if (!c->nuser)
		return 0;
	qsort(c->user, c->nuser, sizeof(*c->user), by_proc);
	for (size_t i = 1; i < c->nuser; i++) {
		if (c->user[k].proc != c->user[i].proc) {
			c->user[++k] = c->user[i];
			continue;
		}
		c->user[k].touches += c->user[i].touches;
		for (unsigned m = 0; m < CACHES; m++)
			c->user[k].missed[m] += c->user[i].missed[m];
	}
	c->nuser = k + 1;
	qsort(c->user, c->nuser, sizeof(*c->user), by_misses);
	return 0;
}

enum {
	USER_SHARE,
	USER_TOUCHES,
	USER_FIRST,
	USER_IMAGE = USER_FIRST + CACHES,
	USER_NAME,
	USER_COLUMNS
};

static const struct column user_columns[USER_COLUMNS] = {
	[USER_SHARE] = { "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[USER_TOUCHES] = { "touches", "touches", NULL, 14, EMIT_RIGHT, EMIT_COUNT },
	[USER_FIRST] = { "l1d_ratio", "L1d", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[USER_FIRST + 1] = { "l2_ratio", "L2", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[USER_FIRST + 2] = { "l3_ratio", "L3", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[USER_IMAGE] = { "image", "image", NULL, 13, EMIT_LEFT, EMIT_TEXT },
	[USER_NAME] = { "procedure", "procedure", NULL, 0, EMIT_LEFT_NAME, EMIT_TEXT },
};

static void print_users(struct curve *c)
{
	const struct view *v = &c->r->view;
	size_t shown = c->o->n && c->o->n < c->nuser ? c->o->n : c->nuser;
	double all = 0;

	for (size_t i = 0; i < c->nuser; i++)
		all += c->user[i].missed[1];
	emit_line(&c->r->emit, "%s", "");
	emit_table(&c->r->emit, "procedures", user_columns, USER_COLUMNS);
	for (size_t i = 0; i < shown; i++) {
		const struct user *u = &c->user[i];
		const struct view_proc *p = &v->proc[u->proc];
		struct cell cell[USER_COLUMNS];
		char name[1024];

		cell[USER_SHARE] = cell_real(all > 0 ? u->missed[1] / all : 0);
		cell[USER_TOUCHES] = cell_count(u->touches);
		for (unsigned m = 0; m < CACHES; m++)
			cell[USER_FIRST + m] = cell_real(u->missed[m] / (double)u->touches);
		cell[USER_IMAGE] = cell_text(v->image[p->image].name);
		cell[USER_NAME] = cell_text(view_proc_name(p, name, sizeof(name)));
		emit_row(&c->r->emit, cell);
	}
	emit_set(&c->r->emit, "procedures_total", json_integer((json_int_t)c->nuser));
}

static json_t *points_json(const struct distances *d)
{
	json_t *list = json_array();
	uint64_t left = distances_total(d);

	for (unsigned b = 0; b < DISTANCE_BUCKETS; b++) {
		if (!d->bucket[b])
			continue;
		left -= d->bucket[b];
		json_array_append_new(list,
				      json_pack("[I,I]", (json_int_t)distance_of_bucket(b + 1),
						(json_int_t)left));
	}
	return list;
}

static void set_json(struct curve *c)
{
	const struct profile *p = &c->r->profile;
	json_t *list = json_array();
	const struct reuses *u;

	for (size_t i = 0; i < p->ndistances; i++) {
		const struct distances *d = p->distances[i];

		json_array_append_new(list,
				      json_pack("{s:I,s:I,s:I,s:I}", "pid", (json_int_t)d->pid,
						"line", (json_int_t)d->line, "touches",
						(json_int_t)distances_total(d), "lines",
						(json_int_t)d->cold));
	}
	for (u = p->reuses; u; u = u->hh.next)
		json_array_append_new(list, json_pack("{s:I,s:i,s:I,s:I}", "pid",
						      (json_int_t)u->pid, "line", REUSES_LINE,
						      "windows", (json_int_t)u->windows, "watches",
						      (json_int_t)u->watched));
	if (c->estimated)
		emit_set(&c->r->emit, "estimated",
			 json_pack("{s:I,s:I,s:I,s:f}", "windows",
				   (json_int_t)c->sampled.parts.windows, "watches",
				   (json_int_t)c->sampled.parts.watched, "hits",
				   (json_int_t)c->sampled.hits, "known", c->sampled.parts.known));
	emit_set(&c->r->emit, "processes", list);
	emit_set(&c->r->emit, "line", json_integer((json_int_t)c->sum.line));
	emit_set(&c->r->emit, "touches", json_integer((json_int_t)c->touches));
	emit_set(&c->r->emit, "lines", json_integer((json_int_t)c->sum.cold));
	emit_set(&c->r->emit, "curve", points_json(&c->sum));
}

static int draw(struct curve *c, struct err *err)
{
	struct reuse_point *point = calloc(DISTANCE_BUCKETS + ROWS, sizeof(*point));
	uint64_t size[ROWS];
	unsigned n = sizes_of(c, size), k = 0, b = 1, m = 0;
	char command[1024], title[1100];
	int rc;

	if (!point)
		return err_no_memory(err, "reuse distances");
	while (m < n) {
		uint64_t bound = distance_of_bucket(b) * c->sum.line, at = size[m];

		if (b < DISTANCE_BUCKETS && bound < at) {
			at = bound;
			b++;
		} else {
			m++;
			b += bound == at;
		}
		point[k++] =
			(struct reuse_point){ (double)at, ratio(c, (double)at), mark_of(c, at) };
	}
	snprintf(title, sizeof(title), "misses by cache size: %s",
		 reading_command(c->r, command, sizeof(command)));
	rc = reuse_svg(c->o->svg, point, k, title, err);
	free(point);
	return rc;
}

static const struct term estimated_terms[] = {
	{ "misses", "of all touches of lines, those of a fully associative LRU cache of that size, "
		    "estimated from reuse times (Eklov and Hagersten, StatStack, ISPASS 2010); at "
		    "the end, lines that were not touched again while they were watched" },
	{ "from, to", "95 % of what other samples would have said, and other executions of the "
		      "program's parts, within what is known of them" },
	{ 0 },
};

static const struct term exact_terms[] = {
	{ "misses",
	  "of all touches of lines, those of a fully associative LRU cache of that size, "
	  "exactly; at the end, first touches. Prefetches and instructions do not count" },
	{ "share", "of the misses of a cache like L2" },
	{ "L1d, L2, L3", "of the procedure's touches, misses in a cache of that size, to within an "
			 "octave" },
	{ 0 },
};

static void print_footer(struct curve *c)
{
	struct emit *e = &c->r->emit;

	emit_line(e, "%s", "");
	if (c->estimated) {
		if (c->sampled.parts.known < KNOWN)
			emit_footer(e,
				    "How often most of the code ran is not known, since its files "
				    "cannot be read: bounds are wide.");
		if (c->sampled.parts.watched < FEW_WATCHED)
			emit_footer(e, "Few lines were watched: recorded for longer, bounds are "
				       "narrower.");
		emit_terms(e, estimated_terms);
		return;
	}
	emit_terms(e, exact_terms);
}

int reuse_print(struct reading *r, const struct reuse_options *o, struct err *err)
{
	struct curve *c = calloc(1, sizeof(*c));
	char touches[32], lines[32], bytes[32];
	int rc;

	if (!c)
		return err_no_memory(err, "reuse distances");
	c->r = r;
	c->o = o;
	rc = add_up(c, err);
	if (!rc) {
		mark_caches(c);
		rc = sum_users(c) ? err_no_memory(err, "reuse distances") : 0;
	}
	if (!rc && o->svg)
		rc = draw(c, err);
	if (!rc) {
		reading_heading(r);
		if (c->estimated)
			emit_line(&r->emit, "estimated: %s windows, %s lines watched, %s hits",
				  fmt_count(c->sampled.parts.windows, touches, sizeof(touches)),
				  fmt_count(c->sampled.parts.watched, lines, sizeof(lines)),
				  fmt_count(c->sampled.hits, bytes, sizeof(bytes)));
		else
			emit_line(&r->emit, "%s touches of %s lines of %u bytes: %s",
				  fmt_count(c->touches, touches, sizeof(touches)),
				  fmt_count(c->sum.cold, lines, sizeof(lines)), c->sum.line,
				  fmt_size(c->sum.cold * c->sum.line, bytes, sizeof(bytes)));
		emit_line(&r->emit, "%s", "");
		set_json(c);
		print_sizes(c);
		if (!c->estimated)
			print_users(c);
		print_footer(c);
	}
	sampled_reuse_free(&c->sampled);
	free(c->user);
	free(c);
	return rc;
}
