/* SPDX-License-Identifier: MIT */
#include "sampler/large_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "image/text_file.h"

#define APART_NS 200000000ull
#define PART 100 /* a look takes at most one part in so many of the time */
#define KIB_MAX (1ull << 40)

/* The number in the line that begins so; 0 if there is none. */
static uint64_t number_of(const char *text, const char *name)
{
	size_t n = strlen(name);
	uint64_t v = 0;

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, n) && at[n] == ':' &&
		    sscanf(at + n + 1, "%" SCNu64, &v) == 1)
			return v < KIB_MAX ? v : KIB_MAX;
	}
	return 0;
}

bool large_pages_parse(const char *text, uint64_t *memory_kib, uint64_t *large_kib)
{
	uint64_t reserved = number_of(text, "Private_Hugetlb") + number_of(text, "Shared_Hugetlb");

	*memory_kib = number_of(text, "Anonymous") + reserved;
	*large_kib = number_of(text, "AnonHugePages") + reserved;
	return *memory_kib > 0 && *large_kib <= *memory_kib;
}

void large_pages_look(struct large_pages *l, const struct broker *b)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), took, memory, large;
	char *text;

	if (!l->pid || began < l->next)
		return;
	text = text_file_take(broker_open_memory(b, l->pid));
	if (text && large_pages_parse(text, &memory, &large)) {
		l->memory_kib += memory;
		l->large_kib += large;
		if (memory - large > l->small_kib)
			l->small_kib = memory - large;
	}
	free(text);
	l->pid = 0;
	took = clock_ns(CLOCK_MONOTONIC) - began;
	l->next = began + (took * PART > APART_NS ? took * PART : APART_NS);
}
