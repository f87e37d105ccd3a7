/* SPDX-License-Identifier: MIT */
/*
 * The bytes with which an image initialises memory, and the addresses that relocation puts there.
 */
#ifndef ASSAY_IMAGE_DATA_H
#define ASSAY_IMAGE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct image_reloc;

struct image_data {
	uint8_t *piece; /* the piece of the file that was read last */
	uint64_t piece_at;
	size_t piece_n;
	bool relocs_read;
	struct image_reloc *reloc; /* sorted by address */
	size_t relocs;
};

void image_data_fini(struct image *im);

#endif
