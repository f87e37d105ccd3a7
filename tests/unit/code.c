/* SPDX-License-Identifier: MIT */
/*
 * Lifted code: what is remembered is what lifting gives, tables that are too small refuse before they
 * lift, every micro-op has its site, branches are linked as they are followed. The code is this
 * program's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image/image.h"
#include "x86/lift_memo.h"
#include "oracle/rng.h"
#include "runahead/code.h"
#include "runahead/user.h"

#define IMAGE 7
#define BIAS 0x10000

static struct image *im;
static uint64_t text, text_end;

static const uint8_t *bytes(void *ctx, uint64_t addr, size_t *n)
{
	return image_code(ctx, addr, n);
}

static int open_self(void **state)
{
	const struct image_segment *seg;
	struct err err;

	(void)state;
	im = image_open("/proc/self/exe", "self", &err);
	if (!im || !image_segments(im, &seg))
		return -1;
	text = seg[0].addr;
	text_end = seg[0].addr + seg[0].size;
	return 0;
}

static int close_self(void **state)
{
	(void)state;
	image_close(im);
	return 0;
}

/* A code map of its own. */
struct map {
	struct code code;
	struct uop *uop;
	struct code_line *line;
};

static void map_open(struct map *m, uint32_t uops, uint32_t line_bits)
{
	struct code_source src = { .bytes = bytes, .ctx = im };
	struct err err;

	m->uop = test_calloc(uops, sizeof(*m->uop));
	m->line = test_calloc(1u << line_bits, sizeof(*m->line));
	assert_int_equal(code_init(&m->code, m->uop, uops, m->line, line_bits, &err), 0);
	assert_int_equal(code_image(&m->code, IMAGE, &src, &err), 0);
}

static void map_close(struct map *m)
{
	code_fini(&m->code);
	test_free(m->uop);
	test_free(m->line);
}

static void same_lifting(struct lift_memo *memo, const struct lift_form *f, const struct insn *in,
			 struct lift_values v, uint16_t live)
{
	struct uop want[LIFT_MAX], got[LIFT_MAX];
	int n = lift_insn(in, live, want);

	assert_int_equal(lift_memo_lift(memo, f, in->addr, v, live, got), n);
	for (int i = 0; i < n; i++)
		assert_memory_equal(&got[i], &want[i], sizeof(want[i]));
}

static void same_instruction(struct lift_memo *memo, const uint8_t *p, size_t left, uint64_t addr,
			     struct rng *r)
{
	const struct lift_form *f;
	struct insn in;
	struct lift_values v;

	f = lift_memo_decode(memo, p, left, &v);
	if (!insn_decode(&in, p, left, addr)) {
		assert_null(f);
		return;
	}
	assert_non_null(f);
	assert_int_equal(f->len, in.len);
	assert_int_equal(f->cls, in.cls);
	assert_int_equal(f->fl_read, in.fl_read);
	assert_int_equal(f->fl_written, in.fl_written);
	assert_int_equal(f->falls_through, insn_falls_through(&in));
	assert_int_equal(f->ends_block, insn_ends_block(&in));
	if (f->has_target)
		assert_int_equal(addr + f->len + (uint64_t)v.imm, in.target);
	same_lifting(memo, f, &in, v, FL_STATUS);
	same_lifting(memo, f, &in, v, (uint16_t)rng_u64(r) & FL_STATUS);
}

/* From every byte, so that prefixes and what is no code come too; twice, the second time all is
 * remembered, at another address. */
static void test_memo_is_lifting(void **state)
{
	struct lift_memo *memo = lift_memo_new();
	struct rng r = { .s = 1 };
	uint64_t end = text + 60000 < text_end ? text + 60000 : text_end;

	(void)state;
	assert_non_null(memo);
	for (int round = 0; round < 2; round++)
		for (uint64_t at = text; at < end; at++) {
			size_t left;
			const uint8_t *p = image_code(im, at, &left);

			lift_memo_rest(memo);
			lift_memo_ahead(memo, p, left);
			same_instruction(memo, p, left, at + (uint64_t)round * 0x123456, &r);
		}
	lift_memo_free(memo);
}

