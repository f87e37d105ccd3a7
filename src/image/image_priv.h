/* SPDX-License-Identifier: MIT */
/* The parts of an image, each read when first asked for. */
#ifndef ASSAY_IMAGE_IMAGE_PRIV_H
#define ASSAY_IMAGE_IMAGE_PRIV_H

#include "image/cfi.h"
#include "image/data.h"
#include "image/elf_file.h"
#include "image/gopcln.h"
#include "image/image.h"
#include "image/inlines.h"
#include "image/lines.h"
#include "image/pads.h"
#include "image/symbols.h"

/* Where a procedure without a name lies. */
struct image_extent {
	uint32_t start, size;
};

/* The executable bytes of one segment: address space for all of them, filled chunk by chunk. */
struct image_code {
	uint8_t *bytes;	   /* NULL until first asked for */
	uint64_t *present; /* one bit for each chunk */
	size_t read;	   /* bytes of the chunks */
};

struct image {
	struct elf_file file;
	char *path;
	char id[IMAGE_BUILD_ID_MAX * 2 + 1]; /* the identity as text */
	uint8_t id_bytes[IMAGE_BUILD_ID_MAX];
	size_t id_len; /* 0: the file has no build-id */
	struct image_segment segment[IMAGE_SEGMENTS];
	unsigned segments;
	struct image_code *code; /* one for each segment */

	bool debug_tried;
	struct elf_file debug; /* the separate debug file, if open */

	bool procs_read, has_symbols;
	bool nameless; /* image_forget_names() */
	/* Extents in place of procedures while their names are forgotten, the addresses less `extents_from`; NULL: proc has
	 * them. */
	struct image_extent *extent;
	uint64_t extents_from;
	struct image_proc found; /* the procedure that was made of an extent last */
	struct symbols symbols;	 /* sorted by address, with aliases */
	struct image_proc *proc;
	size_t procs;

	bool names_read;
	struct proc_name *names, *by_name; /* entries; the index of them */

	struct lines lines;
	struct inlines inlines;
	struct image_data data;
	struct pads pads;
	struct gopcln gopcln; /* gopcln_open() */

	struct cfi cfi;
};

void image_code_fini(struct image *im);
void image_names_fini(struct image *im);
/* The separate debug file, which is looked for once, or NULL. */
const struct elf_file *image_debug_file(struct image *im);

#endif
