/* SPDX-License-Identifier: MIT */
/* Transfers of control that no link stands for: indirect jumps, calls and returns. cache_lock is held in all calls but edges_note(). */
#ifndef ASSAY_ENGINE_CORE_EDGES_H
#define ASSAY_ENGINE_CORE_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) /* all is in one file: no tables of addresses */

struct block;
struct thread;

struct pair {			   /* read by switch.S */
	uint64_t pc, site, number; /* number: + 1 */
	struct pair *next;	   /* of the same target */
};
void edges_init(void), edges_reset(void);
/* The thread's counters are new: no pair has a slot. */
void edges_thread(struct thread *t);
/* A number for the indirect jump, call or return that a block ends in. */
uint32_t edges_site(uint32_t block, bool returns);
/* That way, found or made. */
struct pair *edges_pair(uint64_t site, uint64_t pc);
void edges_count(struct thread *t, const struct pair *p);
/* How often the thread took that way. */
uint64_t edges_counted(struct thread *t, const struct pair *p);
/* All pairs that there were since the last reset, with phases. */
void edges_each(void (*f)(const struct pair *p));
/* Code of the pair's target, which is made already, is found from now on. */
void edges_near(struct thread *t, const struct pair *p, const struct block *b);
/* What is at pc is no longer what it was. */
void edges_forget(uint64_t pc);
/* Something that is not counted, because it happens seldom (enum edge_kind). block: + 1, or 0. Addresses: 0 is the
 * outside. */
void edges_note(unsigned kind, uint32_t block, uint64_t from, uint64_t to);
void edges_note_locked(unsigned kind, uint32_t block, uint64_t from, uint64_t to);

#pragma GCC visibility pop

#endif
