/* SPDX-License-Identifier: MIT */
/* What windows say of edges, calls and conflicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "x86/insn.h"
#include "observe/calls.h"
#include "observe/conflicts.h"
#include "observe/edges.h"
#include "observe/locality.h"

#define LENGTH 256

static struct err err;
static struct profile p;
static struct retired ri[LENGTH];
static uint32_t n;

static int setup(void **unused)
{
	(void)unused;
	n = 0;
	memset(ri, 0, sizeof(ri));
	return profile_init(&p, &err);
}

static int teardown(void **unused)
{
	(void)unused;
	profile_fini(&p);
	return 0;
}

static struct site_id at(uint64_t addr)
{
	return (struct site_id){ .addr = addr };
}

static struct retired *add(uint64_t addr, int cls)
{
	struct retired *r = &ri[n++];

	assert_true(n <= LENGTH);
	r->site = at(addr);
	r->cls = (uint8_t)cls;
	r->len = 4;
	return r;
}

static void with(struct retired *r, int operand, uint64_t value)
{
	r->have |= (uint16_t)(1u << operand);
	r->value[operand] = value;
}

static void accessing(uint64_t addr, int cls, uint64_t where, unsigned bytes)
{
	struct retired *r = add(addr, cls);

	r->access = (uint8_t)bytes;
	with(r, OPERAND_ADDRESS, where);
}

static void done(void)
{
	struct window w = { .weight = 1, .n = n, .start = ri[0].site, .ri = ri };

	assert_int_equal(profile_window(&p, &w), 0);
}

/* Windows of a loop: a load that goes on by 16 bytes, one of one place, a branch that is taken but every fourth time. */
static void loop(unsigned times)
{
	for (unsigned k = 0; k < times; k++) {
		n = 0;
		memset(ri, 0, sizeof(ri));
		for (unsigned i = 0; n < LENGTH - 4; i++) {
			accessing(0x100, INSN_LOAD, 0x10000 + 16 * i, 8);
			accessing(0x104, INSN_LOAD, 0x20000, 8);
			add(0x13c, INSN_OTHER);
			add(0x140, INSN_BRANCH)->taken = i % 4 != 3;
		}
		done();
	}
}

static struct locality locality(uint64_t addr)
{
	const struct site *s = profile_site_find(&p, at(addr));

	assert_non_null(s);
	assert_non_null(s->locality);
	return locality_get(s);
}

/* A window of a thread that touches a line, and then goes on without memory. */
static void touch(uint32_t tid, uint64_t time, uint64_t from, int cls, uint64_t to)
{
	struct window w = { .pid = 7, .tid = tid, .time = time, .weight = 1, .ri = ri };

	n = 0;
	memset(ri, 0, sizeof(ri));
	with(add(from, cls), OPERAND_ADDRESS, to);
	while (n <= 2 * LOCALITY_AFTER)
		add(0x900, INSN_OTHER);
	w.n = n;
	w.start = ri[0].site;
	assert_int_equal(profile_window(&p, &w), 0);
}

static void test_contended(void **unused)
{
	(void)unused;
	for (uint64_t i = 0; i < 200; i++) {
		uint32_t tid = 1 + i % 2;
		uint64_t now = 1000000 + i * 1000000;

		touch(tid, now, 0x100, INSN_RMW, 0x10000 + 8 * tid);  /* one line, two words */
		touch(tid, now, 0x200, INSN_RMW, 0x20000 + 64 * tid); /* a line each */
		touch(tid, now, 0x300, INSN_LOAD, 0x30000);	      /* both read */
		touch(tid, now + i * 100000000, 0x400, INSN_STORE, 0x40000); /* seldom */
		touch(1, now, 0x500, INSN_STORE, 0x50000); /* one writes, the other one reads */
		touch(2, now, 0x600, INSN_LOAD, 0x50000);
	}
	assert_int_equal(locality(0x100).met, 200);
	assert_int_equal(locality(0x100).contended, 199);
	assert_int_equal(locality(0x200).contended, 0);
	assert_int_equal(locality(0x300).contended, 0);
	assert_int_equal(locality(0x400).contended, 0);
	assert_int_equal(locality(0x500).contended, 199);
	assert_int_equal(locality(0x600).contended, 200);
}

