/* SPDX-License-Identifier: MIT */
/*
 * Call stacks as rows of a recording (observe/stacks.h). Frames and threads are appended as they are met, samples as they
 * come: so rows that are written while a recorder runs need not be written again, and adding up all rows is the whole.
 *
 *   frame         first (the number of its first frame), size, frames: distance from the parent's number, kind; of frames
 *                 that do not end a stack, image and address (from the one before, zigzag)
 *   stack_thread  number, run, pid, tid, comm, cgroup
 *   stack         width (ns of a bucket), size, samples: thread, bucket, frame (each from the sample before, zigzag), count,
 *                 and time (store/times.h)
 *
 * Blobs are columns (base/columns.h), compressed (store/packed.h).
 */
#ifndef ASSAY_STORE_STACK_ROWS_H
#define ASSAY_STORE_STACK_ROWS_H

#include <sqlite3.h>

#include "observe/profile.h"
#include "store/packed.h"

/* What a recorder has written. All members zero: nothing. */
struct stack_rows {
	size_t frames, threads, samples;
	uint64_t folds; /* struct stacks */
};

/* Appends what is not written yet; if samples have been folded, all of them again, in place of
 * those that are there. An SQLite code. */
int stack_rows_append(sqlite3 *db, const struct stacks *s, struct stack_rows *done);
/* Writes all in place of what is there: samples are sorted, and those of one key added up. */
int stack_rows_replace(sqlite3 *db, const struct stacks *s, struct stack_rows *done,
		       uint64_t patience);

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
