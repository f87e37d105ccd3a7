/* SPDX-License-Identifier: MIT */
/*
 * Recordings made up for tests: always the same.
 */
#ifndef ASSAY_TESTS_RECORDINGS_H
#define ASSAY_TESTS_RECORDINGS_H

#include "observe/profile.h"

/*
 * A compressor: images squeeze, libz.so.1 (stripped), the kernel, generated code and what could not be
 * placed. Each of these asserts that it succeeds.
 *
 *   squeeze  longest_match  hot; a load that is 0x3c8 in 19 of 20, a branch taken in 3 of 4
 *            deflate        its second argument is always 0, its first never twice the same
 *            main           hardly any time
 */
void recordings_squeeze(struct profile *p);
/* Samples in the kernel alone: no window, no value. */
void recordings_kernel(struct profile *p);
/* A run without a sample. */
void recordings_empty(struct profile *p);
/* Windows over the procedure `match` of an ELF file: what it loads is 7 in 19 of 20, its argument rsi
 * is always 0, rdi never twice the same. finished: false leaves the procedures unnamed. */
void recordings_elf(struct profile *p, const char *path, bool finished);
/* So many sites, in procedures of 50 instructions, with values. */
void recordings_big(struct profile *p, unsigned sites);

#endif
