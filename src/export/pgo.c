/* SPDX-License-Identifier: MIT */
#include "export/pgo.h"

#include <math.h>
#include <stdlib.h>

#include "base/fmt.h"

int pgo_open(struct pgo *g, const struct export *x, struct err *err)
{
	if (target_open(&g->target, x, err))
		return -1;
	if (!flow_collect(&g->flow, x->profile, &g->target, err))
		return 0;
	target_close(&g->target);
	return -1;
}

void pgo_close(struct pgo *g)
{
	flow_free(&g->flow);
	target_close(&g->target);
}

struct proc_part {
	double executed;
	uint64_t windows; /* windows that saw its most observed instruction */
};

/* Executed procedures, *n of them; instructions outside of procedures are ignored. */
static struct proc_part *by_procedure(struct pgo *g, size_t *n)
{
	const struct image_proc *proc;
	size_t procs = image_procs(g->target.im, &proc), at = 0, last = 0;
	struct proc_part *part = calloc(procs + 1, sizeof(*part));

	*n = 0;
	for (size_t i = 0; part && i < g->flow.nstep; i++) {
		const struct flow_step *s = &g->flow.step[i];

		while (at < procs && proc[at].end <= s->addr)
			at++;
		if (at == procs || s->addr < proc[at].start)
			continue;
		*n += !*n || at != last;
		last = at;
		part[*n - 1].executed += (double)s->count;
		if (s->windows > part[*n - 1].windows)
			part[*n - 1].windows = s->windows;
	}
	return part;
}

static int hotter(const void *a, const void *b)
{
	double x = ((const struct proc_part *)a)->executed;
	double y = ((const struct proc_part *)b)->executed;

	return (x < y) - (x > y);
}

static void measure_procedures(struct pgo_thinness *t, struct proc_part *part, size_t n)
{
	double all = 0, hot = 0, thin = 0;

	qsort(part, n, sizeof(*part), hotter);
	for (size_t i = 0; i < n; i++)
		all += part[i].executed;
	t->procs = n;
	for (size_t i = 0; i < n && hot < PGO_HOT * all; i++) {
		bool is_thin = part[i].windows < PGO_THIN;

		t->hot++;
		t->thin += is_thin;
		hot += part[i].executed;
		thin += is_thin ? part[i].executed : 0;
	}
	t->thin_share = hot > 0 ? thin / hot : 0;
}

/*
 * Estimates the unseen part by Good and Turing (I. J. Good, "The Population Frequencies of Species
 * and the Estimation of Population Parameters", Biometrika 1953) as the share of instructions that
 * one window saw. A random half of the windows would have missed an instruction that w windows saw
 * with probability 2^-w; doubling the windows brings as much as the second half did.
 */
static void measure_unseen(struct pgo_thinness *t, const struct flow *f)
{
	double all = 0, once = 0, by_half = 0;

	for (size_t i = 0; i < f->nstep; i++) {
		double w = (double)f->step[i].windows;

		all += w;
		once += w == 1;
		by_half += w * exp2(-w);
	}
	t->unseen = all > 0 ? once / all : 0;
	t->unseen_twice = by_half > 0 ? t->unseen * fmin(once / by_half, 1) : 0;
}

/* Returns -1 with err set: no memory. */
static int pgo_measure(struct pgo_thinness *t, struct pgo *g, struct err *err)
{
	size_t n;
	struct proc_part *part = by_procedure(g, &n);

	*t = (struct pgo_thinness){ 0 };
	if (!part)
		return err_no_memory(err, "the export");
	measure_procedures(t, part, n);
	free(part);
	if (g->flow.windows)
		measure_unseen(t, &g->flow);
	return 0;
}

static void tell_sampled(const struct pgo_thinness *t, const struct pgo *g, const struct export *x)
{
	char windows[32], unseen[32], twice[32], thin[32];

	x->note("%s windows; some %s %% of what %s executes was not seen: some %s %% with twice "
		"the "
		"windows (another run, or twice the rate)",
		fmt_count(g->flow.windows, windows, sizeof(windows)),
		fmt_percent(t->unseen, unseen, sizeof(unseen)), target_name(&g->target),
		fmt_percent(t->unseen_twice, twice, sizeof(twice)));
	x->note("%zu of %zu procedures make up 90 %% of it; %zu of these, %s %% of their "
		"executions, rest "
		"on fewer than %d windows",
		t->hot, t->procs, t->thin, fmt_percent(t->thin_share, thin, sizeof(thin)),
		PGO_THIN);
}

int pgo_tell(struct pgo *g, const struct export *x, struct err *err)
{
	struct pgo_thinness t;
	char share[32];

	if (pgo_measure(&t, g, err))
		return -1;
	x->note("%s, build-id %.16s: %s %% of what was executed, %zu instructions", g->target.file,
		image_build_id(g->target.im), fmt_percent(g->target.share, share, sizeof(share)),
		g->flow.nstep);
	if (g->flow.stale)
		x->note("%zu branches are left out: the file has other code there", g->flow.stale);
	if (g->flow.windows)
		tell_sampled(&t, g, x);
	else
		x->note("%zu of %zu procedures make up 90 %% of it; every execution was counted",
			t.hot, t.procs);
	return 0;
}

void pgo_command(const struct export *x, const char *when, const char *const argv[PGO_WORDS])
{
	char *words[PGO_WORDS + 1], *line;
	size_t n = 0;

	for (size_t i = 0; i < PGO_WORDS; i++)
		if (argv[i])
			words[n++] = (char *)argv[i];
	words[n] = NULL;
	line = fmt_shell_quote(words);
	if (line)
		x->note("%s: %s", when, line);
	free(line);
}
