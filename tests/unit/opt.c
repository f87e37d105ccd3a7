/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/opt.h"

static struct {
	bool json, quiet;
	const char *input, *event, *kinds;
	unsigned top;
	double rate;
	struct opt_uints pids;
} got;

static const struct opt opts[] = {
	{ .letter = 'i',
	  .name = "input",
	  .arg = "FILE",
	  .kind = OPT_STRING,
	  .to = &got.input,
	  .help = "the recording" },
	{ .letter = 'e',
	  .name = "event",
	  .arg = "EVENT",
	  .kind = OPT_CHOICE,
	  .to = &got.event,
	  .choices = "cpu-clock cycles",
	  .help = "what interrupts" },
	{ .name = "kind",
	  .arg = "KIND",
	  .kind = OPT_CHOICES,
	  .to = &got.kinds,
	  .choices = "full partial",
	  .help = "only these" },
	{ .letter = 'F',
	  .name = "rate",
	  .arg = "HZ",
	  .kind = OPT_DOUBLE,
	  .to = &got.rate,
	  .min = 1,
	  .max = 100000,
	  .help = "samples a second" },
	{ .letter = 'n',
	  .name = "top",
	  .arg = "N",
	  .kind = OPT_UINT,
	  .to = &got.top,
	  .min = 1,
	  .max = 4294967295.0,
	  .help = "rows" },
	{ .letter = 'p',
	  .name = "pid",
	  .arg = "PID",
	  .kind = OPT_UINTS,
	  .to = &got.pids,
	  .min = 1,
	  .max = 4194304,
	  .help = "processes" },
	{ .letter = 'q', .name = "quiet", .kind = OPT_FLAG, .to = &got.quiet, .help = "say less" },
	{ .name = "json", .kind = OPT_FLAG, .to = &got.json, .help = "JSON" },
	{ .name = "jobs", .kind = OPT_FLAG, .to = &got.quiet, .help = "nothing" },
	{ 0 },
};

static int run_nothing(int argc, char **argv, struct err *err)
{
	(void)argc;
	(void)argv;
	(void)err;
	return 0;
}

static const struct verb look = {
	.name = "look",
	.summary = "looks \"at\" a [thing]: costs $5",
	.synopsis = "[OPTIONS] [FILE]",
	.about = "One.\n\n.Two begins with a dot and has a back\\slash.",
	.examples = "assay look -i x.db\n",
	.opts = opts,
	.run = run_nothing,
};

static const struct verb launch = {
	.name = "launch",
	.summary = "runs a command",
	.synopsis = "[--] CMD...",
	.opts = opts,
	.command = true,
	.run = run_nothing,
};

static const struct verb *const both[] = { &look, &launch, NULL };

static struct err err;

