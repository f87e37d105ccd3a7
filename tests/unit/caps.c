/* SPDX-License-Identifier: MIT */
/* Which kernels the sampler refuses, and what it says then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>

#include <cmocka.h>

#include "sampler/caps.h"

static void test_versions(void **unused)
{
	static const struct {
		const char *release;
		bool is;
		struct kernel_version v;
	} list[] = {
		{ "6.1.0-18-amd64", true, { 6, 1, 0 } },
		{ "5.15.153.1-microsoft-standard-WSL2", true, { 5, 15, 153 } },
		{ "6.18.5", true, { 6, 18, 5 } },
		{ "6.4-rc1", true, { 6, 4, 0 } },
		{ "10.0.12+", true, { 10, 0, 12 } },
		{ "6", false, { 0, 0, 0 } },
		{ "", false, { 0, 0, 0 } },
		{ "generic", false, { 0, 0, 0 } },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct kernel_version v;

		assert_int_equal(kernel_version_parse(list[i].release, &v), list[i].is);
		assert_memory_equal(&v, &list[i].v, sizeof(v));
	}
}

/* A machine on which nothing else is wrong. */
static struct caps machine(const char *release, const char *version, bool hardened)
{
	struct caps c = { .hardened = hardened, .btf = true, .cap_bpf = true, .cap_perfmon = true };

	caps_kernel(&c, release, version);
	return c;
}

static void test_lockup_range(void **unused)
{
	static const struct {
		const char *release;
		bool lockup;
	} list[] = {
		{ "5.17.0", false }, { "5.18.19", false }, { "5.19.0", true },	{ "5.19.17", true },
		{ "6.0.0", true },   { "6.0.19", true },   { "6.1.0", true },	{ "6.1.35", true },
		{ "6.1.36", false }, { "6.1.140", false }, { "6.2.0", true },	{ "6.2.16", true },
		{ "6.3.0", true },   { "6.3.9", true },	   { "6.3.10", false }, { "6.3.13", false },
		{ "6.4.0", false },  { "6.18.5", false },  { "7.0.0", false },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct caps c = machine(list[i].release, "#1 SMP", true);
		struct err err = { 0 };

		assert_int_equal(c.lockup, list[i].lockup);
		assert_int_equal(caps_check(&c, &err), list[i].lockup ? -1 : 0);
		if (list[i].lockup) { /* by name, with the remedy */
			assert_non_null(strstr(err.msg, list[i].release));
			assert_non_null(strstr(err.msg, "lock up"));
			assert_non_null(strstr(err.msg, "CONFIG_HARDENED_USERCOPY"));
			assert_non_null(strstr(err.hint, "6.1.36, 6.3.10 and 6.4"));
		}
		c = machine(list[i].release, "#1 SMP", false); /* without the check nothing locks */
		assert_int_equal(caps_check(&c, &err), 0);
	}
}

/* Debian's release says 6.1.0 whatever the stable kernel is. */
static void test_debian(void **unused)
{
	struct caps c = machine("6.1.0-18-amd64",
				"#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)", true);
	struct err err = { 0 };

	(void)unused;
	assert_int_equal(c.kernel.patch, 76);
	assert_false(c.lockup);
	assert_int_equal(caps_check(&c, &err), 0);

	c = machine("6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", true);
	assert_true(c.lockup);
	assert_int_equal(caps_check(&c, &err), -1);
	assert_non_null(strstr(err.msg, "6.1.0-9-amd64 (6.1.27)"));

	/* a name only, or another kernel's: it says nothing */
	c = machine("6.1.20", "#1 SMP Debian ", true);
	assert_int_equal(c.kernel.patch, 20);
	c = machine("6.1.20", "#1 SMP Debian 6.5.99-1", true);
	assert_int_equal(c.kernel.patch, 20);
	assert_true(c.lockup);
}

static void test_too_old(void **unused)
{
	static const char *const list[] = { "2.6.32-754.el6", "4.19.0-26-amd64",
					    "5.15.0-91-generic", "5.16.20", "what" };
	struct err err = { 0 };

	(void)unused;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct caps c = machine(list[i], "#1 SMP", true);

		assert_false(c.new_enough);
		assert_false(c.lockup);
		assert_int_equal(caps_check(&c, &err), -1);
		assert_int_equal(err.code, ERR_FAILED);
		assert_non_null(strstr(err.msg, list[i]));
		assert_non_null(strstr(err.msg, "5.17"));
		assert_true(err.hint[0]);
	}
}

/* One thing missing at a time is named, with what to do. */
static void test_missing(void **unused)
{
	struct err err = { 0 };
	struct caps c = machine("6.18.5", "#1 SMP", true);

	(void)unused;
	c.btf = false;
	assert_int_equal(caps_check(&c, &err), -1);
	assert_non_null(strstr(err.msg, "/sys/kernel/btf/vmlinux"));
	assert_non_null(strstr(err.hint, "CONFIG_DEBUG_INFO_BTF"));
	c.btf = true;
	c.cap_bpf = false;
	assert_int_equal(caps_check(&c, &err), -1);
	assert_non_null(strstr(err.msg, "CAP_BPF missing"));
	c.cap_perfmon = false;
	assert_int_equal(caps_check(&c, &err), -1);
	assert_non_null(strstr(err.msg, "CAP_BPF and CAP_PERFMON missing"));
	c.cap_bpf = true;
	assert_int_equal(caps_check(&c, &err), -1);
	assert_non_null(strstr(err.msg, ": CAP_PERFMON missing"));
	assert_non_null(strstr(err.hint, "sudo"));
	/* for a group, and without rights to read what is others' */
	assert_non_null(strstr(err.hint, "chmod 0750"));
	assert_non_null(strstr(err.hint, "setcap cap_bpf,cap_perfmon+ep"));
	assert_non_null(strstr(err.hint, "--exact, which takes a command and no privilege"));
	c.cap_perfmon = true;
	c.contained = true;
	assert_int_equal(caps_check(&c, &err), -1);
	assert_non_null(strstr(err.msg, "user namespace"));
}

/* This machine's, read for real. */
static void test_here(void **unused)
{
	struct utsname u;
	struct caps c;

	(void)unused;
	assert_int_equal(uname(&u), 0);
	caps_read(&c);
	assert_string_equal(c.release, u.release);
	assert_true(c.kernel.major >= 4);
	assert_int_equal(c.lockup, kernel_version_lockup(&c.kernel));
	assert_true(c.max_rate > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions), cmocka_unit_test(test_lockup_range),
		cmocka_unit_test(test_debian),	 cmocka_unit_test(test_too_old),
		cmocka_unit_test(test_missing),	 cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
