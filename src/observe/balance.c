/* SPDX-License-Identifier: MIT */
#include "observe/balance.h"

#include <math.h>
#include <stdlib.h>

#define STEPS 100
#define SETTLED 1e-3

struct place {
	struct site_id id; /* addr: of its 512 bytes, their number */
	uint32_t number;
	UT_hash_handle hh;
};

struct pair {
	uint64_t key; /* from << 32 | to */
	double weight;
	UT_hash_handle hh;
};

struct balance {
	struct place *places;
	struct pair *pairs;
	double *began, *m, *next; /* by place */
	size_t n, cap;
	uint64_t windows, solve_at;
};

static struct balance *balance_of(struct profile *p)
{
	if (p->balance)
		return p->balance;
	p->balance = calloc(1, sizeof(*p->balance));
	if (p->balance)
		p->balance->solve_at = BALANCE_FIRST;
	return p->balance;
}

void balance_free(struct profile *p)
{
	struct balance *b = p->balance;
	struct place *place = b ? b->places : NULL, *next_place;
	struct pair *pair = b ? b->pairs : NULL, *next_pair;

	if (!b)
		return;
	HASH_CLEAR(hh, b->places);
	HASH_CLEAR(hh, b->pairs);
	for (; place; place = next_place) {
		next_place = place->hh.next;
		free(place);
	}
	for (; pair; pair = next_pair) {
		next_pair = pair->hh.next;
		free(pair);
	}
	free(b->began);
	free(b->m);
	free(b->next);
	free(b);
	p->balance = NULL;
}

static int grow_one(double **v, size_t cap)
{
	double *more = realloc(*v, cap * sizeof(**v));

	if (more)
		*v = more;
	return more ? 0 : -1;
}

static int grow(struct balance *b)
{
	size_t cap = b->cap ? 2 * b->cap : 256;

	if (b->n < b->cap)
		return 0;
	if (grow_one(&b->began, cap) || grow_one(&b->m, cap) || grow_one(&b->next, cap))
		return -1;
	b->cap = cap;
	return 0;
}

/* The place's number, in *number. -1 without memory. */
static int place_of(struct balance *b, struct site_id id, uint32_t *number)
{
	struct place *place;

	id.zero = 0;
	id.addr >>= BALANCE_PLACE;
	HASH_FIND(hh, b->places, &id, sizeof(id), place);
	if (!place) {
		place = grow(b) ? NULL : calloc(1, sizeof(*place));
		if (!place)
			return -1;
		place->id = id;
		place->number = (uint32_t)b->n;
		b->began[b->n] = 0;
		b->m[b->n++] = 1;
		HASH_ADD(hh, b->places, id, sizeof(place->id), place);
	}
	*number = place->number;
	return 0;
}

static int add_pair(struct balance *b, uint32_t from, uint32_t to, double weight)
{
	uint64_t key = (uint64_t)from << 32 | to;
	struct pair *pair;

	HASH_FIND(hh, b->pairs, &key, sizeof(key), pair);
	if (!pair) {
		pair = calloc(1, sizeof(*pair));
		if (!pair)
			return -1;
		pair->key = key;
		HASH_ADD(hh, b->pairs, key, sizeof(pair->key), pair);
	}
	pair->weight += weight;
	return 0;
}

/* One step of all. How much changed, at most. */
static double step(struct balance *b)
{
	double all = 0, sum = 0, worst = 0;

	for (size_t i = 0; i < b->n; i++)
		b->next[i] = 0;
	for (const struct pair *k = b->pairs; k; k = k->hh.next)
		b->next[k->key & UINT32_MAX] += b->m[k->key >> 32] * k->weight;
	for (size_t i = 0; i < b->n; i++) {
		double part = (1 - BALANCE_LEAK) * b->began[i] / (BALANCE_PRIOR + b->began[i]);
		double m = b->began[i] > 0 ? part * b->next[i] / b->began[i] + 1 - part : 1;

		b->next[i] = fmin(fmax(m, 1 / BALANCE_MOST), BALANCE_MOST);
		all += b->began[i];
		sum += b->began[i] * b->next[i];
	}
	for (size_t i = 0; i < b->n; i++) {
		double m = b->next[i] * all / sum;

		worst = fmax(worst, fabs(m - b->m[i]));
		b->m[i] = m;
	}
	return worst;
}

static void solve(struct balance *b)
{
	for (int i = 0; i < STEPS && step(b) > SETTLED; i++)
		;
	b->solve_at += b->solve_at / 2;
}

int balance_window(struct profile *p, const struct window *w, double weight, double *factor)
{
	struct balance *b = balance_of(p);
	uint32_t from, to;

	*factor = 1;
	if (!w->n)
		return 0;
	if (!b || place_of(b, w->start, &from) || place_of(b, w->ri[w->n - 1].site, &to) ||
	    add_pair(b, from, to, weight))
		return -1;
	b->began[from] += weight;
	if (++b->windows >= b->solve_at)
		solve(b);
	*factor = b->m[from];
	return 0;
}
