/* SPDX-License-Identifier: MIT */
/* Call stacks: the tree, its sums, merging, and what a recording keeps of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/stacks.h"
#include "report/calltree.h"
#include "store/recording.h"

#define MS 1000000ull

/* main calls f and g, both call work; one stack of another thread is cut. */
struct tree {
	uint32_t root, in_main, f, g, work_f, work_g, cut, deep;
	long one, two;
};

static void build(struct stacks *s, uint32_t image, struct tree *t)
{
	t->root = stacks_frame(s, 0, FRAME_ROOT, 0, 0);
	t->in_main = stacks_frame(s, t->root, FRAME_CALL, image, 0x1010);
	t->f = stacks_frame(s, t->in_main, FRAME_CALL, image, 0x2010);
	t->g = stacks_frame(s, t->in_main, FRAME_CALL, image, 0x3010);
	t->work_f = stacks_frame(s, t->f, FRAME_CODE, image, 0x4000);
	t->work_g = stacks_frame(s, t->g, FRAME_CODE, image, 0x4000);
	t->cut = stacks_frame(s, 0, FRAME_DEPTH, 0, 0);
	t->deep = stacks_frame(s, t->cut, FRAME_CODE, image, 0x4000);
	t->one = stacks_thread(s, 0, 10, 10, "main", "/a");
	t->two = stacks_thread(s, 0, 10, 11, "worker", "");
	assert_int_equal(stacks_add(s, t->work_f, (uint32_t)t->one, 5 * MS, 1, 10), 0);
	assert_int_equal(stacks_add(s, t->work_f, (uint32_t)t->one, 5 * MS, 2, 20), 0);
	assert_int_equal(stacks_add(s, t->work_g, (uint32_t)t->one, 25 * MS, 1, 7), 0);
	assert_int_equal(stacks_add(s, t->deep, (uint32_t)t->two, 25 * MS, 1, 3), 0);
}

static void test_tree(void **state)
{
	struct stacks s = { 0 };
	struct tree t, again;

	(void)state;
	build(&s, 1, &t);
	assert_int_equal(s.nframe, 9);
	build(&s, 1, &again);
	assert_memory_equal(&t, &again, sizeof(t));
	assert_int_equal(s.nframe, 9);
	assert_int_equal(s.nthread, 2);
	for (uint32_t i = 1; i < s.nframe; i++)
		assert_true(s.frame[i].parent < i);
	stacks_fold(&s);
	assert_int_equal(s.nsample, 3);
	stacks_fini(&s);
}

/* By frame: sums of a call tree whose nodes are the frames. */
static struct stack_sum *sums(const struct stacks *s, const struct stack_filter *f)
{
	struct profile p = { .stacks = *s };
	struct calltree t = {
		.profile = &p, .nnode = s->nframe, .sample = s->sample, .nsample = s->nsample
	};
	struct stack_sum *sum;

	t.node = calloc(t.nnode, sizeof(*t.node));
	assert_non_null(t.node);
	for (size_t i = 0; i < t.nnode; i++)
		t.node[i].parent = s->frame[i].parent;
	sum = calltree_sum(&t, f);
	free(t.node);
	return sum;
}

static void test_sums(void **state)
{
	struct stack_filter only = { 0 };
	const bool second[2] = { false, true };
	struct stacks s = { 0 };
	struct stack_sum *sum;
	struct tree t;

	(void)state;
	build(&s, 1, &t);
	sum = sums(&s, NULL);
	assert_non_null(sum);
	assert_int_equal(sum[0].all_count, 5);
	assert_true(sum[0].all == 40 && sum[t.root].all == 37 && sum[t.in_main].all == 37);
	assert_true(sum[t.f].all == 30 && sum[t.f].self == 0 && sum[t.work_f].self == 30);
	assert_true(sum[t.cut].all == 3);
	free(sum);
	only.from = 20 * MS;
	sum = sums(&s, &only);
	assert_true(sum[0].all == 10 && sum[t.f].all == 0);
	free(sum);
	only.thread = second;
	sum = sums(&s, &only);
	assert_true(sum[0].all == 3);
	free(sum);
	only = (struct stack_filter){ .to = 20 * MS };
	sum = sums(&s, &only);
	assert_true(sum[0].all == 30);
	free(sum);
	stacks_fini(&s);
}

/* A long run has wider buckets, and no more of them. */
static void test_time(void **state)
{
	struct stacks s = { 0 };
	uint32_t f;
	long t;

	(void)state;
	f = stacks_frame(&s, 0, FRAME_ROOT, 0, 0);
	t = stacks_thread(&s, 0, 1, 1, "x", "");
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(stacks_add(&s, f, (uint32_t)t, i * MS, 1, 1), 0);
	assert_true(s.width == 16 * STACKS_WIDTH);
	stacks_fold(&s);
	assert_int_equal(s.nsample, 625);
	for (size_t i = 0; i < s.nsample; i++)
		assert_true(s.sample[i].count == 160 && s.sample[i].bucket == i);
	stacks_fini(&s);
}

static void test_merge(void **state)
{
	const uint32_t map[2] = { 0, 1 };
	struct stacks a = { 0 }, b = { 0 };
	struct stack_sum *sum;
	struct tree t, u;

	(void)state;
	build(&a, 1, &t);
	build(&b, 1, &u);
	stacks_widen(&b, 4 * STACKS_WIDTH);
	assert_int_equal(stacks_merge(&a, &b, map, 1), 0);
	assert_int_equal(a.nframe, 9);
	assert_int_equal(a.nthread, 4);
	assert_int_equal(a.thread[3].run, 1);
	assert_true(a.width == 4 * STACKS_WIDTH);
	sum = sums(&a, NULL);
	assert_true(sum[0].all == 80 && sum[t.work_f].self == 60);
	free(sum);
	stacks_fini(&a);
	stacks_fini(&b);
}

