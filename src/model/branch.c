/* SPDX-License-Identifier: MIT */
#include "model/branch.h"

#include <stdlib.h>

#include "base/hash.h"

#define BASE_BITS 14
#define TABLES 4
#define INDEX_BITS 11
#define TAG_BITS 11
#define FOLD_BITS 23 /* bits from which index and tag are made */
#define HISTORY 3    /* words of 64 bits: more outcomes than the longest history */
#define TARGET_BITS 12
#define LAST_BITS 12
#define STACK 32
#define AGE (1u << 18) /* branches after which entries become less useful */

/* Number of outcomes that each table looks at. The first two fit into the folded history
 * unchanged. */
#define LENGTH_0 6
#define LENGTH_1 16
#define LENGTH_2 44
#define LENGTH_3 130

struct entry {
	uint16_t tag;	/* tag + 1; 0: the entry is empty */
	int8_t counter; /* -4 to 3: strongly not taken to strongly taken */
	uint8_t useful; /* 0 to 3 */
};

struct target {
	uint64_t to;
	uint32_t tag;
	uint8_t sure; /* 0 to 3 */
};

struct branch_predictor {
	uint8_t base[1u << BASE_BITS]; /* counters from 0 to 3 */
	struct entry table[TABLES][1u << INDEX_BITS];
	uint32_t folded[TABLES];   /* the last outcomes, folded to FOLD_BITS by exclusive or */
	uint64_t outcome[HISTORY]; /* outcomes; the last one is bit 0 of the first word */
	uint32_t branches;
	uint32_t seed;
	struct target by_path[1u << TARGET_BITS];
	struct target by_pc[1u << LAST_BITS];
	uint64_t path;
	uint64_t stack[STACK];
	unsigned top;
};

struct branch_predictor *branch_new(void)
{
	struct branch_predictor *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	for (unsigned i = 0; i < 1u << BASE_BITS; i++)
		p->base[i] = 1;
	p->seed = 1;
	return p;
}

void branch_free(struct branch_predictor *p)
{
	free(p);
}

static uint64_t mix(uint64_t v)
{
	v = hash_mix(v);
	return v ^ v >> 32;
}

/* Adds an outcome to a folded history, and removes the one `length` outcomes before it. */
static inline uint32_t fold(uint32_t folded, bool taken, const uint64_t *outcome, unsigned length)
{
	uint32_t out = outcome[(length - 1) / 64] >> (length - 1) % 64 & 1;
	uint32_t v = (folded << 1 | taken) ^ out << length % FOLD_BITS;

	return (v ^ v >> FOLD_BITS) & ((1u << FOLD_BITS) - 1);
}

/* Adds an outcome to each table's history. */
static inline void remember(struct branch_predictor *p, bool taken)
{
	uint64_t *o = p->outcome;

	p->folded[2] = fold(p->folded[2], taken, o, LENGTH_2);
	p->folded[3] = fold(p->folded[3], taken, o, LENGTH_3);
	o[2] = o[2] << 1 | o[1] >> 63;
	o[1] = o[1] << 1 | o[0] >> 63;
	o[0] = o[0] << 1 | taken;
	p->folded[0] = o[0] & ((1u << LENGTH_0) - 1);
	p->folded[1] = o[0] & ((1u << LENGTH_1) - 1);
}

static void step(int8_t *counter, bool up)
{
	if (up && *counter < 3)
		++*counter;
	else if (!up && *counter > -4)
		--*counter;
}

static uint32_t draw(struct branch_predictor *p)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 17;
	p->seed ^= p->seed << 5;
	return p->seed;
}

/* After a misprediction, takes an entry in a table with a longer history, if one of them has an
 * entry without use. */
static void allocate(struct branch_predictor *p, struct entry *const *e, const uint16_t *tag,
		     int from, bool taken)
{
	int i = from + (int)(draw(p) & 1 && from + 1 < TABLES);
	bool found = false;

	for (int k = i; k < TABLES && !found; k++) {
		if (e[k]->useful)
			continue;
		*e[k] = (struct entry){ .tag = tag[k], .counter = taken ? 0 : -1 };
		found = true;
	}
	for (int k = i; k < TABLES && !found; k++)
		e[k]->useful--;
}

