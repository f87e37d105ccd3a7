/* SPDX-License-Identifier: MIT */
/*
 * Decoding and lifting with a memory. Instructions recur, so the micro-ops of an instruction are
 * kept by its bytes without the values of its displacement and immediate, which differ most. Values
 * that may be special (0, 1, -1, the sign) stay part of the key. The results equal those of
 * insn_decode() and lift_insn(), at a small part of their cost.
 */
#ifndef ASSAY_X86_LIFT_MEMO_H
#define ASSAY_X86_LIFT_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "x86/lift.h"

/* The values in an instruction's bytes, sign-extended; 0 where there are none. */
struct lift_values {
	int64_t disp; /* displacement, or distance from the instruction's end to its operand in memory */
	int64_t imm; /* immediate, or distance to the target of a branch, jump or call */
};

/* An instruction without its address: the facts of struct insn that lifting needs. */
struct lift_form {
	uint64_t key[2]; /* its bytes, with the kinds of its values in their place, then zeros */
	uint32_t body;	 /* private: its micro-ops, by set of live flags */
	uint16_t fl_read, fl_written;
	uint16_t fl_may; /* status flags that the instruction may write */
	uint8_t len, cls, access;
	/* positions in the bytes of the values left out; size 0: none */
	uint8_t disp_at, disp_size, imm_at, imm_size;
	bool of_rip; /* the displacement is relative to rip */
	bool falls_through, ends_block;
	bool has_target; /* a direct branch, jump or call */
	bool nop;
};

struct lift_memo;

struct lift_memo *lift_memo_new(void); /* NULL without memory */
void lift_memo_free(struct lift_memo *m);

/* Decodes the instruction in p[0 .. n); *v: its values. NULL if the bytes are no instruction.
 * The result stays valid until lift_memo_rest() or lift_memo_free(). */
const struct lift_form *lift_memo_decode(struct lift_memo *m, const uint8_t *p, size_t n,
					 struct lift_values *v);

/* Examines the instructions in p[0 .. n), which will be decoded next, and prefetches the memory
 * that this will need. Returns how many bytes the instructions have. */
size_t lift_memo_ahead(struct lift_memo *m, const uint8_t *p, size_t n);

/* Writes the micro-ops of the instruction at addr to out[0..LIFT_MAX), as lift_insn() does. */
int lift_memo_lift(struct lift_memo *m, const struct lift_form *f, uint64_t addr,
		   struct lift_values v, uint16_t fl_live, struct uop *out);

/* To be called between runs: forgets everything if memory has run full. */
void lift_memo_rest(struct lift_memo *m);

#endif
