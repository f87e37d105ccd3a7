/* SPDX-License-Identifier: MIT */
/* The co-processor's assembly language: what it makes of sources, right and wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coproc/asm.h"

#define HEAD \
	"program test\n" \
	"sample pc = pc[0:32]\n" \
	"on load -> go\n" \
	"value a, b\n" \
	"index i : 4\n" \
	"index j : 4 wrap = 3\n" \
	"const FIVE = 5\n" \
	"array t[8] : low:8, high:16\n"

static struct program *assemble(const char *text, struct err *err)
{
	*err = (struct err){ 0 };
	return asm_text(text, "t.uc", &spec_default, NULL, 0, err);
}

static void good(const char *text)
{
	struct err err;
	struct program *p = assemble(text, &err);

	if (!p)
		fail_msg("%s", err.msg);
	free(p);
}

static void bad(const char *text, const char *message)
{
	struct err err;
	struct program *p = assemble(text, &err);

	if (p)
		fail_msg("it assembles, without: %s", message);
	if (!strstr(err.msg, message))
		fail_msg("got: %s\nwanted: %s", err.msg, message);
}

static void test_errors(void **state)
{
	(void)state;
	good(HEAD "go: done\n");
	bad(HEAD "go: frob a, b\n", "t.uc:9:5: there is no operation \"frob\"");
	bad(HEAD "go: add a, b\n", "t.uc:9:13: \",\" is missing here");
	bad(HEAD "go: mov a, c\n", "t.uc:9:12: \"c\" is no register");
	bad(HEAD "go: jump nowhere\n", "t.uc:9:10: there is no label \"nowhere\"");
	bad(HEAD "go: done | done\n", "the word has a branch already");
	bad(HEAD "go: mov a, b | mov b, a | done\n", "an operation of the main ALU already");
	bad(HEAD "go: add i, i, 1 | add j, j, 1 | eq i, 2 | done\n", "all 2 index ALUs already");
	bad(HEAD "go: ld a, t[i] | st t[j], a | done\n", "it has one port");
	bad(HEAD "go: match a -> i | drop j | done\n", "uses the associative array already");
	bad(HEAD "go: match a -> i | mov i, 3 | done\n", "two of its operations write the same");
	bad(HEAD "go: mov i, a | done\n", "value registers have no port to the index ALUs");
	bad(HEAD "go: shl i, i, 1 | done\n", "index ALUs have no shl");
	bad(HEAD "go: shl a, a, 3 | done\n", "it shifts by something else");
	bad(HEAD "go: ld a, t[i].middle | done\n", "array t has no such field");
	bad(HEAD "go: bump t[i] | done\n", "bump needs a field");
	bad(HEAD "go: mov FIVE, a | done\n", "cannot be written");
	bad(HEAD "go: mov pc, a | done\n", "cannot be written");
	bad(HEAD "go: mov a, b\n", "t.uc:9: word 0: control runs past the end");
	bad(HEAD "go: br when, done\n", "t.uc:9:8: a condition is missing here");
	bad(HEAD "go: done\ngo: done\n", "t.uc:10:5: the label \"go\" is there twice");
	bad(HEAD "go: done extra\n", "t.uc:9:10: the line ends before this");
	bad(HEAD "value a\ngo: done\n", "t.uc:9:7: the name \"a\" is taken");
	bad(HEAD "array u[6]\ngo: done\n", "no power of two");
	bad(HEAD "array u[8] : x:20, y:20\ngo: done\n", "more than the 32 bits of a word");
	bad(HEAD "array u[1024]\ngo: done\n", "array u ends at word 2048, the data array has 1024");
	bad(HEAD "index k : 17\ngo: done\n", "not within 1 and 16");
	bad(HEAD "index k : 4 = 16\ngo: done\n", "not within 0 and 15");
	bad(HEAD "on store -> go, load\ngo: done\n", "the line ends before this");
	bad(HEAD "on load -> go\ngo: done\n", "class load has an entry already");
	bad(HEAD "on walks -> go\ngo: done\n", "no class of instructions");
	bad(HEAD "sample x = colour\ngo: done\n", "nothing that can be collected");
	bad(HEAD "sample x = value[60:8]\ngo: done\n", "not within 1 and 4");
	bad(HEAD "const X = 1 / 0\ngo: done\n", "the divisor is zero");
	bad(HEAD "const X = log2(6)\ngo: done\n", "log2 is of powers of two");
	bad(HEAD "const X = pack(t, low = 256)\ngo: done\n", "field low has 8 bits");
	bad(HEAD "const X = 99999999999999999999\ngo: done\n", "more than 64 bits");
	bad(HEAD "param P = 3\nrequire P > 4 \"P is too small\"\ngo: done\n", "9: P is too small");
	bad(HEAD "word 0xffffffffffffffff 0\ngo: done\n", "these bits are no microcode word");
	bad(HEAD "go: done \"x\n", "has no end");
	bad(HEAD "go: done @\n", "t.uc:9:10: this character means nothing here");
	bad("program x\nvalue a\ngo: mov a, a | done\n", "no class of instructions (on)");
	bad("program x\non load -> go\n", "t.uc:2:12: there is no label");
	bad("", "the program has no words");
}

static void test_ports(void **state)
{
	struct spec s = spec_default;
	struct err err;
	struct program *p;

	(void)state;
	s.value_reads = 1;
	p = asm_text(HEAD "go: add a, a, b | done\n", "t.uc", &s, NULL, 0, &err);
	assert_null(p);
	assert_non_null(strstr(err.msg, "more value registers than there are ports"));
	s = spec_default;
	s.index_alus = 1;
	p = asm_text(HEAD "go: add i, i, 1 | add j, j, 1 | done\n", "t.uc", &s, NULL, 0, &err);
	assert_null(p);
	assert_non_null(strstr(err.msg, "all 1 index ALUs"));
	s = spec_default;
	s.buffer = 2;
	s.bus = 2;
	p = asm_text(HEAD "go: done\n", "t.uc", &s, NULL, 0, &err);
	assert_null(p);
	assert_non_null(strstr(err.msg, "bytes of the sample buffer for one sample"));
}

static void test_define(void **state)
{
	const char *const good_one[] = { "P=7" }, *const other[] = { "Q=7" };
	const char *text = HEAD "param P = 3\nconst X = P * 2\ngo: mov a, X | done\n";
	struct err err;
	struct program *p = asm_text(text, "t.uc", &spec_default, good_one, 1, &err);

	(void)state;
	assert_non_null(p);
	assert_int_equal(p->constant[1], 14);
	free(p);
	assert_null(asm_text(text, "t.uc", &spec_default, other, 1, &err));
	assert_non_null(strstr(err.msg, "no parameter of that name"));
}

/* A branch farther than 127 words goes by a branch target register; there are so many of these. */
static void test_far(void **state)
{
	char text[8192] = HEAD "go: br always, end\n";
	struct spec s = spec_default;
	struct program *p;
	struct err err;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		strcat(text, "nop\n");
	strcat(text, "end: done\n");
	p = asm_text(text, "t.uc", &s, NULL, 0, &err);
	assert_non_null(p);
	assert_int_equal(p->word[0].br.kind, BR_TARGET);
	assert_int_equal(p->target[0], 201);
	free(p);
	s.targets = 0;
	assert_null(asm_text(text, "t.uc", &s, NULL, 0, &err));
	assert_non_null(strstr(err.msg, "t.uc:9:16: label \"end\" is too far away"));
}

