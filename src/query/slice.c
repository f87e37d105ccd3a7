/* SPDX-License-Identifier: MIT */
#include "query/slice.h"

#include <math.h>
#include <stdlib.h>

#define FLAGS (1u << 16) /* the flags, after one bit for each register */
#define STACK (1u << UR_RSP)
/* Registers that a call may change (System V). */
#define CLOBBERED \
	(1u << UR_RAX | 1u << UR_RCX | 1u << UR_RDX | 1u << UR_RSI | 1u << UR_RDI | 1u << UR_R8 | \
	 1u << UR_R9 | 1u << UR_R10 | 1u << UR_R11 | FLAGS)

int slice_init(struct slice *s, const struct listing *l)
{
	size_t n = l->n + 1;

	*s = (struct slice){ .listing = l };
	s->tainted = calloc(n, sizeof(*s->tainted));
	s->queue = malloc(n * sizeof(*s->queue));
	s->found = malloc(n * sizeof(*s->found));
	s->touched = malloc(n * sizeof(*s->touched));
	s->is_found = calloc(n, sizeof(*s->is_found));
	s->block = calloc(n, sizeof(*s->block));
	if (s->block && s->tainted && s->queue && s->found && s->touched && s->is_found)
		return 0;
	slice_fini(s);
	return -1;
}

void slice_fini(struct slice *s)
{
	free(s->tainted);
	free(s->queue);
	free(s->found);
	free(s->touched);
	free(s->is_found);
	free(s->block);
	*s = (struct slice){ 0 };
}

static void reset(struct slice *s)
{
	for (size_t k = 0; k < s->ntouched; k++) {
		s->tainted[s->touched[k]] = 0;
		s->is_found[s->touched[k]] = false;
	}
	s->ntouched = s->nfound = s->nqueue = 0;
	s->addresses = false;
}

/* Records that the value reaches instruction i in these registers. Taint only grows, so the walk
 * ends; if the queue is full, the value is not followed. */
static void reach(struct slice *s, size_t i, uint32_t taint)
{
	uint32_t all = s->tainted[i] | taint;

	if (i >= s->listing->n || all == s->tainted[i] || s->nqueue == s->listing->n)
		return;
	if (!s->tainted[i])
		s->touched[s->ntouched++] = i;
	s->tainted[i] = all;
	s->queue[s->nqueue++] = i;
}

static void reach_successors(struct slice *s, size_t i, uint32_t taint)
{
	const struct listing_insn *li = &s->listing->v[i];
	const struct listing_insn *to;

	if (!taint)
		return;
	if ((li->cls == INSN_BRANCH || li->cls == INSN_JUMP) &&
	    (to = listing_at(s->listing, li->target)))
		reach(s, (size_t)(to - s->listing->v), taint);
	if (li->cls != INSN_JUMP && li->cls != INSN_IJUMP && li->cls != INSN_RET &&
	    li->cls != INSN_TRAP && li->valid)
		reach(s, i + 1, taint);
}

static uint32_t made_by(const struct listing_insn *li)
{
	return (li->writes & ~STACK) | (li->fl_writes ? FLAGS : 0);
}

static void visit(struct slice *s, size_t i)
{
	const struct listing_insn *li = &s->listing->v[i];
	uint32_t taint = s->tainted[i];
	bool uses = (li->reads & taint) || (li->fl_reads && (taint & FLAGS));

	s->addresses |= li->addresses & taint;
	taint &= ~(uint32_t)li->kills;
	if (li->fl_writes)
		taint &= ~FLAGS;
	if (li->cls == INSN_CALL || li->cls == INSN_ICALL)
		taint &= ~CLOBBERED;
	if (uses) {
		taint |= made_by(li);
		if (!s->is_found[i])
			s->found[s->nfound++] = i;
		s->is_found[i] = true;
	}
	reach_successors(s, i, taint);
}

static void follow(struct slice *s)
{
	for (int steps = 0; s->nqueue && steps < SLICE_STEPS; steps++)
		visit(s, s->queue[--s->nqueue]);
}

static void forget(struct slice *s, size_t origin)
{
	for (size_t k = 0; k < s->nfound; k++)
		if (s->found[k] == origin) {
			s->found[k] = s->found[--s->nfound];
			return;
		}
}

void slice_from_result(struct slice *s, size_t i)
{
	reset(s);
	reach_successors(s, i, made_by(&s->listing->v[i]));
	follow(s);
	forget(s, i);
}

/* Follows the value of register reg (enum uop_reg) before instruction i. */
static void slice_from_register(struct slice *s, size_t i, int reg)
{
	reset(s);
	reach(s, i, 1u << reg);
	follow(s);
}

bool slice_uses_argument(struct slice *s, size_t i, int k)
{
	static const int reg[] = { UR_RDI, UR_RSI, UR_RDX, UR_RCX, UR_R8, UR_R9 };

	slice_from_register(s, i, reg[k]);
	return s->nfound;
}

static void account(const struct slice *s, const struct view *v, size_t i)
{
	const struct listing_insn *li = &s->listing->v[i];
	struct slice_block *b = &s->block[li->first];

	b->time += li->site ? view_time(v, li->site) : 0;
	b->n++;
}

/* Takes the time accounted for in the block of instruction i, once. */
static double take_account(const struct slice *s, size_t i)
{
	size_t first = s->listing->v[i].first;
	const struct listing_insn *li = &s->listing->v[first];
	struct slice_block b = s->block[first];

	s->block[first] = (struct slice_block){ 0 };
	return fmax(b.time, li->block_time * (double)b.n / (double)li->block_n);
}

double slice_time(const struct slice *s, const struct view *v, size_t origin)
{
	double time = 0;

	if (origin != SLICE_NO_ORIGIN)
		account(s, v, origin);
	for (size_t k = 0; k < s->nfound; k++)
		account(s, v, s->found[k]);
	if (origin != SLICE_NO_ORIGIN)
		time += take_account(s, origin);
	for (size_t k = 0; k < s->nfound; k++)
		time += take_account(s, s->found[k]);
	return time;
}
