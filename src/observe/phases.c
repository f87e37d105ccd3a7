/* SPDX-License-Identifier: MIT */
#include "observe/phases.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/varint.h"

struct phase_key {
	struct phase_block block;
	uint32_t number;
	UT_hash_handle hh;
};

struct phases *phases_new(void)
{
	return calloc(1, sizeof(struct phases));
}

void phases_free(struct phases *p)
{
	struct phase_key *k, *next;

	if (!p)
		return;
	HASH_ITER (hh, p->keys, k, next) {
		HASH_DEL(p->keys, k);
		free(k);
	}
	for (size_t i = 0; i < p->ninterval; i++)
		free(p->interval[i].vector);
	free(p->interval);
	free(p->block);
	free(p);
}

long phases_block(struct phases *p, uint32_t image, uint64_t addr, uint32_t n)
{
	struct phase_block b;
	struct phase_key *k;

	memset(&b, 0, sizeof(b));
	b.image = image;
	b.n = n;
	b.addr = addr;
	HASH_FIND(hh, p->keys, &b, sizeof(b), k);
	if (k)
		return k->number;
	if (p->nblock >= PHASES_BLOCKS_MAX || !array_one_more(p->block, p->nblock))
		return -1;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -1;
	k->block = b;
	k->number = (uint32_t)p->nblock;
	HASH_ADD(hh, p->keys, block, sizeof(k->block), k);
	if (!k->hh.tbl) {
		free(k);
		return -1;
	}
	p->block[p->nblock++] = b;
	return k->number;
}

/* Appends an interval and takes ownership of the vector. */
static int append(struct phases *p, uint8_t *vector, size_t size, uint64_t length)
{
	uint64_t start = phases_instructions(p);

	if (!array_one_more(p->interval, p->ninterval)) {
		free(vector);
		return -1;
	}
	p->interval[p->ninterval++] =
		(struct phase_interval){ start, start + length, vector, size };
	return 0;
}

int phases_copy(struct phases *to, const struct phases *from, const uint32_t *map)
{
	to->run = from->run;
	to->process = from->process;
	to->pid = from->pid;
	to->parent = from->parent;
	to->max = from->max;
	to->wanted = from->wanted;
	for (size_t i = 0; i < from->nblock; i++) {
		const struct phase_block *b = &from->block[i];

		/* Two images may have become one: a block that both have would shift the numbers. */
		if (!array_one_more(to->block, to->nblock))
			return -1;
		to->block[to->nblock++] =
			(struct phase_block){ .image = map[b->image], .n = b->n, .addr = b->addr };
	}
	for (size_t i = 0; i < from->ninterval; i++) {
		const struct phase_interval *f = &from->interval[i];
		uint8_t *vector = malloc(f->size ? f->size : 1);

		if (!vector)
			return -1;
		memcpy(vector, f->vector, f->size);
		if (append(to, vector, f->size, f->end - f->start))
			return -1;
	}
	return 0;
}

struct phases_walk phases_walk(const struct phase_interval *i)
{
	return (struct phases_walk){ .at = i->vector, .end = i->vector + i->size };
}

bool phases_next(struct phases_walk *w)
{
	struct cursor c = { w->at, w->end };
	uint64_t step;

	if (c.p >= c.end || !varint_get(&c, &step) || !varint_get(&c, &w->part.instructions))
		return false;
	w->at = c.p;
	w->part.block += (uint32_t)step;
	return true;
}

const char *phases_add_packed(struct phases *p, const uint8_t *vector, size_t size)
{
	struct cursor c = { vector, vector + size };
	uint64_t block = 0, sum = 0, start = phases_instructions(p);
	uint8_t *copy;

	for (bool first = true; c.p < c.end; first = false) {
		uint64_t step, n;

		if (!varint_get(&c, &step) || !varint_get(&c, &n) || (!first && !step) ||
		    step >= p->nblock || block + step >= p->nblock || !n ||
		    n > COUNT_MAX - start - sum)
			return "an interval's vector of blocks";
		block += step;
		sum += n;
	}
	if (!sum)
		return "an interval without instructions";
	copy = malloc(size);
	if (!copy)
		return "no memory";
	memcpy(copy, vector, size);
	return append(p, copy, size, sum) ? "no memory" : NULL;
}

static void put_part(struct buffer *b, uint32_t *before, const struct phase_part *part)
{
	varint_put(b, part->block - *before);
	varint_put(b, part->instructions);
	*before = part->block;
}

#define PART_MAX (2 * (size_t)VARINT_MAX)

