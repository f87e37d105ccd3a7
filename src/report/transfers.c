/* SPDX-License-Identifier: MIT */
#include "report/transfers.h"

#include <stdlib.h>

#include "base/array.h"
#include "x86/insn.h"
#include "observe/edges.h"
#include "report/place.h"

static int add(struct transfers *t, const struct transfer *one)
{
	if (!array_reserve(t->v, t->cap, t->n + 1))
		return -1;
	t->v[t->n++] = *one;
	return 0;
}

static const struct view_proc *proc_at(const struct view *v, struct site_id id)
{
	size_t i = place_index(v, id);

	return i == SIZE_MAX ? NULL : &v->proc[v->proc_of[i]];
}

/* A transfer of control from the view's site i; a jump is a call if it goes to where another procedure begins. */
static int consider(struct transfers *t, const struct view *v, size_t i, struct site_id to,
		    uint64_t count)
{
	struct transfer one = { .from = v->site[i]->id,
				.to = to,
				.site = v->site[i],
				.caller = &v->proc[v->proc_of[i]],
				.callee = proc_at(v, to),
				.count = count };

	switch (one.site->cls) {
	case INSN_CALL:
		one.how = HOW_DIRECT;
		break;
	case INSN_ICALL:
		one.how = HOW_INDIRECT;
		break;
	case INSN_JUMP:
	case INSN_IJUMP:
	case INSN_BRANCH:
		if (!one.callee || one.callee == one.caller || one.callee->start != to.addr ||
		    !one.callee->n)
			return 0;
		one.how = HOW_TAIL;
		break;
	default:
		return 0;
	}
	return count ? add(t, &one) : 0;
}

int transfers_collect(struct transfers *t, const struct view *v)
{
	const struct edge *e, *tmp;

	*t = (struct transfers){ 0 };
	for (size_t i = 0; i < v->n; i++) {
		const struct site *s = v->site[i];
		struct site_id to = { .image = s->id.image, .addr = s->target };

		if (s->target &&
		    consider(t, v, i, to, s->cls == INSN_BRANCH ? s->taken : s->observed))
			return -1;
	}
	HASH_ITER (hh, v->profile->edges, e, tmp) {
		size_t i = place_index(v, e->key.from);

		if (i != SIZE_MAX && e->key.kind == EDGE_WENT &&
		    consider(t, v, i, e->key.to, e->count))
			return -1;
	}
	return 0;
}

void transfers_fini(struct transfers *t)
{
	free(t->v);
	*t = (struct transfers){ 0 };
}
