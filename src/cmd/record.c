/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cmd/exact_session.h"
#include "cmd/session.h"
#include "cmd/verbs.h"
#include "engine/shared.h"
#include "observe/conflicts.h"
#include "runahead/state.h"
#include "sampler/bearable.h"
#include "sampler/caps.h"

#define LINES_INTERVAL 1e7
#define LINES_INTERVALS 128
#define PHASES_INTERVAL 2e4
#define PHASES_INTERVALS 1000
#define CACHE_KIB 393216
#define AUTO_SIZE 20000 /* instructions of a sample */
#define SCHEDULE_FILE_MAX (4u << 20)
#define PGO_AREA \
	65536 /* instructions lifted at a time: more than otherwise, so that rare code is lifted before it runs */
#define PGO_RATE 199	  /* Hz: windows are eight times as long as others */
#define BUDGET 5	  /* per cent of the machine that recording all of it may take */
#define SAMPLED_VALUES 32 /* more of them would find hardly anything more (README.md) */

static double rate = 997, seconds, budget = BUDGET;
static struct opt_uints pids;
static unsigned burst, tid, ring_mib, capacity;
static unsigned cache_kib = CACHE_KIB;
static unsigned code_kuops = 4096, neighbourhood = 4096, distance = CONFLICT_DISTANCE_DEFAULT;
static const char *output = "assay.db", *event, *sketch = "space-saving", *observe = "counts",
		  *machine = "", *cgroup;
static bool no_children, all, quiet, exact, kernel_buffers, reuse, pgo, stacks, no_stacks;
static const char *call_graph;
static unsigned line = 64, snapshots;
static double interval;
static const char *interval_unit = "instructions", *lines_how = "both";
static const char *schedule, *warming = "lines", *policy = "default";
static double sample_size, warmup_size, sample_period, skip;
static bool allow_mismatch;

