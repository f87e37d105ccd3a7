/* SPDX-License-Identifier: MIT */
/*
 * All values of all loads, counted exactly; and the error of an estimate of their invariances.
 *
 * The invariance of a value of a load is its share in the load's executions. The error of an estimate is
 *
 *   sqrt( sum over loads and values of n (estimated - true)^2 / sum of n )      n: how often the value was loaded
 *
 * as Zilles and Sohi weigh it. Estimates know the lower 32 bits of values: two values of a load that agree in these are
 * both compared with the same estimate.
 */
#ifndef ASSAY_COPROC_TRUTH_H
#define ASSAY_COPROC_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coproc/table.h"

/* largest number of loads and values: later values are counted with the load alone */
#define TRUTH_PAIRS_MAX (1u << 26)

struct truth_load {
	uint32_t pc;
	uint64_t n;    /* executions */
	uint64_t last; /* the last value, and its current run length */
	uint64_t run;
};

struct truth_pair {
	uint64_t value;
	uint32_t load; /* number of the load + 1; 0: free */
	uint32_t n;    /* at most 2^32 - 1 */
};

/* Sums over values of a load that agree in 32 bits, for their errors. */
struct truth_sum {
	uint64_t key; /* load number + 1 << 32 | value */
	double n, squares;
};

struct truth {
	struct truth_load *load;
	size_t nload, load_room;
	struct truth_pair *pair;
	size_t npair, pairs;
	uint64_t left_out; /* executions of values for which there was no room */
	/* valid after truth_close() */
	struct truth_sum *sum;
	size_t sums;
	double executions, base;
	uint32_t *order; /* loads sorted by pc */
};

void truth_fini(struct truth *t);
/* Adds a load. Returns its number, or SIZE_MAX without memory. */
size_t truth_new(struct truth *t, uint32_t pc);
int truth_flush(struct truth *t, size_t load); /* private, for truth_add */

/* Counts a value of the load. -1 without memory. */
static inline int truth_add(struct truth *t, size_t load, uint64_t value)
{
	struct truth_load *l = &t->load[load];

	if (value != l->last || !l->run) {
		if (l->run && truth_flush(t, load))
			return -1;
		l->last = value;
	}
	l->run++;
	l->n++;
	return 0;
}

/* Ends counting. -1 without memory. */
int truth_close(struct truth *t);

/* The estimated shares of some values of a load. */
struct estimate {
	uint32_t pc;
	uint32_t n;
	uint32_t value[TABLE_VALUES];
	float share[TABLE_VALUES];
};
/* Estimates by a table (table_shares), n of them, to be freed; NULL without memory. */
struct estimate *estimate_all(const struct table *table, double most, size_t *n);
/* The error of an estimate, after truth_close(). */
double truth_error(const struct truth *t, const struct estimate *e, size_t n);
/* Executions of a load, and the share of values that agree in 32 bits; false: never executed. */
bool truth_share(const struct truth *t, uint32_t pc, uint32_t value, double *n, double *share);

#endif
