/* SPDX-License-Identifier: MIT */
/*
 * All calls that a recording knows of, by place: direct calls from sites and their targets, indirect ones from edges. A
 * jump to where another procedure begins is a call, too.
 */
#ifndef ASSAY_REPORT_TRANSFERS_H
#define ASSAY_REPORT_TRANSFERS_H

#include "query/view.h"

enum transfer_how {
	HOW_DIRECT,
	HOW_INDIRECT,
	HOW_TAIL
};

struct transfer {
	struct site_id from, to;
	const struct site *site;		 /* the site at `from` */
	const struct view_proc *caller, *callee; /* callee may be NULL: never seen */
	uint64_t count;
	enum transfer_how how;
};

struct transfers {
	struct transfer *v;
	size_t n, cap;
};

/* -1 without memory; t is to be freed in any case. */
int transfers_collect(struct transfers *t, const struct view *v);
void transfers_fini(struct transfers *t);

#endif
