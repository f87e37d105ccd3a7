/* SPDX-License-Identifier: MIT */
#include "culprit/culprit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "culprit/culprit_priv.h"
#include "culprit/refills.h"
#include "culprit/scale.h"
#include "estimate/anchor.h"
#include "observe/layouts.h"

/* most instructions at which the time that the schedule gives to one of them may show */
#define AHEAD 8

/* The whole program. */

static double executions_of(const struct culprits *c, const struct estimate_proc *p, uint32_t b)
{
	return p->block[b].confidence == CONFIDENCE_NONE ? 0 : p->block[b].f * c->facts.scale;
}

double culprits_least(const struct culprits *c, const struct estimate_proc *p, uint32_t block)
{
	const struct schedule_insn *insn = schedules_of(&c->schedules, p, block);
	double least = 0;

	for (uint32_t i = 0; insn && i < p->g.block[block].ninsn; i++)
		least += insn[i].least;
	return least;
}

/* What the program touches. */

static bool jumps(uint8_t ends)
{
	return ends != CFG_END_NEXT && ends != CFG_END_VIRTUAL;
}

/* The share of a site's accesses, or fetches, of lines that were not used just before. */
static double fresh_of(uint64_t fresh, uint64_t n, uint64_t all_fresh, uint64_t all)
{
	return fact_part(fresh, n, all ? (double)all_fresh / (double)all : 1).likely;
}

/* Adds the lines (or pages) of code that a block is fetched from, if the block ever ran. */
static int note_block(struct culprits *c, const struct estimate_proc *p, uint32_t block,
		      unsigned bits, struct fetched *to)
{
	const struct cfg_block *k = &p->g.block[block];
	const struct locality *all = &c->facts.seen;
	double f = executions_of(c, p, block);

	for (uint32_t i = 0; f > 0 && i < k->ninsn; i++) {
		const struct site *s = p->site[k->insn + i];
		struct locality l = s ? locality_get(s) : (struct locality){ 0 };
		struct fetched_unit u = {
			.image = p->image,
			.unit = p->g.insn[k->insn + i].addr >> bits,
			.uses = f,
			.seen = (double)(bits == MACHINE_LINE ? l.code_lines : l.code_pages),
		};

		/* control enters each line or page of code once within a block */
		if (i && u.unit == p->g.insn[k->insn + i - 1].addr >> bits)
			continue;
		u.bursts = f * (bits == MACHINE_LINE ? fresh_of(l.code_lines, l.fetches,
								all->code_lines, all->fetches)
						     : fresh_of(l.code_pages, l.fetches,
								all->code_pages, all->fetches));
		if (fetched_add(to, &u))
			return -1;
	}
	return 0;
}

static int find_fetched(struct culprits *c, unsigned bits, struct fetched *f, struct crowd *crowd)
{
	for (size_t i = 0; i < c->e->nproc; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < c->e->proc[i].g.nblocks; b++)
			if (note_block(c, &c->e->proc[i], b, bits, f))
				return -1;
	return fetched_ready(f, crowd);
}

static int crowd_code(struct culprits *c)
{
	int rc = find_fetched(c, MACHINE_LINE, &c->lines_fetched, &c->code_lines) |
		 find_fetched(c, MACHINE_PAGE, &c->pages_fetched, &c->code_pages);

	for (size_t i = 0; i < c->e->nproc; i++) {
		const struct estimate_proc *p = &c->e->proc[i];

		for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
			const struct cfg_block *k = &p->g.block[b];
			double f = executions_of(c, p, b);

			rc |= crowd_add(&c->insns, f * k->ninsn, f * k->ninsn, k->ninsn);
			if (jumps(k->ends))
				rc |= crowd_add(&c->targets, f, f, 1);
		}
	}
	return rc;
}

static double seen_of(const struct locality *l)
{
	return l->spread ? (double)l->spread->seen : 0;
}

