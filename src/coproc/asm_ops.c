/* SPDX-License-Identifier: MIT */
/* Parses the operations of a word. */
#include <string.h>

#include "coproc/asm_priv.h"

/* Makes a constant register for a number in the source. */
static int literal(struct assembler *a, uint64_t v, uint8_t *operand)
{
	struct program *p = a->p;
	unsigned i = 0;

	while (i < p->nconstant && (p->constant_name[i][0] || p->constant[i] != v))
		i++;
	if (i == PROGRAM_CONSTANTS)
		return lex_error(&a->l, "there is no constant register left for the number");
	if (i == p->nconstant)
		p->constant[p->nconstant++] = v;
	*operand = (uint8_t)(WORD_CONSTANTS + i);
	return 0;
}

static int named(const struct program *p, const char *name)
{
	int i;

	if (!strcmp(name, "rand"))
		return WORD_RANDOM;
	if (!strcmp(name, "zero"))
		return WORD_ZERO;
	i = program_value(p, name);
	if (i >= 0)
		return WORD_VALUES + i;
	i = program_index(p, name);
	if (i >= 0)
		return WORD_INDEXES + i;
	for (unsigned k = 0; k < p->nconstant; k++)
		if (!strcmp(p->constant_name[k], name))
			return (int)(WORD_CONSTANTS + k);
	for (unsigned k = 0; k < p->nsample; k++)
		if (!strcmp(p->sample[k].name, name))
			return (int)(WORD_FIELDS + k);
	return -1;
}

static int operand(struct assembler *a, uint8_t *o)
{
	const struct program_param *param;
	uint64_t v;
	int n;

	if (a->l.kind == LEX_NUMBER) {
		v = a->l.number;
	} else {
		if (a->l.kind != LEX_WORD)
			return lex_error(&a->l, "an operand is missing here");
		n = named(a->p, a->l.name);
		param = program_param(a->p, a->l.name);
		if (n < 0 && !param)
			return lex_error(&a->l,
					 "\"%s\" is no register, constant, sample field or "
					 "parameter",
					 a->l.name);
		if (n >= 0) {
			*o = (uint8_t)n;
			lex_next(&a->l);
			return 0;
		}
		v = param->value;
	}
	if (literal(a, v, o))
		return -1;
	lex_next(&a->l);
	return 0;
}

static int index_register(struct assembler *a, uint8_t *i)
{
	int n = a->l.kind == LEX_WORD ? program_index(a->p, a->l.name) : -1;

	if (n < 0)
		return lex_error(&a->l, "an index register is missing here");
	*i = (uint8_t)n;
	lex_next(&a->l);
	return 0;
}

static int comma(struct assembler *a)
{
	return lex_expect(&a->l, ",");
}

/* Chooses the ALU for an operation: an index ALU for operations on index registers. */
static int place(struct assembler *a, struct word *w, struct word_op o, bool index)
{
	if (!index) {
		if (w->alu.op != WORD_NOP)
			return lex_error(&a->l,
					 "the word has an operation of the main ALU already");
		w->alu = o;
		return 0;
	}
	if (!word_alu_index[o.op])
		return lex_error(&a->l, "index ALUs have no %s", word_alu_name[o.op]);
	if (w->x.op != WORD_NOP && (w->y.op != WORD_NOP || a->s->index_alus < 2))
		return lex_error(&a->l, "the word has operations for all %u index ALUs already",
				 a->s->index_alus);
	*(w->x.op == WORD_NOP ? &w->x : &w->y) = o;
	return 0;
}

static bool is_index(uint8_t o)
{
	return o >= WORD_INDEXES && o < WORD_FIELDS;
}

static int take_alu(struct assembler *a, struct word *w, unsigned op)
{
	struct word_op o = { .op = (uint8_t)op };
	uint8_t dst = 0;
	bool index;

	if (word_alu_writes[op]) {
		if (operand(a, &dst) || comma(a))
			return -1;
		if (dst >= WORD_CONSTANTS && !is_index(dst))
			return lex_error(&a->l, "the first operand of %s cannot be written",
					 word_alu_name[op]);
	}
	if (operand(a, &o.a) || (op != WORD_MOV && (comma(a) || operand(a, &o.b))))
		return -1;
	index = word_alu_writes[op] ? is_index(dst)
				    : (is_index(o.a) || is_index(o.b)) && o.a >= WORD_CONSTANTS &&
					      o.b >= WORD_CONSTANTS && word_alu_index[op];
	o.dst = (uint8_t)(dst - (is_index(dst) ? WORD_INDEXES : 0));
	return place(a, w, o, index);
}

static int take_cam(struct assembler *a, struct word *w, unsigned op)
{
	if (w->cam.op != CAM_NOP)
		return lex_error(&a->l, "the word uses the associative array already");
	w->cam.op = (uint8_t)op;
	if (op == CAM_MATCH) {
		if (operand(a, &w->cam.src) || lex_expect(&a->l, "->"))
			return -1;
		return index_register(a, &w->cam.idx);
	}
	if (index_register(a, &w->cam.idx))
		return -1;
	return op == CAM_ENTER ? comma(a) || operand(a, &w->cam.src) ? -1 : 0 : 0;
}

