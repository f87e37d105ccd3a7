/* SPDX-License-Identifier: MIT */
#include "estimate/anchor.h"

#include <stdlib.h>
#include <string.h>

struct ratio {
	double value, weight;
};

static int by_value(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

double anchor_ghz(const char *cpu)
{
	const char *at = cpu ? strrchr(cpu, '@') : NULL;
	double ghz = at ? strtod(at + 1, NULL) : 0;

	return ghz > 0.1 && ghz < 20 ? ghz : ANCHOR_GHZ;
}

double anchor_cycles(const struct profile *p)
{
	const struct run *run = p->nrun ? &p->run[0] : NULL;
	double time = 0, samples = 0;
	const struct site *s;

	SITES_EACH(&p->sites, s)
	{
		time += s->time;
		samples += (double)s->samples;
	}
	if (!run || samples <= 0 || time <= 0)
		return 1;
	if (run->unit && strcmp(run->unit, "cycles") == 0)
		return time / samples;
	return time / samples * anchor_ghz(run->cpu);
}

double anchor_ratio(const struct estimate *e)
{
	struct ratio *r = calloc(e->nblocks + 1, sizeof(*r));
	double all = 0, sum = 0, ratio = 1;
	size_t n = 0;

	for (size_t i = 0; r && i < e->nproc; i++) {
		const struct estimate_proc *p = &e->proc[i];

		for (uint32_t b = 0; b < p->g.nblocks; b++) {
			double least = p->least[b] * p->block[b].f;

			if (p->samples[b] < ANCHOR_SAMPLES || least <= 0)
				continue;
			r[n++] = (struct ratio){ p->samples[b] / least, p->samples[b] };
			all += p->samples[b];
		}
	}
	if (n)
		qsort(r, n, sizeof(*r), by_value);
	for (size_t i = 0; i < n && sum <= ANCHOR_QUANTILE * all; i++) {
		sum += r[i].weight;
		ratio = r[i].value;
	}
	free(r);
	return ratio;
}
