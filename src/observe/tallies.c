/* SPDX-License-Identifier: MIT */
#include "observe/tallies.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/keyed.h"
#include "x86/insn.h"

#define OFTEN 1000	 /* factor by which the most frequent step must exceed all others */
#define LIKELY 2	 /* agreements after which an instruction's words are followed */
#define SHORTEST_BITS 17 /* log2 of ns: end of the first octave of lengths */
#define USUAL 2.0     /* factor between the rates of two tallies that count in one word in turn */
#define MOST_A_NS 4.0 /* most executions a ns; a faster advance is taken for a reset */
#define GRANULE_BITS 3
#define WORDS_BITS 11 /* log2 of the sets of WAYS remembered words */
#define WAYS 2
#define VALUES_BITS 6 /* log2 of the values remembered within straight code */

struct tally_word {
	struct tally *by; /* the tally that advanced it; NULL: unknown */
	uint64_t addr, value;
	uint64_t last;	 /* the register's value when the word was last advanced */
	uint64_t time;	 /* time when it had that value */
	uint64_t window; /* window that saw it last */
	uint64_t stored; /* window that saw it advance last */
	uint32_t pid;
	uint8_t size;
	bool lost; /* another instruction has stored to the word since, which may hold something else now */
};

/* A value loaded from an address and unchanged since. */
struct tally_value {
	uint64_t addr, value, straight;
	uint8_t size;
};

/* The last advance of a register, and its window. */
struct tally_register {
	struct tally *by;
	uint64_t value, window;
};

struct tally_words {
	struct tally_register reg[16];
	struct tally_word word[1u << WORDS_BITS][WAYS];
	struct tally_value value[1u << VALUES_BITS];
	uint64_t windows;
	uint64_t straight; /* number of the current stretch of straight code */
};

const struct tally_gaps tally_no_gaps[TALLY_OCTAVES];

struct tally_gaps *tally_own_gaps(struct tally *t)
{
	if (t->gaps == tally_no_gaps) {
		struct tally_gaps *own = calloc(TALLY_OCTAVES, sizeof(*own));

		if (!own)
			return NULL;
		t->gaps = own;
	}
	return (struct tally_gaps *)t->gaps;
}

static void free_one(struct tally *t)
{
	if (t->gaps != tally_no_gaps)
		free((struct tally_gaps *)t->gaps);
	free(t);
}

struct tally *tallies_get(struct profile *p, struct site_id id)
{
	struct tally *t;

	id.zero = 0;
	t = keyed_get(p->tallies, key, &id);
	if (t && !t->gaps)
		t->gaps = tally_no_gaps;
	return t;
}

bool tally_is_sure(const struct tally *t, uint64_t often)
{
	return t->step && t->agreed >= often && t->differed * OFTEN <= t->agreed;
}

uint64_t tally_octave(unsigned i)
{
	return i ? 1ull << (SHORTEST_BITS + i - 1) : 0;
}

/* Adds an observed step; the tally's step is the most frequent one. */
static void see_step(struct tally *t, int64_t step, uint64_t agreed, uint64_t differed)
{
	if (!t->agreed && !t->differed)
		t->step = step;
	if (t->step == step) {
		t->agreed += agreed;
		t->differed += differed;
	} else if (agreed > t->agreed) {
		differed += t->agreed + t->differed;
		t->step = step;
		t->agreed = agreed;
		t->differed = differed;
	} else {
		t->differed += agreed + differed;
	}
}

void tally_add_peer(struct tally *t, struct site_id peer, uint64_t n)
{
	peer.zero = 0;
	for (int i = 0; i < TALLY_PEERS; i++) {
		struct tally_peer *k = &t->peer[i];

		if (k->n && (k->site.addr != peer.addr || k->site.image != peer.image))
			continue;
		k->site = peer;
		k->n += n;
		return;
	}
	t->strangers += n;
}

void tally_gaps_add(struct tally_gaps *to, const struct tally_gaps *from)
{
	for (unsigned i = 0; i < TALLY_OCTAVES; i++) {
		to[i].n += from[i].n;
		to[i].back += from[i].back;
		to[i].time += from[i].time;
		to[i].back_time += from[i].back_time;
		to[i].advance += from[i].advance;
	}
}

