/* SPDX-License-Identifier: MIT */
#include "observe/edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "x86/insn.h"

bool edges_is_indirect(int cls)
{
	return cls == INSN_IJUMP || cls == INSN_ICALL || cls == INSN_RET;
}

bool edges_falls(int cls)
{
	return cls != INSN_JUMP && cls != INSN_CALL && !edges_is_indirect(cls);
}

struct edge *edges_get(struct profile *p, enum edge_kind kind, struct site_id from,
		       struct site_id to)
{
	struct edge_key wanted = { .from = from, .to = to, .kind = kind };

	wanted.from.zero = wanted.to.zero = 0;
	return keyed_get(p->edges, key, &wanted);
}

int edges_add(struct profile *p, enum edge_kind kind, struct site_id from, struct site_id to,
	      uint64_t n)
{
	struct edge *e = edges_get(p, kind, from, to);

	if (!e)
		return -1;
	e->count += n;
	return 0;
}

static int direct(struct profile *p, const struct retired *r, struct site_id to)
{
	struct site *s = profile_site(p, r->site);

	if (!s)
		return -1;
	if (to.image == r->site.image)
		s->target = to.addr;
	return 0;
}

/* Adds an indirect transfer. Rare windows add targets, but no counts: shares come from other
 * windows. */
static int indirect(struct profile *p, const struct window *w, struct site_id from,
		    struct site_id to)
{
	struct edge *e;

	if (!w->rare)
		return edges_add(p, EDGE_WENT, from, to, w->stands ? w->stands : 1);
	e = edges_get(p, EDGE_WENT, from, to);
	if (!e)
		return -1;
	e->count += !e->count;
	return 0;
}

int edges_window(struct profile *p, const struct window *w)
{
	for (uint32_t i = 0; i + 1 < w->n; i++) {
		const struct retired *r = &w->ri[i];
		struct site_id to = r[1].site;
		int rc = 0;

		if (edges_is_indirect(r->cls))
			rc = indirect(p, w, r->site, to);
		else if (r->cls == INSN_JUMP || r->cls == INSN_CALL ||
			 (r->cls == INSN_BRANCH && r->taken))
			rc = direct(p, r, to);
		if (rc)
			return -1;
	}
	return 0;
}

int edges_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	struct edge *e, *tmp;

	HASH_ITER (hh, src->edges, e, tmp) {
		struct site_id from = { .image = map[e->key.from.image], .addr = e->key.from.addr };
		struct site_id to = { .image = map[e->key.to.image], .addr = e->key.to.addr };

		if (edges_add(dst, (enum edge_kind)e->key.kind, from, to, e->count))
			return -1;
	}
	return 0;
}

void edges_free(struct profile *p)
{
	struct edge *e = p->edges, *next;

	HASH_CLEAR(hh, p->edges);
	for (; e; e = next) {
		next = e->hh.next;
		free(e);
	}
}

static int by_key(const void *a, const void *b)
{
	const struct edge_key *x = &(*(const struct edge *const *)a)->key;
	const struct edge_key *y = &(*(const struct edge *const *)b)->key;
	int order = site_id_order(x->from, y->from);

	if (!order)
		order = site_id_order(x->to, y->to);
	return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

const struct edge **edges_sorted(const struct profile *p, size_t *n)
{
	const struct edge **list = calloc(HASH_COUNT(p->edges) + 1, sizeof(const struct edge *));
	struct edge *e, *tmp;

	*n = 0;
	if (!list)
		return NULL;
	HASH_ITER (hh, p->edges, e, tmp)
		list[(*n)++] = e;
	if (*n)
		qsort(list, *n, sizeof(const struct edge *), by_key);
	return list;
}
