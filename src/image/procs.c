/* SPDX-License-Identifier: MIT */
/* Merges symbols and unwind ranges into one sorted list of procedures without overlaps. */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/search.h"
#include "image/image_priv.h"
#include "image/plt.h"
#include "image/unwind.h"

#define NEST 64 /* depth of nested symbols; deeper ones are left out */

struct list {
	struct image_proc *v;
	size_t n, cap;
	bool failed; /* memory ran out */
};

/* The symbols that contain `cursor`, each inside the one before. */
struct sweep {
	const struct symbol *open[NEST];
	uint64_t end[NEST];
	int depth;
	uint64_t cursor; /* the list is complete below this address */
	struct list *list;
};

static void list_add(struct list *l, uint64_t start, uint64_t end, const char *name)
{
	if (!name)
		l->failed = true;
	if (start >= end || l->failed)
		return;
	if (!array_reserve(l->v, l->cap, l->n + 1)) {
		l->failed = true;
		return;
	}
	l->v[l->n++] = (struct image_proc){ start, end, name };
}

/* Reserves room for the likely number of procedures. */
static void list_reserve(struct list *l, size_t n)
{
	struct image_proc *v = n ? malloc(n * sizeof(*v)) : NULL;

	if (v) {
		l->v = v;
		l->cap = n;
	}
}

static void emit(struct sweep *s, uint64_t to)
{
	if (s->cursor >= to)
		return;
	if (s->depth)
		list_add(s->list, s->cursor, to, s->open[s->depth - 1]->name);
	s->cursor = to;
}

static void close_until(struct sweep *s, uint64_t addr)
{
	while (s->depth && s->end[s->depth - 1] <= addr) {
		emit(s, s->end[s->depth - 1]);
		s->depth--;
	}
	emit(s, addr);
}

/* Whether a symbol that begins inside another may take its part of it. */
static bool may_nest(const struct sweep *s, const struct symbol *sym)
{
	const struct symbol *outer;

	if (!s->depth)
		return true;
	outer = s->open[s->depth - 1];
	return s->depth < NEST && sym->end != sym->start && (outer->local || !sym->local);
}

/* The end of a symbol without a size: the end of the unwind range, the next symbol, the end of
 * the section or of the segment. */
static uint64_t guess_end(const struct image *im, const struct unwind *u, const struct symbol *sym,
			  uint64_t next)
{
	const struct unwind_range *range = unwind_at(u, sym->start);
	const struct image_segment *seg = image_segment_at(im, sym->start);
	uint64_t end = range ? range->end : seg->addr + seg->size, from, to;

	if (image_section_at(im, sym->start, &from, &to) && from <= sym->start && to < end)
		end = to;
	return next && next < end ? next : end;
}

static void resolve(struct list *l, const struct image *im, const struct unwind *u,
		    const struct symbols *all)
{
	struct sweep s = { .list = l };

	list_reserve(l, all->n);
	for (size_t i = 0, next; i < all->n; i = next) {
		const struct symbol *sym = &all->v[i];
		uint64_t end = sym->end;

		for (next = i + 1; next < all->n && all->v[next].start == sym->start; next++)
			;
		close_until(&s, sym->start);
		if (!may_nest(&s, sym))
			continue;
		if (end == sym->start)
			end = guess_end(im, u, sym, next < all->n ? all->v[next].start : 0);
		s.open[s.depth] = sym;
		s.end[s.depth++] = end;
	}
	close_until(&s, UINT64_MAX);
}

/* Gives back what was reserved in vain. */
static void list_trim(struct list *l)
{
	struct image_proc *v = l->n ? realloc(l->v, l->n * sizeof(*v)) : NULL;

	if (v)
		l->v = v;
}

