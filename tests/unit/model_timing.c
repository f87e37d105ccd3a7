/* SPDX-License-Identifier: MIT */
/* The core model on sequences whose cycles are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/timing.h"

#define CORE \
	"width=4,window=64,alus=4,vectors=2,loads=2,stores=1,buffer=8,fills=4,streams=0,l1lat=5," \
	"l2lat=14," \
	"l3lat=50,memlat=200,memgap=0,tlblat=7,walklat=30,refill=14"
#define ROUNDS 1000u

static struct machine machine;
static struct timing *timing;
static uint64_t part[TIMING_PART_N];

static void begin(const char *text)
{
	struct err err;

	machine_this(&machine);
	assert_int_equal(machine_parse(&machine, CORE, &err), 0);
	assert_int_equal(machine_parse(&machine, text, &err), 0);
	memset(part, 0, sizeof(part));
	timing = timing_new(&machine);
	assert_non_null(timing);
}

/* All parts add up to the time of the last retirement. */
static void end(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TIMING_PART_N; i++)
		sum += part[i];
	assert_int_equal(sum, timing_now(timing));
	timing_free(timing);
}

static double cycles(void)
{
	return (double)timing_now(timing) / TIMING_TICKS;
}

static double share(enum timing_part p)
{
	return (double)part[p] / (double)timing_now(timing);
}

/* About `cycles` for each of the rounds; what the pipeline takes to fill is allowed for. */
#define assert_each(each) \
	assert_true(cycles() > (each)*ROUNDS * 0.98 && cycles() < (each)*ROUNDS * 1.02 + 250)

static void prepare(struct timing_insn *t, const char *bytes, size_t n)
{
	struct insn in;

	assert_int_equal(insn_decode(&in, (const uint8_t *)bytes, n, 0x401000), (int)n);
	timing_prepare(t, &in, NULL, &machine);
}
#define PREPARE(t, bytes) prepare(t, bytes, sizeof(bytes) - 1)

/* A chain of k cycles a link takes k cycles a link, whatever the width. */
static void test_chain(void **unused)
{
	struct timing_insn add, multiply, divide, fp;

	(void)unused;
	begin("");
	PREPARE(&add, "\x48\x01\xc0");		/* add rax, rax */
	PREPARE(&multiply, "\x48\x0f\xaf\xc0"); /* imul rax, rax */
	PREPARE(&divide, "\xf7\xf1");		/* div ecx */
	PREPARE(&fp, "\xf2\x0f\x58\xc0");	/* addsd xmm0, xmm0 */
	for (unsigned i = 0; i < ROUNDS; i++)
		timing_retire(timing, &add, part);
	assert_each(1.0);
	end();
	begin("");
	for (unsigned i = 0; i < ROUNDS; i++)
		timing_retire(timing, &multiply, part);
	assert_each(3.0);
	/* of the three cycles a quarter is dispatch, four instructions wide */
	assert_float_equal(share(TIMING_EXECUTE), 2.75 / 3, 0.003);
	end();
	begin("");
	for (unsigned i = 0; i < ROUNDS; i++)
		timing_retire(timing, &divide, part);
	assert_each(12.0);
	end();
	begin("");
	for (unsigned i = 0; i < ROUNDS; i++)
		timing_retire(timing, &fp, part);
	assert_each(4.0);
	end();
}

/* Independent instructions are limited by the width, or by their unit. */
static void test_independent(void **unused)
{
	struct timing_insn set, multiply, zero;

	(void)unused;
	begin("");
	PREPARE(&set, "\xb8\x01\x00\x00\x00"); /* mov eax, 1 */
	PREPARE(&multiply, "\x6b\xc1\x05");    /* imul eax, ecx, 5 */
	PREPARE(&zero, "\x31\xc0");	       /* xor eax, eax */
	for (unsigned i = 0; i < ROUNDS; i++)
		timing_retire(timing, &set, part);
	assert_each(0.25);
	assert_true(share(TIMING_BASE) > 0.95);
	end();
	begin("width=2");
	for (unsigned i = 0; i < ROUNDS; i++)
		timing_retire(timing, &zero, part);
	assert_each(0.5);
	end();
	begin("");
	for (unsigned i = 0; i < ROUNDS; i++)
		timing_retire(timing, &multiply, part);
	assert_each(1.0);
	assert_float_equal(share(TIMING_UNIT), 0.75, 0.005);
	end();
	begin("alus=2");
	PREPARE(&set, "\x8d\x41\x01"); /* lea eax, [rcx + 1] */
	for (unsigned i = 0; i < ROUNDS; i++)
		timing_retire(timing, &set, part);
	assert_each(0.5);
	end();
}

