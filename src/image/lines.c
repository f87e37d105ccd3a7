/* SPDX-License-Identifier: MIT */
#include "image/lines.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"

#define SHARED_ID_MAX 64 /* longest build-id, in bytes */
#define STRINGS_MAX 16 /* limit of string sections: there are five names, and more in split units */
/* limit of ranges: units may share lists, so a small file can claim very many */
#define RANGES_MAX (1u << 22)

static bool add(struct lines *l, uint64_t start, uint64_t end, Dwarf_Off unit)
{
	if (start >= end)
		return true;
	if (l->n == RANGES_MAX)
		return false;
	if (!array_reserve(l->v, l->cap, l->n + 1))
		return false;
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

/* libdw assumes that the last string of a section is terminated, and reads on if it is not. */
static bool strings_end(const struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	int left = STRINGS_MAX; /* very many sections may share their bytes */

	while ((scn = elf_nextscn(f->elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);
		const char *name = sh ? elf_file_section_name(f, sh) : "";
		const Elf_Data *data;
		const char *bytes;

		if (!strstr(name, "debug_") || !strstr(name, "_str"))
			continue;
		if (!left--)
			return false;
		data = elf_rawdata(scn, NULL); /* libdw has decompressed the section in place */
		bytes = data ? data->d_buf : NULL;
		if (data && data->d_size && (!bytes || bytes[data->d_size - 1]))
			return false;
	}
	return true;
}

static bool open_shared(struct lines *l, const char *path)
{
	struct err ignored;

	if (elf_file_open_any(&l->shared, path, &ignored))
		return false;
	l->shared_dwarf = dwarf_begin_elf(l->shared.elf, DWARF_C_READ, NULL);
	return l->shared_dwarf && strings_end(&l->shared);
}

/* Lists the paths where libdw looks: by build-id, and by name, from the folder of the file that
 * refers to it. */
static bool find_shared(char path[2][PATH_MAX], const struct elf_file *f, const char *name,
			const uint8_t *id, size_t n)
{
	char self[64], folder[PATH_MAX] = "", *to = path[0], *slash;
	ssize_t len;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	len = readlink(self, folder, sizeof(folder) - 1);
	folder[len > 0 ? len : 0] = 0;
	slash = strrchr(folder, '/');
	if (!slash || n > SHARED_ID_MAX)
		return false;
	*slash = 0;
	to += sprintf(to, "%s", "/usr/lib/debug/.build-id/");
	for (size_t i = 0; i < n; i++)
		to += sprintf(to, i ? "%02x" : "%02x/", id[i]);
	sprintf(to, ".debug");
	return snprintf(path[1], PATH_MAX, "%s%s%s", *name == '/' ? "" : folder,
			*name == '/' ? "" : "/", name) < PATH_MAX;
}

/*
 * dwz moves the common parts of several debug files into one that they all refer to. libdw would
 * open that file by itself, and wait if it is a pipe. False: the file exists and must not be read.
 */
static bool take_shared(struct lines *l, const struct elf_file *f)
{
	char path[2][PATH_MAX];
	const char *name;
	const void *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(l->dwarf, &name, &id);

	if (n <= 0)
		return true;
	if (!find_shared(path, f, name, id, (size_t)n))
		return false;
	for (int i = 0; i < 2; i++) {
		if (access(path[i], F_OK))
			continue;
		if (!open_shared(l, path[i]))
			return false;
		dwarf_setalt(l->dwarf, l->shared_dwarf);
		return true;
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
	if (!l->dwarf || !strings_end(f) || !take_shared(l, f))
		return;
	while (!dwarf_nextcu(l->dwarf, at, &next, &header, NULL, NULL, NULL)) {
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
	if (l->shared_dwarf)
		dwarf_end(l->shared_dwarf);
	if (l->shared.elf)
		elf_file_close(&l->shared);
	free(l->v);
	*l = (struct lines){ 0 };
}

static const struct lines_range *find(const struct lines *l, uint64_t addr)
{
	size_t lo = search_first(i, 0, l->n, l->v[i].start > addr);

	return lo && addr < l->v[lo - 1].end ? &l->v[lo - 1] : NULL;
}

bool lines_unit(const struct lines *l, uint64_t addr, Dwarf_Die *unit)
{
	const struct lines_range *range = find(l, addr);

	return range && dwarf_offdie(l->dwarf, range->unit, unit);
}

bool lines_at(struct lines *l, uint64_t addr, const char **file, int *line)
{
	Dwarf_Line *found;
	Dwarf_Die die;

	if (!lines_unit(l, addr, &die))
		return false;
	found = dwarf_getsrc_die(&die, addr);
	if (!found || dwarf_lineno(found, line) || *line <= 0)
		return false;
	*file = dwarf_linesrc(found, NULL, NULL);
	return *file;
}