/* Fills the ranges that symbols leave uncovered, from the unwind ranges. */
static void fill(struct list *to, struct symbols *names, const struct list *named,
		 const struct unwind *u)
{
	size_t k = 0;

	list_reserve(to, named->n + u->n);
	for (size_t i = 0; i < u->n; i++) {
		uint64_t at = u->v[i].start;

		if (k && named->v[k - 1].end > at)
			at = named->v[k - 1].end;
		for (; k < named->n && named->v[k].start < u->v[i].end; k++) {
			const struct image_proc *p = &named->v[k];

			if (at < p->start)
				list_add(to, at, p->start, symbols_sub_name(names, at));
			list_add(to, p->start, p->end, p->name);
			at = p->end > at ? p->end : at;
		}
		if (at < u->v[i].end)
			list_add(to, at, u->v[i].end, symbols_sub_name(names, at));
	}
	for (; k < named->n; k++)
		list_add(to, named->v[k].start, named->v[k].end, named->v[k].name);
}

/* Adds those procedures of Go's own table that no symbol names. */
static bool add_go(struct symbols *s, const struct symbols *known, const struct image *im)
{
	struct gopcln g = { 0 };
	bool ok = true;

	for (uint64_t i = 0, n = gopcln_open(&g, &im->file) ? g.procs : 0; i < n && ok; i++) {
		const char *name = gopcln_name(&g, i);
		const struct image_segment *seg;
		uint64_t start, end;

		if (!name || !gopcln_range(&g, i, &start, &end) || symbols_find(known, start))
			continue;
		seg = image_segment_at(im, start);
		if (seg && end - start <= seg->addr + seg->size - start)
			ok = symbols_add_procedure(s, start, end, name);
	}
	gopcln_fini(&g);
	return ok;
}

/* Merges symbols of another kind, which are unsorted, into those that are sorted. */
static bool merge(struct symbols *s, struct symbols *from)
{
	bool ok;

	symbols_sort(from);
	ok = symbols_merge(s, from);
	symbols_take_names(s, from);
	symbols_fini(from);
	return ok;
}

/* Reads symbol tables by handles of libelf's that are ended then, because these keep copies of them. */
static bool read_tables(struct image *im)
{
	bool debug = image_debug_file(im), ok;
	Elf *own = elf_file_begin_aside(&im->file);
	Elf *own_debug = debug ? elf_file_begin_aside(&im->debug) : NULL;

	ok = symbols_read(&im->symbols, &im->file, im) &&
	     (!debug || symbols_read(&im->symbols, &im->debug, im));
	elf_file_end_aside(&im->file, own);
	if (debug)
		elf_file_end_aside(&im->debug, own_debug);
	return ok;
}

static bool read_plt(struct symbols *plt, struct image *im)
{
	Elf *own = elf_file_begin_aside(&im->file);
	bool ok = plt_read(plt, &im->symbols, im);

	elf_file_end_aside(&im->file, own);
	return ok;
}

static bool read_symbols(struct image *im)
{
	struct symbols go = { 0 }, plt = { 0 };
	bool ok = read_tables(im);

	symbols_sort(&im->symbols);
	ok = ok && add_go(&go, &im->symbols, im);
	ok = merge(&im->symbols, &go) && ok;
	im->has_symbols = im->symbols.n;
	ok = ok && read_plt(&plt, im);
	return merge(&im->symbols, &plt) && ok;
}

static void read_procs(struct image *im)
{
	struct list named = { 0 }, all = { 0 };
	struct unwind unwind = { 0 };

	im->procs_read = true;
	if (read_symbols(im) && unwind_read(&unwind, im)) {
		resolve(&named, im, &unwind, &im->symbols);
		fill(&all, &im->symbols, &named, &unwind);
	}
	if (named.failed || all.failed)
		all.n = 0;
	unwind_fini(&unwind);
	free(named.v);
	list_trim(&all);
	im->proc = all.v;
	im->procs = all.n;
}

size_t image_procs(struct image *im, const struct image_proc **proc)
{
	if (!im->procs_read)
		read_procs(im);
	*proc = im->proc;
	return im->procs;
}

/* The i-th procedure. */
static struct image_proc nth(const struct image *im, size_t i)
{
	const struct image_extent *e = im->extent;
	uint64_t start;

	if (!e)
		return im->proc[i];
	start = im->extents_from + e[i].start;
	return (struct image_proc){ start, start + e[i].size, NULL };
}

/* The number of procedures that begin at addr or before it. */
static size_t begun(struct image *im, uint64_t addr)
{
	const struct image_proc *ignored;

	return search_first(i, 0, image_procs(im, &ignored), nth(im, i).start > addr);
}

