/* SPDX-License-Identifier: MIT */
/* What ran before an instruction, in binary searches of this program's own. */
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
#include "culprit/path.h"
#include "estimate/schedules.h"
#include "image/image.h"

/* The head compares an element with what is searched for. Either half of the loop, which has `more` besides, goes back to the
 * head. */
#define SEARCH(name, more) \
	".globl path_" name "\n.type path_" name ", @function\npath_" name ":\n" \
	"1: lea (%rcx,%rdx), %rax\nshr %rax\ncmp (%rdi,%rax,8), %r8\njb 2f\n" \
	"mov %rax, %rdx\n" more "cmp %rdx, %rcx\njb 1b\nret\n" \
	"2: lea 1(%rax), %rcx\n" more "cmp %rdx, %rcx\njb 1b\nret\n.size path_" name \
	", . - path_" name "\n"
__asm__(".text\n" SEARCH("short", "") SEARCH("long", ".rept 8\nnot %r9\n.endr\n"));
extern const uint8_t path_short[], path_long[];
extern const uint8_t __ehdr_start[];

#define TIMES 1000
#define WRONG 0.4 /* part of the head's branches that are mispredicted */

static struct image *own;
static struct crowd none;

struct search {
	struct estimate_proc p;
	struct estimate e;
	struct estimate_source src;
	struct schedules unscheduled;
	struct fact_source facts;
	struct site branch;
	struct cfg_code *code;
	struct paths *paths;
	uint32_t head;
};

static struct image *image(void *ctx, uint32_t number)
{
	(void)ctx;
	(void)number;
	return own;
}

static uint64_t last_of(const struct search *s, uint32_t b)
{
	const struct cfg_block *block = &s->p.g.block[b];

	return s->p.g.insn[block->insn + block->ninsn - 1].addr;
}

/* The head runs TIMES times, each half as often as the other; control comes from outside hardly ever. */
static void run(struct search *s)
{
	struct estimate_proc *p = &s->p;
	const struct cfg_block *head = &p->g.block[s->head];

	for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++)
		p->block[b] = (struct estimate_value){ .f = b == s->head ? TIMES : TIMES / 2.,
						       .confidence = CONFIDENCE_HIGH };
	for (uint32_t i = 0; i < p->g.nedges; i++)
		p->edge[i].f = p->g.edge[i].from == CFG_ENTRY_BLOCK ? 0 : TIMES / 2.;
	s->branch = (struct site){
		.cls = INSN_BRANCH, .observed = 100000, .windows = 100000, .taken = 50000
	};
	*locality_of(&s->branch) =
		(struct locality){ .branches = 100000, .mispredicted = (uint64_t)(100000 * WRONG) };
	p->site[head->insn + head->ninsn - 1] = &s->branch;
}

static void search_init(struct search *s, const uint8_t *code)
{
	static const struct estimate_source source = { .image = image };
	uint64_t start = (uint64_t)(code - __ehdr_start);
	struct err err = { 0 };

	*s = (struct search){ .src = source };
	own = image_open("/proc/self/exe", "self", &err);
	assert_non_null(own);
	s->code = cfg_code_new(own, &err);
	assert_non_null(s->code);
	assert_int_equal(cfg_build(&s->p.g, s->code, start, NULL, &err), 0);
	s->p.site = calloc(s->p.g.ninsns + 1, sizeof(*s->p.site));
	s->p.block = calloc(s->p.g.nblocks + 1, sizeof(*s->p.block));
	s->p.edge = calloc(s->p.g.nedges + 1, sizeof(*s->p.edge));
	s->unscheduled.of = calloc(s->p.g.nblocks + 1, sizeof(*s->unscheduled.of));
	assert_true(s->p.site && s->p.block && s->p.edge && s->unscheduled.of);
	for (uint32_t b = CFG_FIRST_BLOCK; b < s->p.g.nblocks; b++)
		if (s->p.g.block[b].start == start)
			s->head = b;
	run(s);
	s->e = (struct estimate){ .proc = &s->p, .nproc = 1, .nblocks = s->p.g.nblocks };
	s->facts = (struct fact_source){ .machine = culprit_machine("AMD EPYC 9654"),
					 .schedules = &s->unscheduled,
					 .scale = 1,
					 .processes = 1,
					 .data_lines = &none,
					 .data_pages = &none,
					 .code_lines = &none,
					 .code_pages = &none,
					 .targets = &none,
					 .insns = &none };
	s->paths = paths_new(&s->e, &s->src, &s->facts);
	assert_non_null(s->paths);
}

static void search_fini(struct search *s)
{
	paths_free(s->paths);
	locality_drop(s->branch.locality);
	free(s->unscheduled.of);
	free(s->p.site);
	free(s->p.block);
	free(s->p.edge);
	cfg_fini(&s->p.g);
	cfg_code_free(s->code);
	image_close(own);
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 0.02 * b;
}

/* What depends on each other behind a misprediction waits: in the half of the loop that it leads to, and in the head
 * behind that. */
static void mispredictions_expose_two_short_blocks(void **state)
{
	struct search s;
	const struct fact *f;

	(void)state;
	search_init(&s, path_short);
	for (uint32_t b = CFG_FIRST_BLOCK; b < s.p.g.nblocks; b++) {
		if (s.p.g.block[b].ninsn != 3)
			continue;
		f = paths_placed(s.paths, &s.p, b, 1);
		assert_true(is_near(f->exposed.likely, WRONG * 1));
		assert_int_equal(f->branch_fault->addr, last_of(&s, s.head));
	}
	f = paths_placed(s.paths, &s.p, s.head, 2);
	assert_true(is_near(f->exposed.likely, WRONG * f->latency));
	assert_true(f->exposed.most >= WRONG * f->ready);
	assert_int_equal(f->branch_fault->addr, last_of(&s, s.head));
	search_fini(&s);
}

static void long_blocks_fill_the_pipeline(void **state)
{
	struct search s;
	const struct fact *f;

	(void)state;
	search_init(&s, path_long);
	for (uint32_t b = CFG_FIRST_BLOCK; b < s.p.g.nblocks; b++)
		if (s.p.g.block[b].ninsn == 11)
			assert_true(paths_placed(s.paths, &s.p, b, 2)->exposed.likely > 0.3);
	f = paths_placed(s.paths, &s.p, s.head, 2);
	assert_true(f->exposed.likely < 0.1 * WRONG * f->latency);
	search_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mispredictions_expose_two_short_blocks),
		cmocka_unit_test(long_blocks_fill_the_pipeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
