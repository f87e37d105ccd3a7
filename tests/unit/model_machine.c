/* SPDX-License-Identifier: MIT */
/* Simulated caches, TLBs and predictors on patterns whose misses are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/core.h"

static struct machine machine;
static struct cache l3;
static struct core core;
static uint64_t n[CORE_MISS_N];

static int begin(const char *text)
{
	struct err err;

	machine_this(&machine);
	if (machine_parse(&machine, text, &err))
		return -1;
	memset(n, 0, sizeof(n));
	return core_last_level(&l3, &machine) || core_init(&core, &machine, &l3);
}

static void end(void)
{
	core_fini(&core);
	cache_fini(&l3);
}

#define SMALL \
	"l1d=4K/4,l1i=4K/4,l2=32K/8,l3=256K/16,line=64,page=4K,dtlb=8/8,itlb=8/4,dtlb2=32/" \
	"4,itlb2=0,"

/* 16 KiB in steps of 8 bytes, again and again: a miss a line in the first level, each time; in the others once. */
static void test_stride(void **unused)
{
	(void)unused;
	for (int plru = 0; plru < 2; plru++) {
		assert_int_equal(begin(plru ? SMALL "policy=plru" : SMALL "policy=lru"), 0);
		for (int round = 0; round < 10; round++)
			for (uint64_t at = 0; at < 16384; at += 8)
				core_data(&core, 0x10000 + at, 8, n);
		if (!plru)
			assert_int_equal(n[CORE_L1], 2560);
		assert_in_range(n[CORE_L1], 1000, 2560);
		assert_int_equal(n[CORE_L2], 256);
		assert_int_equal(n[CORE_L3], 256);
		assert_int_equal(n[CORE_TLB], 4);
		assert_int_equal(n[CORE_WALK], 4);
		end();
	}
}

/* A chain through 16 pages that does not fit into the first TLB, and lies in one set of the first cache. */
static void test_chase(void **unused)
{
	unsigned at = 0;

	(void)unused;
	assert_int_equal(begin(SMALL), 0);
	for (unsigned i = 0; i < 1600; i++) {
		core_data(&core, 0x100000 + at * 4096ull, 8, n);
		at = (at + 7) % 16;
	}
	/* LRU never hits in a TLB of 8 pages, or a set of 4 lines */
	assert_int_equal(n[CORE_TLB], 1600);
	assert_int_equal(n[CORE_L1], 1600);
	assert_int_equal(n[CORE_WALK], 16);
	assert_int_equal(n[CORE_L3], 16);
	end();
}

/* An access has as many misses as it has lines and pages. */
static void test_spans(void **unused)
{
	(void)unused;
	assert_int_equal(begin(SMALL), 0);
	core_data(&core, 0x20ffc, 8, n);
	assert_int_equal(n[CORE_L1], 2);
	assert_int_equal(n[CORE_TLB], 2);
	core_data(&core, 0x30000, 8192, n);
	assert_int_equal(n[CORE_L1], 2 + 128);
	assert_int_equal(n[CORE_TLB], 4);
	for (int i = 0; i < 4; i++)
		core_fetch(&core, 0x400000 + 16 * (uint64_t)i, n);
	assert_int_equal(n[CORE_L1], 2 + 128 + 1);
	end();
}

static unsigned wrong(unsigned (*outcome)(unsigned i), unsigned from, unsigned to)
{
	struct branch_predictor *b = branch_new();
	unsigned count = 0;

	assert_non_null(b);
	for (unsigned i = 0; i < to; i++) {
		bool missed = branch_conditional(b, 0x401000, outcome(i));

		count += i >= from && missed;
	}
	branch_free(b);
	return count;
}

static unsigned always(unsigned i)
{
	(void)i;
	return 1;
}

static unsigned alternates(unsigned i)
{
	return i & 1;
}

static unsigned loop_of_7(unsigned i)
{
	return i % 7 != 6;
}

static unsigned loop_of_30(unsigned i)
{
	return i % 30 != 29;
}

static unsigned noise(unsigned i)
{
	uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
	return h >> 40 & 1;
}

