/* SPDX-License-Identifier: MIT */
#include "html/html.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "cmd/page.h"
#include "base/progress.h"
#include "cmd/read.h"
#include "cmd/verbs.h"

#define VERSUS "vs" /* the word between the recordings of both sides */

static struct reading_options in = { .verb = "diff", .warn = log_warn };
static struct diff_options o = { .n = 20 };
static const char *page;

static const struct opt opts[] = {
	{ 'n', "rows", "N", "rows of each group (default 20; 0: all)", OPT_UINT, &o.n, 0, 1e9,
	  NULL },
	{ 0, "by", "WHAT", "image, procedure (default) or line", OPT_CHOICE, &o.by, 0, 0,
	  "image procedure line" },
	{ 0, "measure", "WHAT",
	  "time: CPU time of a run (default for commands); share: of the samples (default for "
	  "-p, -a)",
	  OPT_CHOICE, &o.measure, 0, 0, "time share" },
	{ 0, "image", "GLOB",
	  "only images whose name or path matches the pattern; in a flame graph, stacks that end "
	  "in them",
	  OPT_STRING, &o.image, 0, 0, NULL },
	{ 0, "html", "FILE",
	  "write a page for a browser instead: the table, and a flame graph of differences",
	  OPT_STRING, &page, 0, 0, NULL },
	READ_WIDE(in, "do not cut long names"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

/* Counts the operands of the base, and the words between both sides. */
static int split(int argc, char **argv, int *between, struct err *err)
{
	int at = -1;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], VERSUS) != 0)
			continue;
		if (at >= 0)
			return err_set(err, ERR_USAGE, "`" VERSUS "' was given twice");
		at = i;
	}
	*between = at >= 0;
	if (at < 0 && argc == 2)
		return 1;
	if (at > 0 && at + 1 < argc)
		return at;
	err_set(err, ERR_USAGE,
		at < 0 ? "diff takes two recordings, and was given %d"
		       : "diff needs recordings on both sides of " VERSUS,
		argc);
	return err_hint(err, "assay diff A.db B.db, or assay diff A1.db A2.db A3.db " VERSUS
			     " B1.db B2.db B3.db");
}

static int open_side(struct diff_side *side, int n, char **paths, struct err *err)
{
	struct reading_options each = in;

	side->reading = calloc((size_t)n, sizeof(*side->reading));
	if (!side->reading)
		return err_no_memory(err, "%d recordings", n);
	for (int i = 0; i < n; i++) {
		each.input = paths[i];
		progress_file("reading", paths[i]);
		if (reading_open(&side->reading[side->n], &each, err))
			return -1;
		side->n++;
	}
	return 0;
}

static void close_side(struct diff_side *side, struct err *err)
{
	for (size_t i = 0; i < side->n; i++)
		reading_close(&side->reading[i], i ? NULL : err);
	free(side->reading);
}

static int write_page(FILE *out, void *ctx, struct err *err)
{
	return html_diff_write(ctx, &o, out, err);
}

static void print(struct diff_side side[2], struct err *err)
{
	progress_show("comparing", 0, 0);
	if (page)
		page_write(page, write_page, side, err);
	else
		diff_print(side, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct diff_side side[2] = { 0 };
	int between = 0, base = split(argc, argv, &between, err), from = base + between;

	if (base < 0)
		return err->code;
	if (page && in.json)
		return err_set(err, ERR_USAGE, "--html and --json: one at a time");
	pages_keep();
	if (!open_side(&side[0], base, argv, err) &&
	    !open_side(&side[1], argc - from, argv + from, err))
		print(side, err);
	close_side(&side[1], NULL);
	close_side(&side[0], err);
	return err->code;
}

const struct verb cmd_diff = {
	.name = "diff",
	.summary = "what became slower or faster between recordings",
	.synopsis = "BASE NEW | BASE... vs NEW... [OPTION...]",
	.about =
		"Compares two recordings, or two sets of recordings, procedure by procedure: time "
		"on "
		"both sides, their ratio, and the interval in which the ratio lies with 95 % "
		"confidence. What became slower, what became faster, what is new and what is gone "
		"stand apart, the largest change first. Rows that chance in sampling could have "
		"made are "
		"listed last, in grey on a terminal: of the rows that are listed before, at most 5 "
		"% "
		"are expected to be there by chance.\n\n"
		"Samples of commands are converted to the CPU time that was measured: rates of "
		"sampling may differ, and what was not changed stays as it is when something else "
		"becomes faster. Recordings of running processes (-p, -a) differ in how long they "
		"are: shares of the samples are compared, --measure share.\n\n"
		"With three or more recordings on each side, how much runs of one side differ "
		"among "
		"themselves counts, too: a difference has to be larger than that. The word vs "
		"stands "
		"between both sides.\n\n"
		"Exact recordings differ exactly: each procedure that was executed more or less "
		"often is listed.\n\n"
		"--html writes one file for a browser: the table, and, where all recordings have "
		"call "
		"stacks, a flame graph of both sides, in red what became slower, in "
		"blue "
		"what became faster, in grey what chance could have made.\n\n"
		"Procedures are matched by image and name, lines by file and number. In stripped "
		"files of different builds procedures have no names, and are not matched.",
	.examples = "assay diff before.db after.db\n"
		    "assay diff before.db after.db --by line --image server\n"
		    "assay diff before-*.db vs after-*.db\n"
		    "assay diff before.db after.db --html diff.html\n"
		    "assay diff before.db after.db --json | jq '.procedures[0:5]'\n",
	.opts = opts,
	.run = run,
};
