/* SPDX-License-Identifier: MIT */
/*
 * Source lines, through libdw. Which compilation unit covers an address comes from a table of our
 * own: .debug_aranges may be missing or in part.
 */
#ifndef ASSAY_IMAGE_LINES_H
#define ASSAY_IMAGE_LINES_H

#include <elfutils/libdw.h>

#include "image/elf_file.h"

struct lines_range {
	uint64_t start, end;
	Dwarf_Off unit; /* its DIE */
};

struct lines {
	bool read;
	Dwarf *dwarf;
	struct elf_file shared; /* what it has in common with other files, if it refers to such */
	Dwarf *shared_dwarf;
	struct lines_range *v; /* by start; they do not overlap */
	size_t n, cap;
};

/* Finds the units; n stays 0 where the file has no debug information. f must outlive it. */
void lines_read(struct lines *l, const struct elf_file *f);
void lines_fini(struct lines *l);
bool lines_at(struct lines *l, uint64_t addr, const char **file, int *line);

#endif
