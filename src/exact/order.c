/* SPDX-License-Identifier: MIT */
/*
 * Streams in program order. The ops of a block are worked out once; then each execution is a walk
 * along them, with the words of the stream. Where a block went is known when the thread's next
 * block comes.
 */
#include "exact/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "exact/exact_priv.h"
#include "x86/insn.h"

#define EVENTS 512
#define REPEATED_MAX \
	(1ull << 36) /* bytes that the string instructions of one half of a stream may touch */

_Static_assert(ORDER_NO_WORD == EXACT_CONSTANT, "");

struct order_thread {
	void *consumer;
	uint64_t line; /* the last line of code that was fetched */
	/* the thread's last block, if where it went is to be told */
	struct order_code *before;
	uint32_t now; /* number of instructions before the present block */
	size_t n;
	struct order_event event[EVENTS];
};

static bool wants(const struct exact *e, unsigned kind)
{
	return e->consumer->kinds >> kind & 1;
}

/* Blocks. */

struct maker {
	struct exact *e;
	const struct code_block *b;
	struct order_code *c;
	size_t room, part_room;
	uint8_t access; /* access of the present instruction */
};

static void *site_of(const struct maker *m, unsigned insn)
{
	const struct order_op *before = m->c->n ? &m->c->op[m->c->n - 1] : NULL;

	return before && before->insn == insn
		       ? before->site
		       : m->e->consumer->site(m->e->consumer->arg, m->b->site[insn]);
}

static struct order_op *add(struct maker *m, unsigned insn, unsigned kind)
{
	struct order_code *c = m->c;

	if (!array_reserve(c->op, m->room, c->n + 1))
		return NULL;
	if (m->e->consumer->values) {
		if (!array_reserve(c->part, m->part_room, c->n + 1))
			return NULL;
		c->part[c->n] = (struct order_part){ 0 };
	}
	c->op[c->n] = (struct order_op){
		.insn = (uint8_t)insn,
		.kind = (uint8_t)kind,
		.word = EXACT_CONSTANT,
		.from = 64,
		.to = 64,
		.len = m->b->site[insn]->len,
		.site = site_of(m, insn),
	};
	return c->op[c->n].site ? &c->op[c->n++] : NULL;
}

/* Adds fetches of the lines that the instruction's bytes begin, and of the line it lies in if it is
 * the block's first instruction. */
static int add_fetches(struct maker *m, unsigned insn, uint64_t pc)
{
	unsigned shift = m->e->consumer->shift, len = m->b->site[insn]->len;
	uint64_t at = insn && pc >> shift == (pc - 1) >> shift ? ((pc >> shift) + 1) << shift : pc;

	while (wants(m->e, ORDER_FETCH) && at < pc + len) {
		struct order_op *o = add(m, insn, ORDER_FETCH);

		if (!o)
			return -1;
		o->add = at;
		o->size = 1;
		at = ((at >> shift) + 1) << shift;
	}
	return 0;
}

static int add_field(struct maker *m, const struct exact_field *f, bool repeats)
{
	static const uint8_t kinds[EXACT_ACCESS_N] = {
		[EXACT_LOAD] = ORDER_LOAD,	 [EXACT_STORE] = ORDER_STORE,
		[EXACT_MODIFY] = ORDER_MODIFY,	 [EXACT_PREFETCH] = ORDER_PREFETCH,
		[EXACT_REPEATS] = ORDER_REPEATS, [EXACT_LEFT] = ORDER_LEFT,
	};
	unsigned access = f->access >> EXACT_ACCESS_BITS;
	struct order_op *o = add(m, f->insn, kinds[access]);

	if (!o)
		return -1;
	o->add = (uint64_t)f->add;
	o->word = f->word;
	o->from = f->from;
	o->to = f->to;
	o->plain = f->from == 64 && f->to == 64;
	o->size = f->access & ((1u << EXACT_ACCESS_BITS) - 1);
	o->repeats = repeats && o->kind < ORDER_KIND_N;
	o->access = m->access;
	return 0;
}

/* Adds a loaded value to an access of the same instruction. */
static bool is_value(const struct exact_field *f)
{
	return !f->access && f->operand == OPERAND_LOAD;
}

