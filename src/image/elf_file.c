/* SPDX-License-Identifier: MIT */
#include "image/elf_file.h"

#include <endian.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define NOTES_MAX (1u << 20)
/* Limit of decompressed data, since libelf and libdw decompress in memory. Debug information
 * compresses to a tenth at best, except in small files. */
#define INFLATED_MIN ((uint64_t)64 << 20)
#define INFLATED_RATIO 64u

/* The size that a section claims to have when decompressed; 0: it is not compressed. */
static uint64_t inflated_size(const struct elf_file *f, const Elf64_Shdr *sh)
{
	struct {
		char magic[4];
		uint32_t high, low; /* big-endian halves of the size */
	} old;
	Elf64_Chdr ch;

	if (sh->sh_flags & SHF_COMPRESSED)
		return elf_file_read(f, sh->sh_offset, &ch, sizeof(ch)) ? ch.ch_size : 0;
	if (strncmp(elf_file_section_name(f, sh), ".zdebug", 7) != 0 ||
	    !elf_file_read(f, sh->sh_offset, &old, sizeof(old)))
		return 0;
	return (uint64_t)be32toh(old.high) << 32 | be32toh(old.low);
}

/* Sections with SHF_COMPRESSED come first: the table of the sections' names may be one of them. */
static bool inflates_too_much(const struct elf_file *f)
{
	uint64_t left = INFLATED_MIN + INFLATED_RATIO * f->size;
	const Elf64_Shdr *sh;

	for (int named = 0; named < 2; named++)
		for (Elf_Scn *scn = NULL; (scn = elf_nextscn(f->elf, scn));) {
			sh = elf64_getshdr(scn);
			if (sh && named == !(sh->sh_flags & SHF_COMPRESSED) &&
			    !elf_file_within(&left, inflated_size(f, sh)))
				return true;
		}
	return false;
}

static int check_ident(struct elf_file *f, const char *path, struct err *err)
{
	const char *ident = elf_getident(f->elf, NULL);

	if (elf_kind(f->elf) != ELF_K_ELF || !ident)
		return err_set(err, ERR_FAILED, "%s: not an ELF file", path);
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, ERR_FAILED, "%s: not a 64-bit little-endian ELF file", path);
	if (inflates_too_much(f))
		return err_set(
			err, ERR_FAILED,
			"%s: its compressed sections claim to be more than %u times the file", path,
			INFLATED_RATIO);
	return 0;
}

static int check_header(struct elf_file *f, const char *path, struct err *err)
{
	f->ehdr = elf64_getehdr(f->elf);
	if (!f->ehdr)
		return err_set(err, ERR_FAILED, "%s: malformed ELF header", path);
	if (f->ehdr->e_machine != EM_X86_64)
		return err_set(err, ERR_FAILED, "%s: for machine %u, not x86-64", path,
			       f->ehdr->e_machine);
	if (f->ehdr->e_type != ET_EXEC && f->ehdr->e_type != ET_DYN)
		return err_set(err, ERR_FAILED,
			       "%s: ELF type %u is neither executable nor shared object", path,
			       f->ehdr->e_type);
	return 0;
}

static int check_phdrs(struct elf_file *f, const char *path, struct err *err)
{
	if (elf_getphdrnum(f->elf, &f->phdrs))
		return err_set(err, ERR_FAILED, "%s: malformed ELF program headers", path);
	f->phdr = f->phdrs ? elf64_getphdr(f->elf) : NULL;
	if (!f->phdr)
		return err_set(err, ERR_FAILED, "%s: no readable ELF program headers", path);
	return 0;
}

/* Opens an ELF file of any type without reading its headers. fd becomes the file's, and is
 * closed on failure. */
static int begin(struct elf_file *f, int fd, uint64_t size, const char *path, struct err *err)
{
	*f = (struct elf_file){ .fd = fd, .size = size };
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!f->elf)
		err_set(err, ERR_FAILED, "%s: %s", path, elf_errmsg(-1));
	else if (!check_ident(f, path, err))
		return 0;
	elf_file_close(f);
	return -1;
}

static int read_headers(struct elf_file *f, const char *path, struct err *err)
{
	if (!check_header(f, path, err) && !check_phdrs(f, path, err))
		return 0;
	elf_file_close(f);
	return -1;
}

int elf_file_open_any(struct elf_file *f, const char *path, struct err *err)
{
	struct stat st;
	int fd = file_open(path, &st, err);

	*f = (struct elf_file){ .fd = -1 };
	return fd < 0 ? -1 : begin(f, fd, (uint64_t)st.st_size, path, err);
}

int elf_file_open(struct elf_file *f, const char *path, struct err *err)
{
	return elf_file_open_any(f, path, err) ? -1 : read_headers(f, path, err);
}

int elf_file_take(struct elf_file *f, int fd, const char *path, struct err *err)
{
	struct stat st;

	*f = (struct elf_file){ .fd = -1 };
	if (fstat(fd, &st)) {
		err_sys(err, "cannot open %s", path);
		close(fd);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, ERR_FAILED, "%s: not a regular file", path);
	}
	return begin(f, fd, (uint64_t)st.st_size, path, err) ? -1 : read_headers(f, path, err);
}

void elf_file_close(struct elf_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct elf_file){ .fd = -1 };
}

