/* SPDX-License-Identifier: MIT */
/* Faults in the code that marks lines. */
#ifndef ASSAY_ENGINE_TRANSLATE_MARK_H
#define ASSAY_ENGINE_TRANSLATE_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

/* A fault in our own code at `at`: the program's address is none, or marks are looked at that are not aligned. Where to
 * go on. */
uint64_t shadow_skip(uint64_t at, bool unaligned);

#pragma GCC visibility pop

#endif
