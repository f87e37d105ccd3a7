/* SPDX-License-Identifier: MIT */
#include "report/by_caller.h"

#include <stdlib.h>
#include <string.h>

#include "observe/callers.h"
#include "report/calltree.h"

/* The part that is kept: samples and values of calls out of procedures of that name. */
struct kept {
	struct profile *p;
	struct calltree tree;
	const char *name;
};

static bool is_call_by(const struct kept *k, uint32_t frame)
{
	return k->p->stacks.frame[frame].kind == FRAME_CALL &&
	       calltree_is_named(&k->tree, calltree_func_of(&k->tree, frame), k->name);
}

static void forget_site(struct site *s)
{
	s->samples = s->observed = s->taken = s->windows = 0;
	s->time = 0;
	for (int i = 0; i < OPERAND_N; i++) {
		struct hot **h;

		if (!site_hot(s, i))
			continue;
		h = site_operand(s, i);
		hot_free(*h);
		*h = NULL;
	}
	free(s->weights);
	s->weights = NULL;
}

/* The number of samples; negative without memory. */
static long add_samples(const struct kept *k)
{
	const struct stacks *s = &k->p->stacks;
	long n = 0;

	for (size_t i = 0; i < s->nsample; i++) {
		const struct stack_sample *one = &s->sample[i];
		const struct frame *f = &s->frame[one->frame];
		struct site *site;

		if (f->kind != FRAME_CODE || !is_call_by(k, f->parent))
			continue;
		site = profile_site(k->p, (struct site_id){ .image = f->image, .addr = f->addr });
		if (!site)
			return -1;
		site->samples += one->count;
		site->time += one->time;
		n += one->count;
	}
	return n;
}

static int add_lists(struct profile *p, const struct caller *c)
{
	struct site *s = profile_site(p, c->key.site);

	if (!s)
		return -1;
	s->observed += c->observed;
	s->windows += c->windows;
	for (int i = 0; i < OPERAND_N; i++) {
		const struct hot *one = caller_hot(c, i);
		struct hot **h;

		if (!one)
			continue;
		h = site_operand(s, i);
		if (h && !*h)
			*h = hot_new(hot_method(one), p->capacity);
		if (!h || !*h || hot_merge(*h, one))
			return -1;
	}
	return 0;
}

static int add_values(struct kept *k)
{
	for (size_t i = 0; i < callers_count(k->p); i++) {
		const struct caller *c = &k->p->callers->v[i];
		const struct site_id *by = &c->key.caller;
		long func = calltree_func_at(&k->tree, by->image, by->addr - 1);

		if (func < 0 ||
		    (calltree_is_named(&k->tree, (uint32_t)func, k->name) && add_lists(k->p, c)))
			return -1;
	}
	return 0;
}

static int restrict_to(struct kept *k, struct err *err)
{
	struct site *s;
	long n;

	SITES_EACH(&k->p->sites, s)
	{
		forget_site(s);
	}
	n = add_samples(k);
	if (!n) {
		err_set(err, ERR_EMPTY, "no sample is of what '%s' called", k->name);
		return err_hint(err, "`assay report --callers PROC` lists who calls a procedure");
	}
	if (n < 0 || add_values(k))
		return err_no_memory(err, "what '%s' called", k->name);
	return 0;
}

int by_caller(struct profile *p, const char *name, struct err *err)
{
	struct kept k = { .p = p, .name = name };
	int rc;

	if (!p->stacks.nsample) {
		err_set(err, ERR_EMPTY, "the recording has no call stacks");
		return err_hint(err, STACKS_REMEDY);
	}
	if (calltree_open_as(&k.tree, p, false, err))
		return -1;
	rc = restrict_to(&k, err);
	calltree_close(&k.tree);
	return rc;
}
