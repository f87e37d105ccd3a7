/* SPDX-License-Identifier: MIT */
/*
 * Functions in assembly as cases: each entry of the table (table.inc) is called once and often, with what it
 * returns and leaves in operands[] as the output.
 */
#ifndef EXACT_TABLE_H
#define EXACT_TABLE_H

#include "cases.h"

struct entry {
	const char *name;
	uint64_t (*f)(uint64_t x, uint64_t n);
};
extern const struct entry __start_ctl_table[], __stop_ctl_table[];

/* Calls f(x) with in[0 … 5] in the registers that it must keep, and stores them to out after it. */
uint64_t call_between(uint64_t (*f)(uint64_t, uint64_t), uint64_t x, const uint64_t *in,
		      uint64_t *out);

static uint64_t call_kept(uint64_t (*f)(uint64_t, uint64_t), uint64_t x)
{
	static const uint64_t in[6] = { 0xb0b0, 0xb1b1b1, 0xc12c12, 0xd13d13, 0xe14e14, 0xf15f15 };
	uint64_t out[6], result = call_between(f, x, in, out);

	for (int i = 0; i < 6; i++)
		EQ(out[i], in[i]);
	return result;
}

/* What the functions work on; the same before each call. */
__attribute__((aligned(64))) uint8_t operands[512];

static uint64_t round_of(const struct entry *e, uint64_t x)
{
	uint64_t h;

	for (unsigned i = 0; i < sizeof operands; i++)
		operands[i] = (uint8_t)(i * 37 + 11);
	h = call_kept(e->f, x);
	for (unsigned i = 0; i < sizeof operands; i += 8) {
		uint64_t v;

		memcpy(&v, operands + i, 8);
		h = mix(h, v);
	}
	return h;
}

NOINLINE static uint64_t call_often(const struct entry *e, int rounds)
{
	uint64_t sum = 0;

	for (int i = 0; i < rounds; i++)
		sum = mix(sum, round_of(e, (uint64_t)(i + 1) * 0x123456789u));
	return sum;
}

/* Each function of the table is a case: once, and hot. */
void extra_cases(const char *name)
{
	for (const struct entry *e = __start_ctl_table; e < __stop_ctl_table; e++) {
		if (!name)
			puts(e->name);
		else if (!strcmp(name, e->name)) {
			printf("once %#llx\n", (unsigned long long)call_often(e, 1));
			printf("hot %#llx\n", (unsigned long long)call_often(e, 60));
		}
	}
}

#endif
