/* SPDX-License-Identifier: MIT */
/* What the interpreter leaves behind, decoded: from code that is lifted and run ahead here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "x86/insn.h"
#include "runahead/user.h"
#include "sampler/decode.h"

#define IMAGE 3
#define CODE 0x1000ull /* ELF address */
#define BIAS 0x555500000000ull
#define DATA 0x7f0000000000ull /* every word of memory reads as its own address, plus one */
#define UOPS 4096
#define LINE_BITS 10
#define INSNS 8

static const uint8_t bytes[] = {
	0x48, 0x8b, 0x07, /*  0 mov rax, [rdi] */
	0x48, 0x89, 0x06, /*  3 mov [rsi], rax */
	0x48, 0xf7, 0xe2, /*  6 mul rdx */
	0x48, 0x85, 0xc0, /*  9 test rax, rax */
	0x75, 0x02,	  /* 12 jnz 16 */
	0x90, 0x90,	  /* 14 nop; nop */
	0x74, 0x02,	  /* 16 jz 20 */
	0xff, 0xd1,	  /* 18 call rcx */
	0x90,		  /* 20 nop */
	0xc3,		  /* 21 ret */
};

static struct uop uop[UOPS];
static struct code_line line[1 << LINE_BITS];
static struct code code;
static struct ra_state state;
static struct err err;

static const uint8_t *code_bytes(void *ctx, uint64_t addr, size_t *n)
{
	(void)ctx;
	if (addr < CODE || addr >= CODE + sizeof(bytes))
		return NULL;
	*n = CODE + sizeof(bytes) - addr;
	return bytes + (addr - CODE);
}

static bool entry_at(void *ctx, uint64_t addr)
{
	(void)ctx;
	return addr == CODE;
}

static int read_memory(void *ctx, uint64_t addr, uint32_t n, uint64_t *val)
{
	(void)ctx;
	*val = addr + 1;
	return n != 8;
}

static int map_code(void *ctx, struct ra_state *s, uint64_t addr)
{
	(void)ctx;
	if (addr < BIAS + CODE || addr >= BIAS + CODE + sizeof(bytes))
		return RA_STOP_NOIMAGE;
	s->image = IMAGE;
	s->bias = BIAS;
	s->start = BIAS + CODE;
	s->end = s->start + sizeof(bytes);
	return 0;
}

static int setup(void **unused)
{
	const struct code_source src = { code_bytes, entry_at, NULL };

	(void)unused;
	memset(uop, 0, sizeof(uop));
	memset(line, 0, sizeof(line));
	assert_int_equal(code_init(&code, uop, UOPS, line, LINE_BITS, &err), 0);
	assert_int_equal(code_image(&code, IMAGE, &src, &err), 0);
	assert_true(code_lift(&code, IMAGE, CODE, 64) > 0);
	code_sweep(&code, IMAGE, CODE, CODE + sizeof(bytes), 64);
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	code_fini(&code);
	return 0;
}

/* From the entry on; rdi and rdx are known or not. How many words it left. */
static uint32_t run(uint32_t known)
{
	const struct ra_env env = { .code = &code, .read = read_memory, .map = map_code };

	memset(&state, 0, sizeof(state));
	for (int i = 0; i < 16; i++)
		state.r[i] = 0x100 + (uint64_t)i;
	state.r[UR_RDI] = DATA;
	state.r[UR_RSI] = DATA + 64;
	state.r[UR_RDX] = 5;
	state.r[UR_RSP] = DATA + 4096;
	state.r[UR_RCX] = BIAS + CODE + 21;
	state.known = known;
	ra_user_run(&state, &env, BIAS + CODE, 2, INSNS);
	return state.out_n - RA_OUT_HEAD;
}

static void expect(const struct retired *r, unsigned at, int cls, unsigned len, unsigned have)
{
	assert_int_equal(r->site.image, IMAGE);
	assert_int_equal(r->site.addr, CODE + at);
	assert_int_equal(r->cls, cls);
	assert_int_equal(r->len, len);
	assert_int_equal(r->have, have);
}

#define HAS(operand) (1u << OPERAND_##operand)

