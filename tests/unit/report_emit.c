/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/emit.h"

static const struct column columns[] = {
	{ "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	{ "samples", "samples", NULL, 9, EMIT_RIGHT, EMIT_COUNT },
	{ "image", "image", NULL, 8, EMIT_LEFT_TAIL, EMIT_TEXT },
	{ "value", NULL, NULL, 0, EMIT_LEFT, EMIT_HEX },
	{ NULL, "procedure", NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

static struct emit e;
static char said[8192];
static int saved = -1, file = -1;
static bool explain;

/* What is printed between catch and caught goes to `said`. */
static void catch (bool json, bool wide)
{
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	file = memfd_create("stdout", MFD_CLOEXEC);
	dup2(file, STDOUT_FILENO);
	emit_open(&e, "test", json, wide, explain);
}

static void caught(void)
{
	ssize_t n;

	emit_close(&e, &(struct err){ 0 });
	fflush(stdout);
	n = pread(file, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = 0;
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(file);
}

static void print_table(const char *image, const char *procedure)
{
	const struct cell row[] = { cell_real(0.1234), cell_count(12034), cell_text(image),
				    cell_count(UINT64_MAX), cell_text(procedure) };
	const struct cell none[] = { cell_none(), cell_blank_if(true, cell_count(0)), cell_none(),
				     cell_none(), cell_text("x") };

	emit_table(&e, "rows", columns, 5);
	emit_row(&e, row);
	emit_row(&e, none);
}

static void test_table(void **state)
{
	(void)state;
	catch (false, false);
	print_table("gzip", "longest_match");
	caught();
	assert_string_equal(said, "share %   samples  image     procedure\n"
				  "   12.3    12,034  gzip      longest_match\n"
				  "      -            -         x\n");
}

static void test_what_is_too_long(void **state)
{
	char name[200];
	char *line;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	catch (false, false);
	print_table("/usr/lib/libc.so", name);
	caught();
	line = strchr(said, '\n') + 1;
	*strchr(line, '\n') = 0;
	assert_int_equal(strlen(line), 79);
	assert_non_null(strstr(line, "..ibc.so  nnn"));
	assert_string_equal(line + 75, "nn..");
	catch (false, true);
	print_table("/usr/lib/libc.so", name);
	caught();
	assert_non_null(strstr(said, "/usr/lib/libc.so"));
	assert_non_null(strstr(said, name));
}

static void test_columns_are_characters(void **state)
{
	(void)state;
	catch (false, false);
	print_table("\xc3\xa4\xc3\xb6\xc3\xbc", "p");
	caught();
	assert_non_null(strstr(said, "\xc3\xa4\xc3\xb6\xc3\xbc       p\n"));
}

static void test_json(void **state)
{
	json_t *root, *rows, *row;

	(void)state;
	catch (true, false);
	emit_line(&e, "not in %s", "JSON");
	emit_footer(&e, "nor %s", "this");
	emit_set(&e, "total", json_integer(2));
	print_table("gzip", "longest_match");
	caught();
	root = json_loads(said, 0, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "schema")), EMIT_SCHEMA);
	assert_string_equal(json_string_value(json_object_get(root, "verb")), "test");
	assert_int_equal(json_integer_value(json_object_get(root, "total")), 2);
	rows = json_object_get(root, "rows");
	assert_int_equal(json_array_size(rows), 2);
	row = json_array_get(rows, 0);
	assert_string_equal(json_string_value(json_object_get(row, "value")), "0xffffffffffffffff");
	assert_int_equal(json_integer_value(json_object_get(row, "samples")), 12034);
	assert_null(json_object_get(row, "procedure"));
	row = json_array_get(rows, 1);
	assert_true(json_is_null(json_object_get(row, "share")));
	assert_int_equal(json_integer_value(json_object_get(row, "samples")), 0);
	json_decref(root);
}

/* Only the bytes that belong to no UTF-8 are lost, however long the name is. */
static void test_names_that_are_no_utf8(void **state)
{
	char name[3000];
	const char *got;
	json_t *root;

	(void)state;
	memset(name, 'n', sizeof(name));
	strcpy(name + sizeof(name) - 8, "\xc3\xa9\xff e");
	catch (true, false);
	print_table(name, "p");
	caught();
	root = json_loads(said, 0, NULL);
	assert_non_null(root);
	got = json_string_value(
		json_object_get(json_array_get(json_object_get(root, "rows"), 0), "image"));
	assert_non_null(got);
	assert_int_equal(strlen(got), strlen(name) + 2);
	assert_string_equal(got + sizeof(name) - 8, "\xc3\xa9\xef\xbf\xbd e");
	json_decref(root);
}

/* What a terminal would obey is replaced in text, a newline too, and escaped in JSON, where nothing is lost. */
static void test_names_that_give_orders(void **state)
{
	static const char name[] = "a\033[2J\x7f\xc2\x9b\n\xe2\x80\xae\xc3\xa9";
	json_t *root;

	(void)state;
	catch (false, false);
	print_table(name, name);
	emit_line(&e, "line %s", name);
	emit_footer(&e, "%s", name);
	caught();
	assert_string_equal(said, "share %   samples  image     procedure\n"
				  "   12.3    12,034  ..J????\xc3\xa9"
				  "  a?[2J????\xc3\xa9\n"
				  "      -            -         x\n"
				  "line a?[2J????\xc3\xa9\n"
				  "a?[2J????\xc3\xa9\n");
	catch (true, false);
	print_table(name, "p");
	caught();
	assert_non_null(strstr(said, "\"a\\u001B[2J\\u007f\\u009b\\n\\u202e\xc3\xa9\""));
	root = json_loads(said, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(root, "rows"), 0), "image")),
			    name);
	json_decref(root);
}