/* Adds the site's regions, each used in proportion to its listed addresses. */
static int place_site(struct culprits *c, const struct site *s, double f)
{
	struct locality l = locality_get(s);
	const struct locality *all = &c->facts.seen;
	struct region region[FOOTPRINT_REGIONS];
	unsigned n = footprint_regions(site_hot(s, OPERAND_ADDRESS), c->facts.processes, region);
	double lines = fresh_of(l.lines, l.accesses, all->lines, all->accesses);
	double pages = fresh_of(l.pages, l.accesses, all->pages, all->accesses);
	double layouts = layouts_of(c->src->profile->image[s->id.image]);
	unsigned seen = 0;
	int rc = 0;

	/* Each access may be to a new line: that is a bound, but not likely. */
	if (!n)
		return crowd_add(&c->data_lines, f / layouts, 0, INFINITY) |
		       crowd_add(&c->data_pages, f / layouts, 0, INFINITY);
	for (unsigned i = 0; i < n; i++)
		seen += region[i].seen;
	for (unsigned i = 0; i < n; i++) {
		uint64_t from = region[i].start, to = from + (uint64_t)region[i].bytes - 1;
		double uses = f * region[i].seen / seen;

		const struct place_area line = { .from = from >> MACHINE_LINE,
						 .to = to >> MACHINE_LINE,
						 .used = l.spread ? &l.spread->lines : NULL,
						 .seen = seen_of(&l),
						 .layouts = layouts };
		const struct place_area page = { .from = from >> MACHINE_PAGE,
						 .to = to >> MACHINE_PAGE,
						 .used = l.spread ? &l.spread->pages : NULL,
						 .seen = seen_of(&l),
						 .layouts = layouts };

		rc |= places_add(&c->line_places, &line, uses, uses * lines);
		rc |= places_add(&c->page_places, &page, uses, uses * pages);
	}
	return rc;
}

static int crowd_data(struct culprits *c)
{
	const struct site *s;
	int rc = 0;

	SITES_EACH(&c->src->profile->sites, s)
	{
		struct estimate_at at;

		if (site_hot(s, OPERAND_ADDRESS) &&
		    estimate_find(c->e, s->id.image, s->id.addr, &at))
			rc |= place_site(c, s, executions_of(c, at.proc, at.block));
	}
	return rc || places_ready(&c->line_places, &c->data_lines) ||
			       places_ready(&c->page_places, &c->data_pages)
		       ? -1
		       : 0;
}

static void sum_locality(struct culprits *c)
{
	const struct site *s;

	SITES_EACH(&c->src->profile->sites, s)
	{
		struct locality l = locality_get(s);

		locality_add(&c->facts.seen, &l);
	}
}

static int find_crowds(struct culprits *c)
{
	if (crowd_code(c) || crowd_data(c))
		return -1;
	c->facts.lines_fetched = &c->lines_fetched;
	c->facts.pages_fetched = &c->pages_fetched;
	c->facts.line_places = &c->line_places;
	c->facts.page_places = &c->page_places;
	c->facts.data_lines = &c->data_lines;
	c->facts.data_pages = &c->data_pages;
	c->facts.code_lines = &c->code_lines;
	c->facts.code_pages = &c->code_pages;
	c->facts.targets = &c->targets;
	c->facts.insns = &c->insns;
	return crowd_ready(&c->data_lines) || crowd_ready(&c->data_pages) ||
			       crowd_ready(&c->code_lines) || crowd_ready(&c->code_pages) ||
			       crowd_ready(&c->targets) || crowd_ready(&c->insns)
		       ? -1
		       : 0;
}

static void forget_crowds(struct culprits *c)
{
	paths_free(c->paths);
	c->paths = NULL;
	fetched_fini(&c->lines_fetched);
	fetched_fini(&c->pages_fetched);
	places_fini(&c->line_places);
	places_fini(&c->page_places);
	crowd_fini(&c->data_lines);
	crowd_fini(&c->data_pages);
	crowd_fini(&c->code_lines);
	crowd_fini(&c->code_pages);
	crowd_fini(&c->targets);
	crowd_fini(&c->insns);
}

int culprits_find_paths(struct culprits *c)
{
	forget_crowds(c);
	if (find_crowds(c))
		return -1;
	c->paths = paths_new(c->e, c->src, &c->facts);
	return c->paths ? 0 : -1;
}

static bool looked_for_conflicts(const struct profile *p)
{
	for (size_t i = 0; i < p->nrun; i++)
		if (!p->run[i].distance)
			return false;
	return p->nrun > 0;
}