Elf *elf_file_begin_aside(struct elf_file *f)
{
	Elf *own = f->elf, *aside = elf_begin(f->fd, ELF_C_READ, NULL);

	if (aside)
		f->elf = aside;
	return own;
}

void elf_file_end_aside(struct elf_file *f, Elf *own)
{
	if (f->elf != own)
		elf_end(f->elf);
	f->elf = own;
}

bool elf_file_read(const struct elf_file *f, uint64_t offset, void *buf, size_t n)
{
	uint8_t *to = buf;

	if (offset > f->size || n > f->size - offset)
		return false;
	while (n) {
		ssize_t got = pread(f->fd, to, n, (off_t)offset);

		if (got <= 0)
			return false;
		to += got;
		offset += (size_t)got;
		n -= (size_t)got;
	}
	return true;
}

uint8_t *elf_file_load(const struct elf_file *f, uint64_t offset, uint64_t n)
{
	uint8_t *buf;

	if (!n || offset > f->size || n > f->size - offset)
		return NULL;
	buf = malloc(n);
	if (buf && !elf_file_read(f, offset, buf, n)) {
		free(buf);
		buf = NULL;
	}
	return buf;
}

const char *elf_file_section_name(const struct elf_file *f, const Elf64_Shdr *sh)
{
	size_t strings;
	const char *name;

	if (elf_getshdrstrndx(f->elf, &strings))
		return "";
	name = elf_strptr(f->elf, strings, sh->sh_name);
	return name ? name : "";
}

const Elf64_Shdr *elf_file_section(const struct elf_file *f, const char *name)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);

		if (sh && !strcmp(elf_file_section_name(f, sh), name))
			return sh;
	}
	return NULL;
}

/* The decompressed bytes of a section, by a libelf handle of its own, which decompresses in place. */
static uint8_t *load_compressed(const struct elf_file *f, size_t section, uint64_t max, uint64_t *n)
{
	Elf *own = elf_begin(f->fd, ELF_C_READ, NULL);
	Elf_Scn *scn = own ? elf_getscn(own, section) : NULL;
	const Elf_Data *data = scn && elf_compress(scn, 0, 0) >= 0 ? elf_rawdata(scn, NULL) : NULL;
	uint8_t *bytes = NULL;

	if (data && data->d_buf && data->d_size && data->d_size <= max)
		bytes = malloc(data->d_size);
	if (bytes) {
		*n = data->d_size;
		memcpy(bytes, data->d_buf, data->d_size);
	}
	elf_end(own);
	return bytes;
}

uint8_t *elf_file_load_section(const struct elf_file *f, const char *name, uint64_t max,
			       uint64_t *n)
{
	Elf_Scn *scn = NULL;
	const Elf64_Shdr *sh;

	while ((scn = elf_nextscn(f->elf, scn))) {
		sh = elf64_getshdr(scn);
		if (!sh || strcmp(elf_file_section_name(f, sh), name) != 0)
			continue;
		if (sh->sh_type == SHT_NOBITS)
			return NULL;
		if (sh->sh_flags & SHF_COMPRESSED)
			return load_compressed(f, elf_ndxscn(scn), max, n);
		*n = sh->sh_size;
		return *n <= max ? elf_file_load(f, sh->sh_offset, *n) : NULL;
	}
	return NULL;
}

static size_t id_of_notes(const struct elf_file *f, uint64_t offset, uint64_t size, uint64_t align,
			  uint8_t *id, size_t max)
{
	Elf_Data *data;
	GElf_Nhdr note;
	size_t pos = 0, name, desc;

	if (size > NOTES_MAX || offset > f->size || size > f->size - offset)
		return 0;
	data = elf_getdata_rawchunk(f->elf, (int64_t)offset, size,
				    align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	while (data && (pos = gelf_getnote(data, pos, &note, &name, &desc)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(bytes + name, "GNU", 4) != 0 || !note.n_descsz)
			continue;
		if (note.n_descsz < max)
			max = note.n_descsz;
		memcpy(id, bytes + desc, max);
		return max;
	}
	return 0;
}

static size_t id_of_segments(const struct elf_file *f, uint8_t *id, size_t max)
{
	uint64_t left = f->size;
	size_t got = 0;

	for (size_t i = 0; i < f->phdrs && !got; i++)
		if (f->phdr[i].p_type == PT_NOTE && elf_file_within(&left, f->phdr[i].p_filesz))
			got = id_of_notes(f, f->phdr[i].p_offset, f->phdr[i].p_filesz,
					  f->phdr[i].p_align, id, max);
	return got;
}

static size_t id_of_sections(const struct elf_file *f, uint8_t *id, size_t max)
{
	uint64_t left = f->size;
	Elf_Scn *scn = NULL;
	size_t got = 0;

	while (!got && (scn = elf_nextscn(f->elf, scn))) {
		const Elf64_Shdr *sh = elf64_getshdr(scn);

		if (sh && sh->sh_type == SHT_NOTE && elf_file_within(&left, sh->sh_size))
			got = id_of_notes(f, sh->sh_offset, sh->sh_size, sh->sh_addralign, id, max);
	}
	return got;
}

size_t elf_file_build_id(const struct elf_file *f, enum elf_notes where, uint8_t *id, size_t max)
{
	return where == ELF_NOTES_SEGMENTS ? id_of_segments(f, id, max)
					   : id_of_sections(f, id, max);
}
