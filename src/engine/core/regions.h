/* SPDX-License-Identifier: MIT */
/* Which memory is code, and whether the program can write to it. */
#ifndef ASSAY_ENGINE_CORE_REGIONS_H
#define ASSAY_ENGINE_CORE_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) /* all is in one file: no tables of addresses */

struct region {
	uint64_t start, end;
	uint64_t offset, dev, inode;
	int prot;
	bool shared;
	uint32_t image; /* number in the log, or 0 */
	char path[192];
};
/* The code region of an address, or NULL if it cannot be executed. */
struct region *region_of(uint64_t pc);
/* Why it cannot be executed: SEGV_MAPERR or SEGV_ACCERR. */
int regions_fault(uint64_t pc);
void regions_protect(uint64_t start, uint64_t n, int prot); /* mprotect has been done */
void regions_forget(uint64_t start, uint64_t n);	    /* mapped anew or unmapped */
/* … the whole mapping there, whose size nobody says, if code of it was met. */
void regions_detached(uint64_t addr);
/* A write fault: true if the page was protected by us, and can be written now. */
bool regions_write_fault(uint64_t addr);
/* Before code of the page is translated: watches it if it can be written. Returns false if its code
 * changes so often that no translation may be kept. */
bool regions_watch(const struct region *r, uint64_t pc, unsigned n);
/* Gives pages their own protection again: before they are moved, or the kernel writes there. */
void regions_release(uint64_t start, uint64_t n);
/* The page can be written, and is protected by us. */
bool regions_watched(uint64_t page);
/* How far, up to `end`, all pages from `page` on are that, or none of them is. */
uint64_t regions_watched_alike(uint64_t page, uint64_t end);
/* The kernel writes there at any time: the page is never protected. */
void regions_keep_writable(uint64_t addr);
/* Images are numbered anew. */
void regions_renumber(void);
bool regions_any_watched(void);
bool regions_unwatch_all(void); /* true if there were any */

#pragma GCC visibility pop

#endif
