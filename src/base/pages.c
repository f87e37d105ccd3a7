/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#define PAGES_KEPT (4 << 20) /* step by which the heap grows */
/* Bytes from which a block of malloc's has pages of its own, which are given back when it is freed. */
#define PAGES_APART (1 << 20)
#define REPORTED "/sys/module/page_reporting/parameters/page_reporting_order"

static bool small; /* large pages are never requested */

/* Tells whether this is a virtual machine that reports free pages to its host. */
static bool are_reported(void)
{
	long long order = -1; /* smallest order of pages that is reported; -1 as 32 bits: none */
	FILE *f = fopen(REPORTED, "re");

	if (!f)
		return false;
	if (fscanf(f, "%lld", &order) != 1)
		order = -1;
	fclose(f);
	return (int32_t)order >= 0;
}

static void make_large(void *p, size_t bytes)
{
	if (!small)
		madvise(p, bytes, MADV_HUGEPAGE);
}

/* Tells the leak detector, which knows malloc() alone, that these pages hold pointers. */
static void tell_leak_detector(const void *p, size_t bytes, bool used)
{
#ifdef __SANITIZE_ADDRESS__
	if (used)
		__lsan_register_root_region(p, bytes);
	else
		__lsan_unregister_root_region(p, bytes);
#else
	(void)p;
	(void)bytes;
	(void)used;
#endif
}

static size_t round_up(size_t bytes)
{
	return (bytes + PAGES_LARGE - 1) & ~(PAGES_LARGE - 1);
}

void *pages_new(size_t bytes)
{
	size_t size = round_up(bytes);
	size_t before;
	char *p;

	if (size < bytes || size + PAGES_LARGE < size)
		return NULL;
	p = mmap(NULL, size + PAGES_LARGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	before = (PAGES_LARGE - (uintptr_t)p % PAGES_LARGE) % PAGES_LARGE;
	if (before)
		munmap(p, before);
	munmap(p + before + size, PAGES_LARGE - before);
	make_large(p + before, size);
	tell_leak_detector(p + before, size, true);
	return p + before;
}

void pages_free(void *p, size_t bytes)
{
	if (!p)
		return;
	tell_leak_detector(p, round_up(bytes), false);
	munmap(p, round_up(bytes));
}

void pages_keep(void)
{
	mallopt(M_MXFAST, 0);
	mallopt(M_TOP_PAD, PAGES_KEPT);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

void pages_heap(void)
{
	void *volatile some;
	char *from, *to;

	small = are_reported();
	/* Growing the heap in one step keeps the heap together, and small blocks that grow stay in it. */
	mallopt(M_TOP_PAD, PAGES_HEAP);
	mallopt(M_TRIM_THRESHOLD, 2 * PAGES_HEAP);
	mallopt(M_MMAP_THRESHOLD, PAGES_APART);
	from = sbrk(0);
	some = malloc(PAGES_LARGE);
	free(some);
	to = sbrk(0);
	if (from == (char *)-1 || to == (char *)-1)
		return;
	from += (PAGES_LARGE - (uintptr_t)from % PAGES_LARGE) % PAGES_LARGE;
	if (from < to)
		make_large(from, (size_t)(to - from));
}

void pages_trim(void)
{
	malloc_trim(0);
}
