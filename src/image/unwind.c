/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame is a list of entries, each with its length first. A common information entry (CIE)
 * tells among other things how its frame descriptions (FDE) write addresses; each of these covers
 * one range:
 *
 *	CIE: length, 0, version, augmentation string, code and data alignment, return register,
 *	     augmentation data (with 'z'): one item a letter; 'R' is the encoding
 *	FDE: length, distance back to its CIE, start, size and more
 *
 * .debug_frame is such a list, too. There a CIE has -1 in place of 0, and an FDE the offset of its CIE; both are 8 bytes in an
 * entry whose length is; from version 4 on a CIE has the sizes of addresses and of segment selectors behind the augmentation string.
 */
#include "image/unwind.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "image/image_priv.h"
#include "image/starts.h"

#define FRAME_MAX (1u << 30)
#define FDE_USUAL 32	 /* smallest usual size of an FDE, in bytes */
#define LETTERS_MAX 16	 /* longest augmentation string, with its 0 */
#define NO_ENCODING 0xff /* DW_EH_PE_omit: there is no value */

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

struct frame {
	uint8_t *bytes;
	uint64_t addr, size;
	bool debug; /* it is .debug_frame */
};

static uint64_t take(struct cursor *c, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->p) < bytes) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->p, bytes);
	c->p += bytes;
	return v;
}

