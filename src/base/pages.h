/* SPDX-License-Identifier: MIT */
/*
 * Large tables that fill from their start on: zeroed, and only what is touched takes memory, in large
 * pages where the kernel gives them, as faults are what filling costs otherwise.
 */
#ifndef ASSAY_BASE_PAGES_H
#define ASSAY_BASE_PAGES_H

#include <stddef.h>

#define PAGES_LARGE ((size_t)2 << 20)

void *pages_new(size_t bytes); /* at a multiple of PAGES_LARGE; NULL without memory */
void pages_free(void *p, size_t bytes);

/*
 * Has malloc's memory in large pages, too, up to PAGES_HEAP bytes of it. That is address space at first: pages that are not
 * used are not there. To be called before much is allocated, by one thread; if it cannot be had, all stays as it is.
 *
 * A virtual machine may report free pages: its host takes the large ones then, after some seconds, and to have one again
 * costs a fault of the host's for each small page in it, five times what small pages cost, which the guest keeps. There
 * none are large from then on, of pages_new() neither.
 */
#define PAGES_HEAP (128u << 20)
void pages_heap(void);
/* Has malloc keep what is freed for what comes next, and not look for neighbours to join at every large free: for one that builds
 * tables, and then ends. */
void pages_keep(void);

#endif
