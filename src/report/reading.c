/* SPDX-License-Identifier: MIT */
#include "report/reading.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "store/recording.h"
#include "report/by_caller.h"
#include "report/sampled.h"

static int refuse_empty(const struct reading *r, struct err *err)
{
	if (r->profile.nwset) {
		err_set(err, ERR_EMPTY, "%s holds working sets, and counts nothing", r->path);
		return err_hint(err,
				"`assay wset` shows them; `assay record --exact -- CMD` counts");
	}
	if (r->view.exact) {
		err_set(err, ERR_EMPTY, "%s holds no executed instructions", r->path);
		if (!reading_finished(r))
			return err_hint(err, READING_UNFINISHED " before any were kept");
		return err_hint(err, r->view.counters.native
					     ? "the program ran without the engine: `assay doctor`"
					     : "the program ended before it ran any");
	}
	err_set(err, ERR_EMPTY, "%s holds no samples", r->path);
	if (r->view.counters.elapsed_ns)
		return err_hint(
			err, "the program used hardly any CPU time: record it for longer, or with "
			     "a higher rate (assay record -F HZ)");
	return err_hint(err, "`assay record -- CMD` makes a recording");
}

/* Refuses to mix exact and sampled recordings: `observed` means executions only in exact ones. */
static int refuse_mixed(const struct reading *r, struct err *err)
{
	const struct run *run = r->profile.run;

	for (size_t i = 1; i < r->profile.nrun; i++)
		if (run_is_exact(&run[i]) != run_is_exact(&run[0])) {
			err_set(err, ERR_FAILED, "%s adds up exact and sampled recordings",
				r->path);
			return err_hint(err, "they mean different things: merge those of one kind");
		}
	return 0;
}

int reading_open(struct reading *r, const struct reading_options *o, struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->path = o->input;
	r->caller = o->caller;
	r->method = ESTIMATE_DEFAULT;
	if (profile_init(&r->profile, err))
		return -1;
	if (recording_read_known(o->input, &r->profile, r->content, err)) {
		if (!err->hint[0] && access(o->input, F_OK) && errno == ENOENT)
			err_hint(err, "`assay record -- CMD` makes one; -i FILE names another");
		goto fail_profile;
	}
	if (refuse_mixed(r, err))
		goto fail_profile;
	if (binaries_init(&r->binaries, &r->profile, o->warn, err))
		goto fail_profile;
	if (o->caller && by_caller(&r->profile, o->caller, err))
		goto fail_binaries;
	if (view_open(&r->view, &r->profile, &r->binaries, err))
		goto fail_binaries;
	if (!r->view.n && !o->empty_too && refuse_empty(r, err))
		goto fail_view;
	emit_open(&r->emit, o->verb, o->json, o->wide, o->explain);
	return 0;
fail_view:
	view_fini(&r->view);
fail_binaries:
	binaries_fini(&r->binaries);
fail_profile:
	profile_fini(&r->profile);
	return -1;
}

void reading_close(struct reading *r, struct err *err)
{
	emit_close(&r->emit, err);
	view_fini(&r->view);
	binaries_fini(&r->binaries);
	profile_fini(&r->profile);
}

uint64_t reading_lost(const struct run_counters *n)
{
	return n->lost_ring + n->lost_nested + n->lost_map + n->lost_write;
}

#define MISSED_SHARE 0.05
#define MISSED_NS 20000000u

double reading_missed(const struct run_counters *n)
{
	double share = n->program_ns ? (double)n->missed_ns / (double)n->program_ns : 0;

	return share > MISSED_SHARE && n->missed_ns > MISSED_NS ? share : NAN;
}

char *reading_cost_text(const struct run_counters *n, char *buf, size_t size)
{
	char share[24], fixed[24];
	double c = reading_cost(n);

	buf[0] = 0;
	if (isnan(c))
		return buf;
	snprintf(buf, size, "cost %s %%", fmt_percent(c, share, sizeof(share)));
	if (n->fixed_ns)
		snprintf(buf, size, "cost %s %%, start and end %s", share,
			 fmt_time((double)n->fixed_ns, fixed, sizeof(fixed)));
	return buf;
}