/* The scale of a counted estimate is known. */
static int find_all(struct culprits *c)
{
	sum_locality(c);
	if (refills_find(&c->refills, c->e, c->src->profile))
		return -1;
	c->facts.all_refills = c->refills;
	if (c->e->method == ESTIMATE_COUNTED)
		return culprits_find_paths(c);
	return scales_fit(c);
}

struct culprits *culprits_open(struct estimate *e, const struct estimate_source *src,
			       struct err *err)
{
	struct culprits *c = calloc(1, sizeof(*c));
	struct run_counters counters;

	if (!c) {
		err_no_memory(err, "culprits");
		return NULL;
	}
	profile_counters(src->profile, &counters);
	c->e = e;
	c->src = src;
	refills_machine(&c->machine, src->schedule.cpu, src->profile);
	c->period = anchor_cycles(src->profile);
	c->facts = (struct fact_source){
		.machine = &c->machine,
		.meetings = looked_for_conflicts(src->profile) ? &c->meetings : NULL,
		.schedules = &c->schedules,
		.profile = src->profile,
		.scale = e->scale,
		.processes = counters.processes,
		.samples = (double)counters.user,
		.small = (double)counters.small_kib * 1024,
		.large = counters.memory_kib
				 ? fmin(1, (double)counters.large_kib / (double)counters.memory_kib)
				 : 0,
	};
	if (!meetings_make(&c->meetings, src->profile) && !schedules_make(&c->schedules, e, src) &&
	    !find_all(c))
		return c;
	err_no_memory(err, "culprits");
	culprits_close(c);
	return NULL;
}

void culprits_close(struct culprits *c)
{
	if (!c)
		return;
	forget_crowds(c);
	meetings_fini(&c->meetings);
	schedules_fini(&c->schedules);
	free(c->refills);
	free(c);
}

const char *culprits_warning(const struct culprits *c)
{
	return c->schedules.warning.msg;
}

double culprits_period(const struct culprits *c)
{
	return c->period;
}

/* Explaining one procedure. */

/* Time that the schedule gives to instructions at which it did not show: it may show at later
 * instructions. */
struct carry {
	double own[AHEAD]; /* of each of the last instructions */
	double before;	   /* carried over from other blocks */
};

static double take(double *from, double *want)
{
	double part = fmin(*from, *want);

	*from -= part;
	*want -= part;
	return part;
}

/* Advances by one instruction; the oldest entry is dropped. */
static double carry_step(struct carry *c, double more)
{
	double lost = c->own[AHEAD - 1];

	memmove(&c->own[1], &c->own[0], (AHEAD - 1) * sizeof(c->own[0]));
	c->own[0] = more;
	return lost;
}

static double carry_own(const struct carry *c)
{
	double sum = 0;

	for (int i = 0; i < AHEAD; i++)
		sum += c->own[i];
	return sum;
}

/* The executions are known up to a factor, and limits of culprits must hold for all values within
 * it. */
struct uncertain {
	double stall, executions;
};

/* Computes the stall and the suspects for an instruction that ran `times` as often as estimated,
 * and whose scheduled cycles were that much more. */
static struct uncertain if_ran(const struct culprit_insn_time *t, double behind, double times,
			       double scheduled)
{
	double more = (t->least * t->executions + behind) * (times * scheduled - 1);

	return (struct uncertain){ fmin(t->cycles, fmax(0, t->stall - more)),
				   times * t->executions };
}

/* Widens limits, over all executions, to include those for another number of executions. */
static void widen(struct culprit_range range[CULPRIT_N],
		  const struct culprit_verdict verdict[CULPRIT_N], struct uncertain u)
{
	struct culprit_range r[CULPRIT_N];

	culprit_limits(u.stall / u.executions, verdict, r);
	for (int i = 0; i < CULPRIT_N; i++) {
		range[i].min = fmin(range[i].min, r[i].min * u.executions);
		range[i].max = fmax(range[i].max, r[i].max * u.executions);
		if (range[i].max > 0 && !range[i].fault)
			range[i].fault = r[i].fault;
	}
}

struct work {
	struct culprits *c;
	const struct estimate_proc *p;
	struct culprit_proc *out;
	double *left; /* by block: cycles that the block leaves to its successors */
};

