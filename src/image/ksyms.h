/* SPDX-License-Identifier: MIT */
/*
 * Kernel procedures, from /proc/kallsyms. Addresses are run-time kernel addresses.
 */
#ifndef ASSAY_IMAGE_KSYMS_H
#define ASSAY_IMAGE_KSYMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ksyms;
/* NULL with err set if it cannot be read, or if all addresses are hidden (kptr_restrict; the hint
 * says what to do). */
struct ksyms *ksyms_open(struct err *err);
void ksyms_close(struct ksyms *k);
/* The procedure that holds addr and its start and end (the next symbol's start); module is "" for
 * the kernel proper. False if addr is below the first or past the last text symbol. */
bool ksyms_at(const struct ksyms *k, uint64_t addr, const char **name, const char **module,
	      uint64_t *start, uint64_t *end);

#endif
