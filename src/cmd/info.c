/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "report/info.h"

static struct reading_options in = {
	.verb = "info", .input = "assay.db", .warn = log_warn, .empty_too = true
};

static const struct opt opts[] = {
	READ_INPUT(in), READ_WIDE(in, "do not cut long lines"), READ_JSON(in), READ_PAGER(), { 0 },
};

static void print(struct reading *r, struct err *err)
{
	info_print(r, err);
}

static int run(int argc, char **argv, struct err *err)
{
	if (argc)
		return read_no_operands(&in, argv[0], NULL, err);
	return read_and_print(&in, print, err);
}

const struct verb cmd_info = {
	.name = "info",
	.summary = "how a recording was made, what was lost, what it cost",
	.synopsis = "[-i FILE] [--json]",
	.about = "Says what was recorded and how: rate, samples, windows and their mean "
		 "length, why windows ended, what was lost and where, what the recorder "
		 "cost, and which images were seen.\n\n"
		 "A window ends early where it cannot know how the program goes on; it "
		 "never guesses.\n\n"
		 "For an exact recording it tells what was observed, how many instructions were "
		 "executed, and what was not observed.",
	.examples = "assay info\n"
		    "assay info --json | jq '.stops[] | {stop, share}'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
