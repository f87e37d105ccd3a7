/* SPDX-License-Identifier: MIT */
/*
 * BLAKE2b (RFC 7693), 256 bits, without a key, by libb2: a digest that tells contents apart even if somebody made them
 * collide under a weaker one.
 */
#ifndef ASSAY_BASE_DIGEST_H
#define ASSAY_BASE_DIGEST_H

#include <blake2.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_TEXT 65 /* 64 hexadecimal digits and a 0 */

struct digest {
	blake2b_state state;
};

void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t n);
/* Writes the digest of everything that was added. Nothing can be added afterwards. */
void digest_text(struct digest *d, char text[DIGEST_TEXT]);

#endif
