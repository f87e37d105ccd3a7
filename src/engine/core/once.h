/* SPDX-License-Identifier: MIT */
#ifndef ASSAY_ENGINE_CORE_ONCE_H
#define ASSAY_ENGINE_CORE_ONCE_H

#include "engine/core/regions.h"
#include "engine/core/thread.h"
#include "engine/translate/block.h"

#define INSN_MAX 15

/* Notes that the thread's block for code that changes all the time now holds the instruction of b, and finds its
 * counter. The caller holds cache_lock. */
void once_note(struct thread *t, const struct block *b, struct region *r);
/* Counts an execution of the instruction; of a branch, whether it was taken. */
void once_count(struct thread *t, bool taken);
/* Takes the last count back, if the instruction was not executed. */
void once_uncount(struct thread *t);
void once_reset(void);
/* Returns the number of the block that counts the instruction, + 1, or 0. */
uint32_t once_number(const struct thread *t);
/* Returns the instruction's number as an indirect jump, or 0. */
uint32_t once_site(const struct thread *t);

#endif
