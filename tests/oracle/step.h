/* SPDX-License-Identifier: MIT */
/*
 * Single-steps a program, with its threads, children and what they execute: the truth that the exact
 * engine is held against. Says of each instruction that was executed where it lies, and the registers
 * before and after it.
 *
 * The kernel reports one step for each round of a repeated string instruction and one for a system call. A
 * step that ends where it began belongs to the same execution. Not executed, though stepped: an instruction
 * at which a signal arrives or that faults (it stops before it), and the step that enters a handler.
 */
#ifndef ASSAY_TESTS_ORACLE_STEP_H
#define ASSAY_TESTS_ORACLE_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "x86/insn.h"

#define STEP_ANON "-"

/* An instruction of a program, at one place in memory. */
struct step_site {
	const char *object; /* its file, "[vdso]", or STEP_ANON */
	uint64_t addr;	    /* ELF virtual address; from the start of the vdso; at run time */
	uint64_t pc;
	bool anon; /* memory of no file: its code may change */
	struct insn in;
	uint64_t count, taken; /* executions; of those, conditional branches that jumped */
	void *user;
};

struct step {
	int pid, tid; /* memory can be read with pid, as it is after the instruction */
	struct step_site *site;
	const struct user_regs_struct *before, *after;
	bool again; /* another round of a repeated one: no new execution */
};

struct step_options {
	const char *
		start; /* begin at this symbol's first execution; NULL: the program's entry; "_": the
			    * first instruction of all */
	bool rounds;   /* rounds count as executions */
	/* Called before an instruction runs (registers before it are in `before`, after is NULL; it may
	 * not be executed), and after it did. Either may be NULL. */
	void (*ahead)(void *ctx, const struct step *s);
	void (*done)(void *ctx, const struct step *s);
	void *ctx;
};

/* Runs it to the end: the first process's wait status, or -1 with a message on standard error. */
int step_run(const struct step_options *o, char **argv);
/* Each site met, in no order. */
void step_sites(void (*f)(void *ctx, struct step_site *s), void *ctx);
uint64_t step_total(void);
bool step_read(int pid, uint64_t at, void *to, size_t n);

#endif
