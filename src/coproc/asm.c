/* SPDX-License-Identifier: MIT */
/* Directives and labels of an assembler source. */
#include "coproc/asm.h"

#include <stdlib.h>
#include <string.h>

#include "coproc/asm_priv.h"
#include "coproc/source.h"

/* Whether the name is in use; all names share one space, except labels. */
static bool taken(const struct assembler *a, const char *name)
{
	const struct program *p = a->p;
	bool is = program_param(p, name) || program_value(p, name) >= 0 ||
		  program_index(p, name) >= 0 || program_base(p, name) >= 0 ||
		  !strcmp(name, "rand") || !strcmp(name, "zero");

	for (unsigned i = 0; i < p->nconstant && !is; i++)
		is = !strcmp(p->constant_name[i], name);
	for (unsigned i = 0; i < p->nsample && !is; i++)
		is = !strcmp(p->sample[i].name, name);
	return is;
}

/* Takes a new name, the next of n, of which there may be `most`. */
static int new_name(struct assembler *a, char *name, const char *what, unsigned n, unsigned most)
{
	if (n == most)
		return lex_error(&a->l, "there are more than %u of %s", most, what);
	if (a->l.kind == LEX_WORD && taken(a, a->l.name))
		return lex_error(&a->l, "the name \"%s\" is taken", a->l.name);
	return lex_expect_word(&a->l, name, what);
}

static int take_number(struct assembler *a, const char *what, uint64_t least, uint64_t most,
		       uint64_t *v)
{
	struct lex here = a->l;

	if (asm_expression(a, v))
		return -1;
	if (*v < least || *v > most)
		return lex_error(&here, "%s is %llu, not within %llu and %llu", what,
				 (unsigned long long)*v, (unsigned long long)least,
				 (unsigned long long)most);
	return 0;
}

static int d_program(struct assembler *a)
{
	return lex_expect_word(&a->l, a->p->name, "the program");
}

/* Returns the value that the command line gives a parameter. */
static int defined(struct assembler *a, struct program_param *param)
{
	size_t n = strlen(param->name);

	for (unsigned i = 0; i < a->ndefine; i++) {
		const char *d = a->define[i];
		char *end;

		if (strncmp(d, param->name, n) || d[n] != '=')
			continue;
		param->value = strtoull(d + n + 1, &end, 0);
		a->defined |= 1ull << i;
		if (end == d + n + 1 || *end)
			return lex_error(&a->l, "-D %s: this is no number", d);
	}
	return 0;
}

static int d_param(struct assembler *a)
{
	struct program_param param = { 0 };

	if (new_name(a, param.name, "parameters", a->p->nparam, PROGRAM_PARAMS) ||
	    lex_expect(&a->l, "=") || asm_expression(a, &param.value) || defined(a, &param))
		return -1;
	a->p->param[a->p->nparam++] = param;
	return 0;
}

static int d_require(struct assembler *a)
{
	struct lex here = a->l;
	uint64_t v;

	if (asm_expression(a, &v))
		return -1;
	if (a->l.kind != LEX_QUOTED)
		return lex_error(&a->l, "a message in quotes is missing here");
	if (!v)
		return lex_error(&here, "%s", a->l.quoted);
	lex_next(&a->l);
	return 0;
}