int tally_add(struct tally *t, const struct tally *more)
{
	struct tally_gaps *own = more->gaps == tally_no_gaps ? NULL : tally_own_gaps(t);

	if (!own && more->gaps != tally_no_gaps)
		return -1;
	see_step(t, more->step, more->agreed, more->differed);
	t->seen += more->seen;
	t->strangers += more->strangers;
	if (own)
		tally_gaps_add(own, more->gaps);
	return 0;
}

static uint64_t hash(uint64_t addr, unsigned bits)
{
	return hash_bits(addr >> GRANULE_BITS, bits);
}

static bool overlap(uint64_t a, unsigned na, uint64_t b, unsigned nb)
{
	return a - b < nb || b - a < na;
}

/* The lowest bytes as a signed number. */
static int64_t number(uint64_t v, unsigned size)
{
	unsigned above = size < 8 ? 64 - 8 * size : 0;

	return (int64_t)(v << above) >> above;
}

/* Values that were loaded in the present stretch of straight code. */

static struct tally_value *value_at(struct tally_words *k, uint64_t addr)
{
	return &k->value[hash(addr, VALUES_BITS)];
}

static void loaded(struct tally_words *k, const struct retired *r)
{
	uint64_t addr = r->value[OPERAND_ADDRESS];

	*value_at(k, addr) =
		(struct tally_value){ addr, r->value[OPERAND_LOAD], k->straight, r->access };
}

/* Returns the value that a store replaced, if straight code before the store loaded that. */
static bool value_before(struct tally_words *k, const struct retired *r, uint64_t *value)
{
	const struct tally_value *v = value_at(k, r->value[OPERAND_ADDRESS]);

	*value = r->value[OPERAND_LOAD];
	if (r->have >> OPERAND_LOAD & 1)
		return true;
	*value = v->value;
	return v->straight == k->straight && v->addr == r->value[OPERAND_ADDRESS] &&
	       v->size == r->access;
}

/* Words that are followed. */

static struct tally_word *find_word(struct tally_words *k, uint32_t pid, uint64_t addr,
				    unsigned size)
{
	struct tally_word *set = k->word[hash(addr, WORDS_BITS)];

	for (int i = 0; i < WAYS; i++)
		if (set[i].by && set[i].pid == pid && overlap(addr, size, set[i].addr, set[i].size))
			return &set[i];
	return NULL;
}

/* Takes over the least recently seen entry. */
static struct tally_word *take_word(struct tally_words *k, uint64_t addr)
{
	struct tally_word *set = k->word[hash(addr, WORDS_BITS)], *old = set;

	for (int i = 1; i < WAYS && old->by; i++)
		if (!set[i].by || set[i].window < old->window)
			old = &set[i];
	return old;
}

/* Returns how far the word advanced; 0: the word was reset. */
static double advance(const struct tally_word *m, uint64_t value, uint64_t time)
{
	int64_t step = m->by->step, d = number(value - m->value, m->size);
	double by = step < 0 ? -(double)d : (double)d;

	return by / fabs((double)step) <= MOST_A_NS * (double)time ? fmax(by, 0) : 0;
}

/* Whether a word that another tally stored to after `time` ns went on in between about as fast as when its own tally did: a
 * place of the stack is another variable in the next procedure, whose value tells nothing of this one. */
static bool goes_on(const struct tally *t, double advance, uint64_t time)
{
	double own = 0, passed = 0, usual;

	for (unsigned i = 0; i < TALLY_OCTAVES; i++) {
		own += t->gaps[i].advance;
		passed += (double)t->gaps[i].time;
	}
	usual = passed > 0 ? own / passed * (double)time : advance;
	return advance < USUAL * usual && usual < USUAL * advance;
}

/* Handles a window's first sight of a word, whose value was loaded, or just stored by a tally: ends a gap and begins
 * another. stored: that tally; NULL: the value was loaded. -1 without memory. */
static int see_word(struct tally_words *k, const struct window *w, struct tally_word *m,
		    uint64_t value, const struct tally *stored)
{
	uint64_t time = w->time - m->time;
	unsigned octave = 0;
	struct tally_gaps *g;
	double by;

	if (m->window == k->windows)
		return 0;
	m->by->seen++;
	m->window = k->windows;
	if (w->time > m->time) {
		while (octave < TALLY_OCTAVES - 1 && time >= tally_octave(octave + 1))
			octave++;
		g = tally_own_gaps(m->by);
		if (!g)
			return -1;
		g += octave;
		by = advance(m, value, time);
		if (stored && stored != m->by && !goes_on(m->by, by, time))
			by = 0;
		if (by > 0 || (!stored && value == m->value)) {
			g->n++;
			g->time += time;
			g->advance += by;
		} else {
			g->back++;
			g->back_time += time;
		}
		m->value = value;
		m->time = w->time;
	}
	return 0;
}

