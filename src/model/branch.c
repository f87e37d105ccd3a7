/* SPDX-License-Identifier: MIT */
#include "model/branch.h"

#include <stdlib.h>

#include "base/hash.h"

#define BASE_BITS 14
#define TABLES 4
#define INDEX_BITS 11
#define TAG_BITS 16
#define TARGET_BITS 12
#define LAST_BITS 12
#define STACK 32
#define AGE (1u << 18) /* branches after which entries become less useful */

/* Number of outcomes that each of the first three tables uses; the last one uses all that are kept. */
#define LENGTH_0 6
#define LENGTH_1 16
#define LENGTH_2 44

/*
 * What an entry of a table knows: in the lower three bits a counter, from 0, strongly not taken, to
 * 7, strongly taken; above them how useful the entry is, from 0 to 3.
 */
#define COUNTER 7u
#define TAKEN 4u
#define USEFUL 8u
#define STATES 32u

/* A branch in the base table: in the lower bits a counter from WEAK - 1 to TAKEN + 1, above them the ways that the branch
 * has gone. */
#define WEAK (TAKEN - 1)
#define WENT(taken) (8u << (taken))
#define BOTH_WAYS (WENT(false) | WENT(true))

#define BASE 8u /* in branch_predictor.used */

struct entry {
	uint16_t tag;
	uint8_t state;
};

struct target {
	uint64_t to;
	uint32_t tag;
	uint8_t sure; /* 0 to 3 */
};

struct branch_predictor {
	uint8_t base[1u << BASE_BITS];
	struct entry table[TABLES][1u << INDEX_BITS];
	/* trained() and counted() of all arguments, the first of which is in the lower bits of the index */
	uint8_t next[4 * STATES], counted[4 * (COUNTER + 1)];
	uint64_t outcome[2]; /* outcomes; the last one is bit 0 of the first word */
	uint32_t branches;
	uint32_t seed;
	struct target by_path[1u << TARGET_BITS];
	struct target by_pc[1u << LAST_BITS];
	uint64_t path;
	uint64_t stack[STACK];
	unsigned top;
	uint8_t used; /* what the last prediction rests on: a counter; BASE: of the base table */
	bool simple; /* `base` has counters from 0, strongly not taken, to 3, and is indexed with outcomes */
};

static unsigned step(unsigned counter, bool up, unsigned least, unsigned most)
{
	return up ? counter + (counter < most) : counter - (counter > least);
}

/* Predicts by an entry or, where the entry is new, as the next shorter match; then trains the entry. */
static unsigned trained(unsigned state, bool second, bool taken)
{
	unsigned counter = state & COUNTER, useful = state / USEFUL;
	bool its = counter >= TAKEN;
	/* a new entry knows less than the one that predicted before it */
	bool fresh = !useful && (counter == TAKEN || counter == WEAK);
	bool guess = fresh ? second : its;

	if (its != second)
		useful = step(useful, its == taken, 0, 3);
	return step(counter, taken, 0, COUNTER) | useful * USEFUL | guess * STATES;
}

static unsigned counted(unsigned counter, bool taken, bool counts)
{
	return BOTH_WAYS | (counts ? step(counter, taken, WEAK - 1, TAKEN + 1) : counter);
}

struct branch_predictor *branch_new(void)
{
	struct branch_predictor *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->seed = 1;
	for (unsigned i = 0; i < 4 * STATES; i++)
		p->next[i] = (uint8_t)trained(i % STATES, i / STATES & 1, i / STATES & 2);
	for (unsigned i = 0; i < 4 * (COUNTER + 1); i++)
		p->counted[i] =
			(uint8_t)counted(i & COUNTER, i / (COUNTER + 1) & 1, i / (COUNTER + 1) & 2);
	return p;
}

struct branch_predictor *branch_new_simple(void)
{
	struct branch_predictor *p = branch_new();

	if (p)
		p->simple = true;
	return p;
}

void branch_free(struct branch_predictor *p)
{
	free(p);
}

static inline uint64_t mix(uint64_t v)
{
	v = hash_mix(v);
	return v ^ v >> 32;
}

/* Adds an outcome to the history. */
static inline void remember(struct branch_predictor *p, bool taken)
{
	uint64_t *o = p->outcome;

	o[1] = o[1] << 1 | o[0] >> 63;
	o[0] = o[0] << 1 | taken;
}

static inline uint64_t last(const struct branch_predictor *p, unsigned n)
{
	return p->outcome[0] & ((1ull << n) - 1);
}

static uint32_t draw(struct branch_predictor *p)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 17;
	p->seed ^= p->seed << 5;
	return p->seed;
}

/* The tag for a hash, as entries store it. */
static inline uint16_t tag_of(uint64_t hash)
{
	return (uint16_t)(hash >> (64 - INDEX_BITS - TAG_BITS)) | 1; /* 0: the entry is empty */
}

/* After a misprediction, takes an entry in a table with a longer history, if one of them has an
 * entry without use. */
