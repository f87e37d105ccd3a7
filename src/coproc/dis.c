/* SPDX-License-Identifier: MIT */
/* Disassembler of programs. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "coproc/asm.h"

struct line {
	char *at;
	size_t room;
	bool any;
};

static void put(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct line *l, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(l->at, l->room, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= l->room)
		n = l->room ? (int)l->room - 1 : 0;
	l->at += n;
	l->room -= (size_t)n;
}

/* Begins the next operation of a line. */
static void next(struct line *l)
{
	if (l->any)
		put(l, " | ");
	l->any = true;
}

static void put_operand(struct line *l, const struct program *p, unsigned o)
{
	unsigned i;

	if (o == WORD_RANDOM || o == WORD_ZERO) {
		put(l, "%s", o == WORD_ZERO ? "zero" : "rand");
	} else if (o >= WORD_FIELDS) {
		put(l, "%s", p->sample[o - WORD_FIELDS].name);
	} else if (o >= WORD_INDEXES) {
		put(l, "%s", p->index[o - WORD_INDEXES].name);
	} else if (o < WORD_CONSTANTS) {
		put(l, "%s", p->value_name[o]);
	} else {
		i = o - WORD_CONSTANTS;
		if (p->constant_name[i][0])
			put(l, "%s", p->constant_name[i]);
		else
			put(l, "%" PRIu64, p->constant[i]);
	}
}

static void put_alu(struct line *l, const struct program *p, const struct word_op *o, bool index)
{
	if (o->op == WORD_NOP)
		return;
	next(l);
	put(l, "%s ", word_alu_name[o->op]);
	if (word_alu_writes[o->op]) {
		put_operand(l, p, o->dst + (index ? WORD_INDEXES : WORD_VALUES));
		put(l, ", ");
	}
	put_operand(l, p, o->a);
	if (o->op == WORD_MOV)
		return;
	put(l, ", ");
	put_operand(l, p, o->b);
}

static void put_cam(struct line *l, const struct program *p, const struct word *w)
{
	const char *index = p->index[w->cam.idx].name;

	if (w->cam.op == CAM_NOP)
		return;
	next(l);
	if (w->cam.op == CAM_DROP) {
		put(l, "drop %s", index);
		return;
	}
	put(l, w->cam.op == CAM_MATCH ? "match " : "enter %s, ", index);
	put_operand(l, p, w->cam.src);
	if (w->cam.op == CAM_MATCH)
		put(l, " -> %s", index);
}

static void put_element(struct line *l, const struct program *p, const struct word *w)
{
	const struct program_base *b = &p->base[w->mem.base];

	put(l, "%s[%s]", b->name, p->index[w->mem.idx].name);
	for (unsigned i = 0; i < b->nfield; i++)
		if (w->mem.mask >> i & 1)
			put(l, ".%s", b->field[i].name);
}

static void put_mem(struct line *l, const struct program *p, const struct word *w)
{
	static const char *const names[] = { "", "ld ", "st ", "bump " };

	if (w->mem.op == MEM_NOP)
		return;
	next(l);
	put(l, "%s", names[w->mem.op]);
	if (w->mem.op == MEM_LOAD) {
		put_operand(l, p, w->mem.reg);
		put(l, ", ");
	}
	put_element(l, p, w);
	if (w->mem.op == MEM_STORE) {
		put(l, ", ");
		put_operand(l, p, w->mem.reg);
	}
}

static void put_branch(struct line *l, unsigned at, const struct word *w)
{
	if (w->br.cond == COND_NEVER)
		return;
	next(l);
	if (w->br.cond != COND_ALWAYS)
		put(l, "br %s, ", word_cond_name[w->br.cond]);
	else if (w->br.kind == BR_RELATIVE || w->br.kind == BR_TARGET)
		put(l, "jump ");
	if (w->br.kind == BR_RELATIVE)
		put(l, "L%u", (unsigned)((int)at + w->br.to));
	else if (w->br.kind == BR_TARGET)
		put(l, "target(%d)", w->br.to);
	else
		put(l, "%s", w->br.kind == BR_DONE ? "done" : "interrupt");
}

