/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cmd/exact_session.h"
#include "cmd/habits.h"
#include "cmd/record_priv.h"
#include "cmd/verbs.h"
#include "engine/shared.h"
#include "observe/conflicts.h"
#include "runahead/state.h"

#define PGO_AREA \
	65536 /* instructions lifted at a time: more than otherwise, so that rare code is lifted before it runs */
#define PGO_RATE 199	  /* Hz: windows are eight times as long as others */
#define SAMPLED_VALUES 32 /* more of them would find hardly anything more (README.md) */

struct record_given record_given = {
	.rate = 997,
	.budget = 5,
	.cache_kib = RECORD_CACHE_KIB,
	.code_kuops = 1536,
	.neighbourhood = 4096,
	.distance = CONFLICT_DISTANCE_DEFAULT,
	.output = "assay.db",
	.sketch = "space-saving",
	.observe = "counts",
	.machine = "",
	.policy = "default",
	.line = 64,
	.interval_unit = "instructions",
	.lines_how = "both",
	.warming = "lines",
};

static const struct opt opts[] = {
	{ 'F', "rate", "HZ", "samples a second on each CPU that runs (default 997)", OPT_DOUBLE,
	  GIVEN(rate), 1, 100000, NULL },
	{ 'b', "burst", "N", "instructions to run ahead of each sample (default 256)", OPT_UINT,
	  GIVEN(burst), 1, RA_BURST_MAX, NULL },
	{ 'e', "event", "EVENT", "cpu-clock, or cycles where there is a PMU (the default there)",
	  OPT_CHOICE, GIVEN(event), 0, 0, "cpu-clock cycles" },
	{ 'p', "pid", "PID[,PID]",
	  "attach to processes, their threads and children, and those to come; may be given again",
	  OPT_UINTS, GIVEN(pids), 1, 4194304, NULL },
	{ 0, "no-children", NULL, "with -p: only the processes named, and their threads", OPT_FLAG,
	  GIVEN(no_children), 0, 0, NULL },
	{ 't', "tid", "TID", "attach to one thread", OPT_UINT, GIVEN(tid), 1, 4194304, NULL },
	{ 'a', "all", NULL, "all processes of all users, values of their memory included", OPT_FLAG,
	  GIVEN(all), 0, 0, NULL },
	{ 0, "cgroup", "NAME",
	  "the processes of a control group, those to come included (/proc/PID/cgroup has names)",
	  OPT_STRING, GIVEN(cgroup), 0, 0, NULL },
	{ 'd', "duration", "S", "stop after S seconds", OPT_DOUBLE, GIVEN(seconds), 0.01, 1e7,
	  NULL },
	{ 'o', "output", "FILE", "where to record (default assay.db; an old one becomes FILE.old)",
	  OPT_STRING, GIVEN(output), 0, 0, NULL },
	{ 'g', "stacks", NULL,
	  "call stacks, which are recorded anyway, but with --pgo and --policy slots only if "
	  "asked for",
	  OPT_FLAG, GIVEN(stacks), 0, 0, NULL },
	{ 0, "no-stacks", NULL, "no call stacks: samples say where, and not who called", OPT_FLAG,
	  GIVEN(no_stacks), 0, 0, NULL },
	{ 0, "call-graph", "METHOD",
	  "as perf takes the option: dwarf and fp are -g, which uses both; no is --no-stacks",
	  OPT_STRING, GIVEN(call_graph), 0, 0, NULL },
	{ 0, "reuse", NULL,
	  "reuse times too, by windows and watchpoints: for assay reuse; without --exact", OPT_FLAG,
	  GIVEN(reuse), 0, 0, NULL },
	{ 0, "pgo", NULL,
	  "branches alone, of long windows, for assay export: as -F 199 -b 2048, without values",
	  OPT_FLAG, GIVEN(pgo), 0, 0, NULL },
	{ 0, "policy", "POLICY",
	  "which samples are run ahead: default, all of them; slots, fewer where values are known",
	  OPT_CHOICE, GIVEN(policy), 0, 0, "default slots" },
	{ 0, "budget", "PERCENT",
	  "with -a or --cgroup: CPU time that it may take, % of all CPUs' (default 5; 0: any)",
	  OPT_DOUBLE, GIVEN(budget), 0, 100, NULL },
	{ 0, "exact", NULL,
	  "count every instruction of a command, instead of sampling: no privilege", OPT_FLAG,
	  GIVEN(exact), 0, 0, NULL },
	{ 0, "observe", "WHAT",
	  "with --exact: counts (default), addresses, values, calls, conflicts, lines (working "
	  "sets), reuse, misses, cycles, phases",
	  OPT_CHOICE, GIVEN(observe), 0, 0,
	  "counts addresses values calls conflicts lines reuse misses cycles phases" },
	{ 0, "machine", "WHAT",
	  "with misses, cycles or reuse: caches and a core other than this CPU's, "
	  "l1d=32K/8,width=4,...",
	  OPT_STRING, GIVEN(machine), 0, 0, NULL },
	{ 0, "cache", "KIB",
	  "with --exact: room for translated code in each process (default 393216)", OPT_UINT,
	  GIVEN(cache_kib), 64, 393216, NULL },
	{ 0, "distance", "N",
	  "instructions between a store and a load that conflict, at most (default 128; 0: none)",
	  OPT_UINT, GIVEN(distance), 0, CONFLICT_DISTANCE_MAX, NULL },
	{ 0, "line", "BYTES",
	  "with --observe lines: of a line (default 64; 16 to 4096, a power of two)", OPT_UINT,
	  GIVEN(line), 16, 4096, NULL },
	{ 0, "interval", "N",
	  "length of an interval at first, in its unit (default 10000000, or 20000 for phases; ns "
	  "of time)",
	  OPT_DOUBLE, GIVEN(interval), 1000, 1e15, NULL },
	{ 0, "interval-unit", "UNIT", "instructions (default), accesses, cpu or wall time",
	  OPT_CHOICE, GIVEN(interval_unit), 0, 0, "instructions accesses cpu wall" },
	{ 0, "snapshots", "N",
	  "intervals kept: neighbours become one when there are more (default 128; phases: 1000)",
	  OPT_UINT, GIVEN(snapshots), 2, 65536, NULL },
	{ 0, "lines-how", "HOW",
	  "for measuring what marking costs: both (default), check, coalesce, neither", OPT_CHOICE,
	  GIVEN(lines_how), 0, 0, "both check coalesce neither" },
	{ 0, "kernel-buffers", NULL, "lines that system calls read and write count as touched, too",
	  OPT_FLAG, GIVEN(kernel_buffers), 0, 0, NULL },
	{ 0, "schedule", "WHAT",
	  "with --exact: which parts are observed: whole (default), single, periodic, auto, "
	  "targets (m1000:s500:w2:s1800:m1:e1874500), or @FILE with these",
	  OPT_STRING, GIVEN(schedule), 0, 0, NULL },
	{ 0, "sample-size", "N", "instructions of a sample (default 50000)", OPT_DOUBLE,
	  GIVEN(sample_size), 1, SCHEDULE_MOST, NULL },
	{ 0, "warmup-size", "N",
	  "instructions before each sample for which misses are simulated but not counted",
	  OPT_DOUBLE, GIVEN(warmup_size), 0, SCHEDULE_MOST, NULL },
	{ 0, "warming", "HOW",
	  "misses, cycles: between samples large caches see which lines are touched (lines, the "
	  "default), everything is simulated (all), or nothing is (none)",
	  OPT_CHOICE, GIVEN(warming), 0, 0, "lines all none" },
	{ 0, "sample-period", "N", "instructions from a sample to the next (default 5000000)",
	  OPT_DOUBLE, GIVEN(sample_period), 1, SCHEDULE_MOST, NULL },
	{ 0, "skip", "N", "instructions before the first sample, single or periodic", OPT_DOUBLE,
	  GIVEN(skip), 0, SCHEDULE_MOST, NULL },
	{ 0, "allow-mismatch", NULL,
	  "targets: record a run even if it is not as long as the one they were chosen for",
	  OPT_FLAG, GIVEN(allow_mismatch), 0, 0, NULL },
	{ 'q', "quiet", NULL, "no closing line", OPT_FLAG, GIVEN(quiet), 0, 0, NULL },
	{ 0, "sketch", "METHOD", "how hot values are kept: space-saving (default) or counting",
	  OPT_CHOICE, GIVEN(sketch), 0, 0, "space-saving counting" },
	{ 0, "values", "N", "values kept of each site and operand (default 32; 16 with --exact)",
	  OPT_UINT, GIVEN(capacity), 1, HOT_CAPACITY_MAX, NULL },
	{ 0, "ring", "MIB",
	  "ring buffer between kernel and recorder, a power of two (default 16 to 64, by rate)",
	  OPT_UINT, GIVEN(ring_mib), 1, 1024, NULL },
	{ 0, "code", "K", "room for lifted code, thousands of micro-ops (default 1536)", OPT_UINT,
	  GIVEN(code_kuops), 64, 65536, NULL },
	{ 0, "neighbourhood", "N", "most instructions lifted around missing code (default 4096)",
	  OPT_UINT, GIVEN(neighbourhood), 16, 1000000, NULL },
	{ 0 },
};

