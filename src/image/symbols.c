/* SPDX-License-Identifier: MIT */
#include "image/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "image/image_priv.h"

#define BLOCK 65536
#define NAME_MAX_SHOWN 4096
#define NAMES_MAX (256u << 20) /* in all: a file may give one long name very many times */
#define DIGIT 11	       /* bits that a pass of sorting looks at */
#define TIE 64		       /* characters that decide between two names of equal merit */

struct names_block {
	struct names_block *next;
	size_t used, size;
	char text[];
};

char *symbols_alloc(struct symbols *s, size_t n)
{
	struct names_block *b = s->names;

	if (!b || b->size - b->used < n) {
		size_t size = n > BLOCK ? n : BLOCK;

		if (s->names_size + size > NAMES_MAX)
			return NULL;
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct names_block){ .next = s->names, .size = size };
		s->names = b;
		s->names_size += size;
	}
	b->used += n;
	return b->text + b->used - n;
}

void symbols_take_names(struct symbols *s, struct symbols *from)
{
	struct names_block **last = &s->names;

	while (*last)
		last = &(*last)->next;
	*last = from->names;
	from->names = NULL;
}

const char *symbols_sub_name(struct symbols *s, uint64_t addr)
{
	char text[sizeof("sub_") + 16];
	char *p = text + sizeof(text), *name;
	size_t n;

	*--p = 0;
	do {
		*--p = "0123456789abcdef"[addr & 15];
		addr >>= 4;
	} while (addr);
	p -= 4;
	memcpy(p, "sub_", 4);
	n = (size_t)(text + sizeof(text) - p);
	name = symbols_alloc(s, n);
	return name ? memcpy(name, p, n) : NULL;
}

void symbols_fini(struct symbols *s)
{
	struct names_block *b;

	while ((b = s->names)) {
		s->names = b->next;
		free(b);
	}
	free(s->v);
	*s = (struct symbols){ 0 };
}

bool symbols_add(struct symbols *s, const struct symbol *sym)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 1024;
		struct symbol *v = realloc(s->v, cap * sizeof(*v));

		if (!v)
			return false;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = *sym;
	return true;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/*
 * The name as it is shown: without a symbol version ("memcpy@@GLIBC_2.14"), and fit for a terminal.
 * What needs no change stays where it is.
 */
static const char *shown_name(struct symbols *s, const char *name)
{
	bool same = true;
	size_t n;
	char *copy;

	for (n = 0; n < NAME_MAX_SHOWN && name[n] && name[n] != '@'; n++)
		same = same && !is_control(name[n]);
	if (same && !name[n])
		return name;
	copy = symbols_alloc(s, n + 1);
	if (!copy)
		return NULL;
	for (size_t i = 0; i < n; i++)
		copy[i] = is_control(name[i]) ? '?' : name[i];
	copy[n] = 0;
	return copy;
}

static bool is_code(const Elf64_Sym *sym)
{
	int type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* Assembler code often leaves its entry points untyped; local labels are no procedures. */
	return type == STT_NOTYPE && ELF64_ST_BIND(sym->st_info) != STB_LOCAL;
}

static bool add_elf_symbol(struct symbols *s, const Elf64_Sym *sym, const char *name,
			   const struct image_segment *seg)
{
	uint64_t room = seg->addr + seg->size - sym->st_value;
	struct symbol new = { .start = sym->st_value,
			      .local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL };

	new.end = new.start + (sym->st_size < room ? sym->st_size : room);
	new.name = shown_name(s, name);
	if (!new.name)
		return false;
	if (!new.name[0])
		return true;
	while (new.name[new.plain] == '_' && new.plain < 8)
		new.plain++;
	return symbols_add(s, &new);
}

static bool read_table(struct symbols *s, const struct elf_file *f, Elf_Scn *scn,
		       const Elf64_Shdr *sh, const struct image *im)
{
	const Elf_Data *data = elf_getdata(scn, NULL);
	const Elf64_Sym *sym = data && data->d_type == ELF_T_SYM ? data->d_buf : NULL;
	size_t n = sym ? data->d_size / sizeof(*sym) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct image_segment *seg;
		const char *name;

		if (!is_code(&sym[i]))
			continue;
		seg = image_segment_at(im, sym[i].st_value);
		name = seg ? elf_strptr(f->elf, sh->sh_link, sym[i].st_name) : NULL;
		if (name && !add_elf_symbol(s, &sym[i], name, seg))
			return false;
	}
	return true;
}