static void allocate(struct branch_predictor *p, struct entry *const *e, const uint64_t *hash,
		     unsigned from, bool taken)
{
	unsigned i = from + (draw(p) & 1 && from + 1 < TABLES);
	bool found = false;

	for (unsigned k = i; k < TABLES && !found; k++) {
		if (e[k]->state >= USEFUL)
			continue;
		*e[k] = (struct entry){ .tag = tag_of(hash[k]), .state = taken ? TAKEN : WEAK };
		found = true;
	}
	for (unsigned k = i; k < TABLES && !found; k++)
		e[k]->state -= USEFUL;
}

static void age(struct branch_predictor *p)
{
	if (++p->branches % AGE)
		return;
	for (unsigned i = 0; i < TABLES; i++)
		for (unsigned k = 0; k < 1u << INDEX_BITS; k++) {
			uint8_t *state = &p->table[i][k].state;

			*state = (*state & COUNTER) | (uint8_t)(*state / USEFUL / 2 * USEFUL);
		}
}

/* Finds the branch's entry in each table. Returns one bit for each entry whose tag matches. */
static inline unsigned find(struct branch_predictor *p, uint64_t h, struct entry **e,
			    uint64_t *hash)
{
	unsigned found = 0;

	hash[0] = hash_mix(h ^ last(p, LENGTH_0));
	hash[1] = hash_mix(h ^ last(p, LENGTH_1));
	hash[2] = hash_mix(h ^ last(p, LENGTH_2));
	hash[3] = hash_mix(h ^ p->outcome[0] ^ hash_mix(p->outcome[1]) >> 7);
#pragma GCC unroll 4
	for (unsigned i = 0; i < TABLES; i++) {
		e[i] = &p->table[i][hash[i] >> (64 - INDEX_BITS)];
		found |= (unsigned)(e[i]->tag == tag_of(hash[i])) << i;
	}
	return found;
}

/* The longest match of those found, a bit each, and the longest but one; 0: the base table. */
static const uint8_t longest[1u << TABLES] = { 0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4 };
static const uint8_t shorter[1u << TABLES] = { 0, 0, 0, 1, 0, 1, 2, 2, 0, 1, 2, 2, 3, 3, 3, 3 };

/* Predicts a branch that has gone both ways. The base table is the shortest match of all. */
static bool conditional(struct branch_predictor *p, uint64_t h, uint8_t *base, bool taken)
{
	unsigned counter = *base & COUNTER, found, provider, second, other, next;
	struct entry shortest = { .state = (uint8_t)counter }, *e[TABLES + 1] = { &shortest };
	uint64_t hash[TABLES];
	bool guess, counts;

	found = find(p, h, e + 1, hash);
	provider = longest[found];
	second = shorter[found];
	other = (e[second]->state & TAKEN) != 0;
	p->used = (uint8_t)((e[provider]->state & COUNTER) | (provider ? 0 : BASE));
	next = p->next[e[provider]->state | other * STATES | taken * 2u * STATES];
	guess = next / STATES;
	e[provider]->state = next % STATES;
	/* the base table learns only if no useful entry predicted */
	counts = !second & (next % STATES < USEFUL);
	*base = p->counted[counter | taken * (COUNTER + 1u) | counts * 2u * (COUNTER + 1)];
	if (guess != taken && provider < TABLES)
		allocate(p, e + 1, hash, provider, taken);
	age(p);
	remember(p, taken);
	return guess != taken;
}

static bool conditional_simple(struct branch_predictor *p, uint64_t h, bool taken)
{
	uint8_t *counter = &p->base[(h ^ p->outcome[0]) & ((1u << BASE_BITS) - 1)];
	bool guess = *counter >= 2;

	*counter = (uint8_t)step(*counter, taken, 0, 3);
	p->outcome[0] = p->outcome[0] << 1 | taken;
	return guess != taken;
}

bool branch_conditional(struct branch_predictor *p, uint64_t pc, bool taken)
{
	uint64_t h = mix(pc);
	uint8_t *base = &p->base[h & ((1u << BASE_BITS) - 1)];
	uint8_t was = *base & BOTH_WAYS, went = (uint8_t)(was | WENT(taken));

	if (p->simple)
		return conditional_simple(p, h, taken);
	if (went != BOTH_WAYS) { /* the tables are for branches that have gone both ways */
		*base = went;
		p->used = was ? COUNTER : WEAK;
		remember(p, taken);
		return !was && taken;
	}
	if (was != BOTH_WAYS)
		*base = (uint8_t)(BOTH_WAYS | (taken ? WEAK - 1 : TAKEN + 1));
	return conditional(p, h, base, taken);
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

	if (p->simple) {
		*last = (struct target){ .to = to, .tag = own };
		return guess != to;
	}
	p->used = path->tag == tag ? COUNTER : WEAK;
	learn(path, tag, to);
	*last = (struct target){ .to = to, .tag = own };
	p->path = p->path << 16 ^ mix(to) >> 48; /* hash of the last four targets */
	remember(p, mix(to) & 1);
	return guess != to;
}

bool branch_sure(const struct branch_predictor *p)
{
	return p->used & BASE ? p->used == (BASE | (WEAK - 1)) || p->used == (BASE | (TAKEN + 1))
			      : p->used == 0 || p->used == COUNTER;
}

void branch_call(struct branch_predictor *p, uint64_t next)
{
	p->stack[p->top++ % STACK] = next;
}

bool branch_return(struct branch_predictor *p, uint64_t target)
{
	return p->stack[--p->top % STACK] != target;
}
