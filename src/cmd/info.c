/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "cmd/verbs.h"
#include "report/info.h"

static struct reading_options in = {
	.verb = "info", .input = "assay.db", .warn = log_warn, .empty_too = true
};

static const struct opt opts[] = {
	{ 'i', "input", "FILE", "the recording (default assay.db)", OPT_STRING, &in.input, 0, 0,
	  NULL },
	{ 'w', "wide", NULL, "do not cut long lines", OPT_FLAG, &in.wide, 0, 0, NULL },
	{ 'j', "json", NULL, "as JSON", OPT_FLAG, &in.json, 0, 0, NULL },
	{ 0 },
};

static int run(int argc, char **argv, struct err *err)
{
	struct reading r;

	if (argc) {
		err_set(err, ERR_USAGE, "info takes no operands, but '%s' was given", argv[0]);
		err_hint(err, "-i %s if that is the recording", argv[0]);
		return err->code;
	}
	if (reading_open(&r, &in, err))
		return err->code;
	info_print(&r, err);
	reading_close(&r, err->code == 0);
	return err->code;
}

const struct verb cmd_info = {
	.name = "info",
	.summary = "how a recording was made, what was lost, what it cost",
	.synopsis = "[-i FILE] [--json]",
	.about = "Says what was recorded and how: rate, samples, windows and their mean length, "
		 "why windows "
		 "ended, what was lost and where, what the recorder cost, and which images were "
		 "seen.\n\n"
		 "A window ends early where it cannot know how the program goes on; it never "
		 "guesses.\n\n"
		 "Of an exact recording: what was observed, how many instructions were executed, "
		 "and "
		 "what is not in it.",
	.examples = "assay info\n"
		    "assay info --json | jq '.stops[] | {stop, share}'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
