/* SPDX-License-Identifier: MIT */
#include "report/annotate_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "query/lookup.h"
#include "query/share.h"
#include "query/slice.h"

#define SHORT 48 /* procedures up to this many instructions are shown whole */
/* of a longer procedure, the hottest instructions are shown until they have this share of the time, */
#define HOT_COVER 0.9
#define HOT_MOST 40    /* or there are this many, */
#define HOT_LEAST 0.01 /* or each remaining one has less than this share and than the mean */
#define CONTEXT 3      /* instructions shown around a hot one */
#define GAP_LEAST 3    /* shorter gaps are shown */

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

double annotate_share(const struct annotate *a, const struct row *row)
{
	double whole = a->proc->sum.time;

	return row->site && whole > 0 ? view_time(&a->r->view, row->site) / whole : 0;
}

/* Choice of the rows to show. */

static int by_share(const void *x, const void *y, void *ctx)
{
	const struct annotate *a = ctx;
	size_t i = *(const size_t *)x, j = *(const size_t *)y;
	double p = annotate_share(a, &a->row[i]), q = annotate_share(a, &a->row[j]);

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
		double share = annotate_share(a, &a->row[order[k]]);

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

static void print_row(struct annotate *a, const struct row *row)
{
	const struct culprit_insn_time *t = annotate_time(a, row);
	const struct site *s = row->site;
	double samples = (double)a->proc->sum.samples, share = annotate_share(a, row);
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

	annotate_estimates(a, t, cell, runs, cpi);
	if (a->r->emit.json && t && t->executions > 0)
		annotate_stall_cells(t, cell);
	if (a->im && image_line(a->im, row->addr, &file, &line)) {
		snprintf(where, sizeof(where), "%s:%d", file, line);
		cell[COLUMN_LINE] = cell_text(where);
		print_source(a, file, line);
	}
	annotate_stall(a, row, t);
	if (a->r->emit.json)
		annotate_row_json(a, row, cell);
	else
		annotate_row_text(a, row, cell);
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
	a->below = annotate_width(a) - emit_column_at(&a->r->emit, COLUMN_INSN) - ANNOTATE_BELOW;
	a->beside = a->below + ANNOTATE_BELOW - (a->sum ? ANNOTATE_NARROW : ANNOTATE_INSN) - 1;
	for (size_t i = 0; i < a->n; i++) {
		if (!a->row[i].shown) {
			hidden++;
			continue;
		}
		annotate_hidden(a, gap, i);
		gap = i + 1;
		print_row(a, &a->row[i]);
	}
	annotate_hidden(a, gap, a->n);
	annotate_footer(a, hidden);
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
	annotate_title(a);
	print_rows(a);
	return 0;
}

/* Whether the composition of its time can be told: there is time, and code. */
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
