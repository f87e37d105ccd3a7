/* SPDX-License-Identifier: MIT */
#include "observe/callers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "x86/insn.h"

#define BITS_FIRST 10 /* of the number of slots */

struct hot **caller_operand(struct caller *c, int operand)
{
	return lists_place(&c->hot, &c->lists, operand);
}

size_t callers_count(const struct profile *p)
{
	return p->callers ? p->callers->n : 0;
}

static bool same(const struct caller_key *a, const struct caller_key *b)
{
	return a->site.addr == b->site.addr && a->site.image == b->site.image &&
	       a->caller.addr == b->caller.addr && a->caller.image == b->caller.image;
}

/* The slot of the pair, or the free one where it belongs. */
static uint32_t *slot_of(const struct callers *t, const struct caller_key *key)
{
	uint64_t site = key->site.addr ^ (uint64_t)key->site.image << 40,
		 caller = key->caller.addr ^ (uint64_t)key->caller.image << 40;
	size_t mask = ((size_t)1 << t->bits) - 1;

	for (size_t i = hash_bits(hash_mix(site) ^ caller, t->bits);; i++) {
		uint32_t *slot = &t->slot[i & mask];

		if (!*slot || same(&t->v[*slot - 1].key, key))
			return slot;
	}
}

/* Makes a table of that many slots. False without memory: the table stays as it is. */
static bool index_all(struct callers *t, unsigned bits)
{
	uint32_t *slot = calloc((size_t)1 << bits, sizeof(*slot));

	if (!slot)
		return false;
	free(t->slot);
	t->slot = slot;
	t->bits = bits;
	for (size_t i = 0; i < t->n; i++)
		*slot_of(t, &t->v[i].key) = (uint32_t)i + 1;
	return true;
}

/* Makes room for one more pair. */
static bool grow(struct callers *t)
{
	if (!array_reserve(t->v, t->room, t->n + 1))
		return false;
	if (!t->bits)
		return index_all(t, BITS_FIRST);
	return 2 * (t->n + 1) <= (size_t)1 << t->bits || index_all(t, t->bits + 1);
}

struct caller *callers_find(const struct profile *p, const struct caller_key *key)
{
	const struct callers *t = p->callers;
	uint32_t number = t && t->bits ? *slot_of(t, key) : 0;

	return number ? &t->v[number - 1] : NULL;
}

static struct callers *table_of(struct profile *p)
{
	if (!p->callers)
		p->callers = calloc(1, sizeof(*p->callers));
	return p->callers;
}

struct caller *callers_get(struct profile *p, const struct caller_key *key)
{
	struct caller *known = callers_find(p, key);
	struct callers *t = table_of(p);

	if (known || !t || t->n >= CALLERS_MAX || !grow(t))
		return known;
	t->v[t->n] = (struct caller){ .key = *key };
	*slot_of(t, key) = (uint32_t)++t->n;
	return &t->v[t->n - 1];
}

/* Forgets the callers that were seen in at most that many windows. */
static void forget(struct callers *t, uint64_t windows)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].windows > windows)
			t->v[n++] = t->v[i];
		else
			lists_free(t->v[i].hot, t->v[i].lists);
	}
	t->n = n;
}

/* Makes room by forgetting the callers that were seen in the fewest windows. */
static void prune(struct callers *t)
{
	for (uint64_t least = 1; t->n > CALLERS_MAX / 2; least = 2 * least + 1)
		forget(t, least);
	memset(t->slot, 0, sizeof(*t->slot) << t->bits);
	for (size_t i = 0; i < t->n; i++)
		*slot_of(t, &t->v[i].key) = (uint32_t)i + 1;
}

/*
 * Finds who called the running procedure: the innermost call that the window saw and that has not
 * returned, or the stack's frame. Calls [lost, n) are remembered; the older ones of a deep
 * recursion are not.
 */
struct open {
	struct site_id call[CALLERS_DEPTH]; /* return addresses of the open calls */
	unsigned n, lost;
	uint32_t frame; /* the caller's frame while no call is open; 0: not known */
};

