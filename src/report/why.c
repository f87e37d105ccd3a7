/* SPDX-License-Identifier: MIT */
#include "report/why.h"

#include <elf.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "estimate/mca.h"
#include "observe/tallies.h"
#include "report/analysis.h"
#include "query/lookup.h"
#include "store/derived.h"

#define KIND_CULPRITS "culprits"
#define PRINTED 0.0005 /* share that is printed as more than 0.0 % */
#define SHOWN 0.005    /* share of the cycles: culprits with a smaller upper limit are left out */

/* Making the analysis. */

/* Finds Assay's own build-id, because another build's results are not reused. */
static int own_build_id(struct dl_phdr_info *info, size_t size, void *to)
{
	char *buf = to;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *p = (const uint8_t *)(info->dlpi_addr + ph->p_vaddr);
		const uint8_t *end = p + ph->p_memsz;

		while (ph->p_type == PT_NOTE && p + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *n = (const void *)p;
			const uint8_t *id = p + sizeof(*n) + (n->n_namesz + 3U) / 4 * 4;

			if (n->n_type == NT_GNU_BUILD_ID && n->n_descsz >= 8)
				for (int k = 0; k < 8; k++)
					sprintf(buf + 2 * k, "%02x", id[k]);
			p = id + (n->n_descsz + 3U) / 4 * 4;
		}
	}
	return 1; /* the first object is the program */
}

/* Files that are missing or were replaced: their number, and a hash of which of the images they are. */
struct absent {
	unsigned n;
	uint64_t which;
};

static int find_absent(const struct reading *r, struct absent *absent, struct err *err)
{
	struct binaries files;

	*absent = (struct absent){ .which = 14695981039346656037ULL };
	if (binaries_init(&files, &r->profile, NULL, err))
		return -1;
	for (uint32_t i = 0; i < r->profile.nimage; i++)
		if (r->profile.image[i]->kind == IMAGE_FILE && !binaries_get(&files, i))
			absent->which = (absent->which ^ i) * 1099511628211ULL;
	absent->n = files.missing;
	binaries_fini(&files);
	return 0;
}

/* Makes a key of everything that the analysis depends on, except existing files, whose build-ids
 * are checked. */
static void make_key(const struct reading *r, const struct absent *absent, char *buf, size_t n)
{
	const struct schedule_options o = { .cpu = analysis_cpu(r) };
	const char *program = mca_program(&o);
	char id[17] = "", lacks[64] = "";

	dl_iterate_phdr(own_build_id, id);
	if (absent->n)
		snprintf(lacks, sizeof(lacks), " without %u files, %016llx", absent->n,
			 (unsigned long long)absent->which);
	snprintf(buf, n, "%s %s %s %s %s %zu sites %llu samples%s", ASSAY_VERSION, id,
		 estimate_method_name[r->method], o.cpu ? o.cpu : "", program ? program : "",
		 r->profile.sites.n, (unsigned long long)r->view.sum.samples, lacks);
}

static bool read_cached(struct why *w, const struct reading *r, const char *key)
{
	struct buffer b;

	if (!derived_read(r->content, KIND_CULPRITS, key, &b))
		return false;
	w->cached = culprit_program_read(&w->program, b.p, b.n, r->profile.nimage);
	free(b.p);
	return w->cached;
}

/* Converts the result to bytes and back, so that it prints alike whether it was cached or not. */
static int keep(struct why *w, const struct reading *r, const char *key, bool whole,
		struct err *err)
{
	struct buffer b = { 0 };
	bool ok = culprit_program_write(&w->program, &b);

	culprit_program_fini(&w->program);
	if (ok && whole)
		derived_write(r->content, KIND_CULPRITS, key, &b);
	ok = ok && culprit_program_read(&w->program, b.p, b.n, r->profile.nimage);
	free(b.p);
	return ok ? 0 : err_no_memory(err, "culprits");
}

