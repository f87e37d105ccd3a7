/* SPDX-License-Identifier: MIT */
#include "exact/simulate.h"

#include <stdlib.h>

#include "exact/simulate_priv.h"
#include "model/reuse.h"
#include "observe/conflicts.h"
#include "observe/distances.h"

static struct simulation *of(void *arg)
{
	return arg;
}

/* Misses. */

static void *misses_site(void *arg, struct site *s)
{
	return misses_at(of(arg)->p, s);
}

void *simulate_process(void *arg, uint32_t pid)
{
	struct seen_process *p = calloc(1, sizeof(*p));

	(void)pid;
	if (p) {
		p->s = of(arg);
		p->space = (uint64_t)(uint16_t)p->s->processes++ << SPACE;
	}
	return p;
}

int simulate_thread(struct simulation *s, struct seen_thread *t, const void *process)
{
	const struct seen_process *p = process;

	if (core_init(&t->core, &s->machine, p->s->last_level))
		return -1;
	t->s = s;
	t->space = p->space;
	t->line = UINT64_MAX;
	t->shift = s->c.shift;
	return 0;
}

void simulate_process_end(void *arg, void *process)
{
	(void)arg;
	free(process);
}

static void *misses_thread(void *arg, void *process)
{
	struct seen_thread *t = calloc(1, sizeof(*t));

	if (!t || simulate_thread(of(arg), t, process)) {
		free(t);
		return NULL;
	}
	return t;
}

static void misses_thread_end(void *arg, void *thread)
{
	struct seen_thread *t = thread;

	(void)arg;
	core_fini(&t->core);
	free(t);
}

static void misses_end(void *arg, void *thread, struct order_code *code, bool taken, uint64_t to)
{
	(void)arg;
	control_end(thread, code, taken, to);
}

/* Adds the counts of n executions of an op that do not depend on what the caches hold. */
static void count_op(const struct order_op *o, uint64_t n)
{
	struct misses *m = o->site;

	if (o->kind == ORDER_FETCH)
		m->n[MISS_FETCHES] += n;
	else if (o->kind <= ORDER_MODIFY && !o->repeats)
		m->n[MISS_ACCESSES] += n;
	else if (o->kind >= ORDER_BRANCH && o->kind < ORDER_KIND_N && o->kind != ORDER_CALL)
		m->n[MISS_BRANCHES] += n;
}

void simulate_count_part(const struct order_execution *x)
{
	const struct order_op *o = x->code->op, *end = o + x->code->n;
	uint64_t at;

	for (; o < end && o->insn < x->done; o++)
		if (o != x->code->op && order_value(x, o, &at))
			count_op(o, 1);
}

void simulate_settle(void *arg)
{
	struct simulation *s = of(arg);

	for (struct order_code *c; (c = s->listed); s->listed = c->listed_next) {
		for (uint32_t i = 0; i < c->n; i++)
			count_op(&c->op[i], i ? c->runs : c->entered);
		if (c->ended)
			count_op(&c->last, c->ended);
		c->runs = c->entered = c->ended = 0;
		c->listed = false;
	}
}

static inline void take_op(struct seen_thread *t, const struct order_execution *x,
			   const struct order_op *o, uint64_t at, uint64_t *times)
{
	if (o->kind == ORDER_FETCH) {
		fetch(t, o->site, at, fetches(t->s, x, o));
	} else if (o->kind >= ORDER_KIND_N) {
		*times = elements(o, at, *times);
	} else if (o->kind >= ORDER_BRANCH) {
		in_block(t, o);
	} else if (*times) {
		if (o->kind != ORDER_PREFETCH)
			counted(t, o->site)->n[MISS_ACCESSES]++;
		access_data(t, o->site, o->kind, at, order_repeated(x, o, *times));
	}
}

void simulate_execution(void *arg, void *thread, const struct order_execution *x)
{
	struct seen_thread *t = thread;
	const struct order_op *o = x->code->op, *end = o + x->code->n;
	uint64_t times = 0, at;

	count_execution(of(arg), x);
	for (; o < end && o->insn < x->done; o++) {
		if (!order_value(x, o, &at))
			continue;
		if (o->kind >= ORDER_LOAD && o->kind <= ORDER_PREFETCH && !o->repeats)
			access_data(t, o->site, o->kind, at, o->size);
		else
			take_op(t, x, o, at, &times);
	}
}

static void warm_up(void *arg, bool on, uint64_t instructions)
{
	of(arg)->warming = on;
	of(arg)->warmup = instructions;
}

/* Begins a thread's simulation with the parts that all threads share. */
void simulate_touched(void *arg, void *thread, uint64_t at)
{
	struct seen_thread *t = thread;

	(void)arg;
	core_touched(&t->core, placed(at, t->space));
}

static void core_simulation_fini(struct simulation *s)
{
	cache_fini(s->last_level);
	free(s->last_level);
}

struct simulation *simulate_core(struct profile *p, const struct machine *m)
{
	struct simulation *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->last_level = calloc(1, sizeof(*s->last_level));
	if (!s->last_level || core_last_level(s->last_level, m)) {
		free(s->last_level);
		free(s);
		return NULL;
	}
	s->p = p;
	s->machine = *m;
	s->fini = core_simulation_fini;
	s->c = (struct order_consumer){
		.arg = s,
		.kinds = (1u << ORDER_KIND_N) - 1,
		.shift = (unsigned)__builtin_ctz(m->line),
		.process = simulate_process,
		.process_end = simulate_process_end,
		.warm_up = warm_up,
		.touched = simulate_touched,
		.settle = simulate_settle,
	};
	return s;
}

