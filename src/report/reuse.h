/* SPDX-License-Identifier: MIT */
/*
 * The miss-ratio curve: the share of touches of lines that miss in a fully associative LRU cache of
 * each size, and the procedures that they belong to.
 */
#ifndef ASSAY_REPORT_REUSE_H
#define ASSAY_REPORT_REUSE_H

#include "report/reading.h"

struct reuse_options {
	unsigned process; /* pid, or 0: all processes */
	unsigned n;	  /* rows of procedures; 0: all */
	const char *svg;  /* path of a picture, or NULL */
};

int reuse_print(struct reading *r, const struct reuse_options *o, struct err *err);

/* a point of the picture (reuse_svg.c) */
struct reuse_point {
	double bytes, ratio;
	const char *mark; /* name of a cache of that size, or NULL */
};
/* Draws points, which are sorted by size. */
int reuse_svg(const char *path, const struct reuse_point *point, size_t n, const char *title,
	      struct err *err);

#endif
