/* SPDX-License-Identifier: MIT */
#include "report/info.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fmt.h"
#include "observe/tallies.h"
#include "observe/sampled.h"
#include "report/sampled.h"
#include "report/threads.h"

#define LABEL 16 /* columns of the label */

struct stop_row {
	int stop;
	uint64_t windows;
};

/* The items in order: their labels, and how they come from the counters. */
struct item {
	struct column c;
	size_t counter; /* offset of a counter in struct run_counters; not used where one of the functions is set */
	double (*real)(const struct run_counters *n);
	struct cell (*cell)(const struct reading *r);
	bool often_zero; /* text omits the item if it is 0 */
	const char *note;
};

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : NAN;
}

static double mean_length(const struct run_counters *n)
{
	return ratio(n->instructions, n->windows + n->rare);
}

static double ns_per_instruction(const struct run_counters *n)
{
	return ratio(n->ahead_ns, n->instructions);
}

static double ns_per_window(const struct run_counters *n)
{
	return ratio(n->ahead_ns, n->windows + n->rare);
}

static double uops_per_instruction(const struct run_counters *n)
{
	return ratio(n->uops, n->instructions);
}

static double ns_per_lifted(const struct run_counters *n)
{
	return ratio(n->lift_ns, n->lifted);
}

static double ns_per_frame(const struct run_counters *n)
{
	return ratio(n->walk_ns, n->stack_frames);
}

static double lost_share(const struct run_counters *n)
{
	return ratio(reading_lost(n), n->samples + reading_lost(n));
}

static double unattributed_share(const struct run_counters *n)
{
	return ratio(n->unattributed, n->user);
}

/* Of how many windows one was run, where others were passed over. */
static double windows_each(const struct run_counters *n)
{
	uint64_t passed = n->stop[RA_STOP_PASSED];

	return passed ? ratio(n->user, n->user - passed) : NAN;
}

static double ahead_share(const struct run_counters *n)
{
	return ratio(n->windows, n->user);
}

static double program_time(const struct run_counters *n)
{
	return n->program_ns ? (double)n->program_ns : NAN;
}

static double fixed_time(const struct run_counters *n)
{
	return n->fixed_ns ? (double)n->fixed_ns : NAN;
}

/* The mean of a sum over measurements. */
static double near_time(const struct run_counters *n)
{
	return ratio(n->near_ps, n->memory_measured) / 1000;
}

static double far_time(const struct run_counters *n)
{
	return ratio(n->far_ps, n->memory_measured) / 1000;
}

static double page_walk_time(const struct run_counters *n)
{
	return n->page_walk_ps ? ratio(n->page_walk_ps, n->memory_measured) / 1000 : NAN;
}

static double large_pages(const struct run_counters *n)
{
	return ratio(n->large_kib, n->memory_kib);
}

static double refill_time(const struct run_counters *n)
{
	return n->refills ? 1e12 / ratio(n->refills, n->memory_measured) : NAN;
}

static double recorder_time(const struct run_counters *n)
{
	return (double)n->recorder_ns;
}

#define COLUMN(key, label, unit, kind) \
	{ \
		key, label, unit, LABEL, EMIT_LEFT, kind \
	}
