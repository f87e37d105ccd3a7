/* SPDX-License-Identifier: MIT */
#include "cfg/expr.h"

#include <string.h>

#include "base/hash.h"
#include "x86/reg.h"

#define NOTHING UINT32_MAX

static uint64_t max_of(unsigned bytes)
{
	return bytes >= 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
}

static uint64_t sign_extended(uint64_t v, unsigned bytes)
{
	unsigned unused = 64 - 8 * bytes;

	return (uint64_t)((int64_t)(v << unused) >> unused);
}

/* Nodes of expressions. */

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

static uint32_t intern(struct expr_path *p, const struct expr *e)
{
	uint32_t at = hash(e);

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

static uint32_t other(struct expr_path *p)
{
	struct expr e = { .op = EXPR_OTHER, .c = p->others++, .hi = UINT64_MAX };

	return intern(p, &e);
}

static uint32_t constant(struct expr_path *p, uint64_t c)
{
	struct expr e = { .op = EXPR_SUM, .c = c, .lo = c, .hi = c };

	return intern(p, &e);
}

static bool is_constant(const struct expr_path *p, uint32_t node)
{
	return p->node[node].op == EXPR_SUM && !p->node[node].nterms;
}

struct expr expr_as_sum(const struct expr_path *p, uint32_t node)
{
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
	if (e->nterms == EXPR_TERMS)
		return false;
	memmove(&e->term[i + 1], &e->term[i], (size_t)(e->nterms++ - i) * sizeof(e->term[0]));
	e->term[i] = (struct expr_term){ coef, node };
	return true;
}

/* Bounds c + coef * x, where that does not wrap. */
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
	return intern(p, e);
}

/* Makes the node a + coef * b. */
static uint32_t add(struct expr_path *p, uint32_t a, uint64_t coef, uint32_t b)
{
	struct expr e = expr_as_sum(p, a), x = expr_as_sum(p, b);

	e.c += coef * x.c;
	for (int i = 0; i < x.nterms; i++)
		if (!add_term(&e, coef * x.term[i].coef, x.term[i].node))
			return other(p);
	return intern_sum(p, &e);
}

static uint32_t times(struct expr_path *p, uint32_t a, uint64_t coef)
{
	return add(p, constant(p, 0), coef, a);
}

static uint32_t zext(struct expr_path *p, uint32_t a, unsigned bytes)
{
	const struct expr *x = &p->node[a];
	struct expr e;

	if (x->hi <= max_of(bytes))
		return a;
	if (is_constant(p, a))
		return constant(p, x->c & max_of(bytes));
	if ((x->op == EXPR_ZEXT || x->op == EXPR_SEXT) && x->size >= bytes)
		return zext(p, x->a, bytes);
	e = (struct expr){ .op = EXPR_ZEXT, .size = (uint8_t)bytes, .a = a, .hi = max_of(bytes) };
	return intern(p, &e);
}

/* Makes a sum one term that can be an index: a sum of several terms, or one that was compared as
 * a whole. */
static uint32_t as_one(struct expr_path *p, uint32_t a)
{
	struct expr e = { .op = EXPR_ZEXT, .size = 8, .a = a, .hi = UINT64_MAX };

	return p->node[a].op == EXPR_SUM && (p->node[a].nterms > 1 || p->node[a].bounded)
		       ? intern(p, &e)
		       : a;
}

static uint32_t sext(struct expr_path *p, uint32_t a, unsigned bytes)
{
	const struct expr *x = &p->node[a];
	struct expr e;

	if (bytes >= 8 || x->hi <= max_of(bytes) / 2)
		return a;
	if (is_constant(p, a))
		return constant(p, sign_extended(x->c, bytes));
	if ((x->op == EXPR_ZEXT || x->op == EXPR_SEXT) && x->size >= bytes) {
		uint32_t low = zext(p, x->a, bytes);

		if (p->node[low].hi <= max_of(bytes) / 2)
			return low;
		a = x->a;
	}
	e = (struct expr){ .op = EXPR_SEXT, .size = (uint8_t)bytes, .a = a, .hi = UINT64_MAX };
	return intern(p, &e);
}

