/* SPDX-License-Identifier: MIT */
#include "report/reuse_sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "estimate/anchor.h"
#include "observe/curve.h"

/* Instructions a cycle, where no counter tells; programs have half of it to twice as many. */
#define IPC 1.0
#define IPC_OCTAVES 1.0
#define BEND_OCTAVES 2.0 /* between near and far */
/*
 * What estimates are off beside chance, standard deviations: of all miss ratios and of what is far, natural logarithms
 * of the odds; of sizes, octaves. As small as exact curves of other programs than the one at hand ask for
 * (docs/recording.md).
 */
#define ODDS 0.2
#define FAR_ODDS 1.0
#define SIZE_OCTAVES 0.3
#define ENOUGH 100 /* watchpoints of a process that has a curve of its own */

/* Drawing anew. */

/* Of a normal distribution. */
static double draw_normal(uint64_t *random)
{
	double u = fmax(random_part(random), 1e-300), v = random_part(random);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Of a Poisson distribution; normal where there are many. */
static double draw_poisson(double mean, uint64_t *random)
{
	double limit = exp(-mean), p = 1;
	unsigned n = 0;

	if (mean > 30)
		return fmax(0, mean + sqrt(mean) * draw_normal(random));
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

/*
 * What of n watched lines none did may be: one in n, more or less. So each draw has an observation more that outlives
 * all others, and one half of soon, one half of later; of random weights, of mean 1 and 1/2 (a Bayesian bootstrap; of
 * nothing seen of n it leaves 3.7 / n, with 97.5 %).
 */
static void add_unseen(struct reuses *u, uint64_t soon[2], double unit, uint64_t *random)
{
	unsigned last = DISTANCE_BUCKETS - 1;

	while (last && !u->far_ended[last - 1] && !u->far_left[last - 1])
		last--;
	u->far_left[last] += (uint64_t)(unit * -log(1 - random_part(random)));
	for (unsigned i = 0; i < 2; i++) {
		double z = draw_normal(random);

		soon[i] += (uint64_t)(unit * z * z / 2);
	}
}

/* What an observation weighs, of `n` that weigh `sum`: so that as many of them vary as these do. */
static double observation(uint64_t sum, uint64_t square, uint64_t n)
{
	if (square && sum)
		return (double)square / (double)sum * REUSES_UNIT;
	return n ? 2.0 * (double)sum / (double)n : REUSES_UNIT;
}

/* `off`: by that factor the odds of far times. */
static void draw_anew(struct reuses *u, uint64_t watched, double off, uint64_t *random)
{
	/* touches of one window go together */
	double near = observation(u->touches, u->touches_square, u->windows);
	double far = observation(u->watches, u->watches_square, watched);
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
	add_unseen(u, soon, far, random);
	soon[1] = (uint64_t)((double)soon[1] * off);
	u->soon = soon[0];
	u->watches = soon[0] + soon[1];
}

/* Groups. */

static double touches_ns(const struct reading *r, const struct reuses *u)
{
	const struct run *run = r->profile.nrun ? &r->profile.run[0] : NULL;

	return u->instructions
		       ? IPC * anchor_ghz(run) * (double)u->touches / (double)u->instructions
		       : 0;
}

/* How a draw is off: what is wrong of one process is of all, so these are the same in each group. */
struct off {
	double rate, bend, far, odds, across; /* factors */
};

static struct off draw_off(uint64_t *random)
{
	return (struct off){
		.rate = exp2(IPC_OCTAVES * (2 * random_part(random) - 1)),
		.bend = exp2(BEND_OCTAVES * (2 * random_part(random) - 1)),
		.far = exp(FAR_ODDS * draw_normal(random)),
		.odds = exp(ODDS * draw_normal(random)),
		.across = exp2(SIZE_OCTAVES * draw_normal(random)),
	};
}

static int make_group(struct sampled_group *g, unsigned number, const struct reading *r,
		      const struct reuses *u)
{
	double rate = touches_ns(r, u);
	/* the same each time */
	uint64_t chance = 0x9e3779b97f4a7c15ull * (2 * number + 1), all = 0xd1342543de82ef95ull;

	if (curve_of(&g->best, u, rate, 1))
		return -1;
	for (unsigned i = 0; i < SAMPLED_DRAWS; i++) {
		const struct off off = draw_off(&all);
		struct reuses again = *u;

		draw_anew(&again, u->watched, off.far, &chance);
		g->odds[i] = off.odds;
		g->across[i] = off.across;
		if (!again.windows || curve_of(&g->draw[i], &again, rate * off.rate, off.bend))
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
		rc = make_group(&s->group[s->ngroups], s->ngroups, r, u);
		s->ngroups++;
	}
	if (!rc && rest->windows) {
		s->group[s->ngroups].share = (double)rest->windows * touches_ns(r, rest);
		rc = make_group(&s->group[s->ngroups], s->ngroups, r, rest);
		s->ngroups++;
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

static double drawn_misses(const struct sampled_group *g, unsigned draw, double lines)
{
	double m = statstack_misses(&g->draw[draw], lines * g->across[draw]);

	return m * g->odds[draw] / (1 - m + m * g->odds[draw]);
}

double sampled_reuse_misses(const struct sampled_reuse *s, double lines, double *low, double *high)
{
	double drawn[SAMPLED_DRAWS] = { 0 }, best = 0;

	for (unsigned g = 0; g < s->ngroups; g++) {
		const struct sampled_group *k = &s->group[g];

		best += k->share * statstack_misses(&k->best, lines);
		for (unsigned i = 0; low && i < SAMPLED_DRAWS; i++)
			drawn[i] += k->share * drawn_misses(k, i, lines);
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
