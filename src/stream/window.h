/* SPDX-License-Identifier: MIT */
/*
 * Retired instructions, windows, observers: the data that every source delivers and every observer
 * takes.
 */
#ifndef ASSAY_STREAM_WINDOW_H
#define ASSAY_STREAM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* The operands of a retired instruction that an observer can ask for, and that a profile keeps
 * hot lists of. */
#define OPERANDS(X) \
	X(RESULT, "result")   /* value left in the destination register */ \
	X(RESULT2, "result2") /* value left in the second destination: mul, div, xchg, xadd */ \
	X(LOAD, "load")	      /* value loaded (its first 8 bytes) */ \
	X(STORE, "store")     /* value stored (its first 8 bytes) */ \
	X(ADDRESS, "address") /* memory address */ \
	X(TARGET, "target")   /* where an indirect jump or call went, as a run-time address */ \
	X(RETURN, "return")   /* rax at a ret */ \
	X(ARG0, "arg0")	      /* rdi rsi rdx rcx r8 r9 at a procedure's entry */ \
	X(ARG1, "arg1") \
	X(ARG2, "arg2") \
	X(ARG3, "arg3") \
	X(ARG4, "arg4") \
	X(ARG5, "arg5")
enum operand {
#define X(id, name) OPERAND_##id,
	OPERANDS(X)
#undef X
	OPERAND_N,
};
extern const char *const operand_name[OPERAND_N];
/* The operand of that name, or -1. */
int operand_by_name(const char *name);

/* A site: a static instruction. Images are numbered by the profile that the window goes to. */
struct site_id {
	uint32_t image;
	/* always 0, in place of padding: the struct is a key, compared by its bytes */
	uint32_t zero;
	uint64_t addr; /* ELF virtual address */
};

struct retired {
	struct site_id site;
	uint8_t cls; /* enum insn_class */
	uint8_t len; /* bytes */
	bool taken;  /* branches and jumps: control went to the target */
	/* bytes accessed at ADDRESS by a plain load, store, or both; 0: not known */
	uint8_t access;
	/* bytes of the register, RESULT, to which `step` was added; 0: there is none */
	uint8_t counts;
	uint8_t reg; /* enum uop_reg, below 16: the register to which `step` was added */
	int32_t step;
	uint16_t
		/*
		 * one bit for each enum operand: value[] holds it. A value that is not known is
		 * absent.
		 */
		have;
	uint64_t value[OPERAND_N];
};

/*
 * For windows of a source that passes some over. Their weights are told as parts of the weight of
 * the window that stands for the most, so that weights stay within the bounds of hot lists
 * (sketch/hot.h).
 */
#define WINDOW_STANDS_MOST 8

struct window {
	uint32_t pid, tid;
	uint32_t stack; /* frame of the profile's stacks that it begins in; 0: not known */
	uint64_t time;	/* ns, CLOCK_MONOTONIC */
	/* how much of the run the window stands for: ns for a timed sampler */
	double weight;
	uint32_t n;    /* retired instructions; 0 if the sampler could not run ahead */
	uint32_t stop; /* enum ra_stop: why it ended */
	uint32_t
		/* number of windows that it stands for, because others were passed over; 0: none
		 * is ever passed over */
		stands;
	struct site_id start; /* where the thread was; ri[0] is this one if n > 0 */
	/* the window stands for no time: it began where code was seldom executed */
	bool rare;
	uint32_t
		extra; /* instructions at its end that stand for no time: it went on through new code */
	const struct retired *ri;
};

#endif
