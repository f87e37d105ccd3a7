/* SPDX-License-Identifier: MIT */
/* Hot lists against exact counts; see bench/sketch. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sketch/hot.h"

#define PARTS_MAX 50
#define HOT_SHARE 0.05
#define SHOWN 4	     /* values of a list that a report shows */
#define NOISE 100000 /* distinct values of noise */
#define VALUES 2000000

/* Streams: the i-th value of n. Values below 100 are the ones meant to be hot. */

static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double fraction(void)
{
	return (double)(draw() >> 11) * 0x1p-53;
}

static uint32_t noise(void)
{
	return 100 + (uint32_t)(draw() % NOISE);
}

static uint32_t uniform(int i, int n)
{
	(void)i;
	(void)n;
	return 100 + (uint32_t)(draw() % 1000);
}

/* P(rank) ~ 1 / rank over NOISE ranks, by inversion of the logarithm. */
static uint32_t zipf(int i, int n)
{
	(void)i;
	(void)n;
	return (uint32_t)exp(fraction() * log(NOISE)) - 1;
}

static uint32_t dominant(int i, int n)
{
	(void)i;
	(void)n;
	return draw() % 100 < 95 ? 7 : noise();
}

static uint32_t interleaved(int i, int n)
{
	(void)n;
	return i % 3 == 2 ? noise() : (uint32_t)(i % 3);
}

static uint32_t phases(int i, int n)
{
	return draw() % 4 ? (uint32_t)(5ll * i / n) : noise();
}

static uint32_t newcomer(int i, int n)
{
	return i < n * 0.8 || draw() % 4 == 0 ? noise() : 3;
}

/* Five values near the threshold of what counts as hot. */
static uint32_t faint(int i, int n)
{
	uint64_t u = draw() % 100;

	(void)i;
	(void)n;
	return u < 35 ? (uint32_t)(u / 7) : noise();
}

static uint32_t distinct(int i, int n)
{
	(void)n;
	return 100 + (uint32_t)i;
}

static const struct stream {
	const char *name;
	uint32_t (*value)(int i, int n);
} streams[] = {
	{ "uniform", uniform }, { "zipf", zipf },	  { "dominant", dominant },
	{ "two", interleaved }, { "phases", phases },	  { "newcomer", newcomer },
	{ "faint", faint },	{ "distinct", distinct },
};
#define STREAM_N ((int)(sizeof(streams) / sizeof(*streams)))

/* Estimates to compare: hot_top's own, and what else its bounds and tau allow. */

static double own(const struct hot *h, const struct hot_value *v)
{
	(void)h;
	return v->count;
}

static double least(const struct hot *h, const struct hot_value *v)
{
	(void)h;
	return v->low;
}

static double middle(const struct hot *h, const struct hot_value *v)
{
	(void)h;
	return (v->low + v->high) / 2;
}

static double most(const struct hot *h, const struct hot_value *v)
{
	(void)h;
	return v->high;
}

static double near_tau(const struct hot *h, const struct hot_value *v)
{
	return v->low + (hot_exact(h) ? 0 : 0.418 * hot_tau(h) - 1);
}

static double fixed_tau(const struct hot *h, const struct hot_value *v)
{
	return v->low + hot_tau(h) - 1;
}

#define EST_N 4
static const struct estimator {
	const char *name;
	double (*of)(const struct hot *h, const struct hot_value *v);
} estimators[HOT_METHOD_N][EST_N] = {
	[HOT_SPACE_SAVING] = { { "hot_top", own },
			       { "low", least },
			       { "middle", middle },
			       { "high", most } },
	[HOT_COUNTING] = { { "hot_top", own },
			   { "low", least },
			   { "low+0.418tau-1", near_tau },
			   { "low+tau-1", fixed_tau } },
};

#define BAND_N 4 /* of true share: up to HOT_SHARE, twice, four times that, above */

static int band(double share)
{
	return share < HOT_SHARE ? 0 : share < 2 * HOT_SHARE ? 1 : share < 4 * HOT_SHARE ? 2 : 3;
}

struct tally {
	long runs, rest_holds;
	long hot, hot_found; /* true values of HOT_SHARE and more */
	long reported, low_fails, high_fails;
	long hot_high_fails;
	/* of estimates, in shares of the total; a missing hot value is estimated 0. Of those that are not
	 * hot: the ones that a report shows */
	double bias[BAND_N][EST_N], square[BAND_N][EST_N];
	long estimates[BAND_N];
	double adds, seconds, confidence;
};