int why_make(struct why *w, struct reading *r, bool warn, struct err *err)
{
	struct absent absent = { 0 };
	struct analysis a;
	char key[512];
	int rc;

	memset(w, 0, sizeof(*w));
	w->machine = culprit_machine(analysis_cpu(r));
	make_key(r, &absent, key, sizeof(key));
	if (!r->counts && read_cached(w, r, key))
		return 0; /* from all files, even if some are gone by now */
	if (find_absent(r, &absent, err))
		return -1;
	make_key(r, &absent, key, sizeof(key));
	if (!r->counts && absent.n && read_cached(w, r, key))
		return 0;
	if (analysis_open(&a, r, warn, err))
		return -1;
	rc = culprit_program_make(&w->program, &a.source, a.method, err);
	w->apart = w->program.apart;
	/* Results are not cached if a file has vanished meanwhile, if llvm-mca is missing, which may exist
	 * the next time, or with counts, which come from another recording. */
	if (!rc)
		rc = keep(w, r, key,
			  !r->counts && a.files->missing <= absent.n && !w->program.warning[0],
			  err);
	analysis_close(&a);
	return rc;
}

void why_fini(struct why *w)
{
	culprit_program_fini(&w->program);
}

/* The analysis as text. */

struct ranked {
	int culprit;
	double max, expected;
};

static int by_expected(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->expected != y->expected)
		return x->expected > y->expected ? -1 : 1;
	return x->culprit - y->culprit;
}

/* Writes "0", "0.3", "12". */
static char *short_number(double v, char *buf, size_t n)
{
	snprintf(buf, n, v < 0.05 ? "0" : v < 9.95 ? "%.1f" : "%.0f", v);
	return buf;
}

/* Whether a range is too wide to say anything. */
static bool says_nothing(double min, double max, double whole)
{
	return max - min > 0.9 * whole;
}

/* Writes "0.3 (0-12)": the expected value, and its range. */
static char *range_text(double min, double max, double expected, char *buf, size_t n)
{
	char low[32], high[32], mid[32];

	short_number(min, low, sizeof(low));
	short_number(max, high, sizeof(high));
	short_number(expected, mid, sizeof(mid));
	if (strcmp(low, high) == 0)
		snprintf(buf, n, "%s", high);
	else
		snprintf(buf, n, "%s (%s-%s)", mid, low, high);
	return buf;
}

/* Appends ", piece" if there is room. */
static bool append(char *buf, size_t n, size_t width, const char *piece)
{
	size_t k = strlen(buf);

	if (k + (k ? 2 : 0) + strlen(piece) > width || k + strlen(piece) + 3 > n)
		return false;
	snprintf(buf + k, n - k, "%s%s", k ? ", " : "", piece);
	return true;
}

char *why_ranges_text(const struct culprit_range *v, double by, size_t width, char *buf, size_t n)
{
	struct ranked order[CULPRIT_N];
	char piece[224], range[128];

	buf[0] = 0;
	for (int i = 0; i < CULPRIT_N; i++)
		order[i] = (struct ranked){ i, v[i].max, v[i].expected };
	qsort(order, CULPRIT_N, sizeof(*order), by_expected);
	for (int i = 0; i < CULPRIT_N; i++) {
		const struct culprit_range *r = &v[order[i].culprit];
		int k = snprintf(piece, sizeof(piece), "%s %s", culprit_short[order[i].culprit],
				 range_text(r->min / by, r->max / by, r->expected / by, range,
					    sizeof(range)));

		if (r->max / by < 0.05)
			continue;
		if (r->fault)
			k += snprintf(piece + k, sizeof(piece) - (size_t)k, " @%llx",
				      (unsigned long long)r->fault);
		if (r->with)
			snprintf(piece + k, sizeof(piece) - (size_t)k, " after @%llx",
				 (unsigned long long)r->with);
		if (!append(buf, n, width, piece))
			break;
	}
	return buf;
}

