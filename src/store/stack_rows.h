/* SPDX-License-Identifier: MIT */
/*
 * Call stacks as rows of a recording (observe/stacks.h). Frames and threads are appended as they are met, samples as they
 * come: so rows that are written while a recorder runs need not be written again, and adding up all rows is the whole.
 *
 *   frame         first (the number of its first frame), size, frames: of each frame the distance from its parent's number,
 *                 kind; of those that do not end a stack, image and address (from the one before, zigzag)
 *   stack_thread  number, run, pid, tid, comm, cgroup
 *   stack         width (ns of a bucket), size, samples: of each sample thread, bucket, frame (from the one before, zigzag),
 *                 count, and the eight bytes of its time
 *
 * Blobs are compressed (zstd); numbers in them are varints.
 */
#ifndef ASSAY_STORE_STACK_ROWS_H
#define ASSAY_STORE_STACK_ROWS_H

#include <sqlite3.h>

#include "observe/profile.h"
#include "store/budget.h"

/* What a recorder has written. All members zero: nothing. */
struct stack_rows {
	size_t frames, threads, samples;
	uint64_t folds; /* struct stacks */
};

/* Appends what is not written yet; if samples have been folded, all of them again, in place of
 * those that are there. An SQLite code. */
int stack_rows_append(sqlite3 *db, const struct stacks *s, struct stack_rows *done);
/* Writes all samples in place of those that are there, and appends the rest. */
int stack_rows_replace(sqlite3 *db, const struct stacks *s, struct stack_rows *done);

struct stack_rows_to {
	struct profile *p;
	size_t first_run;
	const uint32_t *map; /* the file's image numbers to the profile's */
	size_t nmap;
	struct budget *budget;
};
/* Adds all rows, after validating them, to the profile's stacks, which are empty. NULL, or what is
 * wrong with them; *code is SQLite's. */
const char *stack_rows_read(sqlite3 *db, const struct stack_rows_to *to, int *code);

#endif
