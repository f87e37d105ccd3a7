/* SPDX-License-Identifier: MIT */
/* Turns a window as the interpreter wrote it (runahead/state.h) into retired instructions. */
#ifndef ASSAY_SAMPLER_DECODE_H
#define ASSAY_SAMPLER_DECODE_H

#include "runahead/code.h"
#include "stream/window.h"

/* Decodes out[0..n) to ri[0..max). Returns the number of retired instructions; those after a word that
 * names no site are left out. */
uint32_t decode_window(const struct code *c, const uint64_t *out, uint32_t n, struct retired *ri,
		       uint32_t max);

#endif