static bool field_fits(const struct exact *e, const struct code_block *b,
		       const struct exact_field *f)
{
	unsigned access = f->access >> EXACT_ACCESS_BITS;

	if (is_value(f) && e->consumer->values)
		return f->insn < b->n && (f->word == EXACT_CONSTANT || f->word < b->words) &&
		       f->from >= 8 && f->to >= 8 && f->to <= 64;
	return f->insn < b->n && access > 0 && access < EXACT_ACCESS_N &&
	       (access >= EXACT_REPEATS || f->access & ((1u << EXACT_ACCESS_BITS) - 1)) &&
	       (f->word == EXACT_CONSTANT || f->word < b->words) && f->from >= 8 && f->to >= 8 &&
	       f->to <= 64;
}

/* Notes that the value is what the instruction's first load reads. */
static void add_value(struct maker *m, const struct exact_field *f)
{
	for (uint32_t i = m->c->n; i-- > 0 && m->c->op[i].insn == f->insn;) {
		struct order_op *o = &m->c->op[i];

		if ((o->kind == ORDER_LOAD || o->kind == ORDER_MODIFY) && !o->repeats)
			m->c->part[i] =
				(struct order_part){ (uint64_t)f->add, f->word, f->from, f->to };
	}
}

/* Adds an instruction's fields, f[0..n). The number of elements comes before the accesses that have
 * them. */
static int add_fields(struct maker *m, const struct exact_field *f, unsigned n)
{
	bool repeats = false;

	for (unsigned counts = 2; counts-- > 0;)
		for (unsigned i = 0; i < n; i++) {
			unsigned access = f[i].access >> EXACT_ACCESS_BITS;
			bool count = access == EXACT_REPEATS || access == EXACT_LEFT;
			unsigned kind = access == EXACT_LOAD	 ? ORDER_LOAD
					: access == EXACT_STORE	 ? ORDER_STORE
					: access == EXACT_MODIFY ? ORDER_MODIFY
								 : ORDER_PREFETCH;

			repeats |= count;
			if (!is_value(&f[i]) && count == (counts == 1) &&
			    (count || wants(m->e, kind)) && add_field(m, &f[i], repeats))
				return -1;
		}
	for (unsigned i = 0; i < n; i++)
		if (is_value(&f[i]))
			add_value(m, &f[i]);
	return 0;
}

/* Returns the kind of control flow that ends the block. */
static unsigned control_of(const struct code_block *b, unsigned insn)
{
	switch (b->site[insn]->cls) {
	case INSN_BRANCH:
		return ORDER_BRANCH;
	case INSN_IJUMP:
		return ORDER_JUMP;
	case INSN_CALL:
		return ORDER_CALL;
	case INSN_ICALL:
		return ORDER_ICALL;
	case INSN_RET:
		return ORDER_RETURN;
	default:
		return ORDER_FETCH;
	}
}

static uint8_t access_of(const uint8_t *bytes, unsigned len, uint64_t pc)
{
	struct insn in;

	return insn_decode(&in, bytes, len, pc) ? in.access : 0;
}

static int add_control(struct maker *m, unsigned insn, uint64_t pc)
{
	unsigned kind = control_of(m->b, insn);
	struct order_op *o;

	if (kind == ORDER_FETCH || !wants(m->e, kind))
		return 0;
	o = add(m, insn, kind);
	if (!o)
		return -1;
	o->add = pc;
	if (insn + 1u == m->b->n) {
		m->c->end = (uint8_t)kind;
		m->c->last = *o;
		m->c->n--;
	}
	return 0;
}

static void check_words(struct code_block *b)
{
	b->order->checked = true;
	for (uint32_t i = 0; i < b->order->n; i++)
		b->order->checked &=
			b->order->op[i].word == ORDER_NO_WORD || b->order->op[i].word < b->words;
}

static int add_own(const struct exact *e, struct code_block *b, const uint8_t *bytes,
		   struct err *err)
{
	const struct order_bytes of = {
		.pc = b->order->pc, .bytes = bytes, .site = b->site, .n = b->n
	};