#define COUNTER(name, label, unit) \
	{ \
		COLUMN(#name, label, unit, EMIT_COUNT), offsetof(struct run_counters, name), NULL, \
			NULL, false, NULL \
	}
#define SELDOM(name, label, note) \
	{ \
		COLUMN(#name, label, NULL, EMIT_COUNT), offsetof(struct run_counters, name), NULL, \
			NULL, true, note \
	}
#define FIGURE(key, label, unit, kind, of) \
	{ \
		COLUMN(key, label, unit, kind), 0, of, NULL, false, NULL \
	}

static const struct item items[] = {
	COUNTER(processes, "processes", NULL),
	COUNTER(samples, "samples", NULL),
	COUNTER(user, "  user", NULL),
	COUNTER(kernel, "  kernel", NULL),
	SELDOM(idle, "  idle", NULL),
	COUNTER(unattributed, "unattributed", NULL),
	FIGURE("unattributed_share", "", "% of user samples: image not found", EMIT_SHARE,
	       unattributed_share),
	FIGURE("lost_share", "lost", "% of all samples", EMIT_SHARE, lost_share),
	SELDOM(lost_ring, "  ring buffer", "it was full: a larger --ring helps"),
	SELDOM(lost_stacks, "  call stacks", "of samples that are here; the ring buffer was full"),
	SELDOM(lost_nested, "  nested", "interrupted another sample"),
	SELDOM(lost_map, "  no entry", "no room in a map of the kernel side"),
	SELDOM(lost_write, "  not written", "the recording could not be written"),
	COUNTER(windows, "windows", NULL),
	FIGURE("windows_share", "", "% of user samples ran ahead", EMIT_SHARE, ahead_share),
	FIGURE("window_stands", "  each", "windows, others were passed over: it stands for these",
	       EMIT_REAL, windows_each),
	FIGURE("window_length", "mean length", "instructions", EMIT_REAL, mean_length),
	COUNTER(instructions, "run ahead", "instructions"),
	FIGURE("uops_per_instruction", "", "micro-ops an instruction", EMIT_REAL,
	       uops_per_instruction),
	COUNTER(lifted, "lifted", "instructions"),
	FIGURE("instruction_ns", "in the kernel", "an instruction run ahead", EMIT_TIME,
	       ns_per_instruction),
	FIGURE("window_ns", "", "a window", EMIT_TIME, ns_per_window),
	FIGURE("lifting_ns", "lifting", "an instruction, once each", EMIT_TIME, ns_per_lifted),
	SELDOM(stacks, "call stacks", NULL),
	SELDOM(stack_copies, "  copied", "the kernel side's tables lacked something"),
	FIGURE("frame_ns", "", "a frame walked in the kernel", EMIT_TIME, ns_per_frame),
	SELDOM(rare, "rare windows", "beside the samples, at page faults; --pgo"),
	SELDOM(watches, "watched", "lines, with watchpoints"),
	SELDOM(watch_hits, "  hits", "exceptions that these raised"),
	SELDOM(watch_unhit, "  unhit", "not touched while they were watched"),
	SELDOM(watch_failed, "  refused", "the debug registers were taken"),
	SELDOM(policy_operands, "policy slots", "operands of instructions that were judged"),
	SELDOM(policy_masked, "  masked", "known well enough when the recording ended"),
	SELDOM(policy_reopened, "  again", "judged again after a pause"),
	SELDOM(policy_thrashed, "  thrashed", "more operands than slots: they took turns"),
	FIGURE("cost", "cost", "% of the program's CPU time, while it ran", EMIT_SHARE,
	       reading_cost),
	FIGURE("fixed_ns", "", "of CPU time at start and end", EMIT_TIME, fixed_time),
	FIGURE("large_pages_share", "large pages", "% of memory, files apart", EMIT_SHARE,
	       large_pages),
	FIGURE("near_ns", "load", "from the third cache level, before the start", EMIT_TIME,
	       near_time),
	FIGURE("far_ns", "", "from memory", EMIT_TIME, far_time),
	FIGURE("page_walk_ns", "", "of a page walk, where no TLB has the page", EMIT_TIME,
	       page_walk_time),
	FIGURE("refill_ns", "", "after which others have filled that level", EMIT_TIME,
	       refill_time),
	FIGURE("missed_share", "missed", "% of the program's CPU time: no sample stands for it",
	       EMIT_SHARE, reading_missed),
};

/* Items of an exact recording. */
static const struct item exact_items[] = {
	COUNTER(processes, "processes", NULL),
	SELDOM(native, "  not in it", "programs that ran without the engine"),
	{ COLUMN("executions", "executed", "instructions", EMIT_COUNT), 0, NULL, reading_executions,
	  false, NULL },
	SELDOM(uncounted, "  not counted", "instructions whose code kept changing"),
	FIGURE("recorder_ns", "CPU time", "of the recorder", EMIT_TIME, recorder_time),
	FIGURE("program_ns", "", "of the program, engine included", EMIT_TIME, program_time),
};

static const struct column stop_columns[] = {
	{ "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	{ "count", "samples", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
	{ "stop", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "meaning", "why their windows ended", NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

static const struct column image_columns[] = {
	{ "samples", "samples", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
	{ "kind", "kind", NULL, 7, EMIT_LEFT, EMIT_TEXT },
	{ "build_id", "build-id", NULL, 12, EMIT_LEFT, EMIT_TEXT },
	{ "symbols", "symbols", NULL, 7, EMIT_LEFT, EMIT_TEXT },
	{ "image", "image", NULL, 0, EMIT_LEFT_TAIL, EMIT_TEXT },
};

/* Shown in place of samples. */
static const struct column executed_column = { "executions", "instructions", NULL,
					       15,	     EMIT_RIGHT,     EMIT_COUNT };

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *name, *what;
} stops[RA_STOP_N] = {
#define X(id, name, what) [RA_STOP_##id] = { name, what },
	RA_STOPS(X)
#undef X
};

static uint64_t counter(const struct run_counters *n, size_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)n + offset, sizeof(v));
	return v;
}

static struct cell item_cell(const struct reading *r, const struct item *it)
{
	const struct run_counters *n = &r->view.counters;

	if (it->cell)
		return it->cell(r);
	return it->real ? cell_real(it->real(n)) : cell_count(counter(n, it->counter));
}

static void print_items(struct reading *r)
{
	const struct item *it = r->view.exact ? exact_items : items;
	const struct item *end = it + (r->view.exact ? COUNT_OF(exact_items) : COUNT_OF(items));

	for (; it < end; it++) {
		struct cell cell = item_cell(r, it);
		bool hidden = !cell.known || (it->often_zero && !cell.count);

		if (!hidden || r->emit.json)
			emit_item(&r->emit, &it->c, cell, it->note);
	}
}

static void print_text(struct reading *r, const char *key, const char *label, const char *text)
{
	const struct column c = COLUMN(key, label, NULL, EMIT_TEXT);

	if (text && *text)
		emit_item(&r->emit, &c, cell_text(text), NULL);
}

/* Runs, with one sentence of each kind. */

/* Whether a command was started; otherwise -p, -t, -a or --cgroup stand in its place. */
static bool has_command(const struct run *run)
{
	const char *c = run->command ? run->command : "";

	return strncmp(c, "-p ", 3) && strncmp(c, "-t ", 3) && strcmp(c, "-a") &&
	       strncmp(c, "--cgroup ", 9);
}

static char *status_text(const struct run *run, char *buf, size_t n)
{
	buf[0] = 0;
	if (!run->finished)
		snprintf(buf, n, "; unfinished: recorder killed or could not write");
	else if (WIFSIGNALED(run->status))
		snprintf(buf, n, "; ended by signal %d", WTERMSIG(run->status));
	else if (has_command(run))
		snprintf(buf, n, "; exit status %d", WEXITSTATUS(run->status));
	return buf;
}

static char *started_text(const struct run *run, char *buf, size_t n)
{
	time_t t = (time_t)run->started;
	struct tm tm;

	buf[0] = 0;
	if (run->started && gmtime_r(&t, &tm))
		strftime(buf, n, "%Y-%m-%d %H:%M:%S UTC", &tm);
	return buf;
}

static const char *sketch_name(const struct run *run)
{
	return run->sketch >= 0 && run->sketch < HOT_METHOD_N ? hot_method_name[run->sketch] : "?";
}

/* Whether the run has lists of hot values. */
static bool keeps_values(const struct run *run)
{
	const char *what = run->event ? run->event : "";

	return !run_is_exact(run) || !strcmp(what, "addresses") || !strcmp(what, "values") ||
	       !strcmp(what, "calls");
}

/* The counters that an exact run has. */
static json_t *exact_counters_json(const struct run_counters *n)
{
	return json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:I}", "executions",
			 n->instructions ? json_integer((json_int_t)n->instructions) : json_null(),
			 "processes", (json_int_t)n->processes, "native", (json_int_t)n->native,
			 "uncounted", (json_int_t)n->uncounted, "recorder_ns",
			 (json_int_t)n->recorder_ns, "program_ns", (json_int_t)n->program_ns,
			 "elapsed_ns", (json_int_t)n->elapsed_ns);
}

static json_t *exact_run_json(const struct run *run)
{
	bool values = keeps_values(run);
	char started[64];

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:s?,s:o,s:i,s:b,s:s,s:o}", "source",
			 emit_text_json(run->source), "host", emit_text_json(run->host), "cpu",
			 emit_text_json(run->cpu), "kernel", emit_text_json(run->kernel), "version",
			 emit_text_json(run->version), "observe", emit_text_json(run->event),
			 "sketch", values ? sketch_name(run) : NULL, "sketch_capacity",
			 values ? json_integer(run->sketch_capacity) : json_null(), "status",
			 run->status, "finished", (int)run->finished, "started",
			 started_text(run, started, sizeof(started)), "counters",
			 exact_counters_json(&run->n));
}

