/* SPDX-License-Identifier: MIT */
/*
 * Memory for large tables that are filled from their start on. The memory is zeroed, only touched
 * parts of it take space, and it lies in large pages where the kernel gives them, because page
 * faults would otherwise dominate the cost of filling it.
 */
#ifndef ASSAY_BASE_PAGES_H
#define ASSAY_BASE_PAGES_H

#include <stddef.h>

#define PAGES_LARGE ((size_t)2 << 20)

void *pages_new(size_t bytes); /* at a multiple of PAGES_LARGE; NULL without memory */
void pages_free(void *p, size_t bytes);

/*
 * Puts malloc's memory into large pages, too, up to PAGES_HEAP bytes of it. That is address space
 * at first: unused pages take no memory. One thread calls this before much is allocated. If the
 * memory cannot be had, malloc stays as it is.
 *
 * A virtual machine may report free pages. Its host then takes large free pages after some seconds,
 * and having one again costs a host fault for each small page in it: five times the cost of small
 * pages, which the guest keeps. On such a machine no page is large from then on, and pages_new()
 * gives small ones.
 */
#define PAGES_HEAP (128u << 20)
void pages_heap(void);
/* Gives pages back that only freed memory of malloc's lies in, after much was freed. */
void pages_trim(void);
/* Makes malloc keep freed memory for later requests, and makes it not coalesce at every large
 * free. This suits a process that builds tables and then ends. */
void pages_keep(void);

#endif
