/* SPDX-License-Identifier: MIT */
/*
 * Where indirect jumps go. What leads to one is executed symbolically, backwards path by path, until it
 * is known from which table its target comes and how large the index can be; the table is read.
 */
#ifndef ASSAY_CFG_JUMP_H
#define ASSAY_CFG_JUMP_H

#include "cfg/walk.h"

struct jumps;

struct jumps *jumps_new(struct walk *w); /* NULL without memory */
void jumps_free(struct jumps *j);

/* Resolves them, and those that are met on the way, until nothing changes. */
void jumps_resolve(struct jumps *j);

#endif