/* Begins to follow a word, which the tally has just set. */
static void follow(struct tally_words *k, const struct window *w, struct tally *t,
		   const struct retired *r, struct tally_word *m)
{
	t->seen++;
	*m = (struct tally_word){ .by = t,
				  .addr = r->value[OPERAND_ADDRESS],
				  .value = r->value[OPERAND_STORE],
				  .time = w->time,
				  .window = k->windows,
				  .stored = k->windows,
				  .pid = w->pid,
				  .size = r->access };
}

/* Handles a store of the tally. -1 without memory. */
static int advanced(struct tally_words *k, const struct window *w, struct tally *t,
		    const struct retired *r)
{
	uint64_t addr = r->value[OPERAND_ADDRESS], value = r->value[OPERAND_STORE];
	struct tally_word *m = find_word(k, w->pid, addr, r->access);

	if (m && !m->lost && m->addr == addr && m->size == r->access) {
		if (see_word(k, w, m, value, t))
			return -1;
		m->stored = k->windows;
		if (m->by != t) {
			tally_add_peer(m->by, t->key, 1);
			tally_add_peer(t, m->by->key, 1);
			m->by = t;
		}
		return 0;
	}
	follow(k, w, t, r, m ? m : take_word(k, addr));
	return 0;
}

/*
 * Handles a store of another instruction. Until the tally advances the word again, the word may be
 * another variable, because successive procedures use the same places of the stack.
 */
static void set(struct tally_words *k, const struct window *w, const struct retired *r)
{
	uint64_t addr = r->value[OPERAND_ADDRESS];

	for (uint64_t at = addr; at < addr + r->access; at += 1u << GRANULE_BITS) {
		struct tally_word *m = find_word(k, w->pid, at, r->access - (unsigned)(at - addr));

		value_at(k, at)->size = 0;
		if (!m)
			continue;
		m->by->strangers += !m->lost;
		m->lost = true;
	}
}

static int store(struct profile *p, const struct window *w, const struct retired *r)
{
	struct tally_words *k = p->tally_words;
	struct tally *t = NULL;
	uint64_t before;

	if (r->access <= 8 && r->have >> OPERAND_STORE & 1) {
		if (value_before(k, r, &before)) {
			t = tallies_get(p, r->site);
			if (!t)
				return -1;
			see_step(t, number(r->value[OPERAND_STORE] - before, r->access), 1, 0);
		} else {
			HASH_FIND(hh, p->tallies, &r->site, sizeof(r->site), t);
		}
	}
	if (t && tally_is_sure(t, LIKELY)) {
		if (advanced(k, w, t, r))
			return -1;
		value_at(k, r->value[OPERAND_ADDRESS])->size = 0;
	} else {
		set(k, w, r);
	}
	return 0;
}

/*
 * Whether a load is of the tally's variable: one that windows saw beside its additions. A place of the stack is another
 * variable of other code.
 */
static bool is_reader(struct tally_words *k, const struct retired *r, const struct tally_word *m)
{
	uint64_t bit = 1ull << hash_bits(r->site.addr ^ (uint64_t)r->site.image << 48, 6);

	if (m->stored == k->windows)
		m->by->readers |= bit;
	return m->by->readers & bit;
}

static int load(struct tally_words *k, const struct window *w, const struct retired *r)
{
	struct tally_word *m = find_word(k, w->pid, r->value[OPERAND_ADDRESS], r->access);

	if (m && !m->lost && m->addr == r->value[OPERAND_ADDRESS] && m->size == r->access &&
	    is_reader(k, r, m) && see_word(k, w, m, r->value[OPERAND_LOAD], NULL))
		return -1;
	loaded(k, r);
	return 0;
}

/* Counters in registers. */

/* The pseudo-address of a register's word, one for all instructions that count with it; it is no
 * address of memory. */