static void test_all_that_is_recorded(void **unused)
{
	const unsigned args = HAS(ARG0) | HAS(ARG1) | HAS(ARG2) | HAS(ARG3) | HAS(ARG4) | HAS(ARG5);
	struct retired ri[INSNS];
	uint32_t n = run((1u << UR_BIAS) - 1);

	(void)unused;
	memset(ri, 0xff, sizeof(ri));
	assert_int_equal(state.stop, RA_STOP_FULL);
	assert_int_equal(decode_window(&code, &state.out[RA_OUT_HEAD], n, ri, INSNS), INSNS);
	expect(&ri[0], 0, INSN_LOAD, 3, args | HAS(ADDRESS) | HAS(LOAD));
	assert_int_equal(ri[0].value[OPERAND_ARG0], DATA);
	assert_int_equal(ri[0].value[OPERAND_ARG1], DATA + 64);
	assert_int_equal(ri[0].value[OPERAND_ARG2], 5);
	assert_int_equal(ri[0].value[OPERAND_ARG3], BIAS + CODE + 21);
	assert_int_equal(ri[0].value[OPERAND_ARG5], 0x109);
	assert_int_equal(ri[0].value[OPERAND_ADDRESS], DATA);
	assert_int_equal(ri[0].value[OPERAND_LOAD], DATA + 1);
	assert_int_equal(ri[1].site.addr, CODE + 3);
	assert_int_equal(ri[1].have, HAS(ADDRESS) | HAS(STORE));
	assert_int_equal(ri[1].value[OPERAND_ADDRESS], DATA + 64);
	assert_int_equal(ri[1].value[OPERAND_STORE], DATA + 1);
	assert_int_equal(ri[2].have, HAS(RESULT) | HAS(RESULT2));
	assert_int_equal(ri[2].value[OPERAND_RESULT], 5 * (DATA + 1));
	assert_int_equal(ri[2].value[OPERAND_RESULT2], 0);
	expect(&ri[3], 9, INSN_OTHER, 3, 0);
	expect(&ri[4], 12, INSN_BRANCH, 2, 0);
	assert_true(ri[4].taken);
	expect(&ri[5], 16, INSN_BRANCH, 2, 0);
	assert_false(ri[5].taken);
	assert_int_equal(ri[6].site.addr, CODE + 18);
	assert_true(ri[6].have & HAS(TARGET));
	assert_int_equal(ri[6].value[OPERAND_TARGET], BIAS + CODE + 21);
	assert_int_equal(ri[7].site.addr, CODE + 21);
	assert_true(ri[7].have & HAS(RETURN));
	assert_int_equal(ri[7].value[OPERAND_RETURN], 5 * (DATA + 1));
}

/* What the window does not know is absent, and nothing else moves into its place. */
static void test_unknown_is_absent(void **unused)
{
	const uint32_t all = (1u << UR_BIAS) - 1;
	struct retired ri[INSNS];
	uint32_t n, k;

	(void)unused;
	n = run(all & ~(1u << UR_RDI | 1u << UR_R8));
	k = decode_window(&code, &state.out[RA_OUT_HEAD], n, ri, INSNS);
	assert_true(k >= 3);
	assert_int_equal(ri[0].have,
			 HAS(ARG1) | HAS(ARG2) | HAS(ARG3) | HAS(ARG5)); /* address, load too */
	assert_int_equal(ri[0].value[OPERAND_ARG1], DATA + 64);
	assert_int_equal(ri[0].value[OPERAND_ARG5], 0x109);
	assert_int_equal(ri[1].have, HAS(ADDRESS)); /* the value stored is that load's */
	assert_int_equal(ri[1].value[OPERAND_ADDRESS], DATA + 64);
	assert_int_equal(ri[2].have, 0);
}

/* A head word of the instruction at an address, with values. */
static uint64_t head_of(unsigned at, uint64_t bits)
{
	for (uint32_t i = 1; i < code.nuop; i++) {
		struct code_site site;

		if (code_site(&code, i, &site) && site.len && site.addr == CODE + at &&
		    (code.uop[i].flags & UF_RETIRE))
			return i | bits;
	}
	fail_msg("nothing lifted at %u", at);
	return 0;
}

