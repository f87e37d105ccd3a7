/* SPDX-License-Identifier: MIT */
/* What of /proc/self the program sees. */
#ifndef ASSAY_ENGINE_OS_PROCFS_H
#define ASSAY_ENGINE_OS_PROCFS_H

#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/translate/block.h"

/* readlink, or readlinkat, of the path at that address: the program's where it is
 * /proc/self/exe. */
long procfs_readlink(struct thread *t, uint64_t path, uint64_t buf, int64_t size);
/* The system call, with the program's path where the register points to /proc/self/exe. */
long procfs_path(struct thread *t, enum reg path);
/* open, or openat, with the path and flags in these registers: what /proc/self/maps and smaps hold is the
 * program's mappings at this moment. */
long procfs_open(struct thread *t, enum reg path, enum reg flags);
/* getdents64: the recorder's descriptor is not listed. */
long procfs_list(struct thread *t);
/* The bytes of the engine's own mappings; those that count as data (RLIMIT_DATA). */
uint64_t procfs_engine_size(bool data);

/* Calls line for each line, which ends with a zero, until it returns false. */
void procfs_lines(long fd, bool (*line)(void *ctx, const char *text, size_t n), void *ctx);
/* The digits at s: their value, and what follows them. */
const char *procfs_hex(const char *s, uint64_t *v);

#endif