static void put_value(uint8_t *p, uint32_t size, struct rng *r)
{
	static const int64_t special[] = { 0,	1,    -1,     2,       -2,	   63,		 64,
					   127, -128, 0x7fff, -0x8000, 0x7fffffff, -0x80000000ll };
	uint64_t n = sizeof(special) / sizeof(special[0]), i = rng_below(r, 2 * n);
	uint64_t v = i < n ? (uint64_t)special[i] : rng_u64(r);

	memcpy(p, &v, size);
}

/* What is remembered of an instruction holds for other values of its displacement and its immediate. */
static void test_memo_of_other_values(void **state)
{
	struct lift_memo *memo = lift_memo_new();
	struct rng r = { .s = 3 };
	uint64_t end = text + 60000 < text_end ? text + 60000 : text_end;
	const struct lift_form *f;
	struct lift_values v;
	uint8_t bytes[32];
	size_t left;

	(void)state;
	for (int round = 0; round < 3; round++)
		for (uint64_t at = text; at + sizeof(bytes) < end; at++) {
			memcpy(bytes, image_code(im, at, &left), sizeof(bytes));
			lift_memo_rest(memo);
			f = lift_memo_decode(memo, bytes, sizeof(bytes), &v);
			if (!f)
				continue;
			put_value(bytes + f->disp_at, f->disp_size, &r);
			put_value(bytes + f->imm_at, f->imm_size, &r);
			same_instruction(memo, bytes, sizeof(bytes), at, &r);
		}
	lift_memo_free(memo);
}

/* Bytes at random find the forms that compilers do not write. */
static void test_memo_of_random_bytes(void **state)
{
	struct lift_memo *memo = lift_memo_new();
	struct rng r = { .s = 2 };
	uint64_t b[3];

	(void)state;
	for (int i = 0; i < 300000; i++) {
		b[0] = rng_u64(&r);
		b[1] = rng_u64(&r);
		b[2] = rng_u64(&r);
		lift_memo_rest(memo);
		same_instruction(memo, (uint8_t *)b, 24 - rng_below(&r, 20), rng_u64(&r) >> 20, &r);
	}
	lift_memo_free(memo);
}

static void test_sweep_lifts_all(void **state)
{
	struct code_site s;
	struct map m;
	uint32_t n;

	(void)state;
	map_open(&m, 1 << 20, 13);
	n = code_sweep(&m.code, IMAGE, text, text + 20000, 100000);
	assert_in_range(n, 2000, 20000);
	assert_int_equal(code_sweep(&m.code, IMAGE, text, text + 20000, 100000), 0);
	for (uint32_t u = CODE_MARK; u < m.code.nuop; u++) {
		assert_true(code_site(&m.code, u, &s));
		if (!s.len)
			continue;
		assert_int_equal(s.image, IMAGE);
		assert_in_range(code_find(&m.code, IMAGE, s.addr), 1, u);
	}
	map_close(&m);
}

static void test_full_table_refuses_first(void **state)
{
	uint32_t nuop, done = 0;
	struct map m;

	(void)state;
	map_open(&m, 1 << 20, 6);
	for (uint64_t at = text; at < text + 20000; at += 64)
		done += code_lift(&m.code, IMAGE, at, 1);
	assert_in_range(done, 100, 64 * 64);
	nuop = m.code.nuop;
	for (uint64_t at = text; at < text + 20000; at += 64) {
		assert_int_equal(code_lift(&m.code, IMAGE, at, 1000), 0);
		assert_int_equal(code_sweep(&m.code, IMAGE, at, at + 64, 1000), 0);
	}
	assert_int_equal(m.code.nuop, nuop);
	map_close(&m);
}

static void test_full_arena_stops(void **state)
{
	struct map m;

	(void)state;
	map_open(&m, 2000, 13);
	code_sweep(&m.code, IMAGE, text, text + 20000, 100000);
	assert_false(code_has_room(&m.code));
	assert_in_range(m.code.nuop, 1800, 2000);
	assert_int_equal(code_lift(&m.code, IMAGE, text + 30000, 100), 0);
	map_close(&m);
}

