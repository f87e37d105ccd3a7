/* SPDX-License-Identifier: MIT */
/* Text of source lines, if the file is still where debug information says. */
#ifndef ASSAY_QUERY_SOURCE_H
#define ASSAY_QUERY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct source {
	char *path; /* path of the loaded file */
	char *text;
	size_t n, *line, nline; /* start of each line */
};

void source_init(struct source *s);
void source_fini(struct source *s);
/* Copies the line without its indentation to buf; "" if it is not available. Returns buf. */
char *source_line(struct source *s, const char *path, int line, char *buf, size_t n);
/* The line's text as it stands, tabs as blanks, in buf. False: it cannot be had. */
bool source_text(struct source *s, const char *path, int line, char *buf, size_t n);

#endif