static const struct opt opts[] = {
	{ 'F', "rate", "HZ", "samples a second on each CPU that runs (default 997)", OPT_DOUBLE,
	  &rate, 1, 100000, NULL },
	{ 'b', "burst", "N", "instructions to run ahead of each sample (default 256)", OPT_UINT,
	  &burst, 1, RA_BURST_MAX, NULL },
	{ 'e', "event", "EVENT", "cpu-clock, or cycles where there is a PMU (the default there)",
	  OPT_CHOICE, &event, 0, 0, "cpu-clock cycles" },
	{ 'p', "pid", "PID[,PID]",
	  "attach to processes, their threads and children, and those to come; may be given again",
	  OPT_UINTS, &pids, 1, 4194304, NULL },
	{ 0, "no-children", NULL, "with -p: only the processes named, and their threads", OPT_FLAG,
	  &no_children, 0, 0, NULL },
	{ 't', "tid", "TID", "attach to one thread", OPT_UINT, &tid, 1, 4194304, NULL },
	{ 'a', "all", NULL, "all processes of all users, values of their memory included", OPT_FLAG,
	  &all, 0, 0, NULL },
	{ 0, "cgroup", "NAME",
	  "the processes of a control group, those to come included (/proc/PID/cgroup has names)",
	  OPT_STRING, &cgroup, 0, 0, NULL },
	{ 'd', "duration", "S", "stop after S seconds", OPT_DOUBLE, &seconds, 0.01, 1e7, NULL },
	{ 'o', "output", "FILE", "where to record (default assay.db; an old one becomes FILE.old)",
	  OPT_STRING, &output, 0, 0, NULL },
	{ 'g', "stacks", NULL,
	  "call stacks, which are recorded anyway, but with --pgo and --policy slots only if "
	  "asked for",
	  OPT_FLAG, &stacks, 0, 0, NULL },
	{ 0, "no-stacks", NULL, "no call stacks: samples say where, and not who called", OPT_FLAG,
	  &no_stacks, 0, 0, NULL },
	{ 0, "call-graph", "METHOD",
	  "as perf takes the option: dwarf and fp are -g, which uses both; no is --no-stacks",
	  OPT_STRING, &call_graph, 0, 0, NULL },
	{ 0, "reuse", NULL,
	  "reuse times too, by windows and watchpoints: for assay reuse; without --exact", OPT_FLAG,
	  &reuse, 0, 0, NULL },
	{ 0, "pgo", NULL,
	  "branches alone, of long windows, for assay export: as -F 199 -b 2048, without values",
	  OPT_FLAG, &pgo, 0, 0, NULL },
	{ 0, "policy", "POLICY",
	  "which samples are run ahead: default, all of them; slots, fewer where values are known",
	  OPT_CHOICE, &policy, 0, 0, "default slots" },
	{ 0, "budget", "PERCENT",
	  "with -a or --cgroup: CPU time that it may take, % of all CPUs' (default 5; 0: any)",
	  OPT_DOUBLE, &budget, 0, 100, NULL },
	{ 0, "exact", NULL,
	  "count every instruction of a command, instead of sampling: no privilege", OPT_FLAG,
	  &exact, 0, 0, NULL },
	{ 0, "observe", "WHAT",
	  "with --exact: counts (default), addresses, values, calls, conflicts, lines (working "
	  "sets), reuse, misses, cycles, phases",
	  OPT_CHOICE, &observe, 0, 0,
	  "counts addresses values calls conflicts lines reuse misses cycles phases" },
	{ 0, "machine", "WHAT",
	  "with misses, cycles or reuse: caches and a core other than this CPU's, "
	  "l1d=32K/8,width=4,...",
	  OPT_STRING, &machine, 0, 0, NULL },
	{ 0, "cache", "KIB",
	  "with --exact: room for translated code in each process (default 393216)", OPT_UINT,
	  &cache_kib, 64, 393216, NULL },
	{ 0, "distance", "N",
	  "instructions between a store and a load that conflict, at most (default 128; 0: none)",
	  OPT_UINT, &distance, 0, CONFLICT_DISTANCE_MAX, NULL },
	{ 0, "line", "BYTES",
	  "with --observe lines: of a line (default 64; 16 to 4096, a power of two)", OPT_UINT,
	  &line, 16, 4096, NULL },
	{ 0, "interval", "N",
	  "length of an interval at first, in its unit (default 10000000, or 20000 for phases; ns "
	  "of time)",
	  OPT_DOUBLE, &interval, 1000, 1e15, NULL },
	{ 0, "interval-unit", "UNIT", "instructions (default), accesses, cpu or wall time",
	  OPT_CHOICE, &interval_unit, 0, 0, "instructions accesses cpu wall" },
	{ 0, "snapshots", "N",
	  "intervals kept: neighbours become one when there are more (default 128; phases: 1000)",
	  OPT_UINT, &snapshots, 2, 65536, NULL },
	{ 0, "lines-how", "HOW",
	  "for measuring what marking costs: both (default), check, coalesce, neither", OPT_CHOICE,
	  &lines_how, 0, 0, "both check coalesce neither" },
	{ 0, "kernel-buffers", NULL, "lines that system calls read and write count as touched, too",
	  OPT_FLAG, &kernel_buffers, 0, 0, NULL },
	{ 0, "schedule", "WHAT",
	  "with --exact: which parts are observed: whole (default), single, periodic, auto, "
	  "targets (m1000:s500:w2:s1800:m1:e1874500), or @FILE with these",
	  OPT_STRING, &schedule, 0, 0, NULL },
	{ 0, "sample-size", "N", "instructions of a sample (default 50000)", OPT_DOUBLE,
	  &sample_size, 1, SCHEDULE_MOST, NULL },
	{ 0, "warmup-size", "N",
	  "instructions before each sample for which misses are simulated but not counted",
	  OPT_DOUBLE, &warmup_size, 0, SCHEDULE_MOST, NULL },
	{ 0, "warming", "HOW",
	  "misses, cycles: between samples large caches see which lines are touched (lines, the "
	  "default), everything is simulated (all), or nothing is (none)",
	  OPT_CHOICE, &warming, 0, 0, "lines all none" },
	{ 0, "sample-period", "N", "instructions from a sample to the next (default 5000000)",
	  OPT_DOUBLE, &sample_period, 1, SCHEDULE_MOST, NULL },
	{ 0, "skip", "N", "instructions before the first sample, single or periodic", OPT_DOUBLE,
	  &skip, 0, SCHEDULE_MOST, NULL },
	{ 0, "allow-mismatch", NULL,
	  "targets: record a run even if it is not as long as the one they were chosen for",
	  OPT_FLAG, &allow_mismatch, 0, 0, NULL },
	{ 'q', "quiet", NULL, "no closing line", OPT_FLAG, &quiet, 0, 0, NULL },
	{ 0, "sketch", "METHOD", "how hot values are kept: space-saving (default) or counting",
	  OPT_CHOICE, &sketch, 0, 0, "space-saving counting" },
	{ 0, "values", "N", "values kept of each site and operand (default 32; 16 with --exact)",
	  OPT_UINT, &capacity, 1, HOT_CAPACITY_MAX, NULL },
	{ 0, "ring", "MIB",
	  "ring buffer between kernel and recorder, a power of two (default 16 to 64, by rate)",
	  OPT_UINT, &ring_mib, 1, 1024, NULL },
	{ 0, "code", "K", "room for lifted code, thousands of micro-ops (default 4096)", OPT_UINT,
	  &code_kuops, 64, 65536, NULL },
	{ 0, "neighbourhood", "N", "most instructions lifted around missing code (default 4096)",
	  OPT_UINT, &neighbourhood, 16, 1000000, NULL },
	{ 0 },
};