/* The factor by which its executions may be off, either way, in at most one case of ten. */
static double why_factor(const struct culprit_sum *s)
{
	return s->executions > 0 ? estimate_factor(s->error / s->executions) : 1;
}

/* The least number of scheduled cycles that wait for the culprit's unit: executions, and the schedule itself, may be
 * fewer. */
static double fixed_least(const struct culprit_sum *s, int c)
{
	double fixed = c == CULPRIT_DIVIDER	 ? s->divide
		       : c == CULPRIT_MULTIPLIER ? s->multiply_least
						 : 0;

	return fixed / (why_factor(s) * CULPRIT_AT_ONCE);
}

/* Static stalls that wait for the culprit's unit. */
static double fixed_by(const struct culprit_sum *s, int c)
{
	return c == CULPRIT_DIVIDER ? s->divide : c == CULPRIT_MULTIPLIER ? s->multiply : 0;
}

char *why_sum_text(const struct culprit_sum *s, size_t width, char *buf, size_t n)
{
	struct ranked order[CULPRIT_N];
	char piece[224], range[128];

	buf[0] = 0;
	for (int i = 0; i < CULPRIT_N; i++)
		order[i] = (struct ranked){ i, s->max[i] + fixed_by(s, i),
					    s->expected[i] + fixed_by(s, i) };
	qsort(order, CULPRIT_N, sizeof(*order), by_expected);
	for (int i = 0; i < CULPRIT_N; i++) {
		int c = order[i].culprit;
		double fixed, min, max;

		if (order[i].max < SHOWN * s->cycles)
			continue;
		fixed = fixed_by(s, c);
		min = 100 * (s->min[c] + fixed_least(s, c)) / s->cycles;
		max = fmin(100, 100 * (s->max[c] + fixed * why_factor(s)) / s->cycles);
		if (says_nothing(min, max, 100))
			snprintf(range, sizeof(range), "(%.0f-%.0f)", min, max);
		else
			range_text(min, max, 100 * (s->expected[c] + fixed) / s->cycles, range,
				   sizeof(range));
		snprintf(piece, sizeof(piece), "%s %s", culprit_short[c], range);
		if (!append(buf, n, width, piece))
			break;
	}
	return buf;
}

/* The analysis as JSON. */

static json_t *part_json(double v, double whole)
{
	return whole > 0 ? json_real(v / whole) : json_null();
}

static double fixed_of(const struct culprit_sum *s)
{
	return s->fixed[SCHEDULE_DEPENDENCE] + s->fixed[SCHEDULE_UNIT] + s->fixed[SCHEDULE_LATENCY];
}

char *why_cpi_text(const struct culprit_sum *s, char *buf, size_t n)
{
	double cpi = s->executions > 0 ? s->cycles / s->executions : NAN;
	double factor = why_factor(s);
	int digits = cpi * factor < 9.95 ? 1 : 0;

	*buf = 0;
	if (isfinite(cpi) && factor > 1.01)
		snprintf(buf, n, "%.*f-%.*f", digits, cpi / factor, digits, cpi * factor);
	return buf;
}

static json_t *fixed_json(const struct culprit_sum *s, int c)
{
	double v = fixed_by(s, c);

	return json_pack("{s:o,s:o,s:o}", "min", part_json(fixed_least(s, c), s->cycles), "max",
			 part_json(fmin(v * why_factor(s), s->cycles), s->cycles), "expected",
			 part_json(v, s->cycles));
}