static uint32_t masked(struct expr_path *p, uint32_t a, uint64_t mask)
{
	struct expr e = { .op = EXPR_AND, .a = a, .c = mask, .hi = mask };

	if (is_constant(p, a))
		return constant(p, p->node[a].c & mask);
	if (mask == 0xff || mask == 0xffff || mask == 0xffffffff)
		return zext(p, a, mask == 0xff ? 1 : mask == 0xffff ? 2 : 4);
	if (p->node[a].hi < e.hi)
		e.hi = p->node[a].hi;
	e.bounded = mask <= 0xff;
	return intern(p, &e);
}

static uint32_t shifted(struct expr_path *p, uint32_t a, unsigned by)
{
	struct expr e = { .op = EXPR_SHR, .a = a, .c = by };

	if (by >= 64)
		return other(p);
	if (is_constant(p, a))
		return constant(p, p->node[a].c >> by);
	e.lo = p->node[a].lo >> by;
	e.hi = p->node[a].hi >> by;
	e.bounded = e.hi <= 0xff;
	return intern(p, &e);
}

/* Bounds of nodes. */

/* Bounds the node to [lo, hi], and its operands as far as that follows. */
static void limit(struct expr_path *p, uint32_t node, uint64_t lo, uint64_t hi)
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
			top = max_of(e->size);
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

/* Finds the node for the low `size` bytes of `node`, or NOTHING if there is none. */
static uint32_t find_low(const struct expr_path *p, uint32_t node, unsigned size)
{
	while ((p->node[node].op == EXPR_ZEXT || p->node[node].op == EXPR_SEXT) &&
	       p->node[node].size > size)
		node = p->node[node].a;
	if (p->node[node].hi <= max_of(size))
		return node;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->node[i].op == EXPR_ZEXT && p->node[i].size == size && p->node[i].a == node)
			return i;
	return NOTHING;
}

/* Bounds the low bytes of c + x by those of x, with wrap-around. */
static bool range_round(const struct expr_path *p, const struct expr *e, uint64_t *lo, uint64_t *hi)
{
	const struct expr *sum = &p->node[e->a];
	uint64_t max = max_of(e->size);
	uint32_t low;

	if (sum->op != EXPR_SUM || sum->nterms != 1 || sum->term[0].coef != 1)
		return false;
	low = find_low(p, sum->term[0].node, e->size);
	if (low == NOTHING || (!p->node[low].bounded && !p->node[low].lo))
		return false;
	*lo = (p->node[low].lo + sum->c) & max;
	*hi = (p->node[low].hi + sum->c) & max;
	if (*lo > *hi)
		*lo = 0; /* Compilers leave a check out where they know that it holds. */
	return true;
}