static bool observes(const char *what)
{
	return exact && !strcmp(observe, what);
}

static int check_pgo(struct err *err)
{
	static const void *const of_values[] = { &capacity, &sketch, &distance, &reuse, NULL };
	const char *name;

	if (!pgo)
		return 0;
	if (exact) {
		err_set(err, ERR_USAGE, "--pgo is the sampler's");
		return err_hint(err, "--exact counts all branches: leave --pgo out");
	}
	name = opt_given(&cmd_record, of_values);
	if (!name)
		return 0;
	err_set(err, ERR_USAGE, "--%s is of values, of which --pgo keeps none", name);
	return err_hint(err, "leave it out, or --pgo");
}

static bool has_policy(void)
{
	return strcmp(policy, "default") != 0;
}

static int check_policy(struct err *err)
{
	if (!has_policy() || (!exact && !reuse && !pgo))
		return 0;
	err_set(err, ERR_USAGE, "--policy slots passes over windows, which --%s %s",
		exact	? "exact"
		: reuse ? "reuse"
			: "pgo",
		exact	? "has none of"
		: reuse ? "needs all of"
			: "keeps no values of");
	return err_hint(err, "leave one of them out");
}

/* --call-graph is -g or --no-stacks. What follows a comma, as in dwarf,8192, is perf's business. */
static int read_call_graph(struct err *err)
{
	static const struct {
		const char *method;
		bool *means;
	} methods[] = {
		{ "dwarf", &stacks },
		{ "fp", &stacks },
		{ "no", &no_stacks },
		{ "none", &no_stacks },
	};
	size_t n = call_graph ? strcspn(call_graph, ",") : 0;

	if (!call_graph)
		return 0;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strlen(methods[i].method) == n && !strncmp(call_graph, methods[i].method, n)) {
			*methods[i].means = true;
			return 0;
		}
	if (!strncmp(call_graph, "lbr", 3))
		err_set(err, ERR_USAGE,
			"--call-graph lbr: call stacks are not taken from the CPU's branch records "
			"here, which are short and which many machines lack");
	else
		err_set(err, ERR_USAGE, "--call-graph %s is none of dwarf, fp, no", call_graph);
	return err_hint(err, "leave it out: call stacks are recorded anyway, by unwind information "
			     "and frame pointers");
}

static int check_stacks(struct err *err)
{
	static const void *const of_stacks[] = { &stacks, &no_stacks, &call_graph, NULL };
	const char *name = opt_given(&cmd_record, of_stacks);

	if (exact && name) {
		err_set(err, ERR_USAGE, "--%s is the sampler's", name);
		return err_hint(err, "--exact --observe calls counts who calls whom");
	}
	if (read_call_graph(err))
		return -1;
	if (!stacks || !no_stacks)
		return 0;
	err_set(err, ERR_USAGE, "-g and --no-stacks exclude each other");
	return err_hint(err, "give one of them, or neither: call stacks are recorded anyway");
}

/* Whether call stacks are recorded. Unless they were asked for, the rate must leave time for them. */
static bool choose_stacks(void)
{
	if (stacks || no_stacks || pgo || has_policy())
		return stacks;
	if (bearable_stacks(rate, burst, bearable_is_virtual()))
		return true;
	log_warn("at -F %g call stacks would not leave the program half of its time: none are "
		 "recorded (-g records them all the same)",
		 rate);
	return false;
}

/* A budget is kept by passing over windows. */
static int check_budget(struct err *err)
{
	static const void *const of_budget[] = { &budget, NULL };
	const char *why = exact		 ? "--exact has none of"
			  : reuse	 ? "--reuse needs all of"
			  : pgo		 ? "--pgo keeps all of"
			  : has_policy() ? "--policy slots chooses"
					 : NULL;

	if (!opt_given(&cmd_record, of_budget))
		return 0;
	if (why) {
		err_set(err, ERR_USAGE, "--budget passes over windows, which %s", why);
		return err_hint(err, "leave one of them out");
	}
	if (all || cgroup)
		return 0;
	err_set(err, ERR_USAGE, "--budget is for -a and --cgroup");
	return err_hint(err, "a lower rate costs a program less: -F %g", rate / 2);
}

