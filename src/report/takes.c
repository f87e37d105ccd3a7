/* SPDX-License-Identifier: MIT */
#include "report/takes.h"

#include <stdlib.h>

#include "query/listing.h"

#define ARGUMENTS 6
#define ALL ((1u << ARGUMENTS) - 1)
#define DEPTH 4 /* depth of followed calls */

struct takes_known {
	bool known;
	uint8_t taken; /* one bit for each argument */
};

/* The register of each argument, as a bit of an instruction's registers. */
static const uint16_t reg_of[ARGUMENTS] = { 1u << UR_RDI, 1u << UR_RSI, 1u << UR_RDX,
					    1u << UR_RCX, 1u << UR_R8,	1u << UR_R9 };

/* A walk through one procedure: the arguments that each instruction finds unchanged, one bit
 * each. */
struct walk {
	struct takes *t;
	const struct view_proc *p;
	struct listing l;
	uint8_t *live;
	size_t *queue, n;
	uint8_t taken;
	int depth;
};

int takes_init(struct takes *t, struct reading *r)
{
	t->r = r;
	t->proc = calloc(r->view.nproc + 1, sizeof(*t->proc));
	return t->proc ? 0 : -1;
}

void takes_fini(struct takes *t)
{
	free(t->proc);
	t->proc = NULL;
}

static uint8_t arguments_in(uint16_t regs)
{
	uint8_t in = 0;

	for (int k = 0; k < ARGUMENTS; k++)
		in |= regs & reg_of[k] ? 1u << k : 0;
	return in;
}

static void reach(struct walk *w, const struct listing_insn *li, uint8_t live)
{
	size_t i = (size_t)(li - w->l.v);

	if ((live & ~w->live[i]) == 0)
		return;
	/* An instruction is queued at most once for each argument. */
	w->live[i] |= live;
	w->queue[w->n++] = i;
}

static const struct view_proc *proc_at(const struct view *v, uint32_t image, uint64_t addr)
{
	for (size_t i = 0; i < v->nproc; i++)
		if (v->proc[i].image == image && v->proc[i].start == addr && v->proc[i].end > addr)
			return &v->proc[i];
	return NULL;
}

static uint8_t taken_by(struct takes *t, const struct view_proc *p, int depth);

/* The live arguments that a call, or a jump out of the procedure, takes. */
static uint8_t handed_on(struct walk *w, const struct listing_insn *li, uint8_t live)
{
	const struct view_proc *to =
		li->target ? proc_at(&w->t->r->view, w->p->image, li->target) : NULL;

	if (!to || w->depth >= DEPTH)
		return live;
	return to == w->p ? 0 : live & taken_by(w->t, to, w->depth + 1);
}

static void visit(struct walk *w, const struct listing_insn *li, uint8_t live)
{
	const struct listing_insn *to = li->target ? listing_at(&w->l, li->target) : NULL;
	bool call = li->cls == INSN_CALL || li->cls == INSN_ICALL;
	bool jump = li->cls == INSN_JUMP || li->cls == INSN_BRANCH;

	w->taken |= live & arguments_in(li->reads);
	live &= (uint8_t) ~(w->taken | arguments_in(li->kills));
	if (!li->valid || li->cls == INSN_IJUMP || li->cls == INSN_SYSCALL)
		w->taken |= live;
	else if (call || (jump && !to))
		w->taken |= handed_on(w, li, live);
	/* a call changes the registers of all arguments */
	if (!li->valid || call || li->cls == INSN_IJUMP)
		return;
	if (jump && to)
		reach(w, to, live);
	if (li->cls == INSN_JUMP || li->cls == INSN_RET || li->cls == INSN_TRAP)
		return;
	if (li + 1 < w->l.v + w->l.n)
		reach(w, li + 1, live);
	else
		w->taken |= live; /* control leaves through the end of the procedure */
}

/* Returns false without code or memory. */
static bool walk(struct walk *w, struct image *im)
{
	const struct listing_insn *first;
	bool ok;

	if (!im || !w->p->end || listing_read(&w->l, im, &w->t->r->view, w->p))
		return false;
	w->live = calloc(w->l.n + 1, sizeof(*w->live));
	w->queue = malloc((w->l.n + 1) * ARGUMENTS * sizeof(*w->queue));
	first = listing_at(&w->l, w->p->start);
	ok = w->live && w->queue && first;
	if (ok) {
		reach(w, first, ALL);
		while (w->n) {
			size_t i = w->queue[--w->n];

			visit(w, &w->l.v[i], w->live[i]);
		}
	}
	free(w->live);
	free(w->queue);
	listing_fini(&w->l);
	return ok;
}

static uint8_t taken_by(struct takes *t, const struct view_proc *p, int depth)
{
	struct takes_known *k = &t->proc[p - t->r->view.proc];
	struct walk w = { .t = t, .p = p, .depth = depth };

	if (k->known)
		return k->taken;
	/* Handles mutual recursion: until the first procedure's result is known, it counts as
	 * taking all arguments. */
	*k = (struct takes_known){ true, ALL };
	if (!walk(&w, binaries_get(&t->r->binaries, p->image)))
		return ALL;
	k->taken = w.taken;
	/* a result that was cut off at the depth may be better when it is asked for directly */
	k->known = depth == 0 || w.taken != ALL;
	return w.taken;
}

bool takes_argument(struct takes *t, const struct view_proc *p, int k)
{
	return !p || !p->n || (taken_by(t, p, 0) & 1u << k);
}