	if (!e->consumer->block)
		return 0;
	b->order->own = e->consumer->block(e->consumer->arg, &of);
	return b->order->own ? 0 : err_no_memory(err, "the exact recording");
}

int order_block(struct exact *e, struct code_block *b, const struct exact_block *r, struct err *err)
{
	size_t at = EXACT_BLOCK_FIELDS(r->len, r->n);
	const struct exact_field *f = (const void *)(r->bytes + at);
	uint64_t pc = r->pc;
	struct maker m = { .e = e, .b = b };
	unsigned k = 0;

	b->words = r->words;
	if (r->words > EXACT_WORDS_MAX || r->r.size < sizeof(*r) + at + r->nfield * sizeof(*f))
		return exact_bad(err);
	for (unsigned i = 0; i < r->nfield; i++)
		if (!field_fits(e, b, &f[i]) || (i && f[i].insn < f[i - 1].insn))
			return exact_bad(err);
	m.c = b->order = calloc(1, sizeof(*b->order));
	if (!m.c)
		return err_no_memory(err, "the exact recording");
	for (unsigned i = 0; i < b->n; i++) {
		unsigned from = k;

		while (k < r->nfield && f[k].insn == i)
			k++;
		m.access = k > from && e->consumer->plain
				   ? access_of(r->bytes + (pc - r->pc), b->site[i]->len, pc)
				   : 0;
		if (add_fetches(&m, i, pc) || add_fields(&m, f + from, k - from) ||
		    add_control(&m, i, pc))
			return err_no_memory(err, "the exact recording");
		pc += b->site[i]->len;
	}
	b->order->pc = r->pc;
	b->order->next = pc;
	check_words(b);
	if (b->n && e->consumer->kinds >> ORDER_BRANCH) {
		b->order->first = e->consumer->site(e->consumer->arg, b->site[0]);
		if (!b->order->first)
			return err_no_memory(err, "the exact recording");
	}
	return add_own(e, b, r->bytes, err);
}

int order_exit(struct code_block *b, const struct code_block *of, const struct exact_exit *r,
	       struct err *err)
{
	if (!of->order || r->words > of->words)
		return exact_bad(err);
	b->words = r->words;
	b->order = calloc(1, sizeof(*b->order));
	if (!b->order)
		return err_no_memory(err, "the exact recording");
	*b->order = (struct order_code){
		.pc = of->order->pc,
		.op = of->order->op,
		.part = of->order->part,
		.own = of->order->own,
		.first = of->order->first,
		.shared = true,
		.end = ORDER_FETCH,
	};
	while (b->order->n < of->order->n && of->order->op[b->order->n].insn < b->n)
		b->order->n++;
	/* the last instruction of a block that does not jump */
	if (b->order->n && of->order->op[b->order->n - 1].kind == ORDER_BRANCH &&
	    of->order->op[b->order->n - 1].insn + 1u == b->n) {
		b->order->end = ORDER_BRANCH;
		b->order->last = of->order->op[--b->order->n];
	}
	check_words(b);
	return 0;
}

void order_free_block(struct code_block *b)
{
	if (b->order && !b->order->shared) {
		free(b->order->op);
		free(b->order->part);
		free(b->order->own);
	}
	free(b->order);
}

/* Executions. */

static int flush(struct exact *e, struct order_thread *t)
{
	size_t n = t->n;

	t->n = 0;
	return n ? e->consumer->take(e->consumer->arg, t->consumer, t->event, n) : 0;
}

static void put_end(struct order_thread *t, const struct order_op *o, bool taken, uint64_t to)
{
	t->event[t->n++] = (struct order_event){ .at = o->add,
						 .to = to,
						 .site = o->site,
						 .kind = o->kind,
						 .taken = taken,
						 .len = o->len,
						 .now = t->now - 1 };
}

/* Tells where the thread's last block went: to pc. */
static void put_before(struct order_thread *t, uint64_t pc)
{
	const struct order_code *c = t->before;

	if (c)
		put_end(t, &c->last, pc != c->next, pc);
	t->before = NULL;
}

