/* SPDX-License-Identifier: MIT */
/*
 * Schedules that were made before. The key is the model, the program that made them and the bytes
 * of the block, so a block is asked for once, in whichever procedure, image or recording it lies;
 * changed code is another block. The user's cache keeps the schedules (store/derived.h).
 */
#ifndef ASSAY_ESTIMATE_MEMO_H
#define ASSAY_ESTIMATE_MEMO_H

#include "estimate/schedule.h"
#include "base/varint.h"

struct schedule_memo;

struct schedule_memo *schedule_memo_new(void); /* NULL without memory */
void schedule_memo_free(struct schedule_memo *m);

/* The initial hash for blocks of that model, scheduled by that program. */
uint64_t schedule_memo_seed(const char *model, const char *program);
/* Fills in the block's schedule; false: it is not known. A block that could not be modelled is
 * known as such. */
bool schedule_memo_get(const struct schedule_memo *m, uint64_t seed, struct schedule_block *b);
/* Remembers the block's schedule; without memory for it, the schedule is dropped. */
void schedule_memo_put(struct schedule_memo *m, uint64_t seed, const struct schedule_block *b);

/* The number of known schedules; and whether there are some that were not read. */
size_t schedule_memo_count(const struct schedule_memo *m);
bool schedule_memo_changed(const struct schedule_memo *m);

/* Appends the schedules to b; false without memory. */
bool schedule_memo_write(const struct schedule_memo *m, struct buffer *b);
/* Reads n untrusted bytes. False if they are malformed: schedules that were read before that are
 * kept. */
bool schedule_memo_read(struct schedule_memo *m, const uint8_t *p, size_t n);

#endif
