/* SPDX-License-Identifier: MIT */
#include "html/html.h"

#include "base/log.h"
#include "base/pages.h"
#include "cmd/page.h"
#include "base/progress.h"
#include "cmd/read.h"
#include "cmd/verbs.h"

static struct reading_options in = {
	.verb = "html", .input = "assay.db", .empty_too = true, .warn = log_warn
};
static struct html_options o = { .procedures = 40, .megabytes = 3, .progress = progress_show };
static const char *output = "assay.html";

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 'o', "output", "FILE", "where to write (default assay.html; -: the standard output)",
	  OPT_STRING, &output, 0, 0, NULL },
	{ 'n', "procedures", "N", "procedures that are annotated at most (default 40)", OPT_UINT,
	  &o.procedures, 0, 10000, NULL },
	{ 0, "size", "MB",
	  "size of the page at most (default 3): what has least of the time is left out",
	  OPT_DOUBLE, &o.megabytes, 0.2, 2000, NULL },
	{ 0 },
};

static int write_page(FILE *out, void *r, struct err *err)
{
	return html_write(r, &o, out, err);
}

static int run(int argc, char **argv, struct err *err)
{
	static struct reading r;

	if (argc)
		return read_no_operands(&in, argv[0], NULL, err);
	pages_keep();
	progress_file("reading", in.input);
	if (reading_open(&r, &in, err))
		return err->code;
	page_write(output, write_page, &r, err);
	return err->code;
}

const struct verb cmd_html = {
	.name = "html",
	.summary = "a recording as one page for a browser: flame graph, source, assembly",
	.synopsis = "[-i FILE] [-o FILE] [-n N] [--size MB]",
	.about = "Writes one file that holds everything it needs: it opens without a network, and "
		 "can be "
		 "sent to a colleague who does not have Assay.\n\n"
		 "Procedures: by time, with search. Flame graph: zoom, search, reversed, by "
		 "thread, and "
		 "by a stretch of time that is selected on the load over time. Annotate: the "
		 "hottest "
		 "procedures, source beside instructions, each with its time, executions and "
		 "cycles, "
		 "where branches go and how often, what values operands had, and what may have "
		 "stalled "
		 "it. Plots: working sets and miss ratios, where they were recorded. All of it by "
		 "mouse "
		 "or by keyboard; ? lists the keys.\n\n"
		 "The page has the names of procedures and files, the text of source lines around "
		 "those that ran, and values that the program worked with: like a recording, it is "
		 "readable for its owner alone.",
	.examples = "assay html && xdg-open assay.html\n"
		    "assay html -i server.db -o server.html -n 100\n",
	.opts = opts,
	.words = "",
	.run = run,
};