/* One after another are the same as each by itself, in whatever order. */
static void test_sites_in_turn(void **unused)
{
	struct code_cursor at = { 0 };
	struct code_site one, next;
	uint64_t x = 5;

	(void)unused;
	(void)run((1u << UR_BIAS) - 1);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t at_uop = i < 2 * code.nuop ? i / 2 : (uint32_t)(x >> 33) % (code.nuop + 2);
		bool known = code_site(&code, at_uop, &one);

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		assert_int_equal(code_site_next(&code, at_uop, &at, &next), known);
		if (!known)
			continue;
		assert_int_equal(next.addr, one.addr);
		assert_int_equal(next.image, one.image);
		assert_int_equal(next.len, one.len);
		assert_int_equal(next.cls, one.cls);
		assert_int_equal(next.access, one.access);
	}
}

static void test_control(void **unused)
{
	const uint64_t out[] = {
		head_of(16, RA_TAKEN), head_of(18, RA_HAS_A), 0x1234, head_of(21, RA_HAS_A), 77,
		head_of(16, 0)
	};
	struct retired ri[INSNS];

	(void)unused;
	assert_int_equal(decode_window(&code, out, 6, ri, INSNS), 4);
	expect(&ri[0], 16, INSN_BRANCH, 2, 0);
	assert_true(ri[0].taken);
	expect(&ri[1], 18, INSN_ICALL, 2, HAS(TARGET));
	assert_int_equal(ri[1].value[OPERAND_TARGET], 0x1234);
	expect(&ri[2], 21, INSN_RET, 1, HAS(RETURN));
	assert_int_equal(ri[2].value[OPERAND_RETURN], 77);
	expect(&ri[3], 16, INSN_BRANCH, 2, 0);
	assert_false(ri[3].taken);
	/* no more than there is room for */
	assert_int_equal(decode_window(&code, out, 6, ri, 2), 2);
}

/* What is cut off anywhere gives the instructions before. */
static void test_cut(void **unused)
{
	struct retired whole[INSNS], ri[INSNS];
	uint32_t n = run((1u << UR_BIAS) - 1), all, last = 0;

	(void)unused;
	all = decode_window(&code, &state.out[RA_OUT_HEAD], n, whole, INSNS);
	for (uint32_t cut = 0; cut <= n; cut++) {
		uint64_t *out = malloc((cut + 1) * sizeof(*out)); /* of that size: for ASan */
		uint32_t k;

		memcpy(out, &state.out[RA_OUT_HEAD], cut * sizeof(*out));
		k = decode_window(&code, out, cut, ri, INSNS);
		assert_true(k >= last && k <= all);
		for (uint32_t i = 0; i < k; i++)
			assert_int_equal(ri[i].site.addr, whole[i].site.addr);
		last = k;
		free(out);
	}
	assert_int_equal(last, all);
}

static void test_words_that_name_nothing(void **unused)
{
	uint64_t out[] = { head_of(20, 0), 0, head_of(20, 0) };
	struct retired ri[INSNS];
	uint64_t x = 9;

	(void)unused;
	assert_int_equal(decode_window(&code, out, 3, ri, INSNS), 1);
	out[1] = code.nuop;
	assert_int_equal(decode_window(&code, out, 3, ri, INSNS), 1);
	out[1] = UINT32_MAX;
	assert_int_equal(decode_window(&code, out, 3, ri, INSNS), 1);
	for (int round = 0; round < 20000; round++) {
		uint64_t *any = malloc(32 * sizeof(*any));
		uint32_t k;

		for (int i = 0; i < 32; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			any[i] = x >> 16 << 32 | x % code.nuop;
		}
		k = decode_window(&code, any, 32, ri, INSNS);
		assert_true(k <= INSNS);
		for (uint32_t i = 0; i < k; i++)
			assert_in_range(ri[i].site.addr, CODE, CODE + sizeof(bytes) - 1);
		free(any);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_recorded),
		cmocka_unit_test(test_unknown_is_absent),
		cmocka_unit_test(test_sites_in_turn),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_words_that_name_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
