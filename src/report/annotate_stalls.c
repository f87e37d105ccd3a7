/* SPDX-License-Identifier: MIT */
/* Estimated executions and times in a listing, and the reasons for stalls. */
#include "report/annotate_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/fmt.h"

#define STALL_AT 8	 /* indentation of lines between instructions */
#define STALL_SHOWN 0.01 /* a stall is shown if it has this share of the procedure's cycles, */
#define STALL_SAMPLES 5	 /* it is shown if its instruction has this many samples, */
#define STALL_CYCLES 0.3 /* and it takes this many cycles of an execution */

const struct culprit_insn_time *annotate_time(const struct annotate *a, const struct row *row)
{
	return a->sum ? culprit_program_at(&a->why->program, a->proc->image, row->addr) : NULL;
}

void annotate_estimates(struct annotate *a, const struct culprit_insn_time *t, struct cell *cell,
			char runs[16], char cpi[24])
{
	const struct view_sum *sum = &a->r->view.sum;
	const struct run *run = a->r->profile.nrun ? &a->r->profile.run[0] : NULL;
	bool ns = run && run->unit && strcmp(run->unit, "ns") == 0 && !a->r->view.by_samples;
	double each;

	cell[COLUMN_RUNS] = cell_blank_if(true, cell_none());
	cell[COLUMN_CPI] = cell_blank_if(true, cell_none());
	if (!t || t->executions <= 0)
		return;
	each = t->cycles / t->executions;
	snprintf(cpi, 24, each < 99.95 ? "%.1f%c" : "%.0f%c", each, why_mark(t->confidence));
	cell[COLUMN_RUNS] = cell_text(fmt_short(t->executions, runs, 16));
	cell[COLUMN_CPI] = cell_text(cpi);
	cell[COLUMN_ESTIMATED] = cell_real(t->executions);
	cell[COLUMN_CONFIDENCE] = cell_text(confidence_name[t->confidence]);
	cell[COLUMN_CYCLES] = cell_real(each);
	if (ns && sum->samples)
		cell[COLUMN_NS] =
			cell_real(each / a->why->program.period * sum->time / (double)sum->samples);
}

static const char *const static_name[4] = {
	[SCHEDULE_NONE] = "none",
	[SCHEDULE_DEPENDENCE] = "dependence",
	[SCHEDULE_UNIT] = "unit",
	[SCHEDULE_LATENCY] = "latency",
};

static json_t *static_json(const struct culprit_insn_time *t)
{
	return json_pack("{s:f,s:s,s:o}", "cycles", t->fixed / t->executions, "why",
			 static_name[t->why & 3], "fault",
			 t->cause ? emit_hex_json(t->cause) : json_null());
}

static json_t *stall_json(const struct culprit_insn_time *t)
{
	json_t *list = json_array();

	for (int i = 0; i < CULPRIT_N; i++) {
		const struct culprit_range *r = &t->range[i];

		if (r->max > 0)
			json_array_append_new(
				list,
				json_pack("{s:s,s:f,s:f,s:f,s:o,s:o}", "culprit", culprit_name[i],
					  "min", r->min / t->executions, "max",
					  r->max / t->executions, "expected",
					  r->expected / t->executions, "fault",
					  r->fault ? emit_hex_json(r->fault) : json_null(), "store",
					  r->with ? emit_hex_json(r->with) : json_null()));
	}
	return json_pack("{s:f,s:f,s:o}", "cycles", t->stall / t->executions, "unexplained",
			 t->unexplained / t->executions, "culprits", list);
}

void annotate_stall_cells(const struct culprit_insn_time *t, struct cell *cell)
{
	cell[COLUMN_STATIC] = cell_json(static_json(t));
	cell[COLUMN_STALL] = cell_json(stall_json(t));
}

static void print_static(struct annotate *a, const struct culprit_insn_time *t)
{
	double cycles = t->fixed / t->executions;
	unsigned long long fault = t->cause;

	if (cycles < STALL_CYCLES || t->fixed < STALL_SHOWN * a->sum->sum.cycles)
		return;
	if (t->why == SCHEDULE_DEPENDENCE && t->cause == t->addr)
		emit_line(&a->r->emit,
			  "%*sstatic %.1f: waits for its own result of the round before", STALL_AT,
			  "", cycles);
	else if (t->why == SCHEDULE_DEPENDENCE && !fault)
		emit_line(&a->r->emit, "%*sstatic %.1f: waits for what another image computes",
			  STALL_AT, "", cycles);
	else if (t->why == SCHEDULE_DEPENDENCE)
		emit_line(&a->r->emit, "%*sstatic %.1f: waits for what %llx computes", STALL_AT, "",
			  cycles, fault);
	else if (t->why == SCHEDULE_UNIT && fault)
		emit_line(&a->r->emit, "%*sstatic %.1f: waits for a unit that %llx uses", STALL_AT,
			  "", cycles, fault);
	else
		emit_line(&a->r->emit, "%*sstatic %.1f: latency of the instruction", STALL_AT, "",
			  cycles);
}

void annotate_stall(struct annotate *a, const struct row *row, const struct culprit_insn_time *t)
{
	char text[4200], unexplained[40] = "";
	int width = annotate_width(a) - STALL_AT, used;
	double cycles;

	if (!t || t->executions <= 0 || !row->site || a->r->emit.json)
		return;
	print_static(a, t);
	cycles = t->stall / t->executions;
	if (cycles < STALL_CYCLES || t->stall < STALL_SHOWN * a->sum->sum.cycles ||
	    row->site->samples < STALL_SAMPLES)
		return;
	if (t->unexplained >= 0.05 * t->stall)
		snprintf(unexplained, sizeof(unexplained), "unexplained %.1f",
			 t->unexplained / t->executions);
	used = snprintf(text, sizeof(text), "stall %.1f: ", cycles) + (int)strlen(unexplained) + 2;
	why_ranges_text(t->range, t->executions, width > used ? (size_t)(width - used) : 0, text,
			sizeof(text));
	emit_line(&a->r->emit, "%*sstall %.1f: %s%s%s", STALL_AT, "", cycles, text,
		  *text && *unexplained ? ", " : "", unexplained);
}

void annotate_why(struct annotate *a)
{
	const struct culprit_sum *s = &a->sum->sum;
	double fixed = s->fixed[SCHEDULE_DEPENDENCE] + s->fixed[SCHEDULE_UNIT] +
		       s->fixed[SCHEDULE_LATENCY];
	char cpi[80] = "", range[32], text[4200];
	int width = annotate_width(a);

	emit_set(&a->r->emit, "machine", json_string(a->why->machine->name));
	emit_set(&a->r->emit, "cycles_per_sample", json_real(a->why->program.period));
	emit_set(&a->r->emit, "why", why_sum_json(s));
	if (s->cycles <= 0)
		return;
	why_cpi_text(s, range, sizeof(range));
	if (s->executions > 0 && *range)
		snprintf(cpi, sizeof(cpi), "CPI %.2f (%s): ", s->cycles / s->executions, range);
	else if (s->executions > 0)
		snprintf(cpi, sizeof(cpi), "CPI %.2f: ", s->cycles / s->executions);
	emit_heading(&a->r->emit,
		     "%s%.1f %% execution, %.1f static, %.1f dynamic, %.1f unexplained", cpi,
		     100 * s->ideal / s->cycles, 100 * fixed / s->cycles,
		     100 * s->stall / s->cycles, 100 * s->unexplained / s->cycles);
	why_sum_text(s, (size_t)width - 2, text, sizeof(text));
	if (*text)
		emit_line(&a->r->emit, "%% %s", text);
}
