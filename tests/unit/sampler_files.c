/* SPDX-License-Identifier: MIT */
/* The files that processes map: this test's own, the C library, one that is no ELF, one whose process is
 * gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/maps.h"
#include "sampler/files.h"

#define UOPS 65536
#define LINE_BITS 14

static struct profile profile;
static struct code code;
static struct uop *uop;
static struct code_line *line;
static struct files files;
static struct err err;

__attribute__((noinline)) int files_known_procedure(int x);
int files_known_procedure(int x)
{
	return x * 7 + (int)getpid();
}

static int setup(void **unused)
{
	(void)unused;
	uop = calloc(UOPS, sizeof(*uop));
	line = calloc(1u << LINE_BITS, sizeof(*line));
	assert_true(uop && line);
	assert_int_equal(profile_init(&profile, &err), 0);
	assert_int_equal(code_init(&code, uop, UOPS, line, LINE_BITS, &err), 0);
	files_init(&files, &profile, &code, -1, NULL, NULL); /* no kernel side to tell */
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	files_fini(&files);
	code_fini(&code);
	profile_fini(&profile);
	free(uop);
	free(line);
	return 0;
}

static struct file_key key_of_map(const struct map *m)
{
	return (struct file_key){ .ino = m->inode,
				  .dev = (uint64_t)m->dev_major << 20 | m->dev_minor };
}

/* The file behind an address of this process. */
static struct file_key key_at(const void *p, char *name, size_t n)
{
	const struct map *map;
	struct file_key key;
	struct maps maps;

	assert_int_equal(maps_read(&maps, NULL, getpid(), &err), 0);
	map = maps_find(&maps, (uint64_t)(uintptr_t)p);
	assert_non_null(map);
	key = key_of_map(map);
	snprintf(name, n, "%s", map->name);
	maps_fini(&maps);
	return key;
}

static void test_own_program(void **unused)
{
	char path[4096];
	struct file_key key = key_at((void *)files_known_procedure, path, sizeof(path));
	const struct image_proc *p, *q;
	struct mapped_file *m;

	(void)unused;
	assert_null(files_find(&files, key));
	m = files_resolve(&files, getpid(), key, "sampler_files");
	assert_non_null(m);
	assert_non_null(m->im);
	assert_ptr_equal(files_find(&files, key), m);
	assert_ptr_equal(files_resolve(&files, getpid(), key, "anything"), m);
	assert_int_equal(profile.image[m->image]->kind, IMAGE_FILE);
	assert_string_equal(profile.image[m->image]->path, path);
	assert_string_equal(profile.image[m->image]->build_id, image_build_id(m->im));
	/* its code is there to lift, its procedures to name */
	p = image_proc_named(m->im, "files_known_procedure");
	assert_non_null(p);
	assert_true(code_lift(&code, m->image, p->start, 16) > 0);
	assert_true(code_find(&code, m->image, p->start) > 0);
	q = files_procedure(&files, m->image, p->start + 1);
	assert_non_null(q);
	assert_string_equal(q->name, "files_known_procedure");
	assert_null(files_procedure(&files, m->image + 1000, p->start));
	assert_null(files_procedure(&files, 0, p->start));
}

static void test_all_of_a_process(void **unused)
{
	char path[4096];
	struct file_key libc = key_at((void *)getpid, path, sizeof(path)), other = libc;
	struct mapped_file *m;

	(void)unused;
	files_resolve_all(&files, getpid(), NULL);
	m = files_find(&files, libc);
	assert_non_null(m);
	assert_string_equal(profile.image[m->image]->path, path);
	other.ino += 1u << 30;
	assert_null(files_find(&files, other));
	assert_null(files_resolve(&files, getpid(), other, "no-such-name"));
}

static void test_no_elf(void **unused)
{
	char path[] = "/tmp/assay-files-XXXXXX";
	struct mapped_file *m;
	struct file_key key;
	char name[4096];
	int fd = mkstemp(path);
	void *p;

	(void)unused;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	key = key_at(p, name, sizeof(name));
	m = files_resolve(&files, getpid(), key, "x");
	assert_non_null(m);
	assert_null(m->im); /* known as what it is, so that nobody looks again */
	assert_int_equal(profile.image[m->image]->kind, IMAGE_ANON);
	assert_string_equal(profile.image[m->image]->path, path);
	assert_null(files_procedure(&files, m->image, 0));
	munmap(p, 4096);
	close(fd);
	unlink(path);
}

/* A process that is gone: its file is looked for where programs are, by its inode. */
static void test_process_gone(void **unused)
{
	pid_t pid = fork();
	struct file_key key;
	struct mapped_file *m;
	struct stat st;

	(void)unused;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(stat("/usr/bin/env", &st), 0);
	key = (struct file_key){ .ino = st.st_ino,
				 .dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev) };
	assert_null(files_resolve(&files, pid, key, "true")); /* another name: another inode */
	m = files_resolve(&files, pid, key, "env");
	assert_non_null(m);
	assert_string_equal(profile.image[m->image]->path, "/usr/bin/env");
	files_resolve_all(&files, pid, NULL); /* nothing to read, nothing done */
}

