/* SPDX-License-Identifier: MIT */
/* A program's blocks and their code: of this program, in which a block of 60,000 bytes lies across several of the pieces in which
 * images are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cfg/cfg.h"
#include "estimate/schedules.h"
#include "image/image.h"

#define INSNS 20000
#define LEN 3 /* bytes of each: inc rax */

__asm__(".text\n.globl long_block\n.type long_block, @function\nlong_block:\n.rept 20000\ninc "
	"%rax\n.endr\nret\n"
	".size long_block, . - long_block\n");
extern const uint8_t long_block[];
extern const uint8_t __ehdr_start[];

static struct image *im;

static int open_self(void **state)
{
	struct err err;

	(void)state;
	im = image_open("/proc/self/exe", "self", &err);
	return im ? 0 : -1;
}

static int close_self(void **state)
{
	(void)state;
	image_close(im);
	return 0;
}

static struct image *image_at(void *ctx, uint32_t image)
{
	(void)image;
	return ctx;
}

static void code_is_in_one_place_however_long(void **state)
{
	const struct image_segment *seg;
	uint64_t at = (uint64_t)(long_block - __ehdr_start);
	size_t n = (size_t)INSNS * LEN;
	const uint8_t *code = image_code_all(im, at, n);

	(void)state;
	assert_non_null(code);
	assert_memory_equal(code, long_block, n);
	assert_true(image_segments(im, &seg) > 0);
	assert_non_null(image_code_all(im, seg[0].addr, seg[0].size));
	assert_null(image_code_all(im, seg[0].addr, seg[0].size + 1));
	assert_null(image_code_all(im, seg[0].addr - 1, 1));
	assert_null(image_code_all(im, at, 0));
}

/* By the table, which lets four additions run in a cycle. */
static void a_block_of_any_length_has_a_schedule(void **state)
{
	uint64_t at = (uint64_t)(long_block - __ehdr_start);
	struct cfg_block block[3] = { [CFG_FIRST_BLOCK] = { .start = at,
							    .end = at + (uint64_t)INSNS * LEN,
							    .ninsn = INSNS } };
	double samples[3] = { [CFG_FIRST_BLOCK] = 1 };
	struct estimate_proc p = { .g = { .block = block, .nblocks = 3, .nclasses = 1 },
				   .samples = samples };
	struct estimate e = { .proc = &p, .nproc = 1, .nblocks = 3 };
	struct estimate_source src = { .image = image_at,
				       .ctx = im,
				       .schedule = { .table = true } };
	struct schedules s;
	const struct schedule_insn *insn;
	double cycles = 0;

	(void)state;
	assert_int_equal(schedules_make(&s, &e, &src), 0);
	insn = schedules_of(&s, &p, CFG_FIRST_BLOCK);
	assert_non_null(insn);
	for (unsigned i = 0; i < INSNS; i++)
		cycles += insn[i].least;
	assert_float_equal(cycles, INSNS / 4., 1e-3);
	schedules_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_in_one_place_however_long),
		cmocka_unit_test(a_block_of_any_length_has_a_schedule),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