static bool caller_of(const struct profile *p, const struct open *o, struct site_id *caller)
{
	const struct frame *f = &p->stacks.frame[o->frame];

	if (o->n) {
		*caller = o->call[(o->n - 1) & (CALLERS_DEPTH - 1)];
		return o->n > o->lost;
	}
	*caller = (struct site_id){ .image = f->image, .addr = f->addr };
	return f->kind == FRAME_CALL;
}

static void push(struct open *o, const struct retired *r)
{
	o->call[o->n++ & (CALLERS_DEPTH - 1)] =
		(struct site_id){ .image = r->site.image, .addr = r->site.addr + r->len };
	if (o->n - o->lost > CALLERS_DEPTH)
		o->lost = o->n - CALLERS_DEPTH;
}

static void pop(const struct profile *p, struct open *o)
{
	if (o->n)
		o->n--;
	else
		o->frame = p->stacks.frame[o->frame].parent;
	if (o->lost > o->n)
		o->lost = o->n;
}

static void follow(const struct profile *p, struct open *o, const struct retired *r)
{
	if (r->cls == INSN_CALL || r->cls == INSN_ICALL)
		push(o, r);
	else if (r->cls == INSN_RET)
		pop(p, o);
}

static int add(struct profile *p, const struct retired *r, struct site_id caller)
{
	struct caller_key key = { .site = r->site, .caller = caller };
	struct caller *c;

	key.site.zero = 0;
	if (callers_count(p) >= CALLERS_MAX)
		prune(p->callers);
	c = callers_get(p, &key);
	if (!c)
		return -1;
	c->observed++;
	c->windows += c->seen != p->windows;
	c->seen = p->windows;
	for (unsigned have = r->have & ((1u << OPERAND_N) - 1); have; have &= have - 1) {
		struct hot **h = caller_operand(c, __builtin_ctz(have));

		if (h && !*h)
			*h = hot_new(p->method, CALLERS_CAPACITY);
		if (!h || !*h || hot_add(*h, r->value[__builtin_ctz(have)], 1))
			return -1;
	}
	return 0;
}

int callers_window(struct profile *p, const struct window *w)
{
	struct open o = { .n = 0 };
	struct site_id caller;

	if (!w->stack || w->stack >= p->stacks.nframe || p->windows % CALLERS_EVERY)
		return 0;
	o.frame = p->stacks.frame[w->stack].parent;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct retired *r = &w->ri[i];

		if (r->have && caller_of(p, &o, &caller) && add(p, r, caller))
			return -1;
		follow(p, &o, r);
	}
	return 0;
}

static int merge_lists(struct caller *to, const struct caller *from)
{
	for (unsigned have = from->lists; have; have &= have - 1) {
		int operand = __builtin_ctz(have);
		const struct hot *one = caller_hot(from, operand);
		struct hot **h = one ? caller_operand(to, operand) : NULL;

		if (!one)
			continue;
		if (h && !*h)
			*h = hot_new(hot_method(one), CALLERS_CAPACITY);
		if (!h || !*h || hot_merge(*h, one))
			return -1;
	}
	return 0;
}

int callers_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	for (size_t i = 0; i < callers_count(src); i++) {
		const struct caller *s = &src->callers->v[i];
		struct caller_key key = s->key;
		struct caller *d;

		key.site.image = map[key.site.image];
		key.caller.image = map[key.caller.image];
		if (callers_count(dst) >= CALLERS_MAX)
			prune(dst->callers);
		d = callers_get(dst, &key);
		if (!d)
			return -1;
		d->observed += s->observed;
		d->windows += s->windows;
		if (merge_lists(d, s))
			return -1;
	}
	return 0;
}

void callers_free(struct profile *p)
{
	for (size_t i = 0; i < callers_count(p); i++)
		lists_free(p->callers->v[i].hot, p->callers->v[i].lists);
	if (p->callers) {
		free(p->callers->v);
		free(p->callers->slot);
	}
	free(p->callers);
	p->callers = NULL;
}