/* Options that would do nothing: each is of some recordings only. */
static int check_use(struct err *err)
{
	static const void *const sampled[] = { &rate,	    &burst,	    &event, &ring_mib,
					       &code_kuops, &neighbourhood, NULL };
	static const void *const counted[] = { &observe,     &cache_kib,      &schedule,
					       &sample_size, &warmup_size,    &sample_period,
					       &skip,	     &allow_mismatch, NULL };
	static const void *const of_lines[] = { &line, &interval_unit, &lines_how, &kernel_buffers,
						NULL };
	static const void *const of_intervals[] = { &interval, &snapshots, NULL };
	static const void *const simulated[] = { &machine, NULL };
	static const void *const warmed[] = { &warming, NULL };
	const char *name;

	if (check_policy(err) || check_budget(err))
		return -1;
	if (check_stacks(err))
		return -1;
	if (exact && reuse) {
		err_set(err, ERR_USAGE, "--reuse is the sampler's");
		return err_hint(err, "--exact --observe reuse keeps reuse distances exactly");
	}
	if (check_pgo(err))
		return -1;
	if (exact && (name = opt_given(&cmd_record, sampled))) {
		err_set(err, ERR_USAGE, "--%s is the sampler's", name);
		return err_hint(err, "leave it out, or --exact");
	}
	if (!exact && (name = opt_given(&cmd_record, counted))) {
		err_set(err, ERR_USAGE, "--%s is for --exact", name);
		return err_hint(err, "assay record --exact --%s ... -- CMD", name);
	}
	if (!observes("lines") && (name = opt_given(&cmd_record, of_lines))) {
		err_set(err, ERR_USAGE, "--%s is for --exact --observe lines", name);
		return err_hint(err, "working sets are recorded by that");
	}
	if (!observes("lines") && !observes("phases") &&
	    (name = opt_given(&cmd_record, of_intervals))) {
		err_set(err, ERR_USAGE, "--%s is for --exact --observe lines or phases", name);
		return err_hint(err, "these observe intervals");
	}
	if (!observes("misses") && !observes("cycles") && opt_given(&cmd_record, warmed)) {
		err_set(err, ERR_USAGE, "--warming is for --exact --observe misses or cycles");
		return err_hint(err, "nothing else has a state to be warmed up");
	}
	if (!observes("misses") && !observes("cycles") && !observes("reuse") &&
	    (name = opt_given(&cmd_record, simulated))) {
		err_set(err, ERR_USAGE, "--%s is for --exact --observe misses, cycles or reuse",
			name);
		return err_hint(err, "these simulate one");
	}
	return 0;
}

static int check_targets(int argc, struct err *err)
{
	int n = (pids.n != 0) + (tid != 0) + (cgroup || all || argc > 0);

	if (n == 0) {
		err_set(err, ERR_USAGE, "nothing to record");
		return err_hint(err,
				"give a command (assay record -- CMD), or -p PID, -t TID, --cgroup "
				"NAME, or -a");
	}
	if (n > 1 || (all && cgroup)) {
		err_set(err, ERR_USAGE,
			"-p, -t, -a, --cgroup and a command exclude each other (but -a -- CMD and "
			"--cgroup NAME -- CMD record while CMD runs)");
		return err_hint(err, "give one of them");
	}
	if (no_children && !pids.n) {
		err_set(err, ERR_USAGE, "--no-children is for -p");
		return err_hint(err, "leave it out, or attach to a process: assay record -p PID");
	}
	if (ring_mib & (ring_mib - 1)) {
		err_set(err, ERR_USAGE, "--ring is %u, no power of two", ring_mib);
		return err_hint(err, "for instance 16 or 64");
	}
	return 0;
}

/* Warns that the kernel throttles rates beyond its limit, so that samples would be lost in silence. */
static int check_rate(struct err *err)
{
	struct caps caps;

	caps_read(&caps);
	if (caps.max_rate > 0 && rate > (double)caps.max_rate) {
		err_set(err, ERR_FAILED, "-F %g is beyond kernel.perf_event_max_sample_rate, %ld",
			rate, caps.max_rate);
		return err_hint(err,
				"sudo sysctl kernel.perf_event_max_sample_rate=%.0f, or a lower -F",
				rate);
	}
	if (event && !strcmp(event, "cycles") && !caps.pmu) {
		err_set(err, ERR_FAILED, "this machine shows no cycle counter (no PMU)");
		return err_hint(err, "leave -e out: cpu-clock works everywhere");
	}
	return 0;
}