static bool range(const struct expr_path *p, uint32_t node, uint64_t *lo, uint64_t *hi, int depth)
{
	const struct expr *e = &p->node[node];
	uint64_t from, to, l = 0, h = UINT64_MAX;
	bool bounded = false;

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
		if (to <= (e->op == EXPR_SEXT ? max_of(e->size) / 2 : max_of(e->size))) {
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

/* Finds the low part of a node that was compared where the whole is used: then the upper part is
 * 0. */
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

/* Memory contents. */

static bool is_stack(const struct expr_path *p, const struct expr *sum)
{
	const struct expr *x = &p->node[sum->term[0].node];

	return sum->nterms == 1 && sum->term[0].coef == 1 && x->op == EXPR_INIT &&
	       (x->size == UR_RSP || x->size == UR_RBP);
}

static uint32_t load_constant(struct expr_path *p, uint64_t addr, unsigned size)
{
	struct cfg_source *src = &p->code->src;
	uint64_t v = 0;
	bool fixed = false;

	if (size > 8 || !src->data || !src->data(src->ctx, addr, &v, size, &fixed) || !fixed)
		return NOTHING;
	return constant(p, v);
}

/* Finds the value that was stored there; NOTHING: memory has its earlier contents. */
static uint32_t load_stored(struct expr_path *p, const struct expr *at, unsigned size)
{
	for (uint32_t i = p->nstores; i-- > 0;) {
		const struct expr_store *s = &p->store[i];
		struct expr to = expr_as_sum(p, s->addr);
		int64_t ahead = (int64_t)(at->c - to.c);

		if (to.term[0].node != at->term[0].node)
			continue;
		if (ahead == 0 && size <= s->size)
			return zext(p, s->value, size);
		if (ahead < s->size && -ahead < (int64_t)size)
			return other(p);
	}
	return NOTHING;
}

static uint32_t load(struct expr_path *p, uint32_t addr, unsigned size)
{
	struct expr e = { .op = EXPR_LOAD, .size = (uint8_t)size, .a = addr, .c = p->memory };
	struct expr at = expr_as_sum(p, addr);
	uint32_t v = NOTHING;

	if (size > 8)
		return other(p);
	if (is_constant(p, addr))
		v = load_constant(p, at.c, size);
	if (is_stack(p, &at)) {
		v = load_stored(p, &at, size);
		e.c = p->stack;
	}
	e.hi = max_of(size);
	return v != NOTHING ? v : intern(p, &e);
}

static void forget_stack(struct expr_path *p)
{
	p->nstores = 0;
	p->stack = ++p->others;
}

/* Finds an earlier load of the same place: a compiler that does not check the value again knew
 * of no store to it. */
static bool was_loaded(const struct expr_path *p, uint32_t addr)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->node[i].op == EXPR_LOAD && p->node[i].a == addr)
			return true;
	return false;
}

static void store(struct expr_path *p, uint32_t addr, unsigned size, uint32_t value)
{
	struct expr at = expr_as_sum(p, addr);

	if (!is_stack(p, &at)) {
		if (was_loaded(p, addr))
			p->memory = ++p->others;
		return;
	}
	if (p->nstores == EXPR_STORES)
		forget_stack(p);
	p->store[p->nstores++] = (struct expr_store){ addr, value, (uint8_t)size };
}

/* Operands of instructions. */

static uint32_t address(struct expr_path *p, const struct insn *in, const ZydisDecodedOperand *op)
{
	struct reg_part base = reg_part(op->mem.base), index = reg_part(op->mem.index);
	uint64_t disp = op->mem.disp.has_displacement ? (uint64_t)op->mem.disp.value : 0;
	uint32_t sum;

	if (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS)
		return other(p);
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		return constant(p, in->addr + in->len + disp);
	if ((op->mem.base != ZYDIS_REGISTER_NONE && (base.reg < 0 || base.width != 3)) ||
	    (op->mem.index != ZYDIS_REGISTER_NONE && (index.reg < 0 || index.width != 3)))
		return other(p);
	sum = constant(p, disp);
	if (base.reg >= 0)
		sum = add(p, sum, 1, p->reg[base.reg]);
	if (index.reg >= 0)
		sum = add(p, sum, op->mem.scale, as_one(p, p->reg[index.reg]));
	return sum;
}

static uint32_t read_operand(struct expr_path *p, const struct insn *in, int i)
{
	const ZydisDecodedOperand *op = &in->op[i];
	struct reg_part r;

	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return constant(p, op->imm.value.u & max_of(in->op[0].size / 8u));
	case ZYDIS_OPERAND_TYPE_REGISTER:
		r = reg_part(op->reg.value);
		return r.reg < 0 || r.high ? other(p) : zext(p, p->reg[r.reg], 1u << r.width);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return load(p, address(p, in, op), op->size / 8u);
	default:
		return other(p);
	}
}

