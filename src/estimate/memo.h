/* SPDX-License-Identifier: MIT */
/*
 * Schedules that were made before, found by what they are of: the model, the program that made them, the
 * bytes of the block. So a block is asked for once, in whichever procedure, image or recording it lies; what was
 * changed is another block. The user's cache keeps them (store/derived.h).
 */
#ifndef ASSAY_ESTIMATE_MEMO_H
#define ASSAY_ESTIMATE_MEMO_H

#include "estimate/schedule.h"
#include "base/varint.h"

struct schedule_memo;

struct schedule_memo *schedule_memo_new(void); /* NULL without memory */
void schedule_memo_free(struct schedule_memo *m);

/* Where blocks of that model, by that program, begin. */
uint64_t schedule_memo_seed(const char *model, const char *program);
/* Fills in the block's schedule; false: not known. A block that could not be modelled is known as such. */
bool schedule_memo_get(const struct schedule_memo *m, uint64_t seed, struct schedule_block *b);
/* Without memory it is not remembered. */
void schedule_memo_put(struct schedule_memo *m, uint64_t seed, const struct schedule_block *b);

/* How many are known; and whether there are some that were not read. */
size_t schedule_memo_count(const struct schedule_memo *m);
bool schedule_memo_changed(const struct schedule_memo *m);

/* Appended to b; false without memory. */
bool schedule_memo_write(const struct schedule_memo *m, struct buffer *b);
/* n bytes, which are not trusted. False if they are malformed: what was read before that stays. */
bool schedule_memo_read(struct schedule_memo *m, const uint8_t *p, size_t n);

#endif
