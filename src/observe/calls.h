/* SPDX-License-Identifier: MIT */
/*
 * Calls: the values that a procedure receives and returns, by the place that calls it. Edges say
 * how often it is called there.
 */
#ifndef ASSAY_OBSERVE_CALLS_H
#define ASSAY_OBSERVE_CALLS_H

#include "observe/profile.h"

/* OPERAND_RETURN and OPERAND_ARG0 to OPERAND_ARG5 */
#define CALL_VALUES (OPERAND_N - OPERAND_RETURN)
#define CALLS_DEPTH 64 /* depth of calls that are followed to their return */

struct call_key {
	struct site_id from, to; /* the call, and the first instruction of the called procedure */
};
struct call {
	struct call_key key;
	struct hot *value[CALL_VALUES]; /* by operand - OPERAND_RETURN; NULL: never observed */
	UT_hash_handle hh;
};

/* A thread's open calls. A return closes the last call with its return address, and the calls
 * inside that one, which were abandoned (longjmp). */
struct calls_open {
	unsigned n; /* number of open calls; the last CALLS_DEPTH are kept */
	struct {
		struct site_id from, to;
		uint64_t behind; /* the return address */
	} call[CALLS_DEPTH];
};

/* Finds or makes the call; NULL without memory. */
struct call *calls_get(struct profile *p, struct site_id from, struct site_id to);
/* Finds or makes the hot list of one operand; NULL without memory. */
struct hot *calls_list(struct profile *p, struct call *c, int operand);
/* Adds one value of a call; operand: OPERAND_RETURN to OPERAND_ARG5. -1 without memory. */
int calls_value(struct profile *p, struct call *c, int operand, uint64_t value);
/* Finds the direct call before a return address, if it has been observed. */
bool calls_before(const struct profile *p, struct site_id behind, struct call_key *key);
int calls_window(struct profile *p, const struct window *w);
int calls_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void calls_free(struct profile *p);

#endif
