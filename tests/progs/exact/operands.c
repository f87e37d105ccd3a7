/* SPDX-License-Identifier: MIT */
/* Memory operands and instructions of all kinds (operands_asm.S), and what the processor says of itself. */
#include "table.h"

#include <cpuid.h>

/* AVX2 and FMA; AVX-512 F, BW, DQ, VL; BMI and ADX: for operands_asm.S. */
uint8_t features[3];

__attribute__((constructor)) static void look(void)
{
	uint32_t a, b = 0, c, d;

	__builtin_cpu_init();
	features[0] = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	features[1] = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	features[2] =
		__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && (b >> 19 & 1);
}

CASE(cpuid)
{
	static const uint32_t leaves[][2] = { { 0, 0 },		 { 7, 0 },
					      { 7, 1 },		 { 0x80000000, 0 },
					      { 0x80000002, 0 }, { 0x80000003, 0 },
					      { 0x80000004, 0 }, { 0x80000001, 0 } };
	uint32_t a, b, c, d;

	for (unsigned i = 0; i < sizeof leaves / sizeof *leaves; i++) {
		__cpuid_count(leaves[i][0], leaves[i][1], a, b, c, d);
		printf("%#x.%u: %#x %#x %#x %#x\n", leaves[i][0], leaves[i][1], a, b, c, d);
	}
	__cpuid(1, a, b, c, d);
	printf("1: %#x %#x %#x\n", a, c, d);
	printf("%d %d %d\n", features[0], features[1], features[2]);
}

CASE(xgetbv)
{
	uint32_t a, d;

	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	printf("%#x %#x\n", a, d);
}

CASE(random_numbers)
{
	uint64_t v;
	uint8_t ok = 0;

	if (__builtin_cpu_supports("rdrnd"))
		for (int i = 0; i < 100 && !ok; i++)
			__asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(v), "=qm"(ok) : : "cc");
	else
		ok = 1;
	EQ(ok, 1);
}
