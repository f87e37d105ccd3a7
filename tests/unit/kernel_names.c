/* SPDX-License-Identifier: MIT */
/* What the kernel says of an address, taken apart; and one that does not answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sampler/bpf/shared.h"
#include "sampler/kernel_names.h"

#define ADDR 0xffffffff81001234ull

static void test_names(void **unused)
{
	static const struct {
		const char *answer, *name;
		uint64_t start, end;
	} list[] = {
		{ "vfs_read+0x34/0x50", "vfs_read", ADDR - 0x34, ADDR + 0x1c },
		{ "vfs_read+0x0/0x1", "vfs_read", ADDR, ADDR + 1 },
		{ "finish_task_switch.isra.0+0x4/0x200", "finish_task_switch.isra.0", ADDR - 4,
		  ADDR + 0x1fc },
		{ "ext4_sync+0x10/0x20 [ext4]", "ext4_sync [ext4]", ADDR - 0x10, ADDR + 0x10 },
		{ "bpf_prog_0123456789abcdef_on_sample+0x1/0x9",
		  "bpf_prog_0123456789abcdef_on_sample [bpf]", ADDR - 1, ADDR + 8 },
		{ "_RNv+0x1+0x2/0x3", "_RNv+0x1", ADDR - 2, ADDR + 1 },
	};
	static const char *const none[] = { "",
					    "0xffffffff81001234",
					    "+0x1/0x2",
					    "vfs_read",
					    "vfs_read+0x34",
					    "vfs_read+0x34/",
					    "vfs_read+0x34/0x34",
					    "vfs_read+0x34/0x50x" };
	struct kernel_name n;

	(void)unused;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		assert_true(kernel_name_parse(list[i].answer, ADDR, &n));
		assert_string_equal(n.name, list[i].name);
		assert_int_equal(n.start, list[i].start);
		assert_int_equal(n.end, list[i].end);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_false(kernel_name_parse(none[i], ADDR, &n));
}

static void test_longest_name(void **unused)
{
	char answer[CODE_NAME_MAX + 1000];
	struct kernel_name n;

	(void)unused;
	memset(answer, 'x', sizeof(answer));
	strcpy(answer + 1400, "+0x1/0x2 [module]");
	assert_true(kernel_name_parse(answer, ADDR, &n));
	assert_int_equal(strlen(n.name), sizeof(n.name) - 1);
}

static void test_no_answer(void **unused)
{
	char answer[CODE_NAME_MAX] = "unasked+0x0/0x1";
	uint64_t address = 0;
	struct kernel_names k = { .prog = -1, .address = &address, .answer = answer };
	struct kernel_name n = { 0 };

	(void)unused;
	for (uint64_t i = 1; i < 3; i++) {
		assert_false(kernel_names_at(&k, i * 4096, &n));
		assert_true(k.silent);
		assert_int_equal(address, 4096); /* asked once */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_longest_name),
		cmocka_unit_test(test_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
