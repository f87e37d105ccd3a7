/* SPDX-License-Identifier: MIT */
#include "sampler/slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"

/* Operands that the policy judges. An address is recorded to find accesses that meet, not for its frequency, and so is
 * not judged. */
#define JUDGED ((1u << OPERAND_N) - 1 - (1u << OPERAND_ADDRESS))

struct slot {
	uint64_t key;	 /* 0: free */
	uint64_t value;	 /* the active value */
	uint64_t window; /* the last window in which the operand was observed */
	uint16_t hits, misses, total;
	uint8_t in_window;
};

/* The knowledge of an operand that has or had a slot. Linked by `later` in the calendar. */
struct judged {
	uint64_t key, value;
	uint32_t later;
	uint8_t share; /* per cent of the observations that had `value` */
	uint8_t rounds, pause;
	bool masked;
};

struct place {
	uint16_t windows;
	uint32_t values, useful;
};

struct slots {
	uint64_t *filter;
	struct slot slot[SLOTS];
	struct place place[FILTER_PLACES];
	struct judged *operand;
	size_t n, room;
	uint32_t *index; /* number + 1, or 0; linear probing in a table that is at most half full */
	/* masked operands by the look, modulo 2 SLOTS_PAUSE, at which they are judged again: number + 1 */
	uint32_t calendar[2 * SLOTS_PAUSE];
	uint64_t look, turn_at, windows, random;
	uint8_t way[SLOTS / SLOTS_WAYS]; /* the way that is the next candidate for replacement */
	unsigned bits,
		part; /* the partition: how many bits the part's number has, and the number */
	bool thrashed_in_turn;
	uint64_t replaced_since, taken_since; /* counts since the last turn began */
	struct slots_counts count;
};

struct slots *slots_new(uint64_t *filter)
{
	struct slots *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->filter = filter;
	s->random = 88172645463325252ull;
	return s;
}

void slots_free(struct slots *s)
{
	if (!s)
		return;
	free(s->operand);
	free(s->index);
	free(s);
}

void slots_count(const struct slots *s, struct slots_counts *n)
{
	*n = s->count;
	n->operands = s->n;
}

/* Operands. */

static uint64_t key_of(struct site_id site, int operand)
{
	uint64_t h = hash_mix(site.addr) ^ ((uint64_t)site.image << 8 | (unsigned)operand);

	h = (h ^ h >> 31) * 0xc2b2ae3d27d4eb4full;
	return (h ^ h >> 29) | 1ull << 63;
}

static size_t index_of(const struct slots *s, uint64_t key)
{
	size_t mask = 2 * s->room - 1, i = (size_t)(key >> 8) & mask;

	while (s->index[i] && s->operand[s->index[i] - 1].key != key)
		i = (i + 1) & mask;
	return i;
}

static int widen(struct slots *s)
{
	size_t room = s->room ? 2 * s->room : 4096;
	struct judged *operand = realloc(s->operand, room * sizeof(*operand));
	uint32_t *index = calloc(2 * room, sizeof(*index));

	if (operand)
		s->operand = operand;
	if (!operand || !index) {
		free(index);
		return -1;
	}
	free(s->index);
	s->index = index;
	s->room = room;
	for (size_t i = 0; i < s->n; i++)
		s->index[index_of(s, s->operand[i].key)] = (uint32_t)i + 1;
	return 0;
}

/* Returns the operand's number + 1; 0 without memory. An operand keeps its number, but its struct may move. */
static uint32_t operand_get(struct slots *s, uint64_t key)
{
	size_t i;

	if (s->n == s->room && widen(s))
		return 0;
	i = index_of(s, key);
	if (!s->index[i]) {
		s->operand[s->n] = (struct judged){ .key = key };
		s->index[i] = (uint32_t)++s->n;
	}
	return s->index[i];
}

bool slots_masked(const struct slots *s, struct site_id site, int operand)
{
	uint32_t at = s->room ? s->index[index_of(s, key_of(site, operand))] : 0;

	return at && s->operand[at - 1].masked;
}

/* Postpones the next judgement. Each time that the operand behaved as before, the pause doubles. */
static void mask(struct slots *s, uint32_t number, bool agreed)
{
	struct judged *o = &s->operand[number - 1];
	uint32_t *head;

	o->pause = !agreed || !o->pause ? 1 : o->pause < SLOTS_PAUSE ? 2 * o->pause : SLOTS_PAUSE;
	head = &s->calendar[(s->look + o->pause) % (2 * SLOTS_PAUSE)];
	o->later = *head;
	o->masked = true;
	*head = number;
	s->count.masked++;
}

/* Judges a slot that has enough observations. */
static void judge(struct slots *s, const struct slot *t, uint32_t number)
{
	struct judged *o = &s->operand[number - 1];
	unsigned seen = (unsigned)t->hits + t->misses;
	unsigned share = seen ? 100u * t->hits / seen : 0, low = 100u * t->hits / t->total;
	bool agreed = o->rounds && ((o->value == t->value && share <= o->share + SLOTS_AGREE &&
				     o->share <= share + SLOTS_AGREE) ||
				    (o->share <= SLOTS_LOW && low <= SLOTS_LOW));

	o->value = t->value;
	o->share = (uint8_t)(low <= SLOTS_LOW ? low : share);
	o->rounds += o->rounds < SLOTS_ROUNDS;
	s->count.judged++;
	if (agreed || low <= SLOTS_LOW || share >= SLOTS_HIGH || o->rounds == SLOTS_ROUNDS)
		mask(s, number, agreed);
}

