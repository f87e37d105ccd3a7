/* SPDX-License-Identifier: MIT */
/* Vector instructions whose results are tracked, by kind. */
#ifndef ASSAY_X86_LIFT_SIMD_H
#define ASSAY_X86_LIFT_SIMD_H

#include "x86/lift_priv.h"

enum simd_kind {
	K_NONE,
	K_MOVE,	 /* a whole vector; p: its elements */
	K_MOVD,	 /* movd, movq, pextr without a position */
	K_MOVS,	 /* movss, movsd; p: element */
	K_LOW,	 /* movlps, movlpd */
	K_HIGH,	 /* movhps, movhpd */
	K_LOGIC, /* p: element, imm: table */
	K_ARITH, /* p: element, imm: enum uop_varith; a comparison of EVEX goes to a mask register */
	K_PCMP,	 /* by a predicate in the last operand; p: element */
	K_TESTM,     /* p: element, imm: predicate */
	K_BROADCAST, /* p: element */
	K_SHUFFLE,   /* imm: as shufps has it; -1: the last operand has it */
	K_SHUFPD,
	K_INTERLEAVE, /* p: element, imm: 0 low halves, 1 high ones */
	K_SHIFTB,     /* pslldq, psrldq: imm 0, 1 */
	K_ALIGN,
	K_INSERT, /* p: element */
	K_EXTRACT,
	K_BITS, /* p: element */
	K_TEST,
	K_ZERO_UPPER,
	K_TERNARY, /* p: element */
	K_FCMP,	   /* p: element */
	K_FINT,	   /* p: element; imm: rounded */
	K_INTF,
	K_KMOV,	  /* p: width */
	K_KTEST,  /* p: width; imm: kind */
	K_KCAT,	  /* p: width */
	K_KLOGIC, /* p: width, imm: table */
	K_KNOT,
	K_KSHIFT, /* p: width, imm: 1 left, -1 right */
};

struct simd_form {
	uint8_t kind, p;
	int16_t imm;
};

/* K_NONE: not followed. */
const struct simd_form *lift_simd_form(ZydisMnemonic m);

#endif
