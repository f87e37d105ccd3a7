/* SPDX-License-Identifier: MIT */
#include "culprit/rules.h"

#include <math.h>
#include <string.h>

#define NEGLIGIBLE 0.01 /* of a stall: less is innocent */
#define EXPLAINS 1e6	/* cycles: where nothing bounds a culprit */

const char *const culprit_name[CULPRIT_N] = {
#define X(id, name, words, few) [CULPRIT_##id] = name,
	CULPRITS(X)
#undef X
};
const char *const culprit_words[CULPRIT_N] = {
#define X(id, name, words, few) [CULPRIT_##id] = words,
	CULPRITS(X)
#undef X
};
const char *const culprit_short[CULPRIT_N] = {
#define X(id, name, words, few) [CULPRIT_##id] = few,
	CULPRITS(X)
#undef X
};

/* Over the suspects: each one's bound counts in its share of the executions. At fault is the nearest that can have
 * cost all, else the one that can have cost most. */
static void over_suspects(const struct culprit_case *c, struct culprit_verdict *v,
			  double (*bound)(const struct culprit_case *, const struct fact *))
{
	double most = 0;

	for (unsigned i = 0; i < c->nsuspects; i++) {
		double b = c->suspect[i].share * bound(c, c->suspect[i].fact);

		v->most += b;
		if (b <= most * 1.1 || most >= c->stall)
			continue;
		most = b;
		v->fault = c->suspect[i].fact->addr;
	}
}

static double worst(const struct machine_level level[MACHINE_LEVELS])
{
	double sum = 0;

	for (int i = 0; i < MACHINE_LEVELS; i++)
		sum += level[i].penalty;
	return sum;
}

/* Data. */

static double dcache_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->load ? f->dcache : 0;
}

static void judge_dcache(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, dcache_of);
	v->most += c->elsewhere * worst(c->machine->data);
}

static double dtlb_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->dtlb;
}

static void judge_dtlb(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, dtlb_of);
	v->most += c->elsewhere * worst(c->machine->dtlb);
}

static double forward_of(const struct culprit_case *c, const struct fact *f)
{
	return f->forward * c->machine->forward;
}

static void judge_forward(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, forward_of);
	v->most += c->elsewhere * c->machine->forward;
	for (unsigned i = 0; i < c->nsuspects; i++)
		if (c->suspect[i].fact->addr == v->fault)
			v->with = c->suspect[i].fact->forward_store;
}

static double alias_of(const struct culprit_case *c, const struct fact *f)
{
	return f->alias * c->machine->alias;
}

static void judge_alias(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, alias_of);
	v->most += c->elsewhere * c->machine->alias;
	for (unsigned i = 0; i < c->nsuspects; i++)
		if (c->suspect[i].fact->addr == v->fault)
			v->with = c->suspect[i].fact->alias_store;
}

/* A store waits for an entry: until the oldest one has been written. */
static void judge_stores(const struct culprit_case *c, struct culprit_verdict *v)
{
	if (!c->fact->store)
		return;
	for (unsigned i = 0; i < c->nstores; i++) {
		double b = c->store[i].share * c->store[i].fact->dcache;

		if (b <= v->most)
			continue;
		v->most = b;
		v->fault = c->store[i].fact->addr;
	}
}

/* Instructions. */

static double branch_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->branch;
}

static void judge_branch(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, branch_of);
	for (unsigned i = 0; i < c->nsuspects; i++)
		if (v->fault && c->suspect[i].fact->addr == v->fault) {
			v->fault = c->suspect[i].fact->branch_fault;
			return;
		}
}

static double icache_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->icache;
}

static void judge_icache(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, icache_of);
}

static double itlb_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->itlb;
}

static void judge_itlb(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, itlb_of);
}

static double front_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->front;
}

static void judge_front(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, front_of);
}

/* Units. */

static double divider_of(const struct culprit_case *c, const struct fact *f)
{
	return f->divides ? c->machine->divide : 0;
}

static void judge_divider(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, divider_of);
}

static double multiplier_of(const struct culprit_case *c, const struct fact *f)
{
	return f->multiplies ? c->machine->multiply : 0;
}

static void judge_multiplier(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, multiplier_of);
}

static double serial_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->serial ? EXPLAINS : 0;
}

static void judge_serial(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, serial_of);
}

static double string_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->string ? EXPLAINS : 0;
}

static void judge_string(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, string_of);
}

/*
 * The schedule is of one block. What waits to retire waits for itself alone, all before it is done: for no longer
 * than it takes, which the schedule of its block may have overlapped with what runs before it.
 */
static void judge_latency(const struct culprit_case *c, struct culprit_verdict *v)
{
	for (unsigned i = 0; i < c->nsuspects; i++) {
		const struct fact *f = c->suspect[i].fact;
		double b = c->suspect[i].share * (f->divides ? 1 : f->latency) - c->least;

		if (b <= v->most)
			continue;
		v->most = b;
		v->fault = f->addr;
	}
}

const struct culprit_rule culprit_rules[CULPRIT_N] = {
	{ CULPRIT_DCACHE, judge_dcache },	  { CULPRIT_DTLB, judge_dtlb },
	{ CULPRIT_FORWARD, judge_forward },	  { CULPRIT_ALIAS, judge_alias },
	{ CULPRIT_STORES, judge_stores },	  { CULPRIT_BRANCH, judge_branch },
	{ CULPRIT_ICACHE, judge_icache },	  { CULPRIT_ITLB, judge_itlb },
	{ CULPRIT_FRONT, judge_front },		  { CULPRIT_DIVIDER, judge_divider },
	{ CULPRIT_MULTIPLIER, judge_multiplier }, { CULPRIT_SERIAL, judge_serial },
	{ CULPRIT_STRING, judge_string },	  { CULPRIT_LATENCY, judge_latency },
};

void culprit_judge(const struct culprit_case *c, struct culprit_verdict v[CULPRIT_N])
{
	memset(v, 0, CULPRIT_N * sizeof(*v));
	for (int i = 0; i < CULPRIT_N; i++) {
		struct culprit_verdict *to = &v[culprit_rules[i].culprit];

		culprit_rules[i].judge(c, to);
		if (to->most < NEGLIGIBLE * c->stall)
			*to = (struct culprit_verdict){ 0 };
	}
}

double culprit_ranges(double stall, const struct culprit_verdict v[CULPRIT_N],
		      struct culprit_range r[CULPRIT_N])
{
	double sum = 0;

	for (int i = 0; i < CULPRIT_N; i++)
		sum += v[i].most;
	for (int i = 0; i < CULPRIT_N; i++)
		r[i] = (struct culprit_range){
			.min = fmax(0, stall - fmax(0, sum - v[i].most)),
			.max = fmin(stall, v[i].most),
			.fault = v[i].most > 0 ? v[i].fault : 0,
			.with = v[i].most > 0 ? v[i].with : 0,
		};
	/* what is unexplained is nobody's */
	for (int i = 0; i < CULPRIT_N; i++)
		r[i].min = fmin(r[i].min, r[i].max);
	return fmax(0, stall - sum);
}
