/* SPDX-License-Identifier: MIT */
/* Writes what a co-processor learned as a profile. */
#include <stdlib.h>
#include <string.h>

#include "exact/coprocess.h"
#include "observe/conflicts.h"
#include "observe/edges.h"
#include "observe/misses.h"
#include "sketch/hot.h"

/* Removes what the engine counted: the recording holds only what the co-processor saw. */
static void forget(struct profile *p)
{
	struct site *s;

	SITES_EACH(&p->sites, s)
	s->observed = s->taken = s->samples = s->windows = 0;
	edges_free(p);
}

static struct site *site_at(const struct coprocess *c, struct profile *p, uint64_t pc)
{
	const struct site *s = coprocess_site(c, pc);

	return s ? profile_site(p, s->id) : NULL;
}

static void count(struct site *s, uint64_t n)
{
	s->observed += n;
	s->samples += n;
	s->time += (double)n;
}

/* Builds the list of a load's values. Samples that no value accounts for belong to other values. */
static struct hot *list_of(const struct profile *p, const struct table_load *l)
{
	uint64_t value[TABLE_VALUES], count[TABLE_VALUES], rest = l->total, least = UINT64_MAX;
	double share[TABLE_VALUES];
	unsigned n = 0;

	table_shares(l, TABLE_MOST, share);
	for (unsigned i = 0; i < l->n; i++) {
		uint64_t samples = (uint64_t)(share[i] * (double)l->total + 0.5);

		samples = samples < rest ? samples : rest;
		if (!samples)
			continue;
		rest -= samples;
		least = samples < least ? samples : least;
		value[n] = (uint32_t)l->value[i].value;
		count[n++] = samples;
	}
	/* the most samples that another value can have */
	rest = rest < least ? rest : least;
	return hot_counted(p->capacity > TABLE_VALUES ? p->capacity : TABLE_VALUES, l->total, rest,
			   value, count, n);
}

static int record_values(const struct coprocess *c, struct profile *p, const struct lab *l)
{
	const struct table *t = &l->of_values.table;

	for (size_t i = 0; i < t->n; i++) {
		struct site *s = site_at(c, p, t->load[i].pc);
		struct hot **to, *list;

		if (!s || !t->load[i].total)
			continue;
		count(s, t->load[i].total);
		to = site_operand(s, OPERAND_LOAD);
		list = to ? list_of(p, &t->load[i]) : NULL;
		if (!list)
			return -1;
		hot_free(*to);
		*to = list;
	}
	return 0;
}

/* Edges: `first` is the branch; `second` is where an indirect one went, or 0; the counts are of not
 * taken and taken. */
static int record_edge(const struct coprocess *c, struct profile *p, const struct counted_pair *d)
{
	struct site *from = site_at(c, p, d->key.first), *to;

	if (!from)
		return 0;
	count(from, d->n[0] + d->n[1]);
	from->taken += d->n[1];
	to = d->key.second ? site_at(c, p, d->key.second) : NULL;
	return to ? edges_add(p, EDGE_WENT, from->id, to->id, d->n[1]) : 0;
}

/* Contexts: `first` is the call by which the branch's procedure was entered, `second` the call
 * around that. */
static int record_context(const struct coprocess *c, struct profile *p,
			  const struct counted_pair *d)
{
	struct site *call = site_at(c, p, d->key.first);
	struct misses *m = call ? misses_get(p, call->id) : NULL;

	if (!call)
		return 0;
	count(call, d->n[0]);
	if (!m)
		return -1;
	m->n[MISS_BRANCHES] += d->n[0];
	m->n[MISS_MISPREDICTED] += d->n[0];
	return 0;
}

/* Dependences: `first` is the load, `second` the store. */
static int record_dependence(const struct coprocess *c, struct profile *p,
			     const struct counted_pair *d)
{
	struct site *load = site_at(c, p, d->key.first), *store = site_at(c, p, d->key.second);
	struct conflict *x;

	if (!load || !store)
		return 0;
	count(load, d->n[0]);
	x = conflicts_get(p, CONFLICT_FULL, store->id, load->id);
	if (x)
		conflicts_add(x, d->n[0], d->n[0], 1, 1);
	return x ? 0 : -1;
}

/* Sets: `first` is the instruction that missed, `second` the cache set. */
static int record_set(const struct coprocess *c, struct profile *p, const struct counted_pair *d)
{
	struct site *s = site_at(c, p, d->key.first);
	struct misses *m = s ? misses_get(p, s->id) : NULL;

	if (!s)
		return 0;
	count(s, d->n[0]);
	if (!m)
		return -1;
	m->n[MISS_ACCESSES] += d->n[0];
	m->n[MISS_L1D] += d->n[0];
	return 0;
}

static const struct recorder {
	const char *program;
	int (*record)(const struct coprocess *c, struct profile *p, const struct counted_pair *d);
} recorders[] = {
	{ "edges", record_edge },
	{ "contexts", record_context },
	{ "dependences", record_dependence },
	{ "sets", record_set },
};

int coprocess_record(const struct coprocess *c, struct profile *p)
{
	const struct lab *l = coprocess_lab(c);
	struct counted_pair *d, *next;

	forget(p);
	p->run[0].n.samples = p->run[0].n.user = l->f.n.done;
	if (l->values)
		return record_values(c, p, l);
	for (unsigned i = 0; i < sizeof(recorders) / sizeof(recorders[0]); i++) {
		if (strcmp(recorders[i].program, l->o.program->name) != 0)
			continue;
		HASH_ITER (hh, l->of_counts.pairs, d, next)
			if (recorders[i].record(c, p, d))
				return -1;
	}
	return 0;
}
