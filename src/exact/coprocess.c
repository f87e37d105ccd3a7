/* SPDX-License-Identifier: MIT */
#include "exact/coprocess.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "x86/insn.h"
#include "model/core.h"
#include "model/timing.h"

#define IMAGE_SHIFT 28
#define WIDTH 4 /* instructions per cycle, without a core model */
#define SPACE 48

/* A site, as the co-processor knows it. */
struct place {
	uint32_t pc, hash;
	struct site *s;
	size_t load;	    /* number of the load in the true counts */
	bool known;	    /* `load` is set */
	UT_hash_handle hh;  /* hash table by pc */
	struct place *next; /* list of all places */
};

struct coprocess {
	struct order_consumer c;
	struct lab *l;
	struct profile *p;
	const struct machine *m; /* the machine of the core model, or NULL */
	struct cache l3;
	struct place *by_pc, *places;
	unsigned sources;
	uint64_t instructions, ticks; /* the sum over threads that have ended */
	uint32_t processes;
	bool failed;
	struct err why;
};

/* A thread, on a core of its own. */
struct lane {
	struct core core;
	struct timing *timing;
	uint64_t space, line, parts[TIMING_PART_N], before;
	/* the branch at the end of a block: it retires when its direction is known */
	const struct order_op *last;
	const struct timing_insn *last_insn;
	uint64_t last_at;
	bool last_taken, last_wrong, waiting;
};

struct lane_process {
	uint64_t space;
};

static struct coprocess *of(void *arg)
{
	return arg;
}

static uint64_t placed(const struct lane *t, uint64_t at)
{
	return (at & ((1ull << SPACE) - 1)) + t->space;
}

static void give_up(struct coprocess *c)
{
	c->failed = true;
}

/* Places. */

static uint32_t free_pc(const struct coprocess *c, struct site_id id)
{
	uint32_t pc = (uint32_t)(((uint64_t)id.image << IMAGE_SHIFT) + id.addr);
	struct place *other;

	for (;; pc += 0x01000193) {
		HASH_FIND(hh, c->by_pc, &pc, sizeof(pc), other);
		if (!other)
			return pc;
	}
}

static bool is_load(const struct order_op *o)
{
	return o->kind == ORDER_LOAD || o->kind == ORDER_MODIFY;
}

static struct place *find_place(const struct coprocess *c, const struct site *s)
{
	uint32_t pc = (uint32_t)(((uint64_t)s->id.image << IMAGE_SHIFT) + s->id.addr);
	struct place *p;

	for (;; pc += 0x01000193) {
		HASH_FIND(hh, c->by_pc, &pc, sizeof(pc), p);
		if (!p || p->s == s)
			return p;
	}
}

