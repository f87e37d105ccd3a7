/* SPDX-License-Identifier: MIT */
#include "image/plt.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "image/image_priv.h"

#define SLOT 16 /* bytes of a slot; .plt.got without IBT has SLOT_SHORT */
#define SLOT_SHORT 8
#define PLT_MAX (1u << 24)
#define PIECE 512 /* relocations that are read at once */
#define NAME_MAX_READ 4000
#define JUMP_BYTES 6 /* ff 25 disp32: jmp *disp(%rip) */

struct got_word {
	uint64_t addr;
	const char *name; /* NULL: the slot leads to `target`, a local procedure */
	uint64_t target;
};

struct got {
	struct got_word *v;
	size_t n, cap;
};

static bool add_word(struct got *g, const struct got_word *word)
{
	if (!array_reserve(g->v, g->cap, g->n + 1))
		return false;
	g->v[g->n++] = *word;
	return true;
}

static const Elf_Data *linked_data(const struct elf_file *f, const Elf64_Shdr *sh, Elf64_Word *link)
{
	Elf_Scn *scn = elf_getscn(f->elf, sh->sh_link);
	const Elf64_Shdr *to = scn ? elf64_getshdr(scn) : NULL;
	const Elf_Data *data = to && to->sh_link ? elf_getdata(scn, NULL) : NULL;

	*link = data ? to->sh_link : 0;
	return data && data->d_type == ELF_T_SYM ? data : NULL;
}

/* What the relocation puts into its word; neither a name nor a target: nothing that is known. */
static struct got_word word_of(const struct elf_file *f, const Elf64_Rela *rela,
			       const Elf_Data *syms, Elf64_Word strings)
{
	struct got_word word = { .addr = rela->r_offset };
	uint32_t type = ELF64_R_TYPE(rela->r_info), sym = ELF64_R_SYM(rela->r_info);
	const Elf64_Sym *all = syms ? syms->d_buf : NULL;

	if (type == R_X86_64_IRELATIVE)
		word.target = (uint64_t)rela->r_addend;
	else if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && all &&
		 sym < syms->d_size / sizeof(*all))
		word.name = elf_strptr(f->elf, strings, all[sym].st_name);
	return word;
}

/* Reads a section piece by piece: there may be millions of relocations, few of which are of interest. */
static bool read_rela(struct got *g, const struct elf_file *f, const Elf64_Shdr *sh)
{
	Elf64_Rela piece[PIECE];
	Elf64_Word strings;
	const Elf_Data *syms = linked_data(f, sh, &strings);
	uint64_t left = sh->sh_size / sizeof(*piece), at = sh->sh_offset;

	if (sh->sh_offset > f->size || sh->sh_size > f->size - sh->sh_offset)
		return true;
	for (uint64_t n; left; left -= n, at += n * sizeof(*piece)) {
		n = left < PIECE ? left : PIECE;
		if (!elf_file_read(f, at, piece, n * sizeof(*piece)))
			return true;
		for (uint64_t i = 0; i < n; i++) {
			struct got_word word = word_of(f, &piece[i], syms, strings);

			if ((word.name || word.target) && !add_word(g, &word))
				return false;
		}
	}
	return true;
}

static int by_word(const void *va, const void *vb)
{
	const struct got_word *a = va, *b = vb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

static bool read_got(struct got *g, const struct elf_file *f)
{
	static const char *const names[] = { ".rela.plt", ".rela.dyn" };
	bool had[2] = { false, false };
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);

		for (int i = 0; sh && sh->sh_type == SHT_RELA && i < 2; i++) {
			if (had[i] || strcmp(elf_file_section_name(f, sh), names[i]) != 0)
				continue;
			had[i] = true;
			if (!read_rela(g, f, sh))
				return false;
		}
	}
	if (g->n)
		qsort(g->v, g->n, sizeof(*g->v), by_word);
	return true;
}

/* The address of the word that the slot jumps through, or 0. */
static uint64_t slot_word(const uint8_t *slot, size_t n, uint64_t addr)
{
	for (size_t i = 0; i + JUMP_BYTES <= n; i++) {
		int32_t disp;

		if (slot[i] != 0xff || slot[i + 1] != 0x25)
			continue;
		memcpy(&disp, slot + i + 2, sizeof(disp));
		return addr + i + JUMP_BYTES + (uint64_t)(int64_t)disp;
	}
	return 0;
}

static const char *slot_name(struct symbols *to, const struct symbols *known,
			     const struct got_word *word)
{
	const struct symbol *sym = word->name ? NULL : symbols_find(known, word->target);
	const char *of = word->name ? word->name
			 : sym	    ? sym->name
				    : symbols_sub_name(to, word->target);
	size_t n;
	char *name;

	if (!of)
		return NULL;
	n = strnlen(of, NAME_MAX_READ);
	name = symbols_alloc(to, n + sizeof("@plt"));
	if (!name)
		return NULL;
	memcpy(name, of, n);
	memcpy(name + n, "@plt", sizeof("@plt"));
	return text_clean(name);
}

static bool read_slots(struct symbols *to, const struct symbols *known, const struct got *g,
		       const uint8_t *bytes, const Elf64_Shdr *sh)
{
	size_t step = sh->sh_entsize == SLOT_SHORT ? SLOT_SHORT : SLOT;

	for (uint64_t at = 0; at + step <= sh->sh_size; at += step) {
		struct got_word key = { .addr = slot_word(bytes + at, step, sh->sh_addr + at) };
		const struct got_word *word =
			key.addr ? bsearch(&key, g->v, g->n, sizeof(*g->v), by_word) : NULL;
		struct symbol sym = { .start = sh->sh_addr + at, .end = sh->sh_addr + at + step };

		if (!word)
			continue;
		sym.name = slot_name(to, known, word);
		if (!sym.name || !symbols_add(to, &sym))
			return false;
	}
	return true;
}

static bool is_plt(const struct image *im, const Elf64_Shdr *sh)
{
	const struct image_segment *seg = image_segment_at(im, sh->sh_addr);

	return sh->sh_type == SHT_PROGBITS && sh->sh_size && sh->sh_size < PLT_MAX && seg &&
	       sh->sh_size <= seg->addr + seg->size - sh->sh_addr &&
	       !strncmp(elf_file_section_name(&im->file, sh), ".plt", 4);
}

static bool read_sections(struct symbols *to, const struct symbols *known, const struct got *g,
			  const struct image *im)
{
	Elf_Scn *scn = NULL;
	int left = 4; /* .plt, .plt.sec, .plt.got, .plt.bnd; a malformed file may have more */
	bool ok = true;

	while (ok && left && (scn = elf_nextscn(im->file.elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);
		uint8_t *bytes;

		if (!sh || !is_plt(im, sh))
			continue;
		left--;
		bytes = elf_file_load(&im->file, sh->sh_offset, sh->sh_size);
		ok = !bytes || read_slots(to, known, g, bytes, sh);
		free(bytes);
	}
	return ok;
}

bool plt_read(struct symbols *to, const struct symbols *known, const struct image *im)
{
	struct got g = { 0 };
	bool ok = read_got(&g, &im->file);

	if (ok && g.n)
		ok = read_sections(to, known, &g, im);
	free(g.v);
	return ok;
}
