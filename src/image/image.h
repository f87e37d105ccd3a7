/* SPDX-License-Identifier: MIT */
/*
 * An ELF image: its identity, code, procedures and source lines. All addresses are ELF virtual
 * addresses. elfutils reads the files; every file is untrusted.
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
	uint64_t addr, size; /* virtual addresses */
	uint64_t offset;     /* offset in the file, which holds all `size` bytes */
};

struct image_proc {
	uint64_t start, end; /* [start, end) */
	const char *name;    /* as in the symbol table, mangled; owned by the image */
};

struct image;

/*
 * Opens the ELF file at `file` (/proc/PID/map_files/..., /proc/PID/root/... or the path itself),
 * and remembers `path` for display. Symbols and lines are read when first asked for. NULL with err
 * set: cannot be read, not ELF, not x86-64, malformed.
 */
struct image *image_open(const char *file, const char *path, struct err *err);
/* Opens the file of a descriptor, which becomes the image's in any case. */
struct image *image_take(int fd, const char *path, struct err *err);
void image_close(struct image *im);

/* The build-id note in lower-case hex, or a hash of the headers and size, prefixed "noid-". */
const char *image_build_id(const struct image *im);
unsigned image_segments(const struct image *im, const struct image_segment **seg);
/* The one that holds addr, or NULL. */
const struct image_segment *image_segment_at(const struct image *im, uint64_t addr);

/* Lists the addresses that the loader calls: the entry, initialisers and finalisers. Up to max
 * addresses; returns how many there are. */
size_t image_called(struct image *im, uint64_t *addr, size_t max);
/* Finds the extent of the code section that holds addr, or of the next one; false: there is
 * none. */
bool image_section_at(const struct image *im, uint64_t addr, uint64_t *start, uint64_t *end);

/*
 * The code bytes from addr on: *n of them, at least IMAGE_CODE_MIN unless the segment ends before;
 * another call returns the bytes that follow. They are read piece by piece on demand, and stay in
 * place until image_close() or image_forget_copies(). One thread at a time, though im is const. NULL if addr is in no
 * executable segment or cannot be read.
 */
#define IMAGE_CODE_MIN 64
const uint8_t *image_code(const struct image *im, uint64_t addr, size_t *n);
/* The `size` code bytes from addr on, in place like those of image_code(). NULL if an executable segment does not hold all of
 * them, or they cannot be read. */
const uint8_t *image_code_all(const struct image *im, uint64_t addr, size_t size);

/* Memory that copies of code and of unwind information take. */
size_t image_copies_bytes(const struct image *im);
/* Frees these copies; what is asked for again is read again. */
void image_forget_copies(struct image *im);

/*
 * Reads n bytes of initial memory at addr as the loader leaves them: the image's own addresses are
 * relocated, as ELF virtual addresses. *constant: the program will find these bytes, because it
 * cannot write there and no symbol's address is put there. False: the file has no such bytes.
 */
bool image_data(struct image *im, uint64_t addr, void *buf, size_t n, bool *constant);

/*
 * The procedure that holds addr. Procedures come from .symtab, .dynsym and a separate debug file,
 * found by build-id below /usr/lib/debug or by .gnu_debuglink, and from Go's table of procedures; where there are no symbols, from the
 * range of .eh_frame that covers addr, named "sub_<hex start>" (so stripped images still have
 * procedures); PLT slots are "name@plt". Overlaps are resolved: global before local, sized before
 * unsized, one name for an address. NULL if addr is in none.
 */
const struct image_proc *image_proc_at(struct image *im, uint64_t addr);
/* All procedures, sorted by start. Returns their number. If their names were forgotten, image_procs_near() takes its place. */
size_t image_procs(struct image *im, const struct image_proc **proc);
/* The first procedure whose symbol has that name, as in the symbol table. NULL: there is none, or no memory. */
const struct image_proc *image_proc_named(struct image *im, const char *name);
/* True if names come from a symbol table rather than from unwind information alone. */
bool image_has_symbols(struct image *im);

/* Memory that symbols and names of procedures take. */
size_t image_names_bytes(const struct image *im);
/* Frees symbols and names: the extents of procedures stay known, but their names are NULL, and none is found by its
 * name, until image_read_names() reads them again. Procedures that were returned before are invalid then, and those that
 * image_proc_at() returns until then are valid until its next call. */
void image_forget_names(struct image *im);
/* Returns whether they had been forgotten; procedures that were returned before are invalid then. */
bool image_read_names(struct image *im);
bool image_procs_are_read(const struct image *im);
/* Widens [*start, *end), a procedure that holds addr, by those procedures before it that begin at `from` or later, and by
 * those behind it that begin before `to`. */
void image_procs_near(struct image *im, uint64_t addr, uint64_t from, uint64_t to, uint64_t *start,
		      uint64_t *end);

/* Lists where exceptions enter the procedure, or the part of one, that begins at start: up to
 * max addresses. Returns how many there are. */
size_t image_pads(struct image *im, uint64_t start, uint64_t *pad, size_t max);

/* Source file and line of addr from debug information (also of the separate one) or Go's table of procedures, or false. */
bool image_line(struct image *im, uint64_t addr, const char **file, int *line);

/* A procedure that the compiler has put into another one. */
struct image_inline {
	const char *name; /* as in symbol tables, or plain */
	/* file of the call in the procedure that it was put into; NULL: not known */
	const char *file;
	int line;
};
#define IMAGE_INLINES_MAX 32
/* Finds the inlined procedures that addr is in, the outermost first, at most max of them. Returns
 * their number. Texts live until image_close. */
size_t image_inlines(struct image *im, uint64_t addr, struct image_inline *found, size_t max);

#define IMAGE_PLT "@plt" /* follows the name of a linkage table's slot */
/* Demangles a C++ or Rust name into buf; other names are copied. Returns buf. */
char *image_demangle(const char *name, char *buf, size_t n);

#endif
