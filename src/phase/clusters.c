/* SPDX-License-Identifier: MIT */
#include "phase/clusters.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REACHED 0.9 /* part of the criterion's range that has to be reached */
/* Squared distances that differ by less are equal: the earlier interval is taken. */
#define SAME 1e-9

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int typical_length(struct clusters *c, const struct phases *p)
{
	uint64_t *length = malloc(p->ninterval * sizeof(*length));

	if (!length)
		return -1;
	for (size_t i = 0; i < p->ninterval; i++)
		length[i] = p->interval[i].end - p->interval[i].start;
	qsort(length, p->ninterval, sizeof(*length), by_value);
	c->typical = length[p->ninterval / 2];
	free(length);
	return 0;
}

/* Finds the clusterings up to k and copies the chosen one to *best. */
static int try_all(struct clusters *c, struct kmeans *best, const struct point *p, size_t n,
		   unsigned most)
{
	struct kmeans m[CLUSTERS_MAX + 1] = { { 0 } };
	double low = INFINITY, high = -INFINITY;
	unsigned chosen = 0;
	int rc = 0;

	for (unsigned k = 1; k <= most && !rc; k++) {
		rc = kmeans_find(&m[k], p, n, k);
		if (rc)
			break;
		c->tried = k;
		c->bic[k] = m[k].bic;
		low = fmin(low, m[k].bic);
		high = fmax(high, m[k].bic);
		if (m[k].k < k) /* There are no more different points. */
			break;
	}
	for (unsigned k = c->tried; k >= 1; k--)
		if (m[k].bic >= low + REACHED * (high - low))
			chosen = k;
	if (!rc) {
		*best = m[chosen];
		m[chosen] = (struct kmeans){ 0 };
	}
	for (unsigned k = 1; k <= most; k++)
		kmeans_fini(&m[k]);
	return rc;
}

/* Numbers phases by their first interval. */
static int number_phases(struct clusters *c, struct kmeans *m)
{
	uint32_t *map = calloc(m->k + 1ul, sizeof(*map));
	double(*center)[POINT_DIMENSIONS] = calloc(m->k + 1ul, sizeof(*center));
	unsigned k = 0;

	c->label = calloc(c->n + 1, sizeof(*c->label));
	c->cluster = calloc(m->k + 1ul, sizeof(*c->cluster));
	if (!map || !center || !c->label || !c->cluster) {
		free(map);
		free(center);
		return -1;
	}
	assert(m->label && m->center);
	for (size_t i = 0; i < c->n; i++) {
		uint32_t *to = &map[m->label[i]];

		if (!*to) {
			memcpy(center[k], m->center[m->label[i]], sizeof(center[k]));
			c->cluster[k].first = i;
			*to = ++k;
		}
		c->label[i] = *to - 1;
	}
	c->k = k;
	memcpy(m->center, center, k * sizeof(*center));
	free(map);
	free(center);
	return 0;
}

static void sum_up(struct clusters *c, const struct phases *p, const struct kmeans *m,
		   const struct point *point)
{
	c->instructions = phases_instructions(p);
	for (size_t i = 0; i < c->n; i++) {
		struct cluster *one = &c->cluster[c->label[i]];
		uint64_t length = p->interval[i].end - p->interval[i].start;
		double d = sqrt(points_distance2(point[i].x, m->center[c->label[i]]));

		one->intervals++;
		one->instructions += length;
		one->distance += d * (double)length;
		c->within += d * (double)length / (double)c->instructions;
	}
	for (unsigned k = 0; k < c->k; k++) {
		c->cluster[k].distance /= (double)c->cluster[k].instructions;
		c->cluster[k].share = (double)c->cluster[k].instructions / (double)c->instructions;
	}
}

static void measure_between(struct clusters *c, const struct kmeans *m)
{
	double sum = 0, weight = 0;

	for (unsigned i = 0; i < c->k; i++)
		for (unsigned j = 0; j < i; j++) {
			double w = c->cluster[i].share * c->cluster[j].share;

			sum += w * sqrt(points_distance2(m->center[i], m->center[j]));
			weight += w;
		}
	c->between = weight > 0 ? sum / weight : 0;
}

/* Returns the silhouette of one interval: Rousseeuw, "Silhouettes", Journal of Computational and
 * Applied Mathematics 20, 1987. */
static double silhouette_of(const struct clusters *c, const struct point *p, size_t i, double *sum)
{
	double own, other = INFINITY;
	uint32_t label = c->label[i];

	if (c->cluster[label].intervals < 2)
		return 0;
	memset(sum, 0, c->k * sizeof(*sum));
	for (size_t j = 0; j < c->n; j++)
		sum[c->label[j]] += sqrt(points_distance2(p[i].x, p[j].x));
	own = sum[label] / (double)(c->cluster[label].intervals - 1);
	for (unsigned k = 0; k < c->k; k++)
		if (k != label)
			other = fmin(other, sum[k] / (double)c->cluster[k].intervals);
	return own > 0 || other > 0 ? (other - own) / fmax(own, other) : 0;
}

