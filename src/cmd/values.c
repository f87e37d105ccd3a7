/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "report/value_callers.h"
#include "report/values.h"

static struct reading_options in = { .verb = "values", .input = "assay.db", .warn = log_warn };
static const char *by;
static struct values_options o = { .n = 20, .min_share = 0.5 };

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 'n', "rows", "N", "how many (default 20; 0: all)", OPT_UINT, &o.n, 0, 1e9, NULL },
	{ 0, "operand", "WHAT", "only these (default: load, result, argument, return)", OPT_CHOICE,
	  &o.operand, 0, 0, VALUES_OPERANDS },
	{ 0, "min-share", "S", "least lower limit of the share, 0 to 1 (default 0.5)", OPT_DOUBLE,
	  &o.min_share, 0, 1, NULL },
	{ 0, "image", "GLOB", "only images whose name or path matches the pattern", OPT_STRING,
	  &o.image, 0, 0, NULL },
	{ 0, "procedure", "PROC", "only this procedure, as annotate takes it", OPT_STRING,
	  &o.procedure, 0, 0, NULL },
	{ 0, "all", NULL, "constants, the stack's, what follows from others, too", OPT_FLAG, &o.all,
	  0, 0, NULL },
	{ 0, "by", "WHAT",
	  "caller: values that operands have in calls from one place alone, from call stacks",
	  OPT_CHOICE, &by, 0, 0, "caller" },
	READ_WIDE(in, "do not cut long names"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

static void print(struct reading *r, struct err *err)
{
	if (by)
		value_callers_print(r, &o, err);
	else
		values_print(r, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	if (argc)
		return read_no_operands(&in, argv[0], "values --procedure", err);
	return read_and_print(&in, print, err);
}

const struct verb cmd_values = {
	.name = "values",
	.summary = "semi-invariant loads, arguments, results: what to specialise",
	.synopsis = "[-i FILE] [-n N] [--operand WHAT] [--min-share S] [--json]",
	.about = "Lists values that an instruction, or a procedure's argument, has most of "
		 "the time; the one that could save most stands first: the time at the "
		 "instruction and those that depend on its value within the procedure, "
		 "times the lower 95 % limit of the value's share. Left out are constants "
		 "by construction, what belongs to the stack, arguments that nothing reads, "
		 "and results that follow from an invariant above them.\n\n"
		 "Windows begin where time is spent, and are weighed for that. Shares "
		 "within one site are estimates; how often two sites were observed does not "
		 "compare how often they run.\n\n"
		 "--by caller needs call stacks. It lists values that an operand has in "
		 "calls from one place, but not over all callers: a copy of the procedure for that "
		 "caller could be specialised for them.\n\n"
		 "In an exact recording (--observe values), executed instructions "
		 "take the place of time, and shares are exact.",
	.examples = "assay values\n"
		    "assay values --operand argument --min-share 0.9\n"
		    "assay values --procedure longest_match\n"
		    "assay values --by caller --operand argument\n"
		    "assay values --json | jq '.values[] | select(.hint == \"clone\")'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