const struct image_proc *image_proc_at(struct image *im, uint64_t addr)
{
	size_t n = begun(im, addr);

	if (!n || addr >= nth(im, n - 1).end)
		return NULL;
	if (!im->extent)
		return &im->proc[n - 1];
	im->found = nth(im, n - 1);
	return &im->found;
}

void image_procs_near(struct image *im, uint64_t addr, uint64_t from, uint64_t to, uint64_t *start,
		      uint64_t *end)
{
	size_t n = begun(im, addr);

	for (size_t i = n; i > 1 && nth(im, i - 2).start >= from; i--)
		*start = nth(im, i - 2).start;
	for (size_t i = n; i < im->procs && nth(im, i).start < to; i++)
		*end = nth(im, i).end;
}

size_t image_names_bytes(const struct image *im)
{
	return im->symbols.names_size + im->symbols.cap * sizeof(*im->symbols.v);
}

/* Keeps the extents of procedures alone, in a third of the memory, if their addresses are less than 4 GiB apart. */
static void keep_extents(struct image *im)
{
	uint64_t from = im->procs ? im->proc[0].start : 0;
	struct image_extent *e;

	if (!im->procs || im->proc[im->procs - 1].end - from > UINT32_MAX)
		return;
	e = malloc(im->procs * sizeof(*e));
	if (!e)
		return;
	for (size_t i = 0; i < im->procs; i++) {
		const struct image_proc *p = &im->proc[i];

		e[i] = (struct image_extent){ (uint32_t)(p->start - from),
					      (uint32_t)(p->end - p->start) };
	}
	free(im->proc);
	im->proc = NULL;
	im->extent = e;
	im->extents_from = from;
}

void image_forget_names(struct image *im)
{
	if (!im->procs_read || im->nameless)
		return;
	image_names_fini(im);
	im->names = NULL;
	im->names_read = false;
	symbols_fini(&im->symbols);
	im->symbols = (struct symbols){ 0 };
	for (size_t i = 0; i < im->procs; i++)
		im->proc[i].name = NULL;
	im->nameless = true;
	keep_extents(im);
}

bool image_read_names(struct image *im)
{
	if (!im->nameless)
		return false;
	free(im->proc);
	free(im->extent);
	im->extent = NULL;
	im->nameless = false;
	read_procs(im);
	return true;
}

bool image_procs_are_read(const struct image *im)
{
	return im->procs_read;
}

/* Where the procedure of a name begins. */
struct proc_name {
	const char *name;
	uint64_t start;
	UT_hash_handle hh;
};

static void add_name(struct image *im, struct proc_name *entry, const char *name, uint64_t start)
{
	struct proc_name *known;
	size_t n = strlen(name);

	HASH_FIND(hh, im->by_name, name, n, known);
	if (known)
		return;
	entry->name = name;
	entry->start = start;
	HASH_ADD_KEYPTR(hh, im->by_name, name, n, entry);
}

/* Indexes the names of procedures, then those of symbols, which include aliases. */
static void read_names(struct image *im)
{
	const struct image_proc *proc;
	size_t n = image_procs(im, &proc);

	im->names_read = true;
	im->names = calloc(n + im->symbols.n + 1, sizeof(*im->names));
	if (!im->names)
		return;
	for (size_t i = 0; i < n; i++)
		add_name(im, &im->names[i], proc[i].name, proc[i].start);
	for (size_t i = 0; i < im->symbols.n; i++)
		add_name(im, &im->names[n + i], im->symbols.v[i].name, im->symbols.v[i].start);
}

void image_names_fini(struct image *im)
{
	HASH_CLEAR(hh, im->by_name);
	free(im->names);
}

const struct image_proc *image_proc_named(struct image *im, const char *name)
{
	struct proc_name *known;

	if (im->nameless)
		return NULL;
	if (!im->names_read)
		read_names(im);
	HASH_FIND_STR(im->by_name, name, known);
	return known ? image_proc_at(im, known->start) : NULL;
}

bool image_has_symbols(struct image *im)
{
	const struct image_proc *ignored;

	image_procs(im, &ignored);
	return im->has_symbols;
}
