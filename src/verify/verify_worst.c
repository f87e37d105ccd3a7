/* SPDX-License-Identifier: MIT */
/* Tables of the sites that add most to the error. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "report/operands.h"
#include "verify/verify_priv.h"

static const struct column worst_columns[] = {
	COLUMN_NAME,
	PERCENT("error_share", "part", 7),
	PERCENT("share", "sampled", 0),
	PERCENT("bound", "+-", 5),
	PERCENT("raw", "raw", 6),
	PERCENT("exact", "exact", 7),
	{ "times_seen", "seen", "x", 7, EMIT_RIGHT, EMIT_REAL },
	{ NULL, "what", NULL, 16, EMIT_LEFT, EMIT_TEXT },
	{ NULL, "where", NULL, 0, EMIT_LEFT, EMIT_TEXT },
	HIDDEN("chance", EMIT_SHARE),
	HIDDEN("observations", EMIT_COUNT),
	HIDDEN("executions", EMIT_COUNT),
	HIDDEN("operand", EMIT_TEXT),
	HIDDEN("value", EMIT_HEX),
	HIDDEN("image", EMIT_TEXT),
	HIDDEN("procedure", EMIT_TEXT),
	HIDDEN("address", EMIT_ADDR),
};
enum {
	WORST_WHERE = 8
};

/* Writes "name+0x1c", cutting a name that is too long. */
static char *where_text(const struct view_proc *p, const char *name, uint64_t addr, int width,
			char *buf, size_t n)
{
	char offset[32];
	int room;

	snprintf(offset, sizeof(offset), p->n ? "+0x%" PRIx64 : " 0x%" PRIx64, addr - p->start);
	if (p->n && addr == p->start)
		offset[0] = 0;
	room = width - (int)strlen(offset);
	if ((int)strlen(name) > room && room > 4)
		snprintf(buf, n, "%.*s..%s", room - 2, name, offset);
	else
		snprintf(buf, n, "%s%s", name, offset);
	return buf;
}

static void worst_row(struct verify *v, size_t i, const struct accuracy_site *s, double square)
{
	const struct view *e = &v->reading[v->last].view;
	const struct view_proc *p = &e->proc[e->proc_of[s->at]];
	const struct site *site = e->site[s->at];
	char name[2], what[80] = "taken", hex[32], proc[1024], where[1100];
	bool value = s->operand >= 0;

	if (value)
		snprintf(what, sizeof(what), "%s=%s", operands_label(NULL, s->operand),
			 fmt_hex(s->value, hex, sizeof(hex)));
	view_proc_name(p, proc, sizeof(proc));
	if (!v->o->json)
		where_text(p, view_cut_parameters(proc), site->id.addr,
			   emit_column_width(v->emit, WORST_WHERE), where, sizeof(where));
	const struct cell cell[] = {
		verify_name_cell(v, i, name),
		cell_real(verify_ratio(s->square, square)),
		cell_real(s->sampled.value),
		cell_real(s->sampled.bound),
		cell_real(s->sampled.raw),
		cell_real(s->exact),
		cell_real(s->seen),
		cell_text(what),
		cell_text(v->o->json ? NULL : where),
		cell_real(s->chance),
		cell_count(s->observations),
		cell_count((uint64_t)s->executions),
		cell_text(value ? operand_name[s->operand] : NULL),
		value ? cell_count(s->value) : cell_none(),
		cell_text(e->image[site->id.image].name),
		cell_text(proc),
		cell_count(site->id.addr),
	};

	emit_row(v->emit, cell);
}

static const struct accuracy_sites *worst_of(const struct accuracy *a, bool values)
{
	return values ? &a->worst_values : &a->worst_directions;
}

/* Number of sites with any error. */
static size_t worst_shown(const struct verify *v, size_t i, bool values)
{
	const struct accuracy_sites *list = worst_of(&v->a[i], values);
	size_t n = 0;

	while (n < list->n && n < v->o->worst && list->v[n].square > 0)
		n++;
	return n;
}

void verify_print_worst(struct verify *v, bool values)
{
	size_t all = 0;

	for (size_t i = 0; i < v->n; i++)
		all += worst_shown(v, i, values);
	if (!v->o->json && !all)
		return;
	verify_table(v, values ? "worst_values" : "worst_directions",
		     values ? "where the error of values comes from"
			    : "where the error of directions comes from",
		     worst_columns, COUNT_OF(worst_columns));
	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy *a = &v->a[i];
		double square =
			values ? a->values[ACCURACY_ALL].error.square : a->directions.error.square;

		for (size_t k = 0, n = worst_shown(v, i, values); k < n; k++)
			worst_row(v, i, &worst_of(a, values)->v[k], square);
	}
}
