/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "cmd/habits.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "report/children.h"
#include "report/phases.h"
#include "report/threads.h"
#include "report/times.h"
#include "report/why.h"

static struct reading_options in = { .verb = "report", .input = "assay.db", .warn = log_warn };
static struct times_options o = { .n = 20 };
static struct read_executions executions;
static struct phases_options phases_options = { .n = 5 };
static struct children_options stacks = { .n = 20 };
static bool why, phases, children;

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 'n', "rows", "N", "rows of each table (default 20; 0: all)", OPT_UINT, &o.n, 0, 1e9,
	  NULL },
	{ 0, "by", "WHAT",
	  "image, procedure or line (default: images, then procedures); with call stacks "
	  "process, thread, comm (the name of a thread), cgroup",
	  OPT_CHOICE, &o.by, 0, 0, "image procedure line " THREADS_BY },
	{ 0, "image", "GLOB", "only images whose name or path matches the pattern", OPT_STRING,
	  &o.image, 0, 0, NULL },
	{ 0, "why", NULL, "what the time was spent on: stalls, and what may have caused them",
	  OPT_FLAG, &why, 0, 0, NULL },
	{ 0, "phases", NULL,
	  "phases of a run recorded with --observe phases, and the hottest procedures of each",
	  OPT_FLAG, &phases, 0, 0, NULL },
	{ 0, "children", NULL, "time with what was called, by call stacks", OPT_FLAG, &children, 0,
	  0, NULL },
	{ 0, "callers", "PROC", "who calls the procedure, by the time that it and its callees take",
	  OPT_STRING, &stacks.callers, 0, 0, NULL },
	{ 0, "callees", "PROC", "what the procedure calls, by the time there", OPT_STRING,
	  &stacks.callees, 0, 0, NULL },
	{ 0, "from", "S", "of call stacks, only those from this second of the recording on",
	  OPT_DOUBLE, &stacks.from, 0, 1e9, NULL },
	{ 0, "to", "S", "and only those before this one", OPT_DOUBLE, &stacks.to, 0, 1e9, NULL },
	{ 0, "no-inline", NULL, "of call stacks, only procedures that were not inlined", OPT_FLAG,
	  &stacks.no_inline, 0, 0, NULL },
	READ_METHOD(executions),
	READ_COUNTS(executions),
	READ_REPEAT(executions),
	READ_WIDE(in, "do not cut long names"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

static bool by_stacks(void)
{
	return children || stacks.callers || stacks.callees;
}

static int check_stacks(struct err *err)
{
	if (by_stacks() && (why || phases || o.by || o.image))
		return err_set(err, ERR_USAGE,
			       "--children, --callers and --callees are of call stacks: without "
			       "--why, --phases, --by, --image");
	if (stacks.callers && stacks.callees)
		return err_set(err, ERR_USAGE, "--callers and --callees: one at a time");
	if (!by_stacks() && !threads_is(o.by) && (stacks.from > 0 || stacks.to > 0))
		return err_set(err, ERR_USAGE,
			       "--from and --to are for --children, --callers, --callees and --by "
			       "process, thread, comm, cgroup");
	return 0;
}

static void print(struct reading *r, struct err *err)
{
	if (phases) {
		phases_print(r, &phases_options, err);
		return;
	}
	if (threads_is(o.by)) {
		threads_print(r,
			      &(struct threads_options){
				      .by = o.by, .from = stacks.from, .to = stacks.to, .n = o.n },
			      err);
		return;
	}
	if (by_stacks()) {
		children_print(r, &stacks, err);
		return;
	}
	if (read_choose_executions(r, &executions, err))
		return;
	if (why)
		why_print(r, &(struct why_options){ .image = o.image, .n = o.n }, err);
	else
		times_print(r, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	static const void *const rows[] = { &o.n, NULL };

	if (argc)
		return read_no_operands(&in, argv[0], "annotate", err);
	if (why && o.by) {
		err_set(err, ERR_USAGE, "--why is by procedure, not by %s", o.by);
		return err->code;
	}
	if (phases && (why || o.by || o.image)) {
		err_set(err, ERR_USAGE,
			"--phases is of the whole run: without --why, --by, --image");
		return err->code;
	}
	if (check_stacks(err))
		return err->code;
	stacks.n = o.n;
	if (opt_given(&cmd_report, rows))
		phases_options.n = o.n;
	if (read_check_executions(&executions, why, "--why", err))
		return err->code;
	return read_and_print(&in, print, err);
}

const struct verb cmd_report = {
	.name = "report",
	.summary = "where the time went: images, procedures, lines",
	.synopsis = "[-i FILE] [--by WHAT | --why | --children] [-n N] [--json]",
	.about =
		"Time is counted in samples; the share of each row is followed by the "
		"bound within which the true share lies with 95 % confidence, as far as "
		"sampling is to blame. Kernel procedures stand under [kernel]. Code of a "
		"stripped file is named sub_ADDRESS where unwind information tells "
		"procedures apart, else [stripped].\n\n"
		"For an exact recording it lists executed instructions instead, all of them "
		"counted: without bounds, and without the kernel.\n\n"
		"--by line needs the recorded files, unchanged, and their debug "
		"information.\n\n"
		"--phases shows a recording of --exact --observe phases over time: intervals that "
		"execute much the same blocks are phases; of each its share of the instructions, "
		"and its hottest procedures (5, or -n). `assay targets` chooses samples by "
		"them.\n\n"
		"--children adds to each procedure what it called, by the call stacks of a "
		"recording made with -g; --callers and --callees show one procedure between those "
		"that call it and those that it calls. Where debug information says so, code that "
		"the compiler has put into a procedure is shown as called by it, marked "
		"(inlined).\n\n"
		"--why says what the time of a sampled recording was spent on, of the "
		"program and of each procedure: execution; static stalls, which the order "
		"of its instructions causes by itself (llvm-mca tells); dynamic stalls, "
		"beyond that, with all that can have caused them, each within a range: "
		"whatever is not shown to be innocent is listed, and what nothing explains "
		"is unexplained. The analysis is kept in the recording, so that asking "
		"again is quick. docs/methods/culprits.md has the rules. --counts takes executions "
		"from an exact recording of the same work (`assay record --exact`) instead of "
		"estimating them; --repeat says how often the sampled run did that work.",
	.examples = "assay report\n"
		    "assay report --by line -n 10\n"
		    "assay report --image 'libc*' -n 0\n"
		    "assay report --why\n"
		    "assay report --phases\n"
		    "assay report --children\n"
		    "assay report --callers malloc --from 2 --to 5\n"
		    "assay report --by process\n"
		    "assay report --why --counts exact.db\n"
		    "assay report --json | jq '.procedures[0]'\n",
	.opts = opts,
	.habits = habits_report,
	.words = "",
	.run = run,
};
