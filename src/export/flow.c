/* SPDX-License-Identifier: MIT */
#include "export/flow.h"

#include <math.h>
#include <stdlib.h>

#include "base/search.h"
#include "x86/insn.h"
#include "observe/edges.h"

#define COUNT_MAX (1ull << 62)

static uint64_t count_of(const struct flow *f, double weight)
{
	if (!(weight > 0))
		return 0;
	if (f->windows)
		weight = fmax(weight * FLOW_SCALE, 1);
	return weight < (double)COUNT_MAX ? (uint64_t)llround(weight) : COUNT_MAX;
}

static bool is_direct(int cls)
{
	return cls == INSN_BRANCH || cls == INSN_JUMP || cls == INSN_CALL;
}

/* Sets the target of a direct transfer. Returns false if the file has another instruction there. */
static bool decode(struct flow_step *to, const struct site *s, const struct image *im)
{
	struct insn in;
	size_t n;
	const uint8_t *code = image_code(im, s->id.addr, &n);

	if (!code || insn_decode(&in, code, n, s->id.addr) != s->len || in.cls != s->cls)
		return false;
	to->target = in.target;
	return true;
}

static void add_step(struct flow *f, const struct site *s, const struct target *t)
{
	struct site_weights w = site_weights(s);
	struct flow_step *to = &f->step[f->nstep];

	*to = (struct flow_step){
		.addr = s->id.addr,
		.next = s->id.addr + s->len,
		.count = count_of(f, w.observed),
		.taken = s->taken ? count_of(f, w.taken) : 0,
		.windows = s->windows ? s->windows : s->observed,
		.cls = s->cls,
	};
	if (is_direct(s->cls) && !decode(to, s, t->im)) {
		f->stale++;
		return;
	}
	if (to->taken > to->count)
		to->taken = to->count;
	/* Sums of weights in different order may differ by rounding: a branch that went both
	 * ways keeps both. */
	if (to->taken == to->count && s->taken < s->observed && s->cls == INSN_BRANCH)
		to->count++;
	f->nstep++;
}

static int step_order(const void *a, const void *b)
{
	const struct flow_step *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Adds up what was executed from several paths. */
static void unite_steps(struct flow *f)
{
	size_t n = 0;

	qsort(f->step, f->nstep, sizeof(*f->step), step_order);
	for (size_t i = 0; i < f->nstep; i++) {
		struct flow_step *last = n ? &f->step[n - 1] : NULL;

		if (!last || last->addr != f->step[i].addr) {
			f->step[n++] = f->step[i];
			continue;
		}
		last->count += f->step[i].count;
		last->taken += f->step[i].taken;
		last->windows += f->step[i].windows;
	}
	f->nstep = n;
}

static int collect_steps(struct flow *f, const struct profile *p, const struct target *t,
			 struct err *err)
{
	struct site **site = sites_sorted(&p->sites);

	f->step = site ? calloc(p->sites.n + 1, sizeof(*f->step)) : NULL;
	for (size_t i = 0; f->step && i < p->sites.n; i++)
		if (target_is(t, p->image[site[i]->id.image]) && site[i]->len && site[i]->observed)
			add_step(f, site[i], t);
	free(site);
	if (!f->step)
		return err_no_memory(err, "the export");
	unite_steps(f);
	if (f->nstep)
		return 0;
	return err_set(err, ERR_EMPTY,
		       "no instruction of %s was seen, or its code is not what was recorded",
		       t->file);
}

/* Indirect transfers of one instruction: edges e[0..n), of which those that stay in the image are told. */
static void add_jumps(struct flow *f, const struct profile *p, const struct target *t,
		      const struct edge *const *e, size_t n)
{
	const struct site *s = profile_site_find(p, e[0]->key.from);
	bool entry = !target_is(t, p->image[e[0]->key.from.image]);
	double sum = 0, weight;

	if (!s || !edges_is_indirect(s->cls) || s->cls == INSN_RET)
		return;
	for (size_t i = 0; i < n; i++)
		sum += (double)e[i]->count;
	weight = site_weights(s).observed / sum;
	for (size_t i = 0; i < n; i++)
		if (target_is(t, p->image[e[i]->key.to.image]) && e[i]->count)
			f->jump[f->njump++] = (struct flow_jump){
				.from = entry ? FLOW_OUTSIDE : s->id.addr,
				.to = e[i]->key.to.addr,
				.count = count_of(f, weight * (double)e[i]->count),
				.call = entry || s->cls == INSN_ICALL,
			};
}

static size_t same_origin(const struct edge *const *e, size_t n)
{
	size_t k = 1;

	while (k < n && !site_id_order(e[k]->key.from, e[0]->key.from))
		k++;
	return k;
}

static int jump_order(const void *a, const void *b)
{
	const struct flow_jump *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Merges entries at one address that come from several places outside. */
static void unite_jumps(struct flow *f)
{
	size_t n = 0;

	if (f->njump)
		qsort(f->jump, f->njump, sizeof(*f->jump), jump_order);
	for (size_t i = 0; i < f->njump; i++) {
		if (n && !jump_order(&f->jump[n - 1], &f->jump[i]))
			f->jump[n - 1].count += f->jump[i].count;
		else
			f->jump[n++] = f->jump[i];
	}
	f->njump = n;
}

static int collect_jumps(struct flow *f, const struct profile *p, const struct target *t,
			 struct err *err)
{
	const struct edge **e;
	size_t n, k;

	e = edges_sorted(p, &n);
	f->jump = e ? calloc(n + 1, sizeof(*f->jump)) : NULL;
	for (size_t i = 0; f->jump && i < n; i += k) {
		k = same_origin(e + i, n - i);
		add_jumps(f, p, t, e + i, k);
	}
	free(e);
	if (!f->jump)
		return err_no_memory(err, "the export");
	unite_jumps(f);
	return 0;
}

int flow_collect(struct flow *f, const struct profile *p, const struct target *t, struct err *err)
{
	struct run_counters n;

	*f = (struct flow){ 0 };
	profile_counters(p, &n);
	f->windows = p->nrun && run_is_exact(&p->run[0]) ? 0 : n.windows;
	if (!collect_steps(f, p, t, err) && !collect_jumps(f, p, t, err))
		return 0;
	flow_free(f);
	return -1;
}

void flow_free(struct flow *f)
{
	free(f->step);
	free(f->jump);
	*f = (struct flow){ 0 };
}

uint64_t flow_falls(const struct flow *f, size_t step)
{
	const struct flow_step *s = &f->step[step];
	bool seen = step + 1 < f->nstep && s[1].addr == s->next;

	switch (s->cls) {
	case INSN_JUMP:
	case INSN_IJUMP:
	case INSN_RET:
	case INSN_TRAP:
		return 0;
	case INSN_BRANCH:
		return s->count - s->taken;
	case INSN_CALL:
	case INSN_ICALL:
	case INSN_SYSCALL:
		return !seen ? 0 : s->count < s[1].count ? s->count : s[1].count;
	default:
		return seen ? s->count : 0;
	}
}
