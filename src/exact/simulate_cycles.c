/* SPDX-License-Identifier: MIT */
/*
 * Cycles of a simulated core, in addition to the misses of its caches, TLBs and predictor. An
 * instruction is retired when all its events are known: fetches and accesses, and, for the last one
 * of an execution, its successor, which is known when the next execution begins.
 */
#include <stdlib.h>
#include <string.h>

#include "exact/simulate.h"
#include "exact/simulate_priv.h"
#include "model/timing.h"
#include "observe/cycles.h"

struct timed {
	struct timing_insn insn;
	struct cycles *cycles;
};

/* The last instructions of a warm-up, which have times, so that a sample begins with a window that is full. */
#define TIMED_WARMUP 4096

struct timed_thread {
	struct seen_thread seen;
	struct timing *timing;
	uint64_t warmed; /* instructions in the present warm-up */
	/* instructions of the present execution that have not retired */
	const struct timed *next, *end;
};

static struct simulation *of(void *arg)
{
	return arg;
}

static void *cycles_site(void *arg, struct site *s)
{
	return misses_at(of(arg)->p, s);
}

static void *cycles_block(void *arg, const struct order_bytes *b)
{
	const struct simulation *s = of(arg);
	struct timed *t = calloc(b->n + 1ul, sizeof(*t));
	const uint8_t *at = b->bytes;
	struct insn in[2];

	for (unsigned i = 0; t && i < b->n; i++) {
		unsigned len = b->site[i]->len;
		const struct insn *before = i ? &in[(i - 1) & 1] : NULL;

		t[i].cycles = cycles_at(s->p, b->site[i]);
		if (!t[i].cycles) {
			free(t);
			return NULL;
		}
		/* an unknown instruction takes a cycle */
		if (!insn_decode(&in[i & 1], at, len, b->pc))
			memset(&in[i & 1], 0, sizeof(in[0]));
		timing_prepare(&t[i].insn, &in[i & 1], before, &s->machine);
		at += len;
	}
	return t;
}

static void *cycles_thread(void *arg, void *process)
{
	struct timed_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->timing = timing_new(&of(arg)->machine);
	if (!t->timing || simulate_thread(of(arg), &t->seen, process)) {
		timing_free(t->timing);
		free(t);
		return NULL;
	}
	return t;
}

static inline void retire_up_to(struct timed_thread *t, const struct timed *end)
{
	struct simulation *s = t->seen.s;

	for (; t->next < end; t->next++)
		timing_retire(t->timing, &t->next->insn,
			      s->warming ? s->unread_ticks : t->next->cycles->n);
}

static void cycles_thread_end(void *arg, void *thread)
{
	struct timed_thread *t = thread;

	(void)arg;
	retire_up_to(t, t->end);
	core_fini(&t->seen.core);
	timing_free(t->timing);
	free(t);
}

static void cycles_end(void *arg, void *thread, struct order_code *code, bool taken, uint64_t to)
{
	struct timed_thread *t = thread;

	(void)arg;
	if (t->next == t->end) { /* an execution without times */
		control_end(&t->seen, code, taken, to);
		return;
	}
	retire_up_to(t, t->end - 1);
	timing_branch(t->timing, taken || code->last.kind != ORDER_BRANCH,
		      control_end(&t->seen, code, taken, to));
}

static void tell_access(struct timed_thread *t, const struct order_op *o, uint64_t at,
			uint64_t size)
{
	unsigned found = access_data(&t->seen, o->site, o->kind, at, size);
	unsigned level = CORE_LEVEL(found), tlb = CORE_TRANSLATION(found);

	if (o->kind == ORDER_STORE)
		timing_store(t->timing, at, size, level, tlb);
	else if (o->kind == ORDER_LOAD)
		timing_load(t->timing, at, size, level, tlb);
	else if (o->kind == ORDER_PREFETCH)
		timing_prefetch(t->timing, at, level);
	else { /* the instruction stores what it loaded */
		timing_load(t->timing, at, size, level, tlb);
		timing_store(t->timing, at, size, TIMING_IN_L1, TIMING_FIRST_TLB);
	}
}

static void tell(struct timed_thread *t, const struct order_execution *x, const struct order_op *o,
		 uint64_t at, uint64_t times)
{
	if (o->kind == ORDER_FETCH) {
		unsigned found = fetch(&t->seen, o->site, at, fetches(t->seen.s, x, o));

		if (found)
			timing_fetch(t->timing, CORE_LEVEL(found), CORE_TRANSLATION(found));
	} else if (o->kind >= ORDER_BRANCH) {
		timing_branch(t->timing, o->kind != ORDER_BRANCH, in_block(&t->seen, o));
	} else if (!o->repeats) {
		tell_access(t, o, at, o->size);
	} else if (times) {
		if (o->kind != ORDER_PREFETCH)
			counted(&t->seen, o->site)->n[MISS_ACCESSES]++;
		tell_access(t, o, at, order_repeated(x, o, times));
	}
}

/*
 * Whether the execution belongs to the part of a warm-up without times. Caches, TLBs and predictors take long to warm
 * up; the instructions in flight in a core do not.
 */
static bool is_untimed(struct timed_thread *t, const struct order_execution *x)
{
	const struct simulation *s = t->seen.s;
	uint64_t warmed = t->warmed;

	t->warmed = s->warming ? warmed + x->done : 0;
	return s->warming && s->warmup > TIMED_WARMUP && warmed < s->warmup - TIMED_WARMUP;
}

static void cycles_execute(void *arg, void *thread, const struct order_execution *x)
{
	struct timed_thread *t = thread;
	const struct order_op *o = x->code->op, *end = o + x->code->n;
	const struct timed *first = x->code->own;
	uint64_t times = 0, at;

	retire_up_to(t, t->end);
	if (is_untimed(t, x)) {
		t->next = t->end;
		simulate_execution(arg, thread, x);
		return;
	}
	count_execution(t->seen.s, x);
	t->next = first;
	t->end = first + x->done;
	for (; o < end && o->insn < x->done; o++) {
		if (!order_value(x, o, &at))
			continue;
		if (o->kind >= ORDER_KIND_N) {
			times = elements(o, at, times);
			continue;
		}
		retire_up_to(t, first + o->insn);
		tell(t, x, o, at, times);
	}
	/* only its successor is not known yet */
	if (x->code->end == ORDER_FETCH || x->cut)
		retire_up_to(t, t->end);
}

const struct order_consumer *simulate_cycles(struct profile *p, const struct machine *m)
{
	struct simulation *s = simulate_core(p, m);

	if (!s)
		return NULL;
	s->c.site = cycles_site;
	s->c.block = cycles_block;
	s->c.thread = cycles_thread;
	s->c.execute = cycles_execute;
	s->c.end = cycles_end;
	s->c.thread_end = cycles_thread_end;
	return &s->c;
}
