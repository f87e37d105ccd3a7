/* SPDX-License-Identifier: MIT */
/* The analysis of a program as bytes: what is read is what was written; what is malformed is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "culprit/program.h"

#define IMAGES 3

/* Numbers that floats hold. */
static struct culprit_program made_up(void)
{
	struct culprit_program p = { .period = 750000, .warning = "no llvm-mca" };

	p.nproc = 2;
	p.proc = calloc(p.nproc, sizeof(*p.proc));
	p.ninsn = 5;
	p.insn = calloc(p.ninsn, sizeof(*p.insn));
	assert_non_null(p.proc);
	assert_non_null(p.insn);
	for (unsigned i = 0; i < p.nproc; i++) {
		p.proc[i] = (struct culprit_program_proc){ .image = 2 - i, .addr = 0x1000 + i };
		p.proc[i].sum.cycles = 100 - i;
		p.proc[i].sum.fixed[3] = 0.5;
		p.proc[i].sum.max[CULPRIT_N - 1] = 64;
		culprit_sum_add(&p.sum, &p.proc[i].sum);
	}
	for (unsigned i = 0; i < p.ninsn; i++) {
		struct culprit_insn_time *t = &p.insn[i];

		*t = (struct culprit_insn_time){ .image = 1 + i / 3,
						 .addr = 0xffffffff81000000 + i,
						 .confidence = CONFIDENCE_HIGH,
						 .why = SCHEDULE_UNIT,
						 .cause = i,
						 .executions = 1e6,
						 .cycles = 4096,
						 .stall = 0.25 * i };
		t->range[i] = (struct culprit_range){ 1, 2, 1.5, 0x401000, i, 1 };
		t->range[CULPRIT_N - 1] = (struct culprit_range){ 0, 0.5, 0.25, 0, 0, 0 };
	}
	return p;
}

static void what_is_written_is_read(void **state)
{
	struct culprit_program p = made_up(), q;
	struct buffer b = { 0 };

	(void)state;
	assert_true(culprit_program_write(&p, &b));
	assert_true(culprit_program_read(&q, b.p, b.n, IMAGES));
	assert_int_equal(q.nproc, p.nproc);
	assert_int_equal(q.ninsn, p.ninsn);
	assert_memory_equal(q.proc, p.proc, p.nproc * sizeof(*p.proc));
	assert_memory_equal(q.insn, p.insn, p.ninsn * sizeof(*p.insn));
	assert_memory_equal(&q.sum, &p.sum, sizeof(p.sum));
	assert_true(q.period == p.period);
	assert_string_equal(q.warning, p.warning);
	/* and found */
	assert_ptr_equal(culprit_program_at(&q, 2, 0xffffffff81000003), &q.insn[3]);
	assert_null(culprit_program_at(&q, 1, 0xffffffff81000003));
	assert_ptr_equal(culprit_program_proc(&q, 2, 0x1000, 0x1010), &q.proc[0]);
	assert_null(culprit_program_proc(&q, 2, 0x1001, 0x1010));
	culprit_program_fini(&q);
	culprit_program_fini(&p);
	free(b.p);
}

static void what_is_malformed_is_refused(void **state)
{
	struct culprit_program p = made_up(), q;
	struct buffer b = { 0 };

	(void)state;
	assert_true(culprit_program_write(&p, &b));
	for (size_t n = 0; n < b.n; n++)
		assert_false(culprit_program_read(&q, b.p, n, IMAGES));
	assert_false(culprit_program_read(&q, b.p, b.n, 2)); /* an image that is not there */
	assert_true(buffer_room(&b, 1));
	b.p[b.n] = 0;
	assert_false(culprit_program_read(&q, b.p, b.n + 1, IMAGES));
	/* any byte may be another: read or refused */
	for (size_t i = 0; i < b.n; i++) {
		b.p[i] ^= 0xff;
		if (culprit_program_read(&q, b.p, b.n, IMAGES))
			culprit_program_fini(&q);
		b.p[i] ^= 0xff;
	}
	/* more instructions than bytes */
	memset(b.p + sizeof(float), 0xff, 8);
	assert_false(culprit_program_read(&q, b.p, b.n, IMAGES));
	culprit_program_fini(&p);
	free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_malformed_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
