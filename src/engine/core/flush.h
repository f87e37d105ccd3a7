/* SPDX-License-Identifier: MIT */
/* The cache is emptied when it is full, or when its code has to be made in another way. */
#ifndef ASSAY_ENGINE_CORE_FLUSH_H
#define ASSAY_ENGINE_CORE_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct sig_info;
struct thread;

extern uint32_t flushes;
/* Whether the cache has to be emptied: because its code has to be made in another way, or because it has no room for
 * `more` bytes of code. cache_lock is held. */
bool flush_due(bool more);
/* Empties the cache, unless another thread has done so meanwhile. The thread holds no lock. */
void flush_cache(struct thread *t);
/* Whether blocks preserve flags and registers that are about to be overwritten, because a signal handler may look at them where
 * an instruction faults. */
extern bool faults_keep_state;
/* Empties the cache, so that all blocks preserve flags and registers from now on. */
void flush_to_keep_state(void);
/* Empties the cache before any of its blocks can run again. */
void flush_all(void);
/* Waits while another thread empties the cache. */
void flush_wait(void);
void flush_after_fork(void);
/* Calls all other threads out of the cache, and calls f with the cache's lock held. */
void flush_outside(struct thread *t, void (*f)(struct thread *t));
/* Whether the signal is the engine's own, which calls a thread out of the cache. */
bool flush_signal(struct thread *t, int sig, const struct sig_info *info);
/* Called outside the cache: takes the signal that was sent to call the thread out, if one is
 * still pending. */
void flush_expect_signal(struct thread *t);

#pragma GCC visibility pop

#endif
