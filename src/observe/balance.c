/* SPDX-License-Identifier: MIT */
#include "observe/balance.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

#define STEPS 100
#define SETTLED 1e-3
#define FINEST (BALANCE_LEVELS - 1)

static const unsigned place_bits[BALANCE_LEVELS] = { 12, 9, 6 };

struct place {
	struct site_id id; /* addr: the place's number in the image; zero: its level */
	uint32_t number;   /* number within its level */
	UT_hash_handle hh;
};

/* Arrays indexed by place. */
struct level {
	double *began, *m, *next;
	uint32_t *up; /* number of the coarser level's place that contains this one */
	size_t n, cap;
};

/* Windows from one place to another, of the finest level. */
struct pair {
	uint32_t from, to;
	double weight;
};

struct balance {
	struct place *places;
	struct level level[BALANCE_LEVELS];
	struct pair *pair;
	size_t npair, cap;
	uint32_t *slot; /* number of a pair + 1, or 0; linear probing; half of the slots are free */
	size_t slots;	/* a power of two, or 0 */
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

	if (!b)
		return;
	HASH_CLEAR(hh, b->places);
	for (; place; place = next_place) {
		next_place = place->hh.next;
		free(place);
	}
	for (int i = 0; i < BALANCE_LEVELS; i++) {
		free(b->level[i].began);
		free(b->level[i].m);
		free(b->level[i].next);
		free(b->level[i].up);
	}
	free(b->pair);
	free(b->slot);
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

static int grow(struct level *l)
{
	size_t cap = l->cap ? 2 * l->cap : 256;
	uint32_t *up;

	if (l->n < l->cap)
		return 0;
	if (grow_one(&l->began, cap) || grow_one(&l->m, cap) || grow_one(&l->next, cap))
		return -1;
	up = realloc(l->up, cap * sizeof(*up));
	if (!up)
		return -1;
	l->up = up;
	l->cap = cap;
	return 0;
}

static struct place *find_place(const struct balance *b, struct site_id *id, unsigned level)
{
	struct place *place;

	*id = (struct site_id){ .image = id->image,
				.zero = level,
				.addr = id->addr >> place_bits[level] };
	HASH_FIND(hh, b->places, id, sizeof(*id), place);
	return place;
}

/* Finds or makes the place of the finest level; *number: its number. -1 without memory. */
static int place_of(struct balance *b, struct site_id at, uint32_t *number)
{
	for (unsigned level = 0; level < BALANCE_LEVELS; level++) {
		struct level *l = &b->level[level];
		struct site_id id = at;
		struct place *place = find_place(b, &id, level);

		if (!place) {
			place = grow(l) ? NULL : calloc(1, sizeof(*place));
			if (!place)
				return -1;
			place->id = id;
			place->number = (uint32_t)l->n;
			HASH_ADD(hh, b->places, id, sizeof(place->id), place);
			if (!place->hh.tbl) {
				free(place);
				return -1;
			}
			l->up[l->n] = level ? *number : 0;
			l->m[l->n++] = 1;
		}
		*number = place->number;
	}
	return 0;
}

static size_t slot_of(const struct balance *b, uint32_t from, uint32_t to)
{
	size_t i = hash_bits((uint64_t)from << 32 | to, 32) & (b->slots - 1);

	for (; b->slot[i]; i = (i + 1) & (b->slots - 1)) {
		const struct pair *k = &b->pair[b->slot[i] - 1];

		if (k->from == from && k->to == to)
			break;
	}
	return i;
}

static int grow_pairs(struct balance *b)
{
	size_t cap = b->cap ? 2 * b->cap : 1024;
	uint32_t *slot = calloc(2 * cap, sizeof(*slot));
	struct pair *pair = slot ? realloc(b->pair, cap * sizeof(*pair)) : NULL;

	if (!pair) {
		free(slot);
		return -1;
	}
	free(b->slot);
	b->pair = pair;
	b->slot = slot;
	b->cap = cap;
	b->slots = 2 * cap;
	for (size_t i = 0; i < b->npair; i++)
		b->slot[slot_of(b, pair[i].from, pair[i].to)] = (uint32_t)i + 1;
	return 0;
}

static int add_pair(struct balance *b, uint32_t from, uint32_t to, double weight)
{
	size_t i;

	if (b->npair == b->cap && grow_pairs(b))
		return -1;
	i = slot_of(b, from, to);
	if (!b->slot[i]) {
		b->pair[b->npair++] = (struct pair){ .from = from, .to = to };
		b->slot[i] = (uint32_t)b->npair;
	}
	b->pair[b->slot[i] - 1].weight += weight;
	return 0;
}

/* One step of the iteration, from the weights of pairs between the level's places. Returns the
 * largest change. */
static double step(struct level *l, const struct pair *pair, size_t n)
{
	double all = 0, sum = 0, worst = 0;

	for (size_t i = 0; i < l->n; i++)
		l->next[i] = 0;
	for (size_t i = 0; i < n; i++)
		l->next[pair[i].to] += l->m[pair[i].from] * pair[i].weight;
	for (size_t i = 0; i < l->n; i++) {
		double part = (1 - BALANCE_LEAK) * l->began[i] / (BALANCE_PRIOR + l->began[i]);
		double m = l->began[i] > 0 ? part * l->next[i] / l->began[i] + 1 - part : 1;

		l->next[i] = fmin(fmax(m, 1 / BALANCE_MOST), BALANCE_MOST);
		all += l->began[i];
		sum += l->began[i] * l->next[i];
	}
	for (size_t i = 0; i < l->n; i++) {
		double m = l->next[i] * all / sum;

		worst = fmax(worst, fabs(m - l->m[i]));
		l->m[i] = m;
	}
	return worst;
}

/* The place of `level` that contains a place of the finest level. */
static uint32_t above(const struct balance *b, uint32_t place, int level)
{
	for (int i = FINEST; i > level; i--)
		place = b->level[i].up[place];
	return place;
}

/* Returns the product of m over the coarser levels, for windows that begin at a place of the finest
 * one. */
static double factor_above(const struct balance *b, uint32_t place, int level)
{
	double m = 1;

	for (int i = 0; i < level; i++)
		m *= b->level[i].m[above(b, place, i)];
	return m;
}

static int solve(struct balance *b)
{
	struct pair *pair = calloc(b->npair + 1, sizeof(*pair));

	if (!pair)
		return -1;
	for (int level = 0; level < BALANCE_LEVELS; level++) {
		struct level *l = &b->level[level];

		for (size_t i = 0; i < l->n; i++)
			l->began[i] = 0;
		for (size_t i = 0; i < b->npair; i++) {
			const struct pair *k = &b->pair[i];

			pair[i] = (struct pair){
				.from = above(b, k->from, level),
				.to = above(b, k->to, level),
				.weight = k->weight * factor_above(b, k->from, level),
			};
			l->began[pair[i].from] += pair[i].weight;
		}
		for (int i = 0; i < STEPS && step(l, pair, b->npair) > SETTLED; i++)
			;
	}
	free(pair);
	b->solve_at += b->solve_at / 2;
	return 0;
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
	if (++b->windows >= b->solve_at && solve(b))
		return -1;
	*factor = fmin(fmax(factor_above(b, from, BALANCE_LEVELS), 1 / BALANCE_MOST), BALANCE_MOST);
	return 0;
}
