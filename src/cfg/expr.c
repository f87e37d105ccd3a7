/* SPDX-License-Identifier: MIT */
/* Expressions: how they are made, and their bounds. */
#include "cfg/expr_priv.h"

#include <string.h>

#include "base/hash.h"
#include "base/invariant.h"

static uint64_t sign_extended(uint64_t v, unsigned bytes)
{
	unsigned unused = 64 - 8 * bytes;

	return (uint64_t)((int64_t)(v << unused) >> unused);
}

static uint32_t hash(const struct expr *e)
{
	uint64_t h = e->op | (uint64_t)e->size << 8 | (uint64_t)e->a << 16;

	h = hash_mix(h ^ e->c);
	for (int i = 0; i < e->nterms; i++)
		h = hash_mix(h ^ e->term[i].node ^ e->term[i].coef << 20);
	return (uint32_t)(h >> 54);
}

static bool is_same(const struct expr *a, const struct expr *b)
{
	if (a->op != b->op || a->size != b->size || a->a != b->a || a->c != b->c ||
	    a->nterms != b->nterms)
		return false;
	for (int i = 0; i < a->nterms; i++)
		if (a->term[i].node != b->term[i].node || a->term[i].coef != b->term[i].coef)
			return false;
	return true;
}

/* Checks that an expression is made of nodes that exist, and a sum of sorted terms. */
static void check(const struct expr_path *p, const struct expr *e)
{
	invariant(e->op <= EXPR_OTHER && e->nterms <= EXPR_TERMS && e->size <= 15);
	invariant(e->op == EXPR_SUM || !e->nterms);
	invariant(e->op == EXPR_SUM || e->op == EXPR_INIT || e->op == EXPR_OTHER || e->a < p->n);
	invariant(e->op == EXPR_INIT || e->size <= 8);
	for (int i = 0; i < e->nterms; i++) {
		invariant(e->term[i].node < p->n && e->term[i].coef);
		invariant(!i || e->term[i - 1].node < e->term[i].node);
	}
}

uint32_t expr_intern(struct expr_path *p, const struct expr *e)
{
	uint32_t at = hash(e);

	check(p, e);
	for (; p->hash[at]; at = (at + 1) % 1024)
		if (is_same(&p->node[p->hash[at] - 1], e))
			return p->hash[at] - 1u;
	if (p->n == EXPR_NODES) {
		p->full = true;
		return 0;
	}
	p->node[p->n] = *e;
	p->hash[at] = (uint16_t)++p->n;
	return p->n - 1;
}

uint32_t expr_other(struct expr_path *p)
{
	struct expr e = { .op = EXPR_OTHER, .c = p->others++, .hi = UINT64_MAX };

	return expr_intern(p, &e);
}

uint32_t expr_constant(struct expr_path *p, uint64_t c)
{
	struct expr e = { .op = EXPR_SUM, .c = c, .lo = c, .hi = c };

	return expr_intern(p, &e);
}

bool expr_is_constant(const struct expr_path *p, uint32_t node)
{
	return p->node[node].op == EXPR_SUM && !p->node[node].nterms;
}

struct expr expr_as_sum(const struct expr_path *p, uint32_t node)
{
	invariant(node < p->n);
	if (p->node[node].op == EXPR_SUM)
		return p->node[node];
	return (struct expr){ .op = EXPR_SUM, .nterms = 1, .term = { { 1, node } } };
}

/* Adds coef * node; false: the sum has too many terms. */
static bool add_term(struct expr *e, uint64_t coef, uint32_t node)
{
	int i = 0;

	while (i < e->nterms && e->term[i].node < node)
		i++;
	if (i < e->nterms && e->term[i].node == node) {
		e->term[i].coef += coef;
		if (e->term[i].coef)
			return true;
		memmove(&e->term[i], &e->term[i + 1],
			(size_t)(--e->nterms - i) * sizeof(e->term[0]));
		e->term[e->nterms] = (struct expr_term){ 0, 0 };
		return true;
	}
	invariant(i == e->nterms || e->term[i].node > node);
	if (e->nterms == EXPR_TERMS)
		return false;
	memmove(&e->term[i + 1], &e->term[i], (size_t)(e->nterms++ - i) * sizeof(e->term[0]));
	e->term[i] = (struct expr_term){ coef, node };
	return true;
}

