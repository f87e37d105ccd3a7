/* SPDX-License-Identifier: MIT */
#include "coproc/truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

void truth_fini(struct truth *t)
{
	free(t->load);
	free(t->pair);
	free(t->sum);
	free(t->order);
	*t = (struct truth){ 0 };
}

size_t truth_new(struct truth *t, uint32_t pc)
{
	if (!array_reserve(t->load, t->load_room, t->nload + 1))
		return SIZE_MAX;
	t->load[t->nload] = (struct truth_load){ .pc = pc };
	return t->nload++;
}

static size_t mixed(uint64_t a, uint64_t b, size_t size)
{
	uint64_t h = (a ^ hash_mix(b)) * 0xd6e8feb86659fd93ull;

	return (size_t)(h ^ h >> 32) & (size - 1);
}

static struct truth_pair *find(const struct truth *t, uint32_t load, uint64_t value)
{
	size_t i = mixed(value, load, t->pairs);

	while (t->pair[i].load && (t->pair[i].load != load || t->pair[i].value != value))
		i = (i + 1) & (t->pairs - 1);
	return &t->pair[i];
}

static int widen(struct truth *t)
{
	struct truth_pair *old = t->pair;
	size_t n = t->pairs;

	t->pairs = n ? 2 * n : 1u << 14;
	t->pair = calloc(t->pairs, sizeof(*t->pair));
	if (!t->pair) {
		t->pair = old;
		t->pairs = n;
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		if (old[i].load)
			*find(t, old[i].load, old[i].value) = old[i];
	free(old);
	return 0;
}

int truth_flush(struct truth *t, size_t load)
{
	struct truth_load *l = &t->load[load];
	struct truth_pair *p;
	uint64_t n = l->run;

	l->run = 0;
	if (3 * t->npair >= 2 * t->pairs && t->pairs < 2ull * TRUTH_PAIRS_MAX && widen(t))
		return -1;
	p = find(t, (uint32_t)load + 1, l->last);
	if (!p->load && t->npair >= TRUTH_PAIRS_MAX) {
		t->left_out += n;
		return 0;
	}
	if (!p->load) {
		*p = (struct truth_pair){ .value = l->last, .load = (uint32_t)load + 1 };
		t->npair++;
	}
	p->n = n > UINT32_MAX - p->n ? UINT32_MAX : p->n + (uint32_t)n;
	return 0;
}

static struct truth_sum *sum_of(const struct truth *t, uint64_t key)
{
	size_t i = mixed(key, 1, t->sums);

	while (t->sum[i].key && t->sum[i].key != key)
		i = (i + 1) & (t->sums - 1);
	return &t->sum[i];
}

static int by_pc(const void *a, const void *b, void *truth)
{
	const struct truth *t = truth;
	uint32_t x = t->load[*(const uint32_t *)a].pc;
	uint32_t y = t->load[*(const uint32_t *)b].pc;

	return x < y ? -1 : x > y;
}

int truth_close(struct truth *t)
{
	for (size_t i = 0; i < t->nload; i++)
		if (t->load[i].run && truth_flush(t, i))
			return -1;
	t->sums = t->pairs ? t->pairs : 1;
	t->sum = calloc(t->sums, sizeof(*t->sum));
	t->order = calloc(t->nload + 1, sizeof(*t->order));
	if (!t->sum || !t->order)
		return -1;
	for (size_t i = 0; i < t->pairs; i++) {
		const struct truth_pair *p = &t->pair[i];
		struct truth_sum *s;
		double share;

		if (!p->load)
			continue;
		share = p->n / (double)t->load[p->load - 1].n;
		s = sum_of(t, (uint64_t)p->load << 32 | (uint32_t)p->value);
		s->key = (uint64_t)p->load << 32 | (uint32_t)p->value;
		s->n += p->n;
		s->squares += p->n * share;
		t->base += p->n * share * share;
		t->executions += p->n;
	}
	for (size_t i = 0; i < t->nload; i++)
		t->order[i] = (uint32_t)i;
	qsort_r(t->order, t->nload, sizeof(*t->order), by_pc, t);
	return 0;
}

/* Returns the load's number + 1, or 0. */
static uint32_t load_at(const struct truth *t, uint32_t pc)
{
	size_t low = search_first(i, 0, t->nload, t->load[t->order[i]].pc >= pc);

	return low < t->nload && t->load[t->order[low]].pc == pc ? t->order[low] + 1 : 0;
}

struct estimate *estimate_all(const struct table *table, double most, size_t *n)
{
	struct estimate *e = calloc(table->n + 1, sizeof(*e));

	*n = e ? table->n : 0;
	for (size_t i = 0; i < *n; i++) {
		const struct table_load *l = &table->load[i];
		double share[TABLE_VALUES];

		table_shares(l, most, share);
		e[i].pc = l->pc;
		e[i].n = l->n;
		for (unsigned k = 0; k < l->n; k++) {
			e[i].value[k] = (uint32_t)l->value[k].value;
			e[i].share[k] = (float)share[k];
		}
	}
	return e;
}

double truth_error(const struct truth *t, const struct estimate *e, size_t n)
{
	double error = t->base;

	for (size_t i = 0; i < n; i++) {
		uint64_t load = load_at(t, e[i].pc);

		for (unsigned k = 0; load && k < e[i].n; k++) {
			const struct truth_sum *s = sum_of(t, load << 32 | e[i].value[k]);
			double share = e[i].share[k];

			error += share * share * s->n - 2 * share * s->squares;
		}
	}
	return t->executions > 0 ? sqrt(error > 0 ? error / t->executions : 0) : 0;
}

bool truth_share(const struct truth *t, uint32_t pc, uint32_t value, double *n, double *share)
{
	uint64_t load = load_at(t, pc);
	const struct truth_sum *s = load ? sum_of(t, load << 32 | value) : NULL;

	if (!s || !s->key)
		return false;
	*n = s->n;
	*share = s->squares / s->n;
	return true;
}
