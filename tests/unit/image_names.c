/* SPDX-License-Identifier: MIT */
/*
 * Kernel symbols and demangling.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "image/image.h"
#include "image/ksyms_priv.h"

struct found {
	const char *name, *module;
	uint64_t start, end;
};

static struct ksyms *parse(const char *text, struct err *err)
{
	return ksyms_parse(strdup(text), strlen(text), err);
}

static bool at(const struct ksyms *k, uint64_t addr, struct found *f)
{
	return ksyms_at(k, addr, &f->name, &f->module, &f->start, &f->end);
}

static void test_ksyms(void **state)
{
	struct err err;
	struct found f;
	struct ksyms *k = parse("0000000000000000 A fixed_percpu_data\n"
				"ffffffff81000100 T second\n"
				"ffffffff81000000 T _first\n"
				"ffffffff81000000 t zeroth\n"
				"ffffffff81000000 T first\n"
				"ffffffff81000180 D data\n"
				"ffffffffc0000000 t in_module\t[ext4]\n"
				"ffffffffc0000040 T next_of_module\t[ext4]\n"
				"ffffffffc0003000 T other\t[bpf]",
				&err);

	(void)state;
	assert_non_null(k);
	assert_true(at(k, 0xffffffff81000000, &f));
	assert_string_equal(f.name, "first");
	assert_string_equal(f.module, "");
	assert_int_equal(f.end, 0xffffffff81000100);
	assert_true(at(k, 0xffffffff8100017f, &f));
	assert_string_equal(f.name, "second");
	assert_int_equal(f.start, 0xffffffff81000100);
	assert_int_equal(f.end, 0xffffffff81000180);
	assert_false(at(k, 0xffffffff81000180, &f)); /* data */
	assert_false(at(k, 0xffffffff80ffffff, &f));
	assert_true(at(k, 0xffffffffc000003f, &f));
	assert_string_equal(f.name, "in_module");
	assert_string_equal(f.module, "ext4");
	assert_true(at(k, 0xffffffffc0000fff, &f));
	assert_string_equal(f.name, "next_of_module");
	assert_false(at(k, 0xffffffffc0001000, &f)); /* between two modules */
	assert_true(at(k, 0xffffffffc0003001, &f));
	assert_string_equal(f.module, "bpf");
	assert_false(at(k, UINT64_MAX, &f));
	assert_false(at(k, 0, &f));
	ksyms_close(k);
}

static void test_hidden(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_null(parse("0000000000000000 T _stext\n0000000000000000 t foo\t[ext4]\n", &err));
	assert_int_equal(err.code, ERR_FAILED);
	assert_non_null(strstr(err.msg, "hidden"));
	assert_non_null(strstr(err.hint, "kptr_restrict"));
	assert_null(parse("", &err));
}

static void test_ksyms_malformed(void **state)
{
	static const char *const bad[] = {
		"hello",
		"ffffffff81000000",
		"ffffffff81000000 T",
		"ffffffff81000000 T ",
		"ffffffff81000000 Tname",
		"ffffffff81000000 T a\n\nffffffff81000000 T b",
		"ffffffff81000000 T \t[mod]",
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err = (struct err){ 0 };
		assert_null(parse(bad[i], &err));
		assert_true(err.msg[0]);
	}
	assert_null(ksyms_parse(calloc(1, 8), 7, &err));
}

static void test_real_kernel(void **state)
{
	struct err err = { 0 };
	struct ksyms *k = ksyms_open(&err);
	struct found f;
	FILE *list;
	unsigned long long addr;
	char type, name[256];

	(void)state;
	if (!k) { /* allowed to no one, or not to us: then it says so */
		assert_true(err.msg[0]);
		return;
	}
	list = fopen("/proc/kallsyms", "r");
	assert_non_null(list);
	while (fscanf(list, "%llx %c %255s%*[^\n]", &addr, &type, name) == 3)
		if (type == 'T' && !strcmp(name, "vfs_read"))
			break;
	fclose(list);
	if (!strcmp(name, "vfs_read")) {
		assert_true(at(k, addr + 1, &f));
		assert_string_equal(f.name, "vfs_read");
		assert_int_equal(f.start, addr);
		assert_true(f.end > addr + 1);
	}
	ksyms_close(k);
}

static void test_demangle(void **state)
{
	static const char *const pairs[][2] = {
		{ "main", "main" },
		{ "_start", "_start" },
		{ "_Z", "_Z" },
		{ "_Znonsense", "_Znonsense" },
		{ "_ZN3foo3barEi", "foo::bar(int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "", "" },
	};
	char buf[128], small[8];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_string_equal(image_demangle(pairs[i][0], buf, sizeof(buf)), pairs[i][1]);
	assert_string_equal(image_demangle("_ZN3foo3barEi", small, sizeof(small)), "foo::ba");
	assert_string_equal(image_demangle("long_name_in_c", small, sizeof(small)), "long_na");
	assert_string_equal(image_demangle("_ZN3foo3barEi", small, 1), "");
}

/* Each parameter is a pair of the one before: sixty of them would be 2^60 names. */
static void test_demangle_bomb(void **state)
{
	char bomb[1024] = "_Z1fSt4pairIiiE", buf[4096];
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	(void)state;
	for (int i = 0; i < 30; i++)
		snprintf(bomb + strlen(bomb), sizeof(bomb) - strlen(bomb), "S_IS%c_S%c_E",
			 digits[i], digits[i]);
	image_demangle(bomb, buf, sizeof(buf));
	assert_memory_equal(buf, "f(std::pair<int, int>", 21);
	assert_int_equal(strlen(buf), sizeof(buf) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ksyms),		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_ksyms_malformed), cmocka_unit_test(test_real_kernel),
		cmocka_unit_test(test_demangle),	cmocka_unit_test(test_demangle_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
