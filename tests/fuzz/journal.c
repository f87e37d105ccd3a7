/* SPDX-License-Identifier: MIT */
/* Any bytes as a journal of windows. */
#include <stddef.h>
#include <stdint.h>

#include "store/journal.h"

#define SITES_MAX 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t map[3] = { 0, 0, 0 };
	struct profile p;
	struct err err;

	if (profile_init(&p, &err))
		return 0;
	journal_replay(data, size, &p, SITES_MAX, map, 3, &err);
	profile_fini(&p);
	return 0;
}
