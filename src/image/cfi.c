/* SPDX-License-Identifier: MIT */
#include "image/cfi.h"

#include <string.h>

#define LOOK 112 /* bytes that libdw keeps for each entry that it has read */

/* The size of the sections whose names begin so. */
static size_t sections_of(const struct elf_file *f, const char *prefix)
{
	Elf_Scn *scn = NULL;
	size_t sum = 0;

	while ((scn = elf_nextscn(f->elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);

		if (sh && !strncmp(elf_file_section_name(f, sh), prefix, strlen(prefix)))
			sum += sh->sh_size;
	}
	return sum;
}

/* The header of the first section of that name in `elf`, another handle of the file. */
static Elf64_Shdr *header_of(const struct elf_file *f, Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);

		if (sh && !strcmp(elf_file_section_name(f, sh), name))
			return sh;
	}
	return NULL;
}

/*
 * libdw searches .eh_frame by the table in .eh_frame_hdr if the latter is the first of the two, as GNU ld puts them. Else it
 * reads, and keeps, all entries up to the one that is looked for. So the two sections change places in the handle.
 */
static void put_table_first(const struct elf_file *f, Elf *elf)
{
	Elf64_Shdr *table = header_of(f, elf, ".eh_frame_hdr");
	Elf64_Shdr *entries = header_of(f, elf, ".eh_frame"), was;

	if (!table || !entries || table < entries) /* the headers are an array */
		return;
	was = *table;
	*table = *entries;
	*entries = was;
}

static bool begin(struct cfi *c, const struct elf_file *f)
{
	if (!c->elf && (c->elf = elf_begin(f->fd, ELF_C_READ, NULL)))
		put_table_first(f, c->elf);
	return c->elf;
}

/* The information of .eh_frame, or NULL. */
static Dwarf_CFI *eh_frame(struct cfi *c, const struct elf_file *f)
{
	if (!c->eh_tried && begin(c, f))
		c->eh = dwarf_getcfi_elf(c->elf);
	if (!c->eh_tried && c->eh)
		c->sections += sections_of(f, ".eh_frame");
	c->eh_tried = true;
	return c->eh;
}

/* The information of .debug_frame, or NULL. */
static Dwarf_CFI *debug_frame(struct cfi *c, const struct elf_file *f)
{
	if (c->debug_tried)
		return c->debug;
	c->debug_tried = true;
	if (elf_file_section(f, ".debug_frame") && begin(c, f))
		c->owner = dwarf_begin_elf(c->elf, DWARF_C_READ, NULL);
	c->debug = c->owner ? dwarf_getcfi(c->owner) : NULL;
	if (c->owner)
		c->sections += sections_of(f, ".debug_");
	return c->debug;
}

Dwarf_Frame *cfi_frame(struct cfi *c, const struct elf_file *f, uint64_t addr)
{
	Dwarf_Frame *frame = NULL;
	bool found = (eh_frame(c, f) && !dwarf_cfi_addrframe(c->eh, addr, &frame)) ||
		     (debug_frame(c, f) && !dwarf_cfi_addrframe(c->debug, addr, &frame));

	c->looks += found;
	return found ? frame : NULL;
}

size_t cfi_bytes(const struct cfi *c)
{
	return c->sections + c->looks * LOOK;
}

void cfi_fini(struct cfi *c)
{
	if (c->owner)
		dwarf_end(c->owner);
	if (c->eh)
		dwarf_cfi_end(c->eh);
	elf_end(c->elf);
	*c = (struct cfi){ 0 };
}
