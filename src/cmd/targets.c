/* SPDX-License-Identifier: MIT */
#include "report/targets.h"

#include "base/log.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "phase/clusters.h"

static struct reading_options in = {
	.verb = "targets", .input = "assay.db", .warn = log_warn, .empty_too = true
};
static struct targets_options o = { .warmup = -1, .least = 100 * CLUSTERS_LEAST };

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 0, "process", "PID", "of that process (default: the one that executed most)", OPT_UINT,
	  &o.process, 1, 4194304, NULL },
	{ 'k', "samples", "K", "number of samples (default: as many as there are phases)", OPT_UINT,
	  &o.samples, 1, 100000, NULL },
	{ 0, "spread", "N",
	  "number of samples in all: several of each phase, in proportion to its share", OPT_UINT,
	  &o.spread, 1, 100000, NULL },
	{ 0, "max", "K", "no more samples than that (default and limit 30)", OPT_UINT, &o.most, 1,
	  CLUSTERS_MAX, NULL },
	{ 0, "min-share", "PCT",
	  "per cent of the run that a phase has at least: smaller ones join others (default 0.5)",
	  OPT_DOUBLE, &o.least, 0, 50, NULL },
	{ 0, "early", NULL, "samples as early in the run as phases allow", OPT_FLAG, &o.early, 0, 0,
	  NULL },
	{ 0, "systematic", NULL, "the specification of evenly spaced samples instead", OPT_FLAG,
	  &o.systematic, 0, 0, NULL },
	{ 0, "sample-size", "N",
	  "instructions of a sample (default: an interval's, within 2 % of the run in all)",
	  OPT_DOUBLE, &o.size, 1, 1e15, NULL },
	{ 0, "warmup-size", "N", "instructions of warm-up before each (default: a sample's)",
	  OPT_DOUBLE, &o.warmup, 0, 1e15, NULL },
	{ 0, "settings", NULL, "only the lines of settings, as a file for a schedule", OPT_FLAG,
	  &o.settings, 0, 0, NULL },
	{ 0, "svg", "FILE", "draw the phases there, too", OPT_STRING, &o.svg, 0, 0, NULL },
	READ_WIDE(in, "do not cut lines"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

static void print(struct reading *r, struct err *err)
{
	targets_print(r, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	if (argc)
		return read_no_operands(&in, argv[0], NULL, err);
	if (o.samples && o.most && !o.systematic) {
		err_set(err, ERR_USAGE, "--samples and --max exclude each other");
		err_hint(err, "--samples has just so many, --max chooses up to so many");
		return err->code;
	}
	if (o.spread && (o.systematic || o.early)) {
		err_set(err, ERR_USAGE, "--spread excludes --systematic and --early");
		err_hint(err, "--spread has several samples of each phase, all over the run");
		return err->code;
	}
	return read_and_print(&in, print, err);
}

const struct verb cmd_targets = {
	.name = "targets",
	.summary = "which parts of a run to observe, and what each stands for",
	.synopsis = "[-i FILE] [--samples K] [--early | --systematic] [--json]",
	.about =
		"Reads a recording made with --exact --observe phases: intervals that execute much "
		"the "
		"same blocks are phases, and one interval stands for each. It prints the phases "
		"over time; for each its share of the instructions, where its sample lies, and how "
		"much of the phase the sample accounts for; how far off estimates from the samples "
		"are, of what follows from executed blocks, beside as many evenly spaced samples; "
		"and which of the two suits the program.\n\n"
		"At the end are the settings of a schedule: ss_target_spec has the samples' starts "
		"in instructions from the beginning of the process, their weights, and the size of "
		"the run. --settings prints these lines alone.\n\n"
		"Where a phase's intervals are alike in code and not in cycles, --spread takes "
		"more and "
		"shorter samples of each.\n\n"
		"Errors are known only of what blocks determine. A cache that misses, or a branch "
		"that is mispredicted, may vary where blocks do not: then the errors of that are "
		"larger. docs/methods/targets.md has the method.",
	.examples = "assay record --exact --observe phases -- gzip -9 -kf big.txt\n"
		    "assay targets\n"
		    "assay targets --early --settings > gzip.schedule\n"
		    "assay targets --samples 10 --sample-size 1e6\n"
		    "assay targets --spread 50 --settings > cc1.schedule\n"
		    "assay targets --systematic --samples 50 --settings\n"
		    "assay targets --svg phases.svg\n"
		    "assay targets --json | jq '.phases[] | [.share, .sample]'\n",
	.opts = opts,
	.words = "",
	.run = run,
};
