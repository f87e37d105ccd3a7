/* SPDX-License-Identifier: MIT */
/*
 * Targets of indirect jumps. The code before a jump is executed symbolically, backwards path by
 * path, until it is known which table the target comes from and how large the index can be; then
 * the table is read.
 */
#ifndef ASSAY_CFG_JUMP_H
#define ASSAY_CFG_JUMP_H

#include "cfg/walk.h"

struct jumps;

struct jumps *jumps_new(struct walk *w); /* NULL without memory */
void jumps_free(struct jumps *j);

/* Resolves all jumps, including those that are met on the way, until nothing changes. */
void jumps_resolve(struct jumps *j);

#endif
