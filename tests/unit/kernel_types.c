/* SPDX-License-Identifier: MIT */
/* The kernel's types that the kernel side reads: made of types that are known, and of malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sampler.skel.h"
#include "sampler/kernel_types.h"

/* A kernel with the structures that are asked for, and others. */
static struct btf *some_types(void)
{
	struct btf *b = btf__new_empty();
	int word, pointer, constant, flags, flags_t, thread, inner;

	assert_non_null(b);
	word = btf__add_int(b, "unsigned long", 8, 0);
	pointer = btf__add_ptr(b, word);
	constant = btf__add_const(b, pointer);
	thread = btf__add_struct(b, "thread_struct", 32);
	btf__add_field(b, "sp", word, 0, 0);
	btf__add_field(b, "fsbase", word, 128, 0);
	btf__add_struct(b, "unrelated", 8);
	btf__add_field(b, "pid", word, 0, 0);
	btf__add_struct(b, "task_struct", 128);
	btf__add_field(b, "state", word, 0, 0);
	btf__add_field(b, "thread", thread, 64, 0);
	btf__add_field(b, "mm", constant, 512, 0);
	btf__add_field(b, "tgid", word, 576, 3);
	flags = btf__add_array(b, word, word, 2);
	inner = btf__add_struct(b, NULL, 16);
	btf__add_field(b, "__mm_flags", flags, 0, 0);
	flags_t = btf__add_typedef(b, "mm_flags_t", inner);
	inner = btf__add_struct(b, NULL, 32);
	btf__add_field(b, "pgd", word, 0, 0);
	btf__add_field(b, "flags", flags_t, 64, 0);
	btf__add_field(b, "brk", word, 192, 0);
	btf__add_struct(b, "mm_struct", 40);
	btf__add_field(b, NULL, inner, 64, 0);
	return b;
}

static const struct btf_type *structure(const struct btf *b, const char *name)
{
	int id = btf__find_by_name_kind(b, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(b, (uint32_t)id) : NULL;
}

static const struct btf_member *member(const struct btf *b, const struct btf_type *t,
				       const char *name)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(b, btf_members(t)[i].name_off), name))
			return &btf_members(t)[i];
	return NULL;
}

static struct btf *reduced(struct btf *b)
{
	uint32_t size;
	const void *raw = btf__raw_data(b, &size);
	struct btf *r = kernel_types_reduce(raw, size);

	btf__free(b);
	return r;
}

static void test_members_keep_their_places(void **unused)
{
	struct btf *r = reduced(some_types());
	const struct btf_type *task, *thread, *mm, *inner;
	const struct btf_member *m;

	(void)unused;
	assert_non_null(r);
	task = structure(r, "task_struct");
	assert_non_null(task);
	assert_int_equal(task->size, 128);
	assert_int_equal(btf_vlen(task), 3);
	assert_null(member(r, task, "state"));
	assert_non_null(member(r, task, "mm"));
	m = member(r, task, "tgid");
	assert_int_equal(btf_member_bit_offset(task, (uint32_t)(m - btf_members(task))), 576);
	assert_int_equal(btf_member_bitfield_size(task, (uint32_t)(m - btf_members(task))), 3);
	m = member(r, task, "thread");
	assert_int_equal(btf_member_bit_offset(task, (uint32_t)(m - btf_members(task))), 64);
	thread = btf__type_by_id(r, m->type);
	assert_ptr_equal(thread, structure(r, "thread_struct"));
	assert_int_equal(btf_vlen(thread), 1);
	assert_int_equal(member(r, thread, "fsbase")->offset, 128);
	/* structures without names are kept */
	mm = structure(r, "mm_struct");
	assert_int_equal(btf_vlen(mm), 1);
	inner = btf__type_by_id(r, btf_members(mm)->type);
	assert_int_equal(btf_vlen(inner), 2);
	assert_int_equal(member(r, inner, "brk")->offset, 192);
	inner = btf__type_by_id(r, member(r, inner, "flags")->type);
	assert_non_null(member(r, inner, "__mm_flags"));
	assert_null(structure(r, "unrelated"));
	btf__free(r);
}

