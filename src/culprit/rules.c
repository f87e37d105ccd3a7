/* SPDX-License-Identifier: MIT */
#include "culprit/rules.h"

#include <math.h>
#include <string.h>

#define NEGLIGIBLE 0.01	   /* part of a stall below which a culprit is innocent */
#define LEAST_LIKELY 0.001 /* least likely share of the bound */
#define SHARE_HALVINGS 64
#define MORE_MOST 8 /* largest factor by which executions may have been underestimated */

/* Likely shares: of stalls that the schedule allows for within a block; of stores, which no
 * instruction waits for. */
#define SCHEDULED 0.25
#define STORE_LIKELY 0.1
#define FORWARD_LIKELY 10 /* usual cycles, as in the next constants */
#define ALIAS_LIKELY 3
#define CONTENDED_LIKELY 100
#define SERIAL_LIKELY 50
#define STRING_LIKELY 30

static const struct odds NONE = { 0, 0 };

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

static void blame(struct culprit_verdict *v, const struct fact *f)
{
	v->fault = f ? f->addr : 0;
	v->image = f ? f->image : 0;
}

/* Combines a bound over the suspects, each in proportion to its share of the executions. At fault
 * is the nearest suspect that can have caused all of the cost, else the one that can have caused
 * most. */
static void over_suspects(const struct culprit_case *c, struct culprit_verdict *v,
			  struct odds (*bound)(const struct culprit_case *, const struct fact *))
{
	double most = 0;

	for (unsigned i = 0; i < c->nsuspects; i++) {
		struct odds o = bound(c, c->suspect[i].fact);
		double b = c->suspect[i].share * o.most;

		v->most += b;
		v->likely += c->suspect[i].share * o.likely;
		if (b <= most * 1.1 || most >= c->stall)
			continue;
		most = b;
		blame(v, c->suspect[i].fact);
	}
}

static double worst(const struct machine_level level[MACHINE_LEVELS])
{
	double sum = 0;

	for (int i = 0; i < MACHINE_LEVELS; i++)
		sum += level[i].penalty;
	return sum;
}

/* Data accesses. */

static struct odds dcache_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->load ? f->dcache : NONE;
}

static void judge_dcache(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, dcache_of);
	v->most += c->elsewhere * worst(c->machine->data);
}

static struct odds dtlb_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->dtlb;
}

static void judge_dtlb(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, dtlb_of);
	v->most += c->elsewhere * worst(c->machine->dtlb);
}

static struct odds contended_of(const struct culprit_case *c, const struct fact *f)
{
	return (struct odds){ f->contended.most * c->machine->contended,
			      f->contended.likely * CONTENDED_LIKELY };
}

static void judge_contended(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, contended_of);
}

static struct odds forward_of(const struct culprit_case *c, const struct fact *f)
{
	return (struct odds){ f->forward.most * c->machine->forward,
			      f->forward.likely * FORWARD_LIKELY };
}

static void judge_forward(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, forward_of);
	v->most += c->elsewhere * c->machine->forward;
	for (unsigned i = 0; i < c->nsuspects; i++)
		if (c->suspect[i].fact->addr == v->fault)
			v->with = c->suspect[i].fact->forward_store;
}

static struct odds alias_of(const struct culprit_case *c, const struct fact *f)
{
	return (struct odds){ f->alias.most * c->machine->alias, f->alias.likely * ALIAS_LIKELY };
}

static void judge_alias(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, alias_of);
	v->most += c->elsewhere * c->machine->alias;
	for (unsigned i = 0; i < c->nsuspects; i++)
		if (c->suspect[i].fact->addr == v->fault)
			v->with = c->suspect[i].fact->alias_store;
}

/* Judges a store that waits for a free entry of the store buffer, until the oldest store has
 * been written. */
static void judge_stores(const struct culprit_case *c, struct culprit_verdict *v)
{
	if (!c->fact->store)
		return;
	for (unsigned i = 0; i < c->nstores; i++) {
		double b = c->store[i].share * c->store[i].fact->dcache.most;

		if (b <= v->most)
			continue;
		v->most = b;
		v->likely = c->store[i].share * c->store[i].fact->dcache.likely * STORE_LIKELY;
		blame(v, c->store[i].fact);
	}
}

/* Instruction fetch. */

static struct odds branch_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return (struct odds){ f->branch.most + f->exposed.most,
			      f->branch.likely + f->exposed.likely };
}

static void judge_branch(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, branch_of);
	for (unsigned i = 0; i < c->nsuspects; i++)
		if (v->fault && c->suspect[i].fact->addr == v->fault) {
			blame(v, c->suspect[i].fact->branch_fault);
			return;
		}
}

static struct odds icache_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->icache;
}

static void judge_icache(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, icache_of);
}

static struct odds itlb_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->itlb;
}

static void judge_itlb(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, itlb_of);
}

static struct odds front_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->front;
}

static void judge_front(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, front_of);
}

/* Execution units, beyond the block's scheduled use of them. */

static struct odds unit_of(double cycles)
{
	return (struct odds){ cycles, cycles * SCHEDULED };
}