/* ARRAY[INDEX].FIELD.FIELD */
static int element(struct assembler *a, struct word *w)
{
	int base = a->l.kind == LEX_WORD ? program_base(a->p, a->l.name) : -1;
	const struct program_base *b;

	if (base < 0)
		return lex_error(&a->l, "the name of an array is missing here");
	b = &a->p->base[base];
	w->mem.base = (uint8_t)base;
	lex_next(&a->l);
	if (lex_expect(&a->l, "[") || index_register(a, &w->mem.idx) || lex_expect(&a->l, "]"))
		return -1;
	while (lex_take(&a->l, ".")) {
		const struct program_field *f =
			a->l.kind == LEX_WORD ? program_field(b, a->l.name) : NULL;

		if (!f)
			return lex_error(&a->l, "array %s has no such field", b->name);
		w->mem.mask |= (uint8_t)(1u << (f - b->field));
		lex_next(&a->l);
	}
	return 0;
}

static int take_mem(struct assembler *a, struct word *w, unsigned op)
{
	if (w->mem.op != MEM_NOP)
		return lex_error(&a->l, "the word uses the data array already: it has one port");
	w->mem.op = (uint8_t)op;
	if (op == MEM_LOAD)
		return operand(a, &w->mem.reg) || comma(a) || element(a, w) ? -1 : 0;
	if (element(a, w))
		return -1;
	if (op == MEM_BUMP && !w->mem.mask)
		return lex_error(&a->l, "bump needs a field, or several: ARRAY[INDEX].FIELD");
	return op == MEM_STORE ? comma(a) || operand(a, &w->mem.reg) ? -1 : 0 : 0;
}

static int take_condition(struct assembler *a, struct word *w)
{
	char name[LEX_NAME + 1] = "";

	if (lex_take(&a->l, "!"))
		name[0] = '!';
	if (a->l.kind == LEX_WORD)
		strcat(name, a->l.name);
	for (unsigned i = COND_ALWAYS; i < COND_N; i++)
		if (!strcmp(name, word_cond_name[i])) {
			w->br.cond = (uint8_t)i;
			lex_next(&a->l);
			return 0;
		}
	return lex_error(&a->l, "a condition is missing here: always, t, x, y, hit, sat or one of "
				"the last five behind \"!\"");
}

static int take_target(struct assembler *a, struct word *w)
{
	struct asm_place *b;
	uint64_t v;

	if (lex_take_word(&a->l, "done")) {
		w->br.kind = BR_DONE;
		return 0;
	}
	if (lex_take_word(&a->l, "interrupt")) {
		w->br.kind = BR_INTERRUPT;
		return 0;
	}
	if (lex_take_word(&a->l, "target")) {
		if (lex_expect(&a->l, "(") || asm_expression(a, &v))
			return -1;
		if (v >= PROGRAM_TARGETS)
			return lex_error(&a->l, "branch target registers are 0 to %d",
					 PROGRAM_TARGETS - 1);
		w->br.kind = BR_TARGET;
		w->br.to = (int16_t)v;
		return lex_expect(&a->l, ")");
	}
	b = &a->branch[a->nbranch];
	*b = (struct asm_place){ .line = a->l.token_line, .column = a->l.column, .at = a->p->n };
	if (lex_expect_word(&a->l, b->name, "a label"))
		return -1;
	a->nbranch++;
	return 0;
}

static int take_branch(struct assembler *a, struct word *w, const char *how)
{
	if (w->br.cond != COND_NEVER)
		return lex_error(&a->l, "the word has a branch already");
	w->br.cond = COND_ALWAYS;
	if (!strcmp(how, "done") || !strcmp(how, "interrupt")) {
		w->br.kind = how[0] == 'd' ? BR_DONE : BR_INTERRUPT;
		return 0;
	}
	if (!strcmp(how, "br") && (take_condition(a, w) || comma(a)))
		return -1;
	return take_target(a, w);
}

static int take_operation(struct assembler *a, struct word *w)
{
	static const char *const cam[] = { NULL, "match", "enter", "drop" };
	static const char *const mem[] = { NULL, "ld", "st", "bump" };
	static const char *const br[] = { "br", "jump", "done", "interrupt" };
	char name[LEX_NAME];
	struct lex here = a->l;

	if (lex_expect_word(&a->l, name, "an operation"))
		return -1;
	for (unsigned i = 0; i < WORD_ALU_N; i++)
		if (!strcmp(name, word_alu_name[i]))
			return i == WORD_NOP ? 0 : take_alu(a, w, i);
	for (unsigned i = 1; i < CAM_N; i++)
		if (!strcmp(name, cam[i]))
			return take_cam(a, w, i);
	for (unsigned i = 1; i < MEM_N; i++)
		if (!strcmp(name, mem[i]))
			return take_mem(a, w, i);
	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(name, br[i]))
			return take_branch(a, w, name);
	return lex_error(&here, "there is no operation \"%s\"", name);
}

int asm_operations(struct assembler *a)
{
	struct word *w = &a->p->word[a->p->n];

	if (a->p->n == PROGRAM_WORDS)
		return lex_error(&a->l, "the program has more than %d words", PROGRAM_WORDS);
	*w = (struct word){ 0 };
	a->p->line[a->p->n] = a->l.token_line;
	do {
		if (take_operation(a, w))
			return -1;
	} while (lex_take(&a->l, "|"));
	a->p->n++;
	return 0;
}
