/* SPDX-License-Identifier: MIT */
#include "observe/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "observe/balance.h"
#include "observe/callers.h"
#include "observe/calls.h"
#include "observe/conflicts.h"
#include "observe/distances.h"
#include "observe/edges.h"
#include "observe/layouts.h"
#include "observe/locality.h"
#include "observe/cycles.h"
#include "observe/misses.h"
#include "observe/pace.h"
#include "observe/reuses.h"
#include "observe/sampled.h"
#include "observe/tallies.h"

const char *const image_kind_name[IMAGE_KIND_N] = { "unknown", "file", "kernel", "anon", "vdso" };

/* The identity of an image: kind, path and build-id as one string. */
struct image_key {
	char *text;
	uint32_t id;
	UT_hash_handle hh;
};

int profile_init(struct profile *p, struct err *err)
{
	memset(p, 0, sizeof(*p));
	p->method = HOT_SPACE_SAVING;
	p->capacity = HOT_CAPACITY_DEFAULT;
	if (profile_image(p, IMAGE_UNKNOWN, "[unknown]", ""))
		return 0;
	profile_fini(p);
	return err_no_memory(err, "the profile");
}

static void free_images(struct profile *p)
{
	struct image_key *k = p->image_keys, *next;

	HASH_CLEAR(hh, p->image_keys);
	for (; k; k = next) {
		next = k->hh.next;
		free(k->text);
		free(k);
	}
	for (size_t i = 0; i < p->nimage; i++) {
		struct profile_image *pi = p->image[i];

		for (size_t j = 0; j < pi->nproc; j++)
			free(pi->proc[j].name);
		free(pi->proc);
		free(pi->path);
		free(pi->build_id);
		free(pi);
	}
	free(p->image);
}

void profile_fini(struct profile *p)
{
	layouts_free(p);
	locality_free(p);
	pace_free(p);
	balance_free(p);
	edges_free(p);
	calls_free(p);
	callers_free(p);
	conflicts_free(p);
	tallies_free(p);
	misses_free(p);
	cycles_free(p);
	distances_free(p);
	reuses_free(p);
	sites_fini(&p->sites);
	stacks_fini(&p->stacks);
	free_images(p);
	for (size_t i = 0; i < p->nrun; i++) {
		struct run *r = &p->run[i];

		free(r->source);
		free(r->command);
		free(r->host);
		free(r->cpu);
		free(r->kernel);
		free(r->version);
		free(r->event);
		free(r->unit);
		free(r->machine);
	}
	free(p->run);
	sampled_free(p);
	for (size_t i = 0; i < p->nwset; i++)
		wset_free(p->wset[i]);
	free(p->wset);
	for (size_t i = 0; i < p->nphases; i++)
		phases_free(p->phases[i]);
	free(p->phases);
	memset(p, 0, sizeof(*p));
}

static struct profile_image *add_image(struct profile *p, int kind, const char *path,
				       const char *build_id)
{
	struct profile_image *pi = calloc(1, sizeof(*pi));

	if (pi) {
		pi->path = strdup(path);
		pi->build_id = strdup(build_id);
	}
	if (!pi || !array_one_more(p->image, p->nimage) || !pi->path || !pi->build_id) {
		if (pi) {
			free(pi->path);
			free(pi->build_id);
		}
		free(pi);
		return NULL;
	}
	pi->id = (uint32_t)p->nimage;
	pi->kind = kind;
	p->image[p->nimage++] = pi;
	return pi;
}

struct profile_image *profile_image(struct profile *p, int kind, const char *path,
				    const char *build_id)
{
	size_t n = strlen(path) + strlen(build_id) + 16;
	char *text = malloc(n);
	struct profile_image *pi;
	struct image_key *k;

	if (!text)
		return NULL;
	snprintf(text, n, "%d:%s:%s", kind, build_id, path);
	HASH_FIND_STR(p->image_keys, text, k);
	if (k) {
		free(text);
		return p->image[k->id];
	}
	k = calloc(1, sizeof(*k));
	pi = k ? add_image(p, kind, path, build_id) : NULL;
	if (!pi) {
		free(k);
		free(text);
		return NULL;
	}
	k->text = text;
	k->id = pi->id;
	HASH_ADD_KEYPTR(hh, p->image_keys, k->text, strlen(k->text), k);
	if (!k->hh.tbl) {
		free(k);
		free(text);
		return NULL;
	}
	return pi;
}

