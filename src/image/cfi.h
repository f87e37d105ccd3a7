/* SPDX-License-Identifier: MIT */
/*
 * An image's call frame information: that of .eh_frame, or else of .debug_frame, in which programs that are built without the
 * former have it, all but what the C library adds to them.
 */
#ifndef ASSAY_IMAGE_CFI_H
#define ASSAY_IMAGE_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "image/elf_file.h"

struct cfi {
	bool eh_tried, debug_tried;
	Elf *elf;	       /* a handle of its own: libelf keeps the sections that it has read */
	Dwarf_CFI *eh, *debug; /* of .eh_frame and .debug_frame; NULL: the file has none */
	Dwarf *owner;	       /* what `debug` is a part of; or NULL */
	size_t sections, looks;
};

/* Finds the frame of the code at addr; it is to be freed. NULL: there are no rules for that code. */
Dwarf_Frame *cfi_frame(struct cfi *c, const struct elf_file *f, uint64_t addr);
/* Returns about how much memory was taken for that since cfi_fini(). */
size_t cfi_bytes(const struct cfi *c);
/* Frees it; cfi_frame() reads it again. */
void cfi_fini(struct cfi *c);

#endif