json_t *why_sum_json(const struct culprit_sum *s)
{
	json_t *o = json_object(), *culprits = json_object();

	for (int i = 0; i < CULPRIT_N; i++)
		json_object_set_new(culprits, culprit_name[i],
				    json_pack("{s:o,s:o,s:o,s:o}", "min",
					      part_json(s->min[i], s->cycles), "max",
					      part_json(s->max[i], s->cycles), "expected",
					      part_json(s->expected[i], s->cycles), "caused",
					      part_json(s->caused[i], s->cycles)));
	json_object_set_new(o, "cpi", part_json(s->cycles, s->executions));
	json_object_set_new(o, "cpi_min", part_json(s->cycles, s->executions * why_factor(s)));
	json_object_set_new(o, "cpi_max", part_json(s->cycles * why_factor(s), s->executions));
	json_object_set_new(o, "executed", json_real(s->executions));
	json_object_set_new(o, "executed_min", json_real(s->executions / why_factor(s)));
	json_object_set_new(o, "executed_max", json_real(s->executions * why_factor(s)));
	json_object_set_new(o, "counted", part_json(s->counted, s->samples));
	json_object_set_new(o, "execution", part_json(s->ideal, s->cycles));
	json_object_set_new(o, "static", part_json(fixed_of(s), s->cycles));
	json_object_set_new(o, "static_dependence",
			    part_json(s->fixed[SCHEDULE_DEPENDENCE], s->cycles));
	json_object_set_new(o, "static_unit", part_json(s->fixed[SCHEDULE_UNIT], s->cycles));
	json_object_set_new(o, "static_latency", part_json(s->fixed[SCHEDULE_LATENCY], s->cycles));
	json_object_set_new(o, "static_divider", fixed_json(s, CULPRIT_DIVIDER));
	json_object_set_new(o, "static_multiplier", fixed_json(s, CULPRIT_MULTIPLIER));
	json_object_set_new(o, "dynamic", part_json(s->stall, s->cycles));
	json_object_set_new(o, "unexplained", part_json(s->unexplained, s->cycles));
	json_object_set_new(o, "raised", part_json(s->raised, s->cycles));
	json_object_set_new(o, "gain", part_json(s->gain, s->cycles));
	json_object_set_new(o, "not_estimated", part_json(s->unestimated, s->cycles));
	json_object_set_new(o, "low_confidence", part_json(s->doubtful, s->cycles));
	json_object_set_new(o, "culprits", culprits);
	return o;
}

/* Tables of the program. */

static void line(struct emit *e, const char *label, double v, double whole, bool total)
{
	char text[16];

	fmt_percent(v / whole, text, sizeof(text));
	emit_line(e, total ? "%-42s %7s" : "  %-35s %5s", label, text);
}

static void culprit_line(struct emit *e, const struct culprit_sum *s, int c)
{
	char low[16], high[16], expected[16];

	fmt_percent(s->min[c] / s->cycles, low, sizeof(low));
	fmt_percent(s->max[c] / s->cycles, high, sizeof(high));
	fmt_percent(s->expected[c] / s->cycles, expected, sizeof(expected));
	if (says_nothing(s->min[c], s->max[c], s->cycles))
		strcpy(expected, "?");
	emit_line(e, "  %-35s %5s (%s to %s)", culprit_words[c], expected, low, high);
}

static void print_sum(struct emit *e, const struct culprit_sum *s)
{
	struct ranked order[CULPRIT_N];
	double whole = s->cycles;

	for (int i = 0; i < CULPRIT_N; i++)
		order[i] = (struct ranked){ i, s->max[i], s->expected[i] };
	qsort(order, CULPRIT_N, sizeof(*order), by_expected);
	for (int i = 0; i < CULPRIT_N; i++)
		if (order[i].max >= SHOWN / 10 * whole)
			culprit_line(e, s, order[i].culprit);
	if (s->raised >= SHOWN / 10 * whole) /* this is a part of the line above */
		line(e, "(may be execution: runs uncertain)", s->raised, whole, false);
	line(e, "unexplained", s->unexplained, whole, false);
	line(e, "dynamic stalls", s->stall, whole, true);
	line(e, "data dependence", s->fixed[SCHEDULE_DEPENDENCE], whole, false);
	line(e, "busy execution unit", s->fixed[SCHEDULE_UNIT], whole, false);
	line(e, "latency of the instruction", s->fixed[SCHEDULE_LATENCY], whole, false);
	if (s->divide >= SHOWN * whole)
		line(e, "  for a division", s->divide, whole, false);
	if (s->multiply >= SHOWN * whole)
		line(e, "  for a multiplication", s->multiply, whole, false);
	line(e, "static stalls", fixed_of(s), whole, true);
	line(e, "execution", s->ideal, whole, true);
	if (s->unestimated > 0)
		line(e, "executions not estimated", s->unestimated, whole, true);
	emit_line(e, "%-42s %7s", "all", "100.0");
}

