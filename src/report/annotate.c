/* SPDX-License-Identifier: MIT */
#include "report/annotate.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "query/listing.h"
#include "query/lookup.h"
#include "report/cycles.h"
#include "report/misses.h"
#include "report/operands.h"
#include "query/slice.h"
#include "query/source.h"
#include "report/why.h"

#define SHORT 48 /* procedures up to this many instructions are shown whole */
/* of a longer procedure, the hottest instructions are shown until they have this share of the time, */
#define HOT_COVER 0.9
#define HOT_MOST 40    /* or there are this many, */
#define HOT_LEAST 0.01 /* or each remaining one has less than this share and than the mean */
#define CONTEXT 3      /* instructions shown around a hot one */
#define GAP_LEAST 3    /* shorter gaps are shown */
/* lower limit of the hottest value's share from which on values are shown */
#define VALUE_SHOWN 0.05
#define ADDRESS_SHOWN 0.5 /* the same for addresses */
#define INSN_WIDTH 29	  /* usual columns of the instruction */
#define BELOW 4		  /* indentation of notes below the instruction */
#define WIDE 4000	  /* columns of a line that is not cut */
#define NARROW 22	  /* columns of the instruction in exact recordings */
#define STALL_AT 8	  /* indentation of lines between instructions */
#define STALL_SHOWN 0.01  /* a stall is shown if it has this share of the procedure's cycles, */
#define STALL_SAMPLES 5	  /* it is shown if its instruction has this many samples, */
#define STALL_CYCLES 0.3  /* and it takes this many cycles of an execution */

enum {
	COLUMN_SHARE,
	COLUMN_SAMPLES,
	COLUMN_RUNS,
	COLUMN_CPI,
	COLUMN_ADDRESS,
	COLUMN_INSN,
	COLUMN_BOUND,
	COLUMN_OBSERVATIONS,
	COLUMN_LINE,
	COLUMN_TAKEN,
	COLUMN_OPERANDS,
	COLUMN_ESTIMATED,
	COLUMN_CONFIDENCE,
	COLUMN_CYCLES,
	COLUMN_NS,
	COLUMN_STATIC,
	COLUMN_STALL,
	COLUMN_MISSES,
	COLUMN_SIMULATED,
	COLUMN_N
};

struct row {
	uint64_t addr;
	const struct site *site;	 /* NULL: never observed */
	const struct listing_insn *code; /* NULL: the image's file is missing */
	bool shown;
};

struct annotate {
	struct reading *r;
	const struct annotate_options *o;
	const struct view_proc *proc;
	/* image of the procedure; NULL: its file is missing */
	struct image *im;
	const struct why *why;			/* NULL: an exact recording */
	const struct culprit_program_proc *sum; /* sum of this procedure, or NULL: not estimated */
	struct listing listing;
	bool unread[6]; /* the procedure does not read the argument */
	struct row *row;
	size_t n;
	struct column column[COLUMN_N];
	int beside, below; /* columns for notes beside and below an instruction */
	struct source source;
	const char *file; /* the source line that was printed last */
	int line;
	unsigned hidden_operands;
};

