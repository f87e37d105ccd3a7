/* SPDX-License-Identifier: MIT */
/* An instruction of the listing: its text, and notes on branches, values and misses beside it. */
#include "report/annotate_priv.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/cycles.h"
#include "report/misses.h"
#include "report/operands.h"

/* lower limit of the hottest value's share from which on values are shown */
#define VALUE_SHOWN 0.05
#define ADDRESS_SHOWN 0.5 /* the same for addresses */

/* 0x0000000000003A10 becomes 0x3a10, [rdi+rcx*1] becomes [rdi+rcx]. */
static void tidy(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '*' && s[1] == '1' && !isdigit((unsigned char)s[2])) {
			s += 2;
			continue;
		}
		if (s[0] != '0' || s[1] != 'x') {
			*to++ = *s++;
			continue;
		}
		*to++ = *s++;
		*to++ = *s++;
		while (*s == '0' && isxdigit((unsigned char)s[1]))
			s++;
		while (isxdigit((unsigned char)*s))
			*to++ = (char)tolower((unsigned char)*s++);
	}
	*to = 0;
}

/* Appends the name of the target of a call or jump out of the procedure. */
static void append_target(const struct annotate *a, const struct insn *in, char *buf, size_t n)
{
	const struct image_proc *p;
	size_t k = strlen(buf);
	char name[512];

	if (!in->target || (in->target >= a->proc->start && in->target < a->proc->end &&
			    in->target != a->proc->start))
		return;
	p = image_proc_at(a->im, in->target);
	if (!p || k >= n)
		return;
	view_cut_parameters(image_demangle(p->name, name, sizeof(name)));
	if (in->target == p->start)
		snprintf(buf + k, n - k, " <%s>", name);
	else
		snprintf(buf + k, n - k, " <%s+0x%" PRIx64 ">", name, in->target - p->start);
}

/* Formats the row's instruction. Returns false if there is no code. */
static bool row_insn(const struct annotate *a, const struct row *row, struct insn *in, char *buf,
		     size_t n)
{
	if (row->code && row->code->valid && listing_decode(in, a->im, row->addr)) {
		insn_format(in, buf, n);
		tidy(buf);
		append_target(a, in, buf, n);
		return true;
	}
	if (row->code)
		snprintf(buf, n, "(bytes)");
	else
		snprintf(buf, n, "(%s)",
			 row->site && row->site->cls < INSN_CLASS_N && row->site->observed
				 ? insn_class_name[row->site->cls]
				 : "not decoded");
	return false;
}

/* Whether a value is worth showing: not constants by construction, values of the stack, or
 * operands without a dominant value. */
static bool is_worth_it(const struct annotate *a, const struct row *row,
			const struct operand_values *o)
{
	const struct listing_insn *li = row->code;

	if (a->o->all)
		return true;
	if (o->share[0].low < (o->operand == OPERAND_ADDRESS ? ADDRESS_SHOWN : VALUE_SHOWN))
		return false;
	if (!li)
		return true;
	if (o->operand >= OPERAND_ARG0)
		return !a->unread[o->operand - OPERAND_ARG0];
	if (o->operand == OPERAND_RETURN)
		return true;
	if (li->frame || li->cls == INSN_CALL || li->cls == INSN_RET)
		return false;
	if (o->operand == OPERAND_ADDRESS)
		return li->addresses & ~(1u << UR_RSP | 1u << UR_RBP);
	return !li->constant;
}

/* The name of a call's target; programs at fixed addresses run at their ELF addresses. */
static const char *target_name(const struct annotate *a, uint64_t addr, char *buf, size_t n)
{
	const struct image_proc *p = a->im ? image_proc_at(a->im, addr) : NULL;

	if (!p || p->start != addr)
		return NULL;
	return view_cut_parameters(image_demangle(p->name, buf, n));
}

/* Writes text like "taken 93.2+-1.0%". */
static bool taken_text(const struct annotate *a, const struct row *row, char *buf, size_t n)
{
	const struct site *s = row->site;
	struct share share;
	char text[40];

	if (!s || !s->observed || s->cls != INSN_BRANCH)
		return false;
	share = operands_taken(&a->r->view, s);
	snprintf(buf, n, "taken %s%%", operands_share_text(&share, text, sizeof(text)));
	return true;
}

static void operand_note(const struct annotate *a, const struct operand_values *o,
			 const struct insn *in, int width, char *buf, size_t n)
{
	char name[128];
	size_t len;

	operands_text(o, operands_label(in, o->operand), width, buf, n);
	len = strlen(buf);
	if (o->operand == OPERAND_TARGET && target_name(a, o->value[0].value, name, sizeof(name)))
		snprintf(buf + len, n - len, " <%s>", name);
}

