/* SPDX-License-Identifier: MIT */
/* The words of the assembly language, one after the other, each with its line and column. */
#ifndef ASSAY_COPROC_LEX_H
#define ASSAY_COPROC_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define LEX_NAME 32
#define LEX_STRING 128

enum lex_kind {
	LEX_END,
	LEX_LINE, /* the end of one */
	LEX_WORD, /* a name */
	LEX_NUMBER,
	LEX_QUOTED,
	LEX_MARK, /* of one or two characters */
	LEX_BAD,  /* err is set */
};

struct lex {
	const char *from; /* the file's name */
	const char *at, *line_at;
	unsigned line;
	/* the one at hand */
	enum lex_kind kind;
	unsigned token_line, column;
	char name[LEX_NAME];
	char quoted[LEX_STRING];
	char mark[3];
	uint64_t number;
	struct err *err;
};

/* The text has to live as long. The first one is at hand. */
void lex_begin(struct lex *l, const char *text, const char *from, struct err *err);
void lex_next(struct lex *l);
bool lex_is(const struct lex *l, const char *mark);
bool lex_word_is(const struct lex *l, const char *word);
/* Goes on if the mark, or the word, is at hand. */
bool lex_take(struct lex *l, const char *mark);
bool lex_take_word(struct lex *l, const char *word);
/* Sets err to a message with file, line and column of the token at hand, unless a malformed token has set err. Returns -1. */
int lex_error(struct lex *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int lex_expect(struct lex *l, const char *mark);
/* A name, copied to name[LEX_NAME]; `what` it is of, for the message. */
int lex_expect_word(struct lex *l, char *name, const char *what);

#endif