/* The number of instructions that retire alone: one that fuses with a branch retires with it. */
static double retired(const struct work *w, uint32_t block, uint32_t from, uint32_t to)
{
	double n = 0;

	for (uint32_t k = from; k < to; k++) {
		const struct fact *f = paths_fact(w->c->paths, w->p, block, k);
		const struct fact *next = paths_fact(w->c->paths, w->p, block, k + 1);

		n += !(f && f->fuses && next && next->cls == INSN_BRANCH);
	}
	return n;
}

/* Cycles in which the core can execute and retire those instructions of a block if none waits. */
static double at_once(const struct work *w, uint32_t block, uint32_t from, uint32_t to)
{
	const struct culprit_machine *m = &w->c->machine;
	double integer = 0;

	for (uint32_t k = from; k < to; k++) {
		const struct fact *f = paths_fact(w->c->paths, w->p, block, k);

		integer += f && f->integer;
	}
	return fmax(integer / m->alus, retired(w, block, from, to) / m->retire);
}

/* The cycles in which instructions retire at the core's full rate. An instruction that waits for a
 * unit gets no more than the instruction and those after it need. */
static double ideal_of(const struct work *w, uint32_t block, const struct schedule_insn *s,
		       uint32_t k)
{
	const struct cfg_block *b = &w->p->g.block[block];
	uint32_t end = k + 1;

	if (!s)
		return 0;
	if (s[k].why != SCHEDULE_UNIT)
		return fmin(s[k].least, 1);
	while (end < b->ninsn && s[end].least <= 0)
		end++;
	return fmin(s[k].least, fmin(1, at_once(w, block, k, end)));
}

/* The smallest part of a block's schedule that a core can take: the waiting times of instructions, less a margin, and
 * the cycles at the full rate of retirement. */
static double least_part(const struct work *w, uint32_t block)
{
	const struct schedule_insn *s = schedules_of(&w->c->schedules, w->p, block);
	const struct cfg_block *b = &w->p->g.block[block];
	double all = 0, ideal = 0, least;

	for (uint32_t k = 0; s && k < b->ninsn; k++) {
		all += s[k].least;
		ideal += ideal_of(w, block, s, k);
	}
	least = fmin(ideal / CULPRIT_AT_ONCE,
		     retired(w, block, 0, b->ninsn) / w->c->machine.retire);
	return all > 0 ? ((all - ideal) / CULPRIT_AT_ONCE + least) / all : 1;
}

/* Explains an instruction. behind: cycles that the schedule gave to earlier instructions and that
 * show here. */
static void explain(struct work *w, uint32_t block, uint32_t k, double behind,
		    struct culprit_insn_time *t)
{
	struct culprit_verdict verdict[CULPRIT_N];
	struct culprit_range r[CULPRIT_N];
	struct culprit_case c = {
		.machine = &w->c->machine,
		.least = t->least,
	};
	double factor = estimate_factor(estimate_error(w->c->e, w->p, block));
	struct uncertain fewer = if_ran(t, behind, 1 / factor, least_part(w, block)),
			 more_often = if_ran(t, behind, factor, 1);
	double more, executions;

	c.stall = fewer.stall / t->executions;
	t->unexplained = t->stall;
	if (c.stall <= 0)
		return;
	paths_case(w->c->paths, w->p, block, k, &c);
	if (!c.fact)
		return;
	culprit_judge(&c, verdict);
	c.stall = t->stall / t->executions;
	more = t->confidence <= CONFIDENCE_LOW ? culprit_more(c.stall, verdict) : 1;
	executions = t->executions * more;
	if (more > 1)
		t->raised = culprit_ranges(c.stall, verdict, r) * t->executions;
	t->unexplained = culprit_ranges(c.stall / more, verdict, r) * executions;
	t->raised = fmax(0, t->raised - t->unexplained);
	for (int i = 0; i < CULPRIT_N; i++) {
		r[i].min *= executions;
		r[i].max *= executions;
		r[i].expected *= executions;
		t->range[i] = r[i];
	}
	widen(t->range, verdict, fewer);
	widen(t->range, verdict, more_often);
}

/* The time for a unit is the excess of the schedule over the cycles in which the core could have executed other
 * instructions instead, and these may be more. */
static void add_multiplication(struct culprit_sum *s, const struct culprit_insn_time *t)
{
	double more = t->why == SCHEDULE_UNIT ? (CULPRIT_AT_ONCE - 1) * t->ideal : 0;

	s->multiply += t->fixed;
	s->multiply_least += fmax(0, t->fixed - more);
}

