/* SPDX-License-Identifier: MIT */
/*
 * The table of procedures that Go's linker puts into each program, stripped or not (.gopclntab): where procedures begin, their
 * names, and for each place its source line and how far the stack pointer is below the caller's.
 */
#ifndef ASSAY_IMAGE_GOPCLN_H
#define ASSAY_IMAGE_GOPCLN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/elf_file.h"
#include "image/rows.h"

struct gopcln {
	bool tried;
	uint8_t *bytes; /* NULL: the image has no such table, or none of a known version */
	size_t size;
	uint64_t text;				       /* places count from here */
	uint64_t procs;				       /* their number */
	uint64_t names, units, files, values, records; /* offsets of parts */
	unsigned width;				       /* bytes of an address */
};

/* Reads the table once. False: there is none. */
bool gopcln_open(struct gopcln *g, const struct elf_file *f);
/* Reads the header of the table in g->bytes, for code that begins at `text` where the table does not say so. False: it is none. */
bool gopcln_parse(struct gopcln *g, uint64_t text);
void gopcln_fini(struct gopcln *g);
/* The extent of the procedure of that number, of g->procs. False if it makes no sense. */
bool gopcln_range(const struct gopcln *g, uint64_t i, uint64_t *start, uint64_t *end);
/* The name of the procedure of that number, in the table's memory; NULL: it has none. */
const char *gopcln_name(const struct gopcln *g, uint64_t i);
/* Finds the source line of an address of an opened table; the file's name is in the table's memory. */
bool gopcln_line(const struct gopcln *g, uint64_t addr, const char **file, int *line);
/* Finds the row of an opened table that holds the address. Returns false if the table has no rule for it. */
bool gopcln_row(const struct gopcln *g, uint64_t addr, struct unwind_row *row);

#endif
