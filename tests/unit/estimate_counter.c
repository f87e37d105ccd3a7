/* SPDX-License-Identifier: MIT */
/* Whether an instruction that advances a register counts its executions, in procedures of this program's own; whether nothing
 * else changes what it counts in; and how often branches are mispredicted. */
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
#include "estimate/counter.h"
#include "estimate/estimate_priv.h"
#include "estimate/wrong.h"
#include "image/image.h"
#include "observe/locality.h"
#include "sketch/hot.h"
#include "x86/insn.h"

/* In each procedure the instruction at `counter_NAME_at` counts. */
#define PROC(name, code) \
	".text\n.globl counter_" name "\n.type counter_" name ", @function\ncounter_" name \
	":\n" code "ret\n.size counter_" name ", . - counter_" name "\n"
#define AGAIN(reg) "cmp %rdi, " reg "\njb 1b\n"
/* A label that is no symbol, which would be another procedure, and a pointer to it. */
#define LABEL(name) \
	".pushsection .data.rel.ro, \"aw\"\n.globl counter_" name "\n.balign 8\ncounter_" name \
	": .quad .Lcounter_" name "\n.popsection\n.Lcounter_" name ": "
#define AT(name) LABEL(name "_at")
#define SET(name) LABEL(name "_set")

/* The loop begins at a constant, by each of three ways; or at a difference. */
#define FROM(name, set) SET(name) set "\n1: " AT(name) "add $3, %rax\n" AGAIN("%rax")
__asm__(PROC("constant", FROM("constant", "mov $5, %eax")));
__asm__(PROC("zero", FROM("zero", "xor %eax, %eax")));
__asm__(PROC("less", FROM("less", "sub %rax, %rax")));
__asm__(PROC("difference", FROM("difference", "sub %rcx, %rax")));
/* At what was loaded; at an argument. */
#define LOADED SET("loaded") "mov (%rsi), %rax\n1: " AT("loaded")
__asm__(PROC("loaded", LOADED "add $3, %rax\n" AGAIN("%rax")));
__asm__(PROC("argument", "1: " AT("argument") "add $3, %rsi\n" AGAIN("%rsi")));
/* It is executed once. */
__asm__(PROC("once", "xor %eax, %eax\n" AT("once") "add $3, %rax\n"));
/* The loop has another way, on which the register is loaded anew. */
#define RESET "1: test $1, %dil\njnz 2f\n" SET("reset") "mov (%rsi), %rax\n2: " AT("reset")
__asm__(PROC("reset", "xor %eax, %eax\n" RESET "add $3, %rax\n" AGAIN("%rax")));
/* A call may change rax, but not rbx. */
#define CALLED SET("called") "call counter_once\n" AT("called")
__asm__(PROC("called", "xor %eax, %eax\n1: " CALLED "add $3, %rax\n" AGAIN("%rax")));
#define KEPT "1: call counter_once\n" AT("kept") "add $3, %rbx\n" AGAIN("%rbx")
__asm__(PROC("kept", "push %rbx\nxor %ebx, %ebx\n" KEPT "pop %rbx\n"));
/* A second instruction counts in the same register. */
#define BOTH AT("both") "add $3, %rax\n" SET("both") "add $4, %rax\n"
__asm__(PROC("both", "xor %eax, %eax\n1: " BOTH AGAIN("%rax")));
/* Words at a fixed place, in the frame, and in an object. */
__asm__(PROC("fixed", AT("fixed") "addq $1, counter_word(%rip)\n"));
__asm__(PROC("frame", AT("frame") "addq $1, -8(%rsp)\n"));
__asm__(PROC("object", AT("object") "addq $1, 8(%rdi)\n"));
__asm__(".local counter_word\n.comm counter_word, 8\n");

/* A procedure, and the instruction that counts. */
#define P(name) \
	extern const uint8_t counter_##name[]; \
	extern const uint8_t *const counter_##name##_at
P(constant);
P(zero);
P(less);
P(difference);
P(loaded);
P(argument);
P(once);
P(reset);
P(called);
P(kept);
P(both);
P(fixed);
P(frame);
P(object);
/* The instruction that sets the register. */
#define S(name) extern const uint8_t *const counter_##name##_set
S(constant);
S(zero);
S(less);
S(difference);
S(loaded);
S(reset);
S(called);
S(both);
extern const uint8_t __ehdr_start[];