static void test_given_up(void **state)
{
	(void)state;
	catch (true, false);
	print_table("gzip", "p");
	emit_close(&e, NULL);
	caught();
	assert_string_equal(said, "");
}

static void test_footer_wraps(void **state)
{
	char text[400] = "";

	(void)state;
	for (int i = 0; i < 40; i++)
		strcat(text, "seven77 ");
	catch (false, false);
	emit_footer(&e, "%s", text);
	caught();
	for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
		assert_in_range(strlen(line), 1, 79);
}

static void test_terms(void **state)
{
	static const struct term one[] = { { "share", "of the time" }, { 0 } };
	static const struct term two[] = {
		{ "CPI", "cycles that an instruction took, in so many words that one line of them "
			 "does not hold all that is said" },
		{ 0 },
	};

	(void)state;
	catch (false, false);
	emit_terms(&e, one);
	emit_terms(&e, two);
	emit_footer(&e, "the end");
	caught();
	assert_string_equal(said, "the end\n--explain says what columns and marks mean.\n");
	explain = true;
	catch (false, false);
	emit_terms(&e, one);
	emit_terms(&e, two);
	emit_terms(&e, one);
	emit_footer(&e, "the end");
	caught();
	assert_string_equal(
		said, "the end\n\nshare  of the time\n"
		      "CPI    cycles that an instruction took, in so many words that one line "
		      "of them\n       does not hold all that is said\n");
	catch (true, false);
	emit_terms(&e, one);
	caught();
	explain = false;
	assert_null(strstr(said, "of the time"));
}

static void test_item(void **state)
{
	static const struct column c = { "rate", "rate", "Hz", 8, EMIT_LEFT, EMIT_COUNT };

	(void)state;
	catch (false, false);
	emit_item(&e, &c, cell_count(4999), "as asked");
	emit_item(&e, &c, cell_none(), NULL);
	caught();
	assert_string_equal(said, "rate    4,999 Hz  as asked\nrate    -\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_what_is_too_long),
		cmocka_unit_test(test_columns_are_characters),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_names_that_are_no_utf8),
		cmocka_unit_test(test_names_that_give_orders),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_footer_wraps),
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
