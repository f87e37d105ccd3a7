/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Invariants of the run-ahead interpreter. */
#ifndef ASSAY_RUNAHEAD_CHECK_H
#define ASSAY_RUNAHEAD_CHECK_H

#include "base/invariant.h"
#include "runahead/flags.h"

/* Checks what holds of a window between two micro-ops. */
RA_INLINE void ra_check(const struct ra_state *s)
{
	invariant(s->stop == RA_STOP_RUNNING && s->n < s->burst && s->burst <= RA_LONG_MAX);
	invariant(s->out_n >= RA_OUT_HEAD && s->out_n <= RA_OUT_WORDS - RA_ENTRY_WORDS);
	invariant(!s->r[UR_ZERO] && s->known >> UR_ZERO & 1);
	invariant(s->r[UR_BIAS] == s->bias && s->known >> UR_BIAS & 1);
	invariant(s->lazy.kind == RA_LAZY_READY || s->lazy.kind == RA_LAZY_UNKNOWN ||
		  (s->lazy.kind >= RA_LAZY_ADD && s->lazy.kind <= RA_LAZY_LOGIC));
	invariant(!((s->fl | s->fl_unk) & ~FL_STATUS));
	(void)s;
}

/* Checks that a lifted micro-op is one that the interpreter knows, with operands that exist. */
RA_INLINE void ra_check_uop(const struct uop *u)
{
	invariant(u->op < UOP_N || u->op & UOP_HOT);
	invariant((u->op >= UOP_VLD && u->op < UOP_N) ||
		  (u->dst < UR_N && u->a < UR_N && u->b < UR_N));
	invariant(!(u->op & UOP_HOT_MEMORY && u->op & UOP_HOT) || !(u->flags & UF_IMM));
	invariant(!u->rec || u->flags & UF_RETIRE);
	(void)u;
}

#endif
