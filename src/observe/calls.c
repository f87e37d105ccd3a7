/* SPDX-License-Identifier: MIT */
#include "observe/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "x86/insn.h"

#define CALL_SHORTEST 2 /* bytes of the shortest call */
#define CALL_LONGEST 7

struct call *calls_get(struct profile *p, struct site_id from, struct site_id to)
{
	struct call_key wanted = { .from = from, .to = to };

	wanted.from.zero = wanted.to.zero = 0;
	return keyed_get(p->calls, key, &wanted);
}

struct hot *calls_list(struct profile *p, struct call *c, int operand)
{
	struct hot **h = &c->value[operand - OPERAND_RETURN];

	if (!*h)
		*h = hot_new(p->method, p->capacity);
	return *h;
}

int calls_value(struct profile *p, struct call *c, int operand, uint64_t value)
{
	struct hot *h = calls_list(p, c, operand);

	return h ? hot_add(h, value, 1) : -1;
}

static int open_call(struct profile *p, struct calls_open *o, const struct retired *r,
		     const struct retired *entry)
{
	const unsigned arguments = (1u << OPERAND_N) - (1u << OPERAND_ARG0);
	unsigned have = entry->have & arguments, at = o->n++ % CALLS_DEPTH;
	struct call *c;

	o->call[at].from = r->site;
	o->call[at].to = entry->site;
	o->call[at].behind = r->site.addr + r->len;
	if (!have)
		return 0;
	c = calls_get(p, r->site, entry->site);
	for (; c && have; have &= have - 1) {
		int operand = __builtin_ctz(have);

		if (calls_value(p, c, operand, entry->value[operand]))
			return -1;
	}
	return c ? 0 : -1;
}

/* Closes the call whose return address is `to`, and those within it. Returns whether there was
 * such a call. */
static bool close_call(struct calls_open *o, struct site_id behind, struct call_key *key)
{
	unsigned depth = o->n < CALLS_DEPTH ? o->n : CALLS_DEPTH;

	for (unsigned i = 1; i <= depth; i++) {
		unsigned at = (o->n - i) % CALLS_DEPTH;

		if (o->call[at].behind != behind.addr || o->call[at].from.image != behind.image)
			continue;
		*key = (struct call_key){ o->call[at].from, o->call[at].to };
		o->n -= i;
		return true;
	}
	return false;
}

bool calls_before(const struct profile *p, struct site_id behind, struct call_key *key)
{
	for (unsigned len = CALL_SHORTEST; len <= CALL_LONGEST; len++) {
		struct site_id at = { .image = behind.image, .addr = behind.addr - len };
		const struct site *s = profile_site_find(p, at);

		if (!s || s->cls != INSN_CALL || s->len != len || !s->target)
			continue;
		*key = (struct call_key){ at, { .image = at.image, .addr = s->target } };
		return true;
	}
	return false;
}

/*
 * Observes the thread's next instruction, and the one after it, NULL if the latter is not known:
 * opens and closes calls, adds arguments and results. -1 without memory.
 */
static int calls_step(struct profile *p, struct calls_open *o, const struct retired *r,
		      const struct retired *next)
{
	struct call_key key;
	struct call *c;

	if (!next)
		return 0;
	if (r->cls == INSN_CALL || r->cls == INSN_ICALL)
		return open_call(p, o, r, next);
	if (r->cls != INSN_RET)
		return 0;
	if (!close_call(o, next->site, &key) && !calls_before(p, next->site, &key))
		return 0;
	if (!(r->have >> OPERAND_RETURN & 1))
		return 0;
	c = calls_get(p, key.from, key.to);
	return c ? calls_value(p, c, OPERAND_RETURN, r->value[OPERAND_RETURN]) : -1;
}

int calls_window(struct profile *p, const struct window *w)
{
	struct calls_open o = { 0 };

	for (uint32_t i = 0; i + 1 < w->n; i++)
		if (calls_step(p, &o, &w->ri[i], &w->ri[i + 1]))
			return -1;
	return 0;
}

int calls_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	struct call *s, *tmp, *d;

	HASH_ITER (hh, src->calls, s, tmp) {
		struct site_id from = { .image = map[s->key.from.image], .addr = s->key.from.addr };
		struct site_id to = { .image = map[s->key.to.image], .addr = s->key.to.addr };

		d = calls_get(dst, from, to);
		for (unsigned i = 0; d && i < CALL_VALUES; i++) {
			if (!s->value[i])
				continue;
			if (!d->value[i])
				d->value[i] = hot_new(hot_method(s->value[i]), dst->capacity);
			if (!d->value[i] || hot_merge(d->value[i], s->value[i]))
				return -1;
		}
		if (!d)
			return -1;
	}
	return 0;
}

void calls_free(struct profile *p)
{
	struct call *c = p->calls, *next;

	HASH_CLEAR(hh, p->calls);
	for (; c; c = next) {
		next = c->hh.next;
		for (unsigned i = 0; i < CALL_VALUES; i++)
			hot_free(c->value[i]);
		free(c);
	}
}
