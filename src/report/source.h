/* SPDX-License-Identifier: MIT */
/*
 * The text of source lines, where the source is still where debug information says.
 */
#ifndef ASSAY_REPORT_SOURCE_H
#define ASSAY_REPORT_SOURCE_H

#include <stddef.h>

struct source {
	char *path; /* of the file that is held */
	char *text;
	size_t n, *line, nline; /* where each line begins */
};

void source_init(struct source *s);
void source_fini(struct source *s);
/* The line's text without its indentation, in buf; "" if it cannot be had. Returns buf. */
char *source_line(struct source *s, const char *path, int line, char *buf, size_t n);

#endif
