/* SPDX-License-Identifier: MIT */
/* The working set over time: picture, table of intervals, regions. */
#ifndef ASSAY_REPORT_WSET_H
#define ASSAY_REPORT_WSET_H

#include "report/reading.h"
#include "report/wset_map.h"

struct wset_options {
	unsigned process; /* pid, or 0: the process that touched most */
	unsigned rows;	  /* most rows of the table; 0: all */
	unsigned height;  /* rows of the picture */
	const char *svg;  /* path of a picture, or NULL */
	bool code;	  /* the picture shows lines of code */
	bool map;	  /* the picture is a map of addresses over time */
	bool stacks;	  /* print the call stack below each interval */
};

int wset_print(struct reading *r, const struct wset_options *o, struct err *err);

/* a bar of the picture (wset_svg.c) */
struct wset_bar {
	double from, to;	/* position on the time axis */
	uint64_t value, shared; /* height, and the part drawn at the bottom */
	const char *what;	/* text of a tooltip */
};
int wset_svg(const char *path, const struct wset_bar *bar, size_t n, const char *title,
	     const char *unit, struct err *err);

/* Draws the map: darker cells have more lines. `to`: where each interval ends. */
int wset_map_svg(const char *path, const struct wset_map *m, const struct wset *w, const double *to,
		 const char *title, struct err *err);

#endif