/* Refuses a rate at which the program would hardly go on between interrupts: a second of it would
 * take minutes. */
static int choose_burst(struct err *err)
{
	unsigned usual = pgo ? RA_BURST_MAX : sampler_defaults.burst;
	unsigned wanted = burst ? burst : usual, fits;
	bool virtual = bearable_is_virtual();

	fits = bearable_burst(rate, wanted, virtual);
	if (fits < wanted && (burst || !fits)) {
		err_set(err, ERR_FAILED,
			"-F %g asks for a sample each %.1f us, and one takes some %.1f us%s, with "
			"%u instructions ahead",
			rate, 1e6 / rate, bearable_sample_us(wanted, virtual),
			virtual ? " in a virtual machine" : "", wanted);
		if (fits)
			return err_hint(err,
					"-b %u leaves the program half of its time, or -F %.0f",
					fits, bearable_rate(wanted, virtual));
		return err_hint(err, "-F %.0f leaves the program half of its time, with -b %u",
				bearable_rate(BEARABLE_BURST, virtual), BEARABLE_BURST);
	}
	if (fits < wanted)
		log_warn("at -F %g windows have %u instructions: %u would not leave the program "
			 "half of its time",
			 rate, fits, wanted);
	burst = fits;
	return 0;
}

static void set_lines(struct exact_lines *l)
{
	bool check = !strcmp(lines_how, "both") || !strcmp(lines_how, "check");
	bool coalesce = !strcmp(lines_how, "both") || !strcmp(lines_how, "coalesce");

	*l = (struct exact_lines){
		.shift = (unsigned)__builtin_ctz(line),
		.unit = !strcmp(interval_unit, "accesses") ? EXACT_ACCESSES
			: !strcmp(interval_unit, "cpu")	   ? EXACT_CPU_NS
			: !strcmp(interval_unit, "wall")   ? EXACT_WALL_NS
							   : EXACT_INSTRUCTIONS,
		.flags = (check ? 0 : EXACT_LINES_UNCHECKED) | (coalesce ? 0 : EXACT_LINES_SINGLY) |
			 (kernel_buffers ? EXACT_LINES_KERNEL : 0),
		.snapshots = snapshots		  ? snapshots
			     : observes("phases") ? PHASES_INTERVALS
						  : LINES_INTERVALS,
		.interval = (uint64_t)(interval > 0	    ? interval
				       : observes("phases") ? PHASES_INTERVAL
							    : LINES_INTERVAL),
	};
}

/* By observer, the part of the instructions that --schedule auto observes: one in that many. It
 * aims at a run of one and a half times native (bench/schedule). */
static double auto_part(void)
{
	static const struct {
		const char *what;
		double part;
	} parts[] = { { "counts", 50 },	  { "addresses", 400 },	 { "values", 4000 },
		      { "calls", 100 },	  { "conflicts", 2500 }, { "misses", 6000 },
		      { "cycles", 12000 } };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (observes(parts[i].what))
			return parts[i].part;
	return 1;
}

static int read_schedule_file(struct schedule *s, const char *path, struct err *err)
{
	struct stat st;
	int fd = file_open(path, &st, err), rc;
	char *text;
	ssize_t n;

	if (fd < 0)
		return -1;
	text = malloc(SCHEDULE_FILE_MAX);
	n = text ? read(fd, text, SCHEDULE_FILE_MAX) : -1;
	close(fd);
	if (n < 0)
		rc = err_sys(err, "cannot read %s", path);
	else if (n == SCHEDULE_FILE_MAX)
		rc = err_set(err, ERR_USAGE, "%s is longer than a schedule can be", path);
	else
		rc = schedule_parse_lines(s, text, (size_t)n, path, err);
	free(text);
	return rc;
}

static void set_given(uint64_t *to, const double *value)
{
	const void *const option[] = { value, NULL };

	if (opt_given(&cmd_record, option))
		*to = (uint64_t)*value;
}

static int parse_schedule(struct schedule *s, struct err *err)
{
	static const void *const skipped[] = { &skip, NULL };

	if (schedule && !strcmp(schedule, "auto")) {
		s->kind = SCHEDULE_PERIODIC;
		s->begins_given = true;
		s->size = s->warmup = AUTO_SIZE;
		s->period = (uint64_t)(AUTO_SIZE * auto_part());
	} else if (schedule && schedule[0] == '@') {
		if (read_schedule_file(s, schedule + 1, err))
			return -1;
	} else if (schedule && schedule_parse(s, schedule, err)) {
		return -1;
	}
	set_given(&s->size, &sample_size);
	set_given(&s->warmup, &warmup_size);
	set_given(&s->period, &sample_period);
	set_given(&s->skip, &skip);
	s->skip_given |= !!opt_given(&cmd_record, skipped);
	return schedule_settle(s, err);
}

