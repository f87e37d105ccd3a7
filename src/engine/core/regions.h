/* SPDX-License-Identifier: MIT */
/* Which memory is code, and whether the program can write to it. */
#ifndef ASSAY_ENGINE_CORE_REGIONS_H
#define ASSAY_ENGINE_CORE_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

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
/* Returns why the address cannot be executed: SEGV_MAPERR or SEGV_ACCERR. */
int regions_fault(uint64_t pc);
void regions_protect(uint64_t start, uint64_t n, int prot); /* after an mprotect */
void regions_forget(uint64_t start, uint64_t n); /* after memory was mapped anew or unmapped */
/* Forgets the whole mapping at addr, if code of it was translated; shmdt does not tell the
 * mapping's size. */
void regions_detached(uint64_t addr);
/* Handles a write fault: true if the engine had protected the page, which can be written now. */
bool regions_write_fault(uint64_t addr);
/* Called before code of the page is translated: watches the page if it can be written. Returns
 * false if the page's code changes so often that no translation may be kept. */
bool regions_watch(const struct region *r, uint64_t pc, unsigned n);
/* Restores the protection of pages before they are moved or the kernel writes to them. */
void regions_release(uint64_t start, uint64_t n);
/* Whether the program can write to the page and the engine has protected it. */
bool regions_watched(uint64_t page);
/* Returns the end, at most `end`, of the stretch from `page` on whose pages are all watched, or all
 * not watched. */
uint64_t regions_watched_alike(uint64_t page, uint64_t end);
/* Never protects the page at addr, because the kernel writes to it at any time. */
void regions_keep_writable(uint64_t addr);
/* Numbers all images anew. */
void regions_renumber(void);
bool regions_any_watched(void);
bool regions_unwatch_all(void); /* true if any page was watched */

#pragma GCC visibility pop

#endif
