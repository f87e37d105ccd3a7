/* SPDX-License-Identifier: MIT */
/* Binary search. */
#ifndef ASSAY_BASE_SEARCH_H
#define ASSAY_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first index in [from, to) for which a condition holds, or `to`. The condition is an expression
 * in the index, which the macro declares under the name given as `i`. Once the condition holds, it
 * holds for all greater indices:
 *
 *	search_first(i, 0, n, v[i].start >= addr)	the first element at or after addr
 *	search_first(i, 0, n, v[i].start > addr)	the first element after addr; its predecessor, if
 *							there is one, is the last that starts at or before addr
 */
#define search_first(i, from, to, holds) \
	({ \
		size_t search_low_ = (from), search_high_ = (to); \
\
		while (search_low_ < search_high_) { \
			size_t i = search_low_ + (search_high_ - search_low_) / 2; \
\
			if (holds) \
				search_high_ = i; \
			else \
				search_low_ = i + 1; \
		} \
		search_low_; \
	})

#endif