/* Returns the bytes of a repeated access. The program writes the count, so it may be any number. */
uint64_t order_repeated(const struct order_execution *x, const struct order_op *o, uint64_t times)
{
	struct exact *e = x->exact;
	uint64_t most = e->repeat_room < ORDER_SIZE_MAX ? e->repeat_room : ORDER_SIZE_MAX;

	if (times > most / o->size) {
		e->totals.shortened++;
		times = most >= o->size ? most / o->size : 1;
	}
	most = o->size * times;
	e->repeat_room -= most < e->repeat_room ? most : e->repeat_room;
	return most;
}

/* Tells the events of an execution. */
static int put_execution(struct exact *e, struct order_thread *t, const struct order_execution *x)
{
	const struct order_code *c = x->code;
	uint64_t times = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct order_op *o = &c->op[i];
		struct order_event *v = &t->event[t->n];

		if (o->insn >= x->done)
			break;
		if (!order_value(x, o, &v->at))
			continue;
		if (o->kind >= ORDER_KIND_N) {
			times = o->kind == ORDER_REPEATS ? v->at
				: times > v->at		 ? times - v->at
							 : 0;
			continue;
		}
		if (o->kind == ORDER_FETCH) {
			if (o->add >> e->consumer->shift == t->line)
				continue;
			t->line = o->add >> e->consumer->shift;
		}
		if (o->repeats && !times)
			continue;
		v->size = o->repeats ? order_repeated(x, o, times) : o->size;
		v->site = o->site;
		v->kind = o->kind;
		v->len = o->len;
		v->taken = false;
		v->access = o->access;
		v->now = t->now + o->insn;
		if (o->kind >= ORDER_BRANCH)
			v->to = v->at + v->len;
		/* room is kept for the events that end this block and the block before the next one */
		if (++t->n >= EVENTS - 2 && flush(e, t))
			return -1;
	}
	return 0;
}

static int take_events(struct exact *e, struct order_thread *t, const struct code_block *b,
		       const struct order_execution *x)
{
	struct order_code *c = x->code;

	if (t->n >= EVENTS - 2 && flush(e, t))
		return -1;
	put_before(t, c->pc);
	if (put_execution(e, t, x))
		return -1;
	t->now += x->done;
	if (x->cut || c->end == ORDER_FETCH)
		return 0;
	if (b->exit)
		put_end(t, &c->last, true, 0);
	else
		t->before = c;
	return 0;
}

/* Does the same for a consumer of executions. */
static void take_execution(const struct order_consumer *k, struct order_thread *t,
			   const struct code_block *b, const struct order_execution *x)
{
	struct order_code *c = x->code, *before = t->before;

	if (before)
		k->end(k->arg, t->consumer, before, c->pc != before->next, c->pc);
	k->execute(k->arg, t->consumer, x);
	t->before = NULL;
	if (x->cut || c->end == ORDER_FETCH)
		return;
	if (b->exit)
		k->end(k->arg, t->consumer, c, true, 0);
	else
		t->before = c;
}

static int take_one(struct exact *e, struct order_thread *t, const struct code_block *b,
		    uint64_t head, const uint64_t *w, unsigned words)
{
	bool cut = head & EXACT_HEAD_CUT;
	const struct order_execution x = { .code = b->order,
					   .w = w,
					   .words = words,
					   .done = cut ? EXACT_HEAD_DONE(head) : b->n,
					   .cut = cut,
					   .whole = !cut && b->order->checked,
					   .exact = e };

	if (!e->consumer->execute)
		return take_events(e, t, b, &x);
	take_execution(e->consumer, t, b, &x);
	return 0;
}

static struct order_thread *begin(struct exact *e, struct process *p, struct counted *c)
{
	const struct order_consumer *k = e->consumer;
	struct order_thread *t;

	if (!p->order)
		p->order = k->process(k->arg, p->pid);
	t = p->order ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return NULL;
	t->consumer = k->thread(k->arg, p->order);
	t->line = UINT64_MAX;
	if (!t->consumer) {
		free(t);
		return NULL;
	}
	return c->order = t;
}

/* Brings what the next execution needs closer, while the present one is simulated: the block of the one behind it, and the
 * ops of the next. What the words say is not validated yet. */
