/* SPDX-License-Identifier: MIT */
#include "cfg/seen.h"

#include <stdlib.h>
#include <string.h>

#include "cfg/code_priv.h"

void cfg_seen_fini(struct cfg_seen *s)
{
	free(s->insn);
	free(s->target);
	*s = (struct cfg_seen){ 0 };
}

bool cfg_seen_ran(const struct cfg_seen *s, uint64_t addr)
{
	size_t lo = 0, hi = s->ninsns;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->insn[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->ninsns && s->insn[lo] == addr;
}
