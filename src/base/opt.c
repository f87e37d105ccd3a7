/* SPDX-License-Identifier: MIT */
#include "base/opt.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define OPTS_MAX 48
#define FIRST_LONG 256

static int count(const struct opt *o)
{
	int n = 0;

	while (o && o[n].name)
		n++;
	return n;
}

static void opt_names(const struct verb *v, const char **names)
{
	for (const struct opt *o = v->opts; o && o->name; o++)
		*names++ = o->name;
	*names = NULL;
}

/* Edit distances, for "did you mean". */

static unsigned distance(const char *a, const char *b)
{
	size_t n = strlen(b);
	unsigned row[64];

	if (n >= 64)
		return 99;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned d = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < d)
				d = row[j] + 1;
			if (row[j - 1] + 1 < d)
				d = row[j - 1] + 1;
			row[j] = d;
		}
	}
	return row[n];
}

const char *opt_nearest(const char *word, const char *const *names)
{
	const char *best = NULL;
	unsigned least = 3;

	for (; *names; names++) {
		unsigned d = distance(word, *names);

		if (d < least && 2 * d <= strlen(*names)) {
			least = d;
			best = *names;
		}
	}
	return best;
}

/* Parsing of option values. */

static int parse_number(const char *name, const char *text, double *v, struct err *err)
{
	char *end;

	errno = 0;
	*v = strtod(text, &end);
	if (end == text || *end || errno || *v != *v || strchr(" \t\n", text[0]))
		return err_set(err, ERR_USAGE, "--%s takes a number, not '%s'", name, text);
	return 0;
}

static int set_number(const struct opt *o, const char *text, struct err *err)
{
	double v;

	if (parse_number(o->name, text, &v, err))
		return -1;
	if (v < o->min || v > o->max) {
		err_set(err, ERR_USAGE, "--%s is %s", o->name, text);
		return err_hint(err, "it goes from %.12g to %.12g", o->min, o->max);
	}
	if (o->kind == OPT_UINT && v != (double)(unsigned)v)
		return err_set(err, ERR_USAGE, "--%s takes a whole number, not '%s'", o->name,
			       text);
	if (o->kind == OPT_UINT)
		*(unsigned *)o->to = (unsigned)v;
	else
		*(double *)o->to = v;
	return 0;
}

static int add_uint(struct opt_uints *list, unsigned v, struct err *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i] == v)
			return 0;
	if (!array_one_more(list->at, list->n))
		return err_no_memory(err, "the options");
	list->at[list->n++] = v;
	return 0;
}

static int set_numbers(const struct opt *o, const char *text, struct err *err)
{
	struct opt one = *o;
	char piece[32];
	unsigned v = 0;

	one.kind = OPT_UINT;
	one.to = &v;
	for (;; text++) {
		int n = (int)strcspn(text, ",");

		snprintf(piece, sizeof(piece), "%.*s", n, text);
		if (set_number(&one, piece, err) || add_uint(o->to, v, err))
			return -1;
		text += n;
		if (!*text)
			return 0;
	}
}

/* Whether the first n characters of text are one of the words. */
static bool is_among(const char *words, const char *text, size_t n)
{
	for (const char *p = words; *p; p += strspn(p, " ")) {
		size_t k = strcspn(p, " ");

		if (k == n && !strncmp(p, text, n))
			return true;
		p += k;
	}
	return false;
}

static int set_choice(const struct opt *o, const char *text, struct err *err)
{
	const char *at = text;
	bool several = o->kind == OPT_CHOICES;

	for (;;) {
		size_t n = several ? strcspn(at, ",") : strlen(at);

		if (!is_among(o->choices, at, n)) {
			err_set(err, ERR_USAGE, "--%s is '%s'", o->name, text);
			return err_hint(err, "%s of: %s",
					several ? "one or more, with commas between," : "one",
					o->choices);
		}
		if (!at[n])
			break;
		at += n + 1;
	}
	*(const char **)o->to = text;
	return 0;
}

static const struct opt *given[OPTS_MAX];
static int ngiven;

static void note(const struct opt *o)
{
	for (int i = 0; i < ngiven; i++)
		if (given[i] == o)
			return;
	given[ngiven++] = o;
}

const char *opt_given(const struct verb *v, const void *const *to)
{
	for (const struct opt *o = v->opts; o->name; o++)
		for (int i = 0; i < ngiven; i++)
			for (int k = 0; given[i] == o && to[k]; k++)
				if (o->to == to[k])
					return o->name;
	return NULL;
}

static int set(const struct opt *o, const char *text, struct err *err)
{
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)o->to = true;
		return 0;
	case OPT_STRING:
		*(const char **)o->to = text;
		return 0;
	case OPT_CHOICE:
	case OPT_CHOICES:
		return set_choice(o, text, err);
	case OPT_UINTS:
		return set_numbers(o, text, err);
	default:
		return set_number(o, text, err);
	}
}

