/* SPDX-License-Identifier: MIT */
/* The height of the stack pointer, relative to its value at the procedure's entry. */
#ifndef ASSAY_CFG_HEIGHT_H
#define ASSAY_CFG_HEIGHT_H

#include "cfg/walk.h"

struct heights;

struct heights *heights_new(void); /* NULL without memory */
void heights_free(struct heights *h);

/* True if the stack pointer at the instruction has its value at the entry, so that no frame is
 * left; or if it was loaded from memory, as in longjmp. */
bool heights_at_entry(struct heights *h, struct walk *w, uint32_t insn);

#endif