static void test_locality(void **unused)
{
	struct locality walk, same, branch;
	struct profile sum;

	(void)unused;
	loop(100);
	walk = locality(0x100);
	same = locality(0x104);
	branch = locality(0x140);
	/* instructions 64 to 251: 47 rounds, a line every fourth; the page is one all along */
	assert_int_equal(walk.accesses, 4700);
	assert_int_equal(walk.lines, 1200);
	assert_int_equal(walk.pages, 0);
	assert_int_equal(same.accesses, 4700);
	assert_int_equal(same.lines, 0);
	/* two lines of code in turn, both used before */
	assert_int_equal(walk.fetches, 4700);
	assert_int_equal(branch.fetches, 4700);
	assert_int_equal(branch.code_lines, 0);
	/* 63 outcomes, 16 of which are not asked about; the pattern is learned in the first window */
	assert_in_range(branch.branches, 4653, 4700);
	assert_true(branch.mispredicted < 200);
	assert_int_equal(profile_init(&sum, &err), 0);
	assert_int_equal(profile_merge(&sum, &p, &err) | profile_merge(&sum, &p, &err), 0);
	assert_int_equal(locality_get(profile_site_find(&sum, at(0x100))).lines, 2400);
	profile_fini(&sum);
}

/* Of 84 outcomes without a pattern, 16 are not asked about, and the predictor is not sure of many. */
static void test_unsure(void **unused)
{
	const uint64_t coin = 0x9c3ae1d74b256f08;

	(void)unused;
	n = 0;
	memset(ri, 0, sizeof(ri));
	for (unsigned i = 0; i < 84; i++)
		add(0x140, INSN_BRANCH)->taken = coin >> i % 64 & 1;
	done();
	assert_in_range(locality(0x140).branches, 1, 60);
}

static uint64_t edge(enum edge_kind kind, uint64_t from, uint64_t to)
{
	return edges_get(&p, kind, at(from), at(to))->count;
}

static void test_edges(void **unused)
{
	(void)unused;
	add(0x100, INSN_BRANCH)->taken = true;
	add(0x120, INSN_BRANCH);
	add(0x124, INSN_JUMP)->taken = true;
	add(0x140, INSN_CALL)->taken = true;
	add(0x200, INSN_IJUMP)->taken = true;
	add(0x220, INSN_RET)->taken = true;
	add(0x144, INSN_ICALL)->taken = true;
	add(0x300, INSN_OTHER);
	add(0x304, INSN_RET)->taken = true; /* the window does not show where to */
	done();
	done();
	assert_int_equal(HASH_COUNT(p.edges), 3);
	assert_int_equal(edge(EDGE_WENT, 0x200, 0x220), 2);
	assert_int_equal(edge(EDGE_WENT, 0x220, 0x144), 2);
	assert_int_equal(edge(EDGE_WENT, 0x144, 0x300), 2);
	assert_int_equal(profile_site_find(&p, at(0x100))->target, 0x120);
	assert_int_equal(profile_site_find(&p, at(0x120))->target, 0); /* never taken */
	assert_int_equal(profile_site_find(&p, at(0x124))->target, 0x140);
	assert_int_equal(profile_site_find(&p, at(0x140))->target, 0x200);
	assert_int_equal(profile_site_find(&p, at(0x144))->target, 0);
}

static const struct hot *values_of(uint64_t from, uint64_t to, int operand)
{
	return calls_get(&p, at(from), at(to))->value[operand - OPERAND_RETURN];
}

static void assert_value(const struct hot *h, uint64_t value, double count)
{
	struct hot_value v[4];
	unsigned k = h ? hot_top(h, v, 4) : 0;

	for (unsigned i = 0; i < k; i++)
		if (v[i].value == value) {
			assert_true(v[i].count == count);
			return;
		}
	fail_msg("%lu is not among %u values", (unsigned long)value, k);
}

