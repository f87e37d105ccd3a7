/* SPDX-License-Identifier: MIT */
/*
 * As bytes each is, in varints:
 *
 *   key, instructions, 1 if modelled; then of each instruction of a modelled one
 *   least, in quarters of a cycle * 8 + why * 2 + (it has a cause), and the cause
 */
#include "estimate/memo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/hash.h"
#include "estimate/mca.h"

#define LEAST_MAX 1e6
#define PARTS 4 /* units in a cycle: later iterations of llvm-mca divide by this */

struct known {
	uint64_t key;
	UT_hash_handle hh;
	uint16_t n;
	bool modelled;
	struct schedule_insn insn[]; /* n of them, if modelled */
};

struct schedule_memo {
	struct known *known;
	bool changed;
};

struct schedule_memo *schedule_memo_new(void)
{
	return calloc(1, sizeof(struct schedule_memo));
}

void schedule_memo_free(struct schedule_memo *m)
{
	struct known *k, *tmp;

	if (!m)
		return;
	HASH_ITER (hh, m->known, k, tmp) {
		HASH_DEL(m->known, k);
		free(k);
	}
	free(m);
}

/* FNV-1a, continued from h, whose result the final mix of MurmurHash3 spreads over all bits. */
static uint64_t hash_mixed(uint64_t h, const void *p, size_t n)
{
	h = hash_bytes(h, p, n);
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccd;
	return h ^ h >> 33;
}

uint64_t schedule_memo_seed(const char *model, const char *program)
{
	const uint8_t question = MCA_QUESTION;
	uint64_t h = hash_mixed(HASH_BASIS, model, strlen(model));

	h = hash_mixed(h, &question, sizeof(question));
	return hash_mixed(h, program, strlen(program));
}

static struct known *find(const struct schedule_memo *m, uint64_t key)
{
	struct known *k;

	HASH_FIND(hh, m->known, &key, sizeof(key), k);
	return k;
}

/* Returns NULL if the block is known already, or without memory. */
static struct known *add(struct schedule_memo *m, uint64_t key, unsigned n, bool modelled)
{
	struct known *k;

	if (find(m, key))
		return NULL;
	k = calloc(1, sizeof(*k) + (modelled ? n : 0) * sizeof(k->insn[0]));
	if (!k)
		return NULL;
	k->key = key;
	k->n = (uint16_t)n;
	k->modelled = modelled;
	HASH_ADD(hh, m->known, key, sizeof(k->key), k);
	if (!k->hh.tbl) {
		free(k);
		return NULL;
	}
	return k;
}

/* A loop has another key than the same instructions elsewhere. */
static uint64_t key_of(uint64_t seed, const struct schedule_block *b)
{
	const uint8_t carried[] = { (uint8_t)b->carried, (uint8_t)(b->carried >> 8),
				    (uint8_t)(b->carried >> 16), (uint8_t)(b->carried >> 24) };

	return hash_bytes(hash_bytes(seed, carried, sizeof(carried)), b->code, b->size);
}

bool schedule_memo_get(const struct schedule_memo *m, uint64_t seed, struct schedule_block *b)
{
	const struct known *k = find(m, key_of(seed, b));

	if (!k || k->n != b->n)
		return false;
	if (k->modelled)
		memcpy(b->insn, k->insn, b->n * sizeof(b->insn[0]));
	b->modelled = k->modelled;
	return true;
}

void schedule_memo_put(struct schedule_memo *m, uint64_t seed, const struct schedule_block *b)
{
	struct known *k;

	if (b->n > SCHEDULE_BLOCK_MAX)
		return;
	k = add(m, key_of(seed, b), b->n, b->modelled);
	if (!k)
		return;
	if (b->modelled)
		memcpy(k->insn, b->insn, b->n * sizeof(b->insn[0]));
	m->changed = true;
}

size_t schedule_memo_count(const struct schedule_memo *m)
{
	return HASH_COUNT(m->known);
}

bool schedule_memo_changed(const struct schedule_memo *m)
{
	return m->changed;
}

bool schedule_memo_write(const struct schedule_memo *m, struct buffer *b)
{
	struct known *k, *tmp;

	HASH_ITER (hh, m->known, k, tmp) {
		if (!buffer_room(b, VARINT_MAX * (3 + 3 * (size_t)k->n)))
			return false;
		varint_put(b, k->key);
		varint_put(b, k->n);
		varint_put(b, k->modelled);
		for (unsigned i = 0; k->modelled && i < k->n; i++) {
			const struct schedule_insn *s = &k->insn[i];

			varint_put(b, (uint64_t)lround(s->least * (double)PARTS) << 3 |
					      (uint64_t)s->why << 1 | (s->cause >= 0));
			varint_put(b, s->latency);
			if (s->cause >= 0)
				varint_put(b, (uint64_t)s->cause);
		}
	}
	return true;
}

static bool read_insn(struct cursor *c, struct schedule_insn *s, unsigned n)
{
	uint64_t v, latency, cause = 0;

	if (!varint_get(c, &v) || !varint_get(c, &latency) ||
	    (v & 1 && (!varint_get(c, &cause) || cause >= n)))
		return false;
	if (v >> 3 > LEAST_MAX * PARTS || latency > UINT8_MAX)
		return false;
	s->least = (float)(v >> 3) / PARTS;
	s->why = v >> 1 & 3;
	s->latency = (uint8_t)latency;
	s->cause = v & 1 ? (int32_t)cause : -1;
	return true;
}

bool schedule_memo_read(struct schedule_memo *m, const uint8_t *p, size_t n)
{
	struct cursor c = { p, p + n };
	struct schedule_insn insn[SCHEDULE_BLOCK_MAX];
	uint64_t key, count, modelled;

	while (c.p < c.end) {
		struct known *k;

		if (!varint_get(&c, &key) || !varint_get(&c, &count) ||
		    !varint_get(&c, &modelled) || !count || count > SCHEDULE_BLOCK_MAX ||
		    modelled > 1)
			return false;
		for (unsigned i = 0; modelled && i < count; i++)
			if (!read_insn(&c, &insn[i], (unsigned)count))
				return false;
		k = add(m, key, (unsigned)count, modelled);
		if (k && modelled)
			memcpy(k->insn, insn, count * sizeof(insn[0]));
	}
	return true;
}
