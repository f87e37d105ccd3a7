/* SPDX-License-Identifier: MIT */
/*
 * Reading the interpreter's store buffer.
 */
#ifndef ASSAY_TESTS_SLOT_H
#define ASSAY_TESTS_SLOT_H

#include <stdbool.h>

#include "runahead/state.h"

/* True if the slot holds a store of the last window. */
static inline bool slot_used(const struct ra_state *s, const struct ra_slot *e)
{
	return e->key >> RA_SB_GEN_SHIFT == s->gen && e->valid;
}

static inline uint64_t slot_addr(const struct ra_slot *e)
{
	return (e->key & ((1ull << RA_SB_GEN_SHIFT) - 1)) << 3;
}

#endif
