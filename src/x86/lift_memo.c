/* SPDX-License-Identifier: MIT */
#include "x86/lift_memo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "x86/guess.h"

#define FORMS (1u << 17)
#define BODY_BYTES (24u << 20)
#define AHEAD 16   /* instructions that lift_memo_ahead() examines */
#define SLACK 1024 /* forms and bodies that fit between two calls of lift_memo_rest() */

/* The micro-ops of a form for one set of live flags. */
struct body {
	uint32_t next; /* index of the body for another set; 0: none */
	uint16_t live;
	uint8_t n;
	bool each; /* the micro-ops must be lifted anew each time */
	/* bit i: imm of uop[i] counts from the end of the instruction; includes the
	 * displacement; includes the immediate */
	uint64_t from_end, has_disp, has_imm;
	struct uop uop[];
};

struct lift_memo {
	const uint8_t
		/* forms that lift_memo_ahead() found and that are not decoded yet */
		*ahead_at[AHEAD];
	struct guess ahead[AHEAD];
	uint32_t nahead, iahead;
	struct lift_form *form;
	uint32_t nform;
	uint8_t *body;
	uint32_t nbody;	 /* bytes of bodies */
	uint32_t *table; /* hash table by key: index in form; 0: none */
};

struct lift_memo *lift_memo_new(void)
{
	struct lift_memo *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->form = pages_new(FORMS * sizeof(*m->form));
	m->body = pages_new(BODY_BYTES);
	m->table = pages_new(sizeof(*m->table) << GUESS_HASH_BITS);
	if (!m->form || !m->body || !m->table) {
		lift_memo_free(m);
		return NULL;
	}
	m->nform = 1;
	m->nbody = 64;
	return m;
}

void lift_memo_free(struct lift_memo *m)
{
	if (!m)
		return;
	pages_free(m->form, FORMS * sizeof(*m->form));
	pages_free(m->body, BODY_BYTES);
	pages_free(m->table, sizeof(*m->table) << GUESS_HASH_BITS);
	free(m);
}

void lift_memo_rest(struct lift_memo *m)
{
	if (m->nform < FORMS - SLACK &&
	    m->nbody < BODY_BYTES - SLACK * (sizeof(struct body) + LIFT_MAX * sizeof(struct uop)))
		return;
	memset(m->table, 0, sizeof(*m->table) << GUESS_HASH_BITS);
	m->nform = 1;
	m->nbody = 64;
}

static struct lift_form *add_form(struct lift_memo *m, const struct insn *in)
{
	struct lift_form *f = &m->form[m->nform++];
	const ZydisAccessedFlags *z = in->z.cpu_flags;

	assert(m->nform < FORMS);
	*f = (struct lift_form){
		.fl_read = in->fl_read,
		.fl_written = in->fl_written,
		.len = in->len,
		.cls = in->cls,
		.access = in->access,
		.falls_through = insn_falls_through(in),
		.ends_block = insn_ends_block(in),
		.has_target = insn_has_target(in),
		.nop = in->z.mnemonic == ZYDIS_MNEMONIC_NOP,
	};
	f->fl_may = in->fl_written;
	if (z)
		f->fl_may |= (z->modified | z->set_0 | z->set_1 | z->undefined) & FL_STATUS;
	return f;
}

size_t lift_memo_ahead(struct lift_memo *m, const uint8_t *p, size_t n)
{
	uint32_t k = 0;
	size_t i = 0;

	while (k < AHEAD && i + GUESS_BYTES <= n) {
		m->ahead[k] = guess_insn(p + i);
		if (!m->ahead[k].len)
			break;
		m->ahead_at[k] = p + i;
		__builtin_prefetch(&m->table[m->ahead[k].hash]);
		i += m->ahead[k++].len;
	}
	for (uint32_t j = 0; j < k; j++)
		__builtin_prefetch(&m->form[m->table[m->ahead[j].hash]]);
	for (uint32_t j = 0; j < k; j++)
		__builtin_prefetch(m->body + m->form[m->table[m->ahead[j].hash]].body);
	m->nahead = k;
	m->iahead = 0;
	return i;
}

/* Finds the form of the key, or NULL; *at: its slot in the table, or the slot where it belongs. */
static struct lift_form *find_form(struct lift_memo *m, const struct guess *g, uint32_t *at)
{
	struct lift_form *f;

