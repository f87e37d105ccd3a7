/* SPDX-License-Identifier: MIT */
/* Shell completion, made from the option tables. */
#include "base/opt.h"

#include <string.h>

static void words(const struct verb *v, const struct verb *const *verbs, FILE *to)
{
	if (strcmp(v->words, "VERB") != 0) {
		fputs(v->words, to);
		return;
	}
	for (int i = 0; verbs[i]; i++)
		fprintf(to, "%s%s", i ? " " : "", verbs[i]->name);
}

/* Writes one case of bash completion: options with a choice of words, then option names, then
 * possible operands. */
static void bash_verb(const struct verb *v, const struct verb *const *verbs, FILE *to)
{
	fprintf(to, "\t%s)\n\t\tcase $prev in\n", v->name);
	for (const struct opt *o = v->opts; o && o->name; o++)
		if (o->kind >= OPT_CHOICE)
			fprintf(to, "\t\t--%s) words='%s' ;;\n", o->name, o->choices);
	fprintf(to, "\t\t*)\n\t\t\tcase $cur in\n\t\t\t-*) words='--help");
	for (const struct opt *o = v->opts; o && o->name; o++)
		fprintf(to, " --%s", o->name);
	fprintf(to, "' ;;\n");
	if (v->words) {
		fprintf(to, "\t\t\t*) words='");
		words(v, verbs, to);
		fprintf(to, "' ;;\n");
	}
	fprintf(to, "\t\t\tesac ;;\n\t\tesac ;;\n");
}

static void bash(const struct verb *const *verbs, FILE *to)
{
	fprintf(to, "_assay() {\n\tlocal i words= cur=${COMP_WORDS[COMP_CWORD]}\n"
		    "\tlocal prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		    "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '");
	for (int i = 0; verbs[i]; i++)
		fprintf(to, "%s%s", i ? " " : "", verbs[i]->name);
	fprintf(to,
		"' -- \"$cur\"))\n\t\treturn\n\tfi\n"
		"\tfor ((i = 2; i < COMP_CWORD; i++)); do # what follows -- is a command line\n"
		"\t\t[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
		"\t\tif declare -F _command_offset >/dev/null; then _command_offset $((i + 1))\n"
		"\t\telse COMPREPLY=($(compgen -c -f -- \"$cur\")); fi\n"
		"\t\treturn\n\tdone\n\tcase ${COMP_WORDS[1]} in\n");
	for (int i = 0; verbs[i]; i++)
		bash_verb(verbs[i], verbs, to);
	fprintf(to, "\tesac\n\tif [ -n \"$words\" ]; then\n"
		    "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		    "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\n"
		    "complete -o filenames -F _assay assay\n");
}

/* Writes text for a double-quoted string of zsh and fish, where brackets and colons have a
 * meaning of their own in zsh. */
static void quoted(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (strchr("\"$`\\", *text))
			fputc('\\', to);
		fputc(strchr("[]:", *text) ? ' ' : *text, to);
	}
}

static void zsh_option(const struct opt *o, FILE *to)
{
	fprintf(to, " \\\n\t\t");
	if (o->letter)
		fprintf(to, "'(-%c --%s)'{-%c,--%s}", o->letter, o->name, o->letter, o->name);
	else
		fprintf(to, "--%s", o->name);
	fprintf(to, "\"[");
	quoted(to, o->help);
	fputc(']', to);
	if (o->kind >= OPT_CHOICE)
		fprintf(to, ":%s:(%s)", o->arg, o->choices);
	else if (o->arg)
		fprintf(to, ":%s:%s", o->arg, strcmp(o->arg, "FILE") ? "" : "_files");
	fputc('"', to);
}

static void zsh_verb(const struct verb *v, const struct verb *const *verbs, FILE *to)
{
	fprintf(to, "\t%s) _arguments -S", v->name);
	for (const struct opt *o = v->opts; o && o->name; o++)
		zsh_option(o, to);
	zsh_option(&opt_help_option, to);
	if (v->command) {
		fprintf(to, " \\\n\t\t'(-)1:command:_command_names -e' '*::arguments:_normal'");
	} else if (v->words) {
		fprintf(to, " \\\n\t\t'1:what:(");
		words(v, verbs, to);
		fprintf(to, ")'");
	} else {
		fprintf(to, " \\\n\t\t'*:file:_files'");
	}
	fprintf(to, " ;;\n");
}

static void zsh(const struct verb *const *verbs, FILE *to)
{
	fprintf(to, "#compdef assay\n_assay() {\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a v=(");
	for (int i = 0; verbs[i]; i++) {
		fprintf(to, "\n\t\t\t\"%s:", verbs[i]->name);
		quoted(to, verbs[i]->summary);
		fputc('"', to);
	}
	fprintf(to, ")\n\t\t_describe verb v\n\t\treturn\n\tfi\n"
		    "\tshift words\n\t(( CURRENT-- ))\n\tcase $words[1] in\n");
	for (int i = 0; verbs[i]; i++)
		zsh_verb(verbs[i], verbs, to);
	fprintf(to, "\tesac\n}\n_assay \"$@\"\n");
}

static void fish_option(const struct verb *v, const struct opt *o, FILE *to)
{
	fprintf(to, "complete -c assay -n \"__fish_seen_subcommand_from %s\" -l %s", v->name,
		o->name);
	if (o->letter)
		fprintf(to, " -s %c", o->letter);
	if (o->kind >= OPT_CHOICE)
		fprintf(to, " -x -a \"%s\"", o->choices);
	else if (o->arg)
		fprintf(to, " -r");
	fprintf(to, " -d \"");
	quoted(to, o->help);
	fprintf(to, "\"\n");
}

static void fish(const struct verb *const *verbs, FILE *to)
{
	for (int i = 0; verbs[i]; i++) {
		const struct verb *v = verbs[i];

		fprintf(to, "complete -c assay -f -n __fish_use_subcommand -a %s -d \"", v->name);
		quoted(to, v->summary);
		fprintf(to, "\"\n");
		if (v->words) {
			fprintf(to,
				"complete -c assay -f -n \"__fish_seen_subcommand_from %s\" -a \"",
				v->name);
			words(v, verbs, to);
			fprintf(to, "\"\n");
		}
		for (const struct opt *o = v->opts; o && o->name; o++)
			fish_option(v, o, to);
		fish_option(v, &opt_help_option, to);
	}
}

int opt_completion(const char *shell, const struct verb *const *verbs, FILE *to)
{
	if (!strcmp(shell, "bash"))
		bash(verbs, to);
	else if (!strcmp(shell, "zsh"))
		zsh(verbs, to);
	else if (!strcmp(shell, "fish"))
		fish(verbs, to);
	else
		return -1;
	return 0;
}