int site_id_order(struct site_id a, struct site_id b)
{
	if (a.image != b.image)
		return a.image < b.image ? -1 : 1;
	return (a.addr > b.addr) - (a.addr < b.addr);
}

struct site *profile_site_find(const struct profile *p, struct site_id id)
{
	return sites_find(&p->sites, id);
}

struct site *profile_site(struct profile *p, struct site_id id)
{
	return sites_get(&p->sites, id);
}

struct hot *profile_operand(struct profile *p, struct site *s, int operand)
{
	struct hot **h = site_operand(s, operand);

	if (h && !*h)
		*h = hot_new(p->method, p->capacity);
	return h ? *h : NULL;
}

struct run *profile_run(struct profile *p)
{
	if (!array_one_more(p->run, p->nrun))
		return NULL;
	memset(&p->run[p->nrun], 0, sizeof(*p->run));
	return &p->run[p->nrun++];
}

static bool is_coproc(const struct run *r)
{
	return r->source && !strcmp(r->source, "coproc");
}

bool run_is_exact(const struct run *r)
{
	return r->source && !strcmp(r->source, "exact");
}

enum hot_extent profile_extent(const struct profile *p)
{
	const char *source = p->nrun ? p->run[0].source : NULL;

	return source && !strcmp(source, "sampler") ? HOT_HOT : HOT_ALL;
}

int profile_sample(struct profile *p, struct site_id id, double weight)
{
	struct site *s = profile_site(p, id);

	if (!s)
		return -1;
	s->samples++;
	s->time += weight;
	return 0;
}

/* Adds the values of one instruction of a window to its hot lists. -1 without memory. */
static int profile_values(struct profile *p, struct site *s, const struct retired *r, double weight)
{
	for (unsigned have = r->have; have; have &= have - 1) {
		int i = __builtin_ctz(have);
		struct hot *h;

		if (i >= OPERAND_N)
			break;
		h = profile_operand(p, s, i);
		if (!h || hot_add_weighted(h, r->value[i], weight))
			return -1;
	}
	return 0;
}

/* instructions of a window that count as near its beginning: many windows end early, and those that
 * go on are not typical */
#define NEAR 32
#define T_LEAST 0.75 /* least time of an execution, as a part of the mean */
#define T_PRIOR 0.5  /* weight, in windows, of the prior that an execution takes the mean */

static double weight_of(const struct profile *p, const struct site_weights *w)
{
	double expected = p->near > 0 ? w->near / p->near * p->starts : 0;
	double t = ((double)w->starts + T_PRIOR) / (expected + T_PRIOR);

	return p->near > 0 ? 1 / fmax(t, T_LEAST) : 1;
}

/* Counts a window that begins at the site. */
static void note_start(struct profile *p, struct site_weights *w)
{
	w->starts += w->starts < UINT32_MAX;
	p->starts++;
}

/* The weight of a window that begins at s. */
static double weigh_window(struct profile *p, struct site *s)
{
	struct site_weights *w = site_weigh(s);

	if (!w)
		return -1;
	note_start(p, w);
	return weight_of(p, w);
}

double profile_window_weight(const struct profile *p, struct site_id id)
{
	const struct site *s = profile_site_find(p, id);

	return s && s->weights ? weight_of(p, s->weights) : 1;
}

/* The weights of a window. `start` is the weight by the window's first instruction, and its first
 * instructions are counted with it; the other weight includes pace and balance. */
struct weighing {
	double start, all;
};

