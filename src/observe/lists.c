/* SPDX-License-Identifier: MIT */
#include "observe/lists.h"

#include <stdlib.h>
#include <string.h>

struct hot **lists_place(union lists *l, uint16_t *have, int operand)
{
	uint16_t bit = (uint16_t)(1u << operand);
	unsigned n = (unsigned)__builtin_popcount(*have);
	unsigned at = (unsigned)__builtin_popcount(*have & (bit - 1u));
	struct hot **several;

	if (!n) {
		l->only = NULL;
		*have = bit;
	}
	if (*have == bit)
		return &l->only;
	if (*have & bit)
		return &l->several[at];
	several = realloc(n > 1 ? l->several : NULL, (n + 1) * sizeof(struct hot *));
	if (!several)
		return NULL;
	if (n == 1)
		several[0] = l->only;
	memmove(several + at + 1, several + at, (n - at) * sizeof(struct hot *));
	several[at] = NULL;
	l->several = several;
	*have |= bit;
	return &several[at];
}

void lists_free(union lists l, unsigned have)
{
	unsigned n = (unsigned)__builtin_popcount(have);

	if (n == 1)
		hot_free(l.only);
	if (n < 2)
		return;
	for (unsigned i = 0; i < n; i++)
		hot_free(l.several[i]);
	free(l.several);
}
