/* SPDX-License-Identifier: MIT */
#include "report/takes.h"

#include <stdlib.h>

#include "report/listing.h"

#define ARGUMENTS 6
#define ALL ((1u << ARGUMENTS) - 1)
#define DEPTH 4 /* calls that are followed into */

struct takes_known {
	bool known;
	uint8_t taken; /* a bit an argument */
};

/* The registers of arguments, as bits of an instruction's, by argument. */
static const uint16_t reg_of[ARGUMENTS] = { 1u << UR_RDI, 1u << UR_RSI, 1u << UR_RDX,
					    1u << UR_RCX, 1u << UR_R8,	1u << UR_R9 };

/* A walk through one procedure: what each instruction finds untouched, as a bit an argument. */
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
	/* an instruction is queued at most once for each argument */
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

/* What a call, or a jump out of the procedure, takes of what is live there. */
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
	/* a call leaves nothing of the arguments */
	if (!li->valid || call || li->cls == INSN_IJUMP)
		return;
	if (jump && to)
		reach(w, to, live);
	if (li->cls == INSN_JUMP || li->cls == INSN_RET || li->cls == INSN_TRAP)
		return;
	if (li + 1 < w->l.v + w->l.n)
		reach(w, li + 1, live);
	else
		w->taken |= live; /* it goes on in what is behind the procedure */
}

/* False: no code, or no memory. */
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
	/* procedures that call one another: until the first one is known it takes all */
	*k = (struct takes_known){ true, ALL };
	if (!walk(&w, binaries_get(&t->r->binaries, p->image)))
		return ALL;
	k->taken = w.taken;
	/* what was cut off at the depth may be known better when it is asked for by itself */
	k->known = depth == 0 || w.taken != ALL;
	return w.taken;
}

bool takes_argument(struct takes *t, const struct view_proc *p, int k)
{
	return !p || !p->n || (taken_by(t, p, 0) & 1u << k);
}
