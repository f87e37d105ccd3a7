/* SPDX-License-Identifier: MIT */
#include "estimate/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cpu/penalties.h"
#include "estimate/loops.h"

#define MOSTLY 0.5 /* share of a block's executions in a loop from which on it is scheduled there */

struct round {
	struct loop_step *step;
	unsigned nsteps;
	double again; /* the share of its executions after which it is executed again */
	uint8_t *code;
	struct schedule_block whole;
};

struct rounds {
	const struct estimate *e;
	const struct culprit_machine *machine;
	struct schedules *s;
	struct round *v;
	size_t n, cap;
	uint32_t *in; /* by block: number of the loop that it is scheduled in + 1, or 0 */
};

static size_t number_of(const struct rounds *r, struct loop_step at)
{
	return r->e->proc[at.proc].first + at.block;
}

/* The schedule of a block; NULL: it has none. */
static struct schedule_block *block_of(const struct rounds *r, struct loop_step at)
{
	uint32_t of = r->s->of[number_of(r, at)];

	return of ? &r->s->block[of - 1] : NULL;
}

static double sum_of(const struct schedule_insn *insn, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += insn[i].least;
	return sum;
}

/* Finding loops. */

/* How often control comes through a block in the loop. */
static unsigned times_in(const struct round *k, struct loop_step at)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->nsteps; i++)
		n += k->step[i].proc == at.proc && k->step[i].block == at.block;
	return n;
}

static double frequency_of(const struct rounds *r, struct loop_step at)
{
	return r->e->proc[at.proc].block[at.block].f;
}

/* The frequency of the loop, which is that of its rarest block. */
static double runs_of(const struct rounds *r, const struct round *k)
{
	double least = INFINITY;

	for (unsigned i = 0; i < k->nsteps; i++)
		least = fmin(least, frequency_of(r, k->step[i]) / times_in(k, k->step[i]));
	return least;
}

/* Joins the code of the loop's blocks. 1: one of them has no schedule. */
static int join_code(const struct rounds *r, struct round *k)
{
	struct schedule_block *w = &k->whole;
	size_t size = 0;

	for (unsigned i = 0; i < k->nsteps; i++) {
		const struct schedule_block *b = block_of(r, k->step[i]);

		if (!b)
			return 1;
		size += b->size;
		w->n += b->n;
	}
	k->code = malloc(size + 1);
	w->insn = calloc((size_t)w->n + 1, sizeof(*w->insn));
	if (!k->code || !w->insn)
		return -1;
	for (unsigned i = 0; i < k->nsteps; i++) {
		const struct schedule_block *b = block_of(r, k->step[i]);

		memcpy(k->code + w->size, b->code, b->size);
		w->size += b->size;
	}
	w->code = k->code;
	w->carried = SCHEDULE_LOOP;
	return 0;
}

/* Notes the blocks that mostly run in the loop and in none that was found before. Returns how many there are. */
static unsigned claim(struct rounds *r, const struct round *k, uint32_t number)
{
	double runs = runs_of(r, k);
	unsigned n = 0;

	for (unsigned i = 0; i < k->nsteps && runs > 0; i++) {
		uint32_t *in = &r->in[number_of(r, k->step[i])];

		if (*in || runs * times_in(k, k->step[i]) < MOSTLY * frequency_of(r, k->step[i]))
			continue;
		*in = number;
		n++;
	}
	return n;
}

static void round_fini(struct round *k)
{
	free(k->step);
	free(k->code);
	free(k->whole.insn);
}

/* Adds the loop that begins with a block, if there is one. -1 without memory. */
static int add_round(struct rounds *r, const struct loops *l, struct loop_step at)
{
	struct loop_step step[LOOP_STEPS];
	struct round k = { 0 };
	int rc;

	k.nsteps = loops_find(l, at.proc, at.block, SCHEDULE_BLOCK_MAX, step, &k.again);
	if (k.nsteps < 2)
		return 0;
	k.step = malloc(k.nsteps * sizeof(*k.step));
	if (!k.step || !array_reserve(r->v, r->cap, r->n + 1)) {
		free(k.step);
		return -1;
	}
	memcpy(k.step, step, k.nsteps * sizeof(*k.step));
	rc = join_code(r, &k);
	if (rc || !claim(r, &k, (uint32_t)r->n + 1)) {
		round_fini(&k);
		return rc < 0 ? -1 : 0;
	}
	r->v[r->n++] = k;
	return 0;
}

static int find_rounds(struct rounds *r)
{
	struct loops *l = loops_new(r->e);
	int rc = l ? 0 : -1;

	for (uint32_t i = 0; i < r->e->nproc && !rc; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < r->e->proc[i].g.nblocks && !rc; b++) {
			struct loop_step at = { i, b };
			const struct schedule_block *k = block_of(r, at);

			if (k && !k->cold && !r->in[number_of(r, at)])
				rc = add_round(r, l, at);
		}
	loops_free(l);
	return rc;
}

/* Dividing a loop's schedule. */