static uint64_t register_addr(struct site_id id)
{
	return 1ull << 63 | ((uint64_t)id.image << 47 ^ id.addr << GRANULE_BITS);
}

static struct tally *leader(struct tally *t)
{
	while (t->leader)
		t = t->leader;
	return t;
}

static struct tally_word *register_word(struct tally_words *k, const struct window *w,
					struct tally *t)
{
	struct tally_word *m = find_word(k, w->tid, register_addr(leader(t)->key), 8);

	return m && leader(m->by) == leader(t) ? m : NULL;
}

/* Joins two tallies that count with one register, where one continues from the value that the
 * other left. */
static void join(struct tally *t, struct tally *other)
{
	struct tally *a = leader(t), *b = leader(other);

	tally_add_peer(t, other->key, 1);
	tally_add_peer(other, t->key, 1);
	t->joined++;
	if (a != b && t->joined >= LIKELY)
		a->leader = b;
}

/* Handles a tally that continues from the last advance of its register in this window, if that
 * is known. */
static void see_chain(struct tally_words *k, const struct retired *r, struct tally *t,
		      const struct tally_word *m)
{
	struct tally_register *c = &k->reg[r->reg];
	uint64_t value = r->value[OPERAND_RESULT];

	if (c->window == k->windows && number(value - c->value, r->counts) == r->step) {
		see_step(t, r->step, 1, 0);
		if (c->by != t)
			join(t, c->by);
	} else if (m && m->window == k->windows) {
		bool same = number(value - m->last, r->counts) == r->step;

		see_step(t, r->step, same, !same);
	}
	*c = (struct tally_register){ t, value, k->windows };
}

/*
 * Handles an instruction that adds a constant to a register. It counts its executions if the
 * register is unchanged when it is next advanced within a window.
 */
static int step_register(struct profile *p, const struct window *w, const struct retired *r)
{
	struct tally_words *k = p->tally_words;
	uint64_t value = r->value[OPERAND_RESULT];
	struct tally *t = tallies_get(p, r->site);
	struct tally_word *m;

	if (!t)
		return -1;
	t->step = r->step;
	see_chain(k, r, t, register_word(k, w, t));
	m = register_word(k, w, t);
	if (m) {
		if (see_word(k, w, m, value, m->by))
			return -1;
	} else {
		uint64_t addr = register_addr(leader(t)->key);

		t->seen++;
		m = take_word(k, addr);
		*m = (struct tally_word){ .addr = addr,
					  .value = value,
					  .time = w->time,
					  .window = k->windows,
					  .pid = w->tid,
					  .size = r->counts };
	}
	m->by = t;
	m->last = value;
	return 0;
}

int tallies_window(struct profile *p, const struct window *w)
{
	struct tally_words *k = p->tally_words;
	uint64_t next = 0;

	if (!k)
		k = p->tally_words = calloc(1, sizeof(*k));
	if (!k)
		return -1;
	k->windows++;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct retired *r = &w->ri[i];

		if (r->site.addr != next || !i)
			k->straight++;
		next = r->site.addr + r->len;
		if (r->counts && step_register(p, w, r))
			return -1;
		if (!r->access || !(r->have >> OPERAND_ADDRESS & 1))
			continue;
		if (r->cls == INSN_STORE || r->cls == INSN_RMW) {
			if (store(p, w, r))
				return -1;
		} else if (r->access <= 8 && r->have >> OPERAND_LOAD & 1) {
			if (load(k, w, r))
				return -1;
		}
	}
	return 0;
}

int tallies_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	struct tally *s, *tmp;

	HASH_ITER (hh, src->tallies, s, tmp) {
		struct site_id id = { .image = map[s->key.image], .addr = s->key.addr };
		struct tally *d = tallies_get(dst, id);

		if (!d)
			return -1;
		if (tally_add(d, s))
			return -1;
		for (int i = 0; i < TALLY_PEERS && s->peer[i].n; i++) {
			struct site_id peer = { .image = map[s->peer[i].site.image],
						.addr = s->peer[i].site.addr };

			tally_add_peer(d, peer, s->peer[i].n);
		}
	}
	return 0;
}

void tallies_free(struct profile *p)
{
	struct tally *t = p->tallies, *next;

	HASH_CLEAR(hh, p->tallies);
	for (; t; t = next) {
		next = t->hh.next;
		free_one(t);
	}
	free(p->tally_words);
}