double reading_cost(const struct run_counters *n)
{
	uint64_t fixed = n->fixed_ns < n->recorder_ns ? n->fixed_ns : n->recorder_ns;

	if (!n->program_ns)
		return NAN;
	return (double)(n->recorder_ns - fixed + n->ahead_ns + n->stack_ns) / (double)n->program_ns;
}

struct cell reading_executions(const struct reading *r)
{
	for (size_t i = 0; i < r->profile.nrun; i++)
		if (!r->profile.run[i].n.instructions)
			return cell_none();
	return cell_count(r->view.counters.instructions);
}

bool reading_finished(const struct reading *r)
{
	for (size_t i = 0; i < r->profile.nrun; i++)
		if (!r->profile.run[i].finished)
			return false;
	return true;
}

static const char *or_unknown(const char *s)
{
	return s && *s ? s : "?";
}

const char *reading_command(const struct reading *r, char *buf, size_t n)
{
	size_t more = r->profile.nrun ? r->profile.nrun - 1 : 0;
	const char *first = r->profile.nrun ? or_unknown(r->profile.run[0].command) : "?";

	if (more)
		snprintf(buf, n, "%s (and %zu more run%s)", first, more, more > 1 ? "s" : "");
	else
		snprintf(buf, n, "%s", first);
	return buf;
}

static void exact_heading_json(struct reading *r)
{
	const struct run_counters *n = &r->view.counters;
	const struct run *run = &r->profile.run[0];
	char command[1024];
	json_t *o;

	reading_command(r, command, sizeof(command));
	o = json_pack("{s:o,s:o,s:b,s:o,s:i,s:b,s:f,s:o,s:I,s:I,s:I}", "command",
		      emit_text_json(command), "source", emit_text_json(run->source), "exact", 1,
		      "observe", emit_text_json(run->event), "runs", (int)r->profile.nrun,
		      "finished", (int)reading_finished(r), "elapsed", (double)n->elapsed_ns / 1e9,
		      "executions", emit_cell_json(EMIT_COUNT, reading_executions(r)), "processes",
		      (json_int_t)n->processes, "native", (json_int_t)n->native, "uncounted",
		      (json_int_t)n->uncounted);
	if (r->profile.nsampled)
		json_object_set_new(o, "observed_share", sampled_share_json(r));
	emit_set(&r->emit, "recording", o);
}

static void heading_json(struct reading *r)
{
	const struct run *run = r->profile.nrun ? &r->profile.run[0] : NULL;
	const struct run_counters *n = &r->view.counters;
	double cost = reading_cost(n);
	char command[1024];

	reading_command(r, command, sizeof(command));
	emit_set(&r->emit, "recording",
		 json_pack("{s:o,s:o,s:b,s:o,s:f,s:i,s:i,s:b,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}",
			   "command", emit_text_json(command), "source",
			   emit_text_json(run ? run->source : NULL), "exact", 0, "event",
			   emit_text_json(run ? run->event : NULL), "rate", run ? run->rate : 0,
			   "burst", run ? (int)run->burst : 0, "runs", (int)r->profile.nrun,
			   "finished", (int)reading_finished(r), "elapsed",
			   (double)n->elapsed_ns / 1e9, "samples", (json_int_t)n->samples, "user",
			   (json_int_t)n->user, "kernel", (json_int_t)n->kernel, "idle",
			   (json_int_t)n->idle, "lost", (json_int_t)reading_lost(n), "unattributed",
			   (json_int_t)n->unattributed, "windows", (json_int_t)n->windows, "cost",
			   emit_cell_json(EMIT_SHARE, cell_real(cost))));
}