static void write_operand(struct expr_path *p, const struct insn *in, int i, uint32_t value)
{
	const ZydisDecodedOperand *op = &in->op[i];
	struct reg_part r;

	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		store(p, address(p, in, op), op->size / 8u, value);
		return;
	}
	r = op->type == ZYDIS_OPERAND_TYPE_REGISTER ? reg_part(op->reg.value)
						    : (struct reg_part){ -1, 0, false };
	/* A register that is written in part is used as that part: its rest is taken as zero. */
	if (r.reg >= 0)
		p->reg[r.reg] = r.high ? other(p) : zext(p, value, 1u << r.width);
}

/* Effects of instructions. */

static void set_flags(struct expr_path *p, enum expr_flags kind, uint32_t a, uint32_t b,
		      unsigned size)
{
	p->flags = (uint8_t)kind;
	p->flags_a = a;
	p->flags_b = b;
	p->flags_size = (uint8_t)size;
}

/* Handles any other instruction: the registers it writes become unknown. */
static void step_other(struct expr_path *p, const struct insn *in)
{
	for (int r = 0; r < 16; r++)
		if (in->gpr_written >> r & 1)
			p->reg[r] = other(p);
	if (in->fl_written)
		p->flags = EXPR_FLAGS_OTHER;
	for (int i = 0; i < in->z.operand_count; i++)
		if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    in->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			store(p, address(p, in, &in->op[i]), in->op[i].size / 8u, other(p));
}

/* Handles a call. A caller-saved register that is used after it is taken to have survived:
 * compilers know what the callee preserves. */
static void step_call(struct expr_path *p)
{
	p->reg[UR_RAX] = other(p);
	p->reg[UR_RDX] = other(p);
	p->flags = EXPR_FLAGS_OTHER;
	p->memory = ++p->others;
	forget_stack(p);
}

static void step_push(struct expr_path *p, const struct insn *in)
{
	uint32_t value = read_operand(p, in, 0);

	p->reg[UR_RSP] = add(p, p->reg[UR_RSP], 1, constant(p, (uint64_t)-8));
	store(p, p->reg[UR_RSP], 8, in->op[0].size == 64 ? value : other(p));
}

static void step_pop(struct expr_path *p, const struct insn *in)
{
	uint32_t value = load(p, p->reg[UR_RSP], 8);

	p->reg[UR_RSP] = add(p, p->reg[UR_RSP], 1, constant(p, 8));
	write_operand(p, in, 0, value);
}

static void step_leave(struct expr_path *p)
{
	p->reg[UR_RSP] = add(p, p->reg[UR_RBP], 1, constant(p, 8));
	p->reg[UR_RBP] = load(p, p->reg[UR_RBP], 8);
}

/*
 * Bounds a
 *
 * b: no bit lies above the highest bit of both.
 */
static uint32_t joined(struct expr_path *p, uint32_t a, uint32_t b)
{
	struct expr e = { .op = EXPR_OTHER, .c = p->others++ };
	uint64_t lo, hi, more;
	bool bounded = range(p, a, &lo, &hi, 0);

	e.bounded = range(p, b, &lo, &more, 0) && bounded;
	e.hi = hi | more;
	for (unsigned by = 1; by < 64; by *= 2)
		e.hi |= e.hi >> by;
	return intern(p, &e);
}

/* Handles add, sub, and, xor and similar instructions of two operands. */
static void step_binary(struct expr_path *p, const struct insn *in)
{
	unsigned size = in->op[0].size / 8u;
	uint32_t a = read_operand(p, in, 0), b = read_operand(p, in, 1), v;
	bool same = in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    in->op[0].reg.value == in->op[1].reg.value;

	if (in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && size == 8)
		b = constant(p, in->op[1].imm.value.u);
	p->flags = EXPR_FLAGS_OTHER;
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		v = add(p, a, 1, b);
		break;
	case ZYDIS_MNEMONIC_SUB:
		set_flags(p, EXPR_FLAGS_COMPARE, a, b, size);
		v = same ? constant(p, 0) : add(p, a, (uint64_t)-1, b);
		break;
	case ZYDIS_MNEMONIC_AND:
		set_flags(p, EXPR_FLAGS_TEST, a, b, size);
		v = is_constant(p, b)	? masked(p, a, p->node[b].c)
		    : is_constant(p, a) ? masked(p, b, p->node[a].c)
					: other(p);
		break;
	case ZYDIS_MNEMONIC_OR:
		v = same ? a : joined(p, a, b);
		break;
	default:
		v = same && in->z.mnemonic == ZYDIS_MNEMONIC_XOR ? constant(p, 0) : other(p);
		break;
	}
	write_operand(p, in, 0, zext(p, v, size));
}

