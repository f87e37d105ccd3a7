/* SPDX-License-Identifier: MIT */
#include "model/reuse.h"

#include <emmintrin.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define TOP 32
#define TIMES_MIN 4096	/* a multiple of 64, as all numbers of times are */
#define SLOTS_MIN 1024	/* a power of two */
#define NONE UINT64_MAX /* stands for no line: the end of a list */
#define TIMES_MAX (1ull << 31)

struct slot {
	uint64_t line; /* NONE: the slot is free */
	uint32_t time; /* time + 1; 0: the line is in the top */
	uint32_t unused;
};

struct reuse {
	uint64_t top[TOP];
	uint32_t tag[TOP]; /* tags of the lines, compared four at a time */
	unsigned ntop;
	struct slot *slot;
	size_t slots, lines;
	uint64_t *bits; /* one bit for each time */
	uint32_t *tree; /* Fenwick tree, from 1, over words of bits */
	uint64_t times, now, live;
};

static bool make_times(struct reuse *r, uint64_t times)
{
	uint64_t *bits = calloc(times / 64, sizeof(*bits));
	uint32_t *tree = calloc(times / 64 + 1, sizeof(*tree));

	if (!bits || !tree) {
		free(bits);
		free(tree);
		return false;
	}
	free(r->bits);
	free(r->tree);
	r->bits = bits;
	r->tree = tree;
	r->times = times;
	return true;
}

static struct slot *make_slots(size_t n)
{
	struct slot *s = malloc(n * sizeof(*s));

	for (size_t i = 0; s && i < n; i++)
		s[i] = (struct slot){ .line = NONE };
	return s;
}

struct reuse *reuse_new(void)
{
	struct reuse *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->slots = SLOTS_MIN;
	r->slot = make_slots(r->slots);
	if (!r->slot || !make_times(r, TIMES_MIN)) {
		reuse_free(r);
		return NULL;
	}
	return r;
}

void reuse_free(struct reuse *r)
{
	if (!r)
		return;
	free(r->slot);
	free(r->bits);
	free(r->tree);
	free(r);
}

/* Returns the line's slot, or the free one where it belongs. */
static struct slot *find(struct slot *slot, size_t slots, uint64_t line)
{
	size_t i = hash_mix(line) >> 20 & (slots - 1);

	while (slot[i].line != line && slot[i].line != NONE)
		i = (i + 1) & (slots - 1);
	return &slot[i];
}

/* Grows the table, so that at least a third stays free. */
static bool widen(struct reuse *r)
{
	size_t slots = 2 * r->slots;
	struct slot *s;

	if (r->lines < r->slots / 3 * 2)
		return true;
	s = make_slots(slots);
	if (!s)
		return false;
	for (size_t i = 0; i < r->slots; i++)
		if (r->slot[i].line != NONE)
			*find(s, slots, r->slot[i].line) = r->slot[i];
	free(r->slot);
	r->slot = s;
	r->slots = slots;
	return true;
}