static void age(struct branch_predictor *p)
{
	if (++p->branches % AGE)
		return;
	for (unsigned i = 0; i < TABLES; i++)
		for (unsigned k = 0; k < 1u << INDEX_BITS; k++)
			p->table[i][k].useful >>= 1;
}

/* Finds the branch's entry in each table. Returns one bit for each entry whose tag matches. */
static inline unsigned find(struct branch_predictor *p, uint64_t h, struct entry **e, uint16_t *tag)
{
	unsigned found = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < TABLES; i++) {
		uint64_t m = mix(p->folded[i] + (h >> 20 << FOLD_BITS) + i);

		e[i] = &p->table[i][m & ((1u << INDEX_BITS) - 1)];
		tag[i] = (uint16_t)((m >> 32 & ((1u << TAG_BITS) - 1)) + 1);
		found |= (unsigned)(e[i]->tag == tag[i]) << i;
	}
	return found;
}

static inline void count(uint8_t *base, bool taken)
{
	*base = (uint8_t)(taken ? *base + (*base < 3) : *base - (*base > 0));
}

/* Predicts by an entry or, where it is new, by the next shorter match; then trains the entry. */
static inline bool ask(struct entry *by, bool second, bool taken)
{
	bool its = by->counter >= 0;
	/* a new entry knows less than the one that predicted before it */
	bool fresh = !by->useful && (by->counter == 0 || by->counter == -1);

	if (its != second && its == taken)
		by->useful = (uint8_t)(by->useful + (by->useful < 3));
	else if (its != second)
		by->useful = (uint8_t)(by->useful - (by->useful > 0));
	step(&by->counter, taken);
	return fresh ? second : its;
}

bool branch_conditional(struct branch_predictor *p, uint64_t pc, bool taken)
{
	uint64_t h = mix(pc);
	uint8_t *base = &p->base[h & ((1u << BASE_BITS) - 1)];
	struct entry *e[TABLES];
	uint16_t tag[TABLES];
	unsigned found = find(p, h, e, tag), others;
	bool guess = *base >= 2;
	int provider = -1;

	if (!found) {
		count(base, taken);
	} else {
		provider = 31 - __builtin_clz(found);
		others = found & ~(1u << provider);
		if (others)
			guess = e[31 - __builtin_clz(others)]->counter >= 0;
		guess = ask(e[provider], guess, taken);
		if (!others && !e[provider]->useful)
			count(base, taken);
	}
	if (guess != taken && provider + 1 < TABLES)
		allocate(p, e, tag, provider + 1, taken);
	age(p);
	remember(p, taken);
	return guess != taken;
}

static void learn(struct target *t, uint32_t tag, uint64_t to)
{
	if (t->tag == tag && t->to == to) {
		t->sure += t->sure < 3;
	} else if (t->tag == tag && t->sure) {
		t->sure--;
	} else {
		*t = (struct target){ .to = to, .tag = tag };
	}
}

bool branch_indirect(struct branch_predictor *p, uint64_t pc, uint64_t to)
{
	uint64_t with = mix(pc ^ p->path), alone = mix(pc);
	struct target *path = &p->by_path[with & ((1u << TARGET_BITS) - 1)];
	struct target *last = &p->by_pc[alone & ((1u << LAST_BITS) - 1)];
	uint32_t tag = (uint32_t)(with >> 32) | 1, own = (uint32_t)(alone >> 32) | 1;
	uint64_t guess = path->tag == tag ? path->to : last->tag == own ? last->to : 0;

	learn(path, tag, to);
	*last = (struct target){ .to = to, .tag = own };
	p->path = p->path << 16 ^ mix(to) >> 48; /* hash of the last four targets */
	remember(p, mix(to) & 1);
	return guess != to;
}

void branch_call(struct branch_predictor *p, uint64_t next)
{
	p->stack[p->top++ % STACK] = next;
}

bool branch_return(struct branch_predictor *p, uint64_t target)
{
	return p->stack[--p->top % STACK] != target;
}
