/* SPDX-License-Identifier: MIT */
/* What the recorder measured of caches and memory, and what follows for lines of the last level. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/memory.h"
#include "culprit/refills.h"
#include "estimate/anchor.h"
#include "support/estimates.h"

#define GHZ 2.0
#define CPU "AMD EPYC 9654"

static void describe(struct profile *p, uint64_t times)
{
	struct run *r = &p->run[0];

	r->clock = (uint64_t)(GHZ * 1e9);
	r->n.memory_measured = times;
	r->n.near_ps = times * 40000;
	r->n.far_ps = times * 240000;
	r->n.near_line_ps = times * 3000;
	r->n.far_line_ps = times * 9000;
	r->n.page_walk_ps = times * 30000;
	r->n.refills = times * 100000; /* each 10 ms */
}

static struct estimates_sampled *sampled(void)
{
	struct estimates_sampled *m = estimates_sampled(true);

	if (!m->p.nrun)
		assert_non_null(profile_run(&m->p));
	return m;
}

static void measured_costs(void **state)
{
	const struct culprit_machine *table = culprit_machine(CPU);
	struct estimates_sampled *m = sampled();
	struct culprit_machine is;

	(void)state;
	assert_false(refills_machine(&is, CPU, &m->p));
	assert_memory_equal(&is, table, sizeof(is));
	for (uint64_t times = 1; times < 4; times++) {
		describe(&m->p, times);
		assert_true(refills_machine(&is, CPU, &m->p));
		assert_true(estimates_near(is.data[1].likely,
					   80 - table->load - table->data[0].likely, 1e-6));
		assert_true(estimates_near(is.data[2].likely, 400, 1e-6));
		assert_true(estimates_near(is.data[2].stream, 18, 1e-6));
		assert_true(estimates_near(is.dtlb[1].likely, 60, 1e-6));
		assert_true(estimates_near(is.itlb[2].likely / table->itlb[2].likely,
					   60 / table->dtlb[1].likely, 1e-6));
		assert_true(is.dtlb[0].likely == table->dtlb[0].likely);
		assert_true(is.dtlb[1].penalty >= 90 &&
			    is.itlb[1].penalty >= table->itlb[1].penalty);
		assert_true(is.data[1].penalty >= is.data[1].likely);
		assert_true(is.data[2].penalty >= table->data[2].penalty);
		assert_true(estimates_near(is.code[2].likely / table->code[2].likely,
					   400 / table->data[2].likely, 1e-6));
	}
	/* memory that is nearer than the third level was not measured */
	m->p.run[0].n.far_ps = m->p.run[0].n.near_ps;
	assert_false(refills_machine(&is, CPU, &m->p));
	estimates_drop(m);
}

/* Adds a sample of the procedure at some time in ns. */
static void add(struct estimates_sampled *m, uint64_t addr, uint64_t since)
{
	struct stacks *s = &m->p.stacks;
	uint32_t root = stacks_frame(s, 0, FRAME_ROOT, 0, 0);
	uint32_t frame = stacks_frame(s, root, FRAME_CODE, m->site[0].id.image, addr);
	long thread = stacks_thread(s, 0, 1, 1, "program", "");

	assert_true(root && frame && thread >= 0);
	assert_int_equal(stacks_add(s, frame, (uint32_t)thread, since, 1, 1), 0);
}

static void activity(void **state)
{
	struct estimates_sampled *m = sampled();
	double *v;

	(void)state;
	assert_int_equal(refills_find(&v, &m->e, &m->p), 0);
	assert_null(v);
	describe(&m->p, 1);
	m->p.run[0].n.elapsed_ns = 3000000000;
	assert_int_equal(refills_find(&v, &m->e, &m->p), 0);
	assert_true(estimates_near(v[CALLER], 300, 1e-6));
	assert_true(estimates_near(v[CALLEE], 300, 1e-6));
	free(v);

	/* one second of each bucket, and one of each fifth bucket, after a pause */
	for (uint64_t i = 0; i < 100; i++)
		add(m, ESTIMATES_CALLER_AT + 1, i * STACKS_WIDTH);
	for (uint64_t i = 0; i < 20; i++)
		add(m, ESTIMATES_CALLEE_AT, (200 + 5 * i) * STACKS_WIDTH);
	add(m, ESTIMATES_CALLEE_AT, 0);
	assert_int_equal(refills_find(&v, &m->e, &m->p), 0);
	assert_true(estimates_near(v[CALLER], 100, 1e-6));
	assert_true(estimates_near(v[CALLEE], 97, 1e-6));
	free(v);
	estimates_drop(m);
}

static void lost_lines(void **state)
{
	(void)state;
	assert_true(refills_lost(10, 0, false) == 0 && refills_lost(10, 0, true) == 0);
	assert_true(estimates_near(refills_lost(10, 10, false), exp(-1), 1e-9));
	assert_true(estimates_near(refills_lost(10, 10, true), 0.5, 1e-9));
	for (int steady = 0; steady < 2; steady++) {
		assert_true(refills_lost(1000, 10, steady) < 0.001);
		assert_true(refills_lost(1, 1000, steady) > 0.99);
	}
}

/* Times depend on the machine; what holds between them does not. */
static void measuring(void **state)
{
	struct cpu_memory m;

	(void)state;
	assert_false(cpu_memory_measure(&m, 1 << 10));
	assert_false(cpu_memory_measure(&m, 1ul << 30));
	if (!cpu_memory_measure(&m, 512 << 10))
		skip();
	assert_true(m.near > 0 && m.far > m.near && m.near_line > 0 && m.far_line > 0);
	assert_true(m.walk >= 0 && m.walk < 1e5);
	assert_true(m.refills >= 0 && m.refills < 1e9 / (CPU_MEMORY_WAIT >> 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measured_costs),
		cmocka_unit_test(activity),
		cmocka_unit_test(lost_lines),
		cmocka_unit_test(measuring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