/* Bounds c + coef * x, if that does not wrap. */
static void bound_sum(const struct expr_path *p, struct expr *e)
{
	const struct expr *x;
	uint64_t lo, hi;

	e->lo = 0;
	e->hi = UINT64_MAX;
	if (!e->nterms)
		e->lo = e->hi = e->c;
	if (e->nterms != 1)
		return;
	x = &p->node[e->term[0].node];
	if (__builtin_mul_overflow(x->hi, e->term[0].coef, &hi) ||
	    __builtin_add_overflow(hi, e->c, &hi))
		return;
	lo = x->lo * e->term[0].coef + e->c;
	e->lo = lo;
	e->hi = hi;
	e->bounded = x->bounded;
}

static uint32_t intern_sum(struct expr_path *p, struct expr *e)
{
	if (e->nterms == 1 && e->term[0].coef == 1 && !e->c)
		return e->term[0].node;
	e->op = EXPR_SUM;
	e->bounded = false;
	bound_sum(p, e);
	return expr_intern(p, e);
}

uint32_t expr_add(struct expr_path *p, uint32_t a, uint64_t coef, uint32_t b)
{
	struct expr e = expr_as_sum(p, a), x = expr_as_sum(p, b);

	e.c += coef * x.c;
	for (int i = 0; i < x.nterms; i++)
		if (!add_term(&e, coef * x.term[i].coef, x.term[i].node))
			return expr_other(p);
	return intern_sum(p, &e);
}

uint32_t expr_times(struct expr_path *p, uint32_t a, uint64_t coef)
{
	return expr_add(p, expr_constant(p, 0), coef, a);
}

uint32_t expr_zext(struct expr_path *p, uint32_t a, unsigned bytes)
{
	const struct expr *x = &p->node[a];
	struct expr e;

	if (x->hi <= expr_max(bytes))
		return a;
	if (expr_is_constant(p, a))
		return expr_constant(p, x->c & expr_max(bytes));
	if ((x->op == EXPR_ZEXT || x->op == EXPR_SEXT) && x->size >= bytes)
		return expr_zext(p, x->a, bytes);
	e = (struct expr){ .op = EXPR_ZEXT, .size = (uint8_t)bytes, .a = a, .hi = expr_max(bytes) };
	return expr_intern(p, &e);
}

uint32_t expr_as_one(struct expr_path *p, uint32_t a)
{
	struct expr e = { .op = EXPR_ZEXT, .size = 8, .a = a, .hi = UINT64_MAX };

	return p->node[a].op == EXPR_SUM && (p->node[a].nterms > 1 || p->node[a].bounded)
		       ? expr_intern(p, &e)
		       : a;
}

uint32_t expr_sext(struct expr_path *p, uint32_t a, unsigned bytes)
{
	const struct expr *x = &p->node[a];
	struct expr e;

	if (bytes >= 8 || x->hi <= expr_max(bytes) / 2)
		return a;
	if (expr_is_constant(p, a))
		return expr_constant(p, sign_extended(x->c, bytes));
	if ((x->op == EXPR_ZEXT || x->op == EXPR_SEXT) && x->size >= bytes) {
		uint32_t low = expr_zext(p, x->a, bytes);

		if (p->node[low].hi <= expr_max(bytes) / 2)
			return low;
		a = x->a;
	}
	e = (struct expr){ .op = EXPR_SEXT, .size = (uint8_t)bytes, .a = a, .hi = UINT64_MAX };
	return expr_intern(p, &e);
}

