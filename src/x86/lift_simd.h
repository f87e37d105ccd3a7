/* SPDX-License-Identifier: MIT */
/*
 * Vector instructions whose results are tracked, by kind: moves, comparisons, and masks of bytes. The
 * results of other vector instructions are unknown (lift_vector.c).
 */
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

/* A vector instruction that is being lifted. */
struct simd {
	struct lift *l;
	struct simd_form f;
	const ZydisDecodedOperand *op[5]; /* the explicit operands, without the mask */
	int nop;
	int w;		 /* width of the vector: log2 of bytes, less 3 */
	int c;		 /* mask and elements, encoded as in micro-ops */
	int mask;	 /* number of the mask register */
	int64_t keep;	 /* UV_KEEP where the upper part stays unchanged */
	int temp;	 /* next free temporary */
	int loaded;	 /* register of the loaded value, or -1 */
	bool has_memory; /* an address is recorded */
};

/* What functions of several kinds use. */
struct uop *simd_emit(struct simd *x, int op, int w, int dst, int a, int b, int c, int64_t imm);
/* The number of a vector register or general register, or -1. */
int simd_reg(const ZydisDecodedOperand *op);
int simd_gpr(const ZydisDecodedOperand *op);
/* Computes the address of a memory operand, which is recorded. */
void simd_address(struct simd *x, const ZydisDecodedOperand *op);
/* Loads a memory operand into a vector register. c: mask and elements of the load. */
void simd_load(struct simd *x, const ZydisDecodedOperand *op, int dst, int c, int64_t flags);
/* The vector register of a source; a source in memory is loaded. */
int simd_source(struct simd *x, const ZydisDecodedOperand *op);
/* The sources of an operation of two; in SSE the destination is the first source. */
bool simd_operands(struct simd *x, int *dst, int *a, int *b);
int64_t simd_imm(const struct simd *x); /* the last operand, an immediate of 8 bits */
/* dst = a, the whole register. */
void simd_copy(struct simd *x, int dst, int a, int c);
void simd_retire(struct simd *x, int result);

/* Lifts an instruction of one kind, or several; false if it is not tracked after all. */
typedef bool simd_fn(struct simd *x);
/* lift_simd_move.c */
simd_fn simd_whole, simd_movd, simd_movs, simd_half, simd_insert, simd_extract, simd_bits,
	simd_kmov;
/* lift_simd_op.c */
simd_fn simd_logic, simd_ternary, simd_arith, simd_compare, simd_broadcast, simd_shuffle;
simd_fn simd_shufpd, simd_interleave, simd_shift_bytes, simd_align, simd_ptest, simd_zero_upper;
simd_fn simd_float, simd_mask_op;

/* K_NONE: not followed. */
const struct simd_form *lift_simd_form(ZydisMnemonic m);

#endif
