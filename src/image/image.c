/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "image/image_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADERS_MAX 65536 /* bytes of each header table that identify a file without build-id */

static int add_segment(struct image *im, const Elf64_Phdr *ph, struct err *err)
{
	if (ph->p_filesz > im->file.size || ph->p_offset > im->file.size - ph->p_filesz)
		return err_set(
			err, ERR_FAILED,
			"%s: code at offset 0x%llx, size 0x%llx, lies beyond its end at 0x%llx",
			im->path, (unsigned long long)ph->p_offset,
			(unsigned long long)ph->p_filesz, (unsigned long long)im->file.size);
	if (ph->p_vaddr + ph->p_filesz < ph->p_vaddr)
		return err_set(err, ERR_FAILED, "%s: code at 0x%llx wraps around", im->path,
			       (unsigned long long)ph->p_vaddr);
	if (im->segments == IMAGE_SEGMENTS)
		return err_set(err, ERR_FAILED, "%s: more than %d executable segments", im->path,
			       IMAGE_SEGMENTS);
	im->segment[im->segments++] = (struct image_segment){ .addr = ph->p_vaddr,
							      .size = ph->p_filesz,
							      .offset = ph->p_offset };
	return 0;
}

static int read_segments(struct image *im, struct err *err)
{
	const struct elf_file *f = &im->file;
	bool loaded = false;

	for (size_t i = 0; i < f->phdrs; i++) {
		const Elf64_Phdr *ph = &f->phdr[i];

		if (ph->p_type != PT_LOAD)
			continue;
		loaded = true;
		if ((ph->p_flags & PF_X) && ph->p_filesz && add_segment(im, ph, err))
			return -1;
	}
	if (!loaded)
		return err_set(err, ERR_FAILED, "%s: nothing in it is to be loaded", im->path);
	return 0;
}

static uint64_t hash_table(uint64_t h, const struct elf_file *f, uint64_t offset, uint64_t n)
{
	uint8_t *table = elf_file_load(f, offset, n < HEADERS_MAX ? n : HEADERS_MAX);

	h = table ? hash_bytes(h, table, n < HEADERS_MAX ? n : HEADERS_MAX) : h;
	free(table);
	return h;
}

static uint64_t hash_headers(const struct elf_file *f)
{
	const Elf64_Ehdr *e = f->ehdr;
	uint64_t h = hash_bytes(hash_bytes(HASH_BASIS, &f->size, sizeof(f->size)), e, sizeof(*e));

	h = hash_table(h, f, e->e_phoff, (uint64_t)e->e_phnum * e->e_phentsize);
	return hash_table(h, f, e->e_shoff, (uint64_t)e->e_shnum * e->e_shentsize);
}

static void read_id(struct image *im)
{
	im->id_len = elf_file_build_id(&im->file, ELF_NOTES_SEGMENTS, im->id_bytes,
				       sizeof(im->id_bytes));
	if (!im->id_len)
		snprintf(im->id, sizeof(im->id), IMAGE_NO_BUILD_ID "%016llx",
			 (unsigned long long)hash_headers(&im->file));
	for (size_t i = 0; i < im->id_len; i++)
		snprintf(im->id + 2 * i, 3, "%02x", im->id_bytes[i]);
}

/* Makes an image whose file is not open yet. */
static struct image *new_image(const char *path, struct err *err)
{
	struct image *im = calloc(1, sizeof(*im));

	if (im) {
		im->file.fd = im->debug.fd = -1;
		im->path = strdup(path);
		im->code = calloc(IMAGE_SEGMENTS, sizeof(*im->code));
	}
	if (im && im->path && im->code)
		return im;
	err_sys(err, "cannot open %s", path);
	image_close(im);
	return NULL;
}

static struct image *read_headers(struct image *im, struct err *err)
{
	if (read_segments(im, err)) {
		image_close(im);
		return NULL;
	}
	read_id(im);
	return im;
}

struct image *image_open(const char *file, const char *path, struct err *err)
{
	struct image *im = new_image(path, err);

	if (im && elf_file_open(&im->file, file, err)) {
		image_close(im);
		return NULL;
	}
	return im ? read_headers(im, err) : NULL;
}

struct image *image_take(int fd, const char *path, struct err *err)
{
	struct image *im = new_image(path, err);

	if (!im)
		close(fd);
	if (im && elf_file_take(&im->file, fd, path, err)) {
		image_close(im);
		return NULL;
	}
	return im ? read_headers(im, err) : NULL;
}

void image_close(struct image *im)
{
	if (!im)
		return;
	inlines_fini(&im->inlines);
	lines_fini(&im->lines);
	image_data_fini(im);
	pads_fini(&im->pads);
	gopcln_fini(&im->gopcln);
	image_code_fini(im);
	image_names_fini(im);
	free(im->proc);
	free(im->extent);
	symbols_fini(&im->symbols);
	cfi_fini(&im->cfi);
	elf_file_close(&im->debug);
	elf_file_close(&im->file);
	free(im->code);
	free(im->path);
	free(im);
}

const char *image_build_id(const struct image *im)
{
	return im->id;
}

unsigned image_segments(const struct image *im, const struct image_segment **seg)
{
	*seg = im->segment;
	return im->segments;
}

bool image_section_at(const struct image *im, uint64_t addr, uint64_t *start, uint64_t *end)
{
	Elf_Scn *scn = NULL;
	bool found = false;

	while ((scn = elf_nextscn(im->file.elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);

		if (!sh || !(sh->sh_flags & SHF_EXECINSTR) || !sh->sh_size ||
		    sh->sh_addr + sh->sh_size < sh->sh_addr || sh->sh_addr + sh->sh_size <= addr ||
		    (found && sh->sh_addr >= *start))
			continue;
		*start = sh->sh_addr;
		*end = sh->sh_addr + sh->sh_size;
		found = true;
	}
	return found;
}

const struct image_segment *image_segment_at(const struct image *im, uint64_t addr)
{
	for (unsigned i = 0; i < im->segments; i++)
		if (addr - im->segment[i].addr < im->segment[i].size)
			return &im->segment[i];
	return NULL;
}

size_t image_copies_bytes(const struct image *im)
{
	size_t bytes = cfi_bytes(&im->cfi);

	for (unsigned i = 0; i < im->segments; i++)
		bytes += im->code[i].read;
	return bytes;
}

void image_forget_copies(struct image *im)
{
	image_code_fini(im);
	cfi_fini(&im->cfi);
}

static void read_lines(struct image *im)
{
	const struct elf_file *debug;

	if (im->lines.read)
		return;
	lines_read(&im->lines, &im->file);
	debug = im->lines.n ? NULL : image_debug_file(im);
	if (debug)
		lines_read(&im->lines, debug);
}

size_t image_inlines(struct image *im, uint64_t addr, struct image_inline *found, size_t max)
{
	read_lines(im);
	return inlines_at(&im->inlines, &im->lines, addr, found, max);
}

bool image_line(struct image *im, uint64_t addr, const char **file, int *line)
{
	read_lines(im);
	return lines_at(&im->lines, addr, file, line) ||
	       (gopcln_open(&im->gopcln, &im->file) && gopcln_line(&im->gopcln, addr, file, line));
}
