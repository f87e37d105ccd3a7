/* SPDX-License-Identifier: MIT */
#include "report/reuse_sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "estimate/anchor.h"
#include "observe/curve.h"

/* Instructions a cycle, where no counter tells; programs have half of it to twice as many. */
#define IPC 1.2
#define IPC_OCTAVES 1.0
#define BEND_OCTAVES 2.0 /* between near and far */
#define ENOUGH 100	 /* watchpoints of a process that has a curve of its own */

/* Drawing anew. */

/* Of a Poisson distribution; normal where there are many. */
static double draw_poisson(double mean, uint64_t *random)
{
	double limit = exp(-mean), p = 1;
	unsigned n = 0;

	if (mean > 30) {
		double u = fmax(random_part(random), 1e-300), v = random_part(random);

		return fmax(0, mean + sqrt(mean) * sqrt(-2 * log(u)) * cos(2 * M_PI * v));
	}
	while ((p *= random_part(random)) > limit)
		n++;
	return n;
}

/* Counts that are so many observations of `unit` each. */
static void draw_counts(uint64_t *count, unsigned n, double unit, uint64_t *random)
{
	for (unsigned i = 0; i < n; i++)
		if (count[i])
			count[i] = (uint64_t)(draw_poisson((double)count[i] / unit, random) * unit);
}

static bool none(const uint64_t *count, unsigned n)
{
	while (n && !count[n - 1])
		n--;
	return !n;
}

static void draw_anew(struct reuses *u, uint64_t watched, uint64_t *random)
{
	/* touches of one window go together; weights make observations fewer */
	double near = u->windows ? 2.0 * (double)u->touches / (double)u->windows : 1;
	double far = watched ? 2.0 * (double)u->watches / (double)watched : 1;
	uint64_t soon[2] = { u->soon, u->watches - u->soon };
	const struct reuses seen = *u;

	draw_counts(u->near_ended, REUSES_NEAR, near, random);
	draw_counts(u->near_left, REUSES_NEAR, near, random);
	if (none(u->near_ended, REUSES_NEAR) && none(u->near_left, REUSES_NEAR)) {
		/* of a few windows: there is no curve of no touches */
		memcpy(u->near_ended, seen.near_ended, sizeof(u->near_ended));
		memcpy(u->near_left, seen.near_left, sizeof(u->near_left));
	}
	draw_counts(u->far_ended, DISTANCE_BUCKETS, far, random);
	draw_counts(u->far_left, DISTANCE_BUCKETS, far, random);
	draw_counts(soon, 2, far, random);
	u->soon = soon[0];
	u->watches = soon[0] + soon[1];
}

/* Groups. */

static double touches_ns(const struct reading *r, const struct reuses *u)
{
	const char *cpu = r->profile.nrun ? r->profile.run[0].cpu : NULL;

	return u->instructions
		       ? IPC * anchor_ghz(cpu) * (double)u->touches / (double)u->instructions
		       : 0;
}

static int make_group(struct sampled_group *g, const struct reading *r, const struct reuses *u)
{
	double rate = touches_ns(r, u);
	uint64_t random = 0x9e3779b97f4a7c15ull; /* the same each time */

	if (curve_of(&g->best, u, rate, 1))
		return -1;
	for (unsigned i = 0; i < SAMPLED_DRAWS; i++) {
		struct reuses again = *u;
		double octaves = IPC_OCTAVES * (2 * random_part(&random) - 1);
		double bend = exp2(BEND_OCTAVES * (2 * random_part(&random) - 1));

		draw_anew(&again, u->watched, &random);
		if (!again.windows || curve_of(&g->draw[i], &again, rate * exp2(octaves), bend))
			return -1;
	}
	return 0;
}

static int by_windows(const void *a, const void *b)
{
	const struct reuses *const *x = a, *const *y = b;

	if ((*x)->windows != (*y)->windows)
		return (*x)->windows > (*y)->windows ? -1 : 1;
	return (*x)->pid < (*y)->pid ? -1 : (*x)->pid > (*y)->pid;
}