uint32_t expr_masked(struct expr_path *p, uint32_t a, uint64_t mask)
{
	struct expr e = { .op = EXPR_AND, .a = a, .c = mask, .hi = mask };

	if (expr_is_constant(p, a))
		return expr_constant(p, p->node[a].c & mask);
	if (mask == 0xff || mask == 0xffff || mask == 0xffffffff)
		return expr_zext(p, a, mask == 0xff ? 1 : mask == 0xffff ? 2 : 4);
	if (p->node[a].hi < e.hi)
		e.hi = p->node[a].hi;
	e.bounded = mask <= 0xff;
	return expr_intern(p, &e);
}

uint32_t expr_shifted(struct expr_path *p, uint32_t a, unsigned by)
{
	struct expr e = { .op = EXPR_SHR, .a = a, .c = by };

	if (by >= 64)
		return expr_other(p);
	if (expr_is_constant(p, a))
		return expr_constant(p, p->node[a].c >> by);
	e.lo = p->node[a].lo >> by;
	e.hi = p->node[a].hi >> by;
	e.bounded = e.hi <= 0xff;
	return expr_intern(p, &e);
}

/* Bounds of nodes. */

void expr_limit(struct expr_path *p, uint32_t node, uint64_t lo, uint64_t hi)
{
	for (int depth = 0; depth < 8; depth++) {
		struct expr *e = &p->node[node], sum;
		uint64_t top = UINT64_MAX;

		if (e->op == EXPR_SUM && !e->nterms)
			return;
		if (lo > e->lo)
			e->lo = lo;
		if (hi < e->hi) {
			e->hi = hi;
			e->bounded = true;
		}
		lo = e->lo;
		hi = e->hi;
		if (e->op == EXPR_ZEXT) { /* a bound of the sum c + x bounds x, within the size */
			top = expr_max(e->size);
			node = e->a;
		}
		sum = expr_as_sum(p, node);
		if (sum.nterms != 1 || sum.term[0].coef != 1 || (!sum.c && top == UINT64_MAX))
			return;
		node = sum.term[0].node;
		if (p->node[node].hi > top)
			return;
		lo = (lo - sum.c) & top;
		hi = (hi - sum.c) & top;
		if (lo > hi)
			return;
	}
}

#define RANGE_DEPTH 8
#define LOOKUP_MAX 1024 /* largest number of entries */

static bool range(const struct expr_path *p, uint32_t node, uint64_t *lo, uint64_t *hi, int depth);

/* Bounds a value loaded from a table of constants by a bounded index: the smallest and largest
 * entry. */
static bool range_loaded(const struct expr_path *p, const struct expr *e, uint64_t *lo,
			 uint64_t *hi, int depth)
{
	struct expr at = expr_as_sum(p, e->a);
	struct cfg_source *src = &p->code->src;
	uint64_t from, to, v = 0;
	bool fixed = false;

	if (e->size > 2 || at.nterms != 1 || at.term[0].coef != e->size || !src->data ||
	    !range(p, at.term[0].node, &from, &to, depth + 1) || to - from >= LOOKUP_MAX)
		return false;
	*lo = UINT64_MAX;
	*hi = 0;
	for (uint64_t i = from; i <= to; i++) {
		if (!src->data(src->ctx, at.c + i * e->size, &v, e->size, &fixed) || !fixed)
			return false;
		*lo = v < *lo ? v : *lo;
		*hi = v > *hi ? v : *hi;
	}
	return true;
}

/* Finds the node for the low `size` bytes of `node`, or EXPR_NONE if there is none. */
static uint32_t find_low(const struct expr_path *p, uint32_t node, unsigned size)
{
	while ((p->node[node].op == EXPR_ZEXT || p->node[node].op == EXPR_SEXT) &&
	       p->node[node].size > size)
		node = p->node[node].a;
	if (p->node[node].hi <= expr_max(size))
		return node;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->node[i].op == EXPR_ZEXT && p->node[i].size == size && p->node[i].a == node)
			return i;
	return EXPR_NONE;
}

