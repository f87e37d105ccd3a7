/* SPDX-License-Identifier: MIT */
/* Adds values of executions to hot lists: those of a full sink column by column, at the end those
 * of each column to every field that shares it. */
#include "exact/streams_priv.h"
#include "observe/calls.h"
#include "sketch/batch_scan.h"

/* words of an execution beyond which columns are built eight at a time */
#define TURNED 4
_Static_assert(VALUES_BATCH <= SCAN_MAX, "");

static uint64_t narrow(uint64_t v, unsigned bits)
{
	if (bits == EXACT_HIGH)
		return v >> 8 & 0xff;
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static uint64_t field_value(const struct code_block *b, const struct field *f,
			    const uint64_t *words)
{
	const struct column *c;

	if (f->column == FIELD_CONSTANT)
		return f->add;
	c = &b->column[f->column];
	return narrow(narrow(words[c->word], c->from) + f->add, f->to);
}

static int hot_of(const struct profile *p, struct hot **h)
{
	if (!*h)
		*h = hot_new(p->method, p->capacity);
	return *h ? 0 : -1;
}

/* The arguments of an indirect call belong to its target. */
static bool by_target(const struct code_block *b, const struct field *f)
{
	return b->indirect && f->operand >= OPERAND_ARG0 && f->operand <= OPERAND_ARG5;
}

/* Returns the hot list of an argument of the block's call to `to`. */
static struct hot *argument_of(struct exact *e, const struct code_block *b, struct site_id to,
			       const struct field *f)
{
	struct call *c = calls_get(e->profile, b->site[f->insn]->id, to);

	return c ? calls_list(e->profile, c, f->operand) : NULL;
}

/* Adds arguments of the executions listed by `which`, which all called one target. */
static int add_arguments(struct exact *e, const struct process *p, const struct code_block *b,
			 const uint64_t *words, const uint16_t *which, unsigned n)
{
	struct site_id at = ways_at(p, words[which[0] * (size_t)b->words + b->target]);
	struct site *s = at.image ? profile_site(e->profile, at) : NULL;
	uint64_t v[VALUES_BATCH];

	for (unsigned i = 0; s && i < b->nfield; i++) {
		const struct field *f = &b->field[i];
		struct hot *h;

		if (!by_target(b, f))
			continue;
		for (unsigned k = 0; k < n; k++)
			v[k] = field_value(b, f, words + which[k] * (size_t)b->words);
		h = profile_operand(e->profile, s, f->operand);
		if (!h || hot_add_many(h, v, n))
			return -1;
		h = argument_of(e, b, at, f);
		if (!h || hot_add_many(h, v, n))
			return -1;
	}
	return 0;
}

static int add_by_target(struct exact *e, const struct process *p, const struct code_block *b,
			 const uint64_t *words, unsigned n)
{
	uint16_t left[VALUES_BATCH], same[VALUES_BATCH];
	unsigned nleft = n;

	for (unsigned i = 0; i < n; i++)
		left[i] = (uint16_t)i;
	while (nleft) {
		uint64_t target = words[left[0] * (size_t)b->words + b->target];
		unsigned k = 0, nsame = 1;

		same[0] = left[0];
		for (unsigned i = 1; i < nleft; i++)
			if (words[left[i] * (size_t)b->words + b->target] == target)
				same[nsame++] = left[i];
			else
				left[k++] = left[i];
		nleft = k;
		if (add_arguments(e, p, b, words, same, nsame))
			return -1;
	}
	return 0;
}

/* Gathers a column of n executions' words. */
static void gather(uint64_t *v, const uint64_t *words, unsigned stride, unsigned n, unsigned from)
{
	unsigned shift = from == EXACT_HIGH ? 8 : 0, i = 0;
	uint64_t mask = from == 64 ? ~0ull : from == EXACT_HIGH ? 0xff : (1ull << from) - 1;

	if (stride == 1) {
		scan_narrow(v, words, n, shift, mask);
		return;
	}
	for (; i + 4 <= n; i += 4, words += 4 * (size_t)stride) {
		v[i] = words[0] >> shift & mask;
		v[i + 1] = words[stride] >> shift & mask;
		v[i + 2] = words[2 * (size_t)stride] >> shift & mask;
		v[i + 3] = words[3 * (size_t)stride] >> shift & mask;
	}
	for (; i < n; i++, words += stride)
		v[i] = words[0] >> shift & mask;
}

int values_take(struct exact *e, const struct process *p, struct code_block *b,
		const uint64_t *words, unsigned n)
{
	uint64_t v[VALUES_BATCH], side[SCAN_COLUMNS][SCAN_MAX];
	unsigned turned = ~0u; /* number of the group of eight words whose columns are built now */

	if (b->indirect && add_by_target(e, p, b, words, n))
		return -1;
	for (unsigned i = 0; i < b->ncolumn; i++)
		__builtin_prefetch(b->column[i].hot);
	if (b->ncolumn && b->column[0].hot)
		hot_expect(b->column[0].hot);
	for (unsigned i = 0; i < b->ncolumn; i++) {
		struct column *c = &b->column[i];
		unsigned group = c->word / SCAN_COLUMNS;
		const uint64_t *from = words + c->word;
		unsigned stride = b->words;

		if (i + 1u < b->ncolumn && c[1].hot)
			hot_expect(c[1].hot);
		if (b->words >= TURNED && group != turned) {
			unsigned first = group * SCAN_COLUMNS;

			if (scan_turn(side, words + first, b->words, b->words - first, n))
				turned = group;
		}
		if (group == turned) {
			from = side[c->word % SCAN_COLUMNS];
			stride = 1;
		}
		if (stride != 1 || c->from != 64) {
			gather(v, from, stride, n, c->from);
			from = v;
		}
		if (hot_of(e->profile, &c->hot) || hot_add_many(c->hot, from, n))
			return -1;
	}
	return 0;
}

int values_take_cut(struct exact *e, struct code_block *b, const uint64_t *words, unsigned n,
		    unsigned done)
{
	for (unsigned i = 0; i < b->nfield; i++) {
		const struct field *f = &b->field[i];
		struct column *c;
		struct hot *h;

		if (f->insn >= done || f->column == FIELD_CONSTANT || by_target(b, f))
			continue;
		c = &b->column[f->column];
		if (c->word >= n)
			return 0;
		/* another field, which was not executed, may share the column: the value is added
		 * to the site itself */
		h = profile_operand(e->profile, b->site[f->insn], f->operand);
		if (!h || hot_add(h, field_value(b, f, words), 1))
			return -1;
	}
	return 0;
}

static struct site *site_of(struct exact *e, const struct code_block *b, const struct field *f)
{
	if (f->operand < OPERAND_ARG0 || f->operand > OPERAND_ARG5)
		return b->site[f->insn];
	return profile_site(e->profile, (struct site_id){ .image = b->image, .addr = b->callee });
}

/* Adds what the block has seen of a field. */
static int finish_field(const struct code_block *b, const struct field *f, struct hot *to)
{
	if (!to)
		return -1;
	return f->column == FIELD_CONSTANT
		       ? hot_add(to, f->add, f->times)
		       : hot_merge_sum(to, b->column[f->column].hot, f->add, f->to);
}

int values_finish(struct exact *e, struct code_block *b)
{
	for (unsigned i = 0; i < b->nfield; i++) {
		struct field *f = &b->field[i];
		bool constant = f->column == FIELD_CONSTANT;
		struct site *s;

		/* counters are not all read at the same moment: the executions after an exit may
		 * seem to be fewer than none */
		if (by_target(b, f) ||
		    !(constant ? (int64_t)f->times > 0 : !!b->column[f->column].hot))
			continue;
		s = site_of(e, b, f);
		if (!s || finish_field(b, f, profile_operand(e->profile, s, f->operand)))
			return -1;
		if (f->operand >= OPERAND_ARG0 && f->operand <= OPERAND_ARG5 &&
		    finish_field(b, f, argument_of(e, b, s->id, f)))
			return -1;
		f->times = 0;
	}
	for (unsigned i = 0; i < b->ncolumn; i++) {
		hot_free(b->column[i].hot);
		b->column[i].hot = NULL;
	}
	return 0;
}
