/* SPDX-License-Identifier: MIT */
/* Marks where a schedule skips, for simulated caches. */
#ifndef ASSAY_ENGINE_RECORD_WARM_H
#define ASSAY_ENGINE_RECORD_WARM_H

#include <stdbool.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

extern bool warming;
void warm_init(struct thread *t);
void warm_thread(struct thread *t); /* called when a thread begins */
void warm_after_fork(struct thread *t);
void warm_restart(void); /* called when blocks are numbered anew */
/* Tells the recorder what has been touched since the last time. All other threads are outside the
 * cache. */
void warm_tell(void);

#pragma GCC visibility pop

#endif
