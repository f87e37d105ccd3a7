/* SPDX-License-Identifier: MIT */
/*
 * A limit on how far compressed rows of a recording may expand: in proportion to the stored bytes,
 * plus an allowance for small recordings. No recorder exceeds it.
 *
 * Windows are dropped once they are added up, and working sets once they are checked: windows of a
 * program that only jumps to itself were found to expand by up to 2,300. Sites and edges stay in
 * memory: those of real programs expand by 2 to 5. Columns of instructions that are all alike, and
 * all ran once, expand by 18,000, and the allowance has room for six million of them.
 */
#ifndef ASSAY_STORE_BUDGET_H
#define ASSAY_STORE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_FORGOTTEN 16384
#define BUDGET_KEPT 64
#define BUDGET_SMALL (64u << 20) /* bytes that any recording may expand to */
/* the same for instructions of windows, plus BUDGET_SITES_STORED for each stored byte */
#define BUDGET_SITES (1u << 20)
#define BUDGET_SITES_STORED 16

struct budget {
	uint64_t size, stored; /* sums over rows so far: expanded and compressed bytes */
};

/* Accounts for a row before it is expanded. Returns false if that exceeds the limit. */
static inline bool budget_take(struct budget *b, uint64_t size, uint64_t stored, uint64_t factor)
{
	b->size += size < 1ull << 40 ? size : 1ull << 40;
	b->stored += stored;
	return b->size <= BUDGET_SMALL + factor * b->stored;
}

/* The largest number of instructions in all rows. */
static inline uint64_t budget_sites(const struct budget *b)
{
	return BUDGET_SITES + BUDGET_SITES_STORED * b->stored;
}

#endif
