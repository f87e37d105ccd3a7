/* SPDX-License-Identifier: MIT */
/* The part of /proc/self that the program sees changed. */
#ifndef ASSAY_ENGINE_OS_PROCFS_H
#define ASSAY_ENGINE_OS_PROCFS_H

#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/translate/block.h"

/* Does readlink, or readlinkat, of the path at that address: /proc/self/exe leads to the program. */
long procfs_readlink(struct thread *t, uint64_t path, uint64_t buf, int64_t size);
/* Makes the system call, with the program's path if the register points to /proc/self/exe. */
long procfs_path(struct thread *t, enum reg path);
/* Does open, or openat, with the path and flags in these registers: /proc/self/maps and smaps hold
 * the program's mappings at this moment. */
long procfs_open(struct thread *t, enum reg path, enum reg flags);
/* Does getdents64: the recorder's descriptor is not listed. */
long procfs_list(struct thread *t);
/* Counts the bytes of the engine's own mappings, and those that count as data (RLIMIT_DATA). */
uint64_t procfs_engine_size(bool data);

/* Calls line for each line, which ends with a zero, until it returns false. */
void procfs_lines(long fd, bool (*line)(void *ctx, const char *text, size_t n), void *ctx);
/* Parses the digits at s: returns their value, and moves s behind them. */
const char *procfs_hex(const char *s, uint64_t *v);

#endif