static void test_calls(void **unused)
{
	struct retired *r;

	(void)unused;
	add(0x100, INSN_CALL); /* outer(7, ?) */
	r = add(0x200, INSN_OTHER);
	with(r, OPERAND_ARG0, 7);
	with(r, OPERAND_ARG0 + 2, 9);
	with(r, OPERAND_RESULT, 55); /* no argument */
	add(0x204, INSN_ICALL);	     /* inner(1) */
	with(add(0x300, INSN_OTHER), OPERAND_ARG0, 1);
	with(add(0x304, INSN_RET), OPERAND_RETURN, 11);
	add(0x208, INSN_CALL); /* inner(2), without an instruction between */
	r = add(0x300, INSN_RET);
	with(r, OPERAND_ARG0, 2);
	with(r, OPERAND_RETURN, 12);
	add(0x20c, INSN_CALL); /* leaves by longjmp */
	add(0x400, INSN_IJUMP);
	with(add(0x210, INSN_RET), OPERAND_RETURN, 13);
	add(0x104, INSN_OTHER);
	done();
	assert_value(values_of(0x100, 0x200, OPERAND_ARG0), 7, 1);
	assert_value(values_of(0x100, 0x200, OPERAND_ARG0 + 2), 9, 1);
	assert_null(values_of(0x100, 0x200, OPERAND_ARG0 + 1));
	assert_value(values_of(0x100, 0x200, OPERAND_RETURN), 13, 1);
	assert_value(values_of(0x204, 0x300, OPERAND_ARG0), 1, 1);
	assert_value(values_of(0x204, 0x300, OPERAND_RETURN), 11, 1);
	assert_value(values_of(0x208, 0x300, OPERAND_ARG0), 2, 1);
	assert_value(values_of(0x208, 0x300, OPERAND_RETURN), 12, 1);
	assert_null(values_of(0x20c, 0x400, OPERAND_RETURN));
}

/* A return whose call lies before the window is a direct call's that was seen before. */
static void test_late_return(void **unused)
{
	(void)unused;
	add(0x100, INSN_CALL);
	add(0x200, INSN_OTHER);
	done();
	n = 0;
	memset(ri, 0, sizeof(ri));
	with(add(0x240, INSN_RET), OPERAND_RETURN, 5);
	add(0x104, INSN_OTHER);
	with(add(0x340, INSN_RET), OPERAND_RETURN, 6); /* behind nothing that is known */
	add(0x504, INSN_OTHER);
	done();
	assert_value(values_of(0x100, 0x200, OPERAND_RETURN), 5, 1);
	assert_int_equal(HASH_COUNT(p.calls), 1);
}

static const struct conflict *conflict(enum conflict_kind kind, uint64_t store, uint64_t load)
{
	return conflicts_get(&p, kind, at(store), at(load));
}

static void assert_conflict(enum conflict_kind kind, uint64_t store, uint64_t load, uint64_t count,
			    unsigned nearest, unsigned farthest)
{
	const struct conflict *c = conflict(kind, store, load);

	assert_int_equal(c->count, count);
	assert_int_equal(c->nearest, nearest);
	assert_int_equal(c->farthest, farthest);
}

