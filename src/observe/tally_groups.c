/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "observe/tallies.h"

#define SURE 20	       /* times that windows saw the step */
#define SHARED 0.02    /* of the times that one of two was seen: their words are the same */
#define STRANGERS 0.01 /* of the times that it was seen */
#define BACK 0.25      /* of the gaps of a length: others are not used */
#define USED 0.9       /* of the gaps */
#define GAPS 20
#define STARTS 0.2 /* words that began, for each gap */

/* Tallies that are sure, in the order of sites; a forest, each pointing towards its root. */
struct forest {
	const struct profile *p;
	const struct tally **tally;
	size_t *up;
	size_t n;
};

static int by_site(const void *a, const void *b)
{
	const struct tally *x = *(const struct tally *const *)a,
			   *y = *(const struct tally *const *)b;

	return site_id_order(x->key, y->key);
}

static bool is_sure(const struct tally *t)
{
	return t && tally_is_sure(t, SURE) && t->seen;
}

static int plant(struct forest *f, const struct profile *p)
{
	size_t most = HASH_COUNT(p->tallies) + 1;
	struct tally *t, *tmp;

	*f = (struct forest){ .p = p };
	f->tally = calloc(most, sizeof(struct tally *));
	f->up = calloc(most, sizeof(*f->up));
	if (!f->tally || !f->up)
		return -1;
	HASH_ITER (hh, p->tallies, t, tmp)
		if (is_sure(t))
			f->tally[f->n++] = t;
	qsort(f->tally, f->n, sizeof(struct tally *), by_site);
	for (size_t i = 0; i < f->n; i++)
		f->up[i] = i;
	return 0;
}

static size_t root(const struct forest *f, size_t i)
{
	while (f->up[i] != i)
		i = f->up[i] = f->up[f->up[i]];
	return i;
}

static size_t place(const struct forest *f, const struct tally *t)
{
	const struct tally **at = bsearch(&t, f->tally, f->n, sizeof(struct tally *), by_site);

	return (size_t)(at - f->tally);
}

static const struct tally *find(const struct forest *f, struct site_id id)
{
	struct tally *t;

	HASH_FIND(hh, f->p->tallies, &id, sizeof(id), t);
	return t;
}

/* How often something stored to its words that is of no group. */
static double strangers(const struct forest *f, const struct tally *t)
{
	double n = (double)t->strangers;

	for (int i = 0; i < TALLY_PEERS && t->peer[i].n; i++)
		if (!is_sure(find(f, t->peer[i].site)))
			n += (double)t->peer[i].n;
	return n;
}

static void unite(struct forest *f)
{
	for (size_t i = 0; i < f->n; i++)
		for (int k = 0; k < TALLY_PEERS && f->tally[i]->peer[k].n; k++) {
			const struct tally *t = f->tally[i], *o = find(f, t->peer[k].site);
			double n = (double)t->peer[k].n;

			if (!is_sure(o) || n < SHARED * (double)fmin(t->seen, o->seen))
				continue;
			f->up[root(f, i)] = root(f, place(f, o));
		}
}

static void add(struct tally *sum, const struct tally *t, double outside)
{
	for (unsigned i = 0; i < TALLY_OCTAVES; i++) {
		sum->gaps[i].n += t->gaps[i].n;
		sum->gaps[i].back += t->gaps[i].back;
		sum->gaps[i].time += t->gaps[i].time;
		sum->gaps[i].back_time += t->gaps[i].back_time;
		sum->gaps[i].advance += t->gaps[i].advance;
	}
	sum->seen += t->seen;
	sum->strangers += (uint64_t)outside;
}

/*
 * In gaps at whose end the word had been set back it advanced as fast as in others of that length. Each word's life, as
 * far as windows saw it, misses what lies before the first and behind the last of them: a gap's length each, as
 * of events at random times.
 */
static bool extrapolate(struct tally_group *g, const struct tally *sum)
{
	double all = 0, used = 0, back = 0, starts;

	g->advance = 0;
	for (unsigned i = 0; i < TALLY_OCTAVES; i++) {
		const struct tally_gaps *o = &sum->gaps[i];
		double n = (double)(o->n + o->back);

		all += n;
		if (!o->n || (double)o->back > BACK * n)
			continue;
		used += n;
		back += (double)o->back;
		g->advance += o->advance * (1 + (double)o->back_time / (double)o->time);
	}
	starts = fmax((double)sum->seen - all, 0);
	if (used < GAPS || used < USED * all || starts > STARTS * all || g->advance <= 0 ||
	    (double)sum->strangers > STRANGERS * (double)sum->seen)
		return false;
	g->advance *= all / used * (1 + 2 * starts / all);
	g->error = sqrt(pow(starts / all, 2) + pow(1 - used / all, 2) + pow(back / used / 4, 2));
	return true;
}

/* A tally, by the tree that it is in. */
struct member {
	size_t root, at;
};

static int by_root(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static struct member *members(const struct forest *f)
{
	struct member *m = calloc(f->n + 1, sizeof(*m));

	for (size_t i = 0; m && i < f->n; i++)
		m[i] = (struct member){ root(f, i), i };
	if (m)
		qsort(m, f->n, sizeof(*m), by_root);
	return m;
}

/* A tree's n tallies, from `to` on; the group is kept if it can be relied on. */
static void gather(struct tally_groups *g, const struct forest *f, const struct member *m, size_t n,
		   const struct tally **to)
{
	struct tally_group *group = &g->group[g->n];
	struct tally sum = { 0 };
	bool up = false, down = false;

	*group = (struct tally_group){ .tally = to, .n = n };
	for (size_t i = 0; i < n; i++) {
		const struct tally *t = f->tally[m[i].at];

		to[i] = t;
		add(&sum, t, strangers(f, t));
		up |= t->step > 0;
		down |= t->step < 0;
	}
	if (up != down && extrapolate(group, &sum))
		g->n++;
}

int tallies_groups(struct tally_groups *g, const struct profile *p)
{
	struct forest f;
	struct member *m = NULL;
	int rc = plant(&f, p);

	*g = (struct tally_groups){ 0 };
	if (!rc) {
		unite(&f);
		m = members(&f);
		g->group = calloc(f.n + 1, sizeof(*g->group));
		g->tally = calloc(f.n + 1, sizeof(struct tally *));
		rc = m && g->group && g->tally ? 0 : -1;
	}
	for (size_t i = 0, end; i < f.n && !rc; i = end) {
		for (end = i + 1; end < f.n && m[end].root == m[i].root; end++)
			;
		gather(g, &f, &m[i], end - i, &g->tally[i]);
	}
	free(m);
	free(f.tally);
	free(f.up);
	if (rc)
		tallies_groups_free(g);
	return rc;
}

void tallies_groups_free(struct tally_groups *g)
{
	free(g->group);
	free(g->tally);
	*g = (struct tally_groups){ 0 };
}