/* Judges the operands again whose pause is over. */
static void look_again(struct slots *s)
{
	uint32_t *head = &s->calendar[++s->look % (2 * SLOTS_PAUSE)], at = *head;

	*head = 0;
	while (at) {
		struct judged *o = &s->operand[at - 1];

		at = o->later;
		o->masked = false;
		o->rounds = SLOTS_ROUNDS - 1;
		s->count.masked--;
		s->count.reopened++;
	}
}

/* Makes more parts if slots were replaced time and again, and fewer after a whole turn without that. */
static void turn(struct slots *s)
{
	if (s->look < s->turn_at)
		return;
	if (s->replaced_since > SLOTS && SLOTS_THRASH * s->replaced_since > s->taken_since) {
		s->count.thrashed++;
		s->thrashed_in_turn = true;
		s->bits += s->bits < SLOTS_PARTS;
	}
	s->replaced_since = s->taken_since = 0;
	s->part = (s->part + 1) & ((1u << s->bits) - 1);
	if (!s->part && s->bits) {
		s->bits -= !s->thrashed_in_turn;
		s->thrashed_in_turn = false;
	}
	s->turn_at = s->look + (1u << s->bits);
}

/* Slots. */

static bool has_turn(const struct slots *s, uint64_t key)
{
	return (key & ((1u << s->bits) - 1)) == s->part;
}

static void enter(struct slot *t, uint64_t key, uint64_t value, uint64_t window)
{
	*t = (struct slot){
		.key = key, .value = value, .window = window, .total = 1, .in_window = 1
	};
}

/* Returns the operand's slot; or assigns one with the value as its active value, and returns NULL. */
static struct slot *slot_of(struct slots *s, uint64_t key, uint64_t value)
{
	size_t set = (size_t)(key >> 16) % (SLOTS / SLOTS_WAYS);
	struct slot *t = &s->slot[set * SLOTS_WAYS], *free_one = NULL;

	for (unsigned i = 0; i < SLOTS_WAYS; i++) {
		if (t[i].key == key)
			return &t[i];
		if (!t[i].key)
			free_one = &t[i];
	}
	if (!free_one) {
		t += s->way[set];
		if (t->total >= (random_bits(&s->random) >> 32 & SLOTS_REPLACE)) {
			s->count.failed++;
			return NULL;
		}
		s->way[set] = (uint8_t)((s->way[set] + 1) % SLOTS_WAYS);
		s->count.replaced++;
		s->replaced_since++;
		free_one = t;
	}
	enter(free_one, key, value, s->windows);
	return NULL;
}

/* Adds a value of an operand that is not masked. */
static void take(struct slots *s, uint32_t number, uint64_t key, uint64_t value)
{
	struct slot *t = slot_of(s, key, value);

	if (!t)
		return;
	t->in_window = t->window == s->windows ? (uint8_t)(t->in_window + 1) : 1;
	t->window = s->windows;
	if (t->in_window > SLOTS_WINDOW) {
		t->in_window = SLOTS_WINDOW;
		return;
	}
	t->total++;
	if (t->value == value)
		t->hits++;
	else
		t->misses++;
	if (t->total >= SLOTS_ENOUGH) {
		judge(s, t, number);
		*t = (struct slot){ 0 };
	} else if (t->misses > 4 + 4 * t->hits) {
		t->value = value;
		t->hits = t->misses = 0;
	}
}

/* Returns 1 if the value was worth its window, 0 if not; -1 without memory. */
static int value(struct slots *s, uint64_t key, uint64_t v)
{
	uint32_t number = operand_get(s, key);

	if (!number)
		return -1;
	if (s->operand[number - 1].masked || !has_turn(s, key))
		return 0;
	s->taken_since++;
	take(s, number, key, v);
	return 1;
}

/* Places. */

static void judge_place(struct slots *s, const struct window *w, uint32_t values, uint32_t useful)
{
	uint32_t at = filter_place(w->start.image, w->start.addr);
	struct place *p = &s->place[at];
	uint64_t level = s->filter[at];

	p->windows++;
	p->values += values;
	p->useful += useful;
	if (p->windows < PLACE_WINDOWS)
		return;
	if (100ull * p->useful > (uint64_t)PLACE_MUCH * p->values)
		level = 0;
	else if (100ull * p->useful <= (uint64_t)PLACE_LITTLE * p->values &&
		 level < FILTER_LEVELS - 1)
		level++;
	s->filter[at] = level;
	*p = (struct place){ 0 };
}

int slots_window(struct slots *s, const struct window *w)
{
	uint32_t values = 0, useful = 0;

	s->windows++;
	if (s->windows % SLOTS_LOOK == 0) {
		look_again(s);
		turn(s);
	}
	for (uint32_t i = 0; i < w->n; i++)
		for (unsigned have = w->ri[i].have & JUDGED; have; have &= have - 1) {
			int operand = __builtin_ctz(have);
			int rc = value(s, key_of(w->ri[i].site, operand), w->ri[i].value[operand]);

			if (rc < 0)
				return -1;
			values++;
			useful += (uint32_t)rc;
		}
	if (w->n)
		judge_place(s, w, values, useful);
	return 0;
}
