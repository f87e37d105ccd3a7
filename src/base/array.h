/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays. An array is a pointer and a count of elements, both the caller's; free() frees it. Elements are moved when
 * an array grows. Each macro returns false without memory, and leaves the array as it was.
 */
#ifndef ASSAY_BASE_ARRAY_H
#define ASSAY_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for n elements in all, where there is room for `cap`; growing at least doubles the room. */
#define array_reserve(v, cap, n) \
	({ \
		size_t array_cap_ = (cap); \
		void *array_to_ = \
			array_reserved((v), &array_cap_, (n), sizeof(*(v)), (__typeof__(cap))-1); \
\
		if (array_to_) { \
			(v) = array_to_; \
			(cap) = (__typeof__(cap))array_cap_; \
		} \
		array_to_ != NULL; \
	})

/* Makes room for one more element after n. The room is not stored: it is the least power of two that is not below n. */
#define array_one_more(v, n) \
	({ \
		void *array_to_ = array_doubled((v), (n), sizeof(*(v))); \
\
		if (array_to_) \
			(v) = array_to_; \
		array_to_ != NULL; \
	})

/* Makes an array of n elements have at least `to`, and sets n. New elements are zero. */
#define array_widen(v, n, to) \
	({ \
		size_t array_to_n_ = (to), array_n_ = (n); \
		void *array_to_ = array_widened((v), array_n_, array_to_n_, sizeof(*(v))); \
\
		if (array_to_) { \
			(v) = array_to_; \
			(n) = (__typeof__(n))(array_to_n_ > array_n_ ? array_to_n_ : array_n_); \
		} \
		array_to_ != NULL; \
	})

/* Functions that the macros call. Each returns the array, moved or not, or NULL without memory. */
void *array_reserved(void *v, size_t *cap, size_t n, size_t size, size_t max);
void *array_doubled(void *v, size_t n, size_t size);
void *array_widened(void *v, size_t n, size_t to, size_t size);

#endif