/* Merges two consecutive vectors. */
static bool merge(struct phase_interval *to, const struct phase_interval *next)
{
	struct phases_walk a = phases_walk(to), b = phases_walk(next);
	bool more_a = phases_next(&a), more_b = phases_next(&b);
	struct buffer out = { 0 };
	uint32_t before = 0;

	while (more_a || more_b) {
		bool take_a = more_a && (!more_b || a.part.block <= b.part.block);
		bool take_b = more_b && (!more_a || b.part.block <= a.part.block);
		struct phase_part part = take_a ? a.part : b.part;

		if (take_a && take_b)
			part.instructions += b.part.instructions;
		if (!buffer_room(&out, PART_MAX)) {
			free(out.p);
			return false;
		}
		put_part(&out, &before, &part);
		if (take_a)
			more_a = phases_next(&a);
		if (take_b)
			more_b = phases_next(&b);
	}
	free(to->vector);
	to->vector = out.p;
	to->size = out.n;
	to->end = next->end;
	return true;
}

static int halve(struct phases *p, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < p->ninterval; i += 2, n++) {
		if (i + 1 < p->ninterval) {
			if (!merge(&p->interval[i], &p->interval[i + 1]))
				return err_no_memory(err, "phases");
			free(p->interval[i + 1].vector);
			p->interval[i + 1].vector = NULL;
		}
		p->interval[n] = p->interval[i];
		if (n != i)
			p->interval[i].vector = NULL;
	}
	p->ninterval = n;
	p->halvings++;
	return 0;
}

/* Whether the next instructions continue the last interval, because that is shorter than intervals
 * have become: a new image begins with short intervals. */
static bool continues(const struct phases *p, uint64_t sum)
{
	const struct phase_interval *last = p->ninterval ? &p->interval[p->ninterval - 1] : NULL;
	uint64_t length = p->wanted << p->halvings;

	return last && p->halvings && last->end - last->start + sum <= length + length / 4;
}

int phases_add(struct phases *p, const struct phase_part *part, size_t n, struct err *err)
{
	struct buffer b = { 0 };
	uint64_t sum = 0;
	uint32_t before = 0;
	uint8_t *less;

	if (!n)
		return 0;
	if (!buffer_room(&b, n * PART_MAX))
		return err_no_memory(err, "phases");
	for (size_t i = 0; i < n; i++) {
		put_part(&b, &before, &part[i]);
		sum += part[i].instructions;
	}
	if (continues(p, sum)) {
		struct phase_interval *last = &p->interval[p->ninterval - 1];
		struct phase_interval next = { last->end, last->end + sum, b.p, b.n };
		bool merged = merge(last, &next);

		free(b.p);
		return merged ? 0 : err_no_memory(err, "phases");
	}
	less = realloc(b.p, b.n);
	if (append(p, less ? less : b.p, b.n, sum))
		return err_no_memory(err, "phases");
	return p->max && p->ninterval >= p->max ? halve(p, err) : 0;
}

/* Removes up to n of the block's instructions from one interval. Returns how many, or -1 without
 * memory. */
static int64_t take_out(struct phase_interval *i, uint32_t block, uint64_t n)
{
	struct phases_walk w = phases_walk(i);
	struct buffer out = { 0 };
	uint32_t before = 0;
	uint64_t taken = 0;

	while (phases_next(&w)) {
		struct phase_part part = w.part;

		if (part.block == block) {
			taken = n < part.instructions ? n : part.instructions;
			part.instructions -= taken;
		}
		if (!buffer_room(&out, PART_MAX)) {
			free(out.p);
			return -1;
		}
		if (part.instructions)
			put_part(&out, &before, &part);
	}
	if (!taken) {
		free(out.p);
		return 0;
	}
	free(i->vector);
	i->vector = out.p;
	i->size = out.n;
	return (int64_t)taken;
}

/* Drops empty intervals; the intervals after a shortened one begin earlier. */
static void close_up(struct phases *p, size_t at, uint64_t taken)
{
	p->interval[at].end -= taken;
	for (size_t i = at + 1; i < p->ninterval; i++) {
		p->interval[i].start -= taken;
		p->interval[i].end -= taken;
	}
	if (p->interval[at].start < p->interval[at].end)
		return;
	free(p->interval[at].vector);
	memmove(&p->interval[at], &p->interval[at + 1],
		(--p->ninterval - at) * sizeof(p->interval[0]));
}

int phases_take_off(struct phases *p, uint32_t block, uint64_t n, struct err *err)
{
	for (size_t i = p->ninterval; i-- > 0 && n;) {
		int64_t taken = take_out(&p->interval[i], block, n);

		if (taken < 0)
			return err_no_memory(err, "phases");
		if (taken)
			close_up(p, i, (uint64_t)taken);
		n -= (uint64_t)taken;
	}
	return 0;
}