/* The facts of an instruction in another block; NULL: they are not known. */
static const struct fact *fact_elsewhere(const struct work *w, uint64_t addr)
{
	struct estimate_at at;

	if (!estimate_find(w->c->e, w->p->image, addr, &at))
		return NULL;
	for (uint32_t k = 0; k < at.proc->g.block[at.block].ninsn; k++)
		if (at.proc->g.insn[at.proc->g.block[at.block].insn + k].addr == addr)
			return paths_placed(w->c->paths, at.proc, at.block, k);
	return NULL; /* procedures that overlap may have other instructions there */
}

/*
 * Attributes a static stall of a division or a multiplication, or of an instruction that waits for
 * one, to that unit. An instruction that waits for a load whose forwarding fails might not have
 * waited at all, because current cores rename memory and forward without delay.
 */
static void name_cause(struct work *w, uint32_t block, uint32_t k, const struct schedule_insn *s,
		       const struct culprit_insn_time *t)
{
	bool waits = s->cause >= 0 && (uint32_t)s->cause < w->p->g.block[block].ninsn;
	const struct fact *f;

	if (t->fixed <= 0)
		return;
	f = paths_placed(w->c->paths, w->p, block, k);
	if (waits && !(f && (f->divides || f->multiplies)))
		f = paths_placed(w->c->paths, w->p, block, (uint32_t)s->cause);
	else if (s->elsewhere && !(f && (f->divides || f->multiplies)))
		f = fact_elsewhere(w, s->elsewhere);
	if (f && f->divides)
		w->out->sum.divide += t->fixed;
	else if (f && f->multiplies)
		add_multiplication(&w->out->sum, t);
	else if (f && f->load)
		w->out->sum.max[CULPRIT_FORWARD] += f->forward.likely * t->fixed;
}

static void add_to_sum(struct culprit_sum *s, const struct culprit_insn_time *t)
{
	s->cycles += t->cycles;
	s->executions += t->executions;
	s->ideal += t->ideal;
	s->stall += t->stall;
	s->unexplained += t->unexplained;
	s->raised += t->raised;
	s->fixed[t->why & 3] += t->fixed;
	if (t->executions <= 0)
		s->unestimated += t->cycles;
	else if (t->confidence <= CONFIDENCE_LOW)
		s->doubtful += t->cycles;
	for (int i = 0; i < CULPRIT_N; i++) {
		s->min[i] += t->range[i].min;
		s->max[i] += t->range[i].max;
		s->expected[i] += t->range[i].expected;
	}
}

/* Handles the k-th instruction. fill: its explanation is kept; otherwise only the cycles that it
 * leaves to later instructions are computed. */
static void do_insn(struct work *w, uint32_t block, uint32_t k, struct carry *carry, bool fill)
{
	const struct cfg_block *b = &w->p->g.block[block];
	const struct schedule_insn *s = schedules_of(&w->c->schedules, w->p, block);
	const struct site *site = w->p->site[b->insn + k];
	struct culprit_insn_time t = {
		.addr = w->p->g.insn[b->insn + k].addr,
		.image = w->p->image,
		.confidence = w->p->block[block].confidence,
		.executions = executions_of(w->c, w->p, block),
		.cycles = site ? (double)site->samples * w->c->period : 0,
		.least = s ? s[k].least : 0,
	};
	double more, gain, behind;

	if (t.executions > 0) {
		t.ideal = ideal_of(w, block, s, k) * t.executions;
		t.fixed = t.least * t.executions - t.ideal;
	}
	if (s && t.fixed > 0) {
		t.why = s[k].why;
		t.cause = s[k].cause >= 0 && (uint32_t)s[k].cause < b->ninsn
				  ? w->p->g.insn[b->insn + (uint32_t)s[k].cause].addr
				  : s[k].elsewhere;
	}
	more = t.executions > 0 ? t.cycles - t.ideal - t.fixed : 0;
	gain = carry_step(carry, fmax(0, -more));
	t.stall = fmax(0, more);
	behind = t.stall;
	for (int i = 1; i < AHEAD; i++)
		take(&carry->own[i], &t.stall);
	gain -= take(&carry->before, &t.stall);
	behind -= t.stall;
	if (!fill)
		return;
	w->out->sum.gain += gain;
	w->out->sum.samples += site ? (double)site->samples : 0;
	if (t.cycles > 0 && t.executions > 0)
		explain(w, block, k, behind, &t);
	if (s)
		name_cause(w, block, k, &s[k], &t);
	add_to_sum(&w->out->sum, &t);
	if (site && site->samples)
		w->out->insn[w->out->n++] = t;
}