static void set_lines(struct exact_lines *l)
{
	const struct record_given *g = &record_given;
	const struct record_observer *o = record_observer();
	bool check = !strcmp(g->lines_how, "both") || !strcmp(g->lines_how, "check");
	bool coalesce = !strcmp(g->lines_how, "both") || !strcmp(g->lines_how, "coalesce");

	*l = (struct exact_lines){
		.shift = (unsigned)__builtin_ctz(g->line),
		.unit = !strcmp(g->interval_unit, "accesses") ? EXACT_ACCESSES
			: !strcmp(g->interval_unit, "cpu")    ? EXACT_CPU_NS
			: !strcmp(g->interval_unit, "wall")   ? EXACT_WALL_NS
							      : EXACT_INSTRUCTIONS,
		.flags = (check ? 0 : EXACT_LINES_UNCHECKED) | (coalesce ? 0 : EXACT_LINES_SINGLY) |
			 (g->kernel_buffers ? EXACT_LINES_KERNEL : 0),
		.snapshots = g->snapshots ? g->snapshots : o->snapshots,
		.interval = (uint64_t)(g->interval > 0 ? g->interval : o->interval),
	};
}

static void set_sampler(struct sampler_options *o, bool command)
{
	const struct record_given *g = &record_given;
	bool shared = g->all || g->cgroup;

	*o = sampler_defaults;
	o->event = g->event;
	o->rate = g->rate;
	o->ring_mib = g->ring_mib;
	o->code_kuops = g->code_kuops;
	o->neighbourhood = g->neighbourhood;
	o->watch = g->reuse;
	o->branches = g->pgo;
	o->slots = record_has_policy();
	o->no_children = g->no_children;
	o->budget = g->budget > 0 && shared && !o->watch && !o->branches && !o->slots;
	o->command = command && !shared;
	if (o->branches && !RECORD_OPTION(GIVEN(rate)))
		o->rate = PGO_RATE;
	if (o->branches && !RECORD_OPTION(GIVEN(neighbourhood)))
		o->neighbourhood = PGO_AREA;
}

