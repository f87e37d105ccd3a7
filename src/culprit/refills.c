/* SPDX-License-Identifier: MIT */
#include "culprit/refills.h"

#include <math.h>
#include <stdlib.h>

#include "estimate/anchor.h"

#define PAUSE 8	   /* buckets of time without a sample after which a procedure pauses */
#define SPREAD 0.7 /* standard deviation of the logarithm of how long lines stay */
#define MORE 1.5   /* the most that a load takes, over what was measured */

struct activity {
	size_t proc;
	uint32_t run, bucket;
};

static double mean_ns(uint64_t ps, const struct run_counters *n)
{
	return (double)ps / (double)n->memory_measured / 1000;
}

static void measure_level(struct machine_level *data, struct machine_level *code, double likely,
			  double stream)
{
	double factor = likely / data->likely;

	data->likely = likely;
	data->stream = fmin(stream, likely);
	data->penalty = fmax(data->penalty, MORE * likely);
	code->likely *= factor;
	code->penalty = fmax(code->penalty, MORE * code->likely);
}

/* Page walks of code and of data pass through the same tables. */
static void measure_walk(struct machine_level *dtlb, struct machine_level *itlb, double likely)
{
	double factor = likely / dtlb[1].likely;

	for (int i = 1; i < MACHINE_LEVELS; i++)
		measure_level(&dtlb[i], &itlb[i], dtlb[i].likely * factor, dtlb[i].stream * factor);
}

bool refills_machine(struct culprit_machine *m, const char *cpu, const struct profile *p)
{
	double ghz = p->nrun ? anchor_ghz(&p->run[0]) : 0, near, far;
	struct run_counters n;

	*m = *culprit_machine(cpu);
	profile_counters(p, &n);
	if (!n.memory_measured || ghz <= 0 || n.far_ps <= n.near_ps)
		return false;
	near = mean_ns(n.near_ps, &n) * ghz - m->load - m->data[0].likely;
	far = mean_ns(n.far_ps - n.near_ps, &n) * ghz;
	if (near <= 0)
		return false;
	measure_level(&m->data[1], &m->code[1], near, mean_ns(n.near_line_ps, &n) * ghz);
	if (n.page_walk_ps)
		measure_walk(m->dtlb, m->itlb, mean_ns(n.page_walk_ps, &n) * ghz);
	measure_level(&m->data[2], &m->code[2], far, mean_ns(n.far_line_ps, &n) * ghz);
	return true;
}

static int by_time(const void *va, const void *vb)
{
	const struct activity *a = va, *b = vb;

	if (a->proc != b->proc)
		return a->proc < b->proc ? -1 : 1;
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return (a->bucket > b->bucket) - (a->bucket < b->bucket);
}

/* Fills v, which has room for all samples, with those in procedures, by time. Returns how many. */
static size_t list(struct activity *v, const struct estimate *e, const struct stacks *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nsample; i++) {
		const struct frame *f = &s->frame[s->sample[i].frame];
		struct estimate_at at;

		if (f->kind == FRAME_CODE && estimate_find(e, f->image, f->addr, &at))
			v[n++] = (struct activity){ (size_t)(at.proc - e->proc),
						    s->thread[s->sample[i].thread].run,
						    s->sample[i].bucket };
	}
	qsort(v, n, sizeof(*v), by_time);
	return n;
}

int refills_find(double **v, const struct estimate *e, const struct profile *p)
{
	struct activity *at = NULL;
	struct run_counters n;
	double rate;
	size_t listed = 0;

	*v = NULL;
	profile_counters(p, &n);
	if (!n.refills)
		return 0;
	rate = (double)n.refills / (double)n.memory_measured / 1e12;
	*v = calloc(e->nproc + 1, sizeof(**v));
	if (p->stacks.nsample)
		at = malloc(p->stacks.nsample * sizeof(*at));
	if (!*v || (p->stacks.nsample && !at))
		return -1;
	if (at)
		listed = list(at, e, &p->stacks);
	for (size_t i = 0; i < e->nproc && !at; i++)
		(*v)[i] = rate * (double)n.elapsed_ns;
	for (size_t i = 0; i < listed; i++) {
		bool on = i && at[i].proc == at[i - 1].proc && at[i].run == at[i - 1].run;
		uint32_t since = on ? at[i].bucket - at[i - 1].bucket : 1;

		(*v)[at[i].proc] += rate * (double)p->stacks.width * (since < PAUSE ? since : 1);
	}
	free(at);
	return 0;
}

double refills_lost(double bursts, double refills, bool steady)
{
	if (refills <= 0 || bursts <= 0)
		return 0;
	return steady ? 0.5 * erfc(log(bursts / refills) / SPREAD / sqrt(2))
		      : exp(-bursts / refills);
}
