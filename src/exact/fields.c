/* SPDX-License-Identifier: MIT */
/* Fields: which values of a block's instructions are observed, and which words of an execution in
 * the stream they come from. */
#include <stdlib.h>

#include "exact/streams_priv.h"

static bool fields_fit(const struct code_block *b, const struct exact_block *r)
{
	size_t at = EXACT_BLOCK_FIELDS(r->len, r->n);
	const struct exact_field *f = (const void *)(r->bytes + at);

	if (r->words > EXACT_WORDS_MAX ||
	    r->r.size < sizeof(*r) + at + (size_t)r->nfield * sizeof(*f))
		return false;
	for (unsigned i = 0; i < r->nfield; i++)
		if (f[i].insn >= b->n || f[i].operand >= OPERAND_N ||
		    (f[i].word != EXACT_CONSTANT && f[i].word >= r->words) ||
		    (f[i].from != EXACT_HIGH &&
		     (f[i].from < 8 || f[i].from % 8 || f[i].from > f[i].to)) ||
		    f[i].to < 8 || f[i].to % 8 || f[i].to > 64)
			return false;
	return true;
}

static unsigned column_of(struct code_block *b, unsigned word, unsigned from)
{
	for (unsigned i = 0; i < b->ncolumn; i++)
		if (b->column[i].word == word && b->column[i].from == from)
			return i;
	b->column[b->ncolumn] = (struct column){ .word = (uint16_t)word, .from = (uint8_t)from };
	return b->ncolumn++;
}

int fields_block(struct code_block *b, const struct exact_block *r, struct err *err)
{
	const struct exact_field *f = (const void *)(r->bytes + EXACT_BLOCK_FIELDS(r->len, r->n));
	struct column *fitted;

	if (!r->nfield)
		return 0;
	if (!fields_fit(b, r))
		return exact_bad(err);
	b->field = calloc(r->nfield, sizeof(*b->field));
	b->column = calloc(r->nfield, sizeof(*b->column));
	if (!b->field || !b->column)
		return err_no_memory(err, "the exact recording");
	b->words = r->words;
	b->nfield = r->nfield;
	for (unsigned i = 0; i < r->nfield; i++) {
		bool constant = f[i].word == EXACT_CONSTANT;

		b->field[i] = (struct field){
			.add = (uint64_t)f[i].add,
			.column = FIELD_CONSTANT,
			.insn = f[i].insn,
			.operand = f[i].operand,
			.to = f[i].to,
		};
		if (!constant)
			b->field[i].column = (uint16_t)column_of(b, f[i].word, f[i].from);
		if (f[i].operand == OPERAND_TARGET && !constant)
			b->target = f[i].word;
		if (f[i].operand == OPERAND_ARG0 && !b->callee)
			b->indirect = true;
	}
	fitted = realloc(b->column, (b->ncolumn + 1u) * sizeof(*fitted));
	if (fitted)
		b->column = fitted;
	return 0;
}

int fields_exit(struct code_block *b, const struct code_block *of, const struct exact_exit *r,
		struct err *err)
{
	uint16_t ncolumn = 0;

	if (r->nfield > of->nfield || r->words > of->words)
		return exact_bad(err);
	for (unsigned i = 0; i < r->nfield; i++) {
		unsigned column = of->field[i].column;

		if (of->field[i].insn >= b->n)
			return exact_bad(err);
		if (column == FIELD_CONSTANT)
			continue;
		if (of->column[column].word >= r->words)
			return exact_bad(err);
		if (column >= ncolumn)
			ncolumn = (uint16_t)(column + 1);
	}
	b->column = calloc(ncolumn + 1u, sizeof(*b->column));
	if (!b->column)
		return err_no_memory(err, "the exact recording");
	b->ncolumn = ncolumn;
	for (unsigned i = 0; i < b->ncolumn; i++)
		b->column[i] =
			(struct column){ .word = of->column[i].word, .from = of->column[i].from };
	b->words = r->words;
	b->nfield = r->nfield;
	b->field = of->field;
	return 0;
}

void fields_free(struct code_block *b)
{
	for (unsigned i = 0; i < b->ncolumn; i++)
		hot_free(b->column[i].hot);
	if (!b->exit)
		free(b->field);
	free(b->column);
}

void fields_count(struct code_block *b, unsigned from, unsigned to, uint64_t n)
{
	for (unsigned i = 0; i < b->nfield; i++)
		if (b->field[i].column == FIELD_CONSTANT && b->field[i].insn >= from &&
		    b->field[i].insn < to)
			b->field[i].times += n;
}