	for (*at = g->hash; m->table[*at]; *at = (*at + 1) & ((1u << GUESS_HASH_BITS) - 1)) {
		f = &m->form[m->table[*at]];
		if (f->key[0] == g->key[0] && f->key[1] == g->key[1])
			return f;
	}
	return NULL;
}

static void keep_form(struct lift_memo *m, struct lift_form *f, const struct guess *g, uint32_t at)
{
	memcpy(f->key, g->key, sizeof(g->key));
	f->disp_at = (uint8_t)g->disp_at;
	f->disp_size = (uint8_t)g->disp_size;
	f->imm_at = (uint8_t)g->imm_at;
	f->imm_size = (uint8_t)g->imm_size;
	f->of_rip = g->of_rip;
	m->table[at] = (uint32_t)(f - m->form);
}

static struct lift_values values_of(const struct guess *g, const uint8_t *p)
{
	return (struct lift_values){ guess_value(p + g->disp_at, g->disp_size),
				     guess_value(p + g->imm_at, g->imm_size) };
}

const struct lift_form *lift_memo_decode(struct lift_memo *m, const uint8_t *p, size_t n,
					 struct lift_values *v)
{
	uint8_t bytes[GUESS_BYTES] = { 0 };
	struct guess g;
	struct lift_form *f;
	struct insn in;
	uint32_t at = 0;

	if (m->iahead < m->nahead && m->ahead_at[m->iahead] == p) {
		g = m->ahead[m->iahead++];
	} else {
		if (n < GUESS_BYTES) {
			memcpy(bytes, p, n);
			p = bytes;
		}
		g = guess_insn(p);
	}
	if (g.len) {
		f = find_form(m, &g, &at);
		*v = values_of(&g, p);
		if (f && f->len <= n)
			return f;
	}
	if (!insn_decode(&in, p, n, 0))
		return NULL;
	f = add_form(m, &in);
	if (g.len && guess_is_right(&g, &in)) {
		keep_form(m, f, &g, at);
	} else {
		memcpy(f->key, p, in.len);
		*v = (struct lift_values){ 0, f->has_target ? (int64_t)in.target - in.len : 0 };
	}
	return f;
}

/* Decodes a form's instruction with those values. */
static void decode_form(const struct lift_form *f, uint64_t addr, struct lift_values v,
			struct insn *in)
{
	uint8_t bytes[16];
	int len;

	memcpy(bytes, f->key, sizeof(bytes));
	memcpy(bytes + f->disp_at, &v.disp, f->disp_size);
	memcpy(bytes + f->imm_at, &v.imm, f->imm_size);
	len = insn_decode(in, bytes, f->len, addr);
	assert(len == f->len);
	(void)len;
}

static bool same_but_imm(const struct uop *u, const struct uop *v)
{
	return u->op == v->op && u->flags == v->flags && u->dst == v->dst && u->a == v->a &&
	       u->b == v->b && u->c == v->c && u->rec == v->rec;
}

/* Finds the micro-ops of u[0 .. n) whose imm is larger by `by` in v; false if u and v differ
 * otherwise. */
static bool moved(const struct uop *u, const struct uop *v, int n, int nv, int64_t by,
		  uint64_t *which)
{
	*which = 0;
	if (n != nv)
		return false;
	for (int i = 0; i < n; i++) {
		if (!same_but_imm(&u[i], &v[i]))
			return false;
		if (u[i].imm == v[i].imm)
			continue;
		if (v[i].imm - u[i].imm != by)
			return false;
		*which |= 1ull << i;
	}
	return true;
}

static bool uses_bias(const struct uop *u, int n)
{
	for (int i = 0; i < n; i++)
		if (u[i].a == UR_BIAS || u[i].b == UR_BIAS)
			return true;
	return false;
}

/* Returns another value of the same kind and size. */
static int64_t other_value(int64_t v, uint32_t size)
{
	int64_t by = size == 1 ? 37 : 0x1234, half = size == 1 ? 64 : 0x4000;

	if (v < 0)
		return v > -half ? v - by : v + by;
	return v < half ? v + by : v - by;
}

/* Finds the micro-ops u[0 .. n), of the form at addr with values v, whose imm differs as v does
 * from w; false if they differ otherwise. */
