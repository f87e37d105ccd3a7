/* SPDX-License-Identifier: MIT */
/*
 * Decoded procedures and what depends on what in them, over code of this very program.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/slice.h"

/* Each ends where the next begins; instructions are counted from 0. */
__asm__(".pushsection .text\n"
	".globl probe_chain\n.type probe_chain, @function\nprobe_chain:\n"
	"	movq (%rdi), %rax\n"	 /* 0 loads what is followed */
	"	movl $3, %ecx\n"	 /* 1 a constant */
	"	addq %rcx, %rax\n"	 /* 2 depends */
	"	cmpq %rsi, %rax\n"	 /* 3 depends, by flags */
	"	jne 1f\n"		 /* 4 depends */
	"	xorl %eax, %eax\n"	 /* 5 an end to it; clears */
	"1:	leaq (%rax,%rdx), %r8\n" /* 6 depends, by the branch */
	"	movq (%r8), %r9\n"	 /* 7 depends: an address */
	"	ret\n"			 /* 8 */
	".size probe_chain, . - probe_chain\n"
	".globl probe_call\n.type probe_call, @function\nprobe_call:\n"
	"	push %rbx\n"	       /* 0 the frame's */
	"	movq %rdi, %rbx\n"     /* 1 keeps rdi */
	"	call probe_chain\n"    /* 2 clobbers rdi, rsi */
	"	addq %rsi, %rax\n"     /* 3 reads what the call left in rsi */
	"	addq %rbx, %rax\n"     /* 4 reads rdi's copy */
	"	xorl %edx, %edx\n"     /* 5 rdx is written, not read */
	"	addq %rdx, %rax\n"     /* 6 … until here */
	"	leaq 8(%rsp), %r10\n"  /* 7 an address in the frame */
	"	subq %fs:0x28, %rax\n" /* 8 the canary */
	"	pop %rbx\n"	       /* 9 */
	"	ret\n"		       /* 10 */
	".size probe_call, . - probe_call\n"
	".globl probe_loop\n.type probe_loop, @function\nprobe_loop:\n"
	"	movb $1, %dil\n"   /* 0 leaves most of rdi */
	"1:	addq %rdi, %rcx\n" /* 1 */
	"	movq %rcx, %rdi\n" /* 2 */
	"	decq %rdx\n"	   /* 3 */
	"	jnz 1b\n"	   /* 4 */
	"	ret\n"		   /* 5 */
	".size probe_loop, . - probe_loop\n"
	".popsection\n");

static struct image *im;
static struct profile profile;
static struct binaries binaries;
static struct view view;
static struct listing listing;
static struct slice slice;
static struct err err;

static int open_all(void **state)
{
	(void)state;
	im = image_open("/proc/self/exe", "self", &err);
	assert_non_null(im);
	assert_int_equal(profile_init(&profile, &err), 0);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	profile_fini(&profile);
	image_close(im);
	return 0;
}

static void list(const char *name)
{
	const struct image_proc *p = image_proc_named(im, name);
	struct view_proc proc = { .n = 0 };

	assert_non_null(p);
	proc.start = p->start;
	proc.end = p->end;
	assert_int_equal(binaries_init(&binaries, &profile, NULL, &err), 0);
	assert_int_equal(view_open(&view, &profile, &binaries, &err), 0);
	proc.n = view.n;
	assert_int_equal(listing_read(&listing, im, &view, &proc), 0);
	assert_int_equal(slice_init(&slice, &listing), 0);
}

static void unlist(void)
{
	slice_fini(&slice);
	listing_fini(&listing);
	view_fini(&view);
	binaries_fini(&binaries);
}

static void assert_found(const char *wanted)
{
	char got[64] = "";

	assert_true(listing.n < sizeof(got));
	memset(got, '.', listing.n);
	for (size_t k = 0; k < slice.nfound; k++)
		got[slice.found[k]] = 'x';
	assert_string_equal(got, wanted);
}

static void test_facts(void **state)
{
	(void)state;
	list("probe_chain");
	assert_int_equal(listing.n, 9);
	assert_int_equal(listing.v[0].cls, INSN_LOAD);
	assert_int_equal(listing.v[0].addresses, 1u << UR_RDI);
	assert_true(listing.v[1].constant && listing.v[5].constant && !listing.v[2].constant);
	assert_int_equal(listing.v[5].reads, 0);
	assert_int_equal(listing.v[4].target, listing.v[6].addr);
	assert_ptr_equal(listing_at(&listing, listing.v[6].addr), &listing.v[6]);
	assert_null(listing_at(&listing, listing.v[6].addr + 1));
	unlist();
	list("probe_call");
	assert_int_equal(listing.n, 11);
	for (size_t i = 0; i < listing.n; i++)
		assert_int_equal(listing.v[i].frame, i == 0 || i == 2 || i >= 7);
	unlist();
}

