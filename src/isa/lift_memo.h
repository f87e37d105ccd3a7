/* SPDX-License-Identifier: MIT */
/*
 * Decoding and lifting with a memory: instructions recur, so what an instruction becomes is kept by its
 * bytes without the values of its displacement and its immediate, which differ most. Values that may be
 * special (0, 1, -1, the sign) stay part of what is looked for. Gives what insn_decode() and lift_insn()
 * give, at a small part of their cost.
 */
#ifndef ASSAY_ISA_LIFT_MEMO_H
#define ASSAY_ISA_LIFT_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/lift.h"

/* What an instruction's bytes hold besides its form, sign-extended; 0 where they hold none. */
struct lift_values {
	int64_t disp; /* displacement, or distance from the instruction's end to its operand in memory */
	int64_t imm; /* immediate, or distance to where a branch, jump or call goes */
};

/* An instruction wherever it lies: the facts of struct insn that lifting needs. */
struct lift_form {
	uint64_t key[2]; /* its bytes, with the kinds of its values for these, and 0 behind them */
	uint32_t body;	 /* its micro-ops, by flags that are live: the memo's own */
	uint16_t fl_read, fl_written;
	uint16_t fl_may; /* status flags that it may write */
	uint8_t len, cls, access;
	/* where in the bytes the values are that differ; 0 bytes: none */
	uint8_t disp_at, disp_size, imm_at, imm_size;
	bool of_rip; /* the displacement is a distance */
	bool falls_through, ends_block;
	bool has_target; /* a direct branch, jump or call */
	bool nop;
};

struct lift_memo;

struct lift_memo *lift_memo_new(void); /* NULL without memory */
void lift_memo_free(struct lift_memo *m);

/* The instruction of which up to n bytes are at p; *v: its values. NULL if it is none. What it
 * returns stays until lift_memo_rest() or lift_memo_free(). */
const struct lift_form *lift_memo_decode(struct lift_memo *m, const uint8_t *p, size_t n,
					 struct lift_values *v);

/* Looks at instructions from p on, in n bytes, that will be decoded next, and fetches into the cache what
 * that will take. Returns how many bytes they have. */
size_t lift_memo_ahead(struct lift_memo *m, const uint8_t *p, size_t n);

/* Its micro-ops at addr, as lift_insn() says, to out[0..LIFT_MAX). */
int lift_memo_lift(struct lift_memo *m, const struct lift_form *f, uint64_t addr,
		   struct lift_values v, uint16_t fl_live, struct uop *out);

/* To be called between runs: forgets all if memory has run full. */
void lift_memo_rest(struct lift_memo *m);

#endif
