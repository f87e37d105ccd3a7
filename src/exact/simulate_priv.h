/* SPDX-License-Identifier: MIT */
/* What the simulations of a core share: misses (simulate.c), and cycles in addition
 * (simulate_cycles.c). */
#ifndef ASSAY_EXACT_SIMULATE_PRIV_H
#define ASSAY_EXACT_SIMULATE_PRIV_H

#include "exact/order.h"
#include "model/core.h"
#include "model/timing.h"
#include "observe/misses.h"

#define SPACE 48 /* addresses have fewer bits; the process's number stands above */

struct simulation {
	struct order_consumer c; /* has to be the first member */
	struct profile *p;
	void (*fini)(struct simulation *s);
	/* for misses */
	struct machine machine;
	struct cache *last_level;
	bool warming;	 /* during a warm-up, counts go here instead of to sites */
	uint64_t warmup; /* instructions of that warm-up, of all threads */
	struct misses unread;
	struct order_code *listed; /* code that has counts which its sites lack */
	uint64_t unread_ticks[TIMING_PART_N];
	uint32_t processes;
	/* for reuse distances */
	unsigned line; /* log2 of the bytes of a line */
};

struct seen_process {
	uint64_t space; /* the process's number, which is added to its addresses */
	struct simulation *s;
};

struct seen_thread {
	struct core core;
	struct simulation *s;
	uint64_t space;
	uint64_t line; /* the last line of code that was fetched */
	unsigned shift;
};

/* Returns an address with the process's number above it; the program cannot forge that number. */
static inline uint64_t placed(uint64_t at, uint64_t space)
{
	return (at & ((1ull << SPACE) - 1)) + space;
}

_Static_assert(MISS_L2D == MISS_L1D + CORE_L2 && MISS_L3D == MISS_L1D + CORE_L3 &&
		       MISS_DTLB == MISS_L1D + CORE_TLB && MISS_DWALK == MISS_L1D + CORE_WALK &&
		       MISS_L2I == MISS_L1I + CORE_L2 && MISS_L3I == MISS_L1I + CORE_L3 &&
		       MISS_ITLB == MISS_L1I + CORE_TLB && MISS_IWALK == MISS_L1I + CORE_WALK,
	       "core_data and core_fetch count there");

/* Returns where to count: at the site, or, during a warm-up, elsewhere. */
static inline struct misses *counted(struct seen_thread *t, struct misses *site)
{
	return t->s->warming ? &t->s->unread : site;
}

/* Counts the consequences of an execution that was cut short, except the fetch of its first line. */
void simulate_count_part(const struct order_execution *x);

/*
 * Counts that follow from the number of executions are kept once for each piece of code, and added to sites when the
 * profile is read (simulate_settle): accesses, fetches of the lines that follow the first, branches. Executions that
 * were cut short are counted at sites at once.
 */
static inline void tally(struct simulation *s, struct order_code *c)
{
	if (c->listed)
		return;
	c->listed = true;
	c->listed_next = s->listed;
	s->listed = c;
}

/* Fetches a line of code unless it is the one fetched last. Returns CORE_FOUND(); adds 1 to *count for a fetch. */
static inline unsigned fetch(struct seen_thread *t, struct misses *m, uint64_t at, uint64_t *count)
{
	if (at >> t->shift == t->line)
		return 0;
	t->line = at >> t->shift;
	++*count;
	return core_fetch(&t->core, placed(at, t->space), &counted(t, m)->n[MISS_L1I]);
}

static inline unsigned access_data(struct seen_thread *t, struct misses *m, unsigned kind,
				   uint64_t at, uint64_t size)
{
	uint64_t ignored[CORE_MISS_N];

	if (kind == ORDER_PREFETCH)
		return core_data(&t->core, placed(at, t->space), size, ignored);
	return core_data(&t->core, placed(at, t->space), size, &counted(t, m)->n[MISS_L1D]);
}

/* Gives the branch to the predictor. Returns whether it was mispredicted. */
static inline bool predict(struct branch_predictor *b, unsigned kind, uint64_t pc, unsigned len,
			   bool taken, uint64_t to)
{
	bool wrong;

	if (kind == ORDER_BRANCH)
		return branch_conditional(b, pc, taken);
	if (kind == ORDER_RETURN)
		return branch_return(b, to);
	wrong = kind != ORDER_CALL && branch_indirect(b, pc, to);
	if (kind != ORDER_JUMP)
		branch_call(b, pc + len);
	return wrong;
}

/* Simulates the branch at `at` to `to`, which may be unknown: the end of a block, or a branch in
 * the block that does not jump. Returns whether it was mispredicted. */
static inline bool control(struct seen_thread *t, const struct order_op *o, bool taken, uint64_t to)
{
	bool wrong = predict(t->core.branch, o->kind, o->add, o->len, taken, to);

	if (wrong)
		counted(t, o->site)->n[MISS_MISPREDICTED]++;
	return wrong;
}

/* Predicts the branch at the end of a block, as control() does, and counts the block unless caches are only being
 * warmed up. */
static inline bool control_end(struct seen_thread *t, struct order_code *c, bool taken, uint64_t to)
{
	if (!t->s->warming) {
		c->ended++;
		tally(t->s, c);
	}
	return control(t, &c->last, taken, to);
}

/* Takes an op in the middle of a block that is neither an access nor a fetch. */
static inline bool in_block(struct seen_thread *t, const struct order_op *o)
{
	return control(t, o, false, o->add + o->len);
}

/* Begins an execution: counts its consequences. */
static inline void count_execution(struct simulation *s, const struct order_execution *x)
{
	if (s->warming)
		return;
	if (x->whole)
		x->code->runs++;
	else
		simulate_count_part(x);
	tally(s, x->code);
}

/* Returns where a fetch is counted: the first op of a block is a fetch, whose line may be the one fetched last. */
static inline uint64_t *fetches(struct simulation *s, const struct order_execution *x,
				const struct order_op *o)
{
	return o == x->code->op && !s->warming ? &x->code->entered : &s->unread.n[MISS_FETCHES];
}

/* Takes the number of elements that the next accesses have. */
static inline uint64_t elements(const struct order_op *o, uint64_t v, uint64_t times)
{
	return o->kind == ORDER_REPEATS ? v : times > v ? times - v : 0;
}

/* Adds to sites what is counted with code. */
void simulate_settle(void *arg);
/* Make a process, and a thread of it, which has a core of its own. */
void *simulate_process(void *arg, uint32_t pid);
int simulate_thread(struct simulation *s, struct seen_thread *t, const void *process);
void simulate_execution(void *arg, void *thread, const struct order_execution *x);
void simulate_process_end(void *arg, void *process);
void simulate_touched(void *arg, void *thread, uint64_t at);

/* Makes a simulation of a core, with the last level of cache. NULL: no memory. */
struct simulation *simulate_core(struct profile *p, const struct machine *m);

#endif
