/* SPDX-License-Identifier: MIT */
/* What the parts of the assembler share: asm.c (a source and its directives), asm_ops.c (words), asm_expr.c. */
#ifndef ASSAY_COPROC_ASM_PRIV_H
#define ASSAY_COPROC_ASM_PRIV_H

#include "coproc/asm.h"
#include "coproc/lex.h"

#define ASM_LABELS 512

struct asm_place { /* where a label is used, to be filled in at the end */
	char name[LEX_NAME];
	unsigned line, column;
	unsigned at; /* the word, the class, the register */
};

struct assembler {
	struct lex l;
	struct program *p;
	const struct spec *s;
	const char *const *define;
	unsigned ndefine;
	uint64_t defined; /* those that named a parameter */
	struct {
		char name[LEX_NAME];
		unsigned at;
	} label[ASM_LABELS];
	unsigned nlabel;
	struct asm_place branch[PROGRAM_WORDS], entry[CLASS_N], target[PROGRAM_TARGETS];
	unsigned nbranch, nentry, ntarget;
};

/* The expression at hand. */
int asm_expression(struct assembler *a, uint64_t *v);
/* The word at hand, up to its line's end. */
int asm_operations(struct assembler *a);

#endif
