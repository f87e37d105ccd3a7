/* SPDX-License-Identifier: MIT */
#include "culprit/meetings.h"

#include <stdlib.h>

static int by_load(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;

	return site_id_order(x->load, y->load);
}

static void add(struct meeting *to, const struct meeting *m)
{
	to->judged += m->judged;
	for (int k = 0; k < CONFLICT_KIND_N; k++) {
		to->count[k] += m->count[k];
		if (m->most[k] > to->most[k]) {
			to->most[k] = m->most[k];
			to->store[k] = m->store[k];
		}
	}
}

int meetings_make(struct meetings *m, const struct profile *p)
{
	struct conflict *c, *tmp;
	size_t k = 0;

	*m = (struct meetings){ .v = calloc(HASH_COUNT(p->conflicts) + 1, sizeof(*m->v)) };
	if (!m->v)
		return -1;
	HASH_ITER (hh, p->conflicts, c, tmp) {
		struct meeting *e = &m->v[m->n];

		if (c->key.kind >= CONFLICT_KIND_N)
			continue;
		e->load = c->key.load;
		/* an alias is counted in addition to another kind */
		e->judged = c->key.kind == CONFLICT_ALIAS ? 0 : c->count;
		e->count[c->key.kind] = e->most[c->key.kind] = c->count;
		e->store[c->key.kind] = c->key.store;
		m->n++;
	}
	qsort(m->v, m->n, sizeof(*m->v), by_load);
	for (size_t i = 0; i < m->n; i++) {
		if (k && !by_load(&m->v[k - 1], &m->v[i]))
			add(&m->v[k - 1], &m->v[i]);
		else
			m->v[k++] = m->v[i];
	}
	m->n = k;
	return 0;
}

void meetings_fini(struct meetings *m)
{
	free(m->v);
	*m = (struct meetings){ NULL, 0 };
}

const struct meeting *meetings_at(const struct meetings *m, struct site_id load)
{
	const struct meeting key = { .load = load };
	const struct meeting *e = m->n ? bsearch(&key, m->v, m->n, sizeof(*m->v), by_load) : NULL;

	return e && e->judged ? e : NULL;
}
