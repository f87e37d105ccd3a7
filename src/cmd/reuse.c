/* SPDX-License-Identifier: MIT */
#include "report/reuse.h"

#include "base/log.h"
#include "cmd/read.h"
#include "cmd/verbs.h"

static struct reading_options in = { .verb = "reuse", .input = "assay.db", .warn = log_warn };
static struct reuse_options o = { .n = 10 };

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 'n', "rows", "N", "procedures (default 10; 0: all)", OPT_UINT, &o.n, 0, 1e9, NULL },
	{ 0, "process", "PID", "the curve of that process (default: the sum of all)", OPT_UINT,
	  &o.process, 1, 4194304, NULL },
	{ 0, "svg", "FILE", "draw the curve there, too", OPT_STRING, &o.svg, 0, 0, NULL },
	READ_WIDE(in, "do not cut long names"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

static void print(struct reading *r, struct err *err)
{
	reuse_print(r, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	if (argc)
		return read_no_operands(&in, argv[0], NULL, err);
	return read_and_print(&in, print, err);
}

const struct verb cmd_reuse = {
	.name = "reuse",
	.summary = "the miss-ratio curve: what cache would hold what a program touches",
	.synopsis = "[-i FILE] [-n N] [--process PID] [--svg FILE] [--json]",
	.about =
		"Reads a recording made with --exact --observe reuse, or sampled with --reuse: for "
		"each size of a cache, the share of touches of lines of memory that a cache would "
		"miss if it were fully associative with LRU replacement; the sizes of the caches "
		"of "
		"the machine that recorded are marked. Then the procedures whose touches miss a "
		"cache of the size of L2 most often.\n\n"
		"It is exact, made of reuse distances: how many different other lines were "
		"touched since the line was touched before. An access that crosses lines touches "
		"each. Prefetches and fetches of instructions do not count. Real caches have "
		"sets, and prefetch: `assay record --exact --observe misses` simulates sets.\n\n"
		"The threads of a process share the cache of its curve, with their "
		"touches taken in turns of some ten thousand. Processes do not share lines; their "
		"curves are added up.\n\n"
		"Sampled with --reuse it is an estimate, with bounds, and without procedures: "
		"reuse times within windows, and of lines that hardware watchpoints watched, made "
		"a curve by StatStack. How often each part of the program touched memory follows "
		"from its estimated executions, as in assay annotate; where the program's files "
		"are missing, bounds are wide. Reuse by other threads than the one that was "
		"watched is not seen.",
	.examples = "sudo assay record --reuse -- gzip -9 -k big.txt\n"
		    "assay reuse\n"
		    "assay record --exact --observe reuse -- gzip -9 -k big.txt\n"
		    "assay reuse\n"
		    "assay reuse --svg curve.svg\n"
		    "assay reuse --json | jq '.sizes[] | [.bytes, .ratio]'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
