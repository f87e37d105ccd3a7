/* SPDX-License-Identifier: MIT */
#include "stream/window.h"

#include <string.h>

const char *const operand_name[OPERAND_N] = {
#define X(id, name) [OPERAND_##id] = name,
	OPERANDS(X)
#undef X
};

int operand_by_name(const char *name)
{
	for (int i = 0; i < OPERAND_N; i++)
		if (!strcmp(operand_name[i], name))
			return i;
	return -1;
}