static const struct column annotate_columns[COLUMN_N] = {
	[COLUMN_SHARE] = { "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_SAMPLES] = { "samples", "samples", NULL, 7, EMIT_RIGHT, EMIT_COUNT },
	[COLUMN_RUNS] = { NULL, NULL, NULL, 5, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_CPI] = { NULL, NULL, NULL, 5, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_ADDRESS] = { "address", "address", NULL, 0, EMIT_RIGHT, EMIT_ADDR },
	[COLUMN_INSN] = { "instruction", "instruction", NULL, 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_BOUND] = { "bound", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	[COLUMN_OBSERVATIONS] = { "observations", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	[COLUMN_LINE] = { "line", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_TAKEN] = { "taken", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	[COLUMN_OPERANDS] = { "operands", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	[COLUMN_ESTIMATED] = { "estimated_executions", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_CONFIDENCE] = { "confidence", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_CYCLES] = { "cpi", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_NS] = { "ns", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_STATIC] = { "static", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	[COLUMN_STALL] = { "dynamic", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
};

/* Rows of the listing. */

static int rows_of_listing(struct annotate *a)
{
	a->n = a->listing.n;
	a->row = calloc(a->n + 1, sizeof(*a->row));
	for (size_t i = 0; a->row && i < a->n; i++) {
		const struct listing_insn *li = &a->listing.v[i];

		a->row[i] = (struct row){ li->addr, li->site, li, false };
	}
	return a->row ? 0 : -1;
}

static int rows_of_sites(struct annotate *a)
{
	a->n = a->proc->n;
	a->row = calloc(a->n + 1, sizeof(*a->row));
	for (size_t i = 0; a->row && i < a->n; i++) {
		const struct site *s = a->r->view.site[a->proc->first + i];

		a->row[i] = (struct row){ s->id.addr, s, NULL, false };
	}
	return a->row ? 0 : -1;
}

static double row_share(const struct annotate *a, const struct row *row)
{
	double whole = a->proc->sum.time;

	return row->site && whole > 0 ? view_time(&a->r->view, row->site) / whole : 0;
}

/* Choice of the rows to show. */

static int by_share(const void *x, const void *y, void *ctx)
{
	const struct annotate *a = ctx;
	size_t i = *(const size_t *)x, j = *(const size_t *)y;
	double p = row_share(a, &a->row[i]), q = row_share(a, &a->row[j]);

	return p != q ? (p > q ? -1 : 1) : (i > j) - (i < j);
}

static void show_around(struct annotate *a, size_t i)
{
	size_t from = i > CONTEXT ? i - CONTEXT : 0;

	for (size_t k = from; k < a->n && k <= i + CONTEXT; k++)
		a->row[k].shown = true;
}

static void fill_gaps(struct annotate *a)
{
	for (size_t i = 0, end; i < a->n; i = end + 1) {
		for (end = i; end < a->n && !a->row[end].shown; end++)
			;
		for (size_t k = i; end - i < GAP_LEAST && k < end; k++)
			a->row[k].shown = true;
	}
}

static int choose_rows(struct annotate *a)
{
	size_t *order = malloc((a->n + 1) * sizeof(*order));
	double cover = 0;

	if (!order)
		return -1;
	for (size_t i = 0; i < a->n; i++)
		order[i] = i;
	qsort_r(order, a->n, sizeof(*order), by_share, a);
	for (size_t k = 0; k < a->n && k < HOT_MOST && cover < HOT_COVER; k++) {
		double share = row_share(a, &a->row[order[k]]);

		if (k && share < HOT_LEAST && share * (double)a->n < 1)
			break;
		cover += share;
		show_around(a, order[k]);
	}
	free(order);
	fill_gaps(a);
	return 0;
}

static int select_rows(struct annotate *a)
{
	if (!a->o->full && !a->r->emit.json && a->n > SHORT)
		return choose_rows(a);
	for (size_t i = 0; i < a->n; i++)
		a->row[i].shown = true;
	return 0;
}

/* Text of instructions. */

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

/* Values beside instructions. */

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

/* Prints a row: the first note beside the instruction if it fits, the others below, several to a
 * line. */
static void print_row_text(struct annotate *a, const struct row *row, struct cell *cell)
{
	int at = emit_column_at(&a->r->emit, COLUMN_INSN), k = 0;
	int room = a->sum ? NARROW : INSN_WIDTH, indent = room + 1;
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
			indent = BELOW;
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

static void print_row_json(struct annotate *a, const struct row *row, struct cell *cell)
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

/* Prints the source line above the first of its instructions. */
static void print_source(struct annotate *a, const char *file, int line)
{
	int at = emit_column_at(&a->r->emit, COLUMN_ADDRESS);
	const char *slash = strrchr(file, '/');
	char text[512];

	if (a->r->emit.json || (a->file && a->line == line && !strcmp(a->file, file)))
		return;
	a->file = file;
	a->line = line;
	source_line(&a->source, file, line, text, sizeof(text));
	emit_line(&a->r->emit, "%*s%s:%d%s%s", at, "", slash ? slash + 1 : file, line,
		  text[0] ? "  " : "", text);
}

/* Estimates, and reasons for stalls. */

static const struct culprit_insn_time *time_of(const struct annotate *a, const struct row *row)
{
	return a->sum ? culprit_program_at(&a->why->program, a->proc->image, row->addr) : NULL;
}

static void estimate_cells(struct annotate *a, const struct culprit_insn_time *t, struct cell *cell,
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
	else if (t->why == SCHEDULE_DEPENDENCE)
		emit_line(&a->r->emit, "%*sstatic %.1f: waits for what %llx computes", STALL_AT, "",
			  cycles, fault);
	else if (t->why == SCHEDULE_UNIT)
		emit_line(&a->r->emit, "%*sstatic %.1f: waits for a unit that %llx uses", STALL_AT,
			  "", cycles, fault);
	else
		emit_line(&a->r->emit, "%*sstatic %.1f: latency of the instruction", STALL_AT, "",
			  cycles);
}

/* Prints, above an instruction, how long it stalled and what may have caused that. */
static void print_stall(struct annotate *a, const struct row *row,
			const struct culprit_insn_time *t)
{
	char text[4200], unexplained[40] = "";
	int width = (a->r->emit.wide ? WIDE : a->r->emit.width) - STALL_AT, used;
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

static void print_row(struct annotate *a, const struct row *row)
{
	const struct culprit_insn_time *t = time_of(a, row);
	const struct site *s = row->site;
	double samples = (double)a->proc->sum.samples, share = row_share(a, row);
	struct share limits = share_of(share * samples, samples);
	uint64_t count = s ? view_count(&a->r->view, s) : 0;
	struct cell cell[COLUMN_N] = {
		[COLUMN_SHARE] = cell_blank_if(!count, cell_real(share)),
		[COLUMN_SAMPLES] = cell_blank_if(!count, cell_count(count)),
		[COLUMN_ADDRESS] = cell_count(row->addr),
		[COLUMN_BOUND] = cell_real(limits.bound),
		[COLUMN_OBSERVATIONS] = cell_count(s ? s->observed : 0),
	};
	const char *file;
	char where[4300], runs[16], cpi[24];
	int line;

	estimate_cells(a, t, cell, runs, cpi);
	if (a->r->emit.json && t && t->executions > 0) {
		cell[COLUMN_STATIC] = cell_json(static_json(t));
		cell[COLUMN_STALL] = cell_json(stall_json(t));
	}
	if (a->im && image_line(a->im, row->addr, &file, &line)) {
		snprintf(where, sizeof(where), "%s:%d", file, line);
		cell[COLUMN_LINE] = cell_text(where);
		print_source(a, file, line);
	}
	print_stall(a, row, t);
	if (a->r->emit.json)
		print_row_json(a, row, cell);
	else
		print_row_text(a, row, cell);
}

/* The whole procedure. */

static void print_sampled(struct annotate *a, double share)
{
	const struct view_sum *sum = &a->proc->sum;
	double n = (double)a->r->view.sum.samples;
	struct share s = share_of(share * n, n);
	char text[40], samples[32], seen[32];

	emit_set(&a->r->emit, "bound", json_real(s.bound));
	emit_set(&a->r->emit, "samples", json_integer((json_int_t)sum->samples));
	emit_set(&a->r->emit, "observations", json_integer((json_int_t)sum->observed));
	emit_line(&a->r->emit, "%s %% of the time%s, %s samples, %s instructions observed",
		  operands_share_text(&s, text, sizeof(text)),
		  a->r->caller ? " of these calls" : "",
		  fmt_count(sum->samples, samples, sizeof(samples)),
		  fmt_count(sum->observed, seen, sizeof(seen)));
}

static void print_executed(struct annotate *a, double share)
{
	uint64_t executed = a->proc->sum.observed;
	char text[40], count[32];

	emit_set(&a->r->emit, "executions", json_integer((json_int_t)executed));
	emit_line(&a->r->emit, "%s %% of the executed instructions: %s",
		  fmt_percent(share, text, sizeof(text)),
		  fmt_count(executed, count, sizeof(count)));
}

/* Prints the composition of its time. */
static void print_why(struct annotate *a)
{
	const struct culprit_sum *s = &a->sum->sum;
	double fixed = s->fixed[SCHEDULE_DEPENDENCE] + s->fixed[SCHEDULE_UNIT] +
		       s->fixed[SCHEDULE_LATENCY];
	char cpi[80] = "", range[32], text[4200];
	int width = a->r->emit.wide ? WIDE : a->r->emit.width;

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

static void print_title(struct annotate *a)
{
	const struct view *v = &a->r->view;
	const struct view_proc *p = a->proc;
	double share = view_share(v, p->sum.time);
	char name[1024];

	view_proc_name(p, name, sizeof(name));
	emit_set(&a->r->emit, "procedure", emit_text_json(name));
	emit_set(&a->r->emit, "image", emit_text_json(v->image[p->image].name));
	emit_set(&a->r->emit, "from", emit_hex_json(p->start));
	emit_set(&a->r->emit, "to", emit_hex_json(p->end));
	emit_set(&a->r->emit, "share", json_real(share));
	emit_line(&a->r->emit, "%s (%s)", name, v->image[p->image].name);
	if (v->exact)
		print_executed(a, share);
	else
		print_sampled(a, share);
	if (a->sum)
		print_why(a);
	emit_line(&a->r->emit, "%s", "");
}

static void print_hidden(struct annotate *a, size_t from, size_t to)
{
	double share = 0;
	char text[16], count[32];

	if (from == to)
		return;
	for (size_t i = from; i < to; i++)
		share += row_share(a, &a->row[i]);
	emit_line(&a->r->emit, "%7s ... %s instruction%s not shown ...",
		  fmt_percent(share, text, sizeof(text)),
		  fmt_count(to - from, count, sizeof(count)), plural(to - from));
	a->file = NULL;
}

static const struct term sampled_terms[] = {
	{ "share", "of the procedure's time" },
	{ "samples", "timer interrupts that found the instruction waiting to retire: often the "
		     "one before is slow" },
	{ "taken", "how often the branch was, +- the 95 % bound" },
	{ "rax:(98.9+-0.4% 0x3c8)", "rax was 0x3c8 in 98.9 % of the times that it was known, "
				    "+- the 95 % bound; load, store: the value in memory; addr: "
				    "its address; to: the target" },
	{ "known 83%", "of the observations, those that told the value" },
	{ 0 },
};

static const struct term exact_terms[] = {
	{ "share", "of the procedure's executed instructions" },
	{ "taken", "how often the branch was" },
	{ "rax:(98.9% 0x3c8)", "rax was 0x3c8 in 98.9 % of the executions; load, store: the value "
			       "in memory; addr: its address; to: the target. A bound follows "
			       "where more values came than the list holds" },
	{ 0 },
};

static const struct term why_terms[] = {
	{ "runs", "how often it was executed: estimated, or counted (--counts)" },
	{ "CPI", "cycles that each execution took" },
	{ "~ ?", "the number of executions is of medium (~) or low (?) confidence" },
	{ "static", "cycles that the order of the instructions takes by itself" },
	{ "stall", "cycles of an execution beyond the static schedule: what is expected of each "
		   "culprit (the range that it lies in) @ the instruction at fault" },
	{ "unexplained", "what no known cause can have taken" },
	{ 0 },
};

static void say_hidden(struct annotate *a, size_t hidden)
{
	char insns[32], operands[32];

	fmt_count(hidden, insns, sizeof(insns));
	fmt_count(a->hidden_operands, operands, sizeof(operands));
	if (hidden && a->hidden_operands)
		emit_footer(&a->r->emit,
			    "Not shown: %s instruction%s (--full), %s operand%s without a hot "
			    "value (--all).",
			    insns, plural(hidden), operands, plural(a->hidden_operands));
	else if (hidden)
		emit_footer(&a->r->emit, "Not shown: %s instruction%s (--full).", insns,
			    plural(hidden));
	else if (a->hidden_operands)
		emit_footer(&a->r->emit, "Not shown: %s operand%s without a hot value (--all).",
			    operands, plural(a->hidden_operands));
}

static void print_footer(struct annotate *a, size_t hidden)
{
	emit_line(&a->r->emit, "%s", "");
	if (!a->im && a->proc->image < a->r->profile.nimage &&
	    a->r->profile.image[a->proc->image]->kind == IMAGE_KERNEL)
		emit_footer(&a->r->emit,
			    "The kernel's code is not read: samples stand beside addresses.");
	else if (!a->im)
		emit_footer(&a->r->emit, "The code is not there: values stand beside addresses.");
	say_hidden(a, hidden);
	if (a->r->view.exact)
		emit_terms(&a->r->emit, exact_terms);
	else
		emit_terms(&a->r->emit, sampled_terms);
	if (a->sum)
		emit_terms(&a->r->emit, why_terms);
	if (a->sum)
		why_print_scale(a->r, a->why->apart,
				a->why->program.sum.counted / fmax(a->why->program.sum.samples, 1));
}

/* Adapts the columns to exact recordings, which have executions only. */
static void make_exact(struct annotate *a)
{
	struct column *c = a->column;
	uint64_t most = 0;
	char count[32];

	for (size_t i = 0; i < a->n; i++)
		if (a->row[i].site && a->row[i].site->observed > most)
			most = a->row[i].site->observed;
	c[COLUMN_SAMPLES].key = c[COLUMN_SAMPLES].header = "executions";
	c[COLUMN_SAMPLES].width = (int)strlen(fmt_count(most, count, sizeof(count)));
	c[COLUMN_BOUND].key = c[COLUMN_OBSERVATIONS].key = NULL;
	for (int i = COLUMN_ESTIMATED; i < COLUMN_N; i++)
		c[i].key = NULL;
}

static void make_estimated(struct column *c)
{
	c[COLUMN_RUNS].header = "runs";
	c[COLUMN_CPI].header = "CPI";
}

static void print_rows(struct annotate *a)
{
	size_t gap = 0, hidden = 0;

	memcpy(a->column, annotate_columns, sizeof(a->column));
	if (a->r->view.exact)
		make_exact(a);
	if (a->sum)
		make_estimated(a->column);
	a->column[COLUMN_MISSES] = (struct column){
		a->r->profile.misses.chunks ? "misses" : NULL, NULL, NULL, 0, EMIT_LEFT, EMIT_JSON
	};
	a->column[COLUMN_SIMULATED] =
		(struct column){ a->r->profile.cycles.chunks ? "simulated_cycles" : NULL,
				 NULL,
				 NULL,
				 0,
				 EMIT_LEFT,
				 EMIT_JSON };
	a->column[COLUMN_ADDRESS].width = snprintf(NULL, 0, "%" PRIx64, a->proc->end);
	emit_table(&a->r->emit, "instructions", a->column, COLUMN_N);
	a->below = a->r->emit.wide ? WIDE : a->r->emit.width;
	a->below -= emit_column_at(&a->r->emit, COLUMN_INSN) + BELOW;
	a->beside = a->below + BELOW - (a->sum ? NARROW : INSN_WIDTH) - 1;
	for (size_t i = 0; i < a->n; i++) {
		if (!a->row[i].shown) {
			hidden++;
			continue;
		}
		print_hidden(a, gap, i);
		gap = i + 1;
		print_row(a, &a->row[i]);
	}
	print_hidden(a, gap, a->n);
	print_footer(a, hidden);
}

static int find_unread(struct annotate *a)
{
	struct slice slice;

	if (!a->im)
		return 0;
	if (slice_init(&slice, &a->listing))
		return -1;
	for (int k = 0; k < 6; k++)
		a->unread[k] = !slice_uses_argument(&slice, 0, k);
	slice_fini(&slice);
	return 0;
}

static int annotate(struct annotate *a, struct err *err)
{
	a->im = binaries_get(&a->r->binaries, a->proc->image);
	if (a->im && listing_read(&a->listing, a->im, &a->r->view, a->proc))
		a->im = NULL;
	if (find_unread(a) || (a->im ? rows_of_listing(a) : rows_of_sites(a)) || select_rows(a))
		return err_no_memory(err, "%zu instructions", a->n);
	reading_heading(a->r);
	print_title(a);
	print_rows(a);
	return 0;
}

/* Whether what its time was spent on can be told: there is time, and code. */
static bool can_tell_why(const struct annotate *a)
{
	const struct view_proc *p = a->proc;

	return !a->r->view.exact && !a->r->caller && p->image < a->r->profile.nimage &&
	       a->r->profile.image[p->image]->kind == IMAGE_FILE && p->sum.samples &&
	       binaries_get(&a->r->binaries, p->image);
}

static void use_why(struct annotate *a, const struct why *why)
{
	a->why = why;
	a->sum = culprit_program_proc(&why->program, a->proc->image, a->proc->start, a->proc->end);
}

static int find_why(struct annotate *a, struct why *why, struct err *err)
{
	if (!can_tell_why(a))
		return 0;
	if (why_make(why, a->r, false, err))
		return -1;
	use_why(a, why);
	return 0;
}

static void annotate_fini(struct annotate *a)
{
	source_fini(&a->source);
	listing_fini(&a->listing);
	free(a->row);
}

json_t *annotate_tree(struct reading *r, const struct view_proc *p, const struct why *why,
		      struct err *err)
{
	struct annotate_options o = { .full = true };
	struct annotate a = { .r = r, .o = &o, .proc = p };
	struct emit kept = r->emit;
	json_t *tree;

	source_init(&a.source);
	emit_open(&r->emit, "annotate", true, false, false);
	if (why && can_tell_why(&a))
		use_why(&a, why);
	tree = annotate(&a, err) ? NULL : json_incref(r->emit.root);
	if (!tree && !err->code)
		err_no_memory(err, "%s", p->name);
	emit_close(&r->emit, NULL);
	r->emit = kept;
	annotate_fini(&a);
	return tree;
}

int annotate_print(struct reading *r, const struct annotate_options *o, struct err *err)
{
	struct annotate a = { .r = r, .o = o };
	struct why why = { 0 };
	int rc;

	a.proc = lookup_proc(&r->view, o->procedure, o->image, err);
	if (!a.proc)
		return -1;
	source_init(&a.source);
	rc = find_why(&a, &why, err);
	if (!rc)
		rc = annotate(&a, err);
	why_fini(&why);
	annotate_fini(&a);
	return rc;
}