/* Bounds the low bytes of c + x by those of x, with wrap-around. */
static bool range_round(const struct expr_path *p, const struct expr *e, uint64_t *lo, uint64_t *hi)
{
	const struct expr *sum = &p->node[e->a];
	uint64_t max = expr_max(e->size);
	uint32_t low;

	if (sum->op != EXPR_SUM || sum->nterms != 1 || sum->term[0].coef != 1)
		return false;
	low = find_low(p, sum->term[0].node, e->size);
	if (low == EXPR_NONE || (!p->node[low].bounded && !p->node[low].lo))
		return false;
	*lo = (p->node[low].lo + sum->c) & max;
	*hi = (p->node[low].hi + sum->c) & max;
	if (*lo > *hi)
		*lo = 0; /* Compilers leave a check out where they know its result. */
	return true;
}

static bool range(const struct expr_path *p, uint32_t node, uint64_t *lo, uint64_t *hi, int depth)
{
	const struct expr *e = &p->node[node];
	uint64_t from, to, l = 0, h = UINT64_MAX;
	bool bounded = false;

	invariant(node < p->n && depth <= RANGE_DEPTH);
	*lo = e->lo;
	*hi = e->hi;
	if (depth == RANGE_DEPTH)
		return e->bounded;
	switch (e->op) {
	case EXPR_ZEXT:
	case EXPR_SEXT:
		if (e->op == EXPR_ZEXT && range_round(p, e, &l, &h)) {
			bounded = true;
			break;
		}
		bounded = range(p, e->a, &from, &to, depth + 1);
		if (to <= (e->op == EXPR_SEXT ? expr_max(e->size) / 2 : expr_max(e->size))) {
			l = from;
			h = to;
		}
		break;
	case EXPR_LOAD:
		if (range_loaded(p, e, &from, &to, depth)) {
			bounded = true;
			l = from;
			h = to;
		}
		break;
	case EXPR_SHR:
		bounded = range(p, e->a, &from, &to, depth + 1);
		l = from >> e->c;
		h = to >> e->c;
		break;
	case EXPR_SUM:
		if (e->nterms != 1)
			break;
		bounded = range(p, e->term[0].node, &from, &to, depth + 1);
		if (!__builtin_mul_overflow(to, e->term[0].coef, &to) &&
		    !__builtin_add_overflow(to, e->c, &to)) {
			l = from * e->term[0].coef + e->c;
			h = to;
		}
		break;
	default:
		break;
	}
	bounded = e->bounded || (bounded && (h < e->hi || e->op == EXPR_LOAD || e->size == 8));
	*lo = l > e->lo ? l : e->lo;
	*hi = h < e->hi ? h : e->hi;
	return bounded;
}

/* Finds the low part of a node that was compared, where the whole node is used: then the upper part
 * is 0. */
static uint32_t low_part(const struct expr_path *p, uint32_t node)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->node[i].op == EXPR_ZEXT && p->node[i].a == node && p->node[i].bounded)
			return i;
	return node;
}

bool expr_range(const struct expr_path *p, uint32_t node, uint64_t *lo, uint64_t *hi)
{
	if (range(p, node, lo, hi, 0))
		return true;
	return range(p, low_part(p, node), lo, hi, 0);
}

uint32_t expr_joined(struct expr_path *p, uint32_t a, uint32_t b)
{
	struct expr e = { .op = EXPR_OTHER, .c = p->others++ };
	uint64_t lo, hi, more;
	bool bounded = range(p, a, &lo, &hi, 0);

	e.bounded = range(p, b, &lo, &more, 0) && bounded;
	e.hi = hi | more;
	for (unsigned by = 1; by < 64; by *= 2)
		e.hi |= e.hi >> by;
	return expr_intern(p, &e);
}
