/* SPDX-License-Identifier: MIT */
#include "report/wset.h"

#include "base/log.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "report/reuse.h"

static struct reading_options in = {
	.verb = "wset", .input = "assay.db", .warn = log_warn, .empty_too = true
};
static struct wset_options o = { .rows = 16, .height = 10 };
static bool mrc;

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 'n', "rows", "N", "intervals in the table (default 16, evenly spread; 0: all)", OPT_UINT,
	  &o.rows, 0, 1e9, NULL },
	{ 0, "process", "PID", "of that process (default: the one that touched most)", OPT_UINT,
	  &o.process, 1, 4194304, NULL },
	{ 0, "code", NULL, "draw lines of code, not of data", OPT_FLAG, &o.code, 0, 0, NULL },
	{ 0, "map", NULL, "draw addresses over time: what was touched where", OPT_FLAG, &o.map, 0,
	  0, NULL },
	{ 0, "stacks", NULL, "below each interval of the table, the calls that it ended in",
	  OPT_FLAG, &o.stacks, 0, 0, NULL },
	{ 0, "mrc", NULL,
	  "the miss-ratio curve instead, with this machine's caches, as assay reuse shows it",
	  OPT_FLAG, &mrc, 0, 0, NULL },
	{ 0, "height", "N", "lines of the picture (default 10)", OPT_UINT, &o.height, 2, 100,
	  NULL },
	{ 0, "svg", "FILE", "draw the picture there, too", OPT_STRING, &o.svg, 0, 0, NULL },
	READ_WIDE(in, "do not cut long names"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

static void print(struct reading *r, struct err *err)
{
	if (mrc)
		reuse_print(r, &(struct reuse_options){ o.process, o.rows, o.svg }, err);
	else
		wset_print(r, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	if (argc)
		return read_no_operands(&in, argv[0], NULL, err);
	return read_and_print(&in, print, err);
}

const struct verb cmd_wset = {
	.name = "wset",
	.summary = "the working set over time: which lines of memory are touched",
	.synopsis = "[-i FILE] [-n N] [--map | --mrc] [--svg FILE] [--json]",
	.about = "Reads a recording made with --exact --observe lines: how many lines of memory "
		 "(cache lines, 64 bytes unless told) each interval of the run touched, as a "
		 "picture with time from left to right, and as a table: lines; new: not touched in "
		 "the interval before; reused: touched there, too; gone: touched there, and not in "
		 "this one; code: lines of code that were executed; and the procedure in which the "
		 "interval ended (--stacks: who called it). Then comes the memory that the lines "
		 "belong to: the "
		 "heap, stacks, images of "
		 "files, other mappings; and which procedures were the first to touch a line, "
		 "summed over intervals. For a program with threads, shared: lines that more than "
		 "one of them touched, of each interval, and of each region in all; the others are "
		 "private to a thread.\n\n"
		 "A line counts once an interval, however often it is touched. Every reference of "
		 "the program counts, also of vector, string and atomic instructions and of calls "
		 "and returns; prefetches do not, nor what the kernel does (--kernel-buffers of "
		 "record). Memory that was unmapped before the interval's end is not in it.\n\n"
		 "A column of the picture shows the largest interval that it covers. With --map a "
		 "row is a band of addresses (its first one, and what most of its lines belong "
		 "to), and the darker a place is the more of its lines were touched then.\n\n"
		 "--mrc asks what cache would be enough: it wants a recording made with --observe "
		 "reuse.",
	.examples =
		"assay record --exact --observe lines -- gzip -9 -k big.txt\n"
		"assay wset\n"
		"assay wset --svg wset.svg\n"
		"assay wset --map --height 24\n"
		"assay record --exact --observe reuse -- gzip -9 -k big.txt && assay wset --mrc\n"
		"assay wset --json | jq '.intervals[] | [.end, .lines]'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