/* Only simulated machines have a state that needs warming up. */
static void set_warming(struct schedule *s)
{
	if (!observes("misses") && !observes("cycles")) {
		s->warmup = 0;
		return;
	}
	s->warming = !strcmp(warming, "none")  ? SCHEDULE_WARM_NONE
		     : !strcmp(warming, "all") ? SCHEDULE_WARM_ALL
					       : SCHEDULE_WARM_LINES;
	if (s->warming == SCHEDULE_WARM_ALL)
		s->warmup = (uint64_t)SCHEDULE_MOST;
}

/* The schedule as it was given, and what else makes simulated counts others: how it warms up, and how often code is
 * forgotten, where these are not the defaults. */
static int describe_schedule(struct session_options *o, struct err *err)
{
	static const void *const given[] = { &warming, &cache_kib, NULL };
	bool other = strcmp(warming, "lines");
	static char *text;
	char room[32] = "";

	if (!opt_given(&cmd_record, given))
		return 0;
	if (cache_kib != CACHE_KIB)
		snprintf(room, sizeof(room), ", cache %u", cache_kib);
	free(text);
	if (asprintf(&text, "%s%s%s%s", o->schedule_text, other ? ", warming " : "",
		     other ? warming : "", room) < 0)
		return err_no_memory(err, "the command");
	o->schedule_text = text;
	return 0;
}

static int choose_schedule(struct session_options *o, struct err *err)
{
	struct schedule *s = &o->schedule;

	o->schedule_text = schedule;
	if (parse_schedule(s, err))
		return -1;
	if (s->kind == SCHEDULE_WHOLE)
		return 0;
	if (!schedule)
		o->schedule_text = schedule_kind_name[s->kind];
	if (observes("lines") || observes("reuse") || observes("phases")) {
		err_set(err, ERR_USAGE,
			"--observe %s is of a whole run: %s of a part of it cannot be scaled",
			observe,
			observes("lines")    ? "working sets"
			: observes("phases") ? "phases"
					     : "reuse distances");
		return err_hint(err, "leave --schedule out, or --observe misses");
	}
	if (strcmp(sketch, "space-saving")) {
		err_set(err, ERR_USAGE, "--sketch %s cannot be scaled, as --schedule needs it",
			sketch);
		return err_hint(err, "--sketch space-saving");
	}
	set_warming(s);
	return describe_schedule(o, err);
}

/* Sets what --pgo chooses, where the user does not. */
static void set_pgo(struct session_options *o)
{
	static const void *const of_rate[] = { &rate, NULL }, *const of_area[] = { &neighbourhood,
										   NULL };

	o->distance = 0;
	if (!opt_given(&cmd_record, of_rate))
		o->sampler.rate = rate = PGO_RATE;
	if (!opt_given(&cmd_record, of_area))
		o->sampler.neighbourhood = PGO_AREA;
}

