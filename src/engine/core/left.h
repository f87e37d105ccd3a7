/* SPDX-License-Identifier: MIT */
/* How many instructions may still be executed before the engine is asked. */
#ifndef ASSAY_ENGINE_CORE_LEFT_H
#define ASSAY_ENGINE_CORE_LEFT_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;
struct block;
struct build;
struct link;
struct emit;
struct insn;

/* Most instructions that have been executed and not been subtracted where one block leads to another; and a bound
 * for how many are executed in vain beyond those that are left before the engine is asked. */
#define OWED_MAX 256
#define LATE_MAX 512

/* All blocks subtract from the first part of T_LEFT. */
extern bool left_whole;
/* Grants the thread `room` instructions, undivided. */
void left_grant(struct thread *t, uint64_t room);
/* Grants the thread `room` instructions, divided among its parts; `part` gets at least `weight`. */
void left_divide(struct thread *t, uint64_t room, unsigned weight, unsigned part);
/* Returns how many instructions the thread has executed since, and takes the rest of its grant
 * away. */
uint64_t left_settle(struct thread *t);
void left_clear(struct thread *t);
/* Lets the thread's grant be used by blocks that subtract rarely. */
void left_to_rest(struct thread *t);
/* Returns how much of `room` one thread is granted: all of it, or a part if there are several
 * threads; at least `weight`. */
uint64_t left_share(uint64_t room, unsigned weight);
/* Blocks that subtract rarely (left.c). Chooses what the block subtracts, which is reached by the link, or NULL. */
void left_plan(struct build *b, const struct link *from);
/* Puts what the block subtracts, before its instruction i. */
void left_put_block(struct build *b, unsigned i);
/* The same for an indirect jump, call or return where flags are live; rcx has been spilled. The second one puts what
 * belongs behind it. */
void left_put_end(struct build *b, const struct insn *in), left_put_behind(struct build *b);
/* Puts code of a link that subtracts n and goes on at a block. */
void left_put_edge(struct emit *e, int n, const struct block *to);
/* Called where a thread enters a block. False: the engine must be asked first. */
bool left_enter(struct thread *t, const struct block *b);
void left_not_entered(struct thread *t);
/* Called where the block has found too little left: what is left becomes exact, and t->pc where the thread goes on. Returns how
 * many instructions have to be granted to it at least. */
unsigned left_exhausted(struct thread *t, const struct block *b);
/* Returns how many instructions before its end an interval counts as over: with several threads a
 * 256th of it, so that threads do not ask for ever smaller grants. */
uint64_t left_slack(uint64_t interval, unsigned weight);

#pragma GCC visibility pop

#endif
