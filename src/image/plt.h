/* SPDX-License-Identifier: MIT */
/*
 * The procedure linkage table: each slot jumps through a word of the GOT, and the relocation of
 * that word says whose address it holds.
 */
#ifndef ASSAY_IMAGE_PLT_H
#define ASSAY_IMAGE_PLT_H

#include "image/symbols.h"

/* Adds a symbol "name@plt" for each slot to `to`; `known` provides names for local targets.
 * False without memory. */
bool plt_read(struct symbols *to, const struct symbols *known, const struct image *im);

#endif
