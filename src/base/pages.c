/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

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
	madvise(p + before, size, MADV_HUGEPAGE);
	return p + before;
}

void pages_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, round_up(bytes));
}
