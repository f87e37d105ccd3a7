/* SPDX-License-Identifier: MIT */
/* Help and manual pages, made from the option tables. */
#include "base/opt.h"

#include <ctype.h>
#include <string.h>

const struct opt opt_help_option = { .letter = 'h', .name = "help", .help = "this text" };

static void spell(const struct opt *o, char *buf, size_t n)
{
	snprintf(buf, n, "%s%c%s--%s%s%s", o->letter ? "-" : "", o->letter ? o->letter : ' ',
		 o->letter ? ", " : "   ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

void opt_wrap(FILE *to, const char *text, int column, int indent)
{
	bool fresh = true; /* a paragraph begins: no space precedes the next word */

	while (*text) {
		int n = (int)strcspn(text, " \n");

		if (!fresh && column + 1 + n > 79) {
			fprintf(to, "\n%*s", indent, "");
			column = indent;
		} else if (!fresh) {
			fputc(' ', to);
			column++;
		}
		fprintf(to, "%.*s", n, text);
		column += n;
		text += n;
		fresh = !strncmp(text, "\n\n", 2);
		if (fresh) {
			fprintf(to, "\n\n%*s", indent, "");
			column = indent;
		}
		text += strspn(text, " \n");
	}
	fputc('\n', to);
}

static void help_line(const struct opt *o, FILE *to)
{
	char left[80];

	spell(o, left, sizeof(left));
	fprintf(to, "  %-24s ", left);
	if (strlen(left) > 24)
		fprintf(to, "\n%27s", "");
	opt_wrap(to, o->help, 27, 27);
}

void opt_help(const struct verb *v, FILE *to)
{
	opt_wrap(to, v->summary, fprintf(to, "assay %s: ", v->name), 2);
	fprintf(to, "\nusage: assay %s %s\n\n", v->name, v->synopsis);
	if (v->about)
		opt_wrap(to, v->about, 0, 0);
	fprintf(to, "%soptions:\n", v->about ? "\n" : "");
	for (const struct opt *o = v->opts; o && o->name; o++)
		help_line(o, to);
	help_line(&opt_help_option, to);
	if (v->examples)
		fprintf(to, "\nexamples:\n%s", v->examples);
}

/* Writes text for man(7), which gives a meaning to a backslash, a hyphen and a leading dot or
 * quote. */
static void man_text(FILE *to, const char *text)
{
	bool start = true;

	for (; *text; text++) {
		if (start && (*text == '.' || *text == '\''))
			fputs("\\&", to);
		start = *text == '\n';
		if (*text == '\\')
			fputs("\\e", to);
		else if (*text == '-')
			fputs("\\-", to);
		else if (start && text[1] == '\n')
			fputs("\n.PP", to);
		else
			fputc(*text, to);
	}
	if (!start)
		fputc('\n', to);
}

static void man_option(FILE *to, const struct opt *o)
{
	char left[80];

	spell(o, left, sizeof(left));
	fprintf(to, ".TP\n.B ");
	man_text(to, left + strspn(left, " "));
	man_text(to, o->help);
}

void opt_man(const struct verb *v, FILE *to)
{
	fprintf(to, ".TH ASSAY\\-");
	for (const char *c = v->name; *c; c++)
		fputc(toupper((unsigned char)*c), to);
	fprintf(to, " 1 \"\" \"assay %s\" \"Assay\"\n.SH NAME\nassay\\-%s \\- ", ASSAY_VERSION,
		v->name);
	man_text(to, v->summary);
	fprintf(to, ".SH SYNOPSIS\n.B assay %s\n", v->name);
	man_text(to, v->synopsis);
	if (v->examples) {
		fprintf(to, ".SH EXAMPLES\n.EX\n");
		man_text(to, v->examples);
		fprintf(to, ".EE\n");
	}
	if (v->about) {
		fprintf(to, ".SH DESCRIPTION\n");
		man_text(to, v->about);
	}
	fprintf(to, ".SH OPTIONS\n");
	for (const struct opt *o = v->opts; o && o->name; o++)
		man_option(to, o);
	man_option(to, &opt_help_option);
	fprintf(to, ".SH EXIT STATUS\n0 done; 1 failed; 2 usage; 3 nothing to show");
	if (v->command)
		fprintf(to, "; 126 the command cannot be run; 127 it is not found; else the "
			    "command's own, or 128 and the signal that ended it");
	fprintf(to, ".\n.SH SEE ALSO\n.BR assay (1)\n");
}