static void test_dependents(void **state)
{
	(void)state;
	list("probe_chain");
	slice_from_result(&slice, 0);
	assert_found("..xxx.xx.");
	assert_true(slice.addresses);
	slice_from_result(&slice, 1);
	assert_found("..xxx.xx.");
	slice_from_result(&slice, 5);
	assert_found("......xx.");
	slice_from_result(&slice, 7);
	assert_found(".........");
	assert_false(slice.addresses);
	unlist();
}

static void test_arguments(void **state)
{
	(void)state;
	list("probe_chain");
	assert_true(slice_uses_argument(&slice, 0, 0));
	assert_true(slice_uses_argument(&slice, 0, 1));
	assert_true(slice_uses_argument(&slice, 0, 2));
	assert_false(slice_uses_argument(&slice, 0, 3)); /* rcx is written first */
	assert_false(slice_uses_argument(&slice, 0, 4));
	unlist();
	list("probe_call");
	assert_true(slice_uses_argument(&slice, 0, 0));
	assert_found(".x..x.x.x..");
	assert_false(slice_uses_argument(&slice, 0, 1)); /* the call's, not the argument */
	assert_false(slice_uses_argument(&slice, 0, 2)); /* cleared first */
	unlist();
}

static void test_loops_and_parts_of_registers(void **state)
{
	(void)state;
	list("probe_loop");
	assert_true(slice_uses_argument(&slice, 0, 0));
	assert_found(".xx...");
	slice_from_result(&slice, 2); /* round and round */
	assert_found(".x....");
	slice_from_result(&slice, 3);
	assert_found("....x.");
	unlist();
}

/* A site in the middle of what decodes as one instruction: the first of the two was data. */
static void test_sites_put_decoding_into_step(void **state)
{
	const struct image_proc *p = image_proc_named(im, "probe_chain");
	struct profile_image *pi;
	struct view_proc proc;

	(void)state;
	pi = profile_image(&profile, IMAGE_FILE, "self", image_build_id(im));
	assert_int_equal(profile_sample(&profile,
					(struct site_id){ .image = pi->id, .addr = p->start + 1 },
					1),
			 0);
	assert_int_equal(binaries_init(&binaries, &profile, NULL, &err), 0);
	assert_int_equal(view_open(&view, &profile, &binaries, &err), 0);
	proc = (struct view_proc){ .start = p->start, .end = p->end, .first = 0, .n = view.n };
	assert_int_equal(listing_read(&listing, im, &view, &proc), 0);
	assert_false(listing.v[0].valid);
	assert_int_equal(listing.v[0].len, 1);
	assert_true(listing.v[1].valid);
	assert_ptr_equal(listing.v[1].site, view.site[0]);
	listing_fini(&listing);
	view_fini(&view);
	binaries_fini(&binaries);
}

static void test_no_code_there(void **state)
{
	struct view_proc proc = { .start = 1, .end = 100 };

	(void)state;
	assert_int_equal(binaries_init(&binaries, &profile, NULL, &err), 0);
	assert_int_equal(view_open(&view, &profile, &binaries, &err), 0);
	assert_int_equal(listing_read(&listing, im, &view, &proc), -1);
	proc.start = 0;
	proc.end = UINT64_MAX;
	assert_int_equal(listing_read(&listing, im, &view, &proc), -1);
	view_fini(&view);
	binaries_fini(&binaries);
}

/* Samples of a block are those of whichever instruction retires last of several. */
static void test_time_is_shared_within_a_block(void **state)
{
	const struct image_proc *p = image_proc_named(im, "probe_chain");
	struct site_id first = { .addr = p->start }, last = { .addr = p->end - 1 };

	(void)state;
	profile_fini(&profile);
	assert_int_equal(profile_init(&profile, &err), 0);
	first.image = last.image =
		profile_image(&profile, IMAGE_FILE, "self", image_build_id(im))->id;
	assert_int_equal(profile_sample(&profile, first, 50), 0); /* in the block of 0 to 4 */
	assert_int_equal(profile_sample(&profile, last, 30), 0);  /* in that of 6 to 8 */
	list("probe_chain");
	slice_from_result(&slice, 0);
	assert_found("..xxx.xx.");
	assert_true(fabs(slice_time(&slice, &view, SLICE_NO_ORIGIN) - (50 * 3 / 5. + 30 * 2 / 3.)) <
		    1e-9);
	assert_true(fabs(slice_time(&slice, &view, 0) - (50 + 30 * 2 / 3.)) < 1e-9);
	unlist();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_dependents),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_loops_and_parts_of_registers),
		cmocka_unit_test(test_sites_put_decoding_into_step),
		cmocka_unit_test(test_no_code_there),
		cmocka_unit_test(test_time_is_shared_within_a_block),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
