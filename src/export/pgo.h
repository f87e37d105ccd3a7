/* SPDX-License-Identifier: MIT */
/*
 * What exports for profile-guided optimisation have in common: the image, where control went in it, and what the user is told.
 */
#ifndef ASSAY_EXPORT_PGO_H
#define ASSAY_EXPORT_PGO_H

#include "export/flow.h"

#define PGO_THIN 30 /* windows, below which what a procedure's branches do is little known */
#define PGO_HOT 0.9 /* the hot procedures make up so much of what was executed */

/* How much a profile rests on. Shares are of executed instructions, 0 to 1. */
struct pgo_thinness {
	size_t procs, hot,
		thin; /* procedures executed; those that are hot; of these, those that are thin */
	double thin_share;   /* of the hot ones */
	double unseen;	     /* in code that no window saw, estimated */
	double unseen_twice; /* the same with twice as many windows */
};

struct pgo {
	struct target target;
	struct flow flow;
};

int pgo_open(struct pgo *g, const struct export *x, struct err *err);
void pgo_close(struct pgo *g);
/* -1 with err set: no memory. */
int pgo_measure(struct pgo_thinness *t, struct pgo *g, struct err *err);
/* Tells the user a command to run, as a shell takes it; words that are NULL are left out. */
#define PGO_WORDS 12
void pgo_command(const struct export *x, const char *when, const char *const argv[PGO_WORDS]);
/* Tells the user which image it is, coverage and thinness. -1 with err set: no memory. */
int pgo_tell(struct pgo *g, const struct export *x, struct err *err);

#endif