static size_t list_processes(const struct reading *r, unsigned process, const struct reuses **list)
{
	const struct reuses *u;
	size_t n = 0;

	for (u = r->profile.reuses; u; u = u->hh.next)
		if (u->touches && (!process || u->pid == process))
			list[n++] = u;
	qsort(list, n, sizeof(*list), by_windows);
	return n;
}

/* Time that a window of the run stands for, ns. */
static double window_ns(const struct reading *r)
{
	const struct run_counters *n = &r->view.counters;
	double rate = r->profile.nrun ? r->profile.run[0].rate : 0;

	return n->windows && rate > 0 ? 1e9 / rate * (double)n->user / (double)n->windows : 0;
}

static int make_groups(struct sampled_reuse *s, const struct reading *r, const struct reuses **list,
		       size_t n)
{
	struct reuses *rest = calloc(1, sizeof(*rest));
	double all = 0;
	int rc = rest ? 0 : -1;

	for (size_t i = 0; i < n && !rc; i++) {
		const struct reuses *u = list[i];

		s->windows += u->windows;
		s->watches += u->watched;
		if (u->watched < ENOUGH || s->ngroups == SAMPLED_GROUPS - 1) {
			curve_add(rest, u);
			continue;
		}
		s->group[s->ngroups].share = (double)u->windows * touches_ns(r, u);
		rc = make_group(&s->group[s->ngroups++], r, u);
	}
	if (!rc && rest->windows) {
		s->group[s->ngroups].share = (double)rest->windows * touches_ns(r, rest);
		rc = make_group(&s->group[s->ngroups++], r, rest);
	}
	free(rest);
	for (unsigned i = 0; i < s->ngroups; i++) {
		const struct statstack *b = &s->group[i].best;

		all += s->group[i].share;
		s->lines += b->n ? b->knot[b->n - 1].lines : 0;
	}
	for (unsigned i = 0; i < s->ngroups; i++)
		s->group[i].share /= all > 0 ? all : 1;
	s->touches = all * window_ns(r);
	return rc;
}

int sampled_reuse_make(struct sampled_reuse *s, const struct reading *r, unsigned process,
		       struct err *err)
{
	const struct reuses **list = calloc(HASH_COUNT(r->profile.reuses) + 1, sizeof(*list));
	size_t n;
	int rc = 0;

	memset(s, 0, sizeof(*s));
	s->group = calloc(SAMPLED_GROUPS, sizeof(*s->group));
	s->hits = r->view.counters.watch_hits;
	n = list && s->group ? list_processes(r, process, list) : 0;
	if (!list || !s->group || make_groups(s, r, list, n))
		rc = err_set(err, ERR_FAILED, "no memory");
	free(list);
	if (rc || !n)
		sampled_reuse_free(s);
	return rc;
}

/* Reading. */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double sampled_reuse_misses(const struct sampled_reuse *s, double lines, double *low, double *high)
{
	double drawn[SAMPLED_DRAWS] = { 0 }, best = 0;

	for (unsigned g = 0; g < s->ngroups; g++) {
		const struct sampled_group *k = &s->group[g];

		best += k->share * statstack_misses(&k->best, lines);
		for (unsigned i = 0; low && i < SAMPLED_DRAWS; i++)
			drawn[i] += k->share * statstack_misses(&k->draw[i], lines);
	}
	if (low) {
		qsort(drawn, SAMPLED_DRAWS, sizeof(drawn[0]), by_value);
		*low = fmin(drawn[SAMPLED_DRAWS / 40], best);
		*high = fmax(drawn[SAMPLED_DRAWS - 1 - SAMPLED_DRAWS / 40], best);
	}
	return best;
}

void sampled_reuse_free(struct sampled_reuse *s)
{
	for (unsigned g = 0; s->group && g < SAMPLED_GROUPS; g++) {
		statstack_fini(&s->group[g].best);
		for (unsigned i = 0; i < SAMPLED_DRAWS; i++)
			statstack_fini(&s->group[g].draw[i]);
	}
	free(s->group);
	memset(s, 0, sizeof(*s));
}