static void test_conflicts(void **unused)
{
	(void)unused;
	p.conflict_distance = 16;
	for (int i = 0; i < 15; i++)
		add(0x10, INSN_OTHER);
	accessing(0x100, INSN_STORE, 0x5000, 8);
	accessing(0x104, INSN_LOAD, 0x5004, 4);	 /* within it */
	accessing(0x108, INSN_LOAD, 0x5004, 8);	 /* reaches beyond it */
	accessing(0x10c, INSN_LOAD, 0x4ffc, 16); /* around it */
	accessing(0x110, INSN_LOAD, 0x5008, 8);	 /* behind it */
	accessing(0x114, INSN_LOAD, 0x4ff8, 8);	 /* before it */
	accessing(0x118, INSN_LOAD, 0x9004, 4);	 /* in another page */
	accessing(0x11c, INSN_STORE, 0x5004, 4);
	accessing(0x120, INSN_LOAD, 0x5000, 8); /* of two: the younger one counts */
	accessing(0x124, INSN_RMW, 0x7000, 8);	/* its load comes first */
	accessing(0x128, INSN_RMW, 0x7000, 8);
	accessing(0x12c, INSN_STORE, 0x8004, 4);
	accessing(0x130, INSN_LOAD, 0x5004, 4); /* behind one that only looks alike */
	done();
	assert_conflict(CONFLICT_FULL, 0x100, 0x104, 1, 1, 1);
	assert_conflict(CONFLICT_PARTIAL, 0x100, 0x108, 1, 2, 2);
	assert_conflict(CONFLICT_PARTIAL, 0x100, 0x10c, 1, 3, 3);
	assert_conflict(CONFLICT_NONE, 0, 0x110, 1, 0, 0);
	assert_conflict(CONFLICT_NONE, 0, 0x114, 1, 0, 0);
	assert_conflict(CONFLICT_NONE, 0, 0x118, 1, 0, 0);
	assert_conflict(CONFLICT_ALIAS, 0x100, 0x118, 1, 6, 6);
	assert_conflict(CONFLICT_PARTIAL, 0x11c, 0x120, 1, 1, 1);
	assert_conflict(CONFLICT_NONE, 0, 0x124, 1, 0, 0);
	assert_conflict(CONFLICT_ALIAS, 0x11c, 0x124, 1, 2, 2);
	assert_conflict(CONFLICT_FULL, 0x124, 0x128, 1, 1, 1);
	assert_conflict(CONFLICT_FULL, 0x11c, 0x130, 1, 5, 5);
	assert_conflict(CONFLICT_ALIAS, 0x12c, 0x130, 1, 1, 1);
	assert_int_equal(HASH_COUNT(p.conflicts), 13);
}

/* Only what lies within the distance, and only of loads that have as much before them. */
static void test_distance(void **unused)
{
	(void)unused;
	p.conflict_distance = 4;
	accessing(0x100, INSN_STORE, 0x5000, 8);
	accessing(0x104, INSN_LOAD, 0x5000, 8); /* what came before is not known */
	add(0x108, INSN_OTHER);
	add(0x108, INSN_OTHER);
	accessing(0x10c, INSN_LOAD, 0x5000, 8);
	accessing(0x110, INSN_LOAD, 0x5000, 8); /* too far */
	done();
	assert_conflict(CONFLICT_FULL, 0x100, 0x10c, 1, 4, 4);
	assert_conflict(CONFLICT_NONE, 0, 0x110, 1, 0, 0);
	assert_int_equal(HASH_COUNT(p.conflicts), 2);
	done();
	assert_conflict(CONFLICT_FULL, 0x100, 0x10c, 2, 4, 4);
	assert_int_equal(conflict(CONFLICT_FULL, 0x100, 0x10c)->distance, 8);
}

/* More stores than there is room for, and a thread that goes on and on. */
static void test_many_stores(void **unused)
{
	struct conflicts_past t;
	struct retired store = { .site = { .addr = 0x100 }, .cls = INSN_STORE, .access = 8 };
	struct retired load = { .site = { .addr = 0x104 }, .cls = INSN_LOAD, .access = 8 };

	(void)unused;
	p.conflict_distance = 5;
	assert_int_equal(conflicts_begin(&t, p.conflict_distance), 0);
	conflicts_skip(&t, 5);
	for (unsigned i = 0; i < 1000; i++) {
		with(&store, OPERAND_ADDRESS, 0x1000000 + 0x1010 * i);
		with(&load, OPERAND_ADDRESS, 0x1000000 + 0x1010 * (uint64_t)(i - 2));
		assert_int_equal(conflicts_step(&p, &t, &store), 0);
		assert_int_equal(conflicts_step(&p, &t, &load), 0);
	}
	conflicts_skip(&t, 1);
	with(&load, OPERAND_ADDRESS, 0x1000000 + 0x1010 * 997);
	assert_int_equal(conflicts_step(&p, &t, &load), 0);
	conflicts_end(&t);
	assert_conflict(CONFLICT_FULL, 0x100, 0x104, 998, 5, 5);
	assert_conflict(CONFLICT_NONE, 0, 0x104, 3, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_locality, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unsure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_edges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_return, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conflicts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_distance, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_stores, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