static struct image *own;

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

/*
 * A tally of `seen` windows that saw the counting instruction. Windows saw the instruction at `set` so often, and no other
 * one but the counting one; agreed: windows in which the counter went on by its step.
 */
struct watched {
	const uint8_t *set;
	uint64_t often, seen, agreed;
	const uint8_t *peer; /* an instruction that counts in the same register, or NULL */
};

static bool is_sure(const uint8_t *proc, const uint8_t *counts, struct watched w)
{
	struct site other = { .observed = w.often };
	struct tally t = { .key = { .addr = at(counts) }, .seen = w.seen, .agreed = w.agreed };
	struct profile profile;
	const struct estimate_source src = { .image = image, .profile = &profile };
	struct estimate_proc p = { 0 };
	struct estimate_range range = { .end = UINT64_MAX };
	struct estimate e = { .proc = &p, .nproc = 1, .range = &range, .nranges = 1 };
	struct counter_source source = { &e, &src };
	struct err err = { 0 };
	struct cfg_code *code;
	bool sure;

	if (w.peer)
		t.peer[0] = (struct tally_peer){ { .addr = at(w.peer) }, 1 };
	own = image_open("/proc/self/exe", "self", &err);
	assert_non_null(own);
	assert_int_equal(profile_init(&profile, &err), 0);
	code = cfg_code_new(own, &err);
	assert_non_null(code);
	assert_int_equal(cfg_build(&p.g, code, at(proc), NULL, &err), 0);
	p.site = calloc(p.g.ninsns + 1, sizeof(*p.site));
	assert_non_null(p.site);
	for (uint32_t i = 0; w.set && i < p.g.ninsns; i++)
		if (p.g.insn[i].addr == at(w.set))
			p.site[i] = &other;
	sure = counter_is_sure(&source, &t);
	free(p.site);
	cfg_fini(&p.g);
	cfg_code_free(code);
	profile_fini(&profile);
	image_close(own);
	return sure;
}

/* However often windows saw the loop begin. */
static void loops_count_from_constants(void **state)
{
	struct watched w = { .set = counter_constant_set, .often = 500, .seen = 1000 };

	(void)state;
	assert_true(is_sure(counter_constant, counter_constant_at, w));
	w.set = counter_zero_set;
	assert_true(is_sure(counter_zero, counter_zero_at, w));
	w.set = counter_less_set;
	assert_true(is_sure(counter_less, counter_less_at, w));
	w.set = counter_difference_set;
	assert_false(is_sure(counter_difference, counter_difference_at, w));
	assert_false(is_sure(counter_once, counter_once_at, w)); /* it never adds to its own sum */
}

/* What else sets the register may be another count: it must be rare, one window in a hundred, or one in all. */
static void what_else_sets_the_register_is_rare(void **state)
{
	const struct {
		const uint8_t *proc, *counts, *set;
	} cases[] = {
		{ counter_loaded, counter_loaded_at, counter_loaded_set },
		{ counter_argument, counter_argument_at, counter_argument },
		{ counter_reset, counter_reset_at, counter_reset_set },
	};

	(void)state;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 4; k++) {
			static const uint64_t seen[] = { 1000, 1000, 10, 10 },
					      often[] = { 10, 11, 1, 2 };
			const struct watched w = { cases[i].set, often[k], seen[k], 0, NULL };

			if (is_sure(cases[i].proc, cases[i].counts, w) != (k % 2 == 0))
				fail_msg("case %d, %d", i, k);
		}
}

static void calls_keep_some_registers(void **state)
{
	struct watched w = { .set = counter_called_set, .often = 500, .seen = 1000 };

	(void)state;
	assert_true(is_sure(counter_kept, counter_kept_at, (struct watched){ .seen = 1000 }));
	/* unless windows saw the counter go on after the call, 20 times or more */
	w.agreed = TALLY_SURE - 1;
	assert_false(is_sure(counter_called, counter_called_at, w));
	w.agreed = TALLY_SURE;
	assert_true(is_sure(counter_called, counter_called_at, w));
}

