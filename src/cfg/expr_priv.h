/* SPDX-License-Identifier: MIT */
/* How expressions are made and bounded (expr.c), for the instructions that combine them (expr_step.c). */
#ifndef ASSAY_CFG_EXPR_PRIV_H
#define ASSAY_CFG_EXPR_PRIV_H

#include "cfg/expr.h"

#define EXPR_NONE UINT32_MAX /* no node */

/* The largest value of so many bytes. */
static inline uint64_t expr_max(unsigned bytes)
{
	return bytes >= 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
}

/* The node that equals e; a new one if there is none yet. */
uint32_t expr_intern(struct expr_path *p, const struct expr *e);
uint32_t expr_other(struct expr_path *p); /* an unknown value, different from all others */
uint32_t expr_constant(struct expr_path *p, uint64_t c);
bool expr_is_constant(const struct expr_path *p, uint32_t node);

/* Makes the node a + coef * b. */
uint32_t expr_add(struct expr_path *p, uint32_t a, uint64_t coef, uint32_t b);
uint32_t expr_times(struct expr_path *p, uint32_t a, uint64_t coef);
uint32_t expr_zext(struct expr_path *p, uint32_t a, unsigned bytes);
uint32_t expr_sext(struct expr_path *p, uint32_t a, unsigned bytes);
uint32_t expr_masked(struct expr_path *p, uint32_t a, uint64_t mask);
uint32_t expr_shifted(struct expr_path *p, uint32_t a, unsigned by);
/* Bitwise or: unknown, but without a bit above the highest bit of both. */
uint32_t expr_joined(struct expr_path *p, uint32_t a, uint32_t b);
/* Makes a sum a single term that can be an index, if the sum has several terms or was compared as a
 * whole. */
uint32_t expr_as_one(struct expr_path *p, uint32_t a);

/* Bounds the node to [lo, hi], and its operands by what follows from that. */
void expr_limit(struct expr_path *p, uint32_t node, uint64_t lo, uint64_t hi);

#endif
