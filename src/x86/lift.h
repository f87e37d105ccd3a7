/* SPDX-License-Identifier: MIT */
/*
 * Lifting: one x86-64 instruction to micro-ops (x86/uop.h).
 */
#ifndef ASSAY_X86_LIFT_H
#define ASSAY_X86_LIFT_H

#include "x86/insn.h"
#include "x86/uop.h"

#define LIFT_MAX 48 /* largest number of micro-ops of an instruction */

/*
 * Lifts `in` to out[0..LIFT_MAX). fl_live: the status flags that may still be read after the
 * instruction; other flags need not be computed (pass FL_STATUS if unknown). Returns the number of
 * micro-ops, at least 1.
 *
 * Branch targets: in the UOP_JCC or UOP_JMP with UF_RETIRE, imm is left 0; the caller links it to
 * in->target. Where insn_falls_through() or the class is BRANCH, all other ways out lead to the
 * micro-op after the last one, which the caller makes the next instruction's first (or an unlinked
 * UOP_JMP). UR_BIAS makes addresses position-independent.
 *
 * An instruction that cannot be lifted becomes unknown registers, flags and stores where that is
 * the whole of its effect, else UOP_STOP. Nothing is guessed: a result that the architecture leaves
 * undefined is unknown.
 */
int lift_insn(const struct insn *in, uint16_t fl_live, struct uop *out);

/* Formats a micro-op for dumps and tests: "ADD.32f rax, rcx, $1 ; retire result=rax". Returns
 * buf. */
char *uop_format(const struct uop *u, char *buf, size_t n);

#endif