static json_t *sampled_run_json(const struct run *run)
{
	char started[64];
	json_t *counters = json_object();

#define X(name, what) json_object_set_new(counters, #name, json_integer((json_int_t)run->n.name));
	RUN_COUNTERS(X)
#undef X
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:i,s:s,s:i,s:i,s:b,s:s,s:o}", "source",
			 emit_text_json(run->source), "host", emit_text_json(run->host), "cpu",
			 emit_text_json(run->cpu), "kernel", emit_text_json(run->kernel), "version",
			 emit_text_json(run->version), "event", emit_text_json(run->event), "unit",
			 emit_text_json(run->unit), "rate", run->rate, "burst", (int)run->burst,
			 "sketch", sketch_name(run), "sketch_capacity", (int)run->sketch_capacity,
			 "status", run->status, "finished", (int)run->finished, "started",
			 started_text(run, started, sizeof(started)), "counters", counters);
}

static json_t *run_json(const struct run *run)
{
	json_t *o = run_is_exact(run) ? exact_run_json(run) : sampled_run_json(run);

	if (o && run->clock)
		json_object_set_new(o, "clock_hz", json_integer((json_int_t)run->clock));
	if (o)
		json_object_set_new(o, "command", emit_text_json(run->command));
	return o;
}

static char *source_text(const struct reading *r, const struct run *run, char *buf, size_t n)
{
	const char *source = run->source ? run->source : "?";
	const char *version = run->version ? run->version : "?";
	const char *event = run->event && run->event[0] ? run->event : "?";

	if (run_is_exact(run) && !strcmp(event, "lines"))
		snprintf(buf, n, "%s %s: %s that each interval touched", source, version, event);
	else if (run_is_exact(run))
		snprintf(buf, n, "%s %s: %s, %s", source, version,
			 sampled_of(&r->profile, (uint32_t)(run - r->profile.run))
				 ? "instructions in samples"
				 : "every instruction",
			 event);
	else if (!strcmp(source, "coproc"))
		snprintf(buf, n, "%s %s: what %s saw on a simulated co-processor", source, version,
			 event);
	else
		snprintf(buf, n, "%s %s: %s at %g Hz, bursts of %u instructions", source, version,
			 event, run->rate, run->burst);
	return buf;
}

