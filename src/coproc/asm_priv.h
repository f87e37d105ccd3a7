/* SPDX-License-Identifier: MIT */
/* Declarations shared by the parts of the assembler: asm.c (a source and its directives), asm_ops.c (words),
 * asm_expr.c. */
#ifndef ASSAY_COPROC_ASM_PRIV_H
#define ASSAY_COPROC_ASM_PRIV_H

#include "coproc/asm.h"
#include "coproc/lex.h"

#define ASM_LABELS 512

struct asm_place { /* a use of a label, resolved at the end */
	char name[LEX_NAME];
	unsigned line, column;
	unsigned at; /* number of the word, the class, or the register */
};

struct assembler {
	struct lex l;
	struct program *p;
	const struct spec *s;
	const char *const *define;
	unsigned ndefine;
	uint64_t defined; /* bit for each command line definition that named a parameter */
	struct {
		char name[LEX_NAME];
		unsigned at;
	} label[ASM_LABELS];
	unsigned nlabel;
	struct asm_place branch[PROGRAM_WORDS], entry[CLASS_N], target[PROGRAM_TARGETS];
	unsigned nbranch, nentry, ntarget;
};

/* Parses an expression from the current token on. */
int asm_expression(struct assembler *a, uint64_t *v);
/* Parses the current word, up to the end of its line. */
int asm_operations(struct assembler *a);

#endif