static int run_scheduled(struct session_options *o, int argc, struct err *err)
{
	if (choose_schedule(o, err))
		return err->code;
	machine_this(&o->machine);
	if (machine_parse(&o->machine, machine, err))
		return err->code;
	if (exact)
		return exact_session_run(o, err);
	if (check_targets(argc, err) || check_rate(err) || choose_burst(err))
		return err->code;
	o->sampler.burst = burst;
	o->sampler.stacks = choose_stacks();
	return session_run(o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct session_options o = {
		.sampler = sampler_defaults,
		.output = output,
		.argv = argc ? argv : NULL,
		.pids = &pids,
		.tid = (pid_t)tid,
		.all = all,
		.cgroup = cgroup,
		.seconds = seconds,
		.sketch = (enum hot_method)hot_method_by_name(sketch),
		.sketch_capacity = capacity ? capacity
				   : exact  ? HOT_CAPACITY_DEFAULT
					    : SAMPLED_VALUES,
		.quiet = quiet,
		.cache_kib = cache_kib,
		.distance = distance,
		.allow_mismatch = allow_mismatch,
	};
	int rc;

	o.sampler.event = event;
	o.sampler.rate = rate;
	o.sampler.burst = burst ? burst : sampler_defaults.burst;
	o.sampler.ring_mib = ring_mib;
	o.sampler.code_kuops = code_kuops;
	o.sampler.neighbourhood = neighbourhood;
	o.sampler.watch = reuse;
	o.sampler.branches = pgo;
	o.sampler.slots = has_policy();
	o.sampler.no_children = no_children;
	o.sampler.budget = budget > 0 && (all || cgroup) && !reuse && !pgo && !has_policy();
	o.budget = o.sampler.budget ? budget / 100 : 0;
	o.sampler.command = argc && !all && !cgroup;
	if (check_use(err))
		return err->code;
	if (pgo)
		set_pgo(&o);
	if (exact && (!argc || pids.n || tid || all || cgroup || seconds > 0)) {
		err_set(err, ERR_USAGE, "--exact runs a command itself, from beginning to end");
		err_hint(err, "assay record --exact -- CMD; without --exact for -p, -t, -a and -d");
		return err->code;
	}
	if (line & (line - 1)) {
		err_set(err, ERR_USAGE, "--line is %u, no power of two", line);
		err_hint(err, "for instance 64");
		return err->code;
	}
	if (snapshots % 2) {
		err_set(err, ERR_USAGE,
			"--snapshots is %u, no even number: they are merged by twos", snapshots);
		err_hint(err, "--snapshots %u", snapshots + 1);
		return err->code;
	}
	set_lines(&o.lines);
	o.observe = !strcmp(observe, "values")	    ? EXACT_ADDRESSES | EXACT_VALUES
		    : !strcmp(observe, "addresses") ? EXACT_ADDRESSES
		    : !strcmp(observe, "lines")	    ? EXACT_LINES
		    : !strcmp(observe, "calls")	    ? EXACT_CALLS
		    : !strcmp(observe, "phases")    ? EXACT_PHASES
						    : 0;
	o.simulate = !strcmp(observe, "reuse")	     ? SIMULATE_REUSE
		     : !strcmp(observe, "misses")    ? SIMULATE_MISSES
		     : !strcmp(observe, "cycles")    ? SIMULATE_CYCLES
		     : !strcmp(observe, "conflicts") ? SIMULATE_CONFLICTS
						     : SIMULATE_NOTHING;
	if (o.simulate == SIMULATE_CONFLICTS && !distance) {
		err_set(err, ERR_USAGE, "--observe conflicts with --distance 0 observes none");
		err_hint(err, "for instance --distance %d", CONFLICT_DISTANCE_DEFAULT);
		return err->code;
	}
	rc = run_scheduled(&o, argc, err);
	schedule_fini(&o.schedule);
	return rc;
}

const struct verb cmd_record = {
	.name = "record",
	.summary = "sample a program, a process or the machine; or count exactly",
	.synopsis = "[OPTIONS] [-p PID | -t TID | --cgroup G | -a] [--] [CMD...]",
	.about = "A timer interrupts the program; from there the kernel side interprets the next "
		 "instructions without side effects and keeps their values, addresses and "
		 "branches. The program is not changed and never notices.\n\n"
		 "With --exact a command runs under an instrumenter instead, with its threads, its "
		 "signals, its children and their images: every instruction that it executes in "
		 "user space is counted, and where each branch went. --observe addresses adds the "
		 "addresses of its memory operands; values adds results, loads, stores, arguments, "
		 "returned values and targets of indirect jumps; calls, alone, what each call is "
		 "given and returns, by caller and callee. Shares are exact as long as no more "
		 "different values come than a list holds (--values), beyond that they have "
		 "bounds. --observe conflicts adds the stores that loads meet within --distance "
		 "instructions. --observe lines counts nothing, and keeps which lines of memory "
		 "each interval of the run touched: `assay wset` shows the working set over time. "
		 "--observe phases counts, and keeps which blocks each interval executed, for "
		 "`assay targets` and `assay report --phases`. "
		 "--observe reuse keeps reuse distances of lines of memory, for `assay reuse`; "
		 "misses simulates caches, TLBs and a branch predictor like this CPU's, for report "
		 "and annotate; cycles simulates a core with them, too, and says what its cycles "
		 "were spent on. It needs no privilege, and says how often, not how long: time is "
		 "the sampler's. Processes that cannot be observed, such as set-uid children, run "
		 "without it, and are reported.\n\n"
		 "COST: what perf record -e cpu-clock costs at the same rate, and a few "
		 "microseconds a sample; `assay info` prints what it was. A rate that would take "
		 "half of the program's time has shorter windows, or is refused. With --exact "
		 "counts cost "
		 "a part of the program's own time, where code is executed more than a few times; "
		 "addresses and values several times that time, and a second CPU helps, conflicts "
		 "more than these; lines once or twice what counts cost.\n\n"
		 "Each sample has its call stack, found by the images' unwind information: "
		 "programs need no frame pointers. Every stack says whether it is whole or why it "
		 "is cut. --no-stacks leaves stacks out. With --pgo, which exports no stacks, and "
		 "with --policy slots, which is there to make samples cheap, they are left out "
		 "unless -g asks for them.\n\n"
		 "With --reuse windows of 2048 instructions and hardware watchpoints are added, "
		 "some 100 lines a second and at most 16 exceptions of some 11 microseconds each: "
		 "`assay info` counts them. A debugger has no debug registers left meanwhile.\n\n"
		 "With --pgo a recording holds where control went and nothing else, for "
		 "profile-guided optimisation (`assay export`): windows are eight times as long, "
		 "199 a second, and record no values. Page faults begin windows, too, so that code "
		 "that runs seldom is seen. A minute of them is enough for most "
		 "programs; shorter runs want a higher rate, such as -F 3989.\n\n"
		 "With --policy slots a sample is only of time, and is not run ahead, where the "
		 "values that its window would show are known well enough; code whose values are "
		 "not known yet, or have changed, is run ahead each time. Windows that are run "
		 "stand for those that are not, so shares stay right. `assay info` says how many "
		 "were passed over. The time saved allows a higher rate.\n\n"
		 "With -a and --cgroup recording takes --budget of the machine's CPU time at most: "
		 "where it would take more, windows are passed over, at random, and those that are "
		 "run stand for the others. All samples of time are taken. `assay info` says how "
		 "many windows one stood for.\n\n"
		 "With --schedule an exact recording observes samples of the run, and only counts "
		 "instructions between them: counts are multiplied by the samples' weights, and "
		 "stand "
		 "for the whole run. periodic takes samples of --sample-size instructions each "
		 "--sample-period; auto chooses both, aiming at a run of one and a half times "
		 "native; a list of targets has the beginning and the "
		 "weight of each "
		 "sample, and the instructions of the whole run (e): another run is refused.\n\n"
		 "With -p the processes named are sampled, with all threads and descendants that "
		 "they "
		 "have and that are born later, until the last of those named has ended. "
		 "Descendants "
		 "that the user could not trace are left out, and counted in a warning. "
		 "--no-children leaves out descendants, those born later, too.\n\n"
		 "Needs CAP_BPF and CAP_PERFMON (or root) and Linux 5.17; `assay doctor` tells. "
		 "With "
		 "these two capabilities a user samples what they could trace with a debugger; -a "
		 "and --cgroup take CAP_SYS_PTRACE, too. "
		 "The recording holds values from the program's memory, with -a from the memory of "
		 "all users' processes: passwords and keys may be among them. Its mode is 0600; "
		 "under sudo it belongs to the user who called, and is written with that user's "
		 "rights.\n\n"
		 "Ctrl-C: the command gets it, as it would alone; a second one ends the recording, "
		 "which is kept. With -p, -t, -a or --cgroup the first one does.",
	.examples = "sudo assay record -- gzip -9 -k big.txt\n"
		    "assay record --exact -- gzip -9 -k big.txt\n"
		    "assay record --exact --observe values -- ./program\n"
		    "assay record --exact --observe calls -- ./program\n"
		    "assay record --exact --observe conflicts -- ./program\n"
		    "assay record --exact --observe lines --interval 1e6 -- ./program\n"
		    "assay record --exact --observe values --schedule auto -- ./program\n"
		    "assay record --exact --schedule m1000:s500:w2:s1800:m1:e1874500 -- "
		    "./program\n"
		    "assay record --exact --observe phases -- ./program\n"
		    "assay record --exact --observe misses --machine l2=512K/8 -- ./program\n"
		    "sudo assay record -F 4999 -o build.db -- make -j2\n"
		    "sudo assay record -p 1234 -d 30\n"
		    "sudo assay record -p 1234,1240 --no-children -d 30\n"
		    "sudo assay record --reuse -p 1234 -d 30\n"
		    "sudo assay record --pgo -p 1234 -d 60\n"
		    "sudo assay record --no-stacks -F 9999 -- ./program\n"
		    "sudo assay record --policy slots -F 1999 -p 1234 -d 60\n"
		    "sudo assay record --cgroup system.slice/nginx.service -d 30\n"
		    "sudo assay record -a -d 10\n",
	.opts = opts,
	.privileged = true,
	.command = true,
	.run = run,
};
