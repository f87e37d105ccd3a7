/* SPDX-License-Identifier: MIT */
/* The working set over time: picture, table of intervals, regions. */
#ifndef ASSAY_REPORT_WSET_H
#define ASSAY_REPORT_WSET_H

#include "report/reading.h"
#include "report/wset_map.h"

struct wset_options {
	unsigned process; /* which: its pid, or 0: the one that touched most */
	unsigned rows;	  /* of the table at most; 0: all */
	unsigned height;  /* of the picture */
	const char *svg;  /* also draw it there */
	bool code;	  /* the picture is of code's lines */
	bool map;	  /* it is a map of addresses over time */
	bool stacks;	  /* below each interval, the calls that it ended in */
};

int wset_print(struct reading *r, const struct wset_options *o, struct err *err);

/* wset_svg.c */
struct wset_bar {
	double from, to;	/* on the time axis */
	uint64_t value, shared; /* of it, drawn at the bottom */
	const char *what;	/* a tooltip */
};
int wset_svg(const char *path, const struct wset_bar *bar, size_t n, const char *title,
	     const char *unit, struct err *err);

/* The map: cells are the darker the more lines they have. `to`: where each interval ends. */
int wset_map_svg(const char *path, const struct wset_map *m, const struct wset *w, const double *to,
		 const char *title, struct err *err);

#endif