static bool find_values(const struct lift_form *f, uint64_t addr, struct lift_values v,
			struct lift_values w, uint16_t live, const struct uop *u, int n,
			uint64_t *which)
{
	struct uop other[LIFT_MAX];
	struct insn in;
	int k;

	decode_form(f, addr, w, &in);
	k = lift_insn(&in, live, other);
	return moved(u, other, n, k, w.disp - v.disp + w.imm - v.imm, which);
}

static bool find_disp(const struct lift_form *f, uint64_t addr, struct lift_values v, uint16_t live,
		      const struct uop *u, int n, uint64_t *which)
{
	struct lift_values w = v;

	*which = 0;
	if (!f->disp_size || (!f->of_rip && guess_is_fixed(v.disp)))
		return true;
	w.disp = other_value(v.disp, f->disp_size);
	return find_values(f, addr, v, w, live, u, n, which);
}

/* The target of a branch is no part of its micro-ops. */
static bool find_imm(const struct lift_form *f, uint64_t addr, struct lift_values v, uint16_t live,
		     const struct uop *u, int n, uint64_t *which)
{
	struct lift_values w = v;

	*which = 0;
	if (!f->imm_size || f->has_target || guess_is_fixed(v.imm))
		return true;
	w.imm = other_value(v.imm, f->imm_size);
	return find_values(f, addr, v, w, live, u, n, which);
}

/* Finds the micro-ops of u (lifted at addr, with values v) that depend on the address and on the
 * values, by lifting with others. */
static bool find_moved(const struct lift_form *f, uint64_t addr, struct lift_values v,
		       uint16_t live, const struct uop *u, int n, struct body *b)
{
	struct uop other[LIFT_MAX];
	struct insn in;
	int k;

	b->from_end = 0;
	if (!find_disp(f, addr, v, live, u, n, &b->has_disp) ||
	    !find_imm(f, addr, v, live, u, n, &b->has_imm))
		return false;
	if (!uses_bias(u, n))
		return true;
	decode_form(f, addr + 0x12340, v, &in);
	k = lift_insn(&in, live, other);
	return moved(u, other, n, k, 0x12340, &b->from_end);
}

static struct body *body_at(struct lift_memo *m, uint32_t at)
{
	return at ? (struct body *)(void *)(m->body + at) : NULL;
}

/* Adds the values to each imm that counts from the end of the instruction or holds a value. */
static void add_values(const struct body *b, struct uop *u, int64_t end, struct lift_values v)
{
	uint64_t which;

	for (which = b->from_end; which; which &= which - 1)
		u[__builtin_ctzll(which)].imm += end;
	for (which = b->has_disp; which; which &= which - 1)
		u[__builtin_ctzll(which)].imm += v.disp;
	for (which = b->has_imm; which; which &= which - 1)
		u[__builtin_ctzll(which)].imm += v.imm;
}

/* Lifts a form for the first time with these flags. */
static int lift_new(struct lift_memo *m, struct lift_form *f, uint64_t addr, struct lift_values v,
		    uint16_t live, struct uop *out)
{
	struct body *b = body_at(m, m->nbody);
	struct insn in;
	int n;

	decode_form(f, addr, v, &in);
	n = lift_insn(&in, live, out);
	*b = (struct body){ .next = f->body, .live = live, .n = (uint8_t)n };
	f->body = m->nbody;
	b->each = !find_moved(f, addr, v, live, out, n, b);
	if (!b->each) {
		memcpy(b->uop, out, (size_t)n * sizeof(*out));
		add_values(b, b->uop, -(int64_t)(addr + f->len),
			   (struct lift_values){ -v.disp, -v.imm });
	}
	m->nbody += sizeof(*b) + (b->each ? 0 : (uint32_t)n * sizeof(b->uop[0]));
	assert(m->nbody < BODY_BYTES);
	return n;
}

int lift_memo_lift(struct lift_memo *m, const struct lift_form *f, uint64_t addr,
		   struct lift_values v, uint16_t fl_live, struct uop *out)
{
	uint16_t live = fl_live & f->fl_may;
	const struct body *b;
	struct insn in;

	for (b = body_at(m, f->body); b && b->live != live; b = body_at(m, b->next))
		;
	if (!b)
		return lift_new(m, &m->form[f - m->form], addr, v, live, out);
	if (b->each) {
		decode_form(f, addr, v, &in);
		return lift_insn(&in, live, out);
	}
	memcpy(out, b->uop, b->n * sizeof(*out));
	add_values(b, out, (int64_t)(addr + f->len), v);
	return b->n;
}
