/* SPDX-License-Identifier: MIT */
/*
 * Common parts of exports for profile-guided optimisation: the image, its control flow, and remarks
 * for the user.
 */
#ifndef ASSAY_EXPORT_PGO_H
#define ASSAY_EXPORT_PGO_H

#include "export/flow.h"

#define PGO_THIN 30 /* windows below which little is known of a procedure's branches */
#define PGO_HOT 0.9 /* part of the executions that the hot procedures make up */

/* Measures of a profile's support. Shares are of executed instructions, 0 to 1. */
struct pgo_thinness {
	size_t procs, hot, thin; /* executed procedures; hot ones; hot ones with few windows */
	double thin_share;	 /* share of the thin procedures in executions of the hot ones */
	double unseen;		 /* estimated share of executions in code that no window saw */
	double unseen_twice;	 /* the same estimate for twice as many windows */
};

struct pgo {
	struct target target;
	struct flow flow;
};

int pgo_open(struct pgo *g, const struct export *x, struct err *err);
void pgo_close(struct pgo *g);
/* Reports a command for the user to run, quoted for a shell; words that are NULL are left out. */
#define PGO_WORDS 12
void pgo_command(const struct export *x, const char *when, const char *const argv[PGO_WORDS]);
/* Reports the image, coverage and thinness to the user. -1 with err set: no memory. */
int pgo_tell(struct pgo *g, const struct export *x, struct err *err);

#endif
