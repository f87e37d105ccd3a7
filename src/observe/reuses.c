/* SPDX-License-Identifier: MIT */
#include "observe/reuses.h"

#include <stdlib.h>
#include <string.h>

#include "isa/insn.h"

#define SLOTS (4 * RA_BURST_MAX) /* a power of two, and twice the touches */

struct reuses *reuses_get(struct profile *p, uint32_t run, uint32_t pid)
{
	uint64_t key = (uint64_t)run << 32 | pid;
	struct reuses *u;

	HASH_FIND(hh, p->reuses, &key, sizeof(key), u);
	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->key = key;
	u->run = run;
	u->pid = pid;
	HASH_ADD(hh, p->reuses, key, sizeof(u->key), u);
	return u;
}

uint64_t reuses_units(double weight)
{
	return (uint64_t)(weight * REUSES_UNIT + 0.5);
}

unsigned reuses_touches(const struct window *w, uint64_t at[REUSES_TOUCHES])
{
	unsigned n = 0;

	for (uint32_t i = 0; i < w->n && n + 1 < REUSES_TOUCHES; i++) {
		const struct retired *r = &w->ri[i];
		uint64_t first = r->value[OPERAND_ADDRESS];
		uint64_t last = first + (r->access ? r->access - 1u : 0);

		if (!(r->have >> OPERAND_ADDRESS & 1))
			continue;
		at[n++] = first;
		if (first / REUSES_LINE != last / REUSES_LINE)
			at[n++] = last & ~(uint64_t)(REUSES_LINE - 1);
	}
	return n;
}

/* When a line was touched last in this window: + 1; 0 if it was not. */
struct seen {
	uint64_t line;
	unsigned time;
};

static struct seen *find(struct seen *seen, size_t slots, uint64_t line)
{
	size_t i = (line * 0x9e3779b97f4a7c15ull) >> 40 & (slots - 1);

	while (seen[i].time && seen[i].line != line)
		i = (i + 1) & (slots - 1);
	return &seen[i];
}

static unsigned near_bucket(unsigned time)
{
	unsigned b = distance_bucket(time);

	return b < REUSES_NEAR ? b : REUSES_NEAR - 1;
}

int reuses_window(struct profile *p, const struct window *w, double weight)
{
	struct reuses *u = reuses_get(p, p->nrun ? (uint32_t)p->nrun - 1 : 0, w->pid);
	uint64_t at[REUSES_TOUCHES], units = reuses_units(weight);
	struct seen seen[SLOTS];
	unsigned n = reuses_touches(w, at);
	size_t slots = 64;

	if (!u)
		return -1;
	while (slots < 2 * n)
		slots *= 2;
	memset(seen, 0, slots * sizeof(*seen));
	u->windows++;
	u->instructions += w->n * units;
	u->touches += n * units;
	u->touches_square += reuses_units(n * weight * n * weight);
	for (unsigned i = 0; i < n; i++) {
		struct seen *s = find(seen, slots, at[i] / REUSES_LINE);

		if (s->time)
			u->near_ended[near_bucket(i + 1 - s->time)] += units;
		*s = (struct seen){ at[i] / REUSES_LINE, i + 1 };
	}
	for (size_t i = 0; i < slots; i++)
		if (seen[i].time)
			u->near_left[near_bucket(n - seen[i].time)] += units;
	return 0;
}

int reuses_merge(struct profile *dst, const struct profile *src)
{
	uint32_t runs = (uint32_t)dst->nrun;
	const struct reuses *u;

	for (u = src->reuses; u; u = u->hh.next) {
		struct reuses *d = reuses_get(dst, u->run + runs, u->pid);
		struct reuses kept;

		if (!d)
			return -1;
		kept = *d;
		*d = *u;
		d->hh = kept.hh;
		d->key = kept.key;
		d->run = kept.run;
	}
	return 0;
}

void reuses_free(struct profile *p)
{
	struct reuses *u = p->reuses, *next;

	HASH_CLEAR(hh, p->reuses);
	for (; u; u = next) {
		next = u->hh.next;
		free(u);
	}
}
