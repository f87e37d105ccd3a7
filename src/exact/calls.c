/* SPDX-License-Identifier: MIT */
/*
 * Turns streams of calls and returns into the values of calls. Each call records where its return address lies; the
 * return that takes its address from there belongs to the call, whatever else has been called, left by longjmp or put
 * on another stack in between.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "exact/exact_priv.h"
#include "x86/insn.h"
#include "observe/calls.h"

enum {
	AT, /* where the return address lies */
	/* fields of calls: */
	ARG0,
	TARGET = ARG0 + 6,
	FIELD_N,
	/* fields of returns: */
	BEHIND = ARG0,
	RESULT,
	RETURN_N,
};

#define OPEN_MAX (1u << 22) /* most calls of a thread that have not returned */
#define PROBES 1024 /* most slots that are searched; only forged addresses collide more often */

struct calls_code {
	struct site_id from, to; /* sites of a direct call and of its target */
	struct call *call;	 /* the last call that was made; or NULL */
	uint64_t target;	 /* the called procedure of `call` */
	uint64_t behind;	 /* run-time address of the code after the call */
	uint16_t cls;
	struct {
		uint64_t add;
		uint16_t word;
		uint8_t from, to;
	} field[FIELD_N];
};

/*
 * A thread's calls that have not returned, by where their return addresses lie: a hash table with
 * open addressing. A call that was left without a return stays until another one has the same
 * place, or until there are too many.
 */
struct calls_made {
	/* the calls of another thread of a process that this one continues */
	struct calls_made *next;
	uint32_t tid;
	uint64_t mask, used;
	struct made {
		uint64_t at, behind; /* at: 0 if the slot is free */
		struct call *call;
	} * slot;
};

/* Blocks. */

static int slot_of(bool ret, unsigned operand)
{
	if (operand == OPERAND_ADDRESS)
		return AT;
	if (ret)
		return operand == OPERAND_LOAD	   ? (int)BEHIND
		       : operand == OPERAND_RETURN ? (int)RESULT
						   : -1;
	if (operand >= OPERAND_ARG0 && operand <= OPERAND_ARG5)
		return (int)(ARG0 + operand - OPERAND_ARG0);
	return operand == OPERAND_TARGET ? (int)TARGET : -1;
}

static bool put_field(struct calls_code *c, const struct code_block *b, const struct exact_field *f)
{
	bool constant = f->word == EXACT_CONSTANT;
	int i = slot_of(c->cls == INSN_RET, f->operand);

	if (f->insn + 1u != b->n || i < 0 || (!constant && f->word >= b->words) || f->from < 8 ||
	    f->from > f->to || f->to > 64)
		return false;
	c->field[i].add = (uint64_t)f->add;
	c->field[i].word = f->word;
	c->field[i].from = f->from;
	c->field[i].to = f->to;
	return true;
}

static bool is_call(unsigned cls)
{
	return cls == INSN_CALL || cls == INSN_ICALL;
}

int calls_block(const struct process *p, struct code_block *b, const struct exact_block *r,
		struct err *err)
{
	size_t at = EXACT_BLOCK_FIELDS(r->len, r->n);
	const struct exact_field *f = (const void *)(r->bytes + at);
	const struct site *last = b->n ? b->site[b->n - 1] : NULL;
	struct calls_code *c;

	if (!r->nfield)
		return 0;
	if (!last || !(is_call(last->cls) || last->cls == INSN_RET) || r->words > EXACT_WORDS_MAX ||
	    r->r.size < sizeof(*r) + at + (size_t)r->nfield * sizeof(*f))
		return exact_bad(err);
	c = b->calls = calloc(1, sizeof(*c));
	if (!c)
		return err_no_memory(err, "the exact recording");
	b->words = r->words;
	c->cls = last->cls;
	c->from = last->id;
	c->behind = r->pc + r->len;
	c->to = b->leaves ? ways_at(p, b->leaves)
			  : (struct site_id){ .image = b->image, .addr = b->callee };
	for (unsigned i = 0; i < r->nfield; i++)
		if (!put_field(c, b, &f[i]))
			return exact_bad(err);
	return 0;
}

void calls_free_block(struct code_block *b)
{
	free(b->calls);
}

/* Open calls: calls that have not returned. */

/* Returns the slot of a return address, or the free slot for it. NULL: all PROBES slots belong to
 * others. */
static struct made *find(const struct calls_made *m, uint64_t at)
{
	uint64_t i = hash_mix(at >> 3) >> 20;

	for (unsigned n = 0; n < PROBES; n++, i++) {
		struct made *s = &m->slot[i & m->mask];

		if (!s->at || s->at == at)
			return s;
	}
	return NULL;
}

static void move(struct calls_made *m, const struct made *made)
{
	struct made *s = find(m, made->at);

	if (s)
		*s = *made;
	else
		m->used--;
}

static bool grow(struct calls_made *m)
{
	struct made *old = m->slot;
	uint64_t n = m->slot ? m->mask + 1 : 0, room = n ? 2 * n : 64;

	m->slot = calloc(room, sizeof(*m->slot));
	if (!m->slot) {
		m->slot = old;
		return false;
	}
	m->mask = room - 1;
	for (uint64_t i = 0; i < n; i++)
		if (old[i].at)
			move(m, &old[i]);
	free(old);
	return true;
}

