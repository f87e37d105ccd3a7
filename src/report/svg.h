/* SPDX-License-Identifier: MIT */
/* Pictures as SVG: a title, a plot with its axes, and what the caller draws into it. */
#ifndef ASSAY_REPORT_SVG_H
#define ASSAY_REPORT_SVG_H

#include <stdio.h>

#include "base/err.h"

/* The plot, in the picture's units. */
#define SVG_WIDTH 900.0
#define SVG_HEIGHT 300.0
#define SVG_LEFT 90.0
#define SVG_TOP 40.0

/* NULL with err set. */
FILE *svg_open(const char *path, const char *title, struct err *err);
/* Text, escaped. */
void svg_text(FILE *f, const char *s);
/* The axes, and the end. -1 with err set: not all of it could be written. */
int svg_close(FILE *f, const char *path, struct err *err);

#endif
