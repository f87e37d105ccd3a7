/* SPDX-License-Identifier: MIT */
#include "model/branch.h"

#include <stdlib.h>

#define BASE_BITS 14
#define TABLES 4
#define INDEX_BITS 11
#define TAG_BITS 11
#define FOLD_BITS 23 /* index and tag are made of so many */
#define HISTORY 256  /* bits, a power of two; more than the longest */
#define TARGET_BITS 12
#define LAST_BITS 12
#define STACK 32
#define AGE (1u << 18) /* branches until entries are made less useful */

static const uint8_t length[TABLES] = { 6, 16, 44, 130 };
/* … and where the oldest of them is in what is folded */
static const uint8_t leaves[TABLES] = { 6, 16, 44 % FOLD_BITS, 130 % FOLD_BITS };

struct entry {
	uint16_t tag;	/* + 1; 0: none */
	int8_t counter; /* -4 … 3: not taken, taken */
	uint8_t useful; /* 0 … 3 */
};

struct target {
	uint64_t to;
	uint32_t tag;
	uint8_t sure; /* 0 … 3 */
};

struct branch_predictor {
	uint8_t base[1u << BASE_BITS]; /* 0 … 3 */
	struct entry table[TABLES][1u << INDEX_BITS];
	uint32_t folded[TABLES]; /* the last outcomes, to FOLD_BITS by exclusive or */
	uint8_t outcome[HISTORY];
	unsigned at;
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
	v *= 0x9e3779b97f4a7c15ull;
	return v ^ v >> 32;
}

/* One outcome comes into each table's history, one goes. */
static void remember(struct branch_predictor *p, bool taken)
{
	for (unsigned i = 0; i < TABLES; i++) {
		uint32_t out = p->outcome[(p->at - length[i]) & (HISTORY - 1)];
		uint32_t v = (p->folded[i] << 1 | taken) ^ out << leaves[i];

		p->folded[i] = (v ^ v >> FOLD_BITS) & ((1u << FOLD_BITS) - 1);
	}
	p->outcome[p->at++ & (HISTORY - 1)] = taken;
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

/* Entries of tables that look further than the one that was wrong: one is taken, if one is of no use. */
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

bool branch_conditional(struct branch_predictor *p, uint64_t pc, bool taken)
{
	uint64_t h = mix(pc);
	uint8_t *base = &p->base[h & ((1u << BASE_BITS) - 1)];
	struct entry *e[TABLES];
	uint16_t tag[TABLES];
	int provider = -1, other = -1;
	bool guess, second;

	for (int i = 0; i < TABLES; i++) {
		uint64_t m = mix(p->folded[i] + (h >> 20 << FOLD_BITS) + (unsigned)i);

		e[i] = &p->table[i][m & ((1u << INDEX_BITS) - 1)];
		tag[i] = (uint16_t)((m >> 32 & ((1u << TAG_BITS) - 1)) + 1);
		if (e[i]->tag == tag[i]) {
			other = provider;
			provider = i;
		}
	}
	second = other >= 0 ? e[other]->counter >= 0 : *base >= 2;
	guess = provider >= 0 ? e[provider]->counter >= 0 : *base >= 2;
	if (provider >= 0) {
		struct entry *by = e[provider];
		/* one that has just been made knows less than what predicted before it */
		bool fresh = !by->useful && (by->counter == 0 || by->counter == -1);
		bool its = guess;

		if (fresh)
			guess = second;
		if (its != second && its == taken && by->useful < 3)
			by->useful++;
		else if (its != second && its != taken && by->useful)
			by->useful--;
		step(&by->counter, taken);
	}
	if (provider < 0 || (other < 0 && !e[provider]->useful)) {
		if (taken && *base < 3)
			++*base;
		else if (!taken && *base)
			--*base;
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
	p->path = p->path << 16 ^ mix(to) >> 48; /* the last four */
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
