/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

#define LARGE ((size_t)2 << 20)

static size_t round_up(size_t bytes)
{
	return (bytes + LARGE - 1) & ~(LARGE - 1);
}

void *pages_new(size_t bytes)
{
	size_t size = round_up(bytes);
	char *p = mmap(NULL, size + LARGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = (LARGE - (uintptr_t)p % LARGE) % LARGE;
	if (before)
		munmap(p, before);
	munmap(p + before + size, LARGE - before);
	madvise(p + before, size, MADV_HUGEPAGE);
	return p + before;
}

void pages_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, round_up(bytes));
}
