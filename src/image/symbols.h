/* SPDX-License-Identifier: MIT */
/* Names of code from symbol tables: unsorted, overlapping, with several names for an address. */
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
	const char *name;    /* owned by the symbols */
	bool local;
	/* leading underscores: a name with fewer is more like the one in the source */
	uint8_t plain;
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
/* Sorts by address, and within an address by merit, best first. */
void symbols_sort(struct symbols *s);
bool symbols_add(struct symbols *s, const struct symbol *sym);
/* Adds a procedure that no symbol table names, under its name as it is shown. False without memory. */
bool symbols_add_procedure(struct symbols *s, uint64_t start, uint64_t end, const char *name);
/* Adds the symbols of `from`, which keeps owning their names; both are sorted. False without
 * memory. */
bool symbols_merge(struct symbols *s, const struct symbols *from);
/* The best symbol that starts at addr, or NULL; the symbols are sorted. */
const struct symbol *symbols_find(const struct symbols *s, uint64_t addr);

/* Allocates n bytes that live as long as the symbols; NULL: no memory, or the limit is exceeded. */
char *symbols_alloc(struct symbols *s, size_t n);
/* Transfers ownership of the names of `from` to `s`. */
void symbols_take_names(struct symbols *s, struct symbols *from);
/* "sub_<hex of addr>", in memory of the symbols. */
const char *symbols_sub_name(struct symbols *s, uint64_t addr);

#endif