static void step_shift(struct expr_path *p, const struct insn *in)
{
	unsigned size = in->op[0].size / 8u;
	uint32_t a = read_operand(p, in, 0), v = other(p);
	uint64_t by = in->op[1].imm.value.u & (size == 8 ? 63 : 31);

	p->flags = EXPR_FLAGS_OTHER;
	if (in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		v = in->z.mnemonic == ZYDIS_MNEMONIC_SHR ? shifted(p, a, (unsigned)by)
							 : times(p, a, 1ull << by);
	write_operand(p, in, 0, zext(p, v, size));
}

static void step_move(struct expr_path *p, const struct insn *in)
{
	unsigned to = in->op[0].size / 8u, from = in->op[1].size / 8u;
	uint32_t v = read_operand(p, in, 1);

	if (in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		v = constant(p, in->op[1].imm.value.u & max_of(to));
	if (in->z.mnemonic == ZYDIS_MNEMONIC_MOVSX || in->z.mnemonic == ZYDIS_MNEMONIC_MOVSXD)
		v = zext(p, sext(p, v, from), to);
	write_operand(p, in, 0, v);
}

static void step_one(struct expr_path *p, const struct insn *in, uint64_t by)
{
	uint32_t a = read_operand(p, in, 0);

	p->flags = EXPR_FLAGS_OTHER;
	write_operand(p, in, 0, zext(p, add(p, a, 1, constant(p, by)), in->op[0].size / 8u));
}

void expr_step(struct expr_path *p, const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		step_move(p, in);
		return;
	case ZYDIS_MNEMONIC_LEA:
		write_operand(p, in, 0, address(p, in, &in->op[1]));
		return;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_OR:
		step_binary(p, in);
		return;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
		step_shift(p, in);
		return;
	case ZYDIS_MNEMONIC_INC:
		step_one(p, in, 1);
		return;
	case ZYDIS_MNEMONIC_DEC:
		step_one(p, in, (uint64_t)-1);
		return;
	case ZYDIS_MNEMONIC_CMP:
		set_flags(p, EXPR_FLAGS_COMPARE, read_operand(p, in, 0), read_operand(p, in, 1),
			  in->op[0].size / 8u);
		return;
	case ZYDIS_MNEMONIC_TEST:
		set_flags(p, EXPR_FLAGS_TEST, read_operand(p, in, 0), read_operand(p, in, 1),
			  in->op[0].size / 8u);
		return;
	case ZYDIS_MNEMONIC_CDQE:
		p->reg[UR_RAX] = sext(p, zext(p, p->reg[UR_RAX], 4), 4);
		return;
	case ZYDIS_MNEMONIC_CWDE:
		p->reg[UR_RAX] = zext(p, sext(p, zext(p, p->reg[UR_RAX], 2), 2), 4);
		return;
	case ZYDIS_MNEMONIC_PUSH:
		step_push(p, in);
		return;
	case ZYDIS_MNEMONIC_POP:
		step_pop(p, in);
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		step_leave(p);
		return;
	default:
		break;
	}
	if (in->z.meta.category == ZYDIS_CATEGORY_SETCC) {
		struct expr bit = { .op = EXPR_OTHER, .c = p->others++, .hi = 1, .bounded = true };

		write_operand(p, in, 0, intern(p, &bit));
	} else if (in->cls == INSN_CALL || in->cls == INSN_ICALL)
		step_call(p);
	else if (in->cls < INSN_BRANCH || in->cls == INSN_SYSCALL)
		step_other(p, in);
}

/* Conditions of branches. */

enum relation {
	BELOW,
	BELOW_EQUAL,
	EQUAL,
	NOT_BELOW,
	NOT_BELOW_EQUAL,
	NOT_EQUAL,
	NO_RELATION,
};

static enum relation relation(const struct insn *in, bool taken)
{
	static const enum relation inverse[] = { NOT_BELOW,   NOT_BELOW_EQUAL, NOT_EQUAL,  BELOW,
						 BELOW_EQUAL, EQUAL,	       NO_RELATION };
	enum relation r;

	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_JB:
		r = BELOW;
		break;
	case ZYDIS_MNEMONIC_JBE:
		r = BELOW_EQUAL;
		break;
	case ZYDIS_MNEMONIC_JZ:
		r = EQUAL;
		break;
	case ZYDIS_MNEMONIC_JNB:
		r = NOT_BELOW;
		break;
	case ZYDIS_MNEMONIC_JNBE:
		r = NOT_BELOW_EQUAL;
		break;
	case ZYDIS_MNEMONIC_JNZ:
		r = NOT_EQUAL;
		break;
	default:
		return NO_RELATION;
	}
	return taken ? r : inverse[r];
}

