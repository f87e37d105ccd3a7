/* SPDX-License-Identifier: MIT */
/* Expressions of the assembler: unsigned 64-bit arithmetic on numbers, parameters and sizes of
 * the machine. */
#include <string.h>

#include "coproc/asm_priv.h"

#define DEPTH_MAX 32

static int expression(struct assembler *a, unsigned level, unsigned depth, uint64_t *v);

/* log2(n) of a power of two */
static int take_log2(struct assembler *a, unsigned depth, uint64_t *v)
{
	uint64_t of;

	if (lex_expect(&a->l, "(") || expression(a, 0, depth, &of))
		return -1;
	if (!of || of & (of - 1))
		return lex_error(&a->l, "log2 is of powers of two, this is %llu",
				 (unsigned long long)of);
	*v = (uint64_t)__builtin_ctzll(of);
	return lex_expect(&a->l, ")");
}

/* The function "pack": builds a word of an array from values for named fields. */
static int take_pack(struct assembler *a, unsigned depth, uint64_t *v)
{
	const struct program_field *f;
	char name[LEX_NAME];
	uint64_t of;
	int base;

	*v = 0;
	if (lex_expect(&a->l, "("))
		return -1;
	base = a->l.kind == LEX_WORD ? program_base(a->p, a->l.name) : -1;
	if (base < 0)
		return lex_error(&a->l, "pack is of an array, of which this is none");
	lex_next(&a->l);
	while (lex_take(&a->l, ",")) {
		f = a->l.kind == LEX_WORD ? program_field(&a->p->base[base], a->l.name) : NULL;
		if (!f)
			return lex_error(&a->l, "the array has no such field");
		if (lex_expect_word(&a->l, name, "a field") || lex_expect(&a->l, "=") ||
		    expression(a, 0, depth, &of))
			return -1;
		if (f->bits < 64 && of >> f->bits)
			return lex_error(&a->l, "field %s has %u bits: %llu does not fit", name,
					 f->bits, (unsigned long long)of);
		*v |= of << f->shift;
	}
	return lex_expect(&a->l, ")");
}

static int take_named(struct assembler *a, unsigned depth, uint64_t *v)
{
	const struct program_param *p = program_param(a->p, a->l.name);

	if (lex_take_word(&a->l, "log2"))
		return take_log2(a, depth, v);
	if (lex_take_word(&a->l, "pack"))
		return take_pack(a, depth, v);
	if (p)
		*v = p->value;
	else if (lex_word_is(&a->l, "ENTRIES"))
		*v = a->s->entries;
	else if (lex_word_is(&a->l, "DATA"))
		*v = a->s->data;
	else if (lex_word_is(&a->l, "DATA_BITS"))
		*v = a->s->data_bits;
	else if (lex_word_is(&a->l, "ENTRY_BITS"))
		*v = a->s->entry_bits;
	else
		return lex_error(&a->l, "there is no parameter \"%s\"", a->l.name);
	lex_next(&a->l);
	return 0;
}

static int primary(struct assembler *a, unsigned depth, uint64_t *v)
{
	if (depth > DEPTH_MAX)
		return lex_error(&a->l, "the expression is nested too deeply");
	if (lex_take(&a->l, "("))
		return expression(a, 0, depth, v) ? -1 : lex_expect(&a->l, ")");
	if (a->l.kind == LEX_WORD)
		return take_named(a, depth, v);
	if (a->l.kind != LEX_NUMBER)
		return lex_error(&a->l, "a number or a parameter is missing here");
	*v = a->l.number;
	lex_next(&a->l);
	return 0;
}

static const struct operator
{
	const char *mark;
	unsigned level;
}
operators[] = {
	{ "==", 0 }, { "!=", 0 }, { "<", 0 }, { "<=", 0 }, { ">", 0 }, { ">=", 0 }, { "&", 1 },
	{ "<<", 2 }, { ">>", 2 }, { "+", 3 }, { "-", 3 },  { "*", 4 }, { "/", 4 },  { "%", 4 },
};
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))
#define LEVELS 5

static int apply(struct assembler *a, const char *mark, uint64_t *v, uint64_t w)
{
	if ((mark[0] == '/' || mark[0] == '%') && !w)
		return lex_error(&a->l, "the divisor is zero");
	if ((!strcmp(mark, "<<") || !strcmp(mark, ">>")) && w > 63)
		return lex_error(&a->l, "it shifts by %llu; 63 is the most", (unsigned long long)w);
	*v = !strcmp(mark, "==")   ? *v == w
	     : !strcmp(mark, "!=") ? *v != w
	     : !strcmp(mark, "<=") ? *v <= w
	     : !strcmp(mark, ">=") ? *v >= w
	     : !strcmp(mark, "<<") ? *v << w
	     : !strcmp(mark, ">>") ? *v >> w
	     : mark[0] == '<'	   ? *v < w
	     : mark[0] == '>'	   ? *v > w
	     : mark[0] == '&'	   ? (*v & w)
	     : mark[0] == '+'	   ? *v + w
	     : mark[0] == '-'	   ? *v - w
	     : mark[0] == '*'	   ? *v * w
	     : mark[0] == '/'	   ? *v / w
				   : *v % w;
	return 0;
}

static const struct operator* operator_at(const struct assembler *a, unsigned level)
{
	for (unsigned i = 0; i < OPERATORS; i++)
		if (operators[i].level == level && lex_is(&a->l, operators[i].mark))
			return &operators[i];
	return NULL;
}

static int expression(struct assembler *a, unsigned level, unsigned depth, uint64_t *v)
{
	const struct operator* o;
	uint64_t w;

	if (level == LEVELS)
		return primary(a, depth + 1, v);
	if (expression(a, level + 1, depth, v))
		return -1;
	while ((o = operator_at(a, level))) {
		lex_next(&a->l);
		if (expression(a, level + 1, depth, &w) || apply(a, o->mark, v, w))
			return -1;
	}
	return 0;
}

int asm_expression(struct assembler *a, uint64_t *v)
{
	return expression(a, 0, 0, v);
}
