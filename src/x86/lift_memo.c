/* SPDX-License-Identifier: MIT */
#include "x86/lift_memo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/pages.h"

#define TABLE_BITS 18
#define FORMS (1u << 17)
#define BODY_BYTES (24u << 20)
#define LOOK 24	   /* bytes that are read to look at an instruction */
#define AHEAD 16   /* instructions that lift_memo_ahead() looks at */
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

/* The result of looking at an instruction's bytes. */
struct guess {
	uint32_t len; /* length in bytes; 0: not known */
	uint32_t disp_at, disp_size, imm_at, imm_size;
	bool of_rip, branches;
	uint32_t hash;
	uint64_t key[2];
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
	m->table = pages_new(sizeof(*m->table) << TABLE_BITS);
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
	pages_free(m->table, sizeof(*m->table) << TABLE_BITS);
	free(m);
}

void lift_memo_rest(struct lift_memo *m)
{
	if (m->nform < FORMS - SLACK &&
	    m->nbody < BODY_BYTES - SLACK * (sizeof(struct body) + LIFT_MAX * sizeof(struct uop)))
		return;
	memset(m->table, 0, sizeof(*m->table) << TABLE_BITS);
	m->nform = 1;
	m->nbody = 64;
}

/*
 * A guess at an instruction's length and at the position of its values, from opcode maps alone. A
 * wrong guess is not kept, so the maps need not be complete, but the guess must depend only on the
 * bytes of that length.
 */

enum {
	MODRM = 0x40,
	IMM8 = 1,
	IMM16,
	IMMZ,
	IMMV,
	ENTER,
	REL8,
	REL32,
	NOT = 0x20
};

static uint8_t one_byte(uint8_t op)
{
	if (op < 0x40) {
		switch (op & 7) {
		case 4:
			return IMM8;
		case 5:
			return IMMZ;
		case 6:
		case 7:
			return NOT;
		default:
			return MODRM;
		}
	}
	switch (op) {
	case 0x50 ... 0x5f:
	case 0x90 ... 0x99:
	case 0x9b ... 0x9f:
	case 0xa4 ... 0xa7:
	case 0xaa ... 0xaf:
	case 0xc3:
	case 0xc9:
	case 0xcb ... 0xcc:
	case 0xf4:
	case 0xf5:
	case 0xf8 ... 0xfd:
		return 0;
	case 0x63:
	case 0x84 ... 0x8e:
	case 0xd0 ... 0xd3:
	case 0xd8 ... 0xdf:
	case 0xfe:
	case 0xff:
		return MODRM;
	case 0x68:
	case 0xa9:
		return IMMZ;
	case 0x6a:
	case 0xa8:
	case 0xb0 ... 0xb7:
		return IMM8;
	case 0x69:
	case 0x81:
	case 0xc7:
	case 0xf7: /* guess_length() decides between the two shapes of F6 and F7 */
		return MODRM | IMMZ;
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xf6:
		return MODRM | IMM8;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
	case 0xeb:
		return REL8;
	case 0xb8 ... 0xbf:
		return IMMV;
	case 0xc2:
		return IMM16;
	case 0xe8:
	case 0xe9:
		return REL32;
	default:
		return NOT;
	}
}

static uint8_t two_byte(uint8_t op)
{
	switch (op) {
	case 0x05:
	case 0x0b:
	case 0x31:
	case 0x77:
	case 0xa2:
	case 0xc8 ... 0xcf:
		return 0;
	case 0x80 ... 0x8f:
		return REL32;
	case 0x70 ... 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4 ... 0xc6:
		return MODRM | IMM8;
	case 0x10 ... 0x1f:
	case 0x28 ... 0x2f:
	case 0x40 ... 0x6f:
	case 0x74 ... 0x76:
	case 0x7c ... 0x7f:
	case 0x90 ... 0x9f:
	case 0xa3:
	case 0xa5:
	case 0xab:
	case 0xad ... 0xb9:
	case 0xbb ... 0xc1:
	case 0xc3:
	case 0xc7:
	case 0xd0 ... 0xff:
		return MODRM;
	default:
		return NOT;
	}
}

/* The prefixes of an opcode, and their effect. */
struct prefixes {
	bool small, wide; /* operand size: prefix 66, REX.W */
	bool one;	  /* the opcode is in the first map */
	bool scaled;	  /* EVEX: a one-byte displacement counts elements */
};