static inline void look_ahead(const struct process *p, const uint64_t *w, const uint64_t *end)
{
	uint64_t head;
	uint32_t id;

	if (w >= end)
		return;
	head = __atomic_load_n(w, __ATOMIC_RELAXED);
	id = EXACT_HEAD_BLOCK(head) - 1;
	if (id < p->nblock && p->block[id]) {
		const struct order_code *c = p->block[id]->order;

		if (c) {
			__builtin_prefetch(c);
			__builtin_prefetch(&c->last);
			__builtin_prefetch(c->op);
		}
	}
	w += 1 + (EXACT_HEAD_WORDS(head) & EXACT_WORDS_MAX);
	if (w >= end)
		return;
	id = EXACT_HEAD_BLOCK(__atomic_load_n(w, __ATOMIC_RELAXED)) - 1;
	if (id < p->nblock)
		__builtin_prefetch(p->block[id]);
}

int order_take(struct exact *e, struct process *p, struct counted *c, const uint64_t *w, size_t n,
	       struct err *err)
{
	struct order_thread *t = c->order ? c->order : begin(e, p, c);
	const uint64_t *end = w + n;

	if (!t)
		return err_no_memory(err, "the exact recording");
	e->repeat_room = REPEATED_MAX;
	while (w < end) {
		uint64_t head = __atomic_load_n(w++, __ATOMIC_RELAXED);
		uint32_t id = EXACT_HEAD_BLOCK(head) - 1;
		uint32_t words = EXACT_HEAD_WORDS(head) & EXACT_WORDS_MAX;
		const struct code_block *b;

		if (id >= p->nblock && exact_read_log(e, p, err))
			return -1;
		if (words > (size_t)(end - w) || id >= p->nblock || !p->block[id])
			return exact_bad(err);
		b = p->block[id];
		if (!b->order || words > b->words ||
		    (head & EXACT_HEAD_CUT ? EXACT_HEAD_DONE(head) > b->n : words != b->words))
			return exact_bad(err);
		look_ahead(p, w + words, end);
		if (take_one(e, t, b, head, w, words))
			return err_no_memory(err, "the exact recording");
		w += words;
	}
	return flush(e, t) ? err_no_memory(err, "the exact recording") : 0;
}

void order_settle(const struct exact *e)
{
	if (e->consumer && e->consumer->settle)
		e->consumer->settle(e->consumer->arg);
}

int order_touched(struct exact *e, struct process *p, const struct exact_touched *r,
		  struct err *err)
{
	const struct order_consumer *k = e->consumer;
	uint64_t bits[EXACT_CHUNK / 64], base = r->chunk * EXACT_CHUNK << k->shift;
	struct counted *c = r->plane < p->nthread ? p->thread[r->plane] : NULL;

	if (exact_touched_lines(r, bits))
		return exact_bad(err);
	if (!c) /* the plane is free: threads take turns with planes */
		return 0;
	if (!c->order && !begin(e, p, c))
		return err_no_memory(err, "the exact recording");
	for (unsigned i = 0; i < EXACT_CHUNK / 64; i++)
		for (uint64_t v = bits[i]; v; v &= v - 1) {
			uint64_t line = 64ull * i + (unsigned)__builtin_ctzll(v);

			k->touched(k->arg, ((struct order_thread *)c->order)->consumer,
				   base + (line << k->shift));
		}
	return 0;
}

#define FAR (1u << 20) /* instructions; farther apart than conflicts are looked for */

void order_gap(struct process *p)
{
	for (size_t i = 0; i < p->nthread; i++) {
		struct order_thread *t = p->thread[i]->order;

		if (!t)
			continue;
		t->before = NULL;
		t->line = UINT64_MAX;
		t->now += FAR;
	}
}

void order_free(const struct exact *e, struct process *p)
{
	const struct order_consumer *k = e->consumer;

	for (size_t i = 0; i < p->nthread; i++) {
		if (!p->thread[i]->order)
			continue;
		k->thread_end(k->arg, p->thread[i]->order->consumer);
		free(p->thread[i]->order);
		p->thread[i]->order = NULL;
	}
	if (p->order && p->successor && !p->successor->order && !p->successor->released)
		p->successor->order = p->order;
	else if (p->order)
		k->process_end(k->arg, p->order);
	p->order = NULL;
}