static void test_mapping_names(void **unused)
{
	char name[4096], path[4096];
	int on_stack;
	pid_t pid = fork();

	(void)unused;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(files_mapping_name(&files, getpid(), (uint64_t)(uintptr_t)&on_stack, name,
				       sizeof(name)));
	assert_string_equal(name, "[stack]");
	key_at((void *)files_known_procedure, path, sizeof(path));
	assert_true(files_mapping_name(&files, getpid(), (uint64_t)(uintptr_t)files_known_procedure,
				       name, sizeof(name)));
	assert_string_equal(name, path);
	assert_true(files_mapping_name(&files, getpid(), 0, name, sizeof(name)));
	assert_string_equal(name, "");
	assert_false(files_mapping_name(&files, pid, 0, name, sizeof(name)));
}

static void test_procedure_tables(void **unused)
{
	static const unsigned order[] = { 5, 1, 3, 1, 5, 2 };
	struct profile_image *pi = profile_image(&profile, IMAGE_FILE, "/x", "");
	size_t cap = 0;
	char name[8];

	(void)unused;
	files_sort_procedures(pi); /* of nothing */
	for (size_t i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "p%u", order[i]);
		assert_true(files_add_procedure(pi, 16 * order[i], 16 * order[i] + 16, name, &cap));
	}
	files_sort_procedures(pi);
	assert_int_equal(pi->nproc, 4);
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = { "p1", "p2", "p3", "p5" };

		assert_string_equal(pi->proc[i].name, names[i]);
	}
}

/* Only procedures that a site lies in are named, each once. */
static void test_naming(void **unused)
{
	char path[4096];
	struct file_key key = key_at((void *)files_known_procedure, path, sizeof(path));
	struct mapped_file *m = files_resolve(&files, getpid(), key, "x");
	const struct image_proc *p, *q;
	const struct profile_image *pi;

	(void)unused;
	assert_non_null(m);
	p = image_proc_named(m->im, "files_known_procedure");
	q = image_proc_named(m->im, "main");
	assert_true(p && q);
	for (uint64_t a = 0; a < 4; a++) {
		assert_non_null(
			profile_site(&profile, (struct site_id){ m->image, 0, p->start + a }));
		assert_non_null(
			profile_site(&profile, (struct site_id){ m->image, 0, q->start + a }));
	}
	assert_non_null(profile_site(&profile, (struct site_id){ m->image, 0, 1ull << 40 }));
	assert_non_null(profile_site(&profile, (struct site_id){ 0, 0, p->start }));
	files_name_procedures(&files);
	pi = profile.image[m->image];
	assert_int_equal(pi->nproc, 2);
	assert_false(pi->stripped);
	assert_true(pi->proc[0].start < pi->proc[1].start);
	for (size_t i = 0; i < 2; i++) {
		const struct image_proc *is = pi->proc[i].start == p->start ? p : q;

		assert_int_equal(pi->proc[i].start, is->start);
		assert_int_equal(pi->proc[i].end, is->end);
		assert_string_equal(pi->proc[i].name, is->name);
	}
	assert_int_equal(profile.image[0]->nproc, 0);
}

/* Finds the regions of several sizes around an address. */
static void regions_at(const struct mapped_file *m, uint64_t addr, uint64_t region[10][2])
{
	for (int i = 0; i < 10; i++)
		assert_true(files_region(&files, m->image, addr, 16u << i, &region[i][0],
					 &region[i][1]));
}

/* Names that were forgotten are read again when procedures are named; where procedures lie is known meanwhile. */
static void test_forgotten_names(void **unused)
{
	uint64_t before[10][2], after[10][2];
	char path[4096];
	struct file_key key = key_at((void *)files_known_procedure, path, sizeof(path));
	struct mapped_file *m = files_resolve(&files, getpid(), key, "x");
	const struct image_proc *p;
	uint64_t start, end;

	(void)unused;
	assert_non_null(m);
	p = image_proc_named(m->im, "files_known_procedure");
	assert_non_null(p);
	start = p->start;
	end = p->end;
	assert_true(image_names_bytes(m->im) > 0);
	regions_at(m, start, before);
	image_forget_names(m->im);
	assert_int_equal(image_names_bytes(m->im), 0);
	regions_at(m, start, after);
	assert_memory_equal(before, after, sizeof(before));
	p = files_procedure(&files, m->image, start);
	assert_true(p && p->start == start && p->end == end && !p->name);
	assert_non_null(profile_site(&profile, (struct site_id){ m->image, 0, start }));
	files_name_procedures(&files);
	assert_int_equal(profile.image[m->image]->nproc, 1);
	assert_string_equal(profile.image[m->image]->proc[0].name, "files_known_procedure");
	assert_int_equal(image_names_bytes(m->im), 0);
	assert_false(profile.image[m->image]->stripped);
}

/* Where no names are kept, lifting keeps none either: whether a procedure begins somewhere is known without them. */
static void test_lifting_keeps_no_names(void **unused)
{
	char path[4096];
	struct file_key key = key_at((void *)files_known_procedure, path, sizeof(path));
	struct mapped_file *m = files_resolve(&files, getpid(), key, "x");
	const struct image_proc *p;
	struct code_source *src;

	(void)unused;
	assert_non_null(m);
	files.nameless = true;
	src = &code.source[m->image];
	assert_false(src->entry(src->ctx, 1));
	assert_true(image_procs_are_read(m->im));
	assert_int_equal(image_names_bytes(m->im), 0);
	image_read_names(m->im);
	p = image_proc_named(m->im, "files_known_procedure");
	assert_non_null(p);
	assert_true(src->entry(src->ctx, p->start));
	assert_false(src->entry(src->ctx, p->start + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_program, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgotten_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lifting_keeps_no_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_of_a_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_elf, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mapping_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_procedure_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_naming, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
