/* SPDX-License-Identifier: MIT */
/*
 * How much compressed rows of a recording may expand to: so much for each byte that is stored, and some more, which a small
 * recording may take. No recorder writes more.
 *
 * Windows are forgotten once they are added up, and working sets once they are checked: of a program that does nothing but
 * jump to itself windows were found to expand by up to 2,300. Sites and edges stay in memory: those of
 * real programs expand by 4, those of a million instructions in a row that all ran once by 330.
 */
#ifndef ASSAY_STORE_BUDGET_H
#define ASSAY_STORE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_FORGOTTEN 16384
#define BUDGET_KEPT 64
#define BUDGET_SMALL (64u << 20) /* bytes */
#define BUDGET_SITES \
	(1u << 20) /* likewise, instructions of windows; and BUDGET_SITES_STORED a byte stored */
#define BUDGET_SITES_STORED 16

struct budget {
	uint64_t size, stored; /* of rows so far: expanded, compressed */
};

/* Takes a row into account before it is expanded. False: that is too much. */
static inline bool budget_take(struct budget *b, uint64_t size, uint64_t stored, uint64_t factor)
{
	b->size += size < 1ull << 40 ? size : 1ull << 40;
	b->stored += stored;
	return b->size <= BUDGET_SMALL + factor * b->stored;
}

/* How many instructions all rows may tell of. */
static inline uint64_t budget_sites(const struct budget *b)
{
	return BUDGET_SITES + BUDGET_SITES_STORED * b->stored;
}

#endif
