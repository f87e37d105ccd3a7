/* SPDX-License-Identifier: MIT */
#include "observe/sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "x86/insn.h"
#include "observe/cycles.h"

const char *sampled_counter_name(unsigned counter)
{
	static const char *const name[] = {
#define X(id, name, what) name,
		SAMPLED_COUNTERS(X)
#undef X
	};

	return counter < SAMPLED_MISSES ? name[counter] : miss_kind_name[counter - SAMPLED_MISSES];
}

struct sampled *sampled_new(struct profile *p, const char *schedule)
{
	struct sampled *s = calloc(1, sizeof(*s));

	if (!s || !(s->schedule = strdup(schedule)) || !array_one_more(p->sampled, p->nsampled)) {
		free(s ? s->schedule : NULL);
		free(s);
		return NULL;
	}
	s->run = (uint32_t)(p->nrun ? p->nrun - 1 : 0);
	p->sampled[p->nsampled++] = s;
	return s;
}

struct sampled *sampled_of(const struct profile *p, uint32_t run)
{
	for (size_t i = 0; i < p->nsampled; i++)
		if (p->sampled[i]->run == run)
			return p->sampled[i];
	return NULL;
}

int sampled_add(struct sampled *s, const struct sample *one)
{
	if (!array_one_more(s->sample, s->n))
		return -1;
	s->sample[s->n++] = *one;
	return 0;
}

struct sample_batch *sampled_batch(struct sampled *s)
{
	if (!array_one_more(s->batch, s->nbatch))
		return NULL;
	memset(&s->batch[s->nbatch], 0, sizeof(*s->batch));
	return &s->batch[s->nbatch++];
}

void sampled_count(const struct profile *p, uint64_t n[SAMPLED_N])
{
	const struct site *s;
	uint64_t ticks = 0;

	memset(n, 0, SAMPLED_N * sizeof(*n));
	SITES_COUNTED(&p->sites, s)
	{
		const struct misses *m = misses_row(p, s);
		const struct cycles *c = cycles_row(p, s);

		n[SAMPLED_INSTRUCTIONS] += s->observed;
		if (s->cls == INSN_BRANCH) {
			n[SAMPLED_CONDITIONAL] += s->observed;
			n[SAMPLED_TAKEN] += s->taken;
		}
		if (s->cls == INSN_CALL || s->cls == INSN_ICALL)
			n[SAMPLED_CALLS] += s->observed;
		for (int i = 0; m && i < MISS_KIND_N; i++)
			n[SAMPLED_MISSES + i] += m->n[i];
		for (int i = 0; c && i < TIMING_PART_N; i++)
			ticks += c->n[i];
	}
	n[SAMPLED_CYCLES] = ticks / TIMING_TICKS;
}

/* Student's t, two-sided 95 %. */
static double student(size_t df)
{
	static const double t[] = { 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
				    2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
				    2.131, 2.120, 2.110, 2.101, 2.093, 2.086 };

	return df <= sizeof(t) / sizeof(t[0]) ? t[df - 1] : 1.96 + 2.4 / (double)df;
}

/*
 * A ratio estimate: for each batch, the difference between its count and the count that the whole sample's rate per
 * instruction predicts for its instructions. For n batches of weights w, counts c, instructions i, rate r = sum(w c) /
 * sum(w i): variance = n / (n - 1) * sum((w (c - r i))^2).
 */
double sampled_total(const struct sampled *s, unsigned counter, double *error)
{
	double sum = 0, of = 0, square = 0, rate;
	size_t n = 0;

	for (size_t i = 0; i < s->nbatch; i++) {
		const struct sample_batch *b = &s->batch[i];

		if (b->dropped || !b->n[SAMPLED_INSTRUCTIONS])
			continue;
		n++;
		sum += b->weight * (double)b->n[counter];
		of += b->weight * (double)b->n[SAMPLED_INSTRUCTIONS];
	}
	*error = -1;
	rate = of > 0 ? sum / of : 0;
	if (n < 2)
		return sum;
	for (size_t i = 0; i < s->nbatch; i++) {
		const struct sample_batch *b = &s->batch[i];
		double off = b->weight *
			     ((double)b->n[counter] - rate * (double)b->n[SAMPLED_INSTRUCTIONS]);

		square += b->dropped ? 0 : off * off;
	}
	*error = student(n - 1) * sqrt(square * (double)n / (double)(n - 1));
	return sum;
}

