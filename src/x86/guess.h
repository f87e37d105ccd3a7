/* SPDX-License-Identifier: MIT */
/*
 * A guess at an instruction's length and at the position of its values, from opcode maps alone, many times faster than decoding;
 * and its key: the bytes without the values. A wrong guess is not kept, so the maps need not be complete, but the guess must
 * depend only on the bytes of that length.
 */
#ifndef ASSAY_X86_GUESS_H
#define ASSAY_X86_GUESS_H

#include <stdbool.h>
#include <stdint.h>

#include "x86/insn.h"

#define GUESS_BYTES \
	24 /* bytes that guess_insn() reads, of which the last 8 only have to be readable */
#define GUESS_HASH_BITS 18

struct guess {
	uint32_t len; /* length in bytes; 0: not known */
	/* positions and sizes of the displacement and the immediate; size 0: none */
	uint32_t disp_at, disp_size, imm_at, imm_size;
	bool of_rip, branches;
	uint32_t hash; /* of the key */
	uint64_t key[2];
};

struct guess guess_insn(const uint8_t *p);
/* Whether the decoded instruction is what was guessed. */
bool guess_is_right(const struct guess *g, const struct insn *in);
/* The value of `size` bytes at p, sign-extended; 0 of 0 bytes. */
int64_t guess_value(const uint8_t *p, uint32_t size);
/* Whether the key determines the value. */
bool guess_is_fixed(int64_t value);

#endif
