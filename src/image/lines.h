/* SPDX-License-Identifier: MIT */
/*
 * Source lines, through libdw. A table of our own tells which compilation unit covers an address,
 * because .debug_aranges may be missing or incomplete.
 */
#ifndef ASSAY_IMAGE_LINES_H
#define ASSAY_IMAGE_LINES_H

#include <elfutils/libdw.h>

#include "image/elf_file.h"

struct lines_range {
	uint64_t start, end;
	Dwarf_Off unit; /* offset of its DIE */
};

struct lines {
	bool read;
	Dwarf *dwarf;
	struct elf_file shared; /* the file with the common parts (dwz), if there is one */
	Dwarf *shared_dwarf;
	struct lines_range *v; /* sorted by start, without overlaps */
	size_t n, cap;
};

/* Finds the units; n stays 0 where the file has no debug information. f must outlive l. */
void lines_read(struct lines *l, const struct elf_file *f);
void lines_fini(struct lines *l);
/* The entry of the compilation unit that covers addr. */
bool lines_unit(const struct lines *l, uint64_t addr, Dwarf_Die *unit);
bool lines_at(struct lines *l, uint64_t addr, const char **file, int *line);

#endif