/* Writes text like "AMD EPYC (3.68 GHz)". */
static char *cpu_text(const struct run *run, char *buf, size_t n)
{
	const char *cpu = run->cpu ? run->cpu : "?";

	if (run->clock)
		snprintf(buf, n, "%s (%.2f GHz)", cpu, (double)run->clock / 1e9);
	else
		snprintf(buf, n, "%s", cpu);
	return buf;
}

static void print_run(struct reading *r, const struct run *run)
{
	char text[512], elapsed[32], status[80], cpu[256];

	print_text(r, NULL, "command", run->command);
	snprintf(text, sizeof(text), "%s%s",
		 fmt_time((double)run->n.elapsed_ns, elapsed, sizeof(elapsed)),
		 status_text(run, status, sizeof(status)));
	print_text(r, NULL, "ran", text);
	print_text(r, NULL, "started", started_text(run, text, sizeof(text)));
	snprintf(text, sizeof(text), "%s: %s, Linux %s", run->host ? run->host : "?",
		 cpu_text(run, cpu, sizeof(cpu)), run->kernel ? run->kernel : "?");
	print_text(r, NULL, "on", text);
	print_text(r, NULL, "recorded by", source_text(r, run, text, sizeof(text)));
	if (!keeps_values(run))
		return;
	snprintf(text, sizeof(text), "%s, up to %u a site and operand", sketch_name(run),
		 run->sketch_capacity);
	print_text(r, NULL, "hot values", text);
}

static void print_runs(struct reading *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->profile.nrun; i++) {
		json_array_append_new(list, run_json(&r->profile.run[i]));
		print_run(r, &r->profile.run[i]);
		if (r->profile.nrun > 1)
			emit_line(&r->emit, "%s", "");
	}
	emit_set(&r->emit, "runs", list);
	if (r->profile.nrun > 1)
		emit_line(&r->emit, "all %zu runs together:", r->profile.nrun);
}

/* Tables. */

static int stop_order(const void *a, const void *b)
{
	const struct stop_row *s = a, *t = b;

	if (s->windows != t->windows)
		return s->windows > t->windows ? -1 : 1;
	return s->stop - t->stop;
}

static void print_stops(struct reading *r)
{
	struct stop_row row[RA_STOP_N];
	uint64_t all = 0;

	for (int i = 0; i < RA_STOP_N; i++) {
		row[i] = (struct stop_row){ i, r->view.counters.stop[i] };
		all += row[i].windows;
	}
	if (!all && !r->emit.json)
		return;
	qsort(row, RA_STOP_N, sizeof(row[0]), stop_order);
	emit_line(&r->emit, "%s", "");
	emit_table(&r->emit, "stops", stop_columns, COUNT_OF(stop_columns));
	for (int i = 0; i < RA_STOP_N && row[i].windows; i++) {
		const struct cell cell[] = {
			cell_real(ratio(row[i].windows, all)),
			cell_count(row[i].windows),
			cell_text(stops[row[i].stop].name),
			cell_text(stops[row[i].stop].what),
		};

		emit_row(&r->emit, cell);
	}
}

