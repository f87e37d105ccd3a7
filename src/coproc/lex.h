/* SPDX-License-Identifier: MIT */
/* Tokens of the assembly language, each with its line and column. */
#ifndef ASSAY_COPROC_LEX_H
#define ASSAY_COPROC_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define LEX_NAME 32
#define LEX_STRING 128

enum lex_kind {
	LEX_END,
	LEX_LINE, /* end of a line */
	LEX_WORD, /* name */
	LEX_NUMBER,
	LEX_QUOTED,
	LEX_MARK, /* mark of one or two characters */
	LEX_BAD,  /* malformed token; err is set */
};

struct lex {
	const char *from; /* the file's name */
	const char *at, *line_at;
	unsigned line;
	/* kind of the current token */
	enum lex_kind kind;
	unsigned token_line, column;
	char name[LEX_NAME];
	char quoted[LEX_STRING];
	char mark[3];
	uint64_t number;
	struct err *err;
};

/* Begins with the first token. The text must outlive the lexer. */
void lex_begin(struct lex *l, const char *text, const char *from, struct err *err);
void lex_next(struct lex *l);
bool lex_is(const struct lex *l, const char *mark);
bool lex_word_is(const struct lex *l, const char *word);
/* Advances past the current token if it is that mark or word. */
bool lex_take(struct lex *l, const char *mark);
bool lex_take_word(struct lex *l, const char *word);
/* Sets err to a message with file, line and column of the current token, unless a malformed
 * token has set err. Returns -1. */
int lex_error(struct lex *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int lex_expect(struct lex *l, const char *mark);
/* Copies a name to name[LEX_NAME]; `what`, for the message, says what it names. */
int lex_expect_word(struct lex *l, char *name, const char *what);

#endif
