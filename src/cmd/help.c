/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cmd/verbs.h"

static const char *man_dir;

static const struct opt opts[] = {
	{ .name = "man-all",
	  .arg = "DIR",
	  .kind = OPT_STRING,
	  .to = &man_dir,
	  .help = "write the manual pages of all verbs into DIR" },
	{ 0 },
};

void help_overview(FILE *to)
{
	fprintf(to, "assay: what every instruction did, without a PMU\n\n"
		    "usage: assay VERB [OPTIONS]\n\n");
	for (int i = 0; verbs[i]; i++)
		opt_wrap(to, verbs[i]->summary, fprintf(to, "  %-12s ", verbs[i]->name), 15);
	fprintf(to, "\nfirst steps:\n"
		    "  sudo assay record -- gzip -9 -k big.txt\n"
		    "  assay report\n"
		    "  assay annotate\n"
		    "  assay values\n"
		    "\n`assay VERB --help` says more; `assay doctor` what this machine allows.\n");
}

static void main_page(FILE *to)
{
	fprintf(to,
		".TH ASSAY 1 \"\" \"assay %s\" \"Assay\"\n.SH NAME\nassay \\- what every "
		"instruction did, without a PMU\n.SH SYNOPSIS\n.B assay\nVERB [OPTIONS]\n"
		".SH EXAMPLES\n.EX\nsudo assay record \\-\\- gzip \\-9 \\-k big.txt\n"
		"assay report\nassay annotate\nassay values\n.EE\n.SH VERBS\n",
		ASSAY_VERSION);
	for (int i = 0; verbs[i]; i++)
		fprintf(to, ".TP\n.BR assay\\-%s (1)\n%s\n", verbs[i]->name, verbs[i]->summary);
	fprintf(to, ".SH FILES\n.TP\nassay.db\nthe recording; the one before it is assay.db.old\n"
		    ".SH ENVIRONMENT\n.TP\nNO_COLOR\nno colour, if set and not empty\n"
		    ".TP\nASSAY_PAGER, PAGER\nwhat shows output that is longer than the terminal "
		    "(default less); empty: nothing does\n"
		    ".TP\nASSAY_DEBUG\nwhat the kernel says of the sampling program, on stderr\n"
		    ".TP\nXDG_CACHE_HOME\nwhere readings keep what takes long to derive, in assay/ "
		    "(default ~/.cache)\n");
}

static int write_page(const struct verb *v, struct err *err)
{
	char path[4200];
	FILE *f;

	snprintf(path, sizeof(path), v ? "%s/assay-%s.1" : "%s/assay.1", man_dir, v ? v->name : "");
	f = fopen(path, "we");
	if (!f)
		return err_sys(err, "cannot write %s", path);
	if (v)
		opt_man(v, f);
	else
		main_page(f);
	if (fclose(f))
		return err_sys(err, "cannot write %s", path);
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	const struct verb *v;

	if (man_dir) {
		for (int i = 0; verbs[i]; i++)
			if (write_page(verbs[i], err))
				return err->code;
		return write_page(NULL, err) ? err->code : 0;
	}
	if (!argc) {
		help_overview(stdout);
		return 0;
	}
	v = verb_find(argv[0], err);
	if (!v)
		return err->code;
	opt_help(v, stdout);
	return 0;
}

const struct verb cmd_help = {
	.name = "help",
	.summary = "the verbs, or what one does",
	.synopsis = "[VERB]",
	.opts = opts,
	.words = "VERB",
	.run = run,
};
