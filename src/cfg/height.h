/* SPDX-License-Identifier: MIT */
/*
 * Where the stack pointer is, counted from where it was when the procedure was entered.
 */
#ifndef ASSAY_CFG_HEIGHT_H
#define ASSAY_CFG_HEIGHT_H

#include "cfg/walk.h"

struct heights;

struct heights *heights_new(void); /* NULL without memory */
void heights_free(struct heights *h);

/* True if at the instruction it is where it was at the entry, so that nothing of a frame is left; or if
 * it was loaded from somewhere, as longjmp does. */
bool heights_at_entry(struct heights *h, struct walk *w, uint32_t insn);

#endif