/* Writes text like "l1d 12.3% mispredicted 5.0%". */
static bool misses_text(const struct annotate *a, const struct row *row, char *buf, size_t n)
{
	return row->site && a->r->profile.misses.chunks &&
	       *misses_note(misses_find(&a->r->profile, row->site->id), buf, n);
}

/* Writes text like "simulated 1.25 cycles execute 60% l2 40%". */
static bool cycles_text(const struct annotate *a, const struct row *row, char *buf, size_t n)
{
	return row->site && a->r->profile.cycles.chunks &&
	       *cycles_note(cycles_find(&a->r->profile, row->site->id), row->site->observed, buf,
			    n);
}

/* Writes the notes of a row, one at a time; *k is the next one. A note that does not fit beside
 * the instruction is cut to fit below it. */
static bool next_note(struct annotate *a, const struct row *row, const struct insn *in, int *k,
		      char *buf, size_t n)
{
	struct operand_values o;

	if (*k == 0 && taken_text(a, row, buf, n))
		return ++*k;
	*k += !*k;
	if (*k == 1 && misses_text(a, row, buf, n))
		return ++*k;
	*k += *k == 1;
	if (*k == 2 && cycles_text(a, row, buf, n))
		return ++*k;
	*k += *k == 2;
	while (row->site && *k <= OPERAND_N + 2) {
		int operand = (OPERAND_ARG0 + *k - 3) %
			      OPERAND_N; /* arguments are shown before the other operands */

		++*k;
		if (!operands_read(&o, &a->r->view, row->site, operand))
			continue;
		if (!is_worth_it(a, row, &o)) {
			a->hidden_operands++;
			continue;
		}
		operand_note(a, &o, in, a->beside, buf, n);
		if ((int)strlen(buf) > a->beside)
			operand_note(a, &o, in, a->below, buf, n);
		return true;
	}
	return false;
}

void annotate_row_text(struct annotate *a, const struct row *row, struct cell *cell)
{
	int at = emit_column_at(&a->r->emit, COLUMN_INSN), k = 0;
	int room = a->sum ? ANNOTATE_NARROW : ANNOTATE_INSN, indent = room + 1;
	char text[1024], note[4200] = "", line[5300];
	struct insn in, *decoded;
	bool more;

	decoded = row_insn(a, row, &in, text, sizeof(text)) ? &in : NULL;
	more = next_note(a, row, decoded, &k, note, sizeof(note));
	cell[COLUMN_INSN] = cell_text(text);
	if (more && (int)strlen(text) <= room && (int)strlen(note) <= a->beside) {
		snprintf(line, sizeof(line), "%-*s %s", room, text, note);
		cell[COLUMN_INSN] = cell_text(line);
		more = next_note(a, row, decoded, &k, note, sizeof(note));
	}
	emit_row(&a->r->emit, cell);
	for (; more; more = next_note(a, row, decoded, &k, note, sizeof(note))) {
		if ((int)strlen(note) > a->beside)
			indent = ANNOTATE_BELOW;
		emit_line(&a->r->emit, "%*s%s", at + indent, "", note);
	}
}

static json_t *taken_json(const struct annotate *a, const struct row *row)
{
	const struct site *s = row->site;
	struct share share;

	if (!s || !s->observed || s->cls != INSN_BRANCH)
		return NULL;
	share = operands_taken(&a->r->view, s);
	return json_pack("{s:f,s:f,s:I}", "share", share.value, "bound", share.bound, "count",
			 (json_int_t)s->taken);
}

void annotate_row_json(struct annotate *a, const struct row *row, struct cell *cell)
{
	json_t *list = json_array();
	struct operand_values o;
	char text[1024];
	struct insn in;
	bool decoded = row_insn(a, row, &in, text, sizeof(text));

	for (int i = 0; row->site && i < OPERAND_N; i++)
		if (operands_read(&o, &a->r->view, row->site, i))
			json_array_append_new(list, operands_json(&o, decoded ? &in : NULL));
	cell[COLUMN_INSN] = cell_text(decoded ? text : NULL);
	cell[COLUMN_TAKEN] = cell_json(taken_json(a, row));
	cell[COLUMN_OPERANDS] = cell_json(list);
	cell[COLUMN_MISSES] = cell_json(
		row->site ? misses_json(misses_find(&a->r->profile, row->site->id)) : NULL);
	cell[COLUMN_SIMULATED] = cell_json(
		row->site ? cycles_json(cycles_find(&a->r->profile, row->site->id)) : NULL);
	emit_row(&a->r->emit, cell);
}
