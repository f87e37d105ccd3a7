/* SPDX-License-Identifier: MIT */
/*
 * The entries of .eh_frame and .debug_frame, as DWARF 5, section 6.4, and the Linux Standard Base describe them.
 *
 * .eh_frame is a list of entries, each with its length first. A common information entry (CIE) tells among other things how
 * its frame descriptions (FDE) write addresses; each of these covers one range:
 *
 *	CIE: length, 0, version, augmentation string, code and data alignment, return register,
 *	     augmentation data (with 'z'): one item a letter; 'R' is the encoding; instructions
 *	FDE: length, distance back to its CIE, start, size, augmentation data (with 'z'), instructions
 *
 * .debug_frame is such a list, too. There a CIE has -1 in place of 0, and an FDE the offset of its CIE; both are 8 bytes in an
 * entry whose length is; from version 4 on a CIE has the sizes of addresses and of segment selectors behind the augmentation string.
 */
#ifndef ASSAY_IMAGE_ENTRIES_H
#define ASSAY_IMAGE_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "image/elf_file.h"

/* A place in bytes. Reading beyond the end, or a value that is too long, sets `bad` and gives 0. */
struct dwarf_cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint64_t cursor_take(struct dwarf_cursor *c, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->p) < bytes) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->p, bytes);
	c->p += bytes;
	return v;
}

uint64_t cursor_uleb(struct dwarf_cursor *c);
int64_t cursor_sleb(struct dwarf_cursor *c);

/* One of the two sections, in memory; bytes NULL: the file has none. */
struct entries {
	uint8_t *bytes;
	uint64_t addr, size;
	bool debug; /* it is .debug_frame */
};

/* Reads .eh_frame; without section headers, what .eh_frame_hdr leads to. False: the file has none. */
bool entries_load(struct entries *s, const struct elf_file *f);
/* Reads .debug_frame, decompressed. False: the file has none. */
bool entries_load_debug(struct entries *s, const struct elf_file *f);
void entries_fini(struct entries *s);

#define ENTRIES_OMITTED 0xff /* DW_EH_PE_omit: there is no value */

struct cie {
	uint8_t addr,
		lsda; /* encodings of addresses and exception tables in FDEs; ENTRIES_OMITTED: none, or unknown */
	bool sized;    /* augmentation data begin with their size */
	bool signal;   /* frames are those of signals */
	bool runnable; /* the instructions are known */
	uint64_t code_align;
	int64_t data_align;
	struct dwarf_cursor code; /* instructions that come before an FDE's */
};

struct fde {
	uint64_t offset;
	uint64_t start, end;	  /* the code that it describes */
	uint64_t lsda;		  /* address of the exception table; 0: it has none */
	struct dwarf_cursor code; /* instructions */
};

/* The place of entries_next(). */
struct entries_walk {
	uint64_t at;	/* offset of the next entry */
	bool known;	/* a CIE has been read */
	uint64_t where; /* the offset of the CIE that was read last */
	struct cie cie;
};

/* Reads the CIE at that offset. One that cannot be read has no encodings. */
struct cie entries_cie(const struct entries *s, uint64_t offset);
/* Goes on to the next FDE that can be read, and skips others. False: there is none. */
bool entries_next(const struct entries *s, struct entries_walk *w, struct fde *fde);
/* Decodes an address in an entry whose encoding has no indirection. */
uint64_t entries_address(const struct entries *s, struct dwarf_cursor *c, uint8_t encoding);

#endif
