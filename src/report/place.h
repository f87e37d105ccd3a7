/* SPDX-License-Identifier: MIT */
/*
 * Where an instruction is, as people write it: procedure and distance, file and line.
 */
#ifndef ASSAY_REPORT_PLACE_H
#define ASSAY_REPORT_PLACE_H

#include "report/reading.h"

struct place {
	struct site_id id;
	const struct site *site;      /* or NULL: never seen */
	const struct view_proc *proc; /* or NULL: none that was seen */
	uint64_t start;		      /* of the procedure, 0 if there is none */
	const char *image;	      /* name */
	char name[512]; /* of the procedure, demangled; a word in brackets if there is none */
	char line[300]; /* file:line, or "" */
};

void place_find(struct place *p, struct reading *r, struct site_id id);
/* "name+0x1c" in at most `width` columns, of which the name gives way; buf. */
char *place_text(const struct place *p, int width, char *buf, size_t n);
/* image, procedure, address, line */
json_t *place_json(const struct place *p);
/* The view's index of a site, or SIZE_MAX. */
size_t place_index(const struct view *v, struct site_id id);

#endif