/* Of profiles. */

static char file[64];

static void make_profile(struct profile *p, struct tree *t)
{
	struct err err;
	struct run *r;

	assert_int_equal(profile_init(p, &err), 0);
	assert_non_null(profile_image(p, IMAGE_FILE, "/bin/x", "abcd"));
	r = profile_run(p);
	r->source = strdup("sampler");
	r->command = strdup("x");
	r->sketch_capacity = 16;
	build(&p->stacks, 1, t);
}

static void assert_same(const struct profile *p, const struct tree *t, double factor)
{
	struct stack_sum *sum = sums(&p->stacks, NULL);

	assert_int_equal(p->stacks.nframe, 9);
	assert_true(sum[0].all == 40 * factor && sum[t->work_f].self == 30 * factor &&
		    sum[t->work_g].self == 7 * factor && sum[t->deep].self == 3 * factor);
	assert_string_equal(p->stacks.thread[1].comm, "worker");
	assert_string_equal(p->stacks.thread[0].cgroup, "/a");
	assert_int_equal(p->stacks.frame[t->work_g].addr, 0x4000);
	assert_int_equal(p->stacks.frame[t->work_g].image, 1);
	free(sum);
}

static void test_recording(void **state)
{
	struct profile p, back;
	struct recording *r;
	struct tree t;
	struct err err;

	(void)state;
	make_profile(&p, &t);
	assert_int_equal(recording_write(file, &p, &err), 0);
	assert_int_equal(profile_init(&back, &err), 0);
	assert_int_equal(recording_read(file, &back, &err), 0);
	assert_same(&back, &t, 1);
	/* again, into what is there */
	assert_int_equal(recording_read(file, &back, &err), 0);
	assert_same(&back, &t, 2);
	profile_fini(&back);

	/* in parts, folded in between, and left by a recorder that was killed */
	r = recording_create(file, &err);
	assert_non_null(r);
	assert_int_equal(recording_flush(r, &p, &err), 0);
	build(&p.stacks, 1, &t);
	assert_int_equal(recording_flush(r, &p, &err), 0);
	stacks_fold(&p.stacks);
	build(&p.stacks, 1, &t);
	assert_int_equal(recording_flush(r, &p, &err), 0);
	recording_abandon(r);
	assert_int_equal(profile_init(&back, &err), 0);
	assert_int_equal(recording_read(file, &back, &err), 0);
	assert_same(&back, &t, 3);
	profile_fini(&back);
	profile_fini(&p);
}

static const struct calltree_total *total_of(const struct calltree *t,
					     const struct calltree_total *total, const char *name)
{
	for (size_t i = 0; i < t->nfunc; i++)
		if (!strcmp(t->func[i].name, name))
			return &total[i];
	fail_msg("no %s", name);
	return NULL;
}

/* By procedure: the recording's own table names them. */
static void test_totals(void **state)
{
	static const char *const name[4] = { "main", "f", "g", "work" };
	struct profile_proc *proc = calloc(4, sizeof(*proc));
	const struct calltree_total *one;
	struct calltree_total *total;
	struct stack_sum *sum;
	struct calltree tree;
	struct profile p;
	struct tree t;
	struct err err;

	(void)state;
	make_profile(&p, &t);
	for (size_t i = 0; i < 4; i++)
		proc[i] = (struct profile_proc){ 0x1000 * (i + 1), 0x1000 * (i + 1) + 0x100,
						 strdup(name[i]) };
	p.image[1]->proc = proc;
	p.image[1]->nproc = 4;
	/* work calls itself by way of f */
	assert_int_equal(
		stacks_add(&p.stacks,
			   stacks_frame(&p.stacks,
					stacks_frame(&p.stacks, t.work_f, FRAME_CALL, 1, 0x2100),
					FRAME_CODE, 1, 0x4002),
			   0, 0, 1, 5),
		0);
	assert_int_equal(calltree_open(&tree, &p, &err), 0);
	sum = calltree_sum(&tree, NULL);
	assert_non_null(sum);
	assert_true(sum[0].all == 45);
	total = calltree_totals(&tree, sum);
	assert_non_null(total);
	assert_true(total[tree.nfunc].all == 42 && total[tree.nfunc].self == 0);
	one = total_of(&tree, total, "main");
	assert_true(one->all == 42 && one->self == 0);
	one = total_of(&tree, total, "f");
	assert_true(one->all == 35 && one->self == 0);
	one = total_of(&tree, total, "work");
	assert_true(one->all == 45 && one->self == 45);
	assert_true(total_of(&tree, total, "[deeper than the limit]")->all == 3);
	free(total);
	free(sum);
	calltree_close(&tree);
	profile_fini(&p);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(file, sizeof(file), "/tmp/assay-stacks-%d.db", (int)getpid());
	return 0;
}

static int tear_down(void **state)
{
	char old[80];

	(void)state;
	snprintf(old, sizeof(old), "%s.old", file);
	unlink(file);
	unlink(old);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),	  cmocka_unit_test(test_sums),
		cmocka_unit_test(test_time),	  cmocka_unit_test(test_merge),
		cmocka_unit_test(test_recording), cmocka_unit_test(test_totals),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
