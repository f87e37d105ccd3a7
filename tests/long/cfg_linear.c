/* SPDX-License-Identifier: MIT */
/*
 * Graphs are made in time linear in the procedure's size: of procedures of 32,000 to 256,000 instructions
 * with branches near and far, loops inside loops, switches, calls and tail calls, one twice as large
 * takes no more than about twice the CPU time. The best of several runs of each is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cfg/cfg.h"
#include "oracle/rng.h"

#define CODE 0x100000ull
#define TABLES 0x80000000ull
#define GROUP 32 /* bytes: a few instructions, padded */
#define GROUPS 1600
#define SIZES 4
#define RUNS 5
#define CASES 8
#define FACTOR 3.0 /* of time for twice the size */

struct program {
	uint8_t *code;
	size_t n, groups;
	int32_t *table;
	size_t tables;
};

static const uint8_t *bytes(void *ctx, uint64_t addr, size_t *n)
{
	const struct program *p = ctx;

	if (addr - CODE >= p->n)
		return NULL;
	*n = p->n - (addr - CODE);
	return p->code + (addr - CODE);
}

static bool proc_at(void *ctx, uint64_t addr, struct cfg_proc *proc)
{
	const struct program *p = ctx;

	*proc = (struct cfg_proc){ CODE, CODE + p->n, "large" };
	return addr - CODE < p->n;
}

static bool read_data(void *ctx, uint64_t addr, void *buf, size_t n, bool *constant)
{
	const struct program *p = ctx;

	*constant = true;
	if (addr - TABLES > p->tables * CASES * 4 || n > p->tables * CASES * 4 - (addr - TABLES))
		return false;
	memcpy(buf, (const uint8_t *)p->table + (addr - TABLES), n);
	return true;
}

static uint8_t *put(uint8_t *at, const void *data, size_t n)
{
	memcpy(at, data, n);
	return at + n;
}

static uint8_t *put_rel(uint8_t *at, const struct program *p, size_t group)
{
	int64_t rel = (int64_t)(group * GROUP) - (at + 4 - p->code);
	int32_t disp = (int32_t)rel;

	return put(at, &disp, 4);
}

/* cmp edi, 7; ja next; lea rdx, [table]; movsxd rax, [rdx+rdi*4]; add rax, rdx; jmp rax */
static void put_switch(struct program *p, struct rng *r, size_t group)
{
	uint8_t *at = p->code + group * GROUP;
	uint64_t table = TABLES + p->tables * CASES * 4;
	int32_t disp;

	at = put(at, "\x83\xff\x07\x0f\x87", 5);
	at = put_rel(at, p, group + 1);
	at = put(at, "\x48\x8d\x15", 3);
	disp = (int32_t)(table - (CODE + (uint64_t)(at + 4 - p->code)));
	at = put(at, &disp, 4);
	put(at, "\x48\x63\x04\xba\x48\x01\xd0\xff\xe0", 9);
	for (int i = 0; i < CASES; i++)
		p->table[p->tables * CASES + (size_t)i] =
			(int32_t)(int64_t)(CODE + rng_below(r, p->groups) * GROUP - table);
	p->tables++;
}

static void put_group(struct program *p, struct rng *r, size_t group)
{
	uint8_t *at = p->code + group * GROUP;
	size_t near = group + rng_below(r, 64) > 32 ? group + rng_below(r, 64) - 32 : 0;
	size_t far = rng_below(r, p->groups);

	memset(at, 0x90, GROUP);
	if (group + 2 >= p->groups) {
		*at = 0xc3;
		return;
	}
	near = near < p->groups ? near : group;
	switch (rng_below(r, 16)) {
	case 0:
		put_switch(p, r, group);
		return;
	case 1: /* call itself */
		at = put(at, "\xe8", 1);
		put_rel(at, p, 0);
		return;
	case 2: /* jmp rax, which is a tail call or is not known */
		at = put(at, "\x85\xff\x0f\x84", 4);
		at = put_rel(at, p, group + 1);
		put(at, "\xff\xe0", 2);
		return;
	case 3:
		at = put(at, "\x85\xff\x0f\x84", 4);
		at = put_rel(at, p, far);
		put(at, "\xc3", 1);
		return;
	default: /* test edi, edi; jz near; add eax, 1 */
		at = put(at, "\x85\xff\x0f\x84", 4);
		at = put_rel(at, p, rng_below(r, 8) ? near : far);
		put(at, "\x83\xc0\x01", 3);
	}
}

static void make(struct program *p, size_t groups)
{
	struct rng r = { 11 };

	*p = (struct program){ .n = groups * GROUP, .groups = groups };
	p->code = malloc(p->n);
	p->table = calloc(groups * CASES, sizeof(*p->table));
	assert_non_null(p->code);
	assert_non_null(p->table);
	for (size_t i = 0; i < groups; i++)
		put_group(p, &r, i);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double build(struct program *p, uint32_t *insns)
{
	struct cfg_source src = { .ctx = p, .bytes = bytes, .proc = proc_at, .data = read_data };
	struct err err;
	struct cfg_code *code = cfg_code_over(&src, &err);
	struct cfg g;
	double t0;

	assert_non_null(code);
	t0 = now();
	assert_int_equal(cfg_build(&g, code, CODE, NULL, &err), 0);
	t0 = now() - t0;
	*insns = g.ninsns;
	assert_true(g.nblocks > p->groups / 2);
	cfg_fini(&g);
	cfg_code_free(code);
	return t0;
}

static void is_linear(void **state)
{
	struct program p[SIZES];
	double best[SIZES];

	(void)state;
	for (int i = 0; i < SIZES; i++) {
		make(&p[i], (size_t)GROUPS << i);
		best[i] = 1e9;
	}
	for (int run = 0; run < RUNS; run++)
		for (int i = 0; i < SIZES; i++) {
			uint32_t insns;
			double t = build(&p[i], &insns);

			best[i] = t < best[i] ? t : best[i];
			if (run == RUNS - 1)
				printf("# %u instructions, %zu tables: %.1f ms\n", insns,
				       p[i].tables, best[i] * 1e3);
		}
	/* from the least to the largest: single steps jump where memory stops fitting into caches */
	assert_true(best[SIZES - 1] < best[0] * FACTOR * FACTOR * FACTOR);
	for (int i = 0; i < SIZES; i++) {
		free(p[i].code);
		free(p[i].table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(is_linear) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
