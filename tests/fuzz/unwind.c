/* SPDX-License-Identifier: MIT */
/*
 * Damaged unwind information: rows are made of it, and stacks walked by them.
 *
 * Input: a list of 4-byte changes (two bytes of where, two of value) to .eh_frame of a small shared object or, where the
 * highest bit is set, to its .debug_frame, up to one whose first two bytes are 0xffff; the rest is memory that the walked stack reads.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/tables.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define UNWIND_FUNCTION static __attribute__((noinline))
#include "sampler/bpf/unwind.h"

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

#define MAX_FILE 65536
#define IMAGE 1

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t good[MAX_FILE];
static size_t good_size;
static struct section {
	const char *name;
	size_t at, size;
} section[2] = { { ".eh_frame", 0, 0 }, { ".debug_frame", 0, 0 } };
static struct tables_memory memory;
static const uint8_t *stack;
static size_t stack_size;
static struct unwind_mapping whole;

static __always_inline int unwind_read(struct unwind_walk *w, uint64_t addr, void *to,
				       uint32_t bytes)
{
	(void)w;
	if (addr > stack_size || stack_size - addr < bytes)
		return -1;
	memcpy(to, stack + addr, bytes);
	return 0;
}

static __always_inline int unwind_find_range(struct unwind_walk *w, uint64_t addr)
{
	w->range = whole;
	return addr >= whole.start && addr < whole.end ? 0 : -1;
}

static __always_inline const struct unwind_image *unwind_image_at(uint32_t image)
{
	return &memory.image[image];
}

static __always_inline const uint64_t *unwind_page_at(uint32_t page)
{
	MUST(page < UNWIND_PAGES);
	return &memory.page[page];
}

static __always_inline uint32_t unwind_row_at(uint32_t row)
{
	MUST(row < UNWIND_ROWS);
	return memory.line[row / UNWIND_LINE].row[row % UNWIND_LINE];
}

static __always_inline const struct unwind_rule *unwind_rule_at(uint32_t rule)
{
	MUST(rule < UNWIND_RULES);
	return &memory.rule[rule];
}

static void find_section(struct section *of)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)good;
	const Elf64_Shdr *s = (const Elf64_Shdr *)(good + e->e_shoff);

	for (unsigned i = 0; i < e->e_shnum; i++)
		if (!strcmp((char *)good + s[e->e_shstrndx].sh_offset + s[i].sh_name, of->name)) {
			of->at = s[i].sh_offset;
			of->size = s[i].sh_size;
		}
	MUST(of->size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[] = "/tmp/assay-fuzz-unwind-XXXXXX", command[768];
	int fd = mkstemp(path);
	FILE *f;

	(void)argc;
	(void)argv;
	MUST(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "printf 'int puts(const char *); void *f(int n) { char *a = __builtin_alloca(n); "
		 "puts(a); "
		 "return a + n; } long g(long a, long b) { puts(\"x\"); return f(a) != f(b) ? a : "
		 "b; }' | "
		 "cc -O2 -shared -fPIC -w -x c -c - -o %s.eh && "
		 "printf 'long h(long a) { long f(int); return f(a) + 1; }' | "
		 "cc -O2 -g -fno-asynchronous-unwind-tables -fPIC -w -x c -c - -o %s.debug && "
		 "cc -shared -o %s %s.eh %s.debug && rm %s.eh %s.debug",
		 path, path, path, path, path, path, path);
	MUST(!system(command));
	f = fopen(path, "r");
	MUST(f);
	good_size = fread(good, 1, sizeof(good), f);
	MUST(good_size && good_size < sizeof(good));
	fclose(f);
	unlink(path);
	find_section(&section[0]);
	find_section(&section[1]);
	memory.image = calloc(UNWIND_IMAGES, sizeof(*memory.image));
	memory.page = calloc(UNWIND_PAGES, sizeof(*memory.page));
	memory.line = calloc(UNWIND_ROWS / UNWIND_LINE, sizeof(*memory.line));
	memory.rule = calloc(UNWIND_RULES, sizeof(*memory.rule));
	return 0;
}

/* Makes the file with the input's changes. The rest of the input becomes the stack's memory. */
static int make_file(const uint8_t *data, size_t size)
{
	static uint8_t file[MAX_FILE];
	const struct section *in;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	uint16_t change[2] = { 0 };
	size_t at = 0;

	memcpy(file, good, good_size);
	for (; at + 4 <= size; at += 4) {
		memcpy(change, data + at, 4);
		if (change[0] == 0xffff)
			break;
		in = &section[change[0] >> 15];
		change[0] = (uint16_t)((change[0] & 0x7fff) % in->size);
		if (change[0] + 2u <= in->size)
			memcpy(file + in->at + change[0], &change[1], 2);
	}
	stack = data + at;
	stack_size = size - at;
	MUST(fd >= 0 && write(fd, file, good_size) == (ssize_t)good_size);
	return fd;
}

static void check_page(uint64_t page, size_t rows)
{
	uint32_t first = (uint32_t)page, n = page >> 32 & 0xffff;

	MUST(n && first + n <= rows && !(unwind_row_at(first) >> UNWIND_RULE_BITS));
	for (uint32_t i = 1; i < n; i++)
		MUST(unwind_row_at(first + i) >> UNWIND_RULE_BITS > unwind_row_at(first + i - 1) >>
		     UNWIND_RULE_BITS);
}

static void walk_from(uint64_t pc)
{
	static struct unwind_walk w;
	unsigned steps = 0;

	memset(&w, 0, offsetof(struct unwind_walk, out));
	w.pc = pc;
	w.reg[RULE_RSP] = 0;
	w.reg[RULE_RBP] = 16;
	unwind_begin(&w);
	while (!unwind_step(&w))
		MUST(++steps <= UNWIND_FRAMES);
	MUST(w.end != UNWIND_RUNNING && w.out.n <= UNWIND_FRAMES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = make_file(data, size);
	const struct unwind_image *where = &memory.image[IMAGE];
	struct err err;
	struct image *im = image_take(fd, "fuzz", &err);
	struct tables *t = tables_new(&memory);
	struct tables_size made;

	MUST(im && t);
	tables_want_all(t, IMAGE, im);
	made = tables_size(t);
	for (uint32_t i = 0; i < where->pages; i++)
		if (memory.page[where->page + i] & UNWIND_READY)
			check_page(memory.page[where->page + i], made.rows);
	whole = (struct unwind_mapping){ 0, (where->first + where->pages) * UNWIND_PAGE, 0, IMAGE,
					 1 };
	for (uint64_t pc = where->first * UNWIND_PAGE; where->pages && pc < whole.end; pc += 7)
		walk_from(pc);
	memset(memory.page + where->page, 0, where->pages * sizeof(*memory.page));
	memset(&memory.image[IMAGE], 0, sizeof(memory.image[IMAGE]));
	tables_free(t);
	image_close(im);
	return 0;
}