/* The shape of the opcode after prefixes; *at: past the opcode. */
static uint8_t shape_of(const uint8_t *p, uint32_t *at, struct prefixes *x)
{
	static uint8_t one[256], two[256];
	static bool ready;
	uint32_t i = 0, map;

	if (!ready) {
		for (uint32_t op = 0; op < 256; op++) {
			one[op] = one_byte((uint8_t)op);
			two[op] = two_byte((uint8_t)op);
		}
		ready = true;
	}
	*x = (struct prefixes){ 0 };
	while (i < 4 && (p[i] == 0x66 || p[i] == 0xf2 || p[i] == 0xf3 || p[i] == 0x2e ||
			 p[i] == 0x3e || p[i] == 0x64 || p[i] == 0x65)) {
		x->small |= p[i] == 0x66;
		i++;
	}
	if (p[i] == 0xc5 || p[i] == 0xc4 || p[i] == 0x62) { /* VEX, EVEX */
		x->scaled = p[i] == 0x62;
		map = p[i] == 0xc5 ? 1 : p[i + 1] & (p[i] == 0xc4 ? 31 : 7);
		i += p[i] == 0xc5 ? 2 : p[i] == 0xc4 ? 3 : 4;
		*at = i + 1;
		if (map == 1)
			return (two[p[i]] & 7) < REL8 ? two[p[i]] : NOT;
		return map == 2 ? MODRM : map == 3 ? MODRM | IMM8 : NOT;
	}
	if ((p[i] & 0xf0) == 0x40)
		x->wide = p[i++] >> 3 & 1;
	if (p[i] != 0x0f) {
		x->one = true;
		*at = i + 1;
		return one[p[i]];
	}
	if (p[i + 1] == 0x38 || p[i + 1] == 0x3a) {
		*at = i + 3;
		return p[i + 1] == 0x38 ? MODRM : MODRM | IMM8;
	}
	*at = i + 2;
	return two[p[i + 1]];
}

/* Locates the displacement; i: past the ModRM byte. Returns where it ends. */
static uint32_t guess_disp(struct guess *g, const uint8_t *p, uint32_t i)
{
	uint8_t modrm = p[i - 1], mod = modrm >> 6, rm = modrm & 7;
	uint32_t size = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	if (mod == 3)
		return i;
	if (mod == 0 && rm == 5) {
		g->of_rip = true;
		size = 4;
	} else if (rm == 4) {
		if (mod == 0 && (p[i] & 7) == 5)
			size = 4;
		i++;
	}
	g->disp_at = i;
	g->disp_size = size;
	return i + size;
}

/* Whether the micro-ops of an instruction hold its immediate unchanged. Other immediates (shift
 * counts, selectors of vector elements) may have any effect. */
static bool is_plain(uint8_t op)
{
	return op < 0x40 || (op >= 0x68 && op <= 0x6b) || (op >= 0x80 && op <= 0x83) ||
	       op == 0xa8 || op == 0xa9 || (op >= 0xb0 && op <= 0xbf) || op == 0xc6 || op == 0xc7 ||
	       op == 0xf6 || op == 0xf7;
}

static uint32_t imm_bytes(uint8_t kind, const struct prefixes *x)
{
	static const uint8_t size[8] = { 0, 1, 2, 4, 4, 3, 1, 4 };

	if (kind == IMMZ && x->small)
		return 2;
	if (kind == IMMV)
		return x->wide ? 8 : x->small ? 2 : 4;
	return size[kind];
}

/* p: 16 bytes. */
static struct guess guess_length(const uint8_t *p)
{
	struct guess g = { 0 };
	struct prefixes x;
	uint32_t i, size;
	uint8_t shape = shape_of(p, &i, &x), kind = shape & 7, op;

	if (shape & NOT)
		return g;
	op = p[i - 1];
	if (shape & MODRM) {
		uint8_t modrm = p[i++];

		if ((op == 0xf6 || op == 0xf7) && kind && (modrm >> 3 & 7) > 1)
			kind = 0;
		i = guess_disp(&g, p, i);
		if (x.scaled && g.disp_size == 1)
			g.disp_size = 0;
	}
	size = imm_bytes(kind, &x);
	g.branches = kind >= REL8;
	if (g.branches || (size && x.one && is_plain(op))) {
		g.imm_at = i;
		g.imm_size = size;
	}
	g.len = i + size;
	if (g.len > INSN_MAX_LEN)
		g.len = 0;
	return g;
}

/* The value of `size` bytes at p, sign-extended; 0 of 0 bytes. */
static int64_t value_of(const uint8_t *p, uint32_t size)
{
	int64_t v = 0;

	if (!size)
		return 0;
	memcpy(&v, p, 8);
	return (int64_t)((uint64_t)v << (64 - 8 * size)) >> (64 - 8 * size);
}

/*
 * Kinds of values that lifting may treat differently. In the key, the kind takes the place of the
 * value's first byte. All values of one kind have the same size and sign, so that zero- or
 * sign-extension changes them alike.
 */
enum {
	VALUE_ZERO,
	VALUE_POSITIVE,
	VALUE_NEGATIVE,
	VALUE_ONE,
	VALUE_MINUS_ONE
};

