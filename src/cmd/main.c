/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/pager.h"
#include "base/privilege.h"
#include "base/progress.h"
#include "cmd/habits.h"
#include "cmd/read.h"
#include "cmd/verbs.h"

const struct verb *const verbs[] = {
	&cmd_record,	&cmd_report, &cmd_annotate, &cmd_values,     &cmd_calls,
	&cmd_conflicts, &cmd_wset,   &cmd_targets,  &cmd_reuse,	     &cmd_coproc,
	&cmd_info,	&cmd_diff,   &cmd_html,	    &cmd_merge,	     &cmd_export,
	&cmd_verify,	&cmd_doctor, &cmd_help,	    &cmd_completion, NULL,
};

#define VERBS_MAX (sizeof(verbs) / sizeof(verbs[0]))

const struct verb *verb_find(const char *name, struct err *err)
{
	const char *names[VERBS_MAX], *near, *instead = opt_instead(habits_verbs, name);
	size_t n = 0;

	for (; verbs[n]; n++) {
		if (!strcmp(verbs[n]->name, name))
			return verbs[n];
		names[n] = verbs[n]->name;
	}
	names[n] = NULL;
	near = opt_nearest(name, names);
	err_set(err, ERR_USAGE, "there is no verb '%s'", name);
	if (name[0] == '-')
		err_hint(err, "options come behind the verb: assay VERB [OPTIONS]");
	else if (instead)
		err_hint(err, "%s", instead);
	else if (near)
		err_hint(err, "did you mean '%s'? `assay help` lists the verbs", near);
	else
		err_hint(err, "`assay help` lists the verbs");
	return NULL;
}

/* Readings keep what they print until it is complete. */
static void keep_output(const struct verb *v)
{
	for (const struct opt *o = v->opts; o && o->name; o++)
		if (o->to == &read_no_pager)
			pager_begin(!read_no_pager);
}

static int run_verb(int argc, char **argv, struct err *err)
{
	const struct verb *v = verb_find(argv[0], err);
	int first, rc;

	if (!v || (!v->privileged && privilege_none(err)))
		return err->code;
	first = opt_parse(v, argc, argv, err);
	if (first == OPT_HELP)
		return 0;
	if (first < 0)
		return err->code;
	keep_output(v);
	rc = v->run(argc - first, argv + first, err);
	progress_end();
	pager_end();
	return rc;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	struct err err = { 0 };
	int rc = 0;

	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		help_overview(stderr);
		return ERR_USAGE;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		help_overview(stdout);
	else if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		puts("assay " ASSAY_VERSION);
	else
		rc = run_verb(argc - 1, argv + 1, &err);
	if (!err.code && (fflush(stdout) || ferror(stdout)))
		err_sys(&err, "cannot write the output");
	if (!err.code)
		return rc;
	fflush(stdout);
	log_err(&err);
	return err.code;
}