static int image_order(const void *a, const void *b, void *ctx)
{
	const struct view_image *i = *(const struct view_image *const *)a;
	const struct view_image *k = *(const struct view_image *const *)b;
	uint64_t m = view_sum_count(ctx, &i->sum), n = view_sum_count(ctx, &k->sum);

	if (m != n)
		return m > n ? -1 : 1;
	return strcmp(i->image->path, k->image->path);
}

static void print_image(struct reading *r, const struct view_image *vi)
{
	const struct profile_image *pi = vi->image;
	bool known = pi->kind >= 0 && pi->kind < IMAGE_KIND_N;
	const struct cell cell[] = {
		cell_count(view_sum_count(&r->view, &vi->sum)),
		cell_text(known ? image_kind_name[pi->kind] : NULL),
		cell_text(pi->build_id[0] ? pi->build_id : NULL),
		cell_text(pi->kind == IMAGE_FILE ? pi->stripped ? "none" : "yes" : NULL),
		cell_text(pi->path),
	};

	emit_row(&r->emit, cell);
}

/* Prints the images that were executed. */
static int print_images(struct reading *r)
{
	const struct view_image **order = malloc((r->profile.nimage + 1) * sizeof(*order));
	struct column columns[COUNT_OF(image_columns)];
	size_t n = 0;

	if (!order)
		return -1;
	memcpy(columns, image_columns, sizeof(columns));
	if (r->view.exact)
		columns[0] = executed_column;
	for (size_t i = 0; i < r->profile.nimage; i++)
		if (r->view.image[i].sum.samples || r->view.image[i].sum.observed)
			order[n++] = &r->view.image[i];
	qsort_r(order, n, sizeof(*order), image_order, &r->view);
	if (n)
		emit_line(&r->emit, "%s", "");
	if (n || r->emit.json)
		emit_table(&r->emit, "images", columns, COUNT_OF(columns));
	for (size_t i = 0; i < n; i++)
		print_image(r, order[i]);
	free(order);
	return 0;
}

static json_t *tally_sites(const struct reading *r, const struct tally_group *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->n; i++) {
		const struct tally *t = g->tally[i];

		json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "image",
						      r->profile.image[t->key.image]->path,
						      "address", (json_int_t)t->key.addr, "step",
						      (json_int_t)t->step));
	}
	return list;
}

/* Prints the instructions whose executions follow from counters of the program itself. */
static int print_tallies(struct reading *r)
{
	struct tally_groups g;
	json_t *list = json_array();

	if (tallies_groups(&g, &r->profile, NULL)) {
		json_decref(list);
		return -1;
	}
	for (size_t i = 0; i < g.n; i++) {
		const struct tally_group *group = &g.group[i];

		json_array_append_new(list, json_pack("{s:o, s:f, s:f}", "instructions",
						      tally_sites(r, group), "advance",
						      group->advance, "error", group->error));
	}
	emit_set(&r->emit, "tallies", list);
	if (g.instructions)
		emit_line(&r->emit,
			  "%-*s%zu instruction%s of the program count%s how often code ran", LABEL,
			  "counters", g.instructions, plural(g.instructions),
			  g.instructions == 1 ? "s" : "");
	tallies_groups_free(&g);
	return 0;
}

int info_print(struct reading *r, struct err *err)
{
	char sites[32], procs[32];

	print_runs(r);
	if (!r->profile.nrun)
		emit_line(&r->emit, "unfinished: " READING_UNFINISHED " anything");
	print_items(r);
	emit_set(&r->emit, "sites", json_integer((json_int_t)r->view.n));
	emit_set(&r->emit, "procedures", json_integer((json_int_t)r->view.nproc));
	if (r->view.n || !r->profile.nwset) /* A recording of working sets alone has no images. */
		emit_line(&r->emit, "%-*s%s instruction%s of %s procedure%s", LABEL, "sites",
			  fmt_count(r->view.n, sites, sizeof(sites)), plural(r->view.n),
			  fmt_count(r->view.nproc, procs, sizeof(procs)), plural(r->view.nproc));
	if (!r->view.exact && print_tallies(r))
		return err_no_memory(err, "the report");
	if (!r->view.exact)
		print_stops(r);
	sampled_print(r);
	if (threads_load(r))
		return err_no_memory(err, "the report");
	return print_images(r) ? err_no_memory(err, "the report") : 0;
}
