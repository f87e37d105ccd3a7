/* SPDX-License-Identifier: MIT */
/* Elements of uthash tables that are found by their key, or made. */
#ifndef ASSAY_BASE_KEYED_H
#define ASSAY_BASE_KEYED_H

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/*
 * The element of the table `head` whose member `field` equals *key; a new one, of zeros but for the key, if there is none.
 * NULL without memory. The key's padding must be zeros, too.
 */
#define keyed_get(head, field, key) \
	({ \
		__typeof__(head) keyed_; \
		HASH_FIND(hh, head, key, sizeof(keyed_->field), keyed_); \
		if (!keyed_ && (keyed_ = calloc(1, sizeof(*keyed_)))) { \
			memcpy(&keyed_->field, key, sizeof(keyed_->field)); \
			HASH_ADD(hh, head, field, sizeof(keyed_->field), keyed_); \
			if (!keyed_->hh.tbl) { \
				free(keyed_); \
				keyed_ = NULL; \
			} \
		} \
		keyed_; \
	})

#endif
