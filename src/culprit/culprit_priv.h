/* SPDX-License-Identifier: MIT */
/* The analysis while it is made: shared by culprit.c and scale.c. */
#ifndef ASSAY_CULPRIT_PRIV_H
#define ASSAY_CULPRIT_PRIV_H

#include "culprit/culprit.h"
#include "culprit/path.h"
#include "estimate/schedules.h"

struct culprits {
	struct estimate *e;
	const struct estimate_source *src;
	struct culprit_machine machine; /* by what the recorder has measured, where it has */
	double *refills; /* of the last cache level, by procedure (refills.h); or NULL */
	struct meetings meetings;
	struct places line_places, page_places;
	struct fetched lines_fetched, pages_fetched;
	struct crowd data_lines, data_pages, code_lines, code_pages, targets, insns;
	struct fact_source facts;
	struct paths *paths;
	double period;
	struct schedules schedules;
};

/* Cycles of a block by its schedule; 0: it has none. */
double culprits_least(const struct culprits *c, const struct estimate_proc *p, uint32_t block);
/* Finds what can have held instructions up, at the present scales. -1 without memory. */
int culprits_find_paths(struct culprits *c);

#endif
