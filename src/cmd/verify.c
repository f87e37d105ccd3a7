/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "base/progress.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "verify/verify.h"

static struct verify_options o = {
	.measure = { .min = 400, .min_hot = 50 }, .worst = 10, .repeat = 1, .warn = log_warn
};

static const struct opt opts[] = {
	{ 0, "min", "N", "least observations of a site for errors (default 400)", OPT_UINT,
	  &o.measure.min, 1, 1e9, NULL },
	{ 0, "min-hot", "N", "the same for hot values and bounds (default 50)", OPT_UINT,
	  &o.measure.min_hot, 1, 1e9, NULL },
	{ 0, "worst", "N", "how many of the worst sites to list (default 10; 0: none)", OPT_UINT,
	  &o.worst, 0, 1e9, NULL },
	{ 0, "all", NULL, "operands whose hot values change from run to run, too", OPT_FLAG,
	  &o.measure.all, 0, 0, NULL },
	{ 0, "common", NULL, "only sites that every SAMPLED has enough observations of", OPT_FLAG,
	  &o.measure.common, 0, 0, NULL },
	{ 0, "methods", NULL,
	  "every method of estimating frequencies, not DCPI's and the default alone", OPT_FLAG,
	  &o.methods, 0, 0, NULL },
	{ 0, "histogram", NULL, "how far frequencies and CPI are off, by confidence", OPT_FLAG,
	  &o.histogram, 0, 0, NULL },
	{ 0, "repeat", "N",
	  "how often the sampled runs did the exact one's work, for frequencies as estimated "
	  "(default 1)",
	  OPT_DOUBLE, &o.repeat, 1e-3, 1e9, NULL },
	{ 'w', "wide", NULL, "do not cut long names", OPT_FLAG, &o.wide, 0, 0, NULL },
	{ 0, "explain", NULL, "what columns and marks mean", OPT_FLAG, &o.explain, 0, 0, NULL },
	{ 'j', "json", NULL, "as JSON", OPT_FLAG, &o.json, 0, 0, NULL },
	READ_PAGER(),
	{ 0 },
};

static int run(int argc, char **argv, struct err *err)
{
	if (argc < 2 || argc > VERIFY_MAX + 1) {
		err_set(err, ERR_USAGE,
			"verify takes 1 to %d sampled recordings, then an exact one", VERIFY_MAX);
		err_hint(err, "assay verify sampled.db exact.db");
		return err->code;
	}
	o.path = argv;
	o.n = (size_t)argc;
	progress_show("comparing", 0, 0);
	verify_print(&o, err);
	return err->code;
}

const struct verb cmd_verify = {
	.name = "verify",
	.summary = "how far sampled recordings are off an exact one of the same run",
	.synopsis = "SAMPLED... [EXACT2] EXACT",
	.about = "Holds sampled recordings against an exact one of the same deterministic run: "
		 "shares of values, branch directions, which sites were seen, whether the reported "
		 "bounds hold, and the sites that are furthest off. Everything is weighted by true "
		 "executions. The exact recording comes last; each of the others has a row of its "
		 "own, so that sketches, rates and bursts can be compared (--common: on the same "
		 "sites). An exact recording in place of a sampled one shows how far two runs "
		 "agree.\n\n"
		 "Some values are of one run: keys of hashes with a random seed, of freed memory. "
		 "With a second exact recording of the same work (EXACT2, before the other one) "
		 "values and branches whose shares surely differ by more than a point between the "
		 "two are reported apart, and the rest is the error of sampling. Its counts "
		 "are compared with the other one's executions, too (counted).\n\n"
		 "Errors have two parts: chance, what as many independent observations would give, "
		 "and what is beyond it: windows begin where time is spent, observations of one "
		 "window go together, lists of hot values are short. Shares are those that the "
		 "other readings print, of weighed windows; raw is what they would be without "
		 "weights: how much of that bias there was, and how much of it is corrected.\n\n"
		 "Estimated frequencies (how often an instruction or edge ran) are compared with "
		 "true executions, too, by DCPI's method and by the default one; CPI, time over "
		 "executions, is off by as much the other way. They need llvm-mca "
		 "(LLVM 19 or later); without it least times are by a coarse table.\n\n"
		 "Images are matched by build-id and path. Code that no ELF file holds, and "
		 "operands whose hot values are run-time addresses or stack canaries, are left out "
		 "and counted: record both under setarch -R, and --all compares addresses as well.",
	.examples = "sudo setarch -R assay record -o sampled.db -- gzip -9 -k -f big.txt\n"
		    "setarch -R assay record --exact -o exact.db -- gzip -9 -k -f big.txt\n"
		    "assay verify sampled.db exact.db\n"
		    "# what differs from run to run apart\n"
		    "assay verify sampled.db exact2.db exact.db\n"
		    "# which sketch does better\n"
		    "assay verify --common space-saving.db counting.db exact.db\n"
		    "assay verify --json sampled.db exact.db | jq '.values[0].rms'\n",
	.opts = opts,
	.run = run,
};