static void test_directions(void **unused)
{
	(void)unused;
	assert_true(wrong(always, 0, 10000) <= 2);
	assert_true(wrong(alternates, 100, 10000) <= 10);
	assert_true(wrong(loop_of_7, 500, 10000) <= 20);
	assert_true(wrong(loop_of_30, 3000, 30000) <= 90); /* a tenth of its 900 ends */
	assert_in_range(wrong(noise, 0, 20000), 9000, 11000);
}

/* Two branches, the second one as the first: history has it, each alone is noise. */
static void test_correlation(void **unused)
{
	struct branch_predictor *b = branch_new();
	unsigned first = 0, second = 0;

	(void)unused;
	assert_non_null(b);
	for (unsigned i = 0; i < 20000; i++) {
		bool taken = noise(i);

		first += branch_conditional(b, 0x401000, taken);
		second += branch_conditional(b, 0x401080, taken);
	}
	assert_true(first > 9000);
	assert_true(second < 1000);
	branch_free(b);
}

/* The number of predictions that were wrong, and of those, and all, of which the predictor was sure. */
struct sureness {
	unsigned all, wrong, sure, sure_wrong;
};

/* Shows so many branches in turn, in windows of 40 outcomes of one, each after 16 of others; a window's first 16 do not count. */
static struct sureness in_windows(unsigned (*outcome)(unsigned i), unsigned branches,
				  unsigned windows)
{
	struct branch_predictor *b = branch_new();
	struct sureness seen = { 0 };

	assert_non_null(b);
	for (unsigned w = 0; w < windows; w++) {
		for (unsigned i = 0; i < 16; i++)
			branch_conditional(b, 0x402000 + 64 * i, noise(16 * w + i));
		for (unsigned i = 0; i < 40; i++) {
			bool missed = branch_conditional(b, 0x403000 + 64 * (w % branches),
							 outcome(w * 997 + i));

			if (i < 16)
				continue;
			seen.all++;
			seen.wrong += missed;
			seen.sure += branch_sure(b);
			seen.sure_wrong += missed && branch_sure(b);
		}
	}
	branch_free(b);
	return seen;
}

/* What a predictor of all outcomes makes of a loop, one that sees a few says where it is sure; of noise both are wrong half of
 * the time. */
static void test_sure(void **unused)
{
	struct branch_predictor *b = branch_new();
	struct sureness loop = in_windows(loop_of_7, 50, 100), coin = in_windows(noise, 1, 500);

	(void)unused;
	assert_non_null(b);
	branch_conditional(b, 0x401000, true);
	assert_false(branch_sure(b));
	branch_conditional(b, 0x401000, true); /* it always went there */
	assert_true(branch_sure(b));
	branch_indirect(b, 0x402000, 0x500000);
	assert_false(branch_sure(b));
	for (int i = 0; i < 5; i++)
		branch_indirect(b, 0x402000, 0x500000);
	assert_true(branch_sure(b));
	branch_free(b);
	assert_true(loop.wrong > loop.all / 100 && loop.sure > loop.all / 2);
	assert_true(loop.sure_wrong * loop.all < loop.wrong * loop.sure / 3);
	assert_in_range(coin.wrong, coin.all * 2 / 5, coin.all * 3 / 5);
	assert_true(coin.sure > 1000);
	assert_in_range(coin.sure_wrong, coin.sure * 2 / 5, coin.sure * 3 / 5);
}

/* The simple predictor learns a loop of 7 by its history, and not one of 30, which is longer than the history that an index
 * has room for. */
static void test_simple(void **unused)
{
	struct branch_predictor *b = branch_new_simple();
	unsigned loop = 0, longer = 0, fixed = 0, cycle = 0;

	(void)unused;
	assert_non_null(b);
	for (unsigned i = 0; i < 10000; i++)
		loop += branch_conditional(b, 0x401000, loop_of_7(i));
	for (unsigned i = 0; i < 3000; i++)
		longer += branch_conditional(b, 0x401000, loop_of_30(i));
	for (unsigned i = 0; i < 1000; i++) {
		fixed += branch_indirect(b, 0x402000, 0x500000);
		cycle += branch_indirect(b, 0x402100, 0x500000 + i % 4 * 64);
	}
	assert_true(loop <= 100);
	assert_in_range(longer, 100, 150);
	assert_int_equal(fixed, 1);
	assert_int_equal(cycle, 1000); /* the last target is never the next one */
	branch_free(b);
}

