/* SPDX-License-Identifier: MIT */
/*
 * An ELF image: its identity, code, procedures and source lines. Addresses are ELF virtual
 * addresses throughout. elfutils reads the files; a file is never trusted.
 */
#ifndef ASSAY_IMAGE_IMAGE_H
#define ASSAY_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define IMAGE_BUILD_ID_MAX 64	  /* bytes */
#define IMAGE_NO_BUILD_ID "noid-" /* what image_build_id() begins with where there is none */
#define IMAGE_SEGMENTS 8

struct image_segment {	     /* an executable PT_LOAD */
	uint64_t addr, size; /* virtual */
	uint64_t offset;     /* in the file; size bytes of it are there */
};

struct image_proc {
	uint64_t start, end; /* [start, end) */
	const char *name;    /* as in the symbol table, mangled; owned by the image */
};

struct image;

/*
 * Opens the ELF file at `file`, which is read (through /proc/PID/map_files/…, /proc/PID/root/… or
 * the path itself), and remembers `path`, which is shown. Symbols and lines are read when first
 * asked for. NULL with err set: cannot be read, not ELF, not x86-64, malformed.
 */
struct image *image_open(const char *file, const char *path, struct err *err);
/* The same from a descriptor, which becomes the image's in any case. */
struct image *image_take(int fd, const char *path, struct err *err);
void image_close(struct image *im);

const char *image_path(const struct image *im);
/* Lower-case hex of the build-id note, or of a hash of the headers and size, prefixed "noid-". */
const char *image_build_id(const struct image *im);
unsigned image_segments(const struct image *im, const struct image_segment **seg);
uint64_t image_base(const struct image *im); /* address of the first PT_LOAD, page-aligned down */

/* What the loader calls: the entry, what runs first and last. Up to max addresses; returns how many. */
size_t image_called(struct image *im, uint64_t *addr, size_t max);
/* The extent of the section of code that holds addr, or of the next one; false: there is none. */
bool image_section_at(const struct image *im, uint64_t addr, uint64_t *start, uint64_t *end);

/*
 * The code bytes from addr on: *n of them, at least IMAGE_CODE_MIN unless the segment ends before;
 * what follows is asked for by another call. They are read piece by piece as they are asked for,
 * and stay where they are until image_close. One thread at a time, though im is const. NULL if addr
 * is in no executable segment or cannot be read.
 */
#define IMAGE_CODE_MIN 64
const uint8_t *image_code(const struct image *im, uint64_t addr, size_t *n);

/*
 * n bytes that the file gives memory at addr, as the loader leaves them: addresses of the image's own
 * are there, as ELF virtual addresses. *constant: that is what the program will find: it cannot write
 * there, and no symbol's address is put there. False: the file gives none.
 */
bool image_data(struct image *im, uint64_t addr, void *buf, size_t n, bool *constant);

/*
 * The procedure that holds addr: from .symtab, .dynsym and a separate debug file, found by build-id
 * below /usr/lib/debug or by .gnu_debuglink; where there are no symbols, the range of .eh_frame that
 * covers addr, named "sub_<hex start>" (stripped images still have procedures); PLT slots as
 * "name@plt". Overlaps resolved: global before local, sized before unsized, one name an address.
 * NULL if addr is in none.
 */
const struct image_proc *image_proc_at(struct image *im, uint64_t addr);
/* All of them, sorted by start. Returns the number. */
size_t image_procs(struct image *im, const struct image_proc **proc);
/* By name (mangled or demangled); the first of that name. */
const struct image_proc *image_proc_named(struct image *im, const char *name);
/* True if names come from a symbol table rather than from unwind information alone. */
bool image_has_symbols(struct image *im);

/* Where exceptions enter the procedure, or the part of one, that begins at start: up to max addresses.
 * Returns how many. */
size_t image_pads(struct image *im, uint64_t start, uint64_t *pad, size_t max);

/* Source file and line of addr from debug information (also of the separate one), or false. */
bool image_line(struct image *im, uint64_t addr, const char **file, int *line);

#define IMAGE_PLT "@plt" /* behind the name of a linkage table's slot */
/* C++, Rust names demangled into buf where they are mangled (else copied). Returns buf. */
char *image_demangle(const char *name, char *buf, size_t n);

#endif
