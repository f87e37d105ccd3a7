/* SPDX-License-Identifier: MIT */
/* What is remembered of a class is what decoding says: every prefix, REX, opcode, ModRM.reg, and kind of operand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exact/classes.h"
#include "x86/insn.h"

#define ADDR 0x400000

/* Before the opcode: up to two prefixes and a REX. Returns how many bytes. */
static unsigned put_prefixes(uint8_t *p, int pair, int rex)
{
	static const uint8_t prefix[] = { 0, 0x66, 0xf3, 0xf2, 0x64, 0x2e, 0x3e };
	unsigned n = 0, first = prefix[pair / 7], second = prefix[pair % 7];

	if (first)
		p[n++] = (uint8_t)first;
	if (second)
		p[n++] = (uint8_t)second;
	if (rex)
		p[n++] = (uint8_t)(0x3f + rex);
	return n;
}

static void hold(struct classes *c, const uint8_t *p)
{
	struct insn in;
	uint64_t target;
	unsigned len = (unsigned)insn_decode(&in, p, INSN_MAX_LEN, ADDR);
	struct opcode o;

	if (len) {
		assert_int_equal(classes_of(c, p, len, ADDR, &target), in.cls);
		assert_int_equal(target, in.target);
		return;
	}
	/* as long as an instruction with that key would be */
	opcode_begin(&o, p);
	if (c->operand[o.number] == OPCODE_MODRM)
		opcode_operand(&o, p);
	len = o.end + c->of[o.key].imm;
	if (len <= INSN_MAX_LEN)
		assert_int_equal(classes_of(c, p, len, ADDR, &target), -1);
}

/* All REX with no prefix or one; with two, none and every third from 0x40 on: each bit is set in some, clear in others. */
static void test_classes(void **s)
{
	static const uint8_t operand[] = { 0x00, 0x04, 0x05, 0x41, 0x84, 0xc0, 0xc3 };
	struct classes *c = calloc(1, sizeof(*c));

	(void)s;
	assert_non_null(c);
	for (int pair = 0; pair < 49; pair++)
		for (int rex = 0; rex <= 16; rex += pair < 7 || !rex ? 1 : 3)
			for (int op = 0; op < 512; op++)
				for (unsigned m = 0; m < 8 * sizeof(operand); m++) {
					uint8_t p[INSN_MAX_LEN];
					unsigned n = put_prefixes(p, pair, rex);

					memset(p + n, (int)(m * 37), sizeof(p) - n);
					if (op >= 256)
						p[n++] = 0x0f;
					p[n++] = (uint8_t)op;
					p[n++] = (uint8_t)(operand[m >> 3] | (m & 7) << 3);
					hold(c, p);
				}
	free(c);
}

/* Only the beginning of a transaction leads elsewhere, whatever their opcodes are filed under. */
static void test_transactions(void **s)
{
	static const uint8_t xbegin[] = { 0xc7, 0xf8, 0x10, 0, 0, 0 },
			     xend[] = { 0x0f, 0x01, 0xd5 }, xabort[] = { 0xc6, 0xf8, 0x10 };
	struct insn in;

	(void)s;
	assert_int_equal(insn_decode(&in, xbegin, sizeof(xbegin), ADDR), sizeof(xbegin));
	assert_int_equal(in.cls, INSN_BRANCH);
	assert_int_equal(in.target, ADDR + 0x16);
	assert_int_equal(insn_decode(&in, xend, sizeof(xend), ADDR), sizeof(xend));
	assert_int_equal(in.cls, INSN_OTHER);
	assert_int_equal(in.target, 0);
	assert_int_equal(insn_decode(&in, xabort, sizeof(xabort), ADDR), sizeof(xabort));
	assert_int_equal(in.cls, INSN_OTHER);
	assert_int_equal(in.target, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_transactions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
