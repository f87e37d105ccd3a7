/* SPDX-License-Identifier: MIT */
/* How addresses come about, in loops of this program's own, found by their labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cfg/cfg.h"
#include "cfg/code.h"
#include "culprit/pattern.h"
#include "image/image.h"

/* Each is a loop of one block; the load is its k-th instruction. */
#define LOOP(name, code) \
	".globl pattern_" name "\n.type pattern_" name ", @function\npattern_" name ":\n1: " code \
	"\ndec %rcx\njnz 1b\nret\n.size pattern_" name ", . - pattern_" name "\n"
__asm__(".text\n" LOOP("chase", "mov (%rax), %rax") LOOP("stream",
							 "mov (%rax,%rdx,8), %rbx\nadd $1, %rdx")
		LOOP("table", "mov (%rsi,%rdx,4), %ebx\nmov (%rdi,%rbx,8), %r8\nadd $1, %rdx")
			LOOP("field", "add 8(%rax), %rbx\nmov (%rax), %rax") LOOP(
				"slot", "mov -8(%rbp), %rax\nmov (%rax), %rax\nmov %rax, -8(%rbp)")
				LOOP("hash", "imul $77, %rdx, %rdx\nmov (%rdi,%rdx), %r8") LOOP(
					"row", "mov -8(%rbp), %eax\nimul -16(%rbp), %eax\n"
					       "add -24(%rbp), %eax\ncltq\nmov (%rdi,%rax,8), %r8\n"
					       "addl $1, -24(%rbp)")
					LOOP("random", "mov -8(%rbp), %rax\nimul $77, %rax, %rax\n"
						       "mov %rax, -8(%rbp)\nmov (%rdi,%rax), %r8")
						LOOP("square", "mov %edx, %eax\nimul %eax, %eax\n"
							       "mov (%rdi,%rax), %r8\nadd $1, %edx")
							LOOP("either", "mov 8(%rax), %rbx\n"
								       "mov (%rax), %rax\n"
								       "cmp %rdx, %rbx\n"
								       "cmovb %rbx, %rax"));
extern const uint8_t pattern_chase[], pattern_stream[], pattern_table[], pattern_field[],
	pattern_slot[], pattern_hash[], pattern_row[], pattern_random[], pattern_square[],
	pattern_either[];
extern const uint8_t __ehdr_start[];

static struct pattern in_loop(const uint8_t *loop, uint32_t k)
{
	struct estimate_proc p = { 0 };
	struct err err = { 0 };
	struct image *im = image_open("/proc/self/exe", "self", &err);
	struct cfg_code *code;
	uint64_t addr = (uint64_t)(loop - __ehdr_start);
	struct pattern got = { 0 };

	assert_non_null(im);
	code = cfg_code_new(im, &err);
	assert_non_null(code);
	assert_int_equal(cfg_build(&p.g, code, addr, NULL, &err), 0);
	p.edge = calloc(p.g.nedges, sizeof(*p.edge));
	assert_non_null(p.edge);
	for (uint32_t i = 0; i < p.g.nedges; i++)
		p.edge[i].f = p.g.edge[i].to == p.g.edge[i].from ? 100 : 1;
	for (uint32_t b = CFG_FIRST_BLOCK; b < p.g.nblocks; b++)
		if (p.g.block[b].start == addr)
			got = pattern_of(im, &p, b, k);
	free(p.edge);
	cfg_fini(&p.g);
	cfg_code_free(code);
	image_close(im);
	return got;
}

static void loads_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(in_loop(pattern_chase, 0).kind, PATTERN_CHAIN);
	assert_int_equal(in_loop(pattern_chase, 0).every, 3);
	assert_int_equal(in_loop(pattern_stream, 0).kind, PATTERN_STREAM);
	assert_int_equal(in_loop(pattern_stream, 0).every, 4);
	/* an index that streams, and what it leads to */
	assert_int_equal(in_loop(pattern_table, 0).kind, PATTERN_STREAM);
	assert_int_equal(in_loop(pattern_table, 1).kind, PATTERN_APART);
	/* a field of an element of a list, whose pointer is loaded after it */
	assert_int_equal(in_loop(pattern_field, 0).kind, PATTERN_CHAIN);
	assert_int_equal(in_loop(pattern_field, 1).kind, PATTERN_CHAIN);
	/* the pointer lies in the stack */
	assert_int_equal(in_loop(pattern_slot, 1).kind, PATTERN_CHAIN);
	/* no sum */
	assert_int_equal(in_loop(pattern_hash, 1).kind, PATTERN_APART);
	/* a product of places that stay the same, and a sum */
	assert_int_equal(in_loop(pattern_row, 4).kind, PATTERN_STREAM);
	/* a product of a place that the last execution set, and of an index that advances */
	assert_int_equal(in_loop(pattern_random, 3).kind, PATTERN_APART);
	assert_int_equal(in_loop(pattern_square, 2).kind, PATTERN_APART);
}

/* Of 101 executions of the loop one came from before it. */
static void walks_end_where_other_code_leads_to_the_load(void **state)
{
	(void)state;
	assert_float_equal(in_loop(pattern_chase, 0).walk, 101, 1e-6);
	assert_float_equal(in_loop(pattern_slot, 1).walk, 101, 1e-6);
	assert_float_equal(in_loop(pattern_stream, 0).walk, 101, 1e-6);
	/* what is loaded from is no walk, nor is one that a comparison directs */
	assert_true(in_loop(pattern_table, 1).walk == 0 && in_loop(pattern_hash, 1).walk == 0);
	assert_int_equal(in_loop(pattern_either, 1).kind, PATTERN_CHAIN);
	assert_true(in_loop(pattern_either, 1).walk == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_are_told_apart),
		cmocka_unit_test(walks_end_where_other_code_leads_to_the_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
