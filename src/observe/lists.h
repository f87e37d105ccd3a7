/* SPDX-License-Identifier: MIT */
/*
 * The hot lists of an instruction's operands. Most instructions have none or one, so what holds them keeps a pointer and a bit
 * for each enum operand that has a list, in the order of the bits.
 */
#ifndef ASSAY_OBSERVE_LISTS_H
#define ASSAY_OBSERVE_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "sketch/hot.h"

union lists { /* by the number of bits: nothing, the list itself, an array of the lists */
	struct hot *only;
	struct hot **several;
};

/* The place of the operand's list, which is NULL if there is none; making another list may move it. NULL: no memory. */
struct hot **lists_place(union lists *l, uint16_t *have, int operand);
void lists_free(union lists l, unsigned have);

/* The operand's list, or NULL. */
static inline struct hot *lists_get(union lists l, unsigned have, int operand)
{
	unsigned bit = 1u << operand;

	if (have == bit)
		return l.only;
	return have & bit ? l.several[__builtin_popcount(have & (bit - 1))] : NULL;
}

#endif
