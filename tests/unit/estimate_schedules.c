/* SPDX-License-Identifier: MIT */
/* A program's blocks and their code: of this program, in which a block of 60,000 bytes lies across several of the pieces in which
 * images are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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
/* Loops: of three blocks with a chain of two multiplications; one whose second multiplication is in a procedure that it calls. */
__asm__(".text\n.globl apart\n.type apart, @function\napart:\n1: imul %rbx, %rax\ntest %rdx, "
	"%rdx\njz 2f\n"
	"imul %rbx, %rax\n2: dec %rcx\njnz 1b\nret\n.size apart, . - apart\n"
	".globl calls\n.type calls, @function\ncalls:\n1: imul %rbx, %rax\ncall called\ndec "
	"%rcx\njnz 1b\nret\n"
	".size calls, . - calls\n"
	".globl called\n.type called, @function\ncalled:\nimul %rbx, %rax\nret\n.size called, . - "
	"called\n");
extern const uint8_t apart[], calls[], called[];
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

/* A program of up to two procedures of this one. Branches are taken where they go back, in that share of the cases. */
struct program {
	struct estimate e;
	struct estimate_proc p[2];
	struct estimate_call call;
	struct cfg_code *code;
};

static void add_procedure(struct program *g, const uint8_t *at, double back)
{
	struct estimate_proc *p = &g->p[g->e.nproc];
	struct err err = { 0 };

	assert_int_equal(cfg_build(&p->g, g->code, (uint64_t)(at - __ehdr_start), NULL, &err), 0);
	p->first = g->e.nblocks;
	p->samples = calloc(p->g.nblocks, sizeof(*p->samples));
	p->block = calloc(p->g.nblocks, sizeof(*p->block));
	p->share = calloc(p->g.nedges, sizeof(*p->share));
	p->edge = calloc(p->g.nedges, sizeof(*p->edge));
	assert_true(p->samples && p->block && p->share && p->edge);
	for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
		p->samples[b] = 100;
		p->block[b].f = 1;
	}
	for (uint32_t i = 0; i < p->g.nedges; i++) {
		const struct cfg_edge *e = &p->g.edge[i];
		const struct cfg_block *k = &p->g.block[e->from];
		bool loop = k->nout == 2 && p->g.edge[k->out + 1].to <= e->from;

		p->share[i] = cfg_is_untaken(&p->g, i) ? (loop ? 1 - back : 1) : (loop ? back : 0);
	}
	g->e.nblocks += p->g.nblocks;
	g->e.nproc++;
}

/* The cycles of all blocks, by their schedules, each executed once. */
static double cycles_of(struct program *g)
{
	struct estimate_source src = { .image = image_at,
				       .ctx = im,
				       .schedule.cpu = "Intel(R) Xeon(R) (Sapphire Rapids)" };
	struct schedules s;
	double cycles = 0;

	g->e.proc = g->p;
	assert_int_equal(schedules_make(&s, &g->e, &src), 0);
	for (size_t i = 0; i < g->e.nproc; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < g->p[i].g.nblocks; b++) {
			const struct schedule_insn *insn = schedules_of(&s, &g->p[i], b);

			for (uint32_t k = 0; insn && k < g->p[i].g.block[b].ninsn; k++)
				cycles += insn[k].least;
		}
	schedules_fini(&s);
	return cycles;
}

static void begin(struct program *g)
{
	struct err err = { 0 };

	memset(g, 0, sizeof(*g));
	g->code = cfg_code_new(im, &err);
	assert_non_null(g->code);
}

static void end(struct program *g)
{
	for (size_t i = 0; i < g->e.nproc; i++) {
		free(g->p[i].samples);
		free(g->p[i].block);
		free(g->p[i].share);
		free(g->p[i].edge);
		cfg_fini(&g->p[i].g);
	}
	cfg_code_free(g->code);
}

/* Two multiplications of three cycles each, one after the other, which the blocks alone do not show; and what retires behind
 * the loop. A loop that is left after two rounds overlaps with itself. */
static void a_chain_through_several_blocks_takes_its_time(void **state)
{
	static const double back[] = { 0.999, 0.5 };
	double cycles[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct program g;

		begin(&g);
		add_procedure(&g, apart, back[i]);
		cycles[i] = cycles_of(&g);
		end(&g);
	}
	assert_true(cycles[0] >= 6 && cycles[0] <= 7);
	assert_true(cycles[1] <= 4);
}

static void a_chain_goes_through_calls(void **state)
{
	struct program g;
	double known, unknown;

	(void)state;
	begin(&g);
	add_procedure(&g, calls, 0.999);
	add_procedure(&g, called, 0);
	unknown = cycles_of(&g);
	g.call = (struct estimate_call){ 0, CFG_FIRST_BLOCK, 1, 1 };
	g.e.call = &g.call;
	g.e.ncalls = 1;
	known = cycles_of(&g);
	end(&g);
	assert_true(known >= 6 && known <= 7.5);
	assert_true(unknown <= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_through_several_blocks_takes_its_time),
		cmocka_unit_test(a_chain_goes_through_calls),
		cmocka_unit_test(code_is_in_one_place_however_long),
		cmocka_unit_test(a_block_of_any_length_has_a_schedule),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
