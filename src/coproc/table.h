/* SPDX-License-Identifier: MIT */
/*
 * The host's table of load values: for each instruction, its samples and the counted values, with
 * the samples that matched each of them and those that did not.
 */
#ifndef ASSAY_COPROC_TABLE_H
#define ASSAY_COPROC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_VALUES 8 /* values kept of an instruction; the rarest is replaced */

struct table_value {
	uint64_t value;
	uint64_t hits, misses; /* while the value was the active one */
};

struct table_load {
	uint32_t pc, hash;
	uint64_t total; /* number of samples */
	uint32_t rounds;
	uint32_t weight;       /* time that the next slot stands for */
	uint32_t pause, later; /* for the host's calendar (coproc/host_values.h) */
	uint8_t n;
	bool masked;
	struct table_value value[TABLE_VALUES];
};

struct table {
	struct table_load *load;
	size_t n, room;
	uint32_t *slot; /* number + 1, or 0; linear probing */
	size_t slots;
};

void table_fini(struct table *t);
/* Finds or makes the instruction's entry. NULL without memory. Valid until the next entry is
 * made. */
struct table_load *table_get(struct table *t, uint32_t pc);
/* The bytes that the table takes in main memory. */
size_t table_bytes(const struct table *t);
/* Adds a slot's counts: of `total` samples, the numbers that hit and missed the value. */
void table_add(struct table_load *l, uint64_t value, uint64_t hits, uint64_t misses,
	       uint64_t total);
/*
 * Estimates the shares of a load's values in its executions, 0 to 1.
 *
 * Samples that matched or missed an active value are binomial with its share; shares add up to at
 * most 1. So they are estimated by expectation maximisation: the misses of a value are divided
 * among the other values, and values that were never active, in proportion to their shares. (Zilles
 * and Sohi divide them by hits alone, in one step, which attributes all misses to known values.)
 * Samples without an active value were taken while active values did badly: a value gets its share
 * of these, but not more than `most`, the invariance below which another value is chosen.
 */
#define TABLE_MOST 0.2
void table_shares(const struct table_load *l, double most, double share[TABLE_VALUES]);

#endif