static int observe(struct profile *p, const struct retired *r, uint32_t number,
		   const struct weighing *weigh, struct locality_past *past)
{
	struct site *s = profile_site(p, r->site);
	struct site_weights *w = s ? site_weigh(s) : NULL;
	bool near = number && number < NEAR, again;
	double weight = weigh->all;

	if (!w)
		return -1;
	again = s->seen == p->windows;
	s->cls = r->cls;
	s->len = r->len;
	/* the number of windows stays unknown if that of earlier observations was */
	if (!again && (s->windows || !s->observed))
		s->windows++;
	s->seen = p->windows;
	s->observed++;
	s->taken += r->taken;
	w->in_window = again ? w->in_window : 0;
	w->square += weight * (2 * (double)w->in_window + weight);
	w->in_window += (float)weight;
	w->observed += weight;
	w->taken += r->taken ? weight : 0;
	w->near += near ? weigh->start : 0;
	p->near += near ? weigh->start : 0;
	if (past && locality_note(past, s, r, number >= LOCALITY_AFTER,
				  !pace_sure(p, number)	  ? LOCALITY_UNSURE
				  : pace_wrong(p, number) ? LOCALITY_WRONG
							  : LOCALITY_RIGHT))
		return -1;
	return r->have ? profile_values(p, s, r, weight) : 0;
}

static int weigh(struct profile *p, struct site *start, const struct window *w, struct weighing *to)
{
	double factor, share = w->stands ? (double)w->stands / WINDOW_STANDS_MOST : 1;

	to->start = weigh_window(p, start);
	if (to->start < 0 || pace_window(p, w, &factor))
		return -1;
	to->all = fmin(to->start * factor, HOT_WEIGHT_MAX);
	to->start *= share;
	if (balance_window(p, w, to->all * (w->stands ? w->stands : 1), &factor))
		return -1;
	to->all = fmin(to->all * factor, HOT_WEIGHT_MAX) * share;
	return 0;
}

/* Notes that a window that would have begun at s was passed over: it counts as a beginning of a
 * window, like those that were run. */
static int note_passed(struct profile *p, struct site *s)
{
	struct site_weights *w = site_weigh(s);

	if (!w)
		return -1;
	note_start(p, w);
	return 0;
}

/*
 * Adds what a rare window saw from `from` on, or the end of another window. It happened, but was
 * looked for because it is rare, so it says little about frequency: its weight is too small to
 * change what is known of code that other windows saw.
 */
static int observe_rare(struct profile *p, const struct window *w, uint32_t from)
{
	static const struct weighing weighing = { 0, PROFILE_RARE_WEIGHT };
	struct window rare = *w;

	if (!from)
		p->windows++;
	for (uint32_t i = from; i < w->n; i++)
		if (observe(p, &w->ri[i], i, &weighing, NULL))
			return -1;
	from -= from > 0; /* where control went after the preceding part */
	rare.ri += from;
	rare.n -= from;
	rare.rare = true;
	return edges_window(p, &rare);
}

/* Adds the part of a window that stands for its time, with the weight of that part. */
static int observe_usual(struct profile *p, struct site *start, const struct window *w)
{
	struct locality_past *past = NULL;
	struct weighing weighing = { 1, 1 };

	if (w->n && weigh(p, start, w, &weighing))
		return -1;
	if (!p->branches && locality_begin(p, w, &past))
		return -1;
	for (uint32_t i = 0; i < w->n; i++)
		if (observe(p, &w->ri[i], i, &weighing, past))
			return -1;
	return 0;
}

int profile_window(struct profile *p, const struct window *w)
{
	struct site *start = profile_site(p, w->start);
	struct window usual = *w;

	if (!start)
		return -1;
	if (w->rare)
		return observe_rare(p, w, 0);
	usual.n -= w->extra;
	start->samples++;
	start->time += w->weight;
	p->windows++;
	if (w->stop == RA_STOP_PASSED && note_passed(p, start))
		return -1;
	if (observe_usual(p, start, &usual) || edges_window(p, &usual))
		return -1;
	if (w->extra && observe_rare(p, w, usual.n))
		return -1;
	if (p->branches)
		return 0;
	if (calls_window(p, w) || callers_window(p, w) || conflicts_window(p, w) ||
	    tallies_window(p, w))
		return -1;
	return 0;
}

