/* SPDX-License-Identifier: MIT */
#include "image/entries.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_MAX (1u << 30)
#define LETTERS_MAX 16 /* longest augmentation string, with its 0 */

/* Reads a number of *bits bits, 7 of each byte; *negative: the highest of them is set. */
static uint64_t take_leb(struct dwarf_cursor *c, unsigned *bits, bool *negative)
{
	uint64_t v = 0;

	for (*bits = 0; *bits < 70; *bits += 7) {
		uint64_t byte = cursor_take(c, 1);

		v |= (byte & 0x7f) << *bits;
		*negative = byte & 0x40;
		if (!(byte & 0x80)) {
			*bits += 7;
			return v;
		}
	}
	c->bad = true;
	return 0;
}

uint64_t cursor_uleb(struct dwarf_cursor *c)
{
	unsigned bits;
	bool negative;

	return take_leb(c, &bits, &negative);
}

int64_t cursor_sleb(struct dwarf_cursor *c)
{
	unsigned bits;
	bool negative;
	uint64_t v = take_leb(c, &bits, &negative);

	if (negative && bits < 64)
		v |= ~(uint64_t)0 << bits;
	return (int64_t)v;
}

/* The size in bytes of a value of that encoding; 0 if the size is variable or there is none. */
static unsigned encoded_size(uint8_t encoding)
{
	switch (encoding & 0x07) {
	case DW_EH_PE_absptr:
		return 8;
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	case DW_EH_PE_udata8:
		return 8;
	default:
		return 0;
	}
}

static uint64_t take_encoded(struct dwarf_cursor *c, uint8_t encoding)
{
	unsigned size = encoded_size(encoding);
	uint64_t v = cursor_take(c, size);
	unsigned unused = 64 - size * 8;

	if (!size) {
		c->bad = true;
		return 0;
	}
	return encoding & DW_EH_PE_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

uint64_t entries_address(const struct entries *s, struct dwarf_cursor *c, uint8_t encoding)
{
	uint64_t here = s->addr + (uint64_t)(c->p - s->bytes);
	uint64_t v = take_encoded(c, encoding & 0x0f);

	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		return v;
	case DW_EH_PE_pcrel:
		return v + here;
	default:
		c->bad = true;
		return 0;
	}
}

/* Reads the augmentation data that the letters describe. Those behind an unknown letter stay unread. */
static void read_augmentation(struct cie *cie, struct dwarf_cursor *c, const char *letters)
{
	uint64_t size = cursor_uleb(c);
	struct dwarf_cursor data = { c->p, c->end, c->bad };
	bool known = false, all = true;
	uint8_t personality;

	for (; *letters && all && !data.bad; letters++)
		switch (*letters) {
		case 'R':
			cie->addr = (uint8_t)cursor_take(&data, 1);
			known = !data.bad;
			break;
		case 'L':
			cie->lsda = (uint8_t)cursor_take(&data, 1);
			break;
		case 'P':
			personality = (uint8_t)cursor_take(&data, 1);
			take_encoded(&data, personality);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			break;
		default:
			all = false;
		}
	if (!all || data.bad) {
		cie->addr = known ? cie->addr : ENTRIES_OMITTED;
		cie->lsda = ENTRIES_OMITTED;
	}
	cie->sized = true;
	if (!c->bad && size <= (uint64_t)(c->end - c->p))
		c->p += size;
	else
		c->bad = true;
}

static bool has_usual_sizes(struct dwarf_cursor *c)
{
	uint64_t address = cursor_take(c, 1), segment = cursor_take(c, 1);

	return address == 8 && !segment;
}

/* Enters an entry: the cursor's end is the entry's. */
static bool enter(struct dwarf_cursor *c, bool *wide)
{
	uint64_t length = cursor_take(c, 4);

	*wide = length == UINT32_MAX;
	if (*wide)
		length = cursor_take(c, 8);
	if (c->bad || !length || length > (uint64_t)(c->end - c->p))
		return false;
	c->end = c->p + length;
	return true;
}

/* What an entry has behind its length: which kind it is, and of an FDE where its CIE is. */
static uint64_t take_link(const struct entries *s, struct dwarf_cursor *c, bool wide)
{
	return cursor_take(c, s->debug && wide ? 8 : 4);
}

static bool is_cie(const struct entries *s, uint64_t link, bool wide)
{
	return link == (!s->debug ? 0 : wide ? UINT64_MAX : UINT32_MAX);
}

/* The offset of the CIE of an FDE whose link is at that offset; UINT64_MAX: there is none. */
static uint64_t cie_of(const struct entries *s, uint64_t link, uint64_t at)
{
	if (s->debug)
		return link < s->size ? link : UINT64_MAX;
	return link <= at ? at - link : UINT64_MAX;
}

struct cie entries_cie(const struct entries *s, uint64_t offset)
{
	struct cie cie = { .addr = ENTRIES_OMITTED, .lsda = ENTRIES_OMITTED };
	struct dwarf_cursor c = { s->bytes + offset, s->bytes + s->size, false };
	char letters[LETTERS_MAX];
	uint64_t version;
	size_t n = 0;
	bool wide;

