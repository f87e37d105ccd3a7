/* SPDX-License-Identifier: MIT */
/* Microarchitectures by the features that /proc/cpuinfo lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/cpu.h"

static void features_tell(void **state)
{
	(void)state;
	assert_string_equal(cpu_microarchitecture("AuthenticAMD", " fpu clwb vaes avx512f", 32),
			    "Zen 4");
	assert_string_equal(cpu_microarchitecture("AuthenticAMD", " fpu clwb vaes rdpid", 32),
			    "Zen 3");
	assert_string_equal(
		cpu_microarchitecture("GenuineIntel",
				      " avx2 adx avx512f avx512_vbmi2 amx_tile amx_int8", 32),
		"Sapphire Rapids");
	assert_string_equal(cpu_microarchitecture("GenuineIntel", " avx2 amx_tile amx_int8", 64),
			    "Granite Rapids");
	assert_string_equal(cpu_microarchitecture("GenuineIntel", " avx2 amx_tile amx_int8", 0),
			    "Sapphire Rapids");
	assert_string_equal(cpu_microarchitecture("GenuineIntel", " avx2 avx_vnni", 64),
			    "Alder Lake");
	assert_string_equal(cpu_microarchitecture("GenuineIntel", " avx2 adx avx512f", 32),
			    "Skylake server");
	assert_string_equal(cpu_microarchitecture("GenuineIntel", " sse2 avx2", 32), "Haswell");
}

static void whole_words_of_the_maker_count(void **state)
{
	(void)state;
	assert_null(cpu_microarchitecture("GenuineIntel", " avx2x xavx2 sse2", 32));
	assert_null(cpu_microarchitecture("GenuineIntel", " clwb vaes", 32));
	assert_null(cpu_microarchitecture("", " avx2", 32));
}

static void this_machine_has_a_name(void **state)
{
	char *name = cpu_name();

	(void)state;
	assert_non_null(name);
	assert_null(strchr(name, '\n'));
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_tell),
		cmocka_unit_test(whole_words_of_the_maker_count),
		cmocka_unit_test(this_machine_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