static uint64_t ones(uint64_t v)
{
	v -= v >> 1 & 0x5555555555555555ull;
	v = (v & 0x3333333333333333ull) + (v >> 2 & 0x3333333333333333ull);
	return ((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56;
}

/* Number of bits up to and including that time. */
static uint64_t bits_to(const struct reuse *r, uint64_t time)
{
	uint64_t n = ones(r->bits[time / 64] << (63 - time % 64));

	for (uint64_t i = time / 64; i; i &= i - 1)
		n += r->tree[i];
	return n;
}

static void change(struct reuse *r, uint64_t time, uint32_t by)
{
	r->bits[time / 64] ^= 1ull << time % 64;
	for (uint64_t i = time / 64 + 1; i <= r->times / 64; i += i & (0 - i))
		r->tree[i] += by;
	r->live += (uint64_t)(int64_t)(int32_t)by;
}

/* Renumbers times from 0 to live - 1. */
static bool renumber(struct reuse *r)
{
	uint64_t times = r->times;

	for (size_t i = 0; i < r->slots; i++)
		if (r->slot[i].line != NONE && r->slot[i].time)
			r->slot[i].time = (uint32_t)bits_to(r, r->slot[i].time - 1);
	if (r->live > times / 2)
		times *= 2;
	if (times > TIMES_MAX || !make_times(r, times))
		return false;
	for (uint64_t t = 0; t < r->live; t++)
		r->bits[t / 64] |= 1ull << t % 64;
	for (uint64_t i = 1; i <= r->times / 64; i++) {
		uint64_t up = i + (i & (0 - i));

		r->tree[i] += (uint32_t)ones(r->bits[i - 1]);
		if (up <= r->times / 64)
			r->tree[up] += r->tree[i];
	}
	r->now = r->live;
	return true;
}

/* Moves the line out of the top. */
static bool leave(struct reuse *r, uint64_t line)
{
	if (r->now == r->times && !renumber(r))
		return false;
	find(r->slot, r->slots, line)->time = (uint32_t)r->now + 1;
	change(r, r->now++, 1);
	return true;
}

static uint32_t tag_of(uint64_t line)
{
	return (uint32_t)line ^ (uint32_t)(line >> 32);
}

/* Moves the first n down by one and puts the line above them. */
static void raise(struct reuse *r, uint64_t line, unsigned n)
{
	uint32_t tag = tag_of(line);

	for (; n; n--) {
		r->top[n] = r->top[n - 1];
		r->tag[n] = r->tag[n - 1];
	}
	r->top[0] = line;
	r->tag[0] = tag;
}

static bool put_on_top(struct reuse *r, uint64_t line)
{
	if (r->ntop == TOP && !leave(r, r->top[--r->ntop]))
		return false;
	raise(r, line, r->ntop++);
	return true;
}

static uint64_t touch_deep(struct reuse *r, uint64_t line)
{
	struct slot *s = find(r->slot, r->slots, line);
	uint64_t distance = REUSE_COLD;

	if (s->line == NONE) {
		if (!widen(r))
			return REUSE_FAILED;
		*find(r->slot, r->slots, line) = (struct slot){ .line = line };
		r->lines++;
	} else {
		distance = TOP + r->live - bits_to(r, s->time - 1);
		change(r, s->time - 1, ~0u);
		s->time = 0;
	}
	return put_on_top(r, line) ? distance : REUSE_FAILED;
}

/* Returns the line's position in the top, or TOP. */
static unsigned place_in_top(const struct reuse *r, uint64_t line)
{
	__m128i tag = _mm_set1_epi32((int)tag_of(line));

	for (unsigned at = 0; at < TOP; at += 8) {
		__m128i a = _mm_loadu_si128((const void *)(r->tag + at));
		__m128i b = _mm_loadu_si128((const void *)(r->tag + at + 4));
		unsigned found = (unsigned)_mm_movemask_epi8(
			_mm_packs_epi32(_mm_cmpeq_epi32(a, tag), _mm_cmpeq_epi32(b, tag)));

		for (; found; found &= found - 1) { /* each match has two bits */
			unsigned i = at + (unsigned)__builtin_ctz(found) / 2;

			if (i < r->ntop && r->top[i] == line)
				return i;
		}
	}
	return TOP;
}

uint64_t reuse_touch(struct reuse *r, uint64_t line)
{
	unsigned at;

	if (r->ntop && r->top[0] == line)
		return 0;
	at = place_in_top(r, line);
	if (at == TOP)
		return touch_deep(r, line);
	raise(r, line, at);
	return at;
}

uint64_t reuse_lines(const struct reuse *r)
{
	return r->lines;
}

size_t reuse_memory(const struct reuse *r)
{
	return sizeof(*r) + r->slots * sizeof(*r->slot) + r->times / 64 * 12;
}
