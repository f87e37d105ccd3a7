/* SPDX-License-Identifier: MIT */
#include "model/timing.h"

#include <stdlib.h>

#define TICKS TIMING_TICKS
#define QUEUE (16u * TICKS) /* how far the front end can be ahead of dispatch, in ticks */
#define FORWARDS 1024u	    /* stored words that the store buffer can forward; a power of two */
#define WORD 3		    /* shift from bytes to words of eight bytes */
#define WORDS_MAX 8u	    /* largest number of words remembered for a store */
#define PENDING 64u	    /* remembered lines in flight; a power of two */
#define WIDEST 64u	    /* largest access in bytes; only string instructions access more */
#define STRING_START (20u * TICKS)
#define STRING_BYTES 32u /* bytes that a string instruction moves in a cycle */

struct access {
	uint64_t at, size;
	uint8_t level, tlb;
	bool any;
};

/* A word of a store, for later loads of it. */
struct forward {
	uint64_t word, ready;
};

/* A line in flight to the first level, and its origin. */
struct pending {
	uint64_t line, ready;
	uint8_t from; /* enum timing_part */
};

/* A sequence of requested lines: the last one, and the distance to the next; 0: not known yet. */
struct stream {
	uint64_t last, step;
};

struct timing {
	/* The front end. */
	uint64_t dispatched; /* when dispatch can take the next instruction, by its width */
	uint64_t fetched;    /* when the front end has the next instruction */
	uint64_t jumped;     /* when it had the last taken branch: it handles one in a cycle */
	uint8_t cause;	     /* enum timing_part: the last reason for which the front end waited */
	/* The window and the store buffer: for each entry, when it becomes free. */
	uint64_t retired;
	uint64_t *window, *buffer;
	uint32_t window_at, window_size, buffer_at, buffer_size;
	uint64_t drained; /* when the last store left the store buffer */
	uint32_t step;	  /* ticks of one slot of dispatch */
	uint32_t load_busy, store_busy;
	uint64_t ready[TIMING_REGISTERS];
	uint64_t unit[TIMING_UNITS]; /* when each unit can take its next operation */
	/* the accesses of the next instruction */
	struct access load, store;
	bool taken, mispredicted;
	/* Memory. */
	uint64_t latency[TIMING_IN_MEMORY + 1], translation[TIMING_WALK + 1]; /* in ticks */
	uint64_t gap, refill;
	uint64_t bus;	    /* when memory can deliver the next line */
	uint64_t last_fill; /* when the last line in flight arrives */
	uint64_t *fill;	    /* when each entry for a line in flight becomes free */
	uint32_t fill_at, fills, streams, oldest;
	unsigned line; /* shift from addresses to lines */
	struct stream *stream;
	struct pending pending[PENDING];
	struct forward forward[FORWARDS];
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct timing *timing_new(const struct machine *m)
{
	struct timing *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->window = calloc(m->window, sizeof(*t->window));
	t->buffer = calloc(m->buffer, sizeof(*t->buffer));
	t->fill = calloc(m->fills, sizeof(*t->fill));
	t->stream = calloc(m->streams + 1ul, sizeof(*t->stream));
	if (!t->window || !t->buffer || !t->fill || !t->stream) {
		timing_free(t);
		return NULL;
	}
	t->cause = TIMING_BASE;
	t->window_size = m->window;
	t->buffer_size = m->buffer;
	t->step = TICKS / m->width;
	t->load_busy = TICKS / m->loads;
	t->store_busy = TICKS / m->stores;
	t->latency[TIMING_IN_L1] = (uint64_t)m->l1lat * TICKS;
	t->latency[TIMING_IN_L2] = (uint64_t)m->l2lat * TICKS;
	t->latency[TIMING_IN_L3] = (uint64_t)m->l3lat * TICKS;
	t->latency[TIMING_IN_MEMORY] = (uint64_t)m->memlat * TICKS;
	t->translation[TIMING_SECOND_TLB] = (uint64_t)m->tlblat * TICKS;
	t->translation[TIMING_WALK] = (uint64_t)(m->tlblat + m->walklat) * TICKS;
	t->gap = (uint64_t)m->memgap * TICKS;
	t->refill = (uint64_t)m->refill * TICKS;
	t->fills = m->fills;
	t->streams = m->streams;
	t->line = (unsigned)__builtin_ctz(m->line);
	return t;
}

void timing_free(struct timing *t)
{
	if (!t)
		return;
	free(t->window);
	free(t->buffer);
	free(t->fill);
	free(t->stream);
	free(t);
}

uint64_t timing_now(const struct timing *t)
{
	return t->retired;
}

/* Fetches, accesses and branches of the instruction that retires next. */

void timing_fetch(struct timing *t, enum timing_level level, enum timing_tlb tlb)
{
	uint64_t code = level == TIMING_IN_L1 ? 0 : t->latency[level], page = t->translation[tlb];

	if (!code && !page)
		return;
	t->fetched += code + page;
	t->cause = code >= page ? TIMING_ICACHE : TIMING_ITLB;
}

static void access_add(struct access *a, uint64_t at, uint64_t size, unsigned level, unsigned tlb)
{
	if (!a->any)
		*a = (struct access){ .at = at, .any = true };
	a->size += size;
	a->level = level > a->level ? (uint8_t)level : a->level;
	a->tlb = tlb > a->tlb ? (uint8_t)tlb : a->tlb;
}

void timing_load(struct timing *t, uint64_t at, uint64_t size, enum timing_level level,
		 enum timing_tlb tlb)
{
	access_add(&t->load, at, size, level, tlb);
}

void timing_store(struct timing *t, uint64_t at, uint64_t size, enum timing_level level,
		  enum timing_tlb tlb)
{
	access_add(&t->store, at, size, level, tlb);
}

void timing_branch(struct timing *t, bool taken, bool mispredicted)
{
	t->taken = taken;
	t->mispredicted = mispredicted;
}

/* Memory. */

/* Whether a stream leads to the line, so that the prefetcher has requested it. Prefetching
 * begins with the third line of a sequence. */
static bool prefetched(struct timing *t, uint64_t line)
{
	struct stream *s;

	for (s = t->stream; s < t->stream + t->streams; s++) {
		uint64_t step = line - s->last;

		if (step != 1 && step + 1)
			continue;
		s->last = line;
		if (s->step == step)
			return true;
		s->step = step;
		return false;
	}
	t->stream[t->oldest] = (struct stream){ .last = line };
	t->oldest = t->oldest + 1 < t->streams ? t->oldest + 1 : 0;
	return false;
}

/* Reserves a transfer of a line requested at `at`; returns its start. */
static uint64_t transfer(struct timing *t, uint64_t at)
{
	uint64_t start = later(t->bus, at);

	t->bus = start + t->gap;
	return start;
}

/* Returns when a line requested at `at` arrives. A prefetched line was requested so early that
 * only memory's throughput delays it. */
static uint64_t fill(struct timing *t, uint64_t line, uint64_t at, unsigned level)
{
	uint64_t place = later(at, t->fill[t->fill_at]), done = place + t->latency[level];
	bool ahead = level > TIMING_IN_L2 && prefetched(t, line);

	if (ahead)
		done = place + t->latency[TIMING_IN_L2];
	if (level == TIMING_IN_MEMORY) {
		uint64_t asked = ahead && place > t->latency[level] ? place - t->latency[level]
				 : ahead			    ? 0
								    : place;

		done = later(done, transfer(t, asked) + t->latency[level]);
	}
	t->fill[t->fill_at] = done;
	t->fill_at = t->fill_at + 1 == t->fills ? 0 : t->fill_at + 1;
	t->last_fill = later(t->last_fill, done);
	t->pending[line % PENDING] =
		(struct pending){ line, done, (uint8_t)(TIMING_L2 + level - TIMING_IN_L2) };
	return done;
}

/* Ticks of a string instruction's accesses, which overlap, so that throughput decides. */
static uint64_t string_ticks(const struct timing *t, const struct access *a)
{
	uint64_t lines = a->size >> t->line;

	return a->size <= WIDEST ? 0
				 : STRING_START + a->size * TICKS / STRING_BYTES +
					   (a->level == TIMING_IN_MEMORY ? lines * t->gap : 0);
}

/* The wait for a load: when its result is ready, and how much of the wait a hit would not have
 * had. */
struct wait {
	uint64_t ready, data, page;
	uint8_t from; /* enum timing_part */
};

/* Handles a load that hits a line in flight. */
static void wait_for_line(const struct timing *t, struct wait *w)
{
	const struct pending *p = &t->pending[(t->load.at >> t->line) % PENDING];

	if (p->line != t->load.at >> t->line || p->ready <= w->ready)
		return;
	w->data = p->ready - w->ready;
	w->from = p->from;
	w->ready = p->ready;
}

/* Handles a load that is no simple hit. */
static void wait_for_load(struct timing *t, uint64_t at, struct wait *w)
{
	const struct access *a = &t->load;
	uint64_t hit = w->ready;

	w->page = t->translation[a->tlb];
	w->ready += w->page;
	if (a->level > TIMING_IN_L1) {
		w->ready = later(w->ready, fill(t, a->at >> t->line, at + w->page, a->level));
		w->data = w->ready - hit - w->page;
		w->from = (uint8_t)(TIMING_L2 + a->level - TIMING_IN_L2);
	} else {
		wait_for_line(t, w);
	}
	w->ready += string_ticks(t, a);
}

/* Returns when a load that starts at `at` has its data. */
static inline struct wait load(struct timing *t, uint64_t at)
{
	const struct access *a = &t->load;
	const struct forward *f = &t->forward[(a->at >> WORD) % FORWARDS];
	struct wait w = { .ready = at + t->latency[TIMING_IN_L1], .from = TIMING_EXECUTE };

	if (a->level | a->tlb || t->last_fill > w.ready || a->size > WIDEST)
		wait_for_load(t, at, &w);
	if (f->word == a->at >> WORD)
		w.ready = later(w.ready, f->ready + t->latency[TIMING_IN_L1]);
	t->load.any = false;
	return w;
}

void timing_prefetch(struct timing *t, uint64_t at, enum timing_level level)
{
	if (level > TIMING_IN_L1)
		fill(t, at >> t->line, t->dispatched, level);
}

/* Handles a store whose data and address are ready at `done`, when it also retires; stores leave
 * the buffer in order. */
static inline void store(struct timing *t, uint64_t done, uint64_t retired)
{
	const struct access *a = &t->store;
	uint64_t leaves = later(retired, t->drained) + t->store_busy;
	uint64_t word = a->at >> WORD, last = (a->at + a->size - 1) >> WORD;

	if (a->level | a->tlb) {
		uint64_t at = done + t->translation[a->tlb];

		if (a->level)
			at = fill(t, a->at >> t->line, at, a->level);
		leaves = later(leaves, at);
	}
	if (last - word >= WORDS_MAX)
		last = word + WORDS_MAX - 1;
	for (; word <= last; word++)
		t->forward[word % FORWARDS] = (struct forward){ word, done };
	t->drained = leaves;
	t->buffer[t->buffer_at] = leaves;
	t->buffer_at = t->buffer_at + 1 == t->buffer_size ? 0 : t->buffer_at + 1;
	t->store.any = false;
}

/* The front end. */

/* Returns when the window has room for all micro-ops of the instruction. */
static inline uint64_t room(const struct timing *t, unsigned slots)
{
	uint32_t at = t->window_at + slots - 1;

	return t->window[at < t->window_size ? at : at - t->window_size];
}

static inline void take_room(struct timing *t, unsigned slots, uint64_t retired)
{
	while (slots--) {
		t->window[t->window_at] = retired;
		t->window_at = t->window_at + 1 == t->window_size ? 0 : t->window_at + 1;
	}
}

/* Moves up to n ticks of *left to a part. */
static void spend(uint64_t *left, uint64_t n, uint64_t *part)
{
	uint64_t some = n < *left ? n : *left;

	*part += some;
	*left -= some;
}

/* Divides a delay of retirement by `left` ticks among its causes. The front end comes first,
 * because the window was empty until dispatch. */
static void explain(const struct timing *t, uint64_t left, uint64_t front, uint64_t unit, bool full,
		    const struct wait *w, uint64_t *part)
{
	spend(&left, front, &part[full ? TIMING_STORES : t->cause]);
	spend(&left, w->page, &part[TIMING_DTLB]);
	spend(&left, w->data, &part[w->from]);
	spend(&left, unit, &part[TIMING_UNIT]);
	part[TIMING_EXECUTE] += left;
}

/* After a mispredicted branch, the correct instructions are fetched once its outcome is known. */
static void redirect(struct timing *t, uint64_t done)
{
	if (t->mispredicted) {
		t->fetched = later(t->fetched, done + t->refill);
		t->cause = TIMING_MISPREDICT;
	}
	if (t->taken)
		t->jumped = t->fetched = later(t->fetched, t->jumped + TICKS);
	t->taken = t->mispredicted = false;
}

uint64_t timing_retire(struct timing *t, const struct timing_insn *i, uint64_t *part)
{
	uint64_t slots = (uint64_t)i->slots * t->step, due = t->retired + slots;
	uint64_t d, start, at, done, unit = 0;
	struct wait w = { .from = TIMING_EXECUTE };
	bool full = false;

	d = later(t->dispatched, t->fetched);
	if (i->slots)
		d = later(d, room(t, i->slots));
	if (i->serial)
		d = later(d, t->retired);
	if (t->store.any && t->buffer[t->buffer_at] > d) {
		d = t->buffer[t->buffer_at];
		full = true;
	}
	t->dispatched = d + slots;
	t->fetched = later(t->fetched + slots, d > QUEUE ? d - QUEUE : 0);

	start = d;
	at = later(t->ready[i->address[0]], t->ready[i->address[1]]);
	if (t->load.any) {
		uint64_t port = later(t->unit[TIMING_LOADS], d);

		t->unit[TIMING_LOADS] = port + t->load_busy;
		at = later(at, d);
		unit = port > at ? port - at : 0;
		w = load(t, later(at, port));
		start = w.ready;
	}
	start = later(start, later(later(t->ready[i->source[0]], t->ready[i->source[1]]),
				   later(t->ready[i->source[2]], t->ready[i->source[3]])));
	if (i->unit) {
		uint64_t free = later(t->unit[i->unit], d);

		t->unit[i->unit] = free + i->busy;
		if (free > start) {
			unit += free - start;
			start = free;
		}
	}
	done = start + (uint64_t)i->latency * TICKS;
	t->ready[i->result[0]] = done;
	t->ready[i->result[1]] = done;
	t->ready[i->result[2]] = done;
	if (t->store.any) {
		done = later(done, later(at, d)) + TICKS + string_ticks(t, &t->store);
	}
	part[TIMING_BASE] += slots;
	t->retired = later(due, done);
	if (done > due)
		explain(t, done - due, d > due ? d - due : 0, unit, full, &w, part);
	if (t->store.any)
		store(t, done, t->retired);
	take_room(t, i->slots, t->retired);
	if (t->taken | t->mispredicted)
		redirect(t, done);
	if (i->serial)
		t->fetched = later(t->fetched, done);
	return t->retired;
}