/* Each installed program, as source and as words, assembles to itself. */
static void test_round_trip(void **state)
{
	static const char *const names[] = { "values",	 "edges",	"pairs",
					     "contexts", "dependences", "sets" };

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int raw = 0; raw < 2; raw++) {
			struct err err = { 0 };
			struct program *p = asm_file(names[i], &spec_default, NULL, 0, &err), *q;
			char *text;
			size_t n;
			FILE *f = open_memstream(&text, &n);

			if (!p)
				fail_msg("%s", err.msg);
			assert_string_equal(p->name, names[i]);
			asm_print(p, raw, f);
			fclose(f);
			q = asm_text(text, names[i], &spec_default, NULL, 0, &err);
			if (!q)
				fail_msg("%s", err.msg);
			memcpy(q->line, p->line, sizeof(q->line));
			assert_memory_equal(p, q, sizeof(*p));
			free(text);
			free(p);
			free(q);
		}
}

static void test_spec(void **state)
{
	struct spec s = spec_default;
	struct err err;
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	assert_int_equal(spec_parse(&s, "# half\nentries = 256\n data = 1K # words\n", "m", &err),
			 0);
	assert_int_equal(s.entries, 256);
	assert_int_equal(s.data, 1024);
	assert_int_equal(spec_parse(&s, "entries = 256\nwheels = 4\n", "m", &err), -1);
	assert_string_equal(err.msg, "m:2: the machine has no parameter \"wheels\"");
	assert_int_equal(spec_parse(&s, "entries = 300\n", "m", &err), -1);
	assert_non_null(strstr(err.msg, "no power of two"));
	assert_int_equal(spec_parse(&s, "data = -1\n", "m", &err), -1);
	assert_int_equal(spec_parse(&s, "data = 1 2\n", "m", &err), -1);
	s = spec_default;
	assert_int_equal(spec_parse(&s, "buffer = 8\nbus = 64\n", "m", &err), -1);
	assert_non_null(strstr(err.msg, "into a buffer of only 8"));
	spec_print(&spec_default, f);
	fclose(f);
	memset(&s, 0, sizeof(s));
	assert_int_equal(spec_parse(&s, text, "m", &err), 0);
	assert_memory_equal(&s, &spec_default, sizeof(s));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),	   cmocka_unit_test(test_ports),
		cmocka_unit_test(test_define),	   cmocka_unit_test(test_far),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_spec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