static double part(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static void samples_line(struct reading *r)
{
	const struct run_counters *n = &r->view.counters;
	char samples[32], lost[32], nowhere[32], user[16], kernel[16], idle[32] = "", cost[80],
								       share[24];

	if (n->idle)
		snprintf(idle, sizeof(idle), ", %s %% idle",
			 fmt_percent(part(n->idle, n->samples), share, sizeof(share)));
	reading_cost_text(n, cost, sizeof(cost));
	emit_heading(&r->emit,
		     "%s sample%s: %s %% user, %s %% kernel%s; %s lost, %s unattributed%s%s",
		     fmt_count(n->samples, samples, sizeof(samples)), plural(n->samples),
		     fmt_percent(part(n->user, n->samples), user, sizeof(user)),
		     fmt_percent(part(n->kernel, n->samples), kernel, sizeof(kernel)), idle,
		     fmt_count(reading_lost(n), lost, sizeof(lost)),
		     fmt_count(n->unattributed, nowhere, sizeof(nowhere)), *cost ? "; " : "", cost);
}

/* Lines about what a simulated co-processor saw; its samples take the place of time. */
static void coproc_lines(struct reading *r, const struct run *run)
{
	char samples[32];

	emit_heading(&r->emit,
		     "co-processor with the program %s: %s samples of the instructions that it "
		     "observes, in place of time",
		     or_unknown(run->event),
		     fmt_count(r->view.counters.samples, samples, sizeof(samples)));
	if (!reading_finished(r))
		emit_line(&r->emit, "unfinished: " READING_UNFINISHED);
}

static void sampled_lines(struct reading *r)
{
	const struct run *run = r->profile.nrun ? &r->profile.run[0] : NULL;
	const struct run_counters *n = &r->view.counters;
	char elapsed[32], processes[32];

	if (run && run->source && !strcmp(run->source, "coproc")) {
		coproc_lines(r, run);
		return;
	}
	emit_heading(&r->emit, "%s %s at %g Hz, %u instructions ahead; %s, %s process%s",
		     or_unknown(run ? run->source : NULL), or_unknown(run ? run->event : NULL),
		     run ? run->rate : 0, run ? run->burst : 0,
		     fmt_time((double)n->elapsed_ns, elapsed, sizeof(elapsed)),
		     fmt_count(n->processes, processes, sizeof(processes)),
		     n->processes == 1 ? "" : "es");
	samples_line(r);
	if (!reading_finished(r))
		emit_line(&r->emit, "unfinished: " READING_UNFINISHED "; the rest is missing");
}

static void exact_lines(struct reading *r)
{
	const struct run_counters *n = &r->view.counters;
	const struct cell executions = reading_executions(r);
	char executed[64] = "", count[32], elapsed[32], processes[32], native[32];

	if (executions.known)
		snprintf(executed, sizeof(executed), ": %s%s instructions executed",
			 r->profile.nsampled ? "about " : "",
			 fmt_count(executions.count, count, sizeof(count)));
	emit_heading(&r->emit, "exact (%s)%s; %s, %s process%s",
		     or_unknown(r->profile.run[0].event), executed,
		     fmt_time((double)n->elapsed_ns, elapsed, sizeof(elapsed)),
		     fmt_count(n->processes, processes, sizeof(processes)),
		     n->processes == 1 ? "" : "es");
	sampled_heading(r);
	if (n->native)
		emit_line(&r->emit, "%s program%s ran without the engine and %s not in it",
			  fmt_count(n->native, native, sizeof(native)), plural(n->native),
			  n->native == 1 ? "is" : "are");
	if (n->uncounted)
		emit_line(&r->emit, "%s instructions whose code kept changing are not in it",
			  fmt_count(n->uncounted, count, sizeof(count)));
	if (!reading_finished(r))
		emit_line(&r->emit, "unfinished: " READING_UNFINISHED "; the rest is missing");
}

/* The number of runs comes first, because a long command is cut. */
static void command_line(struct reading *r)
{
	char command[1024];

	if (r->profile.nrun > 1)
		emit_line(&r->emit, "%zu runs, the first: %s", r->profile.nrun,
			  or_unknown(r->profile.run[0].command));
	else
		emit_line(&r->emit, "%s", reading_command(r, command, sizeof(command)));
}

void reading_heading(struct reading *r)
{
	char calls[32];

	if (r->emit.json) {
		if (r->view.exact)
			exact_heading_json(r);
		else
			heading_json(r);
		if (r->caller)
			emit_set(&r->emit, "caller", emit_text_json(r->caller));
		return;
	}
	command_line(r);
	if (r->view.exact)
		exact_lines(r);
	else
		sampled_lines(r);
	if (r->caller)
		emit_heading(&r->emit, "only calls by %s: %s samples", r->caller,
			     fmt_count(r->view.sum.samples, calls, sizeof(calls)));
	emit_line(&r->emit, "%s", "");
}