static void chase(const char *text, unsigned level, unsigned tlb, double each,
		  enum timing_part main)
{
	struct timing_insn next;

	begin(text);
	PREPARE(&next, "\x48\x8b\x00"); /* mov rax, [rax] */
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_load(timing, i * 4096ull, 8, level, tlb);
		timing_retire(timing, &next, part);
	}
	assert_each(each);
	/* what is beyond a hit's five cycles; or these, but for a quarter to dispatch */
	assert_float_equal(share(main), (each - (level || tlb ? 5 : 0.25)) / each, 0.003);
	end();
}

/* Each load of a pointer chase takes what its level takes. */
static void test_chase(void **unused)
{
	(void)unused;
	chase("", TIMING_IN_L1, TIMING_FIRST_TLB, 5, TIMING_EXECUTE);
	chase("", TIMING_IN_L2, TIMING_FIRST_TLB, 14, TIMING_L2);
	chase("", TIMING_IN_L3, TIMING_FIRST_TLB, 50, TIMING_L3);
	chase("", TIMING_IN_MEMORY, TIMING_FIRST_TLB, 200, TIMING_MEMORY);
	chase("", TIMING_IN_L1, TIMING_SECOND_TLB, 5 + 7, TIMING_DTLB);
	chase("", TIMING_IN_L1, TIMING_WALK, 5 + 7 + 30, TIMING_DTLB);
	chase("l2lat=17", TIMING_IN_L2, TIMING_FIRST_TLB, 17, TIMING_L2);
}

static double parallel(const char *text)
{
	struct timing_insn load;
	double result;

	begin(text);
	PREPARE(&load, "\x8b\x01"); /* mov eax, [rcx] */
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_load(timing, i * 8192ull, 4, TIMING_IN_MEMORY, TIMING_FIRST_TLB);
		timing_retire(timing, &load, part);
	}
	result = cycles() / ROUNDS;
	end();
	return result;
}

/* Independent misses overlap: as many as lines may be missing, or as fit into the window; memory delivers so fast. */
static void test_overlap(void **unused)
{
	(void)unused;
	assert_float_equal(parallel(""), 200 / 4.0, 2);
	assert_float_equal(parallel("fills=16"), 200 / 16.0, 1);
	assert_float_equal(parallel("fills=1"), 200, 2);
	assert_float_equal(parallel("fills=256,window=32"), 200 / 32.0, 0.5);
	assert_float_equal(parallel("fills=256,memgap=20"), 20, 0.5);
}

/* One miss to memory in 400 cheap instructions: a window that has them all hides it, a small one waits for it. */
static void test_window(void **unused)
{
	static const char *const text[] = { "window=64", "window=1024" };
	double took[2];

	(void)unused;
	for (unsigned k = 0; k < 2; k++) {
		struct timing_insn load, set;

		begin(text[k]);
		PREPARE(&load, "\x8b\x01");
		PREPARE(&set, "\xba\x01\x00\x00\x00"); /* mov edx, 1 */
		for (unsigned i = 0; i < ROUNDS; i++) {
			timing_load(timing, i * 8192ull, 4, TIMING_IN_MEMORY, TIMING_FIRST_TLB);
			timing_retire(timing, &load, part);
			for (unsigned j = 1; j < 400; j++)
				timing_retire(timing, &set, part);
		}
		took[k] = cycles() / ROUNDS;
		end();
	}
	/* the window fills with 63 others, in 16 cycles, while the load takes 200 */
	assert_float_equal(took[0], 100 + 200 - 64 / 4.0, 2);
	assert_float_equal(took[1], 100, 2);
}

