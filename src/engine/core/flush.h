/* SPDX-License-Identifier: MIT */
/* The cache is emptied when it is full, or when its code has to be made in another way. */
#ifndef ASSAY_ENGINE_CORE_FLUSH_H
#define ASSAY_ENGINE_CORE_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) /* all is in one file: no tables of addresses */

struct sig_info;
struct thread;

extern uint32_t flushes;
/* Its code is to be made in another way, or, where `more` is to be made, it is full. With cache_lock held. */
bool flush_due(bool more);
/* Empties it, if that still is due. Nobody's lock is held. */
void flush_cache(struct thread *t);
/* The blocks that there are keep flags and registers for who looks at them where an instruction faults, though they are
 * overwritten next. */
extern bool faults_keep_state;
/* From now on they are to. */
void flush_to_keep_state(void);
/* The blocks that there are must not run any more. */
void flush_all(void);
/* Not while it is being emptied. */
void flush_wait(void);
void flush_after_fork(void);
/* Calls all other threads out of the cache, and calls f with the cache's lock held. */
void flush_outside(struct thread *t, void (*f)(struct thread *t));
/* Whether it is one that brings the thread out. */
bool flush_signal(struct thread *t, int sig, const struct sig_info *info);
/* Outside: it comes now, or will never come. */
void flush_expect_signal(struct thread *t);

#pragma GCC visibility pop

#endif
