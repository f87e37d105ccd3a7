/* SPDX-License-Identifier: MIT */
/* Classes of instructions, remembered by the bytes that decide them: each kind is decoded only
 * once. */
#ifndef ASSAY_EXACT_CLASSES_H
#define ASSAY_EXACT_CLASSES_H

#include "x86/opcode.h"

struct classes {
	uint8_t operand[OPCODES]; /* enum opcode_operand */
	struct {
		uint8_t cls; /* class + 1; 0: not known */
		uint8_t imm; /* bytes of the immediate */
	} of[OPCODE_KEYS];
};

/* Returns enum insn_class of the instruction of `len` bytes at p, of which INSN_MAX_LEN can be
 * read; -1: there is none. *target: where a direct branch, jump or call goes, otherwise 0. */
int classes_of(struct classes *c, const uint8_t *p, unsigned len, uint64_t addr, uint64_t *target);

#endif