/* Tables of procedures. */

enum {
	COLUMN_SHARE,
	COLUMN_CPI,
	COLUMN_RANGE,
	COLUMN_STATIC,
	COLUMN_DYNAMIC,
	COLUMN_PROCEDURE,
	COLUMN_CULPRITS,
	COLUMN_IMAGE,
	COLUMN_ADDRESS,
	COLUMN_WHY,
	COLUMN_N
};

static const struct column columns[COLUMN_N] = {
	[COLUMN_SHARE] = { "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_CPI] = { "cpi", "CPI", NULL, 5, EMIT_RIGHT, EMIT_REAL },
	[COLUMN_RANGE] = { NULL, "range", NULL, 7, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_STATIC] = { NULL, "static", "%", 0, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_DYNAMIC] = { NULL, "dynamic", "%", 0, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_PROCEDURE] = { "procedure", "procedure", NULL, 16, EMIT_LEFT_NAME, EMIT_TEXT },
	[COLUMN_CULPRITS] = { NULL, "culprits", "%", 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_IMAGE] = { "image", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_ADDRESS] = { "address", NULL, NULL, 0, EMIT_LEFT, EMIT_ADDR },
	[COLUMN_WHY] = { "why", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
};

static const struct view_proc *proc_of(const struct view *v, const struct culprit_program_proc *p)
{
	for (size_t i = 0; i < v->nproc; i++)
		if (v->proc[i].image == p->image && p->addr >= v->proc[i].start &&
		    p->addr < v->proc[i].end)
			return &v->proc[i];
	return NULL;
}

static void print_proc(struct reading *r, const struct culprit_program_proc *p)
{
	const struct culprit_sum *s = &p->sum;
	const struct view_proc *proc = proc_of(&r->view, p);
	char name[1024], text[4200], range[32];
	struct cell cell[COLUMN_N] = {
		[COLUMN_SHARE] = cell_real(s->samples / (double)r->view.sum.samples),
		[COLUMN_CPI] =
			s->executions > 0 ? cell_real(s->cycles / s->executions) : cell_none(),
		[COLUMN_RANGE] = cell_text(why_cpi_text(s, range, sizeof(range))),
		[COLUMN_STATIC] = cell_real(fixed_of(s) / s->cycles),
		[COLUMN_DYNAMIC] = cell_real(s->stall / s->cycles),
		[COLUMN_IMAGE] = cell_text(r->view.image[p->image].name),
		[COLUMN_ADDRESS] = cell_count(p->addr),
	};
	int width = emit_column_width(&r->emit, COLUMN_CULPRITS);

	if (proc)
		view_proc_name(proc, name, sizeof(name));
	else
		snprintf(name, sizeof(name), "sub_%llx", (unsigned long long)p->addr);
	cell[COLUMN_PROCEDURE] = cell_text(name);
	cell[COLUMN_CULPRITS] =
		/* under the terminal's width, not up to it */
		cell_text(why_sum_text(s, width > 1 ? (size_t)width - 1 : 0, text, sizeof(text)));
	if (r->emit.json)
		cell[COLUMN_WHY] = cell_json(why_sum_json(s));
	emit_row(&r->emit, cell);
}

static void print_procs(struct reading *r, const struct why *w, const struct why_options *o)
{
	size_t shown = 0, all = 0;
	struct culprit_sum rest = { 0 };
	char share[16], count[32];

	emit_table(&r->emit, "procedures", columns, COLUMN_N);
	for (size_t i = 0; i < w->program.nproc; i++) {
		const struct culprit_program_proc *p = &w->program.proc[i];

		if (!view_image_matches(&r->view, p->image, o->image))
			continue;
		all++;
		if (o->n && shown >= o->n) {
			culprit_sum_add(&rest, &p->sum);
			continue;
		}
		print_proc(r, p);
		shown++;
	}
	emit_set(&r->emit, "procedures_total", json_integer((json_int_t)all));
	if (shown < all)
		emit_footer(&r->emit, "%s more procedure%s with %s %% of the time: -n 0 shows all",
			    fmt_count(all - shown, count, sizeof(count)), plural(all - shown),
			    fmt_percent(rest.samples / (double)r->view.sum.samples, share,
					sizeof(share)));
}

char why_mark(uint8_t confidence)
{
	static const char mark[CONFIDENCE_N] = { ' ', '?', '~', ' ' };

	return confidence < CONFIDENCE_N ? mark[confidence] : ' ';
}

/* Returns where executions come from, unless from the default method; else "". */
static const char *method_text(const struct reading *r)
{
	switch (r->method) {
	case ESTIMATE_DCPI:
		return "Executions: samples over least times, within each procedure. ";
	case ESTIMATE_FLOW:
		return "Executions: observations reconciled with each procedure's flow. ";
	default:
		return "";
	}
}

/* error up to which the program's own counters are not suspicious */
#define SUSPICIOUS 1.5

static void print_counts(struct reading *r, double apart)
{
	const struct counts *c = r->counts;
	double unexecuted = counts_unexecuted(c, r);
	char command[1024], share[16];

	emit_set(&r->emit, "counts",
		 json_pack("{s:o,s:f,s:f,s:b}", "recording", emit_text_json(c->exact->path),
			   "repeat", c->repeat, "unexecuted", unexecuted, "misses",
			   c->exact->profile.misses.chunks != 0));
	emit_footer(&r->emit, "Executions: counted by %s, a run of `%.300s`, times %g.",
		    c->exact->path, reading_command(c->exact, command, sizeof(command)), c->repeat);
	if (!reading_finished(c->exact))
		emit_footer(&r->emit,
			    "Its recorder was killed: what ran after it last wrote is not "
			    "counted.");
	if (c->exact->profile.misses.chunks)
		emit_footer(&r->emit, "What caches, TLBs and predictors missed there, simulated, "
				      "bounds culprits.");
	if (unexecuted >= 0.005)
		emit_footer(&r->emit,
			    "%s %% of the time is at instructions that were not executed there: "
			    "their executions are estimates.",
			    fmt_percent(unexecuted, share, sizeof(share)));
	if (apart > 0 && (apart > SUSPICIOUS || apart < 1 / SUSPICIOUS))
		emit_footer(&r->emit,
			    "By the program's own counters this recording did that work some %s "
			    "times: --repeat says how often.",
			    fmt_short(c->repeat / apart, share, sizeof(share)));
}

void why_print_scale(struct reading *r, double apart, double counted)
{
	char share[16];

	emit_set(&r->emit, "method", json_string(estimate_method_name[r->method]));
	emit_set(&r->emit, "counted", json_real(counted));
	if (r->counts)
		print_counts(r, apart);
	else if (counted >= PRINTED)
		emit_footer(&r->emit,
			    "%sExecutions: by the program's own counters for %s %% of the time.",
			    method_text(r), fmt_percent(counted, share, sizeof(share)));
	else
		emit_footer(&r->emit,
			    "%sExecutions: from time alone, as no counter of the program was seen.",
			    method_text(r));
}

static int check(const struct reading *r, const struct why *w, const struct why_options *o,
		 struct culprit_sum *sum, struct err *err)
{
	*sum = (struct culprit_sum){ 0 };
	for (size_t i = 0; i < w->program.nproc; i++)
		if (view_image_matches(&r->view, w->program.proc[i].image, o->image))
			culprit_sum_add(sum, &w->program.proc[i].sum);
	if (sum->cycles > 0)
		return 0;
	if (o->image) {
		err_set(err, ERR_EMPTY, "no code with samples is in an image that matches '%s'",
			o->image);
		return err_hint(err, "`assay report --by image` lists them");
	}
	err_set(err, ERR_EMPTY, "%s has no samples in code whose file is there, as it was recorded",
		r->path);
	return err_hint(err, "put back the files that were recorded, or record again");
}

static const struct term terms[] = {
	{ "CPI", "cycles an instruction took; range: where it lies in nine cases of ten" },
	{ "culprits", "what is expected of each (the range that it lies in). Several can share a "
		      "stall: the upper ends add up to more, what is expected adds up" },
	{ "dynamic", "cycles beyond the static schedule, by what can have caused them" },
	{ "may be execution", "a part of the dynamic stalls that were execution if instructions "
			      "ran more often than estimated" },
	{ "unexplained", "what no known cause can have taken" },
	{ "dependence on earlier blocks", "a result of an earlier block comes late: shorten the "
					  "chain of dependent instructions" },
	{ "data dependence", "static: an operand that the same block computes is not there yet" },
	{ "busy execution unit", "static: the unit that the instruction needs is taken" },
	{ "latency of the instruction", "static: the instruction itself takes several cycles" },
	{ "execution", "cycles in which an instruction retires, as wide as the core is" },
	{ "overlap", "blocks overlapped more than the static schedule has them; subtracted, so "
		     "that the parts add up to 100" },
	{ 0 },
};

/* Says where executions of code compare badly with those of other code, including counted ones. */
static void print_doubtful(struct reading *r, const struct culprit_sum *sum)
{
	const char *beside = sum->counted > 0 ? "the code that counts" : "other code";
	char doubtful[16];

	if (r->counts || sum->doubtful < PRINTED * sum->cycles)
		return;
	fmt_percent(sum->doubtful / sum->cycles, doubtful, sizeof(doubtful));
	emit_footer(&r->emit,
		    "For %s %% of the time it is uncertain how often the code ran beside %s.",
		    doubtful, beside);
}

static void print_all(struct reading *r, const struct why *w, const struct why_options *o,
		      const struct culprit_sum *sum)
{
	char share[16];

	reading_heading(r);
	emit_set(&r->emit, "machine", json_string(w->machine->name));
	emit_set(&r->emit, "cycles_per_sample", json_real(w->program.period));
	emit_set(&r->emit, "share", json_real(sum->samples / (double)r->view.sum.samples));
	emit_set(&r->emit, "why", why_sum_json(sum));
	emit_line(&r->emit, "%s %% of the time is in code that can be analysed; of that, per cent:",
		  fmt_percent(sum->samples / (double)r->view.sum.samples, share, sizeof(share)));
	emit_line(&r->emit, "%s", "");
	if (!r->emit.json)
		print_sum(&r->emit, sum);
	emit_line(&r->emit, "%s", "");
	print_procs(r, w, o);
	emit_line(&r->emit, "%s", "");
	if (w->program.warning[0])
		emit_footer(&r->emit, "%s", w->program.warning);
	emit_footer(&r->emit, "Bounds are for: %s.", w->machine->name);
	why_print_scale(r, w->apart, w->program.sum.counted / fmax(w->program.sum.samples, 1));
	print_doubtful(r, sum);
	emit_terms(&r->emit, terms);
}

int why_print(struct reading *r, const struct why_options *o, struct err *err)
{
	struct culprit_sum sum;
	struct why w;
	int rc;

	if (r->view.exact) {
		err_set(err, ERR_FAILED, "%s is exact: it counts executions and has no time",
			r->path);
		return err_hint(err, "--why explains time: record without --exact");
	}
	if (why_make(&w, r, true, err))
		return -1;
	rc = check(r, &w, o, &sum, err);
	if (!rc)
		print_all(r, &w, o, &sum);
	why_fini(&w);
	return rc;
}