static void *site_of(void *arg, struct site *s)
{
	struct coprocess *c = arg;
	struct place *p = find_place(c, s);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->s = s;
	p->pc = free_pc(c, s->id);
	p->hash = copro_hash(p->pc);
	HASH_ADD(hh, c->by_pc, pc, sizeof(p->pc), p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	p->next = c->places;
	c->places = p;
	return p;
}

static uint64_t target_of(const struct coprocess *c, const struct order_op *o, bool taken,
			  const struct place *to)
{
	const struct place *from = o->site;
	struct place *found;
	uint32_t pc;

	if (!taken)
		return from->pc + o->len;
	if (to)
		return to->pc;
	pc = (uint32_t)(((uint64_t)from->s->id.image << IMAGE_SHIFT) + from->s->target);
	HASH_FIND(hh, c->by_pc, &pc, sizeof(pc), found);
	return found ? found->pc : pc;
}

/* Samples. */

static const int8_t class_of[ORDER_KIND_N] = {
	[ORDER_FETCH] = -1,	     [ORDER_LOAD] = CLASS_LOAD,
	[ORDER_STORE] = CLASS_STORE, [ORDER_MODIFY] = CLASS_MODIFY,
	[ORDER_PREFETCH] = -1,	     [ORDER_BRANCH] = CLASS_BRANCH,
	[ORDER_JUMP] = CLASS_JUMP,   [ORDER_CALL] = CLASS_CALL,
	[ORDER_ICALL] = CLASS_ICALL, [ORDER_RETURN] = CLASS_RETURN,
};

static bool is_wanted(const struct coprocess *c, const struct order_op *o)
{
	return class_of[o->kind] >= 0 && c->l->c.classes >> class_of[o->kind] & 1;
}

static void offer(struct coprocess *c, struct sample *s, struct place *p, uint64_t now)
{
	if (c->l->o.study && !p->known) {
		p->load = truth_new(&c->l->truth, p->pc);
		p->known = true;
		if (p->load == SIZE_MAX) {
			err_no_memory(&c->why, "the co-processor");
			give_up(c);
			return;
		}
	}
	s->source[SOURCE_PC] = p->pc;
	s->source[SOURCE_TIME] = now;
	if (lab_take(c->l, s, p->hash, p->load, now, &c->why))
		give_up(c);
}

/* Whether no filter lets an event of the instruction pass now. */
static bool is_rejected(const struct coprocess *c, const struct order_op *o, uint64_t now)
{
	const struct place *p = o->site;

	return !c->l->o.study && feed_rejects(&c->l->f, (unsigned)class_of[o->kind], p->hash, now);
}

static void offer_access(struct coprocess *c, const struct order_execution *x,
			 const struct order_op *o, uint64_t at, bool missed, uint64_t now)
{
	struct sample s = { .cls = (uint8_t)class_of[o->kind] };
	struct place *p = o->site;

	if (c->sources & 1u << SOURCE_VALUE && !order_loaded(x, o, &s.source[SOURCE_VALUE]) &&
	    is_load(o)) {
		c->l->unknown++;
		return;
	}
	if (is_rejected(c, o, now)) {
		c->l->f.n.offered++;
		return;
	}
	s.source[SOURCE_ADDRESS] = at;
	s.source[SOURCE_SIZE] = o->size;
	s.source[SOURCE_MISSED] = missed;
	s.source[SOURCE_NEXT] = p->pc + o->len;
	offer(c, &s, p, now);
}

static void offer_branch(struct coprocess *c, const struct order_op *o, bool taken, bool wrong,
			 const struct place *to, uint64_t now)
{
	struct sample s = { .cls = (uint8_t)class_of[o->kind] };
	struct place *p = o->site;

	if (is_rejected(c, o, now)) {
		c->l->f.n.offered++;
		return;
	}
	s.source[SOURCE_TAKEN] = taken;
	s.source[SOURCE_WRONG] = wrong;
	s.source[SOURCE_NEXT] = p->pc + o->len;
	s.source[SOURCE_TARGET] = target_of(c, o, taken, to);
	offer(c, &s, p, now);
}

/* Time. */

static uint64_t now_of(const struct coprocess *c)
{
	return c->m ? c->ticks / TIMING_TICKS : c->instructions / WIDTH;
}

static bool mispredicts(struct lane *t, const struct order_op *o, bool taken, uint64_t to)
{
	struct branch_predictor *b = t->core.branch;
	bool wrong = false;

	if (o->kind == ORDER_BRANCH)
		wrong = branch_conditional(b, o->add, taken);
	else if (o->kind == ORDER_RETURN)
		wrong = branch_return(b, to);
	else if (o->kind != ORDER_CALL)
		wrong = branch_indirect(b, o->add, to);
	if (o->kind == ORDER_CALL || o->kind == ORDER_ICALL)
		branch_call(b, o->add + o->len);
	return wrong;
}

/* Retires the instruction. */
static void retire(struct coprocess *c, struct lane *t, const struct timing_insn *i)
{
	uint64_t now;

	c->instructions++;
	if (!c->m)
		return;
	now = timing_retire(t->timing, i, t->parts);
	c->ticks += now - t->before;
	t->before = now;
}

/* Retires the branch that ended the block before, whose direction the next block has shown, if there is one. */
static void settle(struct coprocess *c, struct lane *t, const struct place *to)
{
	if (!t->waiting)
		return;
	t->waiting = false;
	retire(c, t, t->last_insn);
	if (is_wanted(c, t->last))
		offer_branch(c, t->last, t->last_taken, t->last_wrong, to, now_of(c));
}

/* Applies an op to the caches, the predictors and the instruction's time. Returns whether it missed. */
static bool simulate(struct coprocess *c, struct lane *t, const struct order_op *o, uint64_t at,
		     uint64_t size)
{
	uint64_t ignored[CORE_MISS_N];
	unsigned found;
	bool wrong;

	if (!c->m)
		return false;
	switch (o->kind) {
	case ORDER_FETCH:
		if (at >> c->c.shift == t->line)
			return false;
		t->line = at >> c->c.shift;
		found = core_fetch(&t->core, placed(t, at), ignored);
		timing_fetch(t->timing, CORE_LEVEL(found), CORE_TRANSLATION(found));
		return false;
	case ORDER_LOAD:
	case ORDER_STORE:
	case ORDER_MODIFY:
	case ORDER_PREFETCH:
		found = core_data(&t->core, placed(t, at), size, ignored);
		if (o->kind != ORDER_STORE)
			timing_load(t->timing, at, size, CORE_LEVEL(found),
				    CORE_TRANSLATION(found));
		if (o->kind == ORDER_STORE || o->kind == ORDER_MODIFY)
			timing_store(t->timing, at, size, CORE_LEVEL(found),
				     CORE_TRANSLATION(found));
		return CORE_LEVEL(found) != TIMING_IN_L1;
	default:
		wrong = mispredicts(t, o, false, at + o->len);
		timing_branch(t->timing, false, wrong);
		return wrong;
	}
}

#define HELD 4
struct held { /* ops of an instruction that has not retired */
	const struct order_op *o;
	uint64_t at;
	bool missed;
};

/* Takes the ops of one instruction. Returns the first op of the next one. */
static const struct order_op *take_insn(struct coprocess *c, struct lane *t,
					const struct order_execution *x, const struct order_op *o,
					const struct order_op *end, struct held *held,
					unsigned *nheld)
{
	unsigned insn = o->insn;
	uint64_t times = 0, at;

	for (; o < end && o->insn == insn; o++) {
		uint64_t size = o->size;
		bool missed;

		if (!order_value(x, o, &at))
			continue;
		if (o->kind >= ORDER_KIND_N) {
			times = o->kind == ORDER_REPEATS ? at : times > at ? times - at : 0;
			continue;
		}
		if (o->repeats && !times)
			continue;
		if (o->repeats)
			size = order_repeated(x, o, times);
		missed = simulate(c, t, o, at, size);
		if (is_wanted(c, o) && *nheld < HELD)
			held[(*nheld)++] = (struct held){ o, at, missed };
	}
	return o;
}

static void give(struct coprocess *c, const struct order_execution *x, const struct held *h)
{
	if (h->o->kind >= ORDER_BRANCH)
		offer_branch(c, h->o, false, h->missed, NULL, now_of(c));
	else
		offer_access(c, x, h->o, h->at, h->missed, now_of(c));
}

/* Takes an execution without a core model: only instructions that the program asks for are looked
 * at. */
static void execute_plain(struct coprocess *c, struct lane *t, const struct order_execution *x,
			  unsigned done)
{
	const struct order_op *o = x->code->op, *end = o + x->code->n;
	uint64_t began = c->instructions;

	while (o < end && o->insn < x->done) {
		struct held held[HELD];
		unsigned n = 0;

		c->instructions = began + o->insn;
		o = take_insn(c, t, x, o, end, held, &n);
		for (unsigned i = 0; i < n; i++)
			give(c, x, &held[i]);
	}
	c->instructions = began + done;
}

static void execute_timed(struct coprocess *c, struct lane *t, const struct order_execution *x,
			  unsigned done)
{
	const struct order_op *o = x->code->op, *end = o + x->code->n;
	const struct timing_insn *insn = x->code->own;

	for (unsigned k = 0; k < x->done; k++) {
		struct held held[HELD];
		unsigned n = 0;

		if (o < end && o->insn == k)
			o = take_insn(c, t, x, o, end, held, &n);
		if (k < done) /* the branch behind waits until its direction is known */
			retire(c, t, &insn[k]);
		for (unsigned i = 0; i < n; i++)
			give(c, x, &held[i]);
	}
}

static void execute(void *arg, void *thread, const struct order_execution *x)
{
	struct coprocess *c = arg;
	struct lane *t = thread;
	bool ends = !x->cut && x->code->end != ORDER_FETCH && x->done;
	unsigned done = x->done - ends;

	if (c->failed)
		return;
	settle(c, t, x->code->first);
	if (c->m)
		execute_timed(c, t, x, done);
	else
		execute_plain(c, t, x, done);
	t->last_insn =
		c->m && x->code->own ? (const struct timing_insn *)x->code->own + done : NULL;
}

static void end(void *arg, void *thread, struct order_code *code, bool taken, uint64_t to)
{
	const struct order_op *last = &code->last;
	struct coprocess *c = arg;
	struct lane *t = thread;

	if (c->failed)
		return;
	t->last = last;
	t->last_taken = taken || last->kind != ORDER_BRANCH;
	t->last_wrong = false;
	t->waiting = true;
	if (c->m) {
		t->last_wrong = mispredicts(t, last, taken, to);
		timing_branch(t->timing, t->last_taken, t->last_wrong);
	}
	if (!to) /* a branch in the middle of a block, which tells where it goes */
		settle(c, t, NULL);
}

/* Set-up. */

static void *block(void *arg, const struct order_bytes *b)
{
	struct timing_insn *list = calloc(b->n + 1, sizeof(*list));
	struct insn in[2];
	const uint8_t *at = b->bytes;

	for (unsigned i = 0; list && i < b->n; i++) {
		struct insn *now = &in[i % 2];
		unsigned len = b->site[i]->len;

		if (!insn_decode(now, at, len, b->pc + (uint64_t)(at - b->bytes))) {
			memset(now, 0, sizeof(*now));
			now->len = (uint8_t)len;
		}
		timing_prepare(&list[i], now, i ? &in[(i + 1) % 2] : NULL, of(arg)->m);
		at += len;
	}
	return list;
}

static void *process(void *arg, uint32_t pid)
{
	struct lane_process *p = calloc(1, sizeof(*p));

	(void)pid;
	if (p)
		p->space = (uint64_t)(uint16_t)of(arg)->processes++ << SPACE;
	return p;
}

static void process_end(void *arg, void *p)
{
	(void)arg;
	free(p);
}

static void *thread(void *arg, void *p)
{
	struct coprocess *c = arg;
	struct lane *t = calloc(1, sizeof(*t));

	if (!t || !c->m)
		return t;
	t->space = ((struct lane_process *)p)->space;
	t->line = UINT64_MAX;
	if (core_init(&t->core, c->m, &c->l3)) {
		free(t);
		return NULL;
	}
	t->timing = timing_new(c->m);
	if (t->timing)
		return t;
	core_fini(&t->core);
	free(t);
	return NULL;
}

static void thread_end(void *arg, void *thread)
{
	struct coprocess *c = arg;
	struct lane *t = thread;

	if (!c->failed)
		settle(c, t, NULL);
	if (c->m) {
		timing_free(t->timing);
		core_fini(&t->core);
	}
	free(t);
}

/* Returns the kinds of events that the program asks for, and those that time needs. */
static unsigned kinds_of(const struct coprocess *c)
{
	unsigned kinds = 0;

	if (c->m)
		return (1u << ORDER_KIND_N) - 1;
	for (unsigned i = 0; i < ORDER_KIND_N; i++)
		if (class_of[i] >= 0 && c->l->c.classes >> class_of[i] & 1)
			kinds |= 1u << i;
	return kinds;
}

struct coprocess *coprocess_new(struct lab *l, struct profile *p, const struct machine *m,
				struct err *err)
{
	struct coprocess *c = calloc(1, sizeof(*c));

	if (!c || (m && core_last_level(&c->l3, m))) {
		free(c);
		err_no_memory(err, "the co-processor");
		return NULL;
	}
	c->l = l;
	c->p = p;
	c->m = m;
	c->sources = program_sources(l->o.program);
	c->c = (struct order_consumer){
		.arg = c,
		.kinds = kinds_of(c),
		.shift = m ? (unsigned)__builtin_ctz(m->line) : 6,
		.values = c->sources & 1u << SOURCE_VALUE,
		.site = site_of,
		.process = process,
		.thread = thread,
		.block = m ? block : NULL,
		.execute = execute,
		.end = end,
		.thread_end = thread_end,
		.process_end = process_end,
	};
	return c;
}

void coprocess_free(struct coprocess *c)
{
	struct place *next;

	if (!c)
		return;
	HASH_CLEAR(hh, c->by_pc);
	for (struct place *p = c->places; p; p = next) {
		next = p->next;
		free(p);
	}
	if (c->m)
		cache_fini(&c->l3);
	free(c);
}

const struct order_consumer *coprocess_consumer(const struct coprocess *c)
{
	return &c->c;
}

int coprocess_end(struct coprocess *c, struct err *err)
{
	if (!c->failed && lab_end(c->l, &c->why))
		c->failed = true;
	if (!c->failed)
		return 0;
	*err = c->why;
	return -1;
}

bool coprocess_failed(const struct coprocess *c)
{
	return c->failed;
}

uint64_t coprocess_instructions(const struct coprocess *c)
{
	return c->instructions;
}

uint64_t coprocess_cycles(const struct coprocess *c)
{
	return now_of(c);
}

const struct lab *coprocess_lab(const struct coprocess *c)
{
	return c->l;
}

const struct site *coprocess_site(const struct coprocess *c, uint64_t pc)
{
	uint32_t key = (uint32_t)pc;
	struct place *p;

	HASH_FIND(hh, c->by_pc, &key, sizeof(key), p);
	return p ? p->s : NULL;
}