/* Hidden code is not found, its room is used again, and what is lifted then is what a new map holds. */
static void test_room_is_used_again(void **state)
{
	struct code_site s;
	struct map m, new;

	(void)state;
	map_open(&m, 2000, 13);
	map_open(&new, 2000, 13);
	code_sweep(&m.code, IMAGE, text + 30000, text + 50000, 100000);
	assert_false(code_has_room(&m.code));
	code_hide(&m.code);
	for (uint64_t at = text + 30000; at < text + 50000; at++)
		assert_int_equal(code_find(&m.code, IMAGE, at), 0);
	assert_false(code_has_room(&m.code));
	code_empty(&m.code);
	assert_true(code_has_room(&m.code));
	code_sweep(&m.code, IMAGE, text, text + 20000, 100000);
	code_sweep(&new.code, IMAGE, text, text + 20000, 100000);
	assert_int_equal(m.code.nuop, new.code.nuop);
	assert_int_equal(m.code.nsite, new.code.nsite);
	assert_memory_equal(&m.code.uop[CODE_MARK], &new.code.uop[CODE_MARK],
			    (new.code.nuop - CODE_MARK) * sizeof(struct uop));
	for (uint32_t u = CODE_MARK; u < m.code.nuop; u++) {
		assert_true(code_site(&m.code, u, &s));
		assert_true(!s.len || (s.addr >= text && s.addr < text + 20000));
		if (s.len)
			assert_int_equal(code_find(&m.code, IMAGE, s.addr),
					 code_find(&new.code, IMAGE, s.addr));
	}
	map_close(&m);
	map_close(&new);
}

/* Code that ran is lifted again into one half of the room, the other half stays free. */
static void test_again(void **state)
{
	uint64_t at = text;
	uint32_t nuop;
	struct map m;

	(void)state;
	map_open(&m, 4000, 13);
	while (code_again(&m.code, IMAGE, at)) {
		assert_true(code_find(&m.code, IMAGE, at));
		at += 16;
	}
	assert_true(at > text + 16);
	assert_in_range(m.code.nuop, 2001, 3900);
	assert_true(code_has_room(&m.code));
	nuop = m.code.nuop;
	assert_false(code_again(&m.code, IMAGE, text + 30000));
	assert_int_equal(code_find(&m.code, IMAGE, text + 30000), 0);
	assert_int_equal(m.code.nuop, nuop);
	map_close(&m);
}

/* Running. */

static const uint8_t loop_code[] = {
	0x31, 0xc0,			    /* 0: xor eax, eax */
	0xe8, 0x08, 0x00, 0x00, 0x00,	    /* 2: call 15 */
	0xff, 0xc1,			    /* 7: inc ecx */
	0x83, 0xf9, 0x20,		    /* 9: cmp ecx, 32 */
	0x72, 0xf4,			    /* 12: jb 2 */
	0xc3,				    /* 14: ret */
	0x48, 0x8d, 0x05, 0,	0,    0, 0, /* 15: lea rax, [rip] */
	0xc3,				    /* 22: ret */
};

static const uint8_t *loop_bytes(void *ctx, uint64_t addr, size_t *n)
{
	(void)ctx;
	*n = addr < sizeof(loop_code) ? sizeof(loop_code) - addr : 0;
	return *n ? loop_code + addr : NULL;
}

static int no_memory(void *ctx, uint64_t addr, uint32_t n, uint64_t *val)
{
	(void)ctx, (void)addr, (void)n;
	*val = 0;
	return -1;
}

static int all_one(void *ctx, struct ra_state *s, uint64_t addr)
{
	(void)ctx;
	s->start = BIAS;
	s->end = BIAS + sizeof(loop_code);
	s->bias = BIAS;
	s->image = IMAGE;
	return addr - BIAS < sizeof(loop_code) ? 0 : RA_STOP_UNMAPPED;
}

static void run(const struct map *m, struct ra_state *s, uint32_t burst)
{
	struct ra_env env = { .code = &m->code, .read = no_memory, .map = all_one };

	memset(s->r, 0, sizeof(s->r));
	s->r[UR_RSP] = 0x7000;
	s->known = (1u << UR_BIAS) - 1;
	ra_user_run(s, &env, BIAS, 0, burst);
}

