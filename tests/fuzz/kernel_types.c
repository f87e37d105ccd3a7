/* SPDX-License-Identifier: MIT */
/* Damaged type information of a kernel. Input: the information. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/kernel_types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *bytes = malloc(size + 1); /* aligned, and its end is known */

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	btf__free(kernel_types_reduce(bytes, size));
	free(bytes);
	return 0;
}