	if (!enter(&c, &wide) || !is_cie(s, take_link(s, &c, wide), wide) || c.bad)
		return cie;
	version = cursor_take(&c, 1);
	while (n < LETTERS_MAX && (letters[n] = (char)cursor_take(&c, 1)))
		n++;
	if (n == LETTERS_MAX || (s->debug && version >= 4 && !has_usual_sizes(&c)) || c.bad)
		return cie;
	cie.code_align = cursor_uleb(&c);
	cie.data_align = cursor_sleb(&c);
	if (version == 1)
		cursor_take(&c, 1);
	else
		cursor_uleb(&c);
	if (c.bad || (letters[0] && letters[0] != 'z'))
		return cie;
	cie.addr = DW_EH_PE_absptr;
	if (letters[0])
		read_augmentation(&cie, &c, letters + 1);
	cie.runnable = !c.bad;
	cie.code = c;
	return cie;
}

/* Reads an address that may be missing, which 0 stands for. */
static uint64_t take_pointer(const struct entries *s, struct dwarf_cursor c, uint8_t encoding)
{
	struct dwarf_cursor raw = c;
	bool missing = !take_encoded(&raw, encoding & 0x0f);
	uint64_t v = entries_address(s, &c, encoding);

	return missing || c.bad ? 0 : v;
}

/* Reads an FDE from behind its link on. */
static bool read_fde(const struct entries *s, const struct cie *cie, struct dwarf_cursor c,
		     struct fde *fde)
{
	uint64_t size = 0;

	if (cie->addr == ENTRIES_OMITTED || cie->addr & DW_EH_PE_indirect)
		return false;
	fde->start = entries_address(s, &c, cie->addr);
	fde->end = fde->start + take_encoded(&c, cie->addr & 0x07);
	if (c.bad)
		return false;
	if (cie->sized)
		size = cursor_uleb(&c);
	if (size > (uint64_t)(c.end - c.p)) {
		c.bad = true;
		size = 0;
	}
	fde->lsda = 0;
	if (size && cie->lsda != ENTRIES_OMITTED && !(cie->lsda & DW_EH_PE_indirect))
		fde->lsda = take_pointer(s, c, cie->lsda);
	c.p += size;
	fde->code = c;
	return true;
}

bool entries_next(const struct entries *s, struct entries_walk *w, struct fde *fde)
{
	while (w->at < s->size) {
		struct dwarf_cursor c = { s->bytes + w->at, s->bytes + s->size, false };
		uint64_t at, link, cie;
		bool wide;

		fde->offset = w->at;
		if (!enter(&c, &wide))
			break;
		at = (uint64_t)(c.p - s->bytes);
		w->at = (uint64_t)(c.end - s->bytes);
		link = take_link(s, &c, wide);
		cie = cie_of(s, link, at);
		if (c.bad || is_cie(s, link, wide) || cie == UINT64_MAX)
			continue;
		if (!w->known || cie != w->where) {
			w->known = true;
			w->where = cie;
			w->cie = entries_cie(s, cie);
		}
		if (read_fde(s, &w->cie, c, fde))
			return true;
	}
	return false;
}

static bool load(struct entries *s, const struct elf_file *f, uint64_t addr, uint64_t offset,
		 uint64_t size)
{
	s->addr = addr;
	s->size = size < SECTION_MAX ? size : SECTION_MAX;
	s->bytes = elf_file_load(f, offset, s->size);
	return s->bytes;
}

/* Finds .eh_frame without section headers: .eh_frame_hdr begins with its address, and a length of
 * zero ends it. */
static bool load_by_header(struct entries *s, const struct elf_file *f, const Elf64_Phdr *hdr)
{
	struct {
		uint8_t version, encoding, count, table;
		int32_t distance;
	} head;
	uint64_t addr;

	if (hdr->p_filesz < sizeof(head) || !elf_file_read(f, hdr->p_offset, &head, sizeof(head)) ||
	    head.version != 1 || head.encoding != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return false;
	addr = hdr->p_vaddr + 4 + (uint64_t)(int64_t)head.distance;
	for (size_t i = 0; i < f->phdrs; i++) {
		const Elf64_Phdr *ph = &f->phdr[i];

		if (ph->p_type == PT_LOAD && addr - ph->p_vaddr < ph->p_filesz)
			return load(s, f, addr, ph->p_offset + (addr - ph->p_vaddr),
				    ph->p_filesz - (addr - ph->p_vaddr));
	}
	return false;
}

bool entries_load(struct entries *s, const struct elf_file *f)
{
	const Elf64_Shdr *sh = elf_file_section(f, ".eh_frame");

	*s = (struct entries){ 0 };
	if (sh && sh->sh_type != SHT_NOBITS && load(s, f, sh->sh_addr, sh->sh_offset, sh->sh_size))
		return true;
	for (size_t i = 0; i < f->phdrs; i++)
		if (f->phdr[i].p_type == PT_GNU_EH_FRAME)
			return load_by_header(s, f, &f->phdr[i]);
	return false;
}

bool entries_load_debug(struct entries *s, const struct elf_file *f)
{
	*s = (struct entries){ .debug = true };
	s->bytes = elf_file_load_section(f, ".debug_frame", SECTION_MAX, &s->size);
	return s->bytes;
}

void entries_fini(struct entries *s)
{
	free(s->bytes);
	*s = (struct entries){ 0 };
}
