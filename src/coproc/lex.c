/* SPDX-License-Identifier: MIT */
#include "coproc/lex.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lex_error(struct lex *l, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (l->kind == LEX_BAD)
		return -1;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return err_set(l->err, ERR_USAGE, "%s:%u:%u: %s", l->from, l->token_line, l->column, text);
}

static void bad(struct lex *l, const char *what)
{
	lex_error(l, "%s", what);
	l->kind = LEX_BAD;
}

static void take_name(struct lex *l)
{
	size_t n = 0;

	while (isalnum((unsigned char)l->at[n]) || l->at[n] == '_')
		n++;
	if (n >= LEX_NAME) {
		bad(l, "the name is longer than 31 characters");
		return;
	}
	memset(l->name, 0, sizeof(l->name));
	memcpy(l->name, l->at, n);
	l->at += n;
	l->kind = LEX_WORD;
}

static void take_number(struct lex *l)
{
	const char *p = l->at;
	unsigned base = 10;
	uint64_t v = 0;
	unsigned digits = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	}
	for (; isxdigit((unsigned char)*p); p++, digits++) {
		unsigned d =
			(unsigned)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 32) - 'a' + 10);

		if (d >= base)
			break;
		if (v > (UINT64_MAX - d) / base) {
			bad(l, "the number needs more than 64 bits");
			return;
		}
		v = v * base + d;
	}
	if (!digits || isalnum((unsigned char)*p) || *p == '_') {
		bad(l, "this is no number");
		return;
	}
	l->number = v;
	l->at = p;
	l->kind = LEX_NUMBER;
}

static void take_quoted(struct lex *l)
{
	size_t n = strcspn(++l->at, "\"\n");

	if (l->at[n] != '"' || n >= LEX_STRING) {
		bad(l, "the text in quotes has no end, or is longer than 127 characters");
		return;
	}
	memcpy(l->quoted, l->at, n);
	l->quoted[n] = 0;
	l->at += n + 1;
	l->kind = LEX_QUOTED;
}

static void take_mark(struct lex *l)
{
	static const char *const twos[] = { "->", "<<", ">>", "<=", ">=", "==", "!=" };
	unsigned n = 1;

	if (!strchr(":=[].,|!{}()+-*/%<>&", *l->at)) {
		bad(l, "this character means nothing here");
		return;
	}
	for (unsigned i = 0; i < sizeof(twos) / sizeof(twos[0]); i++)
		if (!strncmp(l->at, twos[i], 2))
			n = 2;
	memcpy(l->mark, l->at, n);
	l->mark[n] = 0;
	l->at += n;
	l->kind = LEX_MARK;
}

void lex_next(struct lex *l)
{
	if (l->kind == LEX_BAD)
		return;
	while (*l->at == ' ' || *l->at == '\t' || *l->at == '\r')
		l->at++;
	if (*l->at == ';' || *l->at == '#')
		l->at += strcspn(l->at, "\n");
	l->token_line = l->line;
	l->column = (unsigned)(l->at - l->line_at) + 1;
	if (!*l->at) {
		l->kind = LEX_END;
	} else if (*l->at == '\n') {
		l->kind = LEX_LINE;
		l->line_at = ++l->at;
		l->line++;
	} else if (isalpha((unsigned char)*l->at) || *l->at == '_') {
		take_name(l);
	} else if (isdigit((unsigned char)*l->at)) {
		take_number(l);
	} else if (*l->at == '"') {
		take_quoted(l);
	} else {
		take_mark(l);
	}
}

void lex_begin(struct lex *l, const char *text, const char *from, struct err *err)
{
	*l = (struct lex){ .from = from, .at = text, .line_at = text, .line = 1, .err = err };
	lex_next(l);
}

bool lex_is(const struct lex *l, const char *mark)
{
	return l->kind == LEX_MARK && !strcmp(l->mark, mark);
}

bool lex_word_is(const struct lex *l, const char *word)
{
	return l->kind == LEX_WORD && !strcmp(l->name, word);
}

bool lex_take(struct lex *l, const char *mark)
{
	bool is = lex_is(l, mark);

	if (is)
		lex_next(l);
	return is;
}

bool lex_take_word(struct lex *l, const char *word)
{
	bool is = lex_word_is(l, word);

	if (is)
		lex_next(l);
	return is;
}

int lex_expect(struct lex *l, const char *mark)
{
	return lex_take(l, mark) ? 0 : lex_error(l, "\"%s\" is missing here", mark);
}

int lex_expect_word(struct lex *l, char *name, const char *what)
{
	if (l->kind != LEX_WORD)
		return lex_error(l, "the name of %s is missing here", what);
	memcpy(name, l->name, LEX_NAME);
	lex_next(l);
	return 0;
}