static int by_name(const char *const *names, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

/* sample NAME = SOURCE[SHIFT:BITS] */
static int d_sample(struct assembler *a)
{
	struct program_field f = { .bits = 64 };
	uint64_t shift, bits;
	int source;

	if (new_name(a, f.name, "fields of a sample", a->p->nsample, PROGRAM_FIELDS) ||
	    lex_expect(&a->l, "="))
		return -1;
	source = a->l.kind == LEX_WORD ? by_name(program_source_name, SOURCE_N, a->l.name) : -1;
	if (source < 0)
		return lex_error(&a->l, "this is nothing that can be collected of an instruction");
	lex_next(&a->l);
	f.source = (uint8_t)source;
	if (lex_take(&a->l, "[")) {
		if (take_number(a, "the first bit", 0, 63, &shift) || lex_expect(&a->l, ":") ||
		    take_number(a, "the number of bits", 1, 64 - shift, &bits) ||
		    lex_expect(&a->l, "]"))
			return -1;
		f.shift = (uint8_t)shift;
		f.bits = (uint8_t)bits;
	}
	a->p->sample[a->p->nsample++] = f;
	return 0;
}

static int use(struct assembler *a, struct asm_place *list, unsigned *n, unsigned at)
{
	struct asm_place *u = &list[*n];

	*u = (struct asm_place){ .line = a->l.token_line, .column = a->l.column, .at = at };
	if (lex_expect_word(&a->l, u->name, "a label"))
		return -1;
	++*n;
	return 0;
}

/* on CLASS, CLASS [when SOURCE] -> LABEL */
static int d_on(struct assembler *a)
{
	unsigned classes = 0;
	int when = -1;

	do {
		int cls = a->l.kind == LEX_WORD ? by_name(program_class_name, CLASS_N, a->l.name)
						: -1;

		if (cls < 0)
			return lex_error(&a->l, "this is no class of instructions");
		for (unsigned i = 0; i < a->nentry; i++)
			if (a->entry[i].at == (unsigned)cls)
				return lex_error(&a->l, "class %s has an entry already",
						 program_class_name[cls]);
		if (classes >> cls & 1)
			return lex_error(&a->l, "class %s is named twice", program_class_name[cls]);
		classes |= 1u << cls;
		lex_next(&a->l);
	} while (lex_take(&a->l, ","));
	if (lex_take_word(&a->l, "when")) {
		when = a->l.kind == LEX_WORD ? by_name(program_source_name, SOURCE_N, a->l.name)
					     : -1;
		if (when < 0)
			return lex_error(&a->l,
					 "this is nothing that can be known of an instruction");
		lex_next(&a->l);
	}
	if (lex_expect(&a->l, "->"))
		return -1;
	for (unsigned cls = 0; cls < CLASS_N; cls++) {
		struct lex here = a->l;

		if (!(classes >> cls & 1))
			continue;
		a->p->when[cls] = (uint8_t)(when + 1);
		if (use(a, a->entry, &a->nentry, cls))
			return -1;
		if (classes >> (cls + 1))
			a->l = here;
	}
	return 0;
}

static int d_value(struct assembler *a)
{
	do {
		char name[LEX_NAME];

		if (new_name(a, name, "value registers", a->p->nvalue, PROGRAM_VALUES))
			return -1;
		memcpy(a->p->value_name[a->p->nvalue++], name, LEX_NAME);
	} while (lex_take(&a->l, ","));
	return 0;
}

/* const NAME = n; a constant for a number in the source has the name "_" */
static int d_const(struct assembler *a)
{
	char name[LEX_NAME];
	uint64_t v;

	if (new_name(a, name, "constant registers", a->p->nconstant, PROGRAM_CONSTANTS) ||
	    lex_expect(&a->l, "=") || asm_expression(a, &v))
		return -1;
	if (strcmp(name, "_") != 0)
		memcpy(a->p->constant_name[a->p->nconstant], name, LEX_NAME);
	a->p->constant[a->p->nconstant++] = v;
	return 0;
}

/* index NAME : BITS [wrap] [= START] */
static int d_index(struct assembler *a)
{
	struct program_index x = { 0 };
	uint64_t bits, start = 0;

	if (new_name(a, x.name, "index registers", a->p->nindex, PROGRAM_INDEXES) ||
	    lex_expect(&a->l, ":") ||
	    take_number(a, "the width of an index register", 1, 16, &bits))
		return -1;
	x.wrap = lex_take_word(&a->l, "wrap");
	if (lex_take(&a->l, "=") &&
	    take_number(a, "the start of the register", 0, (1u << bits) - 1, &start))
		return -1;
	x.bits = (uint8_t)bits;
	x.start = (uint16_t)start;
	a->p->index[a->p->nindex++] = x;
	return 0;
}

static int take_fields(struct assembler *a, struct program_base *b)
{
	unsigned shift = 0;

	do {
		struct program_field f = { .shift = (uint8_t)shift };
		uint64_t bits;

		if (b->nfield == PROGRAM_FIELDS)
			return lex_error(&a->l, "an array has more than %d fields", PROGRAM_FIELDS);
		if (a->l.kind == LEX_WORD && program_field(b, a->l.name))
			return lex_error(&a->l, "the array has a field \"%s\" already", a->l.name);
		if (lex_expect_word(&a->l, f.name, "a field") || lex_expect(&a->l, ":") ||
		    take_number(a, "the width of a field", 1, 64, &bits))
			return -1;
		if (shift + bits > a->s->data_bits)
			return lex_error(&a->l, "the fields need more than the %u bits of a word",
					 a->s->data_bits);
		f.bits = (uint8_t)bits;
		shift += (unsigned)bits;
		b->field[b->nfield++] = f;
	} while (lex_take(&a->l, ","));
	return 0;
}

/* Parses a declaration "array NAME[SIZE]", optionally followed by a colon and a list of
 * FIELD:BITS; arrays follow one another in the data array. */
static int d_array(struct assembler *a)
{
	struct program_base b = { 0 };
	const struct program_base *last;
	uint64_t size;

	if (new_name(a, b.name, "arrays", a->p->nbase, PROGRAM_BASES) || lex_expect(&a->l, "[") ||
	    take_number(a, "the size of an array", 1, 1u << 16, &size))
		return -1;
	if (size & (size - 1))
		return lex_error(&a->l, "the size of an array is %llu, which is no power of two",
				 (unsigned long long)size);
	if (lex_expect(&a->l, "]"))
		return -1;
	last = a->p->nbase ? &a->p->base[a->p->nbase - 1] : NULL;
	b.size = (uint32_t)size;
	b.at = last ? (last->at + last->size + b.size - 1) & ~(b.size - 1) : 0;
	if (lex_take(&a->l, ":") && take_fields(a, &b))
		return -1;
	a->p->base[a->p->nbase++] = b;
	return 0;
}

/* target LABEL: a branch target register set to the label */
static int d_target(struct assembler *a)
{
	if (a->ntarget == PROGRAM_TARGETS)
		return lex_error(&a->l, "there are more than %d branch target registers",
				 PROGRAM_TARGETS);
	return use(a, a->target, &a->ntarget, a->ntarget);
}

/* word HIGH LOW: a word given as numbers */
static int d_word(struct assembler *a)
{
	struct program *p = a->p;
	struct word_bits b;

	if (p->n == PROGRAM_WORDS)
		return lex_error(&a->l, "the program has more than %d words", PROGRAM_WORDS);
	if (a->l.kind != LEX_NUMBER)
		return lex_error(&a->l, "the word's higher half is missing here");
	b.high = a->l.number;
	lex_next(&a->l);
	if (a->l.kind != LEX_NUMBER)
		return lex_error(&a->l, "the word's lower half is missing here");
	b.low = a->l.number;
	if (!word_decode(&p->word[p->n], b))
		return lex_error(&a->l, "these bits are no microcode word");
	p->line[p->n++] = a->l.token_line;
	lex_next(&a->l);
	return 0;
}

static const struct directive {
	const char *name;
	int (*take)(struct assembler *a);
} directives[] = {
	{ "program", d_program }, { "param", d_param }, { "require", d_require },
	{ "sample", d_sample },	  { "on", d_on },	{ "value", d_value },
	{ "const", d_const },	  { "index", d_index }, { "array", d_array },
	{ "target", d_target },	  { "word", d_word },
};
#define DIRECTIVES (sizeof(directives) / sizeof(directives[0]))

static int label_at(const struct assembler *a, const char *name)
{
	for (unsigned i = 0; i < a->nlabel; i++)
		if (!strcmp(a->label[i].name, name))
			return (int)a->label[i].at;
	return -1;
}

/* NAME: before an operation or the end of a line */
static int take_label(struct assembler *a, const char *name)
{
	if (label_at(a, name) >= 0)
		return lex_error(&a->l, "the label \"%s\" is there twice", name);
	if (a->nlabel == ASM_LABELS)
		return lex_error(&a->l, "there are more than %d labels", ASM_LABELS);
	memcpy(a->label[a->nlabel].name, name, LEX_NAME);
	a->label[a->nlabel++].at = a->p->n;
	return 0;
}

static int take_line(struct assembler *a)
{
	struct lex before;

	for (;;) {
		if (a->l.kind == LEX_LINE)
			return 0;
		before = a->l;
		if (a->l.kind != LEX_WORD)
			return lex_error(&a->l,
					 "a directive, a label or an operation is missing here");
		for (unsigned i = 0; i < DIRECTIVES; i++)
			if (lex_take_word(&a->l, directives[i].name))
				return directives[i].take(a);
		lex_next(&a->l);
		if (!lex_take(&a->l, ":"))
			break;
		if (take_label(a, before.name))
			return -1;
	}
	if (a->l.kind == LEX_BAD)
		return -1;
	a->l = before;
	return asm_operations(a);
}

static int take_lines(struct assembler *a)
{
	while (a->l.kind != LEX_END) {
		if (a->l.kind != LEX_LINE && take_line(a))
			return -1;
		if (a->l.kind == LEX_BAD)
			return -1;
		if (a->l.kind != LEX_LINE && a->l.kind != LEX_END)
			return lex_error(&a->l, "the line ends before this");
		if (a->l.kind == LEX_LINE)
			lex_next(&a->l);
	}
	return a->l.kind == LEX_BAD ? -1 : 0;
}

static int unknown_label(struct assembler *a, const struct asm_place *u)
{
	return err_set(a->l.err, ERR_USAGE, "%s:%u:%u: there is no label \"%s\"", a->l.from,
		       u->line, u->column, u->name);
}

static int target_for(struct assembler *a, const struct asm_place *u, unsigned at)
{
	struct program *p = a->p;
	unsigned i = 0;

	while (i < p->ntarget && p->target[i] != at)
		i++;
	if (i == PROGRAM_TARGETS || i == a->s->targets)
		return err_set(a->l.err, ERR_USAGE,
			       "%s:%u:%u: label \"%s\" is too far away for a branch, and there is "
			       "no branch target register left",
			       a->l.from, u->line, u->column, u->name);
	if (i == p->ntarget)
		p->target[p->ntarget++] = (uint16_t)at;
	return (int)i;
}

static int fill_branch(struct assembler *a, const struct asm_place *u)
{
	struct word *w = &a->p->word[u->at];
	int at = label_at(a, u->name), by = at - (int)u->at;

	if (at < 0)
		return unknown_label(a, u);
	if (by >= -128 && by <= 127) {
		w->br.to = (int16_t)by;
		return 0;
	}
	w->br.kind = BR_TARGET;
	w->br.to = (int16_t)target_for(a, u, (unsigned)at);
	return w->br.to < 0 ? -1 : 0;
}

static int fill(struct assembler *a)
{
	struct program *p = a->p;

	for (unsigned i = 0; i < a->ntarget; i++) {
		int at = label_at(a, a->target[i].name);

		if (at < 0)
			return unknown_label(a, &a->target[i]);
		p->target[i] = (uint16_t)at;
	}
	p->ntarget = a->ntarget;
	for (unsigned i = 0; i < a->nentry; i++) {
		int at = label_at(a, a->entry[i].name);

		if (at < 0)
			return unknown_label(a, &a->entry[i]);
		p->start[a->entry[i].at] = (int16_t)at;
	}
	for (unsigned i = 0; i < a->nbranch; i++)
		if (fill_branch(a, &a->branch[i]))
			return -1;
	for (unsigned i = 0; i < a->ndefine; i++)
		if (!(a->defined >> i & 1))
			return err_set(a->l.err, ERR_USAGE,
				       "-D %s: %s has no parameter of that name", a->define[i],
				       a->l.from);
	return 0;
}

struct program *asm_text(const char *text, const char *from, const struct spec *s,
			 const char *const *define, unsigned n, struct err *err)
{
	struct assembler *a = calloc(1, sizeof(*a));
	struct program *p = calloc(1, sizeof(*p));
	bool bad = true;

	if (!a || !p) {
		err_no_memory(err, "the program");
	} else {
		*a = (struct assembler){ .p = p, .s = s, .define = define };
		a->ndefine = n < 64 ? n : 64;
		memset(p->start, -1, sizeof(p->start));
		strcpy(p->name, "unnamed");
		lex_begin(&a->l, text, from, err);
		bad = take_lines(a) || fill(a) || program_check(p, s, from, err);
	}
	free(a);
	if (!bad)
		return p;
	free(p);
	return NULL;
}

struct program *asm_file(const char *name, const struct spec *s, const char *const *define,
			 unsigned n, struct err *err)
{
	char *path = source_find(name, err);
	char *text = path ? source_read(path, ASM_TEXT_MAX, err) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct program *p =
		text ? asm_text(text, slash ? slash + 1 : path, s, define, n, err) : NULL;

	free(text);
	free(path);
	return p;
}
