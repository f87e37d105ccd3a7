/* SPDX-License-Identifier: MIT */
/* Faults in the code that marks lines. */
#ifndef ASSAY_ENGINE_TRANSLATE_MARK_H
#define ASSAY_ENGINE_TRANSLATE_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

/* Handles a fault in the engine's own code at `at`: the program's address is not canonical, or the
 * code reads unaligned marks. Returns where to continue. */
uint64_t shadow_skip(uint64_t at, bool unaligned);

#pragma GCC visibility pop

#endif
