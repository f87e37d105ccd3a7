/* SPDX-License-Identifier: MIT */
/*
 * Which integer arguments a procedure takes (System V: rdi rsi rdx rcx r8 r9): those of whose registers some way through
 * its code reads what the caller left there, or hands that on to another procedure that takes it.
 *
 * Where the code does not tell, an argument is taken: no file, an indirect jump, a call that leads elsewhere.
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

/* -1 without memory. */
int takes_init(struct takes *t, struct reading *r);
void takes_fini(struct takes *t);
/* Whether the procedure takes argument k (0 to 5). p: of the reading's view, or NULL: not known, so true. */
bool takes_argument(struct takes *t, const struct view_proc *p, int k);

#endif