static void do_block(struct work *w, uint32_t block, double before, bool fill)
{
	struct carry carry = { .before = before };

	for (uint32_t k = 0; k < w->p->g.block[block].ninsn; k++)
		do_insn(w, block, k, &carry, fill);
	w->left[block] = carry_own(&carry);
	if (fill)
		w->out->sum.gain += carry_own(&carry);
}

/* Cycles that a block's predecessors leave to it. */
static double left_before(const struct work *w, uint32_t block, const double *left)
{
	const struct cfg *g = &w->p->g;
	const struct cfg_block *b = &g->block[block];
	double sum = 0;

	for (uint32_t i = b->in; i < b->in + b->nin; i++) {
		uint32_t from = g->edge[g->in[i]].from;
		double f = w->p->block[from].f;

		if (f > 0)
			sum += left[from] * fmin(1, w->p->edge[g->in[i]].f / f);
	}
	return sum;
}

/* Removes scheduled cycles that were not observed: they were neither stall nor execution. */
static void settle(struct culprit_sum *s)
{
	double fixed = s->fixed[0] + s->fixed[1] + s->fixed[2] + s->fixed[3];
	double less = fmin(s->gain, fixed), left = fixed > 0 ? 1 - less / fixed : 0;

	for (int i = 0; i < 4; i++)
		s->fixed[i] *= left;
	s->divide *= left;
	s->multiply *= left;
	s->multiply_least *= left;
	s->ideal = fmax(0, s->ideal - (s->gain - less));
}

static int by_addr(const void *a, const void *b)
{
	const struct culprit_insn_time *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

int culprits_of(struct culprits *c, const struct estimate_proc *p, struct culprit_proc *out,
		struct err *err)
{
	struct work w = { .c = c, .p = p, .out = out };
	double *left = calloc((size_t)p->g.nblocks + 1, sizeof(*left));
	size_t n = 0;

	for (uint32_t i = 0; i < p->g.ninsns; i++)
		n += p->site[i] && p->site[i]->samples;
	*out = (struct culprit_proc){ .proc = p, .insn = calloc(n + 1, sizeof(*out->insn)) };
	w.left = calloc((size_t)p->g.nblocks + 1, sizeof(*w.left));
	if (!left || !w.left || !out->insn) {
		culprit_proc_fini(out);
		free(left);
		free(w.left);
		return err_no_memory(err, "culprits");
	}
	for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++)
		do_block(&w, b, 0, false);
	memcpy(left, w.left, (size_t)p->g.nblocks * sizeof(*left));
	for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++)
		do_block(&w, b, left_before(&w, b, left), true);
	settle(&out->sum);
	if (out->n)
		qsort(out->insn, out->n, sizeof(*out->insn), by_addr);
	free(left);
	free(w.left);
	return 0;
}

void culprit_proc_fini(struct culprit_proc *p)
{
	free(p->insn);
	*p = (struct culprit_proc){ 0 };
}

void culprit_sum_add(struct culprit_sum *to, const struct culprit_sum *s)
{
	to->samples += s->samples;
	to->cycles += s->cycles;
	to->unestimated += s->unestimated;
	to->executions += s->executions;
	to->error += s->error;
	to->counted += s->counted;
	to->ideal += s->ideal;
	to->stall += s->stall;
	to->gain += s->gain;
	to->unexplained += s->unexplained;
	to->raised += s->raised;
	to->doubtful += s->doubtful;
	to->divide += s->divide;
	to->multiply += s->multiply;
	to->multiply_least += s->multiply_least;
	for (int i = 0; i < 4; i++)
		to->fixed[i] += s->fixed[i];
	for (int i = 0; i < CULPRIT_N; i++) {
		to->min[i] += s->min[i];
		to->max[i] += s->max[i];
		to->expected[i] += s->expected[i];
		to->caused[i] += s->caused[i];
	}
}