/* Bounds x by its unsigned relation to c. */
static void limit_by(struct expr_path *p, uint32_t x, enum relation r, uint64_t c, uint64_t max)
{
	switch (r) {
	case BELOW:
		if (c)
			limit(p, x, 0, c - 1);
		break;
	case BELOW_EQUAL:
		limit(p, x, 0, c);
		break;
	case EQUAL:
		limit(p, x, c, c);
		break;
	case NOT_BELOW:
		limit(p, x, c, max);
		break;
	case NOT_BELOW_EQUAL:
		if (c < max)
			limit(p, x, c + 1, max);
		break;
	default:
		break;
	}
}

void expr_branch(struct expr_path *p, const struct insn *in, bool taken)
{
	static const enum relation swapped[] = { NOT_BELOW_EQUAL, NOT_BELOW, EQUAL,
						 BELOW_EQUAL,	  BELOW,     NOT_EQUAL,
						 NO_RELATION };
	enum relation r = relation(in, taken);
	uint32_t a = p->flags_a, b = p->flags_b;
	uint64_t max = max_of(p->flags_size), mask;

	if (r == NO_RELATION || p->flags == EXPR_FLAGS_OTHER)
		return;
	if (p->flags == EXPR_FLAGS_COMPARE) {
		if (is_constant(p, b))
			limit_by(p, a, r, p->node[b].c & max, max);
		else if (is_constant(p, a))
			limit_by(p, b, swapped[r], p->node[a].c & max, max);
		return;
	}
	if (a == b && r == EQUAL)
		limit(p, a, 0, 0);
	/* equality with 0 says that all masked bits are clear */
	if (!is_constant(p, b) || r != EQUAL)
		return;
	mask = ~p->node[b].c & max;
	if (!(mask & (mask + 1)))
		limit(p, a, 0, mask);
}

void expr_begin(struct expr_path *p, struct cfg_code *code, uint16_t known, const uint64_t *value)
{
	p->code = code;
	p->n = 0;
	memset(p->hash, 0, sizeof(p->hash));
	p->flags = EXPR_FLAGS_OTHER;
	p->nstores = 0;
	p->memory = p->stack = 0;
	p->others = 1;
	p->full = false;
	for (int r = 0; r < 16; r++) {
		struct expr e = { .op = EXPR_INIT, .size = (uint8_t)r, .hi = UINT64_MAX };

		p->reg[r] = known >> r & 1 ? constant(p, value[r]) : intern(p, &e);
	}
}

uint32_t expr_target(struct expr_path *p, const struct insn *in)
{
	return read_operand(p, in, 0);
}
