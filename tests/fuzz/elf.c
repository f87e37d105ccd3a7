/* SPDX-License-Identifier: MIT */
/*
 * A damaged ELF file: everything is asked of it.
 *
 * Input: the first byte even: the rest is the file. Odd: the rest is a list of 8-byte changes
 * (where, two bytes of kind, of offset, four of value) to a small shared object that has symbols,
 * PLT, unwind and debug information; the compiler makes it when the fuzzer starts.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfg/cfg.h"
#include "image/image.h"

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

#define MAX_FILE 65536

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t good[MAX_FILE];
static size_t good_size;

struct change {
	uint16_t kind, offset;
	uint32_t value;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[] = "/tmp/assay-fuzz-elf-XXXXXX", command[512];
	int fd = mkstemp(path);
	FILE *f;

	(void)argc;
	(void)argv;
	MUST(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "printf 'int puts(const char *); static int k(int i) { return i * 3; }"
		 "int g(int i) { puts(\"x\"); return k(i) + i; } int h(int i) { return g(i) ^ 5; "
		 "}' | "
		 "cc -O1 -g -shared -fPIC -x c - -o %s",
		 path);
	MUST(!system(command));
	f = fopen(path, "r");
	MUST(f);
	good_size = fread(good, 1, sizeof(good), f);
	MUST(good_size && good_size < sizeof(good));
	fclose(f);
	unlink(path);
	return 0;
}

static void apply(uint8_t *file, size_t *size, const struct change *c)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)good;
	size_t scaled = (size_t)c->offset * good_size / 65536;
	size_t n = 1u << (c->kind >> 8 & 3), at;
	uint64_t value = c->kind & 0x8000 ? (uint64_t)(int64_t)(int32_t)c->value : c->value;

	switch (c->kind & 3) {
	case 0:
		at = e->e_phoff + c->offset % (e->e_phnum * sizeof(Elf64_Phdr));
		break;
	case 1:
		at = e->e_shoff + c->offset % (e->e_shnum * sizeof(Elf64_Shdr));
		break;
	case 2:
		at = scaled;
		break;
	default:
		if (c->value % 16 == 0)
			*size = scaled;
		at = c->offset % 64;
	}
	if (at + n <= good_size)
		memcpy(file + at, &value, n);
}

static int make_file(const uint8_t *data, size_t size)
{
	static uint8_t file[MAX_FILE];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t n = size < sizeof(file) ? size : sizeof(file);

	MUST(fd >= 0);
	if (size && *data & 1) {
		memcpy(file, good, n = good_size);
		for (size_t at = 1; at + sizeof(struct change) <= size;
		     at += sizeof(struct change)) {
			struct change c;

			memcpy(&c, data + at, sizeof(c));
			apply(file, &n, &c);
		}
	} else if (n) {
		memcpy(file, data + 1, --n);
	}
	MUST(write(fd, file, n) == (ssize_t)n);
	return fd;
}

static void ask_code(const struct image *im)
{
	const struct image_segment *seg;
	unsigned segments = image_segments(im, &seg);

	for (unsigned i = 0; i < segments; i++) {
		const uint8_t *code, *end;
		size_t n;

		code = image_code(im, seg[i].addr + seg[i].size / 2, &n);
		end = code ? code + n - 1 : NULL;
		MUST(!code || (n && *code + *end >= 0));
	}
}

static void ask_inlines(struct image *im, uint64_t addr)
{
	struct image_inline found[IMAGE_INLINES_MAX];
	size_t n = image_inlines(im, addr, found, IMAGE_INLINES_MAX);

	MUST(n <= IMAGE_INLINES_MAX);
	for (size_t i = 0; i < n; i++)
		MUST(found[i].name && found[i].line >= 0 && strlen(found[i].name) < MAX_FILE * 2);
}

static void ask_procs(struct image *im)
{
	const struct image_proc *p;
	size_t n = image_procs(im, &p);

	for (size_t i = 0; i < n; i++) {
		char buf[256];
		const char *file;
		int line;

		MUST(p[i].start < p[i].end && p[i].name[0]);
		MUST(!i || p[i - 1].end <= p[i].start);
		MUST(image_proc_at(im, p[i].end - 1) == &p[i]);
		image_demangle(p[i].name, buf, sizeof(buf));
		if (i < 16 && image_line(im, p[i].start, &file, &line))
			MUST(line > 0 && strlen(file) < MAX_FILE * 2);
		if (i < 16)
			ask_inlines(im, p[i].start + (p[i].end - p[i].start) / 2);
	}
	image_proc_named(im, "g");
	image_has_symbols(im);
}

static void ask_data(struct image *im)
{
	const struct image_segment *seg;
	unsigned segments = image_segments(im, &seg);
	uint64_t addr[16], start, end;
	size_t n = image_called(im, addr, 16);
	uint8_t buf[9];
	bool constant;

	MUST(n <= 16);
	for (unsigned i = 0; i < segments; i++) {
		image_data(im, seg[i].addr + seg[i].size / 2, buf, sizeof(buf), &constant);
		if (image_section_at(im, seg[i].addr, &start, &end))
			MUST(start < end && seg[i].addr < end);
	}
}

static void ask_graphs(struct image *im)
{
	const struct image_proc *p;
	size_t n = image_procs(im, &p);
	struct err err;
	struct cfg_code *code = cfg_code_new(im, &err);

	MUST(code);
	for (size_t i = 0; i < n && i < 8; i++) {
		struct cfg g;
		struct cfg_proc gap;
		uint64_t pad[8];

		MUST(image_pads(im, p[i].start, pad, 8) <= 8);
		cfg_code_proc(code, p[i].end, &gap);
		if (cfg_build(&g, code, p[i].start, NULL, &err))
			continue;
		MUST(g.nblocks > CFG_FIRST_BLOCK);
		cfg_fini(&g);
	}
	cfg_code_free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = make_file(data, size);
	struct err err = { 0 };
	struct image *im;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	im = image_open(path, "fuzz", &err);
	MUST(im || (err.code && err.msg[0]));
	if (im) {
		MUST(image_build_id(im)[0]);
		ask_code(im);
		ask_procs(im);
		ask_data(im);
		ask_graphs(im);
	}
	image_close(im);
	close(fd);
	return 0;
}
