/* SPDX-License-Identifier: MIT */
/* Blocks by address. */
#ifndef ASSAY_ENGINE_CORE_CACHE_H
#define ASSAY_ENGINE_CORE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) /* all is in one file: no tables of addresses */

struct block;
struct link;

extern const void **rt_direct; /* where nothing is counted: code by the low 16 bits of an address */
extern struct block *blocks;
extern struct link *links;
extern uint32_t nblocks, nlinks;
extern uint32_t nids; /* the recorder's numbers */
void cache_init(void), cache_direct_init(void);
struct block *cache_find(uint64_t pc);
struct block *cache_by_code(uint64_t at);
void cache_add(struct block *b);
/* It is forgotten when its code changes, but is not found. */
void cache_add_page(struct block *b);
/* They are looked up, or added, soon: by then the line of the table should be here. */
void cache_expect(uint64_t pc), cache_expect_return(uint64_t pc);
void cache_add_return(uint64_t pc, uint64_t code);
/* Where nothing is counted: an indirect jump that comes to the block is to find it. */
void cache_direct(const struct block *b);
uint64_t cache_return(uint64_t pc); /* or 0 */
void cache_link(struct link *l, struct block *to);
void cache_invalidate(uint64_t start, uint64_t n);
extern int cache_lock;
bool cache_full(void); /* of pages that code lies on */
void cache_reset(void);
/* Blocks that skip and blocks that observe are found in tables of their own; one of the two is in use. */
void cache_turn(bool skip);

#pragma GCC visibility pop

#endif
