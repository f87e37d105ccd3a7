/* SPDX-License-Identifier: MIT */
#include "image/inlines.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/keyed.h"
#include "base/search.h"

#define NESTED_MAX 64 /* namespaces, classes and blocks within each other */
/* most entries of a unit: hostile files have entries that refer back to themselves */
#define ENTRIES_MAX (1u << 22)
#define STEPS_MAX (1u << 18) /* entries of one procedure that are looked at */

struct range {
	uint64_t start, end;
	Dwarf_Off proc; /* offset of its entry */
};

struct inlines_unit {
	Dwarf_Off unit;
	struct range *v; /* sorted by start */
	size_t n, room;
	unsigned entries;
	UT_hash_handle hh;
};

static bool add_range(struct inlines_unit *u, uint64_t start, uint64_t end, Dwarf_Off proc)
{
	if (start >= end)
		return true;
	if (u->n >= ENTRIES_MAX || !array_reserve(u->v, u->room, u->n + 1))
		return false;
	u->v[u->n++] = (struct range){ start, end, proc };
	return true;
}

static bool add_proc(struct inlines_unit *u, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (!add_range(u, start, end, dwarf_dieoffset(die)))
			return false;
	return true;
}

static bool holds_procs(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type;
}

/* Procedures among the children of an entry, and of those that hold some. */
static void find_procs(struct inlines_unit *u, Dwarf_Die *parent)
{
	Dwarf_Die at[NESTED_MAX];
	int depth = 0, more = dwarf_child(parent, &at[0]);

	while (u->entries++ < ENTRIES_MAX) {
		int tag;

		while (more && depth > 0) {
			depth--;
			more = dwarf_siblingof(&at[depth], &at[depth]);
		}
		if (more)
			return;
		tag = dwarf_tag(&at[depth]);
		if (tag == DW_TAG_subprogram && !add_proc(u, &at[depth]))
			return;
		if (holds_procs(tag) && depth + 1 < NESTED_MAX &&
		    !dwarf_child(&at[depth], &at[depth + 1]))
			depth++;
		else
			more = dwarf_siblingof(&at[depth], &at[depth]);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->proc > y->proc) - (x->proc < y->proc);
}

static struct inlines_unit *unit_get(struct inlines *x, Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die);
	unsigned had = HASH_COUNT(x->units);
	struct inlines_unit *u = keyed_get(x->units, unit, &offset);

	if (!u || HASH_COUNT(x->units) == had)
		return u;
	find_procs(u, die);
	if (u->n)
		qsort(u->v, u->n, sizeof(*u->v), by_start);
	return u;
}

static const struct range *range_at(const struct inlines_unit *u, uint64_t addr)
{
	size_t low = search_first(i, 0, u->n, u->v[i].start > addr);

	return low && addr < u->v[low - 1].end ? &u->v[low - 1] : NULL;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static const char *name_of(Dwarf_Die *die)
{
	const char *name = text_of(die, DW_AT_linkage_name);

	name = name ? name : text_of(die, DW_AT_MIPS_linkage_name);
	return name ? name : dwarf_diename(die);
}

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value))
		return 0;
	return value;
}

static bool describe(struct image_inline *to, Dwarf_Die *unit, Dwarf_Die *die)
{
	uint64_t file = number_of(die, DW_AT_call_file), line = number_of(die, DW_AT_call_line);
	Dwarf_Files *files;
	size_t n;

	*to = (struct image_inline){ .name = name_of(die) };
	if (!dwarf_getsrcfiles(unit, &files, &n) && file < n)
		to->file = dwarf_filesrc(files, (size_t)file, NULL, NULL);
	to->line = to->file && line < INT32_MAX ? (int)line : 0;
	return to->name;
}

/* The first entry from *at on, among those beside it, that covers the address. */
static bool find_cover(Dwarf_Die *at, uint64_t addr, unsigned *steps)
{
	do {
		int tag = dwarf_tag(at);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(at, addr) > 0)
			return true;
	} while (++*steps < STEPS_MAX && !dwarf_siblingof(at, at));
	return false;
}

size_t inlines_at(struct inlines *x, struct lines *l, uint64_t addr, struct image_inline *found,
		  size_t max)
{
	Dwarf_Die unit, at, child;
	struct inlines_unit *u = lines_unit(l, addr, &unit) ? unit_get(x, &unit) : NULL;
	const struct range *r = u ? range_at(u, addr) : NULL;
	unsigned steps = 0;
	size_t n = 0;

	if (!r || !dwarf_offdie(l->dwarf, r->proc, &at))
		return 0;
	for (int depth = 0; depth < NESTED_MAX && n < max && !dwarf_child(&at, &child); depth++) {
		if (!find_cover(&child, addr, &steps))
			break;
		at = child;
		if (dwarf_tag(&at) == DW_TAG_inlined_subroutine && describe(&found[n], &unit, &at))
			n++;
	}
	return n;
}

void inlines_fini(struct inlines *x)
{
	struct inlines_unit *u, *next;

	HASH_ITER (hh, x->units, u, next) {
		HASH_DEL(x->units, u);
		free(u->v);
		free(u);
	}
}
