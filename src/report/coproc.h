/* SPDX-License-Identifier: MIT */
/* The simulated co-processor's description, statistics and results, as tables, JSON and
 * pictures. */
#ifndef ASSAY_REPORT_COPROC_H
#define ASSAY_REPORT_COPROC_H

#include "coproc/lab.h"

/* Resources of a run. */
struct coproc_totals {
	uint64_t instructions, cycles;
	double seconds; /* CPU time of the recorder */
	bool timed;	/* cycles come from the core model */
};

void coproc_print_info(const struct spec *s, bool json, struct err *err);
void coproc_print_run(const struct lab *l, const struct coproc_totals *t, bool json,
		      struct err *err);
void coproc_print_study(const struct lab *l, const struct coproc_totals *t, bool json,
			struct err *err);
/* Writes FOLDER/time.svg, overhead.svg (the error over either) and scatter.svg. -1 with err set. */
int coproc_draw_study(const struct lab *l, const char *folder, const char *title, struct err *err);

#endif
