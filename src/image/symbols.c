/* SPDX-License-Identifier: MIT */
#include "image/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "base/text.h"
#include "image/image_priv.h"
#include "image/starts.h"

#define BLOCK 65536
#define NAME_MAX_SHOWN 4096
/* limit of all names together: a file may repeat one long name very many times */
#define NAMES_MAX (256u << 20)
/* characters that are compared to choose between two names of equal merit */
#define TIE 64

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
	s->names_size += from->names_size;
	from->names = NULL;
	from->names_size = 0;
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

/* Makes room for n more symbols. */
static bool make_room(struct symbols *s, size_t n)
{
	return array_reserve(s->v, s->cap, s->n + n);
}

bool symbols_add(struct symbols *s, const struct symbol *sym)
{
	if (s->n == s->cap && !make_room(s, s->n ? s->n : 1024))
		return false;
	s->v[s->n++] = *sym;
	return true;
}

/* Whether the name is ASCII without a version or a control character. Eight characters are
 * tested at a time, because most names are long. */
static bool is_plain(const char *name, size_t n)
{
	const uint64_t ones = 0x0101010101010101, tops = 0x80 * ones;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t v, at, del;

		memcpy(&v, name + i, 8);
		at = v ^ '@' * ones;
		del = v ^ 0x7f * ones;
		/* a byte below another one has its top bit set, and perhaps some bytes above it */
		if ((v & tops) || ((v - ' ' * ones) & tops) || ((at - ones) & ~at & tops) ||
		    ((del - ones) & ~del & tops))
			return false;
	}
	for (; i < n; i++)
		if (name[i] == '@' || name[i] < ' ' || name[i] == 0x7f)
			return false;
	return true;
}

/* A copy of the name for display: without a symbol version ("memcpy@@GLIBC_2.14"), and fit for a terminal. */
static const char *shown_name(struct symbols *s, const char *name)
{
	size_t n = strnlen(name, NAME_MAX_SHOWN + 1);
	const char *version;
	char *copy;

	bool plain = n <= NAME_MAX_SHOWN && is_plain(name, n);

	n = n <= NAME_MAX_SHOWN ? n : NAME_MAX_SHOWN;
	version = plain ? NULL : memchr(name, '@', n);
	n = version ? (size_t)(version - name) : n;
	copy = symbols_alloc(s, n + 1);
	if (!copy)
		return NULL;
	memcpy(copy, name, n);
	copy[n] = 0;
	return plain ? copy : text_clean(copy);
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

/* Adds a symbol under the name as it is shown. */
static bool add_named(struct symbols *s, struct symbol *new, const char *name)
{
	new->name = shown_name(s, name);
	if (!new->name)
		return false;
	if (!new->name[0])
		return true;
	while (new->name[new->plain] == '_' && new->plain < 8)
		new->plain++;
	return symbols_add(s, new);
}

static bool add_elf_symbol(struct symbols *s, const Elf64_Sym *sym, const char *name,
			   const struct image_segment *seg)
{
	uint64_t room = seg->addr + seg->size - sym->st_value;
	struct symbol new = { .start = sym->st_value,
			      .local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL };

	new.end = new.start + (sym->st_size < room ? sym->st_size : room);
	return add_named(s, &new, name);
}

bool symbols_add_procedure(struct symbols *s, uint64_t start, uint64_t end, const char *name)
{
	struct symbol new = { .start = start, .end = end, .local = true };

	return add_named(s, &new, name);
}

/* A table of strings that are all terminated; NULL: this one is not, and elf_strptr() must be
 * used. */
static const char *strings_of(const struct elf_file *f, size_t section, size_t *size)
{
	Elf_Scn *scn = elf_getscn(f->elf, section);
	const Elf64_Shdr *sh = scn ? elf64_getshdr(scn) : NULL;
	const Elf_Data *data = sh && sh->sh_type == SHT_STRTAB && !(sh->sh_flags & SHF_COMPRESSED)
				       ? elf_rawdata(scn, NULL)
				       : NULL;
	const char *text = data ? data->d_buf : NULL;

	if (!text || !data->d_size || text[data->d_size - 1])
		return NULL;
	*size = data->d_size;
	return text;
}

static bool read_table(struct symbols *s, const struct elf_file *f, Elf_Scn *scn,
		       const Elf64_Shdr *sh, const struct image *im)
{
	const Elf_Data *data = elf_getdata(scn, NULL);
	const Elf64_Sym *sym = data && data->d_type == ELF_T_SYM ? data->d_buf : NULL;
	size_t n = sym ? data->d_size / sizeof(*sym) : 0, code = 0, size = 0;
	const char *strings = strings_of(f, sh->sh_link, &size);

	for (size_t i = 0; i < n; i++)
		code += is_code(&sym[i]);
	if (!make_room(s, code))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct image_segment *seg;
		const char *name;

		if (!is_code(&sym[i]))
			continue;
		seg = image_segment_at(im, sym[i].st_value);
		name = !seg		       ? NULL
		       : !strings	       ? elf_strptr(f->elf, sh->sh_link, sym[i].st_name)
		       : sym[i].st_name < size ? strings + sym[i].st_name
					       : NULL;
		if (name && !add_elf_symbol(s, &sym[i], name, seg))
			return false;
	}
	return true;
}

bool symbols_read(struct symbols *s, const struct elf_file *f, const struct image *im)
{
	Elf_Scn *scn = NULL;
	bool ok = true, symtab = false, dynsym = false;

	/* Each table is read once, because a malformed file may have many sections that share
	 * one. */
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

/* Orders symbols of one address; the first one names it. */
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

void symbols_sort(struct symbols *s)
{
	if (!s->n)
		return;
	if (!starts_sort(s->v, s->n, sizeof(*s->v))) {
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

bool symbols_merge(struct symbols *s, const struct symbols *from)
{
	size_t i = s->n, k = from->n;

	if (!make_room(s, k))
		return false;
	s->n += k;
	while (k) { /* filled from the end, where there is room */
		bool ours = i && by_addr(&s->v[i - 1], &from->v[k - 1]) > 0;

		s->v[i + k - 1] = ours ? s->v[i - 1] : from->v[k - 1];
		if (ours)
			i--;
		else
			k--;
	}
	return true;
}

const struct symbol *symbols_find(const struct symbols *s, uint64_t addr)
{
	size_t lo = search_first(i, 0, s->n, s->v[i].start >= addr);

	return lo < s->n && s->v[lo].start == addr ? &s->v[lo] : NULL;
}