/* Malformed types that hold themselves end. */
static void test_a_structure_within_itself(void **unused)
{
	struct btf *b = btf__new_empty(), *r;

	(void)unused;
	btf__add_int(b, "int", 4, 0);
	btf__add_struct(b, "task_struct", 8);
	btf__add_field(b, "pid", 1, 0, 0);
	btf__add_field(b, "thread", 2, 0, 0);
	btf__add_field(b, "mm", 3, 0, 0);
	btf__add_typedef(b, "loop", 3);
	r = reduced(b);
	assert_non_null(r);
	assert_int_equal(btf_vlen(structure(r, "task_struct")), 1);
	btf__free(r);
}

/* Every shorter file is refused, and none is read beyond its end. */
static void test_cut(void **unused)
{
	struct btf *b = some_types();
	uint32_t size;
	const void *raw = btf__raw_data(b, &size);

	(void)unused;
	for (uint32_t n = 0; n < size; n++) {
		void *cut = malloc(n + 1);

		assert_non_null(cut);
		memcpy(cut, raw, n);
		assert_null(kernel_types_reduce(cut, n));
		free(cut);
	}
	btf__free(b);
}

/* The offset of a member, in bits, also where it is in a structure without a name; -1: there is none. */
static int64_t offset_of(const struct btf *b, const struct btf_type *t, const char *name)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *is = btf__name_by_offset(b, m->name_off);
		const struct btf_type *in = btf__type_by_id(b, m->type);
		int64_t at = -1;

		if (!strcmp(is, name))
			return btf_member_bit_offset(t, i);
		if (!*is && btf_is_composite(in))
			at = offset_of(b, in, name);
		if (at >= 0)
			return at + btf_member_bit_offset(t, i);
	}
	return -1;
}

/* Whether the kernel side means the kernel's structure of that name. */
static bool is_kernels(const char *name)
{
	/* one of the interface to programs, and one that has that name by chance */
	return strcmp(name, "pt_regs") != 0 && strcmp(name, "bpf_perf_event_data") != 0;
}

static void check_structure(const struct btf *all, const struct btf *some, const struct btf *local,
			    const struct btf_type *t)
{
	const char *end, *name = btf__name_by_offset(local, t->name_off);
	const struct btf_type *of, *in;
	char base[128];

	end = strstr(name, "___");
	snprintf(base, sizeof(base), "%.*s", end ? (int)(end - name) : 127, name);
	of = structure(all, base);
	if (!*base || !of || !is_kernels(base))
		return;
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const char *m = btf__name_by_offset(local, btf_members(t)[i].name_off);

		if (offset_of(all, of, m) < 0)
			continue;
		in = structure(some, base);
		if (!in || offset_of(some, in, m) != offset_of(all, of, m))
			fail_msg("%s.%s", base, m);
	}
}

/* What the kernel side reads of the kernel that runs is among the types that libbpf gets. */
static void test_all_that_is_read(void **unused)
{
	struct btf *all = btf__load_vmlinux_btf(), *some;
	struct sampler_bpf *b = sampler_bpf__open();
	const struct btf *local;
	const void *raw;
	uint32_t size;

	(void)unused;
	assert_non_null(b);
	local = bpf_object__btf(b->obj);
	if (!all)
		skip();
	raw = btf__raw_data(all, &size);
	some = kernel_types_reduce(raw, size);
	assert_non_null(some);
	for (uint32_t id = 1; id < btf__type_cnt(local); id++)
		if (btf_is_struct(btf__type_by_id(local, id)))
			check_structure(all, some, local, btf__type_by_id(local, id));
	btf__free(some);
	btf__free(all);
	sampler_bpf__destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_keep_their_places),
		cmocka_unit_test(test_a_structure_within_itself),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_all_that_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