char *asm_word(const struct program *p, unsigned at, char *buf, size_t n)
{
	const struct word *w = &p->word[at];
	struct line l = { buf, n, false };

	put_cam(&l, p, w);
	put_mem(&l, p, w);
	put_alu(&l, p, &w->alu, false);
	put_alu(&l, p, &w->x, true);
	put_alu(&l, p, &w->y, true);
	put_branch(&l, at, w);
	if (!l.any)
		put(&l, "nop");
	return buf;
}

static void print_fields(const struct program *p, FILE *to)
{
	for (unsigned i = 0; i < p->nsample; i++)
		fprintf(to, "sample %s = %s[%u:%u]\n", p->sample[i].name,
			program_source_name[p->sample[i].source], p->sample[i].shift,
			p->sample[i].bits);
	for (unsigned i = 0; i < CLASS_N; i++)
		if (p->start[i] >= 0)
			fprintf(to, "on %s%s%s -> L%d\n", program_class_name[i],
				p->when[i] ? " when " : "",
				p->when[i] ? program_source_name[p->when[i] - 1] : "", p->start[i]);
	for (unsigned i = 0; i < p->ntarget; i++)
		fprintf(to, "target L%u\n", p->target[i]);
}

static void print_arrays(const struct program *p, FILE *to)
{
	for (unsigned i = 0; i < p->nbase; i++) {
		const struct program_base *b = &p->base[i];

		fprintf(to, "array %s[%u]", b->name, b->size);
		for (unsigned k = 0; k < b->nfield; k++)
			fprintf(to, "%s %s:%u", k ? "," : " :", b->field[k].name, b->field[k].bits);
		putc('\n', to);
	}
}

static void print_registers(const struct program *p, FILE *to)
{
	for (unsigned i = 0; i < p->nparam; i++)
		fprintf(to, "param %s = %" PRIu64 "\n", p->param[i].name, p->param[i].value);
	for (unsigned i = 0; i < p->nvalue; i++)
		fprintf(to, "value %s\n", p->value_name[i]);
	for (unsigned i = 0; i < p->nconstant; i++)
		fprintf(to, "const %s = %" PRIu64 "\n",
			p->constant_name[i][0] ? p->constant_name[i] : "_", p->constant[i]);
	for (unsigned i = 0; i < p->nindex; i++)
		fprintf(to, "index %s : %u%s = %u\n", p->index[i].name, p->index[i].bits,
			p->index[i].wrap ? " wrap" : "", p->index[i].start);
}

/* Targets of branches and of the dispatch table. */
static bool is_labelled(const struct program *p, unsigned at)
{
	bool is = false;

	for (unsigned i = 0; i < CLASS_N; i++)
		is |= p->start[i] == (int)at;
	for (unsigned i = 0; i < p->ntarget; i++)
		is |= p->target[i] == at;
	for (unsigned i = 0; i < p->n; i++)
		is |= p->word[i].br.cond != COND_NEVER && p->word[i].br.kind == BR_RELATIVE &&
		      (int)i + p->word[i].br.to == (int)at;
	return is;
}

void asm_print(const struct program *p, bool raw, FILE *to)
{
	char text[512];

	fprintf(to, "program %s\n", p->name);
	print_registers(p, to);
	print_fields(p, to);
	print_arrays(p, to);
	for (unsigned i = 0; i < p->n; i++) {
		struct word_bits b = word_encode(&p->word[i]);

		if (is_labelled(p, i))
			fprintf(to, "L%u:\n", i);
		if (raw)
			fprintf(to, "\tword 0x%016" PRIx64 " 0x%016" PRIx64 " ; %s\n", b.high,
				b.low, asm_word(p, i, text, sizeof(text)));
		else
			fprintf(to, "\t%s\n", asm_word(p, i, text, sizeof(text)));
	}
}
