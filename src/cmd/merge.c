/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/fmt.h"
#include "base/log.h"
#include "base/progress.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "store/recording.h"

static const char *output;

static const struct opt opts[] = {
	{ 'o', "output", "FILE", "where to write the sum (an old one becomes FILE.old)", OPT_STRING,
	  &output, 0, 0, NULL },
	{ 0 },
};

/* Names what was counted, with its number: instructions executed, or samples. "" if a run did not count them. */
static const char *amount(const struct profile *p, char *buf, size_t n)
{
	struct run_counters all;
	char count[32];

	profile_counters(p, &all);
	if (!p->nrun || !run_is_exact(&p->run[0])) {
		snprintf(buf, n, ", %s samples", fmt_count(all.samples, count, sizeof(count)));
		return buf;
	}
	for (size_t i = 0; i < p->nrun; i++)
		if (!p->run[i].n.instructions)
			return "";
	snprintf(buf, n, ", %s instructions", fmt_count(all.instructions, count, sizeof(count)));
	return buf;
}

static int merge(struct profile *sum, int argc, char **argv, struct err *err)
{
	char text[64];

	for (int i = 0; i < argc; i++)
		if (read_add(sum, argv[i], err))
			return -1;
	progress_file("writing", output);
	if (recording_write(output, sum, err))
		return -1;
	log_line("[ merge: %d recordings%s -> %s ]", argc, amount(sum, text, sizeof(text)), output);
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	struct profile sum;

	if (!output) {
		err_set(err, ERR_USAGE, "merge needs -o FILE");
		err_hint(err, "assay merge -o sum.db a.db b.db");
		return err->code;
	}
	if (!argc) {
		err_set(err, ERR_USAGE, "merge needs recordings to add up");
		err_hint(err, "assay merge -o %s a.db b.db", output);
		return err->code;
	}
	if (profile_init(&sum, err))
		return err->code;
	merge(&sum, argc, argv, err);
	profile_fini(&sum);
	return err->code;
}

const struct verb cmd_merge = {
	.name = "merge",
	.summary = "add recordings up",
	.synopsis = "-o OUT FILE...",
	.about = "Everything in a recording is additive: the sum of several is what one "
		 "recording of all the runs would have said. Images are matched by build-id "
		 "and path. The sum may be one of the recordings: it is read before it is "
		 "written. Exact recordings and sampled ones do not add up: those count "
		 "executions, these samples.",
	.examples = "assay merge -o all.db monday.db tuesday.db\n"
		    "assay report -i all.db\n",
	.opts = opts,
	.run = run,
};
