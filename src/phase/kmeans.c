/* SPDX-License-Identifier: MIT */
#include "phase/kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BEGINNINGS 7
#define ROUNDS 100
/* Points that are closer than a thousandth of their coordinates' range count as equal: intervals end at the end of a
 * block, so two of the same phase differ by that much. */
#define VARIANCE_MIN 1e-6

static int make(struct kmeans *m, size_t n, unsigned k)
{
	*m = (struct kmeans){ .k = k };
	m->center = calloc(k, sizeof(*m->center));
	m->weight = calloc(k, sizeof(*m->weight));
	m->label = calloc(n + 1, sizeof(*m->label));
	if (m->center && m->weight && m->label)
		return 0;
	kmeans_fini(m);
	return -1;
}

void kmeans_fini(struct kmeans *m)
{
	free(m->center);
	free(m->weight);
	free(m->label);
	*m = (struct kmeans){ 0 };
}

/* Draws a point at random, with probability proportional to its part of `mass`. */
static size_t draw(const double *mass, size_t n, double at)
{
	double sum = 0;
	size_t last = 0;

	for (size_t i = 0; i < n; i++)
		sum += mass[i];
	at *= sum;
	for (size_t i = 0; i < n; i++) {
		if (mass[i] <= 0)
			continue;
		last = i;
		if (at < mass[i])
			return i;
		at -= mass[i];
	}
	return last;
}

/*
 * Chooses the first centers: Arthur, Vassilvitskii, "k-means++: the advantages of careful seeding",
 * SODA 2007. Returns their number: less than k if there are fewer different points.
 */
static unsigned begin(struct kmeans *m, const struct point *p, size_t n, uint64_t seed,
		      double *mass)
{
	unsigned k = 0;

	for (size_t i = 0; i < n; i++)
		mass[i] = p[i].weight;
	while (k < m->k) {
		size_t at = draw(mass, n, points_random_unit(seed, k));
		double far = 0;

		memcpy(m->center[k++], p[at].x, sizeof(p[at].x));
		for (size_t i = 0; i < n; i++) {
			double d = points_distance2(p[i].x, m->center[k - 1]) * p[i].weight;

			mass[i] = k == 1 || d < mass[i] ? d : mass[i];
			far += mass[i];
		}
		if (far <= 0)
			break;
	}
	return k;
}

static unsigned nearest(const struct kmeans *m, const struct point *p, double *distance)
{
	unsigned best = 0;

	*distance = INFINITY;
	for (unsigned c = 0; c < m->k; c++) {
		double d = points_distance2(p->x, m->center[c]);

		if (d < *distance) {
			*distance = d;
			best = c;
		}
	}
	return best;
}

/* Returns whether any label changed. */
static int assign(struct kmeans *m, const struct point *p, size_t n)
{
	int changed = 0;

	m->spread = 0;
	memset(m->weight, 0, m->k * sizeof(*m->weight));
	for (size_t i = 0; i < n; i++) {
		double d;
		unsigned c = nearest(m, &p[i], &d);

		changed |= c != m->label[i];
		m->label[i] = c;
		m->weight[c] += p[i].weight;
		m->spread += d * p[i].weight;
	}
	return changed;
}

static void move_centers(struct kmeans *m, const struct point *p, size_t n)
{
	memset(m->center, 0, m->k * sizeof(*m->center));
	for (size_t i = 0; i < n; i++)
		for (int d = 0; d < POINT_DIMENSIONS; d++)
			m->center[m->label[i]][d] +=
				p[i].x[d] * p[i].weight / m->weight[m->label[i]];
}

/* Removes clusters without points. */
static void drop_empty(struct kmeans *m, size_t n)
{
	unsigned to = 0, *map = calloc(m->k + 1ul, sizeof(*map));

	if (!map)
		return;
	for (unsigned c = 0; c < m->k; c++) {
		map[c] = to;
		if (m->weight[c] <= 0)
			continue;
		memmove(m->center[to], m->center[c], sizeof(m->center[c]));
		m->weight[to++] = m->weight[c];
	}
	for (size_t i = 0; i < n; i++)
		m->label[i] = map[m->label[i]];
	m->k = to;
	free(map);
}

/*
 * Log-likelihood of spherical Gaussians of one variance, less half of log R for each parameter.
 * Points count by weight, scaled so that the weights sum to n.
 */
static double criterion(const struct kmeans *m, const struct point *p, size_t n)
{
	double all = 0, d = POINT_DIMENSIONS, r = (double)n, k = m->k, likelihood = 0, variance;

	for (size_t i = 0; i < n; i++)
		all += p[i].weight;
	if (all <= 0)
		return 0;
	variance = m->spread / all / d * (r > k ? r / (r - k) : 1);
	if (variance < VARIANCE_MIN)
		variance = VARIANCE_MIN;
	for (unsigned c = 0; c < m->k; c++) {
		double rc = m->weight[c] / all * r;

		likelihood += rc * log(m->weight[c] / all);
	}
	likelihood -= r * d / 2 * log(2 * M_PI * variance);
	likelihood -= m->spread / all * r / (2 * variance);
	return likelihood - ((k - 1) + d * k + 1) / 2 * log(r);
}

static void run(struct kmeans *m, const struct point *p, size_t n)
{
	assign(m, p, n);
	for (int round = 0; round < ROUNDS; round++) {
		drop_empty(m, n);
		move_centers(m, p, n);
		if (!assign(m, p, n))
			break;
	}
	drop_empty(m, n);
}

int kmeans_find(struct kmeans *m, const struct point *p, size_t n, unsigned k)
{
	double *mass = calloc(n + 1, sizeof(*mass));

	*m = (struct kmeans){ .spread = INFINITY };
	for (uint64_t i = 0; i < BEGINNINGS; i++) {
		struct kmeans one;

		if (!mass || make(&one, n, k)) {
			free(mass);
			kmeans_fini(m);
			return -1;
		}
		one.k = begin(&one, p, n, i * 977 + k, mass);
		run(&one, p, n);
		if (one.spread < m->spread) {
			kmeans_fini(m);
			*m = one;
		} else {
			kmeans_fini(&one);
		}
	}
	free(mass);
	m->bic = criterion(m, p, n);
	return 0;
}

void kmeans_prune(struct kmeans *m, const struct point *p, size_t n, double least)
{
	double all = 0, most = 0;
	unsigned to = 0;

	for (unsigned c = 0; c < m->k; c++) {
		all += m->weight[c];
		most = fmax(most, m->weight[c]);
	}
	for (unsigned c = 0; c < m->k; c++)
		if (m->weight[c] >= fmin(least * all, most))
			memmove(m->center[to++], m->center[c], sizeof(m->center[c]));
	if (to == m->k)
		return;
	m->k = to;
	run(m, p, n);
	m->bic = criterion(m, p, n);
}