/* A mispredicted branch costs its resolution and the refill; one that is predicted costs a slot. */
static void test_branches(void **unused)
{
	struct timing_insn compare, branch, fused;
	struct insn in[2];

	(void)unused;
	for (int wrong = 0; wrong < 2; wrong++) {
		begin("");
		PREPARE(&compare, "\x48\x39\xc8"); /* cmp rax, rcx */
		PREPARE(&branch, "\x75\xfb");	   /* jne */
		for (unsigned i = 0; i < ROUNDS; i++) {
			timing_retire(timing, &compare, part);
			timing_branch(timing, false, wrong);
			timing_retire(timing, &branch, part);
		}
		/* the compare takes one cycle, the branch another */
		if (wrong)
			assert_float_equal(cycles() / ROUNDS, 1 + 1 + 14, 0.3);
		else
			assert_each(0.5);
		assert_float_equal(share(TIMING_MISPREDICT), wrong ? 14 / 16. : 0, 0.02);
		end();
	}
	/* compare and branch are one micro-op; of those that jump there is one in a cycle */
	begin("");
	assert_int_equal(insn_decode(&in[0], (const uint8_t *)"\x48\x39\xc8", 3, 0x401000), 3);
	assert_int_equal(insn_decode(&in[1], (const uint8_t *)"\x75\xfb", 2, 0x401003), 2);
	timing_prepare(&compare, &in[0], NULL, &machine);
	timing_prepare(&fused, &in[1], &in[0], &machine);
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_retire(timing, &compare, part);
		timing_branch(timing, false, false);
		timing_retire(timing, &fused, part);
	}
	assert_each(0.25);
	end();
	begin("");
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_retire(timing, &compare, part);
		timing_branch(timing, true, false);
		timing_retire(timing, &fused, part);
	}
	assert_each(1.0);
	end();
}

/* Stores do not wait for their lines until the buffer is full. */
static void test_stores(void **unused)
{
	struct timing_insn store, set;

	(void)unused;
	begin("");
	PREPARE(&store, "\x89\x01"); /* mov [rcx], eax */
	PREPARE(&set, "\xba\x01\x00\x00\x00");
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_store(timing, i * 8192ull, 4, TIMING_IN_L1, TIMING_FIRST_TLB);
		timing_retire(timing, &store, part);
	}
	assert_each(1.0);
	end();
	begin("buffer=64,fills=4");
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_store(timing, i * 8192ull, 4, TIMING_IN_MEMORY, TIMING_FIRST_TLB);
		timing_retire(timing, &store, part);
	}
	/* the last 64 are still in the buffer */
	assert_float_equal(cycles() / (ROUNDS - 64), 50, 1);
	assert_true(share(TIMING_STORES) > 0.97);
	end();
	begin("buffer=64,fills=4");
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_store(timing, i * 8192ull, 4, TIMING_IN_MEMORY, TIMING_FIRST_TLB);
		timing_retire(timing, &store, part);
		for (unsigned j = 1; j < 400; j++)
			timing_retire(timing, &set, part);
	}
	assert_each(100.0);
	end();
}

/* A word that is stored and loaded, again and again: the data comes from the store. */
static void test_forward(void **unused)
{
	struct timing_insn count;

	(void)unused;
	begin("");
	PREPARE(&count, "\xff\x01"); /* inc dword [rcx] */
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_load(timing, 0x1000, 4, TIMING_IN_L1, TIMING_FIRST_TLB);
		timing_store(timing, 0x1000, 4, TIMING_IN_L1, TIMING_FIRST_TLB);
		timing_retire(timing, &count, part);
	}
	/* the load, the increment, the store's data */
	assert_each(5.0 + 1 + 1);
	end();
}

