/* SPDX-License-Identifier: MIT */
/*
 * The integer arguments that a procedure takes (System V: rdi rsi rdx rcx r8 r9): those whose
 * register is read before it is written on some way through the code, or is passed on to another
 * procedure that takes it.
 *
 * Where the code does not tell, an argument counts as taken: without a file, at an indirect jump,
 * at a call that leads elsewhere.
 */
#ifndef ASSAY_REPORT_TAKES_H
#define ASSAY_REPORT_TAKES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/reading.h"

struct takes {
	struct reading *r;
	struct takes_known *proc; /* by procedure of the view */
};

/* Returns -1 without memory. */
int takes_init(struct takes *t, struct reading *r);
void takes_fini(struct takes *t);
/* Whether the procedure takes argument k (0 to 5). p: of the reading's view, or NULL: not known,
 * so true. */
bool takes_argument(struct takes *t, const struct view_proc *p, int k);

#endif