const struct order_consumer *simulate_misses(struct profile *p, const struct machine *m)
{
	struct simulation *s = simulate_core(p, m);

	if (!s)
		return NULL;
	s->c.site = misses_site;
	s->c.thread = misses_thread;
	s->c.execute = simulate_execution;
	s->c.end = misses_end;
	s->c.thread_end = misses_thread_end;
	return &s->c;
}

/* Reuse. */

struct reused {
	struct reuse *r;
	struct distances *d;
};

static void *reuse_site(void *arg, struct site *s)
{
	return distances_site(of(arg)->p, s->id);
}

static void reuse_process_end(void *arg, void *process)
{
	struct reused *r = process;

	(void)arg;
	reuse_free(r->r);
	free(r);
}

static void *reuse_process(void *arg, uint32_t pid)
{
	struct reused *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->r = reuse_new();
	r->d = r->r ? distances_new(of(arg)->p) : NULL;
	if (!r->d) {
		reuse_process_end(arg, r);
		return NULL;
	}
	r->d->run = (uint32_t)of(arg)->p->nrun - 1;
	r->d->pid = pid;
	r->d->line = 1u << of(arg)->line;
	return r;
}

/* All threads share the process's distances. */
static void *reuse_thread(void *arg, void *process)
{
	(void)arg;
	return process;
}

static void reuse_thread_end(void *arg, void *thread)
{
	(void)arg;
	(void)thread;
}

static int reuse_take(void *arg, void *thread, const struct order_event *e, size_t n)
{
	unsigned shift = of(arg)->line;
	struct reused *r = thread;

	for (size_t i = 0; i < n; i++, e++) {
		struct site_distances *s = e->site;
		uint64_t at = placed(e->at, 0), last = at + e->size - 1;

		for (uint64_t line = at >> shift; line <= last >> shift; line++) {
			uint64_t d = reuse_touch(r->r, line);

			if (d == REUSE_FAILED)
				return -1;
			if (d == REUSE_COLD) {
				r->d->cold++;
				s->cold++;
			} else {
				r->d->bucket[distance_bucket(d)]++;
				s->octave[distance_octave(d)]++;
			}
		}
	}
	return 0;
}

static void nothing_fini(struct simulation *s)
{
	(void)s;
}

const struct order_consumer *simulate_reuse(struct profile *p, uint32_t line)
{
	struct simulation *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->p = p;
	s->line = (unsigned)__builtin_ctz(line);
	s->fini = nothing_fini;
	s->c = (struct order_consumer){
		.arg = s,
		.kinds = ORDER_ACCESSES,
		.shift = s->line,
		.site = reuse_site,
		.process = reuse_process,
		.thread = reuse_thread,
		.take = reuse_take,
		.thread_end = reuse_thread_end,
		.process_end = reuse_process_end,
	};
	return &s->c;
}

/* Conflicts. */

struct meeting {
	struct conflicts_past past;
	uint32_t now; /* the instruction's number, as events have it */
	struct retired r;
};

static void *conflicts_site(void *arg, struct site *s)
{
	(void)arg;
	return s;
}

static void *conflicts_process(void *arg, uint32_t pid)
{
	(void)pid;
	return arg;
}

static void conflicts_process_end(void *arg, void *process)
{
	(void)arg;
	(void)process;
}

static void *conflicts_thread(void *arg, void *process)
{
	struct meeting *m = calloc(1, sizeof(*m));

	(void)process;
	if (m && conflicts_begin(&m->past, of(arg)->p->conflict_distance)) {
		free(m);
		return NULL;
	}
	return m;
}

static void conflicts_thread_end(void *arg, void *thread)
{
	struct meeting *m = thread;

	(void)arg;
	conflicts_end(&m->past);
	free(m);
}

static int conflicts_take(void *arg, void *thread, const struct order_event *e, size_t n)
{
	struct meeting *m = thread;

	for (size_t i = 0; i < n; i++, e++) {
		const struct site *s = e->site;

		if (!e->access)
			continue;
		conflicts_skip(&m->past, e->now - m->now);
		m->now = e->now + 1;
		m->r.site = s->id;
		m->r.cls = s->cls;
		m->r.access = e->access;
		m->r.have = 1u << OPERAND_ADDRESS;
		m->r.value[OPERAND_ADDRESS] = e->at;
		if (conflicts_step(of(arg)->p, &m->past, &m->r))
			return -1;
	}
	return 0;
}

const struct order_consumer *simulate_conflicts(struct profile *p)
{
	struct simulation *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->p = p;
	s->fini = nothing_fini;
	s->c = (struct order_consumer){
		.arg = s,
		.kinds = ORDER_ACCESSES,
		.plain = true,
		.site = conflicts_site,
		.process = conflicts_process,
		.thread = conflicts_thread,
		.take = conflicts_take,
		.thread_end = conflicts_thread_end,
		.process_end = conflicts_process_end,
	};
	return &s->c;
}

void simulate_free(const struct order_consumer *c)
{
	struct simulation *s = c ? c->arg : NULL;

	if (!s)
		return;
	s->fini(s);
	free(s);
}