static int measure_silhouette(struct clusters *c, const struct point *p)
{
	double *sum = calloc(c->k + 1ul, sizeof(*sum)), all = 0;

	if (!sum)
		return -1;
	for (size_t i = 0; i < c->n && c->k > 1; i++)
		all += silhouette_of(c, p, i, sum);
	c->silhouette = all / (double)c->n;
	free(sum);
	return 0;
}

/* Chooses the interval that stands for cluster k. */
static size_t choose_sample(const struct clusters *c, const struct phases *p,
			    const struct kmeans *m, const struct point *point, unsigned k,
			    const struct clusters_options *o)
{
	double best = INFINITY, enough = c->cluster[k].distance;
	size_t sample = c->cluster[k].first;

	for (size_t i = 0; i < c->n; i++) {
		double d2 = points_distance2(point[i].x, m->center[k]);

		if (c->label[i] != k || p->interval[i].end - p->interval[i].start < o->sample)
			continue;
		if (o->early && sqrt(d2) <= enough + sqrt(SAME))
			return i;
		if (d2 < best - SAME) {
			best = d2;
			sample = i;
		}
	}
	return sample;
}

/* Measures which part of each cluster's executions its sample accounts for. */
static int measure_held(struct clusters *c, const struct phases *p)
{
	double *of = calloc(p->nblock + 1, sizeof(*of));

	if (!of)
		return -1;
	for (unsigned k = 0; k < c->k; k++) {
		const struct phase_interval *s = &p->interval[c->cluster[k].sample];
		double length = (double)(s->end - s->start), held = 0;
		struct phases_walk w;

		for (size_t i = 0; i < c->n; i++)
			for (w = phases_walk(&p->interval[i]); c->label[i] == k && phases_next(&w);)
				of[w.part.block] += (double)w.part.instructions;
		for (w = phases_walk(s); phases_next(&w);)
			held += fmin((double)w.part.instructions / length,
				     of[w.part.block] / (double)c->cluster[k].instructions);
		memset(of, 0, p->nblock * sizeof(*of));
		c->cluster[k].held = held;
		c->held += held * c->cluster[k].share;
	}
	free(of);
	return 0;
}

static int finish(struct clusters *c, const struct phases *p, struct kmeans *m,
		  const struct point *point, const struct clusters_options *o)
{
	if (number_phases(c, m))
		return -1;
	sum_up(c, p, m, point);
	measure_between(c, m);
	for (unsigned k = 0; k < c->k; k++) {
		size_t sample = choose_sample(c, p, m, point, k, o);
		double end = (double)p->interval[sample].end / (double)c->instructions;

		c->cluster[k].sample = sample;
		c->early_end = fmax(c->early_end, end);
	}
	return measure_silhouette(c, point) || measure_held(c, p) ? -1 : 0;
}

/* Excludes intervals that are too short to stand for a phase. Returns how many are long enough. */
static size_t set_aside_short(const struct phases *p, struct point *point, uint64_t enough)
{
	size_t n = 0;

	for (size_t i = 0; i < p->ninterval; i++)
		if (p->interval[i].end - p->interval[i].start < enough)
			point[i].weight = 0;
		else
			n++;
	return n;
}

int clusters_find(struct clusters *c, const struct phases *p, const struct clusters_options *given,
		  struct err *err)
{
	struct clusters_options o = *given;
	struct kmeans m = { 0 };
	struct point *point;
	unsigned most;
	int rc;

	*c = (struct clusters){ .n = p->ninterval };
	if (!c->n)
		return err_set(err, ERR_EMPTY, "the process has no intervals");
	point = points_of(p);
	if (!point || typical_length(c, p)) {
		free(point);
		return err_no_memory(err, "phases");
	}
	if (!o.sample)
		o.sample = c->typical / 2;
	if (!set_aside_short(p, point, o.sample)) {
		free(point);
		err_set(err, ERR_FAILED, "no interval has %llu instructions, a sample's size",
			(unsigned long long)o.sample);
		return err_hint(err, "--sample-size %llu, or record with a longer --interval",
				(unsigned long long)c->typical);
	}
	most = o.most && o.most < CLUSTERS_MAX ? o.most : CLUSTERS_MAX;
	if (most > c->n)
		most = (unsigned)c->n;
	if (o.k)
		rc = kmeans_find(&m, point, c->n, o.k < c->n ? o.k : (unsigned)c->n);
	else
		rc = try_all(c, &m, point, c->n, most);
	if (!rc && !o.k)
		kmeans_prune(&m, point, c->n, o.least);
	if (!rc)
		rc = finish(c, p, &m, point, &o);
	kmeans_fini(&m);
	free(point);
	if (!rc)
		return 0;
	clusters_fini(c);
	return err_no_memory(err, "phases");
}

void clusters_fini(struct clusters *c)
{
	free(c->label);
	free(c->cluster);
	*c = (struct clusters){ 0 };
}
