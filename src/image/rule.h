/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How to get from a procedure's frame to its caller's at one address, in a form that the kernel side can follow: the
 * few shapes that the rules of .eh_frame have on x86-64. CFA is the canonical frame address, the caller's stack
 * pointer.
 */
#ifndef ASSAY_IMAGE_RULE_H
#define ASSAY_IMAGE_RULE_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Registers are numbered as instructions encode them. */
#define RULE_RSP 4
#define RULE_RBP 5
#define RULE_RBX 3
#define RULE_BX_UNKNOWN 1

enum rule_kind {
	RULE_NONE,	/* the image has no rule */
	RULE_OUTERMOST, /* the unwind information says that there is no caller */
	RULE_CFA,	/* the CFA is reg + off */
	RULE_DEREF, /* the CFA is the value stored at reg + off: procedures that realign the stack */
	RULE_PLT,   /* the CFA is rsp + off, and 8 more if the address mod 16 is `plt` or more */
	RULE_SIGNAL, /* rsp, rbp and rip of the interrupted code are stored at rsp + off, bp_off, ra_off */
	RULE_REGISTER, /* the CFA is rsp + off, and the return address is in the register of number `plt`: vfork */
	RULE_SWITCH, /* the caller is on another stack, where the frame pointer leads */
	RULE_OTHER,  /* another shape: user space walks such stacks */
};

/* Where the caller's rbp is. */
enum rule_bp {
	RULE_BP_SAME, /* The caller's rbp is still in the register. */
	RULE_BP_CFA,  /* at CFA + bp_off */
	RULE_BP_RBP,  /* at rbp + bp_off */
};

/* The return address is at CFA - 8, except with RULE_SIGNAL and RULE_REGISTER. bx_off: the caller's rbx is at CFA +
 * bx_off. rbx is the CFA's base in few procedures: those that resolve symbols when they are first called. */
struct unwind_rule {
	uint8_t kind, reg, bp;
	uint8_t plt;
	int32_t off, bp_off;
	union {
		int32_t ra_off;
		int32_t bx_off; /* where rbx was saved; 0: rbx still holds it; or RULE_BX_UNKNOWN */
	};
};

#endif
