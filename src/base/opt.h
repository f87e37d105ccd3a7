/* SPDX-License-Identifier: MIT */
/*
 * Verbs and their options, as tables: parsing, help, man pages and completion all come from them.
 */
#ifndef ASSAY_BASE_OPT_H
#define ASSAY_BASE_OPT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

enum opt_kind {
	OPT_FLAG,   /* bool *to = true */
	OPT_STRING, /* const char **to */
	OPT_UINT,   /* unsigned *to, within [min, max] */
	/* struct opt_uints *to: numbers separated by commas; repeating the option adds more */
	OPT_UINTS,
	OPT_DOUBLE,  /* double *to, within [min, max] */
	OPT_CHOICE,  /* const char **to, one of the space-separated words of `choices` */
	OPT_CHOICES, /* const char **to, several of the words of `choices`, separated by commas */
};

/* The numbers given to an option of kind OPT_UINTS, without repetitions; zeroed at first. The
 * list lives as long as the process. */
struct opt_uints {
	unsigned *at;
	size_t n;
};

struct opt {
	char letter;	  /* the short option's letter, or 0 */
	const char *name; /* without the dashes */
	const char *arg;  /* the argument's name (HZ, FILE); NULL for a flag */
	const char *help; /* one line, which states the default */
	enum opt_kind kind;
	void *to;
	double min, max;
	const char *choices;
};

/* What another tool calls otherwise, for those who are used to it. */
struct opt_habit {
	/* the other tool's names, with spaces between: verbs, or options such as -c, --count and --event=WORD */
	const char *words;
	const char *instead; /* what to type, or why nothing has to be typed */
};

struct verb {
	const char *name;
	const char *summary;		/* one line */
	const char *synopsis;		/* the text after "assay NAME " */
	const char *about;		/* paragraphs, separated by blank lines */
	const char *examples;		/* lines: a command, or text that begins with '#' */
	const struct opt *opts;		/* the table ends with a zeroed entry */
	const struct opt_habit *habits; /* NULL, or a table that ends with a zeroed entry */
	bool privileged; /* the verb drops its privileges itself; main() drops those of all others first */
	/* Everything from the first operand on is the command line of another program. */
	bool command;
	const char *words; /* what the operands are, for completion; NULL: files; "VERB": a verb */
	/* argv[0..argc) are the operands. Returns the exit status; on error sets err. */
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct opt opt_help_option; /* every verb has this option; it is not in the tables */

#define OPT_HELP (-2)
/*
 * Parses argv[1..argc) by the verb's table; argv[0] is the verb. Returns the index of the first operand,
 * or -1 with err set (ERR_USAGE), or OPT_HELP if help was asked for and printed.
 */
int opt_parse(const struct verb *v, int argc, char **argv, struct err *err);

/* Returns the name of the first option in the table that sets one of `to` (ends with NULL) and
 * was on the last command line parsed; or NULL. */
const char *opt_given(const struct verb *v, const void *const *to);

/* Prints text from column `column` on, wrapped at 79 columns, with later lines indented by
 * `indent`, and ends it with a newline. */
void opt_wrap(FILE *to, const char *text, int column, int indent);
void opt_help(const struct verb *v, FILE *to);
/* A page for man(1), in man(7) macros. */
void opt_man(const struct verb *v, FILE *to);
/* Writes completion for shell "bash", "zsh" or "fish" over all verbs (NULL-terminated). Returns
 * -1 for another shell. */
int opt_completion(const char *shell, const struct verb *const *verbs, FILE *to);
/* The nearest of the names to `word`, or NULL if none is near. For "did you mean". */
const char *opt_nearest(const char *word, const char *const *names);

/* What the table has for the word, or NULL. */
const char *opt_instead(const struct opt_habit *habits, const char *word);

#endif
