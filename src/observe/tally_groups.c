/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "x86/insn.h"
#include "observe/tallies.h"

/* share of the smaller tally's observations from which on two tallies share words */
#define SHARED 0.02
#define STRANGERS 0.01	  /* share of observations after which strangers may have stored */
#define STRANGERS_OWN 0.1 /* the same for a place that is another variable at another time */
#define BACK 0.25	  /* share of resets above which gaps of a length are not used */
#define USED 0.9	  /* share of gaps that must be usable */
/* the same for a loop that begins anew, which loses one gap each time, of the mean length */
#define USED_OWN 0.5
#define LIKE_OTHERS 0.3
#define GAPS 20
#define TURNS_BACK \
	0.85 /* share of resets up to which gaps tell the rate of a loop that begins anew */
#define TURNS_LEAST 5 /* least number of such gaps in which the counter advanced */
#define STARTS 0.2    /* new words for each gap that are tolerated */
/* A word that is touched all the time, by windows that see it at random: at most STEADY_FAR of
 * the time lies in gaps longer than four times the mean (of an exponential distribution 5 /
 * e^4). */
#define STEADY_FAR 0.15
#define STEADY_SEEN 1000 /* least number of observations */
#define STEADY_KNOWN 0.1 /* least share of the time that lies in usable gaps */
#define STEADY_ERROR 0.1 /* relative error assumed for the unusable gaps */

