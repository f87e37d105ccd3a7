/* SPDX-License-Identifier: MIT */
#include "estimate/propagate.h"

#include <stdlib.h>

#include "base/invariant.h"

/* Members of classes, and the blocks whose constraints are still to be applied. */
struct propagation {
	const struct cfg *g;
	struct estimate_value *block, *edge;
	uint32_t *first, *member; /* by class: block b, or nblocks + edge e */
	uint32_t *todo;
	uint32_t head, n;
	bool *queued;
};

static int begin(struct propagation *p)
{
	const struct cfg *g = p->g;
	size_t members = (size_t)g->nblocks + g->nedges;

	p->first = calloc((size_t)g->nclasses + 2, sizeof(*p->first));
	p->member = calloc(members + 1, sizeof(*p->member));
	p->todo = calloc((size_t)g->nblocks + 1, sizeof(*p->todo));
	p->queued = calloc((size_t)g->nblocks + 1, sizeof(*p->queued));
	if (!p->first || !p->member || !p->todo || !p->queued)
		return -1;
	for (size_t i = 0; i < members; i++)
		p->first[(i < g->nblocks ? g->block[i].cls : g->edge[i - g->nblocks].cls) + 1]++;
	for (uint32_t c = 0; c < g->nclasses; c++)
		p->first[c + 1] += p->first[c];
	for (size_t i = members; i-- > 0;) {
		uint32_t c = i < g->nblocks ? g->block[i].cls : g->edge[i - g->nblocks].cls;

		p->member[--p->first[c + 1]] = (uint32_t)i;
	}
	/* first[c + 1] is the start of class c now */
	return 0;
}

static uint32_t class_begin(const struct propagation *p, uint32_t c)
{
	return p->first[c + 1];
}

static uint32_t class_end(const struct propagation *p, uint32_t c)
{
	return c + 1 < p->g->nclasses ? p->first[c + 2] : p->g->nblocks + p->g->nedges;
}

static void queue(struct propagation *p, uint32_t b)
{
	if (p->queued[b])
		return;
	invariant(b < p->g->nblocks && p->n < p->g->nblocks);
	p->queued[b] = true;
	p->todo[(p->head + p->n++) % p->g->nblocks] = b;
}

static bool known(struct estimate_value v)
{
	return v.confidence != CONFIDENCE_NONE;
}

/* Gives a member's value to all of its class. */
static void set_class(struct propagation *p, uint32_t c, struct estimate_value v)
{
	const struct cfg *g = p->g;

	invariant(known(v) && c < g->nclasses && v.f == v.f);
	if (v.f < 0)
		v.f = 0;
	for (uint32_t i = class_begin(p, c); i < class_end(p, c); i++) {
		uint32_t m = p->member[i];

		invariant(m < g->nblocks + g->nedges);
		if (m < g->nblocks) {
			if (!known(p->block[m]))
				p->block[m] = v;
			queue(p, m);
		} else {
			const struct cfg_edge *e = &g->edge[m - g->nblocks];

			if (!known(p->edge[m - g->nblocks]))
				p->edge[m - g->nblocks] = v;
			queue(p, e->from);
			queue(p, e->to);
		}
	}
}

/* Applies one side of a block: n edges, numbered by `at` (in), or consecutive from `first`
 * (out). */
static void look_at_side(struct propagation *p, uint32_t b, const uint32_t *at, uint32_t first,
			 uint32_t n)
{
	double sum = 0;
	uint32_t unknown = 0, which = 0;
	uint8_t least = CONFIDENCE_HIGH;

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t e = at ? at[i] : first + i;

		if (!known(p->edge[e])) {
			unknown++;
			which = e;
			continue;
		}
		sum += p->edge[e].f;
		if (p->edge[e].confidence < least)
			least = p->edge[e].confidence;
	}
	if (known(p->block[b]) && p->block[b].confidence < least)
		least = p->block[b].confidence;
	if (least > CONFIDENCE_LOW)
		least--;
	if (!known(p->block[b]) && !unknown)
		set_class(p, p->g->block[b].cls, (struct estimate_value){ sum, least });
	else if (known(p->block[b]) && unknown == 1)
		set_class(p, p->g->edge[which].cls,
			  (struct estimate_value){ p->block[b].f - sum, least });
	else if (known(p->block[b]) && unknown > 1 && p->block[b].f <= sum)
		for (uint32_t i = 0; i < n; i++) {
			uint32_t e = at ? at[i] : first + i;

			if (!known(p->edge[e]))
				set_class(p, p->g->edge[e].cls,
					  (struct estimate_value){ 0, CONFIDENCE_LOW });
		}
}

int propagate(const struct cfg *g, struct estimate_value *block, struct estimate_value *edge)
{
	struct propagation p = { .g = g, .block = block, .edge = edge };
	int rc = begin(&p);

	for (uint32_t b = 0; b < g->nblocks && !rc; b++)
		if (known(block[b]))
			set_class(&p, g->block[b].cls, block[b]);
	for (uint32_t e = 0; e < g->nedges && !rc; e++)
		if (known(edge[e]))
			set_class(&p, g->edge[e].cls, edge[e]);
	for (uint32_t b = 0; b < g->nblocks && !rc; b++)
		queue(&p, b);
	while (p.n && !rc && g->nblocks) {
		uint32_t b = p.todo[p.head];
		const struct cfg_block *k = &g->block[b];

		p.head = (p.head + 1) % g->nblocks;
		p.n--;
		p.queued[b] = false;
		look_at_side(&p, b, &g->in[k->in], 0, b == CFG_ENTRY_BLOCK ? 0 : k->nin);
		look_at_side(&p, b, NULL, k->out, b == CFG_EXIT_BLOCK ? 0 : k->nout);
	}
	free(p.first);
	free(p.member);
	free(p.todo);
	free(p.queued);
	return rc;
}
