/* SPDX-License-Identifier: MIT */
/*
 * Hot lists: the most frequent values of a stream, in constant space, each with bounds. There are two methods behind
 * one interface:
 *
 *   counting samples  Gibbons, Matias, "New sampling-based summary statistics", SIGMOD 1998
 *   Space-Saving      Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements", ICDT 2005
 *
 * A list starts small and grows up to its capacity, so that the many sites seen a few times cost little. It is exact as
 * long as no more distinct values than its capacity were added.
 *
 * Errors of estimates (bench/sketch, capacity 16, in points of share, one list and merged ones):
 *   Space-Saving      uses its least count: within 0.01 from 10 % of the stream up, 1.2 too low between 5 and 10 %. The
 *                     middle of its bounds is 0.5 too low there, but 2 too high for values that are not hot.
 *   counting samples  use count + tau - 1, unbiased for a given tau: within 0.2 from 5 % up, RMS 5 to 2; merged ones
 *                     within 0.9. The authors' count + 0.418 tau - 1 is 2.3 too low between 5 and 10 %.
 * Hot values (5 % and more) found: Space-Saving 99.9 %, counting samples 85 %. docs/results.md has what they find in real
 * streams, which the defaults follow.
 */
#ifndef ASSAY_SKETCH_HOT_H
#define ASSAY_SKETCH_HOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum hot_method {
	HOT_SPACE_SAVING,
	HOT_COUNTING,
	HOT_METHOD_N
};
extern const char *const hot_method_name[HOT_METHOD_N];
int hot_method_by_name(const char *name); /* the method of that name, or -1 */

#define HOT_CAPACITY_DEFAULT 16
#define HOT_CAPACITY_MAX 4096
#define HOT_WEIGHT_MAX 2.0

struct hot; /* A hot list, which owns its entries. */

struct hot_value {
	uint64_t value;
	double count;	  /* estimated occurrences */
	double low, high; /* bounds: the true number of occurrences lies in [low, high]. low is
			   * certain; high too for Space-Saving, for counting samples it holds with
			   * hot_confidence() */
	/* estimated weight of its occurrences; equal to count in lists without weights */
	double weight;
	/* bounds of the weight, of the same kind as those of the count */
	double weight_low, weight_high;
};

/* NULL without memory. */
struct hot *hot_new(enum hot_method method, unsigned capacity);
void hot_free(struct hot *h);

/* Adds n occurrences of a value. -1 without memory (the list is unchanged). */
int hot_add(struct hot *h, uint64_t value, uint64_t n);
/* Adds one occurrence with weight `weight`, at most HOT_WEIGHT_MAX, for streams that are sampled
 * unevenly. Counts do not depend on weights; occurrences that were added before without weights
 * weigh 1 each. -1 without memory. */
int hot_add_weighted(struct hot *h, uint64_t value, double weight);
/* Adds n values, each once, from one stretch of the stream. They are counted exactly first, so
 * the bounds are as tight as if the rare values of the stretch had been left out of it. -1
 * without memory: some of them are added. */
int hot_add_many(struct hot *h, const uint64_t *value, unsigned n);
/* Prefetches the list into the cache, for a caller that will soon add many values. */
void hot_expect(const struct hot *h);
/* Adds src to dst: the result describes both streams, with bounds that hold for both. Both have
 * one method; capacities may differ (dst's holds). -1 without memory or if the methods differ
 * (dst is unchanged). For counting samples that are not exact the bounds widen with the number
 * of lists merged. */
int hot_merge(struct hot *dst, const struct hot *src);
/* Like hot_merge(), with `add` added to each of src's values and the sum narrowed to `bits`
 * first. No two of the values that were added to src may become equal. */
int hot_merge_sum(struct hot *dst, const struct hot *src, uint64_t add, unsigned bits);

/* Makes each occurrence count as `factor` (more than 0) occurrences. Counts are rounded so that
 * no bound gets tighter. -1 without memory. */
int hot_scale(struct hot *h, double factor);

uint64_t hot_total(const struct hot *h);    /* occurrences added */
double hot_weight(const struct hot *h);	    /* weight of the occurrences added */
unsigned hot_distinct(const struct hot *h); /* entries held */
bool hot_exact(const struct hot *h);	    /* counts are exact: nothing was left out */
double hot_tau(const struct hot *h); /* counting samples: the sampling threshold, 1 to begin with */
double hot_confidence(const struct hot *h); /* confidence of the bounds; 1 if they are certain */
enum hot_method hot_method(const struct hot *h);

/* Copies the up to n hottest values to out, hottest first (ties: smaller value first). Returns
 * how many. */
unsigned hot_top(const struct hot *h, struct hot_value *out, unsigned n);
/* The most that any value outside the list can have occurred, with confidence hot_confidence(). */
double hot_rest_bound(const struct hot *h);

/* Lists as columns (base/columns.h), documented in hot_bytes.c. */
enum hot_column {
	HOT_FORM,
	HOT_TOTAL,
	HOT_ENTRIES,
	HOT_REST,
	HOT_VALUES,
	HOT_CERTAIN,
	HOT_ERRORS,
	HOT_WEIGHTS,
	HOT_COLUMNS
};
struct buffer;
struct cursor;
/* What is written of a Space-Saving list that is not exact, where most entries are noise: values that certainly occurred less
 * than a quarter of how often values outside the list may have occurred. */
enum hot_extent {
	HOT_ALL,
	HOT_HOT, /* no noise; the hottest value in any case */
};
/* Appends a list to column[0..HOT_COLUMNS). False without memory. */
bool hot_encode(const struct hot *h, enum hot_extent extent, struct buffer *column);
/* Reads the next list of column[0..HOT_COLUMNS), which are untrusted. NULL with err set if it is malformed. */
struct hot *hot_decode(struct cursor *column, struct err *err);

/* Makes a Space-Saving list of n values that occurred count[] times of `total`; another value occurred at most `rest` times,
 * which is no more than any of the counts. At most `capacity` values. NULL without memory. */
struct hot *hot_counted(unsigned capacity, uint64_t total, uint64_t rest, const uint64_t *value,
			const uint64_t *count, unsigned n);

/* Seeds the generator for counting samples, which otherwise has a fixed seed. */
void hot_seed(uint64_t seed);

#endif