/* Tallies that are sure, sorted by site; a forest whose links lead to the roots. */
struct forest {
	const struct profile *p;
	const struct tallies_judge *judge;
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

static bool is_memory(const struct profile *p, const struct tally *t)
{
	const struct site *s = profile_site_find(p, t->key);

	return s && (s->cls == INSN_STORE || s->cls == INSN_RMW);
}

static bool is_sure(const struct profile *p, const struct tally *t,
		    const struct tallies_judge *judge)
{
	if (!t->step || !t->seen || !(t->agreed ? tally_is_sure(t, 1) : !t->differed))
		return false;
	if (judge)
		return judge->is_sure(judge->ctx, t);
	return is_memory(p, t) && t->agreed >= TALLY_SURE;
}

static int plant(struct forest *f, const struct profile *p, const struct tallies_judge *judge)
{
	size_t most = HASH_COUNT(p->tallies) + 1;
	struct tally *t, *tmp;

	*f = (struct forest){ .p = p, .judge = judge };
	f->tally = calloc(most, sizeof(struct tally *));
	f->up = calloc(most, sizeof(*f->up));
	if (!f->tally || !f->up)
		return -1;
	HASH_ITER (hh, p->tallies, t, tmp)
		if (is_sure(p, t, judge))
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

/* Finds the tally; NULL: it is not in the forest. */
static const struct tally *find(const struct forest *f, struct site_id id)
{
	struct tally key = { .key = id };
	const struct tally *k = &key, **at;

	at = bsearch(&k, f->tally, f->n, sizeof(struct tally *), by_site);
	return at ? *at : NULL;
}

/* Returns how often an instruction outside the group stored to its words. */
static double strangers(const struct forest *f, const struct tally *t)
{
	double n = (double)t->strangers;

	for (int i = 0; i < TALLY_PEERS && t->peer[i].n; i++)
		if (!find(f, t->peer[i].site))
			n += (double)t->peer[i].n;
	return n;
}

static void unite(struct forest *f)
{
	for (size_t i = 0; i < f->n; i++)
		for (int k = 0; k < TALLY_PEERS && f->tally[i]->peer[k].n; k++) {
			const struct tally *t = f->tally[i], *o = find(f, t->peer[k].site);
			double n = (double)t->peer[k].n;

			if (!o || n < SHARED * (double)fmin(t->seen, o->seen) ||
			    (f->judge && f->judge->are_apart(f->judge->ctx, t, o)))
				continue;
			f->up[root(f, i)] = root(f, place(f, o));
		}
}

static void add(struct tally *sum, struct tally_gaps *gaps, const struct tally *t, double outside)
{
	tally_gaps_add(gaps, t->gaps);
	sum->seen += t->seen;
	sum->strangers += (uint64_t)outside;
}

/* Sums over all gaps, and over those with usable lengths. */
struct gaps {
	double n, used, back;	/* back: used gaps that ended in a reset */
	double time, used_time; /* ns of CPU time */
	double advance;		/* advance within used_time */
};

/* Sums up the gaps. A gap that ended in a reset counts with the mean advance of gaps of that
 * length. */
static struct gaps gaps_of(const struct tally *t)
{
	struct gaps g = { 0 };

	for (unsigned i = 0; i < TALLY_OCTAVES; i++) {
		const struct tally_gaps *o = &t->gaps[i];
		double n = (double)(o->n + o->back), time = (double)(o->time + o->back_time);

		g.n += n;
		g.time += time;
		if (!o->n || (double)o->back > BACK * n)
			continue;
		g.used += n;
		g.back += (double)o->back;
		g.used_time += time;
		g.advance += o->advance * time / (double)o->time;
	}
	return g;
}

/* The octave of lengths with most gaps. */
static unsigned usual_octave(const struct tally *t)
{
	unsigned most = 0;

	for (unsigned i = 1; i < TALLY_OCTAVES; i++)
		if (t->gaps[i].n + t->gaps[i].back > t->gaps[most].n + t->gaps[most].back)
			most = i;
	return most;
}

/*
 * Of a loop that often begins anew between two windows, uses the gaps of the usual length: those in which the counter
 * advanced tell the rate, as far as the loop begins anew less than once in a gap. Longer gaps, in which other code ran,
 * count like one of the usual length.
 */
static bool extrapolate_turns(struct tally_group *g, const struct tally *sum)
{
	unsigned usual = usual_octave(sum);
	const struct tally_gaps *o = &sum->gaps[usual];
	double n = (double)(o->n + o->back), each, all = 0, gaps = 0, starts;

	if (n < GAPS || o->n < TURNS_LEAST || (double)o->back > TURNS_BACK * n || o->advance <= 0 ||
	    (double)sum->strangers > STRANGERS_OWN * (double)sum->seen)
		return false;
	each = o->advance / (double)o->n;
	for (unsigned i = 0; i < TALLY_OCTAVES; i++) {
		const struct tally_gaps *k = &sum->gaps[i];
		double time = (double)(k->time + k->back_time);

		gaps += (double)(k->n + k->back);
		all += i > usual + 1 ? (double)(k->n + k->back) * each
				     : time * o->advance / (double)o->time;
	}
	starts = fmax((double)sum->seen - gaps, 0);
	if (starts > STARTS * gaps || n < USED_OWN * gaps)
		return false;
	g->advance = all * (1 + 2 * starts / gaps);
	g->gaps = n;
	g->resets = (double)o->back / n;
	g->error = sqrt(pow(starts / gaps, 2) + 1 / (double)o->n);
	return true;
}

static bool is_steady(const struct tally *t, const struct gaps *g)
{
	double far = 0;

	for (unsigned i = 0; i < TALLY_OCTAVES; i++)
		if (g->n * (double)tally_octave(i) > 4 * g->time)
			far += (double)(t->gaps[i].time + t->gaps[i].back_time);
	return t->seen >= STEADY_SEEN && far <= STEADY_FAR * g->time;
}

/*
 * Extrapolates to unusable gaps. If they are few, they advanced like the used ones on average; if
 * many, at the same rate, as words that are touched all the time do. Each word's observed life
 * misses the time before the first and after the last observation: a mean gap each, as for events
 * at random times.
 */
static bool extrapolate(struct tally_group *g, const struct tally *sum, bool own)
{
	struct gaps k = gaps_of(sum);
	double starts = fmax((double)sum->seen - k.n, 0), more, rest;

	if (k.used < GAPS || k.advance <= 0 || starts > STARTS * k.n ||
	    (double)sum->strangers > (own ? STRANGERS_OWN : STRANGERS) * (double)sum->seen)
		return false;
	if (k.used >= (own ? USED_OWN : USED) * k.n) {
		more = k.n / k.used;
		rest = (1 - k.used / k.n) * (own ? LIKE_OTHERS : 1);
	} else if (k.used_time >= STEADY_KNOWN * k.time && is_steady(sum, &k)) {
		more = k.time / k.used_time;
		rest = STEADY_ERROR;
	} else {
		return false;
	}
	g->advance = k.advance * more * (1 + 2 * starts / k.n);
	g->gaps = k.used;
	g->resets = k.back / k.used;
	g->error = sqrt(pow(starts / k.n, 2) + pow(rest, 2) + pow(k.back / k.used / 4, 2));
	return true;
}

/* A tally and the tree that it belongs to. */
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

/* Collects a tree's n tallies, from `to` on; keeps the group if it can be relied on. */
static void gather(struct tally_groups *g, const struct forest *f, const struct member *m, size_t n,
		   const struct tally **to)
{
	struct tally_group *group = &g->group[g->n];
	struct tally_gaps gaps[TALLY_OCTAVES] = { { 0 } };
	struct tally sum = { .gaps = gaps };
	bool up = false, down = false, own = true;

	*group = (struct tally_group){ .tally = to, .n = n };
	for (size_t i = 0; i < n; i++) {
		const struct tally *t = f->tally[m[i].at];

		to[i] = t;
		add(&sum, gaps, t, strangers(f, t));
		up |= t->step > 0;
		down |= t->step < 0;
		own &= f->judge && f->judge->is_own(f->judge->ctx, t);
	}
	if (up == down ||
	    (!extrapolate(group, &sum, own) && !(own && extrapolate_turns(group, &sum))))
		return;
	g->n++;
	g->instructions += n;
}

int tallies_groups(struct tally_groups *g, const struct profile *p,
		   const struct tallies_judge *judge)
{
	struct forest f;
	struct member *m = NULL;
	int rc = plant(&f, p, judge);

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
