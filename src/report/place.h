/* SPDX-License-Identifier: MIT */
/* The position of an instruction as people write it: procedure and distance, file and line. */
#ifndef ASSAY_REPORT_PLACE_H
#define ASSAY_REPORT_PLACE_H

#include "report/reading.h"

struct place {
	struct site_id id;
	const struct site *site;      /* NULL: the instruction was never observed */
	const struct view_proc *proc; /* NULL: no observed procedure */
	uint64_t start;		      /* start of the procedure; 0 if there is none */
	const char *image;	      /* name of the image */
	char name[512]; /* demangled name of the procedure; a word in brackets if there is none */
	char line[300]; /* file:line, or "" */
};

void place_find(struct place *p, struct reading *r, struct site_id id);
/* Writes "name+0x1c" in at most `width` columns, cutting the name; returns buf. */
char *place_text(const struct place *p, int width, char *buf, size_t n);
/* Object with image, procedure, address, line. */
json_t *place_json(const struct place *p);
/* The view's index of a site, or SIZE_MAX. */
size_t place_index(const struct view *v, struct site_id id);

#endif
