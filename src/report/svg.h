/* SPDX-License-Identifier: MIT */
/* SVG pictures: a title, a plot with axes, and the caller's drawing in it. */
#ifndef ASSAY_REPORT_SVG_H
#define ASSAY_REPORT_SVG_H

#include <stdio.h>

#include "base/err.h"

/* Position and size of the plot, in units of the picture. */
#define SVG_WIDTH 900.0
#define SVG_HEIGHT 300.0
#define SVG_LEFT 90.0
#define SVG_TOP 40.0

/* Returns NULL with err set. */
FILE *svg_open(const char *path, const char *title, struct err *err);
/* Writes text, escaped. */
void svg_text(FILE *f, const char *s);
/* Writes the axes and closes the file. -1 with err set: not everything could be written. */
int svg_close(FILE *f, const char *path, struct err *err);

#endif
