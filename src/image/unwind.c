/* SPDX-License-Identifier: MIT */
#include "image/unwind.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "image/entries.h"
#include "image/image_priv.h"
#include "image/starts.h"

#define FDE_USUAL 32 /* smallest usual size of an FDE, in bytes */

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

/* Sorts the ranges, and ends each at the start of the next at the latest. Of those that begin at one place one remains. */
static void straighten(struct unwind *u)
{
	size_t n = 0;

	starts_order(u->v, u->n, sizeof(*u->v));
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

static bool add_section(struct unwind *u, const struct image *im,
			bool (*load)(struct entries *s, const struct elf_file *f))
{
	struct entries_walk walk = { 0 };
	struct entries section;
	struct fde fde;
	bool ok = true;

	if (load(&section, &im->file))
		ok = array_reserve(u->v, u->cap, u->n + section.size / FDE_USUAL);
	while (ok && section.bytes && entries_next(&section, &walk, &fde))
		ok = add_range(u, im, fde.start, fde.end - fde.start, fde.lsda);
	entries_fini(&section);
	return ok;
}

/* Adds what .debug_frame tells of code that nothing else tells of. */
static bool add_debug_frame(struct unwind *u, const struct image *im)
{
	struct unwind debug = { 0 };
	bool ok = add_section(&debug, im, entries_load_debug);
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
	ok = add_section(u, im, entries_load) && add_go(u, im);
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