uint64_t sampled_observed(const struct sampled *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nbatch; i++)
		sum += s->batch[i].dropped ? 0 : s->batch[i].n[SAMPLED_INSTRUCTIONS];
	return sum;
}

static double plain_total(const struct sampled *s, unsigned counter)
{
	double sum = 0;

	for (size_t i = 0; i < s->nbatch; i++)
		sum += s->batch[i].dropped ? 0
					   : s->batch[i].weight * (double)s->batch[i].n[counter];
	return sum;
}

/* Finds the first batch in which two runs counted different numbers, and the sample with which it begins. */
static void locate(const struct sampled *a, const struct sampled *b, struct sampled_difference *d)
{
	size_t n = a->nbatch < b->nbatch ? a->nbatch : b->nbatch, i = 0, k = 0;

	while (i < n && !memcmp(a->batch[i].n, b->batch[i].n, sizeof(a->batch[i].n)))
		i++;
	while (k < a->n && a->sample[k].batch != i)
		k++;
	d->located = k < a->n;
	if (!d->located)
		return;
	d->number = a->sample[k].number;
	d->begin = a->sample[k].begin;
}

bool sampled_differ(const struct sampled *a, const struct sampled *b, struct sampled_difference *d)
{
	*d = (struct sampled_difference){ .instructions = { a->instructions, b->instructions },
					  .samples = { a->n, b->n } };
	for (unsigned i = 0; i < SAMPLED_N && !d->counter; i++) {
		d->total[0] = plain_total(a, i);
		d->total[1] = plain_total(b, i);
		if (d->total[0] != d->total[1])
			d->counter = sampled_counter_name(i);
	}
	if (!d->counter && a->instructions == b->instructions && a->n == b->n)
		return false;
	locate(a, b, d);
	return true;
}

static int copy(struct profile *dst, const struct sampled *from, uint32_t first_run)
{
	struct sampled *to = sampled_new(dst, from->schedule), own;

	if (!to)
		return -1;
	own = *to;
	*to = *from;
	to->schedule = own.schedule;
	to->run = from->run + first_run;
	to->sample = NULL;
	to->batch = NULL;
	to->n = to->nbatch = 0;
	for (size_t i = 0; i < from->n; i++)
		if (sampled_add(to, &from->sample[i]))
			return -1;
	for (size_t i = 0; i < from->nbatch; i++) {
		struct sample_batch *b = sampled_batch(to);

		if (!b)
			return -1;
		*b = from->batch[i];
	}
	return 0;
}

int sampled_merge(struct profile *dst, const struct profile *src, uint32_t first_run)
{
	for (size_t i = 0; i < src->nsampled; i++)
		if (copy(dst, src->sampled[i], first_run))
			return -1;
	return 0;
}

void sampled_free(struct profile *p)
{
	for (size_t i = 0; i < p->nsampled; i++) {
		free(p->sampled[i]->schedule);
		free(p->sampled[i]->sample);
		free(p->sampled[i]->batch);
		free(p->sampled[i]);
	}
	free(p->sampled);
	p->sampled = NULL;
	p->nsampled = 0;
}

double sampled_independent(const struct profile *p, double n, uint64_t batches)
{
	double samples = 0, all = 0, observed = 0, total = 0, most;

	for (size_t i = 0; i < p->nsampled; i++) {
		const struct sampled *s = p->sampled[i];

		samples += (double)s->n;
		all += (double)s->nbatch;
		observed += (double)sampled_observed(s);
		total += s->scaled ? (double)s->instructions : (double)sampled_observed(s);
	}
	if (observed >= total || all <= 0 || samples <= 0)
		return 0;
	n *= observed / total; /* removes the executions that each observation stands for */
	most = (double)batches * samples / all;
	return fmax(most < n ? most : n, 1);
}
