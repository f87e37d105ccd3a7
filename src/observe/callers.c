/* SPDX-License-Identifier: MIT */
#include "observe/callers.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "x86/insn.h"

static void free_one(struct caller *c)
{
	for (int i = 0; i < OPERAND_N; i++)
		hot_free(c->value[i]);
	free(c);
}

struct caller *callers_get(struct profile *p, const struct caller_key *key)
{
	struct caller *c;

	HASH_FIND(hh, p->callers, key, sizeof(*key), c);
	if (c || HASH_COUNT(p->callers) >= CALLERS_MAX)
		return c;
	return keyed_get(p->callers, key, key);
}

/* Makes room by forgetting the callers that were seen in the fewest windows. */
static void prune(struct profile *p)
{
	struct caller *c, *next;

	for (uint64_t least = 1; HASH_COUNT(p->callers) > CALLERS_MAX / 2; least = 2 * least + 1) {
		HASH_ITER (hh, p->callers, c, next) {
			if (c->windows > least)
				continue;
			HASH_DEL(p->callers, c);
			free_one(c);
		}
	}
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
	if (HASH_COUNT(p->callers) >= CALLERS_MAX)
		prune(p);
	c = callers_get(p, &key);
	if (!c)
		return -1;
	c->observed++;
	c->windows += c->seen != p->windows;
	c->seen = p->windows;
	for (unsigned have = r->have & ((1u << OPERAND_N) - 1); have; have &= have - 1) {
		struct hot **h = &c->value[__builtin_ctz(have)];

		if (!*h)
			*h = hot_new(p->method, CALLERS_CAPACITY);
		if (!*h || hot_add(*h, r->value[__builtin_ctz(have)], 1))
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

int callers_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	struct caller *s, *tmp, *d;

	HASH_ITER (hh, src->callers, s, tmp) {
		struct caller_key key = s->key;

		key.site.image = map[key.site.image];
		key.caller.image = map[key.caller.image];
		if (HASH_COUNT(dst->callers) >= CALLERS_MAX)
			prune(dst);
		d = callers_get(dst, &key);
		if (!d)
			return -1;
		d->observed += s->observed;
		d->windows += s->windows;
		for (int i = 0; i < OPERAND_N; i++) {
			if (!s->value[i])
				continue;
			if (!d->value[i])
				d->value[i] = hot_new(hot_method(s->value[i]), CALLERS_CAPACITY);
			if (!d->value[i] || hot_merge(d->value[i], s->value[i]))
				return -1;
		}
	}
	return 0;
}

void callers_free(struct profile *p)
{
	struct caller *c = p->callers, *next;

	HASH_CLEAR(hh, p->callers);
	for (; c; c = next) {
		next = c->hh.next;
		free_one(c);
	}
}