static struct odds divider_of(const struct culprit_case *c, const struct fact *f)
{
	return unit_of(f->divides ? c->machine->divide : 0);
}

static void judge_divider(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, divider_of);
}

static struct odds multiplier_of(const struct culprit_case *c, const struct fact *f)
{
	return unit_of(f->multiplies ? c->machine->multiply : 0);
}

static void judge_multiplier(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, multiplier_of);
}

static struct odds serial_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->serial ? (struct odds){ EXPLAINS, SERIAL_LIKELY } : NONE;
}

static void judge_serial(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, serial_of);
}

static struct odds string_of(const struct culprit_case *c, const struct fact *f)
{
	(void)c;
	return f->string ? (struct odds){ EXPLAINS, STRING_LIKELY } : NONE;
}

static void judge_string(const struct culprit_case *c, struct culprit_verdict *v)
{
	over_suspects(c, v, string_of);
}

/*
 * Judges latency. The schedule covers one block. When the instruction waits to retire, all earlier
 * ones are done, so it waits for itself at most its own latency, which its block's schedule may
 * have overlapped with earlier blocks. The part of that latency that the schedule already contains
 * is no stall.
 */
static void judge_latency(const struct culprit_case *c, struct culprit_verdict *v)
{
	for (unsigned i = 0; i < c->nsuspects; i++) {
		const struct fact *f = c->suspect[i].fact;
		double latency = f->divides ? 1 : f->latency;
		double own = fmax(0, latency - (f == c->fact ? 0 : f->least));
		double b = c->suspect[i].share * own - c->least;

		if (b <= v->most)
			continue;
		v->most = b;
		v->likely = b * SCHEDULED;
		blame(v, f);
	}
}

const struct culprit_rule culprit_rules[CULPRIT_N] = {
	{ CULPRIT_DCACHE, judge_dcache },	{ CULPRIT_DTLB, judge_dtlb },
	{ CULPRIT_CONTENDED, judge_contended }, { CULPRIT_FORWARD, judge_forward },
	{ CULPRIT_ALIAS, judge_alias },		{ CULPRIT_STORES, judge_stores },
	{ CULPRIT_BRANCH, judge_branch },	{ CULPRIT_ICACHE, judge_icache },
	{ CULPRIT_ITLB, judge_itlb },		{ CULPRIT_FRONT, judge_front },
	{ CULPRIT_DIVIDER, judge_divider },	{ CULPRIT_MULTIPLIER, judge_multiplier },
	{ CULPRIT_SERIAL, judge_serial },	{ CULPRIT_STRING, judge_string },
	{ CULPRIT_LATENCY, judge_latency },
};

void culprit_judge(const struct culprit_case *c, struct culprit_verdict v[CULPRIT_N])
{
	memset(v, 0, CULPRIT_N * sizeof(*v));
	for (int i = 0; i < CULPRIT_N; i++) {
		struct culprit_verdict *to = &v[culprit_rules[i].culprit];

		culprit_rules[i].judge(c, to);
		if (to->most < NEGLIGIBLE * c->stall)
			*to = (struct culprit_verdict){ 0 };
		to->likely =
			fmin(to->most, fmax(to->likely, LEAST_LIKELY * fmin(to->most, c->stall)));
	}
}

double culprit_more(double stall, const struct culprit_verdict v[CULPRIT_N])
{
	double most = 0, likely = 0;

	for (int i = 0; i < CULPRIT_N; i++) {
		most += v[i].most;
		likely += v[i].likely;
	}
	return most > 0 && stall > most ? fmin(MORE_MOST, stall / likely) : 1;
}

/* The sum over culprits if each has `times` its likely share, limited to its range. */
static double shared(const struct culprit_verdict v[CULPRIT_N],
		     const struct culprit_range r[CULPRIT_N], double times)
{
	double sum = 0;

	for (int i = 0; i < CULPRIT_N; i++)
		sum += fmin(r[i].max, fmax(r[i].min, times * v[i].likely));
	return sum;
}

/* Divides the explained stall among culprits in proportion to their likely shares. */
static void share_out(double explained, const struct culprit_verdict v[CULPRIT_N],
		      struct culprit_range r[CULPRIT_N])
{
	double low = 1e-12, high = 1e12;

	for (int i = 0; i < SHARE_HALVINGS; i++) {
		double mid = sqrt(low * high);

		*(shared(v, r, mid) > explained ? &high : &low) = mid;
	}
	for (int i = 0; i < CULPRIT_N; i++)
		r[i].expected = fmin(r[i].max, fmax(r[i].min, low * v[i].likely));
}

double culprit_limits(double stall, const struct culprit_verdict v[CULPRIT_N],
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
			.image = v[i].image,
		};
	/* the unexplained rest belongs to no culprit */
	for (int i = 0; i < CULPRIT_N; i++)
		r[i].min = fmin(r[i].min, r[i].max);
	return fmax(0, stall - sum);
}

double culprit_ranges(double stall, const struct culprit_verdict v[CULPRIT_N],
		      struct culprit_range r[CULPRIT_N])
{
	double unexplained = culprit_limits(stall, v, r);

	share_out(stall - unexplained, v, r);
	return unexplained;
}