/* Parses the words of `line`; the first is the verb's. */
static int parse(const struct verb *v, const char *line, char **argv)
{
	static char copy[256];
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s %s", v->name, line);
	for (char *w = strtok(copy, " "); w && argc < 16; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	free(got.pids.at);
	memset(&got, 0, sizeof(got));
	memset(&err, 0, sizeof(err));
	return opt_parse(v, argc, argv, &err);
}

static void refused(const char *line, const char *msg, const char *hint)
{
	char *argv[20];

	assert_int_equal(parse(&look, line, argv), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(err.msg, msg);
	assert_string_equal(err.hint, hint);
}

static void test_lists_of_numbers(void **state)
{
	char *argv[20];

	(void)state;
	assert_int_equal(parse(&look, "-p 7,4194304 --pid 1,7", argv), 5);
	assert_int_equal(got.pids.n, 3);
	assert_int_equal(got.pids.at[0], 7);
	assert_int_equal(got.pids.at[1], 4194304);
	assert_int_equal(got.pids.at[2], 1);
	refused("-p 1,x", "--pid takes a number, not 'x'",
		"`assay look --help` says what it takes");
	refused("-p 1,", "--pid takes a number, not ''", "`assay look --help` says what it takes");
	refused("-p 1,1.5", "--pid takes a whole number, not '1.5'",
		"`assay look --help` says what it takes");
	refused("-p 5,0", "--pid is 0", "it goes from 1 to 4194304");
	free(got.pids.at);
	got.pids.at = NULL;
}

static void test_each_kind(void **state)
{
	char *argv[20];
	int first = parse(&look, "-qi a.db --event=cycles -F 2.5 --top 4294967295 x", argv);

	(void)state;
	assert_string_equal(argv[first], "x");
	assert_true(got.quiet);
	assert_false(got.json);
	assert_string_equal(got.input, "a.db");
	assert_string_equal(got.event, "cycles");
	assert_true(got.rate == 2.5);
	assert_int_equal(got.top, 4294967295u);
}

static void test_operands_and_options_mix(void **state)
{
	char *argv[20];
	int first = parse(&look, "x --json y", argv);

	(void)state;
	assert_int_equal(first, 2);
	assert_true(got.json);
	assert_string_equal(argv[first + 1], "y");
}

static void test_options_of_a_command_are_its_own(void **state)
{
	char *argv[20];
	int first = parse(&launch, "-q gzip --json -x", argv);

	(void)state;
	assert_true(got.quiet);
	assert_false(got.json);
	assert_string_equal(argv[first], "gzip");
	assert_string_equal(argv[first + 2], "-x");
	first = parse(&launch, "-- -q", argv);
	assert_false(got.quiet);
	assert_string_equal(argv[first], "-q");
}

static void test_unknown(void **state)
{
	(void)state;
	refused("--jsno", "look has no option --jsno",
		"did you mean --json? `assay look --help` lists them");
	refused("--inptu=x", "look has no option --inptu",
		"did you mean --input? `assay look --help` lists them");
	refused("--frobnicate", "look has no option --frobnicate",
		"`assay look --help` lists them");
	refused("--quiet -xq", "look has no option -x", "`assay look --help` lists them");
	refused("--j", "look: --j could be several options", "`assay look --help` lists them");
}

static void test_values_missing_or_too_many(void **state)
{
	(void)state;
	refused("--rate", "look: --rate needs a value", "`assay look --help` lists them");
	refused("-F", "look: -F needs a value", "`assay look --help` lists them");
	refused("--json=1", "look: --json takes no value", "`assay look --help` lists them");
	refused("--help=1", "look: --help takes no value", "`assay look --help` lists them");
}

static void test_numbers_are_checked(void **state)
{
	static const char help[] = "`assay look --help` says what it takes";

	(void)state;
	refused("-F fast", "--rate takes a number, not 'fast'", help);
	refused("-F 10k", "--rate takes a number, not '10k'", help);
	refused("--rate=", "--rate takes a number, not ''", help);
	refused("-F nan", "--rate takes a number, not 'nan'", help);
	refused("-F 0", "--rate is 0", "it goes from 1 to 100000");
	refused("-F inf", "--rate is inf", "it goes from 1 to 100000");
	refused("-F -5", "--rate is -5", "it goes from 1 to 100000");
	refused("-n 1.5", "--top takes a whole number, not '1.5'", help);
	refused("-n 4294967296", "--top is 4294967296", "it goes from 1 to 4294967295");
	refused("-n 1e400", "--top takes a number, not '1e400'", help);
}

static void test_choices_are_checked(void **state)
{
	(void)state;
	refused("-e clock", "--event is 'clock'", "one of: cpu-clock cycles");
	refused("-e cpu", "--event is 'cpu'", "one of: cpu-clock cycles");
	refused("--kind full,half", "--kind is 'full,half'",
		"one or more, with commas between, of: full partial");
	refused("--kind full,", "--kind is 'full,'",
		"one or more, with commas between, of: full partial");
}

static void test_given(void **state)
{
	static const void *const of[] = { &got.rate, &got.kinds, &got.json, NULL };
	char *argv[20];

	(void)state;
	assert_int_equal(parse(&look, "-n 3 --json -F 1 --json", argv), 7);
	assert_string_equal(opt_given(&look, of), "rate"); /* the table's order */
	assert_int_equal(parse(&look, "-n 3 --quiet x", argv), 4);
	assert_null(opt_given(&look, of)); /* of the last line only */
	assert_int_equal(parse(&launch, "-q true --json", argv), 2);
	assert_null(opt_given(&launch, of));
}

static void test_nearest(void **state)
{
	static const char *const names[] = { "report", "record", "merge", NULL };

	(void)state;
	assert_string_equal(opt_nearest("reprot", names), "report");
	assert_string_equal(opt_nearest("recor", names), "record");
	assert_string_equal(opt_nearest("merg", names), "merge");
	assert_null(opt_nearest("annotate", names));
	assert_null(opt_nearest("", names));
	assert_null(opt_nearest("x", names));
	assert_null(opt_nearest("foo", (const char *const[]){ "cos", "f", NULL }));
	assert_string_equal(opt_nearest("cso", (const char *const[]){ "cost", "y", NULL }), "cost");
}

static char *printed(void (*print)(FILE *))
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	print(f);
	fclose(f);
	return text;
}

static void print_help(FILE *f)
{
	opt_help(&look, f);
}

static void print_man(FILE *f)
{
	opt_man(&look, f);
}

static void print_bash(FILE *f)
{
	assert_int_equal(opt_completion("bash", both, f), 0);
	assert_int_equal(opt_completion("tcsh", both, f), -1);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void test_help_has_every_option(void **state)
{
	char *text = printed(print_help);

	(void)state;
	has(text, "usage: assay look [OPTIONS] [FILE]");
	for (const struct opt *o = opts; o->name; o++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", o->name);
		has(text, name);
		has(text, o->help);
	}
	has(text, "-h, --help");
	has(text, "assay look -i x.db");
	free(text);
}

static void test_man_escapes(void **state)
{
	char *text = printed(print_man);

	(void)state;
	has(text, "\n\\&.Two");
	has(text, "back\\eslash");
	has(text, ".B \\-i, \\-\\-input FILE\n");
	assert_null(strstr(text, "126")); /* it runs no command */
	free(text);
}

static void test_completion_has_choices(void **state)
{
	char *text = printed(print_bash);

	(void)state;
	has(text, "--event) words='cpu-clock cycles' ;;");
	has(text, "launch)");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind),
		cmocka_unit_test(test_lists_of_numbers),
		cmocka_unit_test(test_operands_and_options_mix),
		cmocka_unit_test(test_options_of_a_command_are_its_own),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_values_missing_or_too_many),
		cmocka_unit_test(test_numbers_are_checked),
		cmocka_unit_test(test_choices_are_checked),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_help_has_every_option),
		cmocka_unit_test(test_man_escapes),
		cmocka_unit_test(test_completion_has_choices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
