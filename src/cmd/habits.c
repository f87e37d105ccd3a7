/* SPDX-License-Identifier: MIT */
#include "cmd/habits.h"

#define NO_LAYOUT "leave it out: readings are text, on a terminal through a pager"

const struct opt_habit habits_verbs[] = {
	{ "top", "`sudo assay record -a -d 10`, then `assay report`" },
	{ "stat", "`assay record --exact -- CMD` counts instructions, --observe misses simulates "
		  "caches and predictors; `assay report` and `assay info` print them" },
	{ "script", "`assay export perf-script` writes that text; each reading has --json" },
	{ "list", "`assay record --help` has the events (-e) and what --exact observes; `assay "
		  "doctor` says which work here" },
	{ "mem", "`assay record --exact --observe misses -- CMD`, then `assay report`; `assay "
		 "reuse` says what cache would be enough" },
	{ "c2c",
	  "`sudo assay record -- CMD`, then `assay report --why`, which names lines contended "
	  "by threads; `assay wset` for lines that threads share" },
	{ "evlist buildid-list config data", "`assay info` says how a recording was made, and has "
					     "the build-ids" },
	{ "archive buildid-cache", "a recording holds what readings need, but for source and "
				   "assembly, which come from the recorded files" },
	{ "version", "`assay --version`" },
	{ "test", "`assay doctor` says what this machine allows" },
	{ "flamegraph", "`assay html` has one; `assay export folded` writes stacks for "
			"flamegraph.pl" },
	{ "timechart sched lock", "Assay observes what runs, not what waits; `assay html` shows "
				  "threads over time" },
	{ "trace probe ftrace kmem kvm kwork inject bench",
	  "Assay has nothing of the kind, perf has; `assay help` lists the verbs" },
	{ 0 },
};

const struct opt_habit habits_record[] = {
	{ "-c --count", "-F HZ sets samples a second; --exact counts every instruction" },
	{ "--freq", "-F HZ" },
	{ "--rate=max", "-F HZ takes a number; a rate that would cost too much is refused" },
	{ "-C --cpu", "-a records all CPUs; a command can be bound to one: assay record -- taskset "
		      "-c CPU CMD" },
	{ "--all-cpus", "-a" },
	{ "-u --uid", "-p \"$(pgrep -d, -u USER)\"" },
	{ "-i --no-inherit", "with -p: --no-children; children of a command are always recorded" },
	{ "-D --delay", "start the command first, and attach later: assay record -p PID" },
	{ "-v --verbose", "`assay info` says how it was recorded, what was lost, what it cost" },
	{ "-m --mmap-pages", "--ring MIB" },
	{ "-j --branch-filter --branch-any",
	  "leave it out: windows hold branches anyway; --pgo records nothing else" },
	{ "-n --no-samples -s --stat -T --timestamp -P --period -W --weight --phys-data -N -B "
	  "--no-buildid --no-buildid-cache -f --force -z --compression-level -k --clockid "
	  "--user-callchains --switch-events --sample-cpu -R --raw-samples -r --realtime",
	  "leave it out: nothing here corresponds to it; `assay record --help` lists options" },
	{ "-A --append", "record into another file, and add both up: assay merge" },
	{ "-G", "--cgroup NAME" },
	{ "--event=cpu-clock:u --event=cycles:u --event=cycles:ppp --event=cycles:pp "
	  "--event=cycles:p --event=task-clock --event=cpu-cycles",
	  "one of: cpu-clock cycles; user and kernel are both recorded, and told apart" },
	{ "--event=instructions --event=instructions:u --event=branches",
	  "`assay record --exact -- CMD` counts every instruction and branch" },
	{ "--event=cache-misses --event=cache-references --event=branch-misses "
	  "--event=L1-dcache-load-misses --event=LLC-load-misses --event=dTLB-load-misses",
	  "`assay record --exact --observe misses -- CMD` simulates caches, TLBs and a branch "
	  "predictor; `assay report --why` estimates what misses cost" },
	{ 0 },
};

const struct opt_habit habits_report[] = {
	{ "--stdio --stdio-color --tui --gtk", NO_LAYOUT },
	{ "-g --call-graph -G --inverted",
	  "--children has time with callees, --callers PROC who calls it; `assay html` has a flame "
	  "graph" },
	{ "-s --sort", "--by image, procedure, line, process, thread, comm or cgroup" },
	{ "--no-children", "leave it out: time with callees is shown only with --children" },
	{ "--percent-limit --max-stack", "-n N limits the rows" },
	{ "-p --parent", "--callers PROC" },
	{ "-d --dso --dsos", "--image GLOB" },
	{ "-S --symbol --symbols --symbol-filter", "`assay annotate PROCEDURE`; --image GLOB" },
	{ "-c --comm --comms --pid --tid", "--by process, thread or comm divides the time; "
					   "-p PID or -t TID of `assay record` records one alone" },
	{ "-F --fields", "--json has all columns" },
	{ "--header --header-only -I --show-info -v --verbose --stats", "`assay info`" },
	{ "-D --dump-raw-trace", "`assay export perf-script` writes samples as text" },
	{ "--inline", "leave it out: inlined procedures are told apart; --no-inline undoes that" },
	{ "-q --quiet -f --force --show-nr-samples --show-total-period --demangle --kallsyms "
	  "-k --vmlinux -m --modules -T --threads",
	  "leave it out: nothing here corresponds to it; `assay report --help` lists options" },
	{ 0 },
};

const struct opt_habit habits_annotate[] = {
	{ "--stdio --stdio2 --tui --gtk", NO_LAYOUT },
	{ "-s --symbol", "assay annotate PROCEDURE" },
	{ "-d --dsos", "--image GLOB" },
	{ "-l --print-line -P --full-paths",
	  "`assay report --by line`; `assay html` has source beside assembly" },
	{ "-M --disassembler-style", "leave it out: assembly is in Intel's syntax" },
	{ 0 },
};