static void test_targets(void **unused)
{
	struct branch_predictor *b = branch_new();
	unsigned fixed = 0, cycle = 0, returns = 0;

	(void)unused;
	assert_non_null(b);
	for (unsigned i = 0; i < 1000; i++) {
		fixed += branch_indirect(b, 0x402000, 0x500000);
		cycle += branch_indirect(b, 0x402100, 0x500000 + i % 4 * 64);
		for (unsigned k = 0; k < 20; k++)
			branch_call(b, 0x403000 + k);
		for (unsigned k = 20; k-- > 0;)
			returns += branch_return(b, 0x403000 + k);
	}
	assert_true(fixed <= 2);
	assert_true(cycle <= 50);
	assert_int_equal(returns, 0);
	/* deeper than the stack: what went over is lost */
	for (unsigned k = 0; k < 40; k++)
		branch_call(b, 0x404000 + k);
	for (unsigned k = 40; k-- > 0;)
		returns += branch_return(b, 0x404000 + k);
	assert_int_equal(returns, 8);
	branch_free(b);
}

static void test_text(void **unused)
{
	static const char *const bad[] = { "l1d",
					   "l1d=x",
					   "l4=1K/2",
					   "l1d=1000/8",
					   "line=63",
					   "page=64",
					   "policy=big",
					   "predictor=tag",
					   "l1d=32K/0",
					   "l2=8K/128,policy=plru",
					   "l1d=99999999999999G/1" };
	char text[MACHINE_TEXT], again[MACHINE_TEXT];
	struct machine m, other;
	struct err err;

	(void)unused;
	machine_this(&m);
	machine_text(&m, text, sizeof(text));
	memset(&other, 0, sizeof(other));
	assert_int_equal(machine_parse(&other, text, &err), 0);
	assert_string_equal(machine_text(&other, again, sizeof(again)), text);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		machine_this(&m);
		if (!machine_parse(&m, bad[i], &err))
			fail_msg("%s passes", bad[i]);
		assert_int_equal(err.code, ERR_USAGE);
	}
	assert_int_equal(begin("l3=0,l2=0"), 0);
	core_data(&core, 0, 8, n);
	core_data(&core, 0, 8, n);
	assert_int_equal(n[CORE_L3], 1);
	end();
	/* without TLBs no translation is missed */
	assert_int_equal(begin("dtlb=0,itlb=0,predictor=gshare"), 0);
	for (uint64_t at = 0; at < 1u << 30; at += 4096) {
		core_data(&core, at, 8, n);
		core_fetch(&core, at, n);
	}
	assert_int_equal(n[CORE_TLB] + n[CORE_WALK], 0);
	end();
}

/* What the models count on a stream of accesses, fetches and branches: a change that makes them faster changes none of it.
 * The numbers of caches are those of the first version, which searched each set from its beginning and moved it by memmove;
 * those of branches are of the predictor since its tables are for branches that have gone both ways. */
static uint64_t drawn = 88172645463325252ull;

static uint64_t draw(void)
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return drawn;
}

/* Near the one before, mostly; sometimes far, sometimes across lines and pages. */
static uint64_t walk(uint64_t at)
{
	uint64_t v = draw();

	return v % 16 ? at + v % 96 : 0x100000 + (v >> 8) % (1u << 22);
}

static void stream(const char *text, uint64_t *data, uint64_t *code, uint64_t *wrong)
{
	uint64_t at = 0x100000, pc = 0x400000;

	assert_int_equal(begin(text), 0);
	drawn = 88172645463325252ull;
	for (unsigned i = 0; i < 300000; i++) {
		uint64_t v = draw();

		at = walk(at);
		core_data(&core, at, v % 64 ? 1u << (v >> 8) % 7 : 300, data);
		pc = v % 8 ? pc + 16 : 0x400000 + (v >> 16) % (1u << 19);
		core_fetch(&core, pc, code);
		*wrong += branch_conditional(core.branch, pc & ~0xffull,
					     (i % 7 == 0) ^ (v >> 60 == 3));
		if (i % 5 == 0)
			*wrong += branch_indirect(core.branch, pc & ~0xfffull,
						  0x400000 + (v >> 40) % 3);
		if (i % 11 == 0)
			branch_call(core.branch, pc + 5);
		if (i % 11 == 6)
			*wrong += branch_return(core.branch, v >> 61 ? pc + 5 : pc);
	}
	end();
}

