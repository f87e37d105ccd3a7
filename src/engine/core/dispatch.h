/* SPDX-License-Identifier: MIT */
/*
 * The exact engine's run time: it lives in the program's process and runs the program from a code cache.
 *
 *   start ── elf        maps the program, its interpreter and the decoder's library
 *     │
 *   dispatch ─┬─ cache      blocks by address, links between them, what becomes invalid
 *     ▲  │    ├─ flush      empties a full cache
 *     │  │    ├─ translate  a block of the program to code in the cache
 *     │  ▼    ├─ regions    which memory is code, and whether it can be written
 *   switch.S  ├─ signals    what the program sees of them
 *             └─ syscalls ── process   threads, children, exec
 *
 * While the program's code runs, all registers but gs are the program's; gs is the thread's context. The
 * engine uses general registers only, so vector and x87 state are the program's throughout; the decoder's
 * library is called with xmm and fs put aside.
 */
#ifndef ASSAY_ENGINE_CORE_DISPATCH_H
#define ASSAY_ENGINE_CORE_DISPATCH_H

#include <stdbool.h>

#include "engine/core/thread.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

extern struct thread *threads;
extern int threads_lock;
struct thread *thread_new(void);
/* Called when the process has no other thread, because it was forked or the others have ended:
 * unmaps their contexts. */
void threads_forget_others(struct thread *t);
/* Called when the thread runs no more code: its counters are no longer read, and are unmapped
 * together with its stream. */
void thread_end(struct thread *t);
void dispatch(void *thread) __attribute__((noreturn));
extern struct config {
	bool verbose;
	char self[256];	    /* the engine's file */
	char program[4096]; /* absolute */
} config;

#pragma GCC visibility pop

#endif