/* Merging of profiles. */

static int merge_procs(struct profile_image *dst, const struct profile_image *src)
{
	struct profile_proc *all;
	size_t i = 0, j = 0, k = 0;
	int rc = 0;

	if (!src->nproc)
		return 0;
	all = calloc(dst->nproc + src->nproc, sizeof(*all));
	if (!all)
		return -1;
	while (i < dst->nproc || j < src->nproc) {
		if (j == src->nproc ||
		    (i < dst->nproc && dst->proc[i].start <= src->proc[j].start)) {
			if (j < src->nproc && dst->proc[i].start == src->proc[j].start)
				j++;
			all[k++] = dst->proc[i++];
			continue;
		}
		all[k] = src->proc[j++];
		all[k].name = strdup(all[k].name);
		if (!all[k].name) { /* dst holds everything merged so far */
			while (i < dst->nproc)
				all[k++] = dst->proc[i++];
			rc = -1;
			break;
		}
		k++;
	}
	free(dst->proc);
	dst->proc = all;
	dst->nproc = k;
	return rc;
}

void profile_site_observed(struct site *s, uint64_t observed, uint64_t taken, uint64_t windows)
{
	bool unknown = (s->observed && !s->windows) || (observed && !windows);

	s->observed += observed;
	s->taken += taken;
	s->windows = unknown ? 0 : s->windows + windows;
}

/* Merges weights; called before counts are added. */
static int merge_weights(struct site *dst, const struct site *src)
{
	struct site_weights from = site_weights(src), *to;

	if (!dst->weights && !src->weights)
		return 0;
	to = site_weigh(dst);
	if (!to)
		return -1;
	to->observed += from.observed;
	to->taken += from.taken;
	to->square += from.square;
	return 0;
}

static int merge_locality(struct site *dst, const struct site *src)
{
	struct locality from = locality_get(src), *to;

	if (!src->locality)
		return 0;
	if (locality_count(dst, &from))
		return -1;
	to = from.spread ? locality_of(dst) : NULL;
	return !from.spread || (to && !locality_spread(to, from.spread)) ? 0 : -1;
}

static int merge_site(struct profile *dst, const struct site *s, uint32_t image)
{
	struct site *d = profile_site(dst, (struct site_id){ .image = image, .addr = s->id.addr });

	if (!d)
		return -1;
	if (s->len) {
		d->cls = s->cls;
		d->len = s->len;
	}
	if (s->target)
		d->target = s->target;
	d->samples += s->samples;
	d->time += s->time;
	if (sites_note(&dst->sites, d) || merge_weights(d, s))
		return -1;
	profile_site_observed(d, s->observed, s->taken, s->windows);
	if (merge_locality(d, s))
		return -1;
	for (int i = 0; i < OPERAND_N; i++) {
		struct hot **to;

		if (!site_hot(s, i))
			continue;
		to = site_operand(d, i);
		if (to && !*to)
			*to = hot_new(hot_method(site_hot(s, i)), dst->capacity);
		if (!to || !*to || hot_merge(*to, site_hot(s, i)))
			return -1;
	}
	return 0;
}

struct wset *profile_wset(struct profile *p)
{
	struct wset *w = array_one_more(p->wset, p->nwset) ? wset_new() : NULL;

	if (w)
		p->wset[p->nwset++] = w;
	return w;
}

struct phases *profile_phases(struct profile *p)
{
	struct phases *one = array_one_more(p->phases, p->nphases) ? phases_new() : NULL;

	if (one)
		p->phases[p->nphases++] = one;
	return one;
}

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

static int merge_runs(struct profile *dst, const struct profile *src)
{
	for (size_t i = 0; i < src->nrun; i++) {
		struct run *r = profile_run(dst);
		const struct run *s = &src->run[i];

		if (!r)
			return -1;
		*r = *s;
		r->source = copy(s->source);
		r->command = copy(s->command);
		r->host = copy(s->host);
		r->cpu = copy(s->cpu);
		r->kernel = copy(s->kernel);
		r->version = copy(s->version);
		r->event = copy(s->event);
		r->unit = copy(s->unit);
		r->machine = copy(s->machine);
	}
	return 0;
}

