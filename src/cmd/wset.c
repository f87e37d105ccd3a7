/* SPDX-License-Identifier: MIT */
#include "report/wset.h"

#include "base/log.h"
#include "cmd/verbs.h"

static struct reading_options in = { .verb = "wset", .input = "assay.db", .warn = log_warn };
static struct wset_options o = { .rows = 16, .height = 10 };

static const struct opt opts[] = {
	{ 'i', "input", "FILE", "the recording (default assay.db)", OPT_STRING, &in.input, 0, 0,
	  NULL },
	{ 'n', "rows", "N", "intervals in the table (default 16, evenly spread; 0: all)", OPT_UINT,
	  &o.rows, 0, 1e9, NULL },
	{ 0, "process", "PID", "of that process (default: the one that touched most)", OPT_UINT,
	  &o.process, 1, 4194304, NULL },
	{ 0, "code", NULL, "draw lines of code, not of data", OPT_FLAG, &o.code, 0, 0, NULL },
	{ 0, "map", NULL, "draw addresses over time: what was touched where", OPT_FLAG, &o.map, 0,
	  0, NULL },
	{ 0, "height", "N", "lines of the picture (default 10)", OPT_UINT, &o.height, 2, 100,
	  NULL },
	{ 0, "svg", "FILE", "draw the picture there, too", OPT_STRING, &o.svg, 0, 0, NULL },
	{ 'w', "wide", NULL, "do not cut long names", OPT_FLAG, &in.wide, 0, 0, NULL },
	{ 'j', "json", NULL, "as JSON", OPT_FLAG, &in.json, 0, 0, NULL },
	{ 0 },
};

static int run(int argc, char **argv, struct err *err)
{
	struct reading r;

	if (argc) {
		err_set(err, ERR_USAGE, "wset takes no operands, but '%s' was given", argv[0]);
		err_hint(err, "-i %s reads that recording", argv[0]);
		return err->code;
	}
	if (reading_open(&r, &in, err))
		return err->code;
	wset_print(&r, &o, err);
	reading_close(&r, err->code == 0);
	return err->code;
}

const struct verb cmd_wset = {
	.name = "wset",
	.summary = "the working set over time: which lines of memory are touched",
	.synopsis = "[-i FILE] [-n N] [--process PID] [--svg FILE] [--json]",
	.about =
		"Of a recording made with --exact --observe lines: how many lines of memory (cache "
		"lines, 64 bytes unless told) each interval of the run touched, as a picture with "
		"time from left to right, and as a table: lines; new: not touched in the interval "
		"before; reused: touched there, too; gone: touched there, and not in this one; "
		"code: lines of code that were executed; and the procedure in which the interval "
		"ended. Then, what the lines belong to: the heap, stacks, images of files, other "
		"mappings; and which procedures were the first to touch a line, summed over "
		"intervals.\n\n"
		"A line counts once an interval, however often it is touched. Every reference of "
		"the "
		"program counts, also of vector, string and atomic instructions and of calls and "
		"returns; prefetches do not, nor what the kernel does (--kernel-buffers of "
		"record). Memory that was unmapped before the interval's end is not in it.\n\n"
		"A column of the picture shows the largest interval that it covers. With --map a "
		"row is a band of addresses (its first one, and what most of its lines belong to), "
		"and the darker a place is the more of its lines were touched then.",
	.examples = "assay record --exact --observe lines -- gzip -9 -k big.txt\n"
		    "assay wset\n"
		    "assay wset --svg wset.svg\n"
		    "assay wset --map --height 24\n"
		    "assay wset --json | jq '.intervals[] | [.end, .lines]'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