bool symbols_read(struct symbols *s, const struct elf_file *f, const struct image *im)
{
	Elf_Scn *scn = NULL;
	bool ok = true, symtab = false, dynsym = false;

	/* Not each of many sections that share one table: a file may say so. */
	while (ok && (scn = elf_nextscn(f->elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);
		bool *had = !sh				? NULL
			    : sh->sh_type == SHT_SYMTAB ? &symtab
			    : sh->sh_type == SHT_DYNSYM ? &dynsym
							: NULL;

		if (!had || *had)
			continue;
		*had = true;
		ok = read_table(s, f, scn, sh, im);
	}
	return ok;
}

/* Order within one address: the first is the one that names it. */
static int by_merit(const struct symbol *a, const struct symbol *b)
{
	bool sized_a = a->end != a->start, sized_b = b->end != b->start;

	if (sized_a != sized_b)
		return sized_a ? -1 : 1;
	if (a->local != b->local)
		return a->local ? 1 : -1;
	if (a->plain != b->plain)
		return a->plain < b->plain ? -1 : 1;
	return strncmp(a->name, b->name, TIE);
}

static int by_addr(const void *va, const void *vb)
{
	const struct symbol *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return by_merit(a, b);
}

struct key {
	uint64_t start;
	size_t i;
};

/* Ascending by start, of n keys with room for n behind them; what is equal stays in order. Returns where they
 * are then. */
static struct key *sort_keys(struct key *from, size_t n, uint64_t range)
{
	struct key *to = from + n;

	for (unsigned shift = 0; shift < 64 && range >> shift; shift += DIGIT) {
		size_t at[1u << DIGIT] = { 0 }, sum = 0;
		struct key *other = from;

		for (size_t i = 0; i < n; i++)
			at[from[i].start >> shift & ((1u << DIGIT) - 1)]++;
		for (size_t d = 0; d < 1u << DIGIT; d++) {
			size_t count = at[d];

			at[d] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			to[at[from[i].start >> shift & ((1u << DIGIT) - 1)]++] = from[i];
		from = to;
		to = other;
	}
	return from;
}

/* By start, with a radix sort: there are tens of thousands of them, all over in order. */
static bool sort_by_start(struct symbols *s)
{
	struct key *keys = malloc(2 * s->n * sizeof(*keys)), *sorted;
	struct symbol *v = malloc(s->n * sizeof(*v));
	uint64_t low = UINT64_MAX, high = 0;

	if (!keys || !v) {
		free(keys);
		free(v);
		return false;
	}
	for (size_t i = 0; i < s->n; i++) {
		low = s->v[i].start < low ? s->v[i].start : low;
		high = s->v[i].start > high ? s->v[i].start : high;
	}
	for (size_t i = 0; i < s->n; i++)
		keys[i] = (struct key){ s->v[i].start - low, i };
	sorted = sort_keys(keys, s->n, high - low);
	for (size_t i = 0; i < s->n; i++)
		v[i] = s->v[sorted[i].i];
	free(keys);
	free(s->v);
	s->v = v;
	s->cap = s->n;
	return true;
}

void symbols_sort(struct symbols *s)
{
	if (!s->n)
		return;
	if (!sort_by_start(s)) {
		qsort(s->v, s->n, sizeof(*s->v), by_addr);
		return;
	}
	for (size_t i = 0, next; i < s->n; i = next) {
		for (next = i + 1; next < s->n && s->v[next].start == s->v[i].start; next++)
			;
		if (next - i > 1)
			qsort(s->v + i, next - i, sizeof(*s->v), by_addr);
	}
}

const struct symbol *symbols_find(const struct symbols *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].start < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n && s->v[lo].start == addr ? &s->v[lo] : NULL;
}