/* Forgets all open calls of the thread. Later returns are attributed to the direct call before the return address. */
static void forget(struct exact *e, struct calls_made *m)
{
	e->totals.forgotten += m->used;
	free(m->slot);
	m->slot = NULL;
	m->mask = m->used = 0;
}

static bool put(struct exact *e, struct calls_made *m, const struct made *made)
{
	struct made *s;

	if (m->used >= OPEN_MAX)
		forget(e, m);
	if (m->used >= m->mask / 2 && !grow(m))
		return false;
	s = find(m, made->at);
	if (!s) {
		forget(e, m);
		if (!grow(m))
			return false;
		s = find(m, made->at);
	}
	m->used += !s->at;
	*s = *made;
	return true;
}

/* Executions. */

static uint64_t narrow(uint64_t v, unsigned bits)
{
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static uint64_t value_of(const struct calls_code *c, unsigned field, const uint64_t *w)
{
	uint64_t v = c->field[field].add;

	if (c->field[field].word == EXACT_CONSTANT)
		return v;
	v += narrow(__atomic_load_n(&w[c->field[field].word], __ATOMIC_RELAXED),
		    c->field[field].from);
	return narrow(v, c->field[field].to);
}

static struct call *call_of(struct exact *e, const struct process *p, struct calls_code *c,
			    const uint64_t *w)
{
	uint64_t target = c->cls == INSN_ICALL ? value_of(c, TARGET, w) : 0;

	if (!c->call || target != c->target)
		c->call = calls_get(e->profile, c->from, target ? ways_at(p, target) : c->to);
	c->target = target;
	return c->call;
}

static int take_call(struct exact *e, const struct process *p, struct calls_made *m,
		     struct calls_code *c, const uint64_t *w)
{
	struct made made = { value_of(c, AT, w), c->behind, call_of(e, p, c, w) };

	if (!made.call || (made.at && !put(e, m, &made)))
		return -1;
	for (unsigned i = 0; i < 6; i++)
		if (calls_value(e->profile, made.call, (int)(OPERAND_ARG0 + i),
				value_of(c, ARG0 + i, w)))
			return -1;
	return 0;
}

/* Adds a result to the call that left the return address; or, if another thread made that call, to
 * the direct call in front of the address. */
static int take_return(struct exact *e, const struct process *p, struct calls_made *m,
		       const struct calls_code *c, const uint64_t *w)
{
	uint64_t at = value_of(c, AT, w), behind = value_of(c, BEHIND, w);
	struct made *made = m->used ? find(m, at) : NULL;
	struct call *call = NULL;
	struct call_key key;

	if (made && made->at && made->behind == behind) {
		call = made->call;
		made->behind = 0;
	} else if (calls_before(e->profile, ways_at(p, behind), &key)) {
		call = calls_get(e->profile, key.from, key.to);
		if (!call)
			return -1;
	}
	return call ? calls_value(e->profile, call, OPERAND_RETURN, value_of(c, RESULT, w)) : 0;
}

static struct calls_made *begin(struct process *p, struct counted *t)
{
	for (struct calls_made **at = &p->calls; *at; at = &(*at)->next)
		if ((*at)->tid == t->tid) {
			t->calls = *at;
			*at = t->calls->next;
			t->calls->next = NULL;
			return t->calls;
		}
	t->calls = calloc(1, sizeof(*t->calls));
	if (t->calls)
		t->calls->tid = t->tid;
	return t->calls;
}

int calls_take(struct exact *e, struct process *p, struct counted *t, const uint64_t *w, size_t n,
	       struct err *err)
{
	struct calls_made *m = t->calls ? t->calls : begin(p, t);
	const uint64_t *end = w + n;

	if (!m)
		return err_no_memory(err, "the exact recording");
	while (w < end) {
		uint64_t head = __atomic_load_n(w++, __ATOMIC_RELAXED);
		uint32_t id = EXACT_HEAD_BLOCK(head) - 1;
		uint32_t words = EXACT_HEAD_WORDS(head) & EXACT_WORDS_MAX;
		bool cut = head & EXACT_HEAD_CUT;
		struct calls_code *c;

		if (id >= p->nblock && exact_read_log(e, p, err))
			return -1;
		if (words > (size_t)(end - w) || id >= p->nblock || !p->block[id] ||
		    !p->block[id]->calls || words > p->block[id]->words ||
		    (!cut && words != p->block[id]->words))
			return exact_bad(err);
		c = p->block[id]->calls;
		/* an execution that was cut short has not reached its end, the call or return */
		if (!cut &&
		    (is_call(c->cls) ? take_call(e, p, m, c, w) : take_return(e, p, m, c, w)))
			return err_no_memory(err, "the exact recording");
		w += words;
	}
	return 0;
}

void calls_gap(struct process *p)
{
	for (size_t i = 0; i < p->nthread; i++) {
		struct calls_made *m = p->thread[i]->calls;

		if (!m)
			continue;
		free(m->slot);
		m->slot = NULL;
		m->mask = m->used = 0;
	}
}

void calls_end(struct process *p)
{
	struct process *next = p->successor && !p->successor->released ? p->successor : NULL;
	struct calls_made *m;

	for (size_t i = 0; i < p->nthread; i++)
		if ((m = p->thread[i]->calls)) {
			m->next = p->calls;
			p->calls = m;
			p->thread[i]->calls = NULL;
		}
	while ((m = p->calls)) {
		p->calls = m->next;
		if (next) {
			m->next = next->calls;
			next->calls = m;
			continue;
		}
		free(m->slot);
		free(m);
	}
}
