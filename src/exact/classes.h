/* SPDX-License-Identifier: MIT */
/* The class of instructions, remembered by what decides it: a decoder is asked once for each of those. */
#ifndef ASSAY_EXACT_CLASSES_H
#define ASSAY_EXACT_CLASSES_H

#include "x86/opcode.h"

struct classes {
	uint8_t operand[OPCODES]; /* enum opcode_operand */
	struct {
		uint8_t cls; /* + 1, or 0: not known */
		uint8_t imm; /* bytes */
	} of[OPCODE_KEYS];
};

/* enum insn_class of the instruction of `len` bytes at p, of which INSN_MAX_LEN can be read; -1: there is none.
 * *target: where a direct branch, jump or call goes, otherwise 0. */
int classes_of(struct classes *c, const uint8_t *p, unsigned len, uint64_t addr, uint64_t *target);

#endif
