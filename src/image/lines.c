/* SPDX-License-Identifier: MIT */
#include "image/lines.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX (1u << 22) /* units may share lists: a small file can claim very many */

static bool add(struct lines *l, uint64_t start, uint64_t end, Dwarf_Off unit)
{
	if (start >= end)
		return true;
	if (l->n == RANGES_MAX)
		return false;
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 1024;
		struct lines_range *v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return false;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = (struct lines_range){ start, end, unit };
	return true;
}

static bool add_unit(struct lines *l, Dwarf_Off offset)
{
	Dwarf_Addr base, start, end;
	Dwarf_Die die;
	ptrdiff_t at = 0;

	if (!dwarf_offdie(l->dwarf, offset, &die) || dwarf_tag(&die) != DW_TAG_compile_unit)
		return true;
	while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0)
		if (!add(l, start, end, offset))
			return false;
	return true;
}

static int by_start(const void *va, const void *vb)
{
	const struct lines_range *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

static void straighten(struct lines *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_start);
	for (size_t i = 0; i < l->n; i++) {
		if (n && l->v[n - 1].start == l->v[i].start)
			continue;
		if (n && l->v[n - 1].end > l->v[i].start)
			l->v[n - 1].end = l->v[i].start;
		l->v[n++] = l->v[i];
	}
	l->n = n;
}

/* libdw takes it that the last string of a section ends, and reads on where it does not. */
static bool strings_end(const struct elf_file *f)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);
		const char *name = sh ? elf_file_section_name(f, sh) : "";
		const Elf_Data *data;
		const char *bytes;

		if (!strstr(name, "debug_") || !strstr(name, "_str"))
			continue;
		data = elf_rawdata(scn, NULL); /* libdw has decompressed it in its place */
		bytes = data ? data->d_buf : NULL;
		if (data && data->d_size && (!bytes || bytes[data->d_size - 1]))
			return false;
	}
	return true;
}

void lines_read(struct lines *l, const struct elf_file *f)
{
	Dwarf_Off at = 0, next;
	size_t header;

	lines_fini(l);
	l->read = true;
	l->dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	if (!strings_end(f))
		return;
	while (l->dwarf && !dwarf_nextcu(l->dwarf, at, &next, &header, NULL, NULL, NULL)) {
		if (next <= at || !add_unit(l, at + header))
			break;
		at = next;
	}
	straighten(l);
}

void lines_fini(struct lines *l)
{
	if (l->dwarf)
		dwarf_end(l->dwarf);
	free(l->v);
	*l = (struct lines){ 0 };
}

static const struct lines_range *find(const struct lines *l, uint64_t addr)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < l->v[lo - 1].end ? &l->v[lo - 1] : NULL;
}

bool lines_at(struct lines *l, uint64_t addr, const char **file, int *line)
{
	const struct lines_range *range = find(l, addr);
	Dwarf_Line *found;
	Dwarf_Die die;

	if (!range || !dwarf_offdie(l->dwarf, range->unit, &die))
		return false;
	found = dwarf_getsrc_die(&die, addr);
	if (!found || dwarf_lineno(found, line) || *line <= 0)
		return false;
	*file = dwarf_linesrc(found, NULL, NULL);
	return *file;
}
