/* SPDX-License-Identifier: MIT */
/* Blocks by address. */
#ifndef ASSAY_ENGINE_CORE_CACHE_H
#define ASSAY_ENGINE_CORE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct block;
struct link;

extern const void *
	*rt_direct; /* used where nothing is counted: code by the low 16 bits of its address */
extern struct block *blocks;
extern struct link *links;
extern uint32_t nblocks, nlinks;
extern uint32_t nids; /* number of blocks whose numbers the recorder has been told */
void cache_init(void), cache_direct_init(void);
struct block *cache_find(uint64_t pc);
struct block *cache_by_code(uint64_t at);
void cache_add(struct block *b);
/* Adds a block that is forgotten when its code changes, but is not found by its address. */
void cache_add_page(struct block *b);
/* Prefetches the line of the table that will soon be looked up or written. */
void cache_expect(uint64_t pc), cache_expect_return(uint64_t pc);
void cache_add_return(uint64_t pc, uint64_t code);
/* Used where nothing is counted: makes indirect jumps to the block find it directly. */
void cache_direct(const struct block *b);
uint64_t cache_return(uint64_t pc); /* 0: there is no code for the return address */
void cache_link(struct link *l, struct block *to);
void cache_invalidate(uint64_t start, uint64_t n);
extern int cache_lock;
bool cache_full(void); /* whether the list of pages with code is full */
void cache_reset(void);
/* With a schedule each kind of blocks has tables of its own: those that observe, those that skip and subtract
 * each block's instructions, and those that skip and subtract rarely (left.c). */
enum cache_kind {
	CACHE_OBSERVES,
	CACHE_SKIPS,
	CACHE_COARSE,
	CACHE_KINDS
};
void cache_begin(
	enum cache_kind
		first); /* selects the kind that is in use first; without a schedule there is one kind */
void cache_turn(enum cache_kind to); /* selects the tables of another kind */

#pragma GCC visibility pop

#endif