/* Lines that follow each other are prefetched: memory's throughput is what they take. */
static void test_stream(void **unused)
{
	struct timing_insn next;
	int step;

	(void)unused;
	for (step = -1; step <= 1; step += 2) {
		begin("streams=8,memgap=10");
		PREPARE(&next, "\x48\x8b\x00");
		for (unsigned i = 0; i < ROUNDS; i++) {
			timing_load(timing, 0x100000 + (uint64_t)(int64_t)(step * (int)i * 64), 8,
				    TIMING_IN_MEMORY, TIMING_FIRST_TLB);
			timing_retire(timing, &next, part);
		}
		assert_each(14.0); /* as from the second level, which the chain waits for */
		end();
	}
	begin("streams=8,memgap=30");
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_load(timing, 0x100000 + i * 64, 8, TIMING_IN_MEMORY, TIMING_FIRST_TLB);
		timing_retire(timing, &next, part);
	}
	assert_each(30.0);
	end();
}

/* A hit in a line that is on its way waits for it. */
static void test_on_its_way(void **unused)
{
	struct timing_insn load, use;

	(void)unused;
	begin("");
	PREPARE(&load, "\x8b\x01");	   /* mov eax, [rcx] */
	PREPARE(&use, "\x48\x03\x59\x08"); /* add rbx, [rcx + 8] */
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_load(timing, i * 8192ull, 4, TIMING_IN_MEMORY, TIMING_FIRST_TLB);
		timing_retire(timing, &load, part);
		timing_load(timing, i * 8192ull + 8, 8, TIMING_IN_L1, TIMING_FIRST_TLB);
		timing_retire(timing, &use, part);
	}
	assert_each(50.0);
	assert_float_equal(share(TIMING_MEMORY), 0.99, 0.003);
	end();
}

/* Code that comes from the second level: what is behind an empty queue waits for it. */
static void test_code(void **unused)
{
	struct timing_insn set;

	(void)unused;
	begin("");
	PREPARE(&set, "\xb8\x01\x00\x00\x00");
	for (unsigned i = 0; i < ROUNDS; i++) {
		timing_fetch(timing, TIMING_IN_L2, i % 2 ? TIMING_FIRST_TLB : TIMING_WALK);
		for (unsigned j = 0; j < 16; j++)
			timing_retire(timing, &set, part);
	}
	assert_float_equal(cycles() / ROUNDS, 4 + 14 + 37 / 2.0, 0.5);
	/* two rounds take 73 cycles; where both wait, the longer wait has the time of both */
	assert_float_equal(share(TIMING_ICACHE), 14 / 73., 0.003);
	assert_float_equal(share(TIMING_ITLB), (14 + 37) / 73., 0.003);
	end();
}

/* The machine's text has the core's parameters, and reads back. */
static void test_text(void **unused)
{
	struct machine a, b;
	struct err err;
	char text[MACHINE_TEXT], again[MACHINE_TEXT];

	(void)unused;
	machine_this(&a);
	assert_int_equal(machine_parse(&a, "width=5,window=333,memlat=199", &err), 0);
	machine_text_core(&a, text, sizeof(text));
	assert_non_null(strstr(text, ",width=5,window=333,"));
	memset(&b, 0, sizeof(b));
	assert_int_equal(machine_parse(&b, text, &err), 0);
	assert_string_equal(machine_text_core(&b, again, sizeof(again)), text);
	assert_null(strstr(machine_text(&a, text, sizeof(text)), "window"));
	assert_int_equal(machine_parse(&a, "width=0", &err), -1);
	assert_int_equal(machine_parse(&a, "width=11", &err), -1);
	assert_int_equal(machine_parse(&a, "windows=8", &err), -1);
	assert_int_equal(machine_parse(&a, "memlat=1000000", &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),  cmocka_unit_test(test_independent),
		cmocka_unit_test(test_chase),  cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_window), cmocka_unit_test(test_branches),
		cmocka_unit_test(test_stores), cmocka_unit_test(test_forward),
		cmocka_unit_test(test_stream), cmocka_unit_test(test_on_its_way),
		cmocka_unit_test(test_code),   cmocka_unit_test(test_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
