/* SPDX-License-Identifier: MIT */
/*
 * Decoding and lifting with a memory: instructions recur, so what an instruction becomes is kept by its
 * bytes, without the field that holds a distance from its own address. Gives what insn_decode() and
 * lift_insn() give, at a fifth of their cost.
 */
#ifndef ASSAY_ISA_LIFT_MEMO_H
#define ASSAY_ISA_LIFT_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/lift.h"

/* An instruction wherever it lies: the facts of struct insn that lifting needs. */
struct lift_form {
	uint64_t key[2]; /* its bytes, the distance and what lies behind them as 0 */
	uint32_t body;	 /* its micro-ops, by flags that are live: the memo's own */
	uint16_t fl_read, fl_written;
	uint16_t fl_may; /* status flags that it may write */
	uint8_t len, cls, access;
	uint8_t rel_at, rel_size; /* the distance: where in the bytes; 0 bytes: none */
	bool falls_through, ends_block;
	bool has_target; /* a direct branch, jump or call */
	bool nop;
};

struct lift_memo;

struct lift_memo *lift_memo_new(void); /* NULL without memory */
void lift_memo_free(struct lift_memo *m);

/* The instruction of which up to n bytes are at p; *rel: its distance. NULL if it is none. What it
 * returns stays until lift_memo_rest() or lift_memo_free(). */
const struct lift_form *lift_memo_decode(struct lift_memo *m, const uint8_t *p, size_t n,
					 int64_t *rel);

/* Looks at instructions from p on, in n bytes, that will be decoded next, and fetches into the cache what
 * that will take. Returns how many bytes they have. */
size_t lift_memo_ahead(struct lift_memo *m, const uint8_t *p, size_t n);

/* Its micro-ops at addr, as lift_insn() says, to out[0..LIFT_MAX). */
int lift_memo_lift(struct lift_memo *m, const struct lift_form *f, uint64_t addr, int64_t rel,
		   uint16_t fl_live, struct uop *out);

/* To be called between runs: forgets all if memory has run full. */
void lift_memo_rest(struct lift_memo *m);

#endif