static bool is_ambiguous(const struct verb *v, const char *name)
{
	size_t len = strlen(name);
	int k = 0;

	for (const struct opt *o = v->opts; o && o->name; o++)
		k += !strncmp(o->name, name, len);
	return k > 1;
}

const char *opt_instead(const struct opt_habit *habits, const char *word)
{
	for (; habits && habits->words; habits++)
		if (is_among(habits->words, word, strlen(word)))
			return habits->instead;
	return NULL;
}

/* Says how to find the option that `word`, with its dashes, was meant to be. */
static int hint_help(const struct verb *v, const char *word, struct err *err)
{
	const char *instead = opt_instead(v->habits, word);

	if (instead)
		return err_hint(err, "%s", instead);
	return err_hint(err, "`assay %s --help` lists them", v->name);
}

static int refuse_letter(const struct verb *v, int code, int letter, struct err *err)
{
	const char word[] = { '-', (char)letter, 0 };

	if (code == ':')
		err_set(err, ERR_USAGE, "%s: %s needs a value", v->name, word);
	else
		err_set(err, ERR_USAGE, "%s has no option %s", v->name, word);
	return hint_help(v, word, err);
}

static int refuse_name(const struct verb *v, const char *word, bool known, int code,
		       struct err *err)
{
	int len = (int)strcspn(word, "=");
	const char *names[OPTS_MAX + 1], *near;
	char stem[64];

	snprintf(stem, sizeof(stem), "%.*s", len, word);
	if (known)
		err_set(err, ERR_USAGE, "%s: %s %s", v->name, stem,
			code == ':' ? "needs a value" : "takes no value");
	else if (is_ambiguous(v, stem + 2))
		err_set(err, ERR_USAGE, "%s: %s could be several options", v->name, stem);
	else
		err_set(err, ERR_USAGE, "%s has no option %s", v->name, stem);
	opt_names(v, names);
	near = known || opt_instead(v->habits, stem) ? NULL : opt_nearest(stem + 2, names);
	if (!near)
		return hint_help(v, stem, err);
	return err_hint(err, "did you mean --%s? `assay %s --help` lists them", near, v->name);
}

/* Describes the option that getopt_long() refused. optopt is 0 for an unknown name, else the
 * table's value of the option. */
static int refuse(const struct verb *v, const char *word, int code, struct err *err)
{
	bool is_name = optopt == 0 || optopt >= FIRST_LONG || optopt == 'h';

	if (is_name)
		return refuse_name(v, word, optopt != 0, code, err);
	return refuse_letter(v, code, optopt, err);
}

struct getopt_tables {
	struct option longs[OPTS_MAX + 2];
	char letters[2 * OPTS_MAX + 8];
};

static void fill_tables(const struct verb *v, struct getopt_tables *t)
{
	int n = count(v->opts), k = 0;

	memset(t, 0, sizeof(*t));
	if (v->command) /* Options after the first operand belong to the command. */
		t->letters[k++] = '+';
	t->letters[k++] = ':';
	t->letters[k++] = 'h';
	for (int i = 0; i < n; i++) {
		const struct opt *o = &v->opts[i];
		int has_arg = o->kind == OPT_FLAG ? no_argument : required_argument;

		t->longs[i] = (struct option){ o->name, has_arg, NULL, FIRST_LONG + i };
		if (!o->letter)
			continue;
		t->letters[k++] = o->letter;
		if (has_arg == required_argument)
			t->letters[k++] = ':';
	}
	t->longs[n] = (struct option){ "help", no_argument, NULL, 'h' };
}

static const struct opt *by_code(const struct verb *v, int code)
{
	const struct opt *o = v->opts;

	if (code >= FIRST_LONG)
		return &o[code - FIRST_LONG];
	while (o->letter != code)
		o++;
	return o;
}

/* Adds to the error about an option's value what to type. */
static int hint_value(const struct verb *v, const struct opt *o, const char *text, struct err *err)
{
	char word[64];
	const char *instead;

	snprintf(word, sizeof(word), "--%s=%s", o->name, text ? text : "");
	instead = opt_instead(v->habits, word);
	if (instead)
		err_hint(err, "%s", instead);
	else if (!err->hint[0])
		err_hint(err, "`assay %s --help` says what it takes", v->name);
	return -1;
}

int opt_parse(const struct verb *v, int argc, char **argv, struct err *err)
{
	struct getopt_tables t;
	int code;

	assert(count(v->opts) <= OPTS_MAX);
	fill_tables(v, &t);
	optind = 0;
	opterr = 0;
	ngiven = 0;
	while ((code = getopt_long(argc, argv, t.letters, t.longs, NULL)) >= 0) {
		if (code == 'h') {
			opt_help(v, stdout);
			return OPT_HELP;
		}
		if (code == '?' || code == ':')
			return refuse(v, argv[optind - 1], code, err);
		if (set(by_code(v, code), optarg, err))
			return hint_value(v, by_code(v, code), optarg, err);
		note(by_code(v, code));
	}
	return optind;
}