/*
 * The cycles of the loop. The reorder buffer holds all rounds of a loop that is soon left, and those of the next time, which
 * wait for other results; so chains count only in the part of it that these rounds fill. What the blocks take on their own
 * stays the least.
 */
static double cycles_of(const struct rounds *r, const struct round *k)
{
	double whole = sum_of(k->whole.insn, k->whole.n), apart = 0, filled = 1;

	for (unsigned i = 0; i < k->nsteps; i++) {
		const struct schedule_block *b = block_of(r, k->step[i]);

		apart += sum_of(b->insn, b->n);
	}
	if (k->again < 1)
		filled = fmin(1, k->whole.n / (1 - k->again) / r->machine->window);
	return fmax(fmin(whole, apart), whole * filled);
}

/* Spreads the loop's cycles: each block takes at least those in which its instructions retire, and the rest is in proportion to
 * what the schedule has beyond that. */
static void spread(const struct rounds *r, const struct round *k)
{
	double cycles = cycles_of(r, k), retire = r->machine->retire, beyond = 0, left, part;
	struct schedule_insn *insn = k->whole.insn;

	for (unsigned i = 0, n; i < k->nsteps; i++, insn += n) {
		n = block_of(r, k->step[i])->n;
		beyond += fmax(0, sum_of(insn, n) - n / retire);
	}
	left = fmax(0, cycles - k->whole.n / retire);
	part = beyond > 0 ? left / beyond : 0;
	insn = k->whole.insn;
	for (unsigned i = 0, n; i < k->nsteps; i++, insn += n) {
		double sum, to;

		n = block_of(r, k->step[i])->n;
		sum = sum_of(insn, n);
		to = n / retire + part * fmax(0, sum - n / retire);
		for (unsigned j = 0; j < n; j++)
			insn[j].least = (float)(sum > 0 ? insn[j].least * to / sum : to / n);
	}
}

/* The address of an instruction of the loop, if it is in that image; else 0. */
static uint64_t address_of(const struct rounds *r, const struct round *k, int32_t insn,
			   uint32_t image)
{
	for (unsigned i = 0; insn >= 0 && i < k->nsteps; i++) {
		const struct estimate_proc *p = &r->e->proc[k->step[i].proc];
		const struct cfg_block *b = &p->g.block[k->step[i].block];

		if (insn < (int32_t)b->ninsn)
			return p->image == image ? p->g.insn[b->insn + (uint32_t)insn].addr : 0;
		insn -= (int32_t)b->ninsn;
	}
	return 0;
}

/* Gives a block the mean of its schedules in the loop. */
static void take_part(const struct rounds *r, const struct round *k, unsigned step)
{
	struct schedule_block *to = block_of(r, k->step[step]);
	unsigned times = times_in(k, k->step[step]);
	uint32_t image = r->e->proc[k->step[step].proc].image;
	int32_t first = 0;

	for (unsigned j = 0; j < to->n; j++)
		to->insn[j].least = 0;
	for (unsigned i = 0; i < k->nsteps; first += (int32_t)block_of(r, k->step[i++])->n)
		for (unsigned j = 0; block_of(r, k->step[i]) == to && j < to->n; j++) {
			struct schedule_insn in = k->whole.insn[first + (int32_t)j];

			bool own = in.cause >= first && in.cause < first + (int32_t)to->n;

			in.elsewhere = own ? 0 : address_of(r, k, in.cause, image);
			in.cause = own ? in.cause - first : -1;
			in.least = to->insn[j].least + in.least / (float)times;
			to->insn[j] = in;
		}
}

/* Schedules the loops and gives their blocks their parts. */
static int schedule(struct rounds *r, const struct schedule_options *o)
{
	struct schedule_block *v = calloc(r->n + 1, sizeof(*v));
	struct err ignored;
	int rc;

	if (!v)
		return -1;
	for (size_t i = 0; i < r->n; i++)
		v[i] = r->v[i].whole;
	rc = schedule_blocks(v, r->n, o, &ignored);
	for (size_t i = 0; rc >= 0 && i < r->n; i++)
		if (v[i].modelled)
			spread(r, &r->v[i]);
	for (size_t i = 0; rc >= 0 && i < r->n; i++)
		for (unsigned k = 0; v[i].modelled && k < r->v[i].nsteps; k++)
			if (r->in[number_of(r, r->v[i].step[k])] == i + 1)
				take_part(r, &r->v[i], k);
	free(v);
	return rc < 0 ? -1 : 0;
}

int rounds_schedule(struct schedules *s, const struct estimate *e,
		    const struct estimate_source *src)
{
	struct rounds r = { .e = e, .s = s, .machine = culprit_machine(src->schedule.cpu) };
	int rc = -1;

	r.in = calloc(e->nblocks + 1, sizeof(*r.in));
	if (r.in && !find_rounds(&r))
		rc = schedule(&r, &src->schedule);
	for (size_t i = 0; i < r.n; i++)
		round_fini(&r.v[i]);
	free(r.v);
	free(r.in);
	return rc;
}
