/* SPDX-License-Identifier: MIT */
/*
 * Calls: which values a procedure gets and gives back, by the place that calls it. How often it is called there
 * is what edges say.
 */
#ifndef ASSAY_OBSERVE_CALLS_H
#define ASSAY_OBSERVE_CALLS_H

#include "observe/profile.h"

/* OPERAND_RETURN and OPERAND_ARG0 to OPERAND_ARG5 */
#define CALL_VALUES (OPERAND_N - OPERAND_RETURN)
#define CALLS_DEPTH 64 /* calls that are followed to their return, within one another */

struct call_key {
	struct site_id from, to; /* the call; the first instruction of what it called */
};
struct call {
	struct call_key key;
	struct hot *value[CALL_VALUES]; /* by operand - OPERAND_RETURN; NULL: never seen */
	UT_hash_handle hh;
};

/*
 * One thread's calls that have not returned yet. A return belongs to the last one that it returns behind; those
 * above that were left without (longjmp).
 */
struct calls_open {
	unsigned n; /* of all there are, the last CALLS_DEPTH are there */
	struct {
		struct site_id from, to;
		uint64_t behind; /* address of what follows the call */
	} call[CALLS_DEPTH];
};

/* The call, made if new; NULL without memory. */
struct call *calls_get(struct profile *p, struct site_id from, struct site_id to);
/* The hot list of one, made if new; NULL without memory. */
struct hot *calls_list(struct profile *p, struct call *c, int operand);
/* One value of a call; operand: OPERAND_RETURN … OPERAND_ARG5. -1 without memory. */
int calls_value(struct profile *p, struct call *c, int operand, uint64_t value);
/*
 * The thread's next instruction, and the one after that, NULL if that is not known: calls are opened, arguments
 * and results added. -1 without memory.
 */
int calls_step(struct profile *p, struct calls_open *o, const struct retired *r,
	       const struct retired *next);
/* The direct call in front of what control comes back to, if it has been seen. */
bool calls_before(const struct profile *p, struct site_id behind, struct call_key *key);
int calls_window(struct profile *p, const struct window *w);
int calls_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void calls_free(struct profile *p);

#endif