static uint8_t kind_of_value(int64_t v)
{
	if (v == 0)
		return VALUE_ZERO;
	if (v == 1)
		return VALUE_ONE;
	if (v == -1)
		return VALUE_MINUS_ONE;
	return v > 0 ? VALUE_POSITIVE : VALUE_NEGATIVE;
}

static uint32_t hash(const uint64_t key[2])
{
	uint64_t h = hash_mix(key[0] ^ key[1] * 0xc2b2ae3d27d4eb4full);

	return (uint32_t)hash_bits(h ^ h >> 29, TABLE_BITS);
}

/* The lower n of 8 bytes. */
static uint64_t low_bytes(int n)
{
	return n <= 0 ? 0 : n >= 8 ? ~0ull : (1ull << 8 * n) - 1;
}

/* Puts a value's kind into the key in place of its bytes. */
static void leave_out(uint64_t key[2], uint32_t at, uint32_t size, uint8_t kind)
{
	int from = (int)at, to = (int)(at + size);

	if (!size)
		return;
	key[0] &= ~(low_bytes(to) ^ low_bytes(from));
	key[1] &= ~(low_bytes(to - 8) ^ low_bytes(from - 8));
	key[at / 8] |= (uint64_t)kind << at % 8 * 8;
}

static struct lift_values values_of(const struct guess *g, const uint8_t *p)
{
	return (struct lift_values){ value_of(p + g->disp_at, g->disp_size),
				     value_of(p + g->imm_at, g->imm_size) };
}

/* p: 24 bytes, of which the last 8 only have to be readable. */
static struct guess look_at(const uint8_t *p)
{
	struct guess g = guess_length(p);
	int len = (int)g.len;

	memcpy(g.key, p, 16);
	g.key[0] &= low_bytes(len);
	g.key[1] &= low_bytes(len - 8);
	leave_out(g.key, g.disp_at, g.disp_size,
		  g.of_rip ? 0 : kind_of_value(value_of(p + g.disp_at, g.disp_size)));
	leave_out(g.key, g.imm_at, g.imm_size,
		  g.branches ? 0 : kind_of_value(value_of(p + g.imm_at, g.imm_size)));
	g.hash = hash(g.key);
	return g;
}

static bool has_target(const struct insn *in)
{
	return in->cls == INSN_BRANCH || in->cls == INSN_JUMP || in->cls == INSN_CALL;
}

static bool guessed_right(const struct guess *g, const struct insn *in)
{
	bool rip = in->z.attributes & ZYDIS_ATTRIB_HAS_MODRM && in->z.raw.modrm.mod == 0 &&
		   in->z.raw.modrm.rm == 5;

	if (g->len != in->len || g->branches != has_target(in) || g->of_rip != rip ||
	    (g->branches && !in->z.raw.imm[0].is_relative))
		return false;
	if (g->disp_size &&
	    (in->z.raw.disp.offset != g->disp_at || in->z.raw.disp.size != 8 * g->disp_size))
		return false;
	return !g->imm_size ||
	       (in->z.raw.imm[0].offset == g->imm_at && in->z.raw.imm[0].size == 8 * g->imm_size);
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
		.has_target =
			in->cls == INSN_BRANCH || in->cls == INSN_JUMP || in->cls == INSN_CALL,
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

	while (k < AHEAD && i + LOOK <= n) {
		m->ahead[k] = look_at(p + i);
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

	for (*at = g->hash; m->table[*at]; *at = (*at + 1) & ((1u << TABLE_BITS) - 1)) {
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

const struct lift_form *lift_memo_decode(struct lift_memo *m, const uint8_t *p, size_t n,
					 struct lift_values *v)
{
	uint8_t bytes[LOOK] = { 0 };
	struct guess g;
	struct lift_form *f;
	struct insn in;
	uint32_t at = 0;

	if (m->iahead < m->nahead && m->ahead_at[m->iahead] == p) {
		g = m->ahead[m->iahead++];
	} else {
		if (n < LOOK) {
			memcpy(bytes, p, n);
			p = bytes;
		}
		g = look_at(p);
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
	if (g.len && guessed_right(&g, &in)) {
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

/* Whether the kind of a value determines the value. */
static bool is_fixed(int64_t v)
{
	uint8_t kind = kind_of_value(v);

	return kind != VALUE_POSITIVE && kind != VALUE_NEGATIVE;
}

static bool find_disp(const struct lift_form *f, uint64_t addr, struct lift_values v, uint16_t live,
		      const struct uop *u, int n, uint64_t *which)
{
	struct lift_values w = v;

	*which = 0;
	if (!f->disp_size || (!f->of_rip && is_fixed(v.disp)))
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
	if (!f->imm_size || f->has_target || is_fixed(v.imm))
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