static void two_may_count_in_one_register(void **state)
{
	struct watched w = { .set = counter_both_set, .often = 1000, .seen = 1000 };

	(void)state;
	assert_false(is_sure(counter_both, counter_both_at, w));
	w.peer = counter_both_set;
	assert_true(is_sure(counter_both, counter_both_at, w));
}

static bool is_own(const uint8_t *counts, uint8_t cls, uint64_t strangers)
{
	struct tally t = { .key = { .addr = at(counts) }, .strangers = strangers };
	struct profile profile;
	const struct estimate_source src = { .image = image, .profile = &profile };
	struct estimate none = { 0 };
	struct counter_source source = { &none, &src };
	struct err err = { 0 };
	bool own_word;

	own = image_open("/proc/self/exe", "self", &err);
	assert_non_null(own);
	assert_int_equal(profile_init(&profile, &err), 0);
	profile_site(&profile, t.key)->cls = cls;
	own_word = counter_is_own(&source, &t);
	/* words of memory need no look at the code to be sure, but 20 observations */
	if (cls == INSN_RMW) {
		t.agreed = TALLY_SURE - 1;
		assert_false(counter_is_sure(&source, &t));
		t.agreed = TALLY_SURE;
		assert_true(counter_is_sure(&source, &t));
	}
	profile_fini(&profile);
	image_close(own);
	return own_word;
}

static void words_of_other_code_are_not_its_own(void **state)
{
	(void)state;
	assert_true(is_own(counter_zero_at, INSN_OTHER, 0)); /* a register */
	assert_true(is_own(counter_zero_at, INSN_OTHER, 5));
	assert_true(is_own(counter_fixed_at, INSN_RMW, 0));
	assert_false(is_own(counter_fixed_at, INSN_RMW, 1)); /* windows saw others store there */
	assert_true(is_own(counter_frame_at, INSN_RMW, 1));
	assert_false(is_own(counter_object_at, INSN_RMW, 0)); /* one object out of many */
}

static void is(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fabs(b)))
		fail_msg("%.12g instead of %.12g", a, b);
}

/* A branch is mispredicted no more often than it goes the rarer way. Where windows' predictor was asked, its answer counts, beside
 * four that are as often wrong as that. */
static void branches_are_wrong_the_rarer_way(void **state)
{
	struct locality *seen;
	struct site s = { .cls = INSN_BRANCH, .observed = 1000, .windows = 400, .taken = 900 };
	double n;

	(void)state;
	is(wrong_rarer(&s, INSN_BRANCH, &n), 0.1);
	is(n, 400);
	is(wrong_predicted(&s, INSN_BRANCH), 0.1);
	s.taken = 50;
	is(wrong_predicted(&s, INSN_BRANCH), 0.05);
	seen = locality_of(&s);
	assert_non_null(seen);
	seen->branches = 96;
	seen->mispredicted = 2;
	is(wrong_predicted(&s, INSN_BRANCH), (2 + 4 * 0.05) / 100);
	seen->mispredicted = 30;
	is(wrong_predicted(&s, INSN_BRANCH), 0.05); /* 0.302, but no more than the rarer way */
	seen->branches = 0;
	is(wrong_predicted(&s, INSN_BRANCH), 0.05);
	/* a branch that nothing is known of */
	is(wrong_predicted(NULL, INSN_BRANCH), 0.01);
	is(wrong_predicted(&(struct site){ 0 }, INSN_BRANCH), 0.01);
	/* returns and direct jumps are not predicted for themselves */
	assert_true(wrong_predicted(&s, INSN_RET) == 0);
	assert_true(wrong_predicted(&s, INSN_JUMP) == 0);
	locality_drop(s.locality);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_count_from_constants),
		cmocka_unit_test(what_else_sets_the_register_is_rare),
		cmocka_unit_test(calls_keep_some_registers),
		cmocka_unit_test(two_may_count_in_one_register),
		cmocka_unit_test(words_of_other_code_are_not_its_own),
		cmocka_unit_test(branches_are_wrong_the_rarer_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
