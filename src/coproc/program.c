/* SPDX-License-Identifier: MIT */
#include "coproc/program.h"

#include <string.h>

const char *const program_class_name[CLASS_N] = {
#define X(id, name) name,
	PROGRAM_CLASSES(X)
#undef X
};
const char *const program_source_name[SOURCE_N] = {
#define X(id, name) name,
	PROGRAM_SOURCES(X)
#undef X
};

unsigned program_sample_bytes(const struct program *p)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < p->nsample; i++)
		bits += p->sample[i].bits;
	return (bits + 7) / 8;
}

const struct program_param *program_param(const struct program *p, const char *name)
{
	for (unsigned i = 0; i < p->nparam; i++)
		if (!strcmp(p->param[i].name, name))
			return &p->param[i];
	return NULL;
}

int program_index(const struct program *p, const char *name)
{
	for (unsigned i = 0; i < p->nindex; i++)
		if (!strcmp(p->index[i].name, name))
			return (int)i;
	return -1;
}

int program_value(const struct program *p, const char *name)
{
	for (unsigned i = 0; i < p->nvalue; i++)
		if (!strcmp(p->value_name[i], name))
			return (int)i;
	return -1;
}

int program_base(const struct program *p, const char *name)
{
	for (unsigned i = 0; i < p->nbase; i++)
		if (!strcmp(p->base[i].name, name))
			return (int)i;
	return -1;
}

const struct program_field *program_field(const struct program_base *b, const char *name)
{
	for (unsigned i = 0; i < b->nfield; i++)
		if (!strcmp(b->field[i].name, name))
			return &b->field[i];
	return NULL;
}

unsigned program_sources(const struct program *p)
{
	unsigned sources = 0;

	for (unsigned i = 0; i < p->nsample; i++)
		sources |= 1u << p->sample[i].source;
	for (unsigned i = 0; i < CLASS_N; i++)
		sources |= p->when[i] ? 1u << (p->when[i] - 1) : 0;
	return sources;
}

/* Checking a program. */

struct checker {
	const struct program *p;
	const struct spec *s;
	const char *from;
	unsigned at; /* address of the word that is checked */
	struct err *err;
	uint64_t read; /* operands that the word reads */
	unsigned value_writes, index_writes;
	uint64_t written; /* set of value and index registers that are written */
};

static int bad(const struct checker *c, const char *what)
{
	return err_set(c->err, ERR_USAGE, "%s:%u: word %u: %s", c->from, c->p->line[c->at], c->at,
		       what);
}

static int check_size(const struct checker *c, const char *what, unsigned uses, unsigned has)
{
	if (uses <= has)
		return 0;
	return err_set(c->err, ERR_USAGE, "%s: the program needs %u %s, the machine has %u",
		       c->from, uses, what, has);
}

static int check_sizes(const struct checker *c)
{
	const struct program *p = c->p;
	const struct spec *s = c->s;

	if (!p->n)
		return err_set(c->err, ERR_USAGE, "%s: the program has no words", c->from);
	if (check_size(c, "microcode words", p->n, s->words) ||
	    check_size(c, "value registers", p->nvalue, s->values) ||
	    check_size(c, "constant registers", p->nconstant, s->constants) ||
	    check_size(c, "index registers", p->nindex, s->indexes) ||
	    check_size(c, "base address registers", p->nbase, s->bases) ||
	    check_size(c, "branch target registers", p->ntarget, s->targets) ||
	    check_size(c, "fields of a sample", p->nsample, s->fields) ||
	    check_size(c, "bytes of the sample buffer for one sample", program_sample_bytes(p),
		       s->buffer))
		return -1;
	for (unsigned i = 0; i < p->nbase; i++)
		if (p->base[i].at + p->base[i].size > s->data)
			return err_set(c->err, ERR_USAGE,
				       "%s: array %s ends at word %u, the data array has %u",
				       c->from, p->base[i].name, p->base[i].at + p->base[i].size,
				       s->data);
	for (unsigned i = 0; i < p->nbase; i++)
		for (unsigned k = 0; k < p->base[i].nfield; k++)
			if (p->base[i].field[k].shift + p->base[i].field[k].bits > s->data_bits)
				return err_set(c->err, ERR_USAGE,
					       "%s: field %s of array %s does not fit a word of %u "
					       "bits",
					       c->from, p->base[i].field[k].name, p->base[i].name,
					       s->data_bits);
	return 0;
}

static int check_operand(struct checker *c, unsigned o)
{
	const struct program *p = c->p;
	bool is = o < WORD_CONSTANTS ? o < p->nvalue
		  : o < WORD_INDEXES ? o - WORD_CONSTANTS < p->nconstant
		  : o < WORD_FIELDS  ? o - WORD_INDEXES < p->nindex
		  : o < WORD_RANDOM  ? o - WORD_FIELDS < p->nsample
				     : o < WORD_OPERANDS;

	if (!is)
		return bad(c, "it names a register that the program does not have");
	c->read |= 1ull << o;
	return 0;
}

static int check_write(struct checker *c, unsigned o)
{
	if (o >= WORD_CONSTANTS && (o < WORD_INDEXES || o >= WORD_FIELDS))
		return bad(c, "only value and index registers can be written");
	if (o < WORD_CONSTANTS ? o >= c->p->nvalue : o - WORD_INDEXES >= c->p->nindex)
		return bad(c, "it writes a register that the program does not have");
	if (c->written & 1ull << o)
		return bad(c, "two of its operations write the same register");
	c->written |= 1ull << o;
	*(o < WORD_CONSTANTS ? &c->value_writes : &c->index_writes) += 1;
	return 0;
}

