/* SPDX-License-Identifier: MIT */
/*
 * The miss-ratio curve: of touches of lines, how many a fully associative LRU cache of each size would not have;
 * and which procedures they are of.
 */
#ifndef ASSAY_REPORT_REUSE_H
#define ASSAY_REPORT_REUSE_H

#include "report/reading.h"

struct reuse_options {
	unsigned process; /* its pid, or 0: all */
	unsigned n;	  /* procedures; 0: all */
	const char *svg;  /* also draw it there */
};

int reuse_print(struct reading *r, const struct reuse_options *o, struct err *err);

/* reuse_svg.c */
struct reuse_point {
	double bytes, ratio;
	const char *mark; /* a cache of that size, or NULL */
};
/* `points` in order of size. */
int reuse_svg(const char *path, const struct reuse_point *point, size_t n, const char *title,
	      struct err *err);

#endif
