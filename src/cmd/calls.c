/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "report/calls.h"

static struct reading_options in = { .verb = "calls", .input = "assay.db", .warn = log_warn };
static struct calls_options o = { .n = 20 };

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 'n', "rows", "N", "rows of each table (default 20; 0: all)", OPT_UINT, &o.n, 0, 1e9,
	  NULL },
	{ 0, "image", "GLOB", "only procedures, or calls, of images whose name or path matches",
	  OPT_STRING, &o.image, 0, 0, NULL },
	READ_WIDE(in, "do not cut long names; all hot values"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

static void print(struct reading *r, struct err *err)
{
	calls_print(r, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	if (read_one_procedure(&in, argc, argv, err))
		return err->code;
	o.procedure = argc ? argv[0] : NULL;
	return read_and_print(&in, print, err);
}

const struct verb cmd_calls = {
	.name = "calls",
	.summary = "who calls whom, with which arguments and results",
	.synopsis = "[PROC] [-i FILE] [-n N] [--image GLOB] [--json]",
	.about =
		"Without PROC, lists the calls of the whole program by how often they were made, "
		"each by its place. With PROC, a procedure as annotate takes it, lists the places "
		"that call it, and what it calls.\n\n"
		"Below a call stand the values that its arguments (rdi rsi rdx rcx r8 r9) and its "
		"result (rax) mostly had there; of arguments, those that the code of the procedure "
		"reads, or hands on to another one. A jump to another procedure's beginning is a "
		"tail call: whom it leads to returns for it. Calls of shared libraries go by way "
		"of a stub, NAME@plt, whose jump is such a one.\n\n"
		"In a sampled recording, calls and values are those that windows show; "
		"windows are weighted by time. Exact recordings count all calls; "
		"--observe calls adds arguments and results, values the arguments alone.",
	.examples = "assay calls\n"
		    "assay calls longest_match\n"
		    "assay calls malloc --image 'libc*' -n 5\n"
		    "assay calls --json | jq '.calls[] | {count, to: .to.procedure}'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
