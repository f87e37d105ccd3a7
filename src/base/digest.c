/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include <stdio.h>

#define BYTES ((DIGEST_TEXT - 1) / 2)

void digest_init(struct digest *d)
{
	blake2b_init(&d->state, BYTES);
}

void digest_add(struct digest *d, const void *data, size_t n)
{
	blake2b_update(&d->state, data, n);
}

void digest_text(struct digest *d, char text[DIGEST_TEXT])
{
	uint8_t result[BYTES];

	blake2b_final(&d->state, result, BYTES);
	for (size_t i = 0; i < BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", result[i]);
}