/* Jumps and calls far apart: what surely runs from 0 on is 0, 0x400, 0x800, 0x805, 0x80a and 0xc00 to 0xc03. */
static const struct {
	uint64_t addr;
	uint8_t byte[16];
	unsigned n;
} apart[] = {
	{ 0x000, { 0xe9, 0xfb, 0x03, 0x00, 0x00 }, 5 },	      /* jmp 0x400 */
	{ 0x400, { 0xe9, 0xfb, 0x03, 0x00, 0x00 }, 5 },	      /* jmp 0x800 */
	{ 0x800, { 0x48, 0x83, 0xc0, 0x01, 0x90 }, 5 },	      /* add rax, 1; nop */
	{ 0x805, { 0xe8, 0xf6, 0x03, 0x00, 0x00, 0xc3 }, 6 }, /* call 0xc00; ret */
	{ 0xc00,
	  { 0x48, 0x85, 0xc0, 0x74, 0x05, 0xe9, 0xf6, 0x03 },
	  8 }, /* test rax, rax; je; jmp 0x1000 */
};

static const uint8_t *apart_bytes(void *ctx, uint64_t addr, size_t *n)
{
	static uint8_t code[0x1100];

	(void)ctx;
	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
		memcpy(&code[apart[i].addr], apart[i].byte, apart[i].n);
	*n = addr < sizeof(code) ? sizeof(code) - addr : 0;
	return *n ? &code[addr] : NULL;
}

static void test_what_surely_runs_is_followed(void **state)
{
	struct code_source src = { .bytes = apart_bytes };
	struct err err;
	struct map m;

	(void)state;
	map_open(&m, 4096, 8);
	assert_int_equal(code_image(&m.code, IMAGE, &src, &err), 0);
	/* after as many instructions as a window has left, nothing is needed */
	assert_int_equal(code_follow(&m.code, IMAGE, 0, 1), 1);
	assert_int_equal(code_find(&m.code, IMAGE, 0x400), 0);
	assert_true(code_follow(&m.code, IMAGE, 0, 256) > 4);
	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
		assert_true(code_find(&m.code, IMAGE, apart[i].addr) > 0);
	/* behind a condition nothing is certain */
	assert_int_equal(code_find(&m.code, IMAGE, 0x1000), 0);
	assert_int_equal(code_follow(&m.code, IMAGE, 0, 256), 0);
	map_close(&m);
}

/* Between the end of control flow and the next code lie zeros, which as code would be 500 additions; those that control can
 * run into are code. */
static void test_zeros_are_padding(void **state)
{
	struct code_source src = { .bytes = apart_bytes };
	struct err err;
	struct map m;

	(void)state;
	map_open(&m, 4096, 8);
	assert_int_equal(code_image(&m.code, IMAGE, &src, &err), 0);
	assert_int_equal(code_sweep(&m.code, IMAGE, 0, 0x800, 1000), 2);
	assert_true(code_find(&m.code, IMAGE, 0x400) > 0);
	assert_int_equal(code_find(&m.code, IMAGE, 0x406), 0);
	assert_true(code_lift(&m.code, IMAGE, 0x406, 1) > 0);
	map_close(&m);
}

static void test_branches_are_linked(void **state)
{
	struct ra_state *s = test_calloc(1, sizeof(*s));
	struct code_source src = { .bytes = loop_bytes };
	uint32_t unlinked = 0;
	struct err err;
	struct map m;

	(void)state;
	map_open(&m, 4096, 6);
	assert_int_equal(code_image(&m.code, IMAGE, &src, &err), 0);
	/* one instruction at a time: no branch finds its target lifted */
	for (int lifted = 1; lifted > 0;) {
		run(&m, s, 100);
		lifted = s->stop == RA_STOP_MISS
				 ? (int)code_lift(&m.code, IMAGE, s->target - BIAS, 1)
				 : 0;
	}
	assert_int_equal(s->stop, RA_STOP_FULL);
	assert_int_equal(s->n, 100);
	assert_int_equal(s->r[UR_RAX], BIAS + 22);
	for (uint32_t u = CODE_MARK; u < m.code.nuop; u++)
		unlinked += m.uop[u].op == UOP_JCC && m.uop[u].imm < 0;
	assert_int_equal(unlinked, 0);
	/* the last return leaves the loop: to what the stack does not tell */
	run(&m, s, 512);
	assert_int_equal(s->n, 1 + 32 * 6);
	assert_int_equal(s->stop, RA_STOP_PAGE);
	map_close(&m);
	test_free(s);
}