static void skip_leb(struct cursor *c)
{
	for (int i = 0; i < 10; i++)
		if (!(take(c, 1) & 0x80))
			return;
	c->bad = true;
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

static uint64_t take_encoded(struct cursor *c, uint8_t encoding)
{
	unsigned size = encoded_size(encoding);
	uint64_t v = take(c, size);
	unsigned unused = 64 - size * 8;

	if (!size) {
		c->bad = true;
		return 0;
	}
	return encoding & DW_EH_PE_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

static uint64_t take_uleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 63; shift += 7) {
		uint64_t byte = take(c, 1);

		v |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

/* The encodings of addresses and of exception table pointers in FDEs. */
struct encodings {
	uint8_t addr, lsda; /* NO_ENCODING: cannot be read, or there is none */
	bool sized;	    /* the augmentation data begins with its size */
};

static const struct encodings no_encodings = { NO_ENCODING, NO_ENCODING, false };

/* Finds the encodings in the augmentation data that the letters describe. */
static struct encodings find_encodings(struct cursor *c, const char *letters)
{
	struct encodings e = { DW_EH_PE_absptr, NO_ENCODING, true };
	bool known = false;
	uint8_t personality;

	for (skip_leb(c); *letters && !c->bad; letters++)
		switch (*letters) {
		case 'R':
			e.addr = (uint8_t)take(c, 1);
			known = !c->bad;
			break;
		case 'L':
			e.lsda = (uint8_t)take(c, 1);
			break;
		case 'P':
			personality = (uint8_t)take(c, 1);
			take_encoded(c, personality);
			break;
		case 'S':
		case 'B':
			break;
		default:
			return known ? (struct encodings){ e.addr, NO_ENCODING, true }
				     : no_encodings;
		}
	if (c->bad)
		return known ? (struct encodings){ e.addr, NO_ENCODING, true } : no_encodings;
	return e;
}

static void take_length(struct cursor *c, uint64_t *length, bool *wide)
{
	*length = take(c, 4);
	*wide = *length == UINT32_MAX;
	if (*wide)
		*length = take(c, 8);
}

/* What an entry has behind its length: which kind it is, and of an FDE where its CIE is. */
static uint64_t take_link(const struct frame *f, struct cursor *c, bool wide)
{
	return take(c, f->debug && wide ? 8 : 4);
}

static bool is_cie(const struct frame *f, uint64_t link, bool wide)
{
	return link == (!f->debug ? 0 : wide ? UINT64_MAX : UINT32_MAX);
}

/* The offset of the CIE of an FDE whose link is at that offset; UINT64_MAX: there is none. */
static uint64_t cie_of(const struct frame *f, uint64_t link, uint64_t at)
{
	if (f->debug)
		return link < f->size ? link : UINT64_MAX;
	return link <= at ? at - link : UINT64_MAX;
}

static bool has_usual_sizes(struct cursor *c)
{
	uint64_t address = take(c, 1), segment = take(c, 1);

	return address == 8 && !segment;
}

static struct encodings cie_encodings(const struct frame *f, uint64_t offset)
{
	struct cursor c = { f->bytes + offset, f->bytes + f->size, false };
	char letters[LETTERS_MAX];
	uint64_t length, version;
	size_t n = 0;
	bool wide;

	take_length(&c, &length, &wide);
	if (!is_cie(f, take_link(f, &c, wide), wide) || c.bad)
		return no_encodings;
	version = take(&c, 1);
	while (n < LETTERS_MAX && (letters[n] = (char)take(&c, 1)))
		n++;
	if (n == LETTERS_MAX || (f->debug && version >= 4 && !has_usual_sizes(&c)) || c.bad)
		return no_encodings;
	skip_leb(&c);
	skip_leb(&c);
	skip_leb(&c);
	if (letters[0] != 'z')
		return letters[0] || c.bad
			       ? no_encodings
			       : (struct encodings){ DW_EH_PE_absptr, NO_ENCODING, false };
	return find_encodings(&c, letters + 1);
}

static bool add_range(struct unwind *u, const struct image *im, uint64_t start, uint64_t size,
		      uint64_t lsda)
{
	const struct image_segment *seg = image_segment_at(im, start);

	if (!seg || !size || size > seg->addr + seg->size - start)
		return true;
	if (!array_reserve(u->v, u->cap, u->n + 1))
		return false;
	u->v[u->n++] = (struct unwind_range){ start, start + size, lsda };
	return true;
}

/* Reads the address of the FDE's exception table from its augmentation data; 0: it has none. */
static uint64_t take_lsda(const struct frame *f, struct cursor *c, const struct encodings *e)
{
	uint64_t here, v;

	if (!e->sized || e->lsda == NO_ENCODING || !take_uleb(c) || c->bad)
		return 0;
	here = f->addr + (uint64_t)(c->p - f->bytes);
	v = take_encoded(c, e->lsda & 0x0f);
	if (c->bad || !v || e->lsda & DW_EH_PE_indirect)
		return 0;
	switch (e->lsda & 0x70) {
	case DW_EH_PE_absptr:
		return v;
	case DW_EH_PE_pcrel:
		return v + here;
	default:
		return 0;
	}
}

static bool add_fde(struct unwind *u, const struct image *im, const struct frame *f,
		    struct cursor c, const struct encodings *e)
{
	uint64_t here = f->addr + (uint64_t)(c.p - f->bytes);
	uint64_t start = take_encoded(&c, e->addr);
	uint64_t size = take_encoded(&c, e->addr & 0x07);

	if (c.bad || e->addr & DW_EH_PE_indirect)
		return true;
	switch (e->addr & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		start += here;
		break;
	default:
		return true;
	}
	return add_range(u, im, start, size, take_lsda(f, &c, e));
}

static bool walk(struct unwind *u, const struct image *im, const struct frame *f)
{
	struct cursor c = { f->bytes, f->bytes + f->size, false };
	uint64_t known = UINT64_MAX; /* the CIE whose encodings were read last */
	struct encodings e = no_encodings;

	for (;;) {
		uint64_t length, at, link, cie;
		struct cursor body;
		bool wide;

		take_length(&c, &length, &wide);
		body = c;
		if (c.bad || !length || length > (uint64_t)(c.end - c.p))
			return true;
		body.end = c.p += length;
		at = (uint64_t)(body.p - f->bytes);
		link = take_link(f, &body, wide);
		cie = cie_of(f, link, at);
		if (body.bad || is_cie(f, link, wide) || cie == UINT64_MAX)
			continue;
		if (cie != known) {
			known = cie;
			e = cie_encodings(f, known);
		}
		if (e.addr != NO_ENCODING && !add_fde(u, im, f, body, &e))
			return false;
	}
}

static bool load_frame(struct frame *f, const struct image *im, uint64_t addr, uint64_t offset,
		       uint64_t size)
{
	f->addr = addr;
	f->size = size < FRAME_MAX ? size : FRAME_MAX;
	f->bytes = elf_file_load(&im->file, offset, f->size);
	return f->bytes;
}

/* Finds .eh_frame without section headers: .eh_frame_hdr begins with its address, and a length of
 * zero ends it. */
static bool load_by_header(struct frame *f, const struct image *im, const Elf64_Phdr *hdr)
{
	struct {
		uint8_t version, encoding, count, table;
		int32_t distance;
	} head;
	uint64_t addr;

	if (hdr->p_filesz < sizeof(head) ||
	    !elf_file_read(&im->file, hdr->p_offset, &head, sizeof(head)) || head.version != 1 ||
	    head.encoding != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return false;
	addr = hdr->p_vaddr + 4 + (uint64_t)(int64_t)head.distance;
	for (size_t i = 0; i < im->file.phdrs; i++) {
		const Elf64_Phdr *ph = &im->file.phdr[i];

		if (ph->p_type == PT_LOAD && addr - ph->p_vaddr < ph->p_filesz)
			return load_frame(f, im, addr, ph->p_offset + (addr - ph->p_vaddr),
					  ph->p_filesz - (addr - ph->p_vaddr));
	}
	return false;
}

static bool find_frame(struct frame *f, const struct image *im)
{
	const Elf64_Shdr *sh = elf_file_section(&im->file, ".eh_frame");

	if (sh && sh->sh_type != SHT_NOBITS &&
	    load_frame(f, im, sh->sh_addr, sh->sh_offset, sh->sh_size))
		return true;
	for (size_t i = 0; i < im->file.phdrs; i++)
		if (im->file.phdr[i].p_type == PT_GNU_EH_FRAME)
			return load_by_header(f, im, &im->file.phdr[i]);
	return false;
}

static bool find_debug_frame(struct frame *f, const struct image *im)
{
	*f = (struct frame){ .debug = true };
	f->bytes = elf_file_load_section(&im->file, ".debug_frame", FRAME_MAX, &f->size);
	return f->bytes;
}

static int by_start(const void *va, const void *vb)
{
	const struct unwind_range *a = va, *b = vb;

	return (a->start > b->start) - (a->start < b->start);
}

/* Sorts the ranges, and ends each at the start of the next at the latest. Of those that begin at one place one remains. */
static void straighten(struct unwind *u)
{
	bool sorted = true;
	size_t n = 0;

	for (size_t i = 1; i < u->n && sorted; i++)
		sorted = u->v[i - 1].start <= u->v[i].start;
	if (!sorted && !starts_sort(u->v, u->n, sizeof(*u->v)))
		qsort(u->v, u->n, sizeof(*u->v), by_start);
	for (size_t i = 0; i < u->n; i++) {
		if (n && u->v[n - 1].start == u->v[i].start)
			continue;
		if (n && u->v[n - 1].end > u->v[i].start)
			u->v[n - 1].end = u->v[i].start;
		u->v[n++] = u->v[i];
	}
	u->n = n;
}

static bool add_go(struct unwind *u, const struct image *im)
{
	struct gopcln g = { 0 };
	uint64_t start, end;
	bool ok = true;

	if (gopcln_open(&g, &im->file))
		for (uint64_t i = 0; i < g.procs && ok; i++)
			if (gopcln_range(&g, i, &start, &end))
				ok = add_range(u, im, start, end - start, 0);
	gopcln_fini(&g);
	return ok;
}

static bool add_frame(struct unwind *u, const struct image *im,
		      bool (*find)(struct frame *f, const struct image *im))
{
	struct frame f = { 0 };
	bool ok = true;

	if (find(&f, im))
		ok = array_reserve(u->v, u->cap, u->n + f.size / FDE_USUAL) && walk(u, im, &f);
	free(f.bytes);
	return ok;
}

/* Adds what .debug_frame tells of code that nothing else tells of. */
static bool add_debug_frame(struct unwind *u, const struct image *im)
{
	struct unwind debug = { 0 };
	bool ok = add_frame(&debug, im, find_debug_frame);
	size_t n = 0;

	for (size_t i = 0; i < debug.n; i++)
		if (!unwind_at(u, debug.v[i].start))
			debug.v[n++] = debug.v[i];
	ok = ok && array_reserve(u->v, u->cap, u->n + n);
	if (ok && n) {
		memcpy(u->v + u->n, debug.v, n * sizeof(*debug.v));
		u->n += n;
		straighten(u);
	}
	unwind_fini(&debug);
	return ok;
}

bool unwind_read(struct unwind *u, const struct image *im)
{
	bool ok;

	*u = (struct unwind){ 0 };
	ok = add_frame(u, im, find_frame) && add_go(u, im);
	straighten(u);
	return ok && add_debug_frame(u, im);
}

void unwind_fini(struct unwind *u)
{
	free(u->v);
	*u = (struct unwind){ 0 };
}

const struct unwind_range *unwind_at(const struct unwind *u, uint64_t addr)
{
	size_t lo = search_first(i, 0, u->n, u->v[i].start > addr);

	return lo && addr < u->v[lo - 1].end ? &u->v[lo - 1] : NULL;
}
