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

/* Largest number of instructions that a block can owe, that is, that have been executed and not been subtracted, where
 * one block leads to another; also a bound for the instructions executed beyond those that are left before the engine
 * is asked. */
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
/* Blocks that subtract rarely (left.c). Chooses how much the block subtracts; a link, or NULL, leads to it. */
void left_plan(struct build *b, const struct link *from);
/* Emits the block's subtraction, before its instruction i. */
void left_put_block(struct build *b, unsigned i);
/* Emits the subtraction for an indirect jump, call or return where flags are live; rcx has been spilled.
 * left_put_behind() emits the part that belongs after the block's code. */
void left_put_end(struct build *b, const struct insn *in), left_put_behind(struct build *b);
/* Emits code of a link that subtracts n and continues at a block. */
void left_put_edge(struct emit *e, int n, const struct block *to);
/* Called where a thread enters a block. False: the schedule has to be asked first. */
bool left_enter(struct thread *t, const struct block *b);
/* Called instead where the thread goes on in the block that left_exhausted() was called for, and nothing has changed
 * since but what is granted. Returns the code that follows the subtraction; 0: the thread has to go on otherwise. */
uint64_t left_again(struct thread *t, const struct block *b);
/* Called after either where no code has run. */
void left_not_entered(struct thread *t);
/* Called where the block found too little left. Makes the number left exact, and sets t->pc to where the thread
 * continues. Returns the least number of instructions that have to be granted to the thread. */
unsigned left_exhausted(struct thread *t, const struct block *b);
/* Returns how many instructions before its end an interval counts as over: with several threads a
 * 256th of the interval, so that threads do not ask for ever smaller grants. */
uint64_t left_slack(uint64_t interval, unsigned weight);

#pragma GCC visibility pop

#endif
