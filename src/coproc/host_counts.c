/* SPDX-License-Identifier: MIT */
#include "coproc/host_counts.h"

#include <stdlib.h>
#include <string.h>

int host_counts_init(struct host_counts *h, const struct program *p, struct err *err)
{
	const struct program_param *timer = program_param(p, "TIMER");

	*h = (struct host_counts){ .p = p, .timer = timer ? timer->value : 0 };
	h->first = program_base(p, "first");
	h->second = program_base(p, "second");
	h->count = program_base(p, "count");
	if (h->first < 0 || h->second < 0 || h->count < 0 || !p->base[h->count].nfield)
		return err_set(err, ERR_FAILED,
			       "program %s has no arrays first, second and count, with fields in "
			       "the last, that a host part could read",
			       p->name);
	if (p->base[h->first].size < p->base[h->count].size ||
	    p->base[h->second].size < p->base[h->count].size)
		return err_set(err, ERR_FAILED,
			       "program %s: first and second have fewer elements than count",
			       p->name);
	return 0;
}

void host_counts_fini(struct host_counts *h)
{
	struct counted_pair *c, *next;

	HASH_ITER (hh, h->pairs, c, next) {
		HASH_DELETE(hh, h->pairs, c);
		free(c);
	}
}

const struct counted_pair *host_counts_find(const struct host_counts *h, uint64_t first,
					    uint64_t second)
{
	struct counted_key key;
	struct counted_pair *c;

	memset(&key, 0, sizeof(key));
	key.first = first;
	key.second = second;
	HASH_FIND(hh, h->pairs, &key, sizeof(key), c);
	return c;
}

static struct counted_pair *get(struct host_counts *h, uint64_t first, uint64_t second)
{
	struct counted_pair *c = (struct counted_pair *)host_counts_find(h, first, second);

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->key = (struct counted_key){ first, second };
	HASH_ADD(hh, h->pairs, key, sizeof(c->key), c);
	if (!c->hh.tbl) {
		free(c);
		return NULL;
	}
	return c;
}

static int add(struct host_counts *h, uint64_t first, uint64_t second, uint64_t count)
{
	const struct program_base *b = &h->p->base[h->count];
	struct counted_pair *c = get(h, first, second);

	for (unsigned i = 0; c && i < b->nfield; i++)
		c->n[i] += count >> b->field[i].shift & ((1ull << b->field[i].bits) - 1);
	h->records++;
	return c ? 0 : -1;
}

static int64_t copy(struct host_counts *h, struct copro *c, uint64_t *room)
{
	uint32_t n = h->p->base[h->count].size;
	uint64_t *first = room, *second = room + n, *count = room + 2 * n;
	int64_t cycles = 0;

	h->copies++;
	copro_read_data(c, h->p->base[h->count].at, n, count);
	copro_read_data(c, h->p->base[h->first].at, n, first);
	copro_read_data(c, h->p->base[h->second].at, n, second);
	for (uint32_t i = 0; i < n; i++) {
		cycles += count[i] ? c->s.record_cycles : c->s.scan_cycles;
		if (count[i] && add(h, first[i], second[i], count[i]))
			return -1;
	}
	return cycles;
}

/* Resets everything except the state that a program keeps from one interrupt to the next. */
static void restart(const struct host_counts *h, struct copro *c)
{
	uint16_t kept[PROGRAM_INDEXES];

	for (unsigned i = 0; i < h->p->nindex; i++)
		kept[i] = (uint16_t)c->reg[WORD_INDEXES + i];
	copro_reset_indexes(c);
	for (unsigned i = 0; i < h->p->nindex; i++)
		if (!strncmp(h->p->index[i].name, "keep", 4))
			c->reg[WORD_INDEXES + i] = kept[i];
	copro_invalidate(c);
	for (unsigned i = 0; i < h->p->base[h->count].size; i++)
		c->data[h->p->base[h->count].at + i] = 0;
	c->bus += h->p->base[h->count].size;
}

static int64_t handle(void *arg, struct copro *c, int why, uint64_t now, struct err *err)
{
	struct host_counts *h = arg;
	uint64_t *room = calloc(3ull * h->p->base[h->count].size, sizeof(*room));
	int64_t cycles = room ? copy(h, c, room) : -1;

	(void)why;
	(void)now;
	free(room);
	if (cycles < 0)
		return err_no_memory(err, "the co-processor");
	restart(h, c);
	return cycles;
}

struct host host_counts_host(struct host_counts *h)
{
	return (struct host){ .arg = h, .handle = handle, .timer = h->timer ? &h->timer : NULL };
}