static int run_session(struct session_options *o, struct err *err)
{
	if (record_schedule(o, err) || machine_parse(&o->machine, record_given.machine, err))
		return err->code;
	if (record_given.exact)
		return exact_session_run(o, err);
	if (record_pace(&o->sampler, err))
		return err->code;
	return session_run(o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	const struct record_given *g = &record_given;
	struct session_options o = {
		.output = g->output,
		.argv = argc ? argv : NULL,
		.pids = &g->pids,
		.tid = (pid_t)g->tid,
		.all = g->all,
		.cgroup = g->cgroup,
		.seconds = g->seconds,
		.sketch = (enum hot_method)hot_method_by_name(g->sketch),
		.sketch_capacity = g->capacity ? g->capacity
				   : g->exact  ? HOT_CAPACITY_DEFAULT
					       : SAMPLED_VALUES,
		.quiet = g->quiet,
		.observe = record_observer()->observe,
		.simulate = record_observer()->simulate,
		.cache_kib = g->cache_kib,
		.distance = g->pgo ? 0 : g->distance,
		.allow_mismatch = g->allow_mismatch,
	};
	int rc;

	if (record_check(argc, err))
		return err->code;
	set_sampler(&o.sampler, argc > 0);
	o.budget = o.sampler.budget ? g->budget / 100 : 0;
	set_lines(&o.lines);
	machine_this(&o.machine);
	rc = run_session(&o, err);
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
	.habits = habits_record,
	.privileged = true,
	.command = true,
	.run = run,
};