static void tally_add(struct tally *to, const struct tally *t)
{
	to->runs += t->runs;
	to->rest_holds += t->rest_holds;
	to->hot += t->hot;
	to->hot_found += t->hot_found;
	to->reported += t->reported;
	to->low_fails += t->low_fails;
	to->high_fails += t->high_fails;
	to->hot_high_fails += t->hot_high_fails;
	for (int b = 0; b < BAND_N; b++) {
		to->estimates[b] += t->estimates[b];
		for (int e = 0; e < EST_N; e++) {
			to->bias[b][e] += t->bias[b][e];
			to->square[b][e] += t->square[b][e];
		}
	}
	to->adds += t->adds;
	to->seconds += t->seconds;
	to->confidence += t->confidence;
}

static uint32_t exact[VALUES];
static struct hot_value top[HOT_CAPACITY_MAX];

static void tally_estimates(struct tally *t, const struct hot *h, const struct hot_value *v,
			    double is, int n)
{
	int b = band(is / n);

	t->estimates[b]++;
	for (int e = 0; e < EST_N; e++) {
		double error = ((v ? estimators[hot_method(h)][e].of(h, v) : 0) - is) / n;

		t->bias[b][e] += error;
		t->square[b][e] += error * error;
	}
}

static void judge(const struct hot *h, const uint32_t *values, int n, struct tally *t)
{
	unsigned k = hot_top(h, top, HOT_CAPACITY_MAX);
	double rest = 0;

	t->runs++;
	t->confidence += hot_confidence(h);
	for (unsigned i = 0; i < k; i++) {
		double is = exact[top[i].value];
		bool hot = is >= HOT_SHARE * n;

		t->reported++;
		t->low_fails += is < top[i].low;
		t->high_fails += is > top[i].high;
		t->hot_high_fails += hot && is > top[i].high;
		t->hot_found += hot;
		t->hot += hot;
		if (hot || i < SHOWN)
			tally_estimates(t, h, &top[i], is, n);
		exact[top[i].value] = 0;
	}
	for (int i = 0; i < n; i++) { /* what is not in the list; and exact[] is clear after it */
		double is = exact[values[i]];

		exact[values[i]] = 0;
		rest = is > rest ? is : rest;
		if (is < HOT_SHARE * n)
			continue;
		t->hot++;
		tally_estimates(t, h, NULL, is, n);
	}
	t->rest_holds += rest <= hot_rest_bound(h);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

struct setting {
	enum hot_method method;
	const struct stream *stream;
	int n, parts;
	unsigned capacity;
	bool unequal; /* parts of different capacities */
};

static void run(const struct setting *s, uint32_t *values, struct tally *t)
{
	struct hot *whole = NULL;
	double t0;

	for (int i = 0; i < s->n; i++) {
		values[i] = s->stream->value(i, s->n);
		exact[values[i]]++;
	}
	for (int p = 0; p < s->parts; p++) {
		unsigned capacity =
			s->unequal ? s->capacity * (1 + (unsigned)p % 3) / 2 : s->capacity;
		struct hot *h = hot_new(s->method, p ? capacity : s->capacity);
		int end = (int)((long)s->n * (p + 1) / s->parts);

		if (!h)
			abort();
		t0 = now();
		for (int i = (int)((long)s->n * p / s->parts); i < end; i++)
			if (hot_add(h, values[i], 1))
				abort();
		t->seconds += now() - t0;
		if (!whole) {
			whole = h;
			continue;
		}
		if (hot_merge(whole, h))
			abort();
		hot_free(h);
	}
	t->adds += s->n;
	judge(whole, values, s->n, t);
	hot_free(whole);
}

static void print_head(const char *what)
{
	printf("\n%-22s %5s %7s %7s %6s %7s %7s %7s %6s\n", what, "runs", "hot", "found %", "low %",
	       "high %", "hot h %", "rest %", "ns/add");
}

static double percent(long part, long all)
{
	return all ? 100.0 * (double)part / (double)all : 100;
}

static void print_row(const char *name, const struct tally *t)
{
	printf("%-22s %5ld %7ld %7.1f %6.1f %7.2f %7.2f %7.1f %6.1f\n", name, t->runs, t->hot,
	       percent(t->hot_found, t->hot), percent(t->reported - t->low_fails, t->reported),
	       percent(t->reported - t->high_fails, t->reported),
	       percent(t->hot_found - t->hot_high_fails, t->hot_found),
	       percent(t->rest_holds, t->runs), 1e9 * t->seconds / t->adds);
}

static void print_estimators(const char *name, enum hot_method m, const struct tally *t)
{
	printf("\n%-18s", name);
	for (int b = 0; b < BAND_N; b++)
		printf("   bias   RMS (%5ld)", t->estimates[b]);
	for (int e = 0; e < EST_N; e++) {
		printf("\n  %-16s", estimators[m][e].name);
		for (int b = 0; b < BAND_N; b++)
			printf(" %+6.2f %5.2f%s", 100 * t->bias[b][e] / (double)t->estimates[b],
			       100 * sqrt(t->square[b][e] / (double)t->estimates[b]),
			       b < BAND_N - 1 ? "       " : "");
	}
	printf("\n");
}

static const unsigned capacities[] = { 8, 16, 64 };
static const int sizes[] = { 1000, 10000, 100000, 1000000 };
static const int splits[] = { 1, 2, 10, 50 };
#define N_OF(a) ((int)(sizeof(a) / sizeof(*(a))))

static void method(enum hot_method m, int budget, uint32_t *values)
{
	static struct tally by_stream[STREAM_N], by_capacity[3], by_size[4], by_split[4][2];
	static struct tally estimates[3][2];
	struct tally all = { 0 };
	char name[64];

	memset(by_stream, 0, sizeof(by_stream));
	memset(by_capacity, 0, sizeof(by_capacity));
	memset(by_size, 0, sizeof(by_size));
	memset(by_split, 0, sizeof(by_split));
	memset(estimates, 0, sizeof(estimates));
	for (int c = 0; c < N_OF(capacities); c++)
		for (int z = 0; z < N_OF(sizes); z++)
			for (int p = 0; p < N_OF(splits); p++)
				for (int u = 0; u < (p ? 2 : 1); u++)
					for (int k = 0; k < STREAM_N; k++) {
						struct setting s = {
							m,	   &streams[k],	  sizes[z],
							splits[p], capacities[c], u
						};
						struct tally t = { 0 };

						for (int left = budget; left > 0; left -= s.n)
							run(&s, values, &t);
						tally_add(&by_stream[k], &t);
						tally_add(&by_capacity[c], &t);
						tally_add(&by_size[z], &t);
						tally_add(&by_split[p][u], &t);
						tally_add(&estimates[c][p > 0], &t);
						tally_add(&all, &t);
					}
	printf("\n%s: stated confidence %.3f on average\n", hot_method_name[m],
	       all.confidence / (double)all.runs);
	print_head("stream");
	for (int k = 0; k < STREAM_N; k++)
		print_row(streams[k].name, &by_stream[k]);
	print_head("capacity");
	for (int c = 0; c < N_OF(capacities); c++) {
		snprintf(name, sizeof(name), "%u", capacities[c]);
		print_row(name, &by_capacity[c]);
	}
	print_head("length");
	for (int z = 0; z < N_OF(sizes); z++) {
		snprintf(name, sizeof(name), "%d", sizes[z]);
		print_row(name, &by_size[z]);
	}
	print_head("parts, capacities");
	for (int p = 0; p < N_OF(splits); p++)
		for (int u = 0; u < (p ? 2 : 1); u++) {
			snprintf(name, sizeof(name), "%d%s", splits[p], u ? ", unequal" : "");
			print_row(name, &by_split[p][u]);
		}
	print_row("all", &all);
	printf("\nestimates, in points of share, of values by their true share:\n"
	       "                     < 5 %%              5 - 10 %%           10 - 20 %%          "
	       ">= 20 %%");
	for (int c = 0; c < N_OF(capacities); c++)
		for (int u = 0; u < 2; u++) {
			snprintf(name, sizeof(name), "%u, %s", capacities[c],
				 u ? "merged" : "one list");
			print_estimators(name, m, &estimates[c][u]);
		}
}

int main(int argc, char **argv)
{
	int budget = argc > 1 ? atoi(argv[1]) : 100000;
	uint32_t *values = malloc(sizeof(*values) * 1000000);

	if (!values)
		return 1;
	for (int m = 0; m < HOT_METHOD_N; m++)
		method((enum hot_method)m, budget, values);
	free(values);
	return 0;
}
