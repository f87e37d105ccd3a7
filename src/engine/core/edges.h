/* SPDX-License-Identifier: MIT */
/* Transfers of control that no link stands for: indirect jumps, calls and returns. cache_lock is
 * held in all calls but edges_note(). */
#ifndef ASSAY_ENGINE_CORE_EDGES_H
#define ASSAY_ENGINE_CORE_EDGES_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct block;
struct thread;

struct pair {			   /* read by switch.S */
	uint64_t pc, site, number; /* number: + 1 */
	struct pair *next;	   /* next pair with the same target */
};
void edges_init(void), edges_reset(void);
/* Resets the thread's near table, because its counters are new. */
void edges_thread(struct thread *t);
/* Returns a number for the indirect jump, call or return that ends the block. */
uint32_t edges_site(uint32_t block, bool returns);
/* Returns the pair of a site and a target, made if it is new. */
struct pair *edges_pair(uint64_t site, uint64_t pc);
void edges_count(struct thread *t, const struct pair *p);
/* Returns how often the thread went from the pair's site to its target. */
uint64_t edges_counted(struct thread *t, const struct pair *p);
/* Calls f for all pairs made since the last reset; used with phases. */
void edges_each(void (*f)(const struct pair *p));
/* Makes the thread find the code of the pair's target, which exists already. */
void edges_near(struct thread *t, const struct pair *p, const struct block *b);
/* Forgets the code of all pairs whose target is pc, because the code there has changed. */
void edges_forget(uint64_t pc);
/* Logs a rare transfer, which has no counter (enum edge_kind). block: its number + 1, or 0. An
 * address of 0 stands for what is not observed. */
void edges_note(unsigned kind, uint32_t block, uint64_t from, uint64_t to);
void edges_note_locked(unsigned kind, uint32_t block, uint64_t from, uint64_t to);

#pragma GCC visibility pop

#endif