static void test_faults(void **state)
{
	static const uint64_t at[] = { 1ull << 47, ~0ull, 0x8000000000000000, (1ull << 47) - 2 };
	struct ra_state *s = test_calloc(1, sizeof(*s));
	struct code_source src = { .bytes = loop_bytes };
	struct ra_env env;
	struct err err;
	struct map m;

	(void)state;
	map_open(&m, 4096, 6);
	env = (struct ra_env){ .code = &m.code, .read = no_memory, .map = all_one };
	assert_int_equal(code_image(&m.code, IMAGE, &src, &err), 0);
	code_sweep(&m.code, IMAGE, 0, sizeof(loop_code), 100);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		s->r[UR_RSP] = at[i];
		s->known = (1u << UR_BIAS) - 1;
		ra_user_run(s, &env, BIAS + 14, 0, 10);
		assert_int_equal(s->stop, RA_STOP_FAULT);
		s->r[UR_RSP] = at[i] + 8;
		s->known = (1u << UR_BIAS) - 1;
		ra_user_run(s, &env, BIAS + 2, 0, 10);
		assert_int_equal(s->stop, RA_STOP_FAULT);
	}
	map_close(&m);
	test_free(s);
}

/* rep stosb; mov rcx, rdx; mov rsi, rbx; rep movsb; syscall */
static const uint8_t string_code[] = { 0xf3, 0xaa, 0x48, 0x89, 0xd1, 0x48,
				       0x89, 0xde, 0xf3, 0xa4, 0x0f, 0x05 };

static const uint8_t *string_bytes(void *ctx, uint64_t addr, size_t *n)
{
	(void)ctx;
	*n = addr < sizeof(string_code) ? sizeof(string_code) - addr : 0;
	return *n ? string_code + addr : NULL;
}

/* Elements are done many at a time, of a length and at an address that are no multiple of a word. */
static void test_strings_are_short(void **state)
{
	const uint64_t to = 0x5003, filled = 1001, moved = 777;
	struct ra_state *s = test_calloc(1, sizeof(*s));
	struct code_source src = { .bytes = string_bytes };
	struct ra_env env;
	struct err err;
	struct map m;

	(void)state;
	map_open(&m, 4096, 6);
	env = (struct ra_env){ .code = &m.code, .read = no_memory, .map = all_one };
	assert_int_equal(code_image(&m.code, IMAGE, &src, &err), 0);
	code_sweep(&m.code, IMAGE, 0, sizeof(string_code), 100);
	s->r[UR_RAX] = 0x5a;
	s->r[UR_RBX] = s->r[UR_RDI] = to;
	s->r[UR_RCX] = filled;
	s->r[UR_RDX] = moved;
	s->known = (1u << UR_BIAS) - 1;
	ra_user_run(s, &env, BIAS, 0, 10);
	assert_int_equal(s->stop, RA_STOP_SYSCALL);
	assert_int_equal(s->n, 4);
	assert_int_equal(s->r[UR_RDI], to + filled + moved);
	assert_int_equal(s->r[UR_RSI], to + moved);
	assert_int_equal(s->r[UR_RCX], 0);
	assert_int_equal(s->r[UR_EA], to + filled + moved - 1);
	assert_in_range(s->uops, 1, (filled + moved) / 8 + 50);
	map_close(&m);
	test_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memo_is_lifting),
		cmocka_unit_test(test_memo_of_other_values),
		cmocka_unit_test(test_memo_of_random_bytes),
		cmocka_unit_test(test_sweep_lifts_all),
		cmocka_unit_test(test_full_table_refuses_first),
		cmocka_unit_test(test_full_arena_stops),
		cmocka_unit_test(test_room_is_used_again),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_what_surely_runs_is_followed),
		cmocka_unit_test(test_zeros_are_padding),
		cmocka_unit_test(test_branches_are_linked),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_strings_are_short),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