static bool shift_is(const struct program *p, unsigned o)
{
	uint64_t n;

	if (o < WORD_CONSTANTS || o >= WORD_INDEXES)
		return false;
	n = p->constant[o - WORD_CONSTANTS];
	return n == 1 || n == 2 || n == 4 || n == 8 || n == 16 || n == 32;
}

static int check_alu(struct checker *c, const struct word_op *o, bool index)
{
	if (o->op == WORD_NOP)
		return 0;
	if (check_operand(c, o->a) || (o->op != WORD_MOV && check_operand(c, o->b)))
		return -1;
	if (index && ((o->a < WORD_CONSTANTS) || (o->op != WORD_MOV && o->b < WORD_CONSTANTS)))
		return bad(c, "value registers have no port to the index ALUs");
	if ((o->op == WORD_SHL || o->op == WORD_SHR) && !shift_is(c->p, o->b))
		return bad(c, "it shifts by something else than a constant 1, 2, 4, 8, 16 or 32");
	if (word_alu_writes[o->op])
		return check_write(c, o->dst + (index ? WORD_INDEXES : 0));
	return 0;
}

static int check_memory(struct checker *c, const struct word *w)
{
	unsigned base = w->mem.base;

	if (w->cam.op != CAM_NOP) {
		if (w->cam.op == CAM_MATCH) {
			if (check_operand(c, w->cam.src) ||
			    check_write(c, w->cam.idx + WORD_INDEXES))
				return -1;
		} else if (check_operand(c, w->cam.idx + WORD_INDEXES) ||
			   (w->cam.op == CAM_ENTER && check_operand(c, w->cam.src))) {
			return -1;
		}
	}
	if (w->mem.op == MEM_NOP)
		return 0;
	if (base >= c->p->nbase)
		return bad(c, "it names an array that the program does not have");
	if (w->mem.mask >> c->p->base[base].nfield)
		return bad(c, "it names a field that the array does not have");
	if (w->mem.op == MEM_BUMP ? !w->mem.mask : !!(w->mem.mask & (w->mem.mask - 1)))
		return bad(c, "bump takes one field and more, ld and st one at most");
	if (check_operand(c, w->mem.idx + WORD_INDEXES))
		return -1;
	if (w->mem.op == MEM_LOAD)
		return check_write(c, w->mem.reg);
	return w->mem.op == MEM_STORE ? check_operand(c, w->mem.reg) : 0;
}

static int check_branch(struct checker *c, const struct word *w)
{
	int to = (int)c->at + w->br.to;

	if (w->br.cond != COND_NEVER && w->br.kind == BR_RELATIVE &&
	    (to < 0 || (unsigned)to >= c->p->n))
		return bad(c, "it branches out of the program");
	if (w->br.cond != COND_NEVER && w->br.kind == BR_TARGET &&
	    (unsigned)w->br.to >= c->p->ntarget)
		return bad(c, "it branches to a branch target register that is not set");
	if (w->br.cond != COND_ALWAYS && c->at + 1 == c->p->n)
		return bad(c, "control runs past the end of the program");
	return 0;
}

static unsigned count(uint64_t set, unsigned from, unsigned to)
{
	return (unsigned)__builtin_popcountll(set >> from & ((1ull << (to - from)) - 1));
}

static int check_ports(const struct checker *c)
{
	const struct spec *s = c->s;

	if (count(c->read, WORD_VALUES, WORD_CONSTANTS) > s->value_reads)
		return bad(c, "it reads more value registers than there are ports (value_reads)");
	if (count(c->read, WORD_CONSTANTS, WORD_INDEXES) > s->constant_reads)
		return bad(c, "it reads more constants than there are ports (constant_reads)");
	if (count(c->read, WORD_INDEXES, WORD_FIELDS) > s->index_reads)
		return bad(c, "it reads more index registers than there are ports (index_reads)");
	if (c->value_writes > s->value_writes)
		return bad(c, "it writes more value registers than there are ports (value_writes)");
	if (c->index_writes > s->index_writes)
		return bad(c, "it writes more index registers than there are ports (index_writes)");
	return 0;
}

static int check_word(struct checker *c)
{
	const struct word *w = &c->p->word[c->at];

	c->read = c->written = 0;
	c->value_writes = c->index_writes = 0;
	if ((w->x.op != WORD_NOP) + (w->y.op != WORD_NOP) > (int)c->s->index_alus ||
	    (w->y.op != WORD_NOP && c->s->index_alus < 2))
		return bad(c, "it has more index operations than the machine has index ALUs");
	if (check_alu(c, &w->alu, false) || check_alu(c, &w->x, true) ||
	    check_alu(c, &w->y, true) || check_memory(c, w) || check_branch(c, w))
		return -1;
	return check_ports(c);
}

int program_check(const struct program *p, const struct spec *s, const char *from, struct err *err)
{
	struct checker c = { .p = p, .s = s, .from = from, .err = err };
	unsigned classes = 0;

	if (check_sizes(&c))
		return -1;
	for (c.at = 0; c.at < p->n; c.at++)
		if (check_word(&c))
			return -1;
	for (unsigned i = 0; i < p->ntarget; i++)
		if (p->target[i] >= p->n)
			return err_set(err, ERR_USAGE,
				       "%s: a branch target register lies outside the program",
				       from);
	for (unsigned i = 0; i < CLASS_N; i++) {
		classes += p->start[i] >= 0;
		if (p->start[i] >= (int)p->n)
			return err_set(err, ERR_USAGE, "%s: class %s starts outside the program",
				       from, program_class_name[i]);
	}
	if (!classes || !p->nsample)
		return err_set(err, ERR_USAGE, "%s: the program collects %s", from,
			       classes ? "no fields (sample)" : "no class of instructions (on)");
	return 0;
}
