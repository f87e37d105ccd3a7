/* SPDX-License-Identifier: MIT */
/* Chains through memory from one execution of a block to the next, in loops of this program's own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfg/cfg.h"
#include "cfg/code.h"
#include "estimate/schedules.h"
#include "culprit/carried.h"
#include "image/image.h"

/* Each is a loop of one block, which begins with the load. */
#define LOOP(name, code) \
	".globl carried_" name "\n.type carried_" name ", @function\ncarried_" name ":\n1: " code \
	"\ndec %rcx\njnz 1b\nret\n.size carried_" name ", . - carried_" name "\n"
__asm__(".text\n" LOOP("sum", "movsd -16(%rsp), %xmm1\naddsd %xmm1, %xmm0\nmovsd %xmm0, -16(%rsp)")
		LOOP("both", "addsd -16(%rsp), %xmm0\nmulsd %xmm2, %xmm0\nmovsd %xmm0, -16(%rsp)")
			LOOP("other", "movsd -16(%rsp), %xmm1\nmovsd (%rdi), %xmm1\naddsd %xmm1, "
				      "%xmm0\nmovsd %xmm0, -16(%rsp)")
				LOOP("whole",
				     "mov -16(%rsp), %rax\nadd $1, %rax\nmov %rax, -16(%rsp)"));
__asm__(".text\n" LOOP("table", "mov -16(%rsp), %rax\nmov (%rdi,%rax,8), %rax\nmov %rax, -16(%rsp)")
		LOOP("element", "mov (%rdi,%rcx,8), %rax\nadd $1, %rax\nmov %rax, (%rdi,%rcx,8)")
			LOOP("divided", "divsd %xmm1, %xmm0")
				LOOP("kept", "divsd -16(%rsp), %xmm1\nmovsd %xmm1, "
					     "-16(%rsp)\nmovsd (%rdi), %xmm1")
					LOOP("quotient",
					     "divsd (%rdi), %xmm0\nmovsd %xmm0, (%rsi)\nmovsd "
					     "(%rdi), %xmm0\nmov %rcx, -16(%rsp)")
						LOOP("added", "movsd (%rdi,%rcx,8), %xmm0\ndivsd "
							      "%xmm2, %xmm0\naddsd %xmm0, %xmm1"));
extern const uint8_t carried_sum[], carried_both[], carried_other[], carried_whole[],
	carried_table[], carried_element[], carried_divided[], carried_kept[], carried_quotient[],
	carried_added[];
extern const uint8_t __ehdr_start[];

static struct image *own;
static struct crowd none;
static uint32_t
	waited; /* an instruction of the loop, and whether it waits for its last execution */
static bool waits;

static struct image *image(void *ctx, uint32_t number)
{
	(void)ctx;
	(void)number;
	return own;
}

static uint64_t at(const uint8_t *p)
{
	return (uint64_t)(p - __ehdr_start);
}

/* The cycles of a loop in which a share of the loads met the store, the k-th instruction. */
static double cycles(const uint8_t *loop, uint32_t k, double share)
{
	const struct estimate_source src = { .image = image };
	struct meeting met = { .load = { .addr = at(loop) }, .judged = 100 };
	struct culprits c = { .machine = *culprit_machine("AMD EPYC 9654"),
			      .meetings = { &met, 1 } };
	struct estimate_proc p = { 0 };
	struct estimate e = { .proc = &p, .nproc = 1 };
	struct schedules unscheduled = { 0 };
	struct cfg_code *code;
	struct err err = { 0 };
	double got = NAN;

	met.count[CONFLICT_FULL] = (uint64_t)(100 * share);
	own = image_open("/proc/self/exe", "self", &err);
	assert_non_null(own);
	code = cfg_code_new(own, &err);
	assert_non_null(code);
	assert_int_equal(cfg_build(&p.g, code, at(loop), NULL, &err), 0);
	p.site = calloc(p.g.ninsns + 1, sizeof(*p.site));
	p.block = calloc(p.g.nblocks + 1, sizeof(*p.block));
	unscheduled.of = calloc(p.g.nblocks + 1, sizeof(*unscheduled.of));
	assert_true(p.site && p.block && unscheduled.of);
	e.nblocks = p.g.nblocks;
	c.facts = (struct fact_source){ .machine = &c.machine,
					.schedules = &unscheduled,
					.scale = 1,
					.processes = 1,
					.data_lines = &none,
					.data_pages = &none,
					.code_lines = &none,
					.code_pages = &none,
					.targets = &none,
					.insns = &none };
	c.paths = paths_new(&e, &src, &c.facts);
	assert_non_null(c.paths);
	for (uint32_t b = CFG_FIRST_BLOCK; b < p.g.nblocks; b++) {
		if (p.g.block[b].start != at(loop))
			continue;
		met.store[CONFLICT_FULL].addr = p.g.insn[p.g.block[b].insn + k].addr;
		got = carried_cycles(&c, &p, b);
		waits = carried_to_itself(&c, &p, b, waited);
	}
	paths_free(c.paths);
	free(unscheduled.of);
	free(p.site);
	free(p.block);
	cfg_fini(&p.g);
	cfg_code_free(code);
	image_close(own);
	return got;
}

static void sums_wait_for_what_was_stored(void **state)
{
	const struct culprit_machine *m = culprit_machine("AMD EPYC 9654");

	(void)state;
	/* the load, and an addition; or one that loads itself, and a multiplication */
	assert_true(fabs(cycles(carried_sum, 2, 1) - (m->vector_load + 4)) < 1e-9);
	assert_true(fabs(cycles(carried_both, 2, 1) - (m->vector_load + 8)) < 1e-9);
	assert_true(fabs(cycles(carried_sum, 2, 0.25) - (m->vector_load + 4) / 4) < 1e-9);
	assert_true(cycles(carried_sum, 2, 0) == 0);
	/* what was loaded is overwritten before anything uses it */
	assert_true(cycles(carried_other, 3, 1) == 0);
	/* places that general registers use are renamed, which leaves the addition */
	assert_true(fabs(cycles(carried_whole, 2, 1) - 1) < 1e-9);
	/* a load whose address follows from what was stored */
	assert_true(fabs(cycles(carried_table, 2, 1) - (1 + m->load)) < 1e-9);
	/* elements of an array are not what the last execution stored */
	assert_true(cycles(carried_element, 2, 1) == 0);
}

/* Whether the loop's k-th instruction waits for its last execution. */
static void results_that_come_back(void **state)
{
	(void)state;
	waited = 0;
	cycles(carried_divided, 0, 0); /* an accumulator is divided */
	assert_true(waits);
	cycles(carried_kept, 0, 0); /* through a place of the frame */
	assert_true(waits);
	cycles(carried_quotient, 0, 0); /* what is loaded is divided, and stored elsewhere */
	assert_false(waits);
	waited = 1;
	cycles(carried_added, 0, 0); /* what is loaded is divided, and added up */
	assert_false(waits);
}

static void chains_lead_to_the_store_that_was_met(void **state)
{
	(void)state;
	/* what was met is no store of this block's, or one before the load */
	assert_true(cycles(carried_sum, 0, 1) == 0);
	assert_true(cycles(carried_sum, 5, 1) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_wait_for_what_was_stored),
		cmocka_unit_test(chains_lead_to_the_store_that_was_met),
		cmocka_unit_test(results_that_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
