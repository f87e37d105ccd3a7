/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The run-ahead interpreter's repeated string operations: more than one element at a time. */
#ifndef ASSAY_RUNAHEAD_STRINGS_H
#define ASSAY_RUNAHEAD_STRINGS_H

#include "runahead/memory.h"

/* The log2 of how many bytes a repeated string operation may take at once: as many as are left, and not so many that
 * it would read what it has just written. gap: from the source to the destination. */
RA_INLINE uint32_t ra_rep_width(uint64_t left, uint64_t gap)
{
	uint64_t most = gap && gap < left ? gap : left;

	return most >= 8 ? 3 : most >= 4 ? 2 : most >= 2 ? 1 : 0;
}

/* The low bytes of v, as many as the width says, repeated. */
RA_INLINE uint64_t ra_rep_fill(uint64_t v, uint32_t w)
{
	invariant(w <= 3);
	v &= ra_mask(w);
	v |= w < 1 ? v << 8 : 0;
	v |= w < 2 ? v << 16 : 0;
	return v | (w < 3 ? v << 32 : 0);
}

/* Executes UOP_REP. Non-zero if elements were done. */
RA_HELPER int ra_rep(struct ra_state *s, uint32_t flags, uint32_t moves)
{
	uint32_t w = flags & UF_WIDTH, to, need = 1u << UR_RCX | 1u << UR_RDI, more;
	uint64_t n, src, dst;

	RA_NULL(s);
	n = s->r[UR_RCX];
	src = s->r[UR_RSI];
	dst = s->r[UR_RDI];
	need |= moves ? 1u << UR_RSI : 1u << UR_RAX;
	to = ra_rep_width(n > 8 ? 8 : n << w, moves ? dst - src : 0);
	if ((s->known & need) != need || !n || to < w)
		return 0;
	if (!moves)
		s->aux = ra_rep_fill(s->r[UR_RAX], w);
	else if (ra_load(s, src, to))
		return 0;
	if (ra_store(s, dst, to))
		return 0;
	more = 1u << to;
	invariant(to <= 3 && more >> w && n >= more >> w);
	if (moves)
		s->r[UR_RSI] = src + more;
	s->r[UR_RDI] = dst + more;
	s->r[UR_RCX] = n - (more >> w);
	s->r[UR_EA] = dst + more - (1u << w);
	s->known |= 1u << UR_EA;
	return 1;
}

#endif