/* Appends working sets, which belong to different runs and do not add up. */
static int merge_wsets(struct profile *dst, const struct profile *src, uint32_t first_run)
{
	for (size_t i = 0; i < src->nwset; i++) {
		struct wset *w = profile_wset(dst);

		if (!w || wset_copy(w, src->wset[i]))
			return -1;
		w->run += first_run;
	}
	return 0;
}

/* Appends phases, which belong to different runs and do not add up. */
static int merge_phases(struct profile *dst, const struct profile *src, const uint32_t *map,
			uint32_t first_run)
{
	for (size_t i = 0; i < src->nphases; i++) {
		struct phases *p = profile_phases(dst);

		if (!p || phases_copy(p, src->phases[i], map))
			return -1;
		p->run += first_run;
	}
	return 0;
}

int profile_merge(struct profile *dst, const struct profile *src, struct err *err)
{
	uint32_t first_run = (uint32_t)dst->nrun;
	uint32_t *map;
	struct site *s;
	int rc;

	if (dst->nrun && src->nrun && dst->run[0].sketch != src->run[0].sketch) {
		err_set(err, ERR_FAILED,
			"the recordings keep hot values by different methods (%s, %s)",
			hot_method_name[dst->run[0].sketch == HOT_COUNTING],
			hot_method_name[src->run[0].sketch == HOT_COUNTING]);
		return err_hint(err, "merge those of one --sketch");
	}
	if (dst->nrun && src->nrun && run_is_exact(&dst->run[0]) != run_is_exact(&src->run[0])) {
		err_set(err, ERR_FAILED,
			"an exact recording and a sampled one do not add up: one counts "
			"executions, the other samples of time");
		return err_hint(err, "`assay verify SAMPLED EXACT` holds one against the other");
	}
	if (dst->nrun && src->nrun && is_coproc(&dst->run[0]) != is_coproc(&src->run[0]))
		return err_set(err, ERR_FAILED,
			       "what a co-processor saw does not add up with other recordings: it "
			       "counts its samples");
	map = calloc(src->nimage + 1, sizeof(*map));
	rc = map ? 0 : -1;

	for (size_t i = 0; i < src->nimage && !rc; i++) {
		const struct profile_image *from = src->image[i];
		struct profile_image *to =
			profile_image(dst, from->kind, from->path, from->build_id);

		rc = to ? merge_procs(to, from) : -1;
		if (!rc) {
			to->stripped |= from->stripped;
			layouts_add(to, from);
			map[i] = to->id;
		}
	}
	SITES_COUNTED(&src->sites, s)
	{
		if (rc)
			break;
		rc = merge_site(dst, s, map[s->id.image]);
	}
	if (!rc && (edges_merge(dst, src, map) || calls_merge(dst, src, map) ||
		    callers_merge(dst, src, map) || conflicts_merge(dst, src, map) ||
		    tallies_merge(dst, src, map) || misses_merge(dst, src, map) ||
		    cycles_merge(dst, src, map) || distances_merge(dst, src, map) ||
		    reuses_merge(dst, src, map)))
		rc = -1;
	if (!rc)
		rc = merge_runs(dst, src) || merge_wsets(dst, src, first_run) ||
				     merge_phases(dst, src, map, first_run) ||
				     sampled_merge(dst, src, first_run) ||
				     stacks_merge(&dst->stacks, &src->stacks, map, first_run)
			     ? -1
			     : 0;
	free(map);
	return rc ? err_no_memory(err, "the merged profile") : 0;
}

void profile_counters(const struct profile *p, struct run_counters *sum)
{
	uint64_t *to = (uint64_t *)sum;

	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < p->nrun; i++) {
		const uint64_t *from = (const uint64_t *)&p->run[i].n;

		for (size_t k = 0; k < sizeof(*sum) / sizeof(*to); k++)
			to[k] += from[k];
	}
}
