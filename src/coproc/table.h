/* SPDX-License-Identifier: MIT */
/*
 * What the host keeps of load values in main memory: of each instruction, by address, its samples, and the values that
 * were counted, with the samples that met each of them and those that did not.
 */
#ifndef ASSAY_COPROC_TABLE_H
#define ASSAY_COPROC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_VALUES 8 /* kept of an instruction; the rarest gives way */

struct table_value {
	uint64_t value;
	uint64_t hits, misses; /* while it was the active one */
};

struct table_load {
	uint32_t pc, hash;
	uint64_t total; /* samples */
	uint32_t rounds;
	uint32_t weight;       /* of the next slot: so much time it stands for */
	uint32_t pause, later; /* of the host's calendar (coproc/host_values.h) */
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
/* The instruction's, made if new. NULL without memory. Good until the next one is made. */
struct table_load *table_get(struct table *t, uint32_t pc);
/* What the table takes in main memory. */
size_t table_bytes(const struct table *t);
const struct table_load *table_find(const struct table *t, uint32_t pc);
/* Adds what a slot has counted: of `total` samples so many hit the value and missed it. */
void table_add(struct table_load *l, uint64_t value, uint64_t hits, uint64_t misses,
	       uint64_t total);
/*
 * The estimate of the shares of a load's values in its executions, 0 to 1.
 *
 * Samples that met an active value or missed it are binomial with its share; shares add up to 1 at most. So they are found
 * by expectation maximisation: the misses of a value's regions are divided among the other values, and values that were
 * never active, in proportion to their shares. (Zilles and Sohi divide them by hits alone, in one step, which takes
 * all misses for values that are known.) Samples that no active value accounts for were taken while active values did
 * badly: of these a value gets its share, but not more than `most`, the invariance below which another value is chosen.
 */
#define TABLE_MOST 0.2
void table_shares(const struct table_load *l, double most, double share[TABLE_VALUES]);

#endif
