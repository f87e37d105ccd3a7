/* SPDX-License-Identifier: MIT */
/* Maps ELF files as the kernel does (fs/binfmt_elf.c), and the decoder's library as ld.so would. */
#include <elf.h>

#include <asm/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "engine/core/layout.h"
#include "engine/core/thread.h"
#include "engine/os/elf.h"
#include "engine/os/util.h"
#include "engine/translate/block.h"
#include "engine/os/sys.h"

#define PHDRS_MAX 64
#define PAGE 4096ul
#define page_down(x) ((x) & ~(PAGE - 1))
#define page_up(x) (((x) + PAGE - 1) & ~(PAGE - 1))

static uint64_t near_next = NEAR_BASE;

uint64_t near_hint(uint64_t n)
{
	uint64_t at = __atomic_load_n(&near_next, __ATOMIC_RELAXED);

	n = page_up(n) + PAGE;
	do
		if (n > NEAR_END - at)
			return 0;
	while (!__atomic_compare_exchange_n(&near_next, &at, at + n, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return at;
}

static int read_at(int fd, void *to, size_t n, uint64_t at)
{
	long r = sys(__NR_pread64, fd, to, n, at);

	if (sys_failed(r))
		return (int)r;
	return (size_t)r == n ? 0 : -ENOEXEC;
}

static int prot_of(const Elf64_Phdr *p)
{
	return (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
	       (p->p_flags & PF_X ? PROT_EXEC : 0);
}

/* Reads n bytes at an offset. False if the file ends before that. */
static bool clear(uint64_t from, uint64_t to)
{
	static const uint8_t zeros[PAGE];

	return rt_copy((void *)from, zeros, to - from);
}

static int map_segment(int fd, const Elf64_Phdr *p, uint64_t base)
{
	uint64_t start = page_down(base + p->p_vaddr);
	uint64_t file_end = base + p->p_vaddr + p->p_filesz;
	uint64_t end = page_up(base + p->p_vaddr + p->p_memsz);
	int prot = prot_of(p);
	long r;

	if (p->p_filesz) {
		r = sys(__NR_mmap, start, page_up(file_end) - start, prot, MAP_PRIVATE | MAP_FIXED,
			fd, page_down(p->p_offset));
		if (sys_failed(r))
			return (int)r;
	}
	if (p->p_memsz > p->p_filesz) {
		uint64_t zero = p->p_filesz ? page_up(file_end) : start;

		if (end > zero) {
			r = sys(__NR_mmap, zero, end - zero, prot,
				MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
			if (sys_failed(r))
				return (int)r;
		}
		if (p->p_filesz && (prot & PROT_WRITE) && !clear(file_end, zero))
			return -ENOEXEC;
	}
	return 0;
}

static int check_header(const Elf64_Ehdr *h)
{
	if (memcmp(h->e_ident, ELFMAG, SELFMAG))
		return REFUSE_FORMAT;
	if (h->e_ident[EI_CLASS] == ELFCLASS32)
		return REFUSE_32_BIT;
	if (h->e_machine != EM_X86_64)
		return REFUSE_MACHINE;
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return REFUSE_TYPE;
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_phentsize != sizeof(Elf64_Phdr) ||
	    !h->e_phnum || h->e_phnum > PHDRS_MAX)
		return -ENOEXEC;
	return 0;
}

/* Computes the extent of the segments; -ENOEXEC if they make no sense. */
static int extent(const Elf64_Phdr *ph, unsigned n, uint64_t *low, uint64_t *high, uint64_t *align)
{
	*low = ~0ul;
	*high = 0;
	*align = PAGE;
	for (unsigned i = 0; i < n; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (ph[i].p_vaddr > 1ul << 46 && ph[i].p_vaddr < 1ul << 47)
			return -EEXIST; /* the engine lies there: the file may be the engine itself */
		if (ph[i].p_filesz > ph[i].p_memsz || ph[i].p_memsz > 1ul << 46 ||
		    ph[i].p_vaddr > 1ul << 46 ||
		    (ph[i].p_vaddr & (PAGE - 1)) != (ph[i].p_offset & (PAGE - 1)))
			return -ENOEXEC;
		if (ph[i].p_vaddr < *low)
			*low = page_down(ph[i].p_vaddr);
		if (ph[i].p_vaddr + ph[i].p_memsz > *high)
			*high = page_up(ph[i].p_vaddr + ph[i].p_memsz);
		if (ph[i].p_align > *align && ph[i].p_align <= 1ul << 30 &&
		    !(ph[i].p_align & (ph[i].p_align - 1)))
			*align = ph[i].p_align;
	}
	return *high > *low ? 0 : -ENOEXEC;
}

static int map_all(int fd, const Elf64_Ehdr *h, const Elf64_Phdr *ph, bool own, uint64_t *base)
{
	uint64_t low, high, align, size, at;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	long r = extent(ph, h->e_phnum, &low, &high, &align);

	if (r)
		return (int)r;
	size = high - low;
	if (h->e_type == ET_EXEC) {
		r = sys(__NR_mmap, low, size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
		at = low;
	} else if (own) {
		r = room_map(size, PROT_NONE, flags, -1, 0);
		at = (uint64_t)r;
	} else {
		at = near_hint(size + align);
		at = (at + align - 1) & ~(align - 1);
		r = sys(__NR_mmap, at, size, PROT_NONE, flags, -1, 0);
		at = (uint64_t)r;
	}
	if (sys_failed(r))
		return (int)r;
	*base = at - low;
	for (unsigned i = 0; i < h->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD) {
			r = map_segment(fd, &ph[i], *base);
			if (r)
				return (int)r;
		}
	return 0;
}

int elf_load(int fd, struct loaded *out)
{
	Elf64_Ehdr h;
	Elf64_Phdr ph[PHDRS_MAX];
	long n = sys(__NR_pread64, fd, &h, sizeof(h), 0);
	int r = 0;

	memset(out, 0, sizeof(*out));
	if (sys_failed(n))
		return (int)n;
	if (n < SELFMAG || memcmp(h.e_ident, ELFMAG, SELFMAG))
		return REFUSE_FORMAT;
	if (n < (long)sizeof(h))
		return -ENOEXEC;
	r = check_header(&h);
	if (!r)
		r = read_at(fd, ph, h.e_phnum * sizeof(*ph), h.e_phoff);
	if (!r)
		r = map_all(fd, &h, ph, false, &out->base);
	if (r)
		return r;
	out->entry = out->base + h.e_entry;
	out->phnum = h.e_phnum;
	out->phent = h.e_phentsize;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		const Elf64_Phdr *p = &ph[i];

		if (p->p_type == PT_INTERP) {
			if (p->p_filesz < 2 || p->p_filesz > sizeof(out->interp))
				return -ENOEXEC;
			r = read_at(fd, out->interp, p->p_filesz, p->p_offset);
			if (r || out->interp[p->p_filesz - 1])
				return -ENOEXEC;
		}
		if (p->p_type == PT_LOAD && h.e_type == ET_EXEC &&
		    page_up(p->p_vaddr + p->p_memsz) > out->heap)
			out->heap = page_up(p->p_vaddr + p->p_memsz);
		if (p->p_type == PT_GNU_STACK)
			out->exec_stack = p->p_flags & PF_X;
		if (p->p_type == PT_LOAD && h.e_phoff >= p->p_offset &&
		    h.e_phoff < p->p_offset + p->p_filesz)
			out->phdr = out->base + p->p_vaddr + (h.e_phoff - p->p_offset);
	}
	return 0;
}

static void relocate(const struct library *lib, const Elf64_Rela *rela, size_t n,
		     uint64_t (*resolve)(const char *name))
{
	const Elf64_Sym *sym = lib->sym;

	for (size_t i = 0; i < n; i++) {
		uint64_t *at = (uint64_t *)(lib->base + rela[i].r_offset);
		const Elf64_Sym *s = &sym[ELF64_R_SYM(rela[i].r_info)];
		uint64_t addend = (uint64_t)rela[i].r_addend;

		switch (ELF64_R_TYPE(rela[i].r_info)) {
		case R_X86_64_RELATIVE:
			*at = lib->base + addend;
			break;
		case R_X86_64_64:
		case R_X86_64_GLOB_DAT:
		case R_X86_64_JUMP_SLOT:
			*at = s->st_value ? lib->base + s->st_value + addend
					  : resolve(lib->str + s->st_name);
			break;
		default:
			die("decoder's library: relocation %ld is not known",
			    (long)ELF64_R_TYPE(rela[i].r_info));
		}
	}
}

int elf_load_library(int fd, struct library *lib, uint64_t (*resolve)(const char *name))
{
	Elf64_Ehdr h;
	Elf64_Phdr ph[PHDRS_MAX];
	const Elf64_Dyn *d = NULL;
	uint64_t rela = 0, relasz = 0, plt = 0, pltsz = 0, hash = 0;
	int r = read_at(fd, &h, sizeof(h), 0);

	if (!r)
		r = check_header(&h);
	if (!r)
		r = read_at(fd, ph, h.e_phnum * sizeof(*ph), h.e_phoff);
	if (!r)
		r = map_all(fd, &h, ph, true, &lib->base);
	if (r)
		return r;
	for (unsigned i = 0; i < h.e_phnum; i++)
		if (ph[i].p_type == PT_DYNAMIC)
			d = (const Elf64_Dyn *)(lib->base + ph[i].p_vaddr);
	if (!d)
		return -ENOEXEC;
	for (; d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_SYMTAB:
			lib->sym = (const void *)(lib->base + d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			lib->str = (const char *)(lib->base + d->d_un.d_ptr);
			break;
		case DT_RELA:
			rela = lib->base + d->d_un.d_ptr;
			break;
		case DT_RELASZ:
			relasz = d->d_un.d_val;
			break;
		case DT_JMPREL:
			plt = lib->base + d->d_un.d_ptr;
			break;
		case DT_PLTRELSZ:
			pltsz = d->d_un.d_val;
			break;
		case DT_GNU_HASH:
			hash = lib->base + d->d_un.d_ptr;
			break;
		default:
			break;
		}
	if (!lib->sym || !lib->str || !hash)
		return -ENOEXEC;
	/* the symbol table ends where strings begin, as linkers lay it out */
	lib->nsym = (unsigned)(((uint64_t)lib->str - (uint64_t)lib->sym) / sizeof(Elf64_Sym));
	relocate(lib, (const void *)rela, relasz / sizeof(Elf64_Rela), resolve);
	relocate(lib, (const void *)plt, pltsz / sizeof(Elf64_Rela), resolve);
	return 0;
}

uint64_t elf_symbol(const struct library *lib, const char *name)
{
	const Elf64_Sym *s = lib->sym;

	for (unsigned i = 0; i < lib->nsym; i++)
		if (s[i].st_value && !strcmp(lib->str + s[i].st_name, name))
			return lib->base + s[i].st_value;
	die("decoder's library: no %s", name);
}
