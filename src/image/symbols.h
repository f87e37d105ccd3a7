/* SPDX-License-Identifier: MIT */
/*
 * Names of code, as symbol tables give them: unordered, overlapping, several an address.
 */
#ifndef ASSAY_IMAGE_SYMBOLS_H
#define ASSAY_IMAGE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/elf_file.h"

struct image;
struct names_block;

struct symbol {
	uint64_t start, end; /* end == start: size unknown */
	const char *name;    /* owned by the ELF file, or by the symbols */
	bool local;
	uint8_t plain; /* how unlike the name one writes it is: leading underscores */
};

struct symbols {
	struct symbol *v;
	size_t n, cap;
	struct names_block *names;
	size_t names_size;
};

void symbols_fini(struct symbols *s);
/* Adds the code symbols of f, which is the image's file or its debug file. False without memory. */
bool symbols_read(struct symbols *s, const struct elf_file *f, const struct image *im);
/* By address; of one address the best name first. */
void symbols_sort(struct symbols *s);
bool symbols_add(struct symbols *s, const struct symbol *sym);
/* Those of `from`, too, whose names stay its own; both are sorted. False without memory. */
bool symbols_merge(struct symbols *s, const struct symbols *from);
/* The best symbol that starts at addr, once sorted, or NULL. */
const struct symbol *symbols_find(const struct symbols *s, uint64_t addr);

/* n bytes of memory that live as long as the symbols, or NULL: there is none, or too much is used.
 */
char *symbols_alloc(struct symbols *s, size_t n);
/* Makes the names of `from` live as long as `s`. */
void symbols_take_names(struct symbols *s, struct symbols *from);
/* "sub_<hex of addr>", in such memory. */
const char *symbols_sub_name(struct symbols *s, uint64_t addr);

#endif