static void test_unchanged(void **unused)
{
	static const struct {
		const char *text;
		uint64_t data[CORE_MISS_N], code[CORE_MISS_N], wrong;
	} known[] = {
		{ SMALL "policy=lru",
		  { 229472, 227858, 215494, 21955, 21454 },
		  { 102326, 100627, 83859, 35898, 35898 },
		  131032 },
		{ SMALL "policy=plru",
		  { 229455, 227878, 215544, 21955, 21454 },
		  { 102301, 100602, 83945, 35898, 35898 },
		  131032 },
		{ "l1d=48K/12,l1i=32K/8,l2=512K/8,l3=3M/12,line=64,page=4K,dtlb=64/4,itlb=64/"
		  "8,dtlb2=1536/12,itlb2=1K/8,policy=lru",
		  { 226876, 201701, 82272, 20784, 1025 },
		  { 96600, 66881, 7066, 19131, 129 },
		  131032 },
		{ "l1d=3K/3,l1i=0,l2=0,l3=96K/6,line=32,page=4K,dtlb=8/8,itlb=8/"
		  "8,dtlb2=0,itlb2=0,policy=lru",
		  { 356932, 356932, 348695, 21955, 21955 },
		  { 168725, 168725, 156107, 35948, 35948 },
		  131032 },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint64_t data[CORE_MISS_N] = { 0 }, code[CORE_MISS_N] = { 0 }, wrong = 0;

		stream(known[i].text, data, code, &wrong);
		assert_memory_equal(data, known[i].data, sizeof(data));
		assert_memory_equal(code, known[i].code, sizeof(code));
		assert_int_equal(wrong, known[i].wrong);
	}
}

/* Whether a set is searched way by way, by vectors or by hints makes no difference. */
static void same_ways(uint32_t sets, uint32_t ways, uint64_t lines)
{
	struct cache fast, plain;

	assert_int_equal(cache_init(&fast, (struct cache_geometry){ sets, ways }, CACHE_LRU), 0);
	assert_int_equal(cache_init(&plain, fast.g, CACHE_LRU), 0);
	plain.vectors = plain.wide = false;
	drawn = 88172645463325252ull;
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t v = draw(), line = v % 4 ? (v >> 8) % (lines / 2) : (v >> 8) % lines;

		assert_int_equal(cache_touch(&fast, line * 511), cache_touch(&plain, line * 511));
	}
	cache_fini(&fast);
	cache_fini(&plain);
}

static void test_same_ways(void **unused)
{
	(void)unused;
	same_ways(1, 1, 4);
	same_ways(4, 3, 24);
	same_ways(64, 8, 1000);
	same_ways(5, 12, 100);
	same_ways(2, 16, 50);
	same_ways(1, 31, 50);
	same_ways(1, 32, 50);
	same_ways(1, 96, 200);
	same_ways(1, 1000, 1500); /* more ways than there are hints */
}

/* A branch that has gone one way alone is mispredicted once at most, whatever others do. */
static void test_one_way(void **unused)
{
	struct branch_predictor *b = branch_new();
	unsigned taken = 0, fell = 0, turned = 0;

	(void)unused;
	assert_non_null(b);
	for (unsigned i = 0; i < 20000; i++) {
		branch_conditional(b, 0x401000, noise(i));
		taken += branch_conditional(b, 0x401080, true);
		fell += branch_conditional(b, 0x401100, false);
		turned += branch_conditional(b, 0x401180, i < 10000);
	}
	assert_int_equal(taken, 1);
	assert_int_equal(fell, 0);
	assert_in_range(turned, 2, 100);
	branch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unchanged),  cmocka_unit_test(test_stride),
		cmocka_unit_test(test_chase),	   cmocka_unit_test(test_spans),
		cmocka_unit_test(test_directions), cmocka_unit_test(test_correlation),
		cmocka_unit_test(test_sure),	   cmocka_unit_test(test_targets),
		cmocka_unit_test(test_text),	   cmocka_unit_test(test_simple),
		cmocka_unit_test(test_same_ways),  cmocka_unit_test(test_one_way),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
