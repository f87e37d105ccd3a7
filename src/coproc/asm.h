/* SPDX-License-Identifier: MIT */
/*
 * The assembler of the co-processor's microcode, and its disassembler: docs/microcode.md has the language.
 */
#ifndef ASSAY_COPROC_ASM_H
#define ASSAY_COPROC_ASM_H

#include <stdio.h>

#include "coproc/program.h"

#define ASM_TEXT_MAX (1u << 20) /* largest source in bytes */

/*
 * Assembles a text for a machine, and checks that it fits (program_check). `from` is the source's name, for messages;
 * `define`: n texts "NAME=NUMBER" that replace values of parameters. NULL with err set: "FILE:LINE:COLUMN: what is
 * wrong". Free it with free().
 */
struct program *asm_text(const char *text, const char *from, const struct spec *s,
			 const char *const *define, unsigned n, struct err *err);
/* Assembles a file: a path, or the name of an installed program (coproc/source.h). */
struct program *asm_file(const char *name, const struct spec *s, const char *const *define,
			 unsigned n, struct err *err);

/* Prints the program as a source from which asm_text makes the same program. raw: words as
 * numbers. */
void asm_print(const struct program *p, bool raw, FILE *to);
/* Writes one word's operations to buf, on one line. Labels are L and the address. Returns buf. */
char *asm_word(const struct program *p, unsigned at, char *buf, size_t n);

#endif
