/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "report/conflicts.h"

static struct reading_options in = { .verb = "conflicts", .input = "assay.db", .warn = log_warn };
static struct conflicts_options o = { .n = 20, .min_share = 0.01 };

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 'n', "rows", "N", "how many (default 20; 0: all)", OPT_UINT, &o.n, 0, 1e9, NULL },
	{ 0, "kind", "KIND", "only these, with commas between (default: all, in this order)",
	  OPT_CHOICES, &o.kinds, 0, 0, CONFLICTS_KINDS },
	{ 0, "min-share", "S", "least share of the load's executions, 0 to 1 (default 0.01)",
	  OPT_DOUBLE, &o.min_share, 0, 1, NULL },
	{ 0, "image", "GLOB", "only loads in images whose name or path matches the pattern",
	  OPT_STRING, &o.image, 0, 0, NULL },
	{ 0, "procedure", "PROC", "only loads and stores of this procedure, as annotate takes it",
	  OPT_STRING, &o.procedure, 0, 0, NULL },
	READ_WIDE(in, "do not cut long names"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

static void print(struct reading *r, struct err *err)
{
	conflicts_print(r, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	if (argc)
		return read_no_operands(&in, argv[0], "conflicts --procedure", err);
	return read_and_print(&in, print, err);
}

const struct verb cmd_conflicts = {
	.name = "conflicts",
	.summary = "loads that meet earlier stores: forwarded, failing, aliased",
	.synopsis = "[-i FILE] [-n N] [--kind KIND] [--json]",
	.about = "Lists pairs of a load and the store that it meets: the youngest one of "
		 "the same thread that overlaps it, not more than a distance of "
		 "instructions before (record --distance). Where the store has all that is "
		 "loaded (full) the CPU forwards it; where it has a part (partial) the load "
		 "waits until the store is in the cache, a dozen cycles or more. Where a "
		 "younger store has the same address but for bits 12 and up (alias), a CPU "
		 "that compares 12 bits waits in vain.\n\n"
		 "Pairs that cost come first, most time first; forwarded loads come last. "
		 "An instruction that waits for a load has its samples, so that the time is "
		 "the load's and that of the instruction behind it. "
		 "Shares are of the load's executions. Left out are string instructions, "
		 "accesses of calls and returns to the stack, and instructions with several "
		 "memory operands.\n\n"
		 "Windows show what fits into half of them. Exact recordings have all, with "
		 "record --exact --observe conflicts. A store whose address is late is not "
		 "told from others.",
	.examples = "assay conflicts\n"
		    "assay conflicts --kind partial,alias\n"
		    "assay conflicts --procedure memcpy -n 0\n"
		    "assay conflicts --json | jq '.conflicts[] | select(.kind == \"partial\")'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
