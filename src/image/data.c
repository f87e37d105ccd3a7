/* SPDX-License-Identifier: MIT */
#include "image/data.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "image/image_priv.h"

#define PIECE 16384u

struct image_reloc {
	/* the 8 bytes at address `at` become the address `value` of the image */
	uint64_t at, value;
	/* or they become the address of a symbol, which may be another image's */
	bool symbol;
};

static const Elf64_Phdr *load_of(const struct image *im, uint64_t addr, size_t n)
{
	for (size_t i = 0; i < im->file.phdrs; i++) {
		const Elf64_Phdr *ph = &im->file.phdr[i];

		if (ph->p_type == PT_LOAD && addr - ph->p_vaddr < ph->p_filesz &&
		    n <= ph->p_filesz - (addr - ph->p_vaddr))
			return ph;
	}
	return NULL;
}

static bool is_relro(const struct image *im, uint64_t addr, size_t n)
{
	for (size_t i = 0; i < im->file.phdrs; i++) {
		const Elf64_Phdr *ph = &im->file.phdr[i];

		if (ph->p_type == PT_GNU_RELRO && addr - ph->p_vaddr < ph->p_memsz &&
		    n <= ph->p_memsz - (addr - ph->p_vaddr))
			return true;
	}
	return false;
}

static bool read_bytes(struct image *im, uint64_t offset, void *buf, size_t n)
{
	struct image_data *d = &im->data;
	uint64_t left;

	if (d->piece && offset - d->piece_at < d->piece_n &&
	    n <= d->piece_n - (offset - d->piece_at)) {
		memcpy(buf, d->piece + (offset - d->piece_at), n);
		return true;
	}
	if (!d->piece)
		d->piece = malloc(PIECE);
	if (!d->piece || n > PIECE || offset >= im->file.size)
		return false;
	left = im->file.size - offset;
	d->piece_at = offset;
	d->piece_n = left < PIECE ? left : PIECE;
	if (n > d->piece_n || !elf_file_read(&im->file, offset, d->piece, d->piece_n)) {
		d->piece_n = 0;
		return false;
	}
	memcpy(buf, d->piece, n);
	return true;
}

static int by_at(const void *va, const void *vb)
{
	const struct image_reloc *a = va, *b = vb;

	return (a->at > b->at) - (a->at < b->at);
}

static void add_relocs(struct image_data *d, Elf_Scn *scn)
{
	const Elf_Data *data = elf_getdata(scn, NULL);
	const Elf64_Rela *rela = data && data->d_type == ELF_T_RELA ? data->d_buf : NULL;
	size_t n = rela ? data->d_size / sizeof(*rela) : 0;
	struct image_reloc *v = n ? realloc(d->reloc, (d->relocs + n) * sizeof(*v)) : NULL;

	if (!v)
		return;
	d->reloc = v;
	for (size_t i = 0; i < n; i++)
		v[d->relocs++] = (struct image_reloc){
			.at = rela[i].r_offset,
			.value = (uint64_t)rela[i].r_addend,
			.symbol = ELF64_R_TYPE(rela[i].r_info) != R_X86_64_RELATIVE,
		};
}

static void read_relocs(struct image *im)
{
	struct image_data *d = &im->data;
	uint64_t left = im->file.size;
	Elf_Scn *scn = NULL;

	d->relocs_read = true;
	while ((scn = elf_nextscn(im->file.elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);

		if (sh && sh->sh_type == SHT_RELA && sh->sh_flags & SHF_ALLOC &&
		    elf_file_within(&left, sh->sh_size))
			add_relocs(d, scn);
	}
	if (d->relocs)
		qsort(d->reloc, d->relocs, sizeof(*d->reloc), by_at);
}

/* The first relocation at or after `at`. */
static size_t find_reloc(const struct image_data *d, uint64_t at)
{
	return search_first(i, 0, d->relocs, d->reloc[i].at >= at);
}

/* Returns false if some of the bytes are an address that only the loader knows. */
static bool relocate(struct image *im, uint64_t addr, uint8_t *buf, size_t n)
{
	bool known = true;

	struct image_data *d = &im->data;

	if (!d->relocs_read)
		read_relocs(im);
	for (size_t i = find_reloc(d, addr); i < d->relocs && d->reloc[i].at - addr < n; i++) {
		size_t at = d->reloc[i].at - addr, left = n - at;

		known = known && !d->reloc[i].symbol;
		if (!d->reloc[i].symbol)
			memcpy(buf + at, &d->reloc[i].value, left < 8 ? left : 8);
	}
	return known;
}

bool image_data(struct image *im, uint64_t addr, void *buf, size_t n, bool *constant)
{
	const Elf64_Phdr *ph = load_of(im, addr, n);

	if (!ph || !read_bytes(im, ph->p_offset + (addr - ph->p_vaddr), buf, n))
		return false;
	*constant = !(ph->p_flags & PF_W) || is_relro(im, addr, n);
	if (ph->p_flags & PF_W && !relocate(im, addr, buf, n))
		*constant = false;
	return true;
}

size_t image_called(struct image *im, uint64_t *addr, size_t max)
{
	Elf_Scn *scn = NULL;
	size_t n = 0;

	if (max)
		addr[n++] = im->file.ehdr->e_entry;
	while ((scn = elf_nextscn(im->file.elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);
		uint64_t value;
		bool constant;

		if (!sh || (sh->sh_type != SHT_INIT_ARRAY && sh->sh_type != SHT_FINI_ARRAY &&
			    sh->sh_type != SHT_PREINIT_ARRAY))
			continue;
		for (uint64_t at = 0; at + 8 <= sh->sh_size && n < max; at += 8) {
			if (!image_data(im, sh->sh_addr + at, &value, 8, &constant))
				break;
			addr[n++] = value;
		}
	}
	return n;
}

void image_data_fini(struct image *im)
{
	free(im->data.piece);
	free(im->data.reloc);
	im->data = (struct image_data){ 0 };
}
