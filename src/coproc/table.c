/* SPDX-License-Identifier: MIT */
#include "coproc/table.h"

#include <stdlib.h>
#include <string.h>

void table_fini(struct table *t)
{
	free(t->load);
	free(t->slot);
	*t = (struct table){ 0 };
}

size_t table_bytes(const struct table *t)
{
	return t->n * sizeof(*t->load) + t->slots * sizeof(*t->slot);
}

static size_t slot_of(const struct table *t, uint32_t pc)
{
	size_t i = (pc * 0x9e3779b1u >> 4) & (t->slots - 1);

	while (t->slot[i] && t->load[t->slot[i] - 1].pc != pc)
		i = (i + 1) & (t->slots - 1);
	return i;
}

static bool widen(struct table *t)
{
	size_t room = t->room ? 2 * t->room : 1024;
	struct table_load *load = realloc(t->load, room * sizeof(*load));
	uint32_t *slot = calloc(2 * room, sizeof(*slot));

	if (load)
		t->load = load;
	if (!load || !slot) {
		free(slot);
		return false;
	}
	free(t->slot);
	t->slot = slot;
	t->room = room;
	t->slots = 2 * room;
	for (size_t i = 0; i < t->n; i++)
		t->slot[slot_of(t, t->load[i].pc)] = (uint32_t)i + 1;
	return true;
}

struct table_load *table_get(struct table *t, uint32_t pc)
{
	size_t i;

	if (t->n == t->room && !widen(t))
		return NULL;
	i = slot_of(t, pc);
	if (!t->slot[i]) {
		t->load[t->n] = (struct table_load){ .pc = pc };
		t->slot[i] = (uint32_t)++t->n;
	}
	return &t->load[t->slot[i] - 1];
}

static struct table_value *value_of(struct table_load *l, uint64_t value)
{
	struct table_value *least = &l->value[0];

	for (unsigned i = 0; i < l->n; i++) {
		if (l->value[i].value == value)
			return &l->value[i];
		if (l->value[i].hits < least->hits)
			least = &l->value[i];
	}
	if (l->n < TABLE_VALUES)
		least = &l->value[l->n++];
	*least = (struct table_value){ .value = value };
	return least;
}

void table_add(struct table_load *l, uint64_t value, uint64_t hits, uint64_t misses, uint64_t total)
{
	l->total += total;
	if (hits) {
		struct table_value *v = value_of(l, value);

		v->hits += hits;
		v->misses += misses;
	}
}

#define STEPS 20

/* One step of expectation maximisation: divides `seen` samples among the values. */
static void divide(const struct table_load *l, double seen, double share[TABLE_VALUES])
{
	double n[TABLE_VALUES];

	for (unsigned v = 0; v < l->n; v++) {
		n[v] = (double)l->value[v].hits;
		for (unsigned w = 0; w < l->n; w++)
			if (w != v && share[w] < 1)
				n[v] += (double)l->value[w].misses * share[v] / (1 - share[w]);
	}
	for (unsigned v = 0; v < l->n; v++)
		share[v] = n[v] / seen;
}

void table_shares(const struct table_load *l, double most, double share[TABLE_VALUES])
{
	double seen = 0, rest, total;

	for (unsigned i = 0; i < l->n; i++)
		seen += (double)(l->value[i].hits + l->value[i].misses);
	total = (double)l->total > seen ? (double)l->total : seen;
	rest = total - seen;
	for (unsigned i = 0; i < l->n; i++)
		share[i] = (double)l->value[i].hits / seen;
	for (unsigned i = 0; i < STEPS && l->n > 1; i++)
		divide(l, seen, share);
	for (unsigned i = 0; i < l->n; i++)
		share[i] = (share[i] * seen + (share[i] < most ? share[i] : most) * rest) / total;
}
