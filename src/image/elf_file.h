/* SPDX-License-Identifier: MIT */
/*
 * One ELF file on disk, x86-64: libelf reads its headers, pread its bytes. Nothing is mapped: a
 * file that shrinks while it is open must not cause SIGBUS.
 */
#ifndef ASSAY_IMAGE_ELF_FILE_H
#define ASSAY_IMAGE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "base/err.h"

struct elf_file {
	int fd; /* file descriptor; -1: not open */
	uint64_t size;
	Elf *elf;
	const Elf64_Ehdr *ehdr;
	const Elf64_Phdr *phdr;
	size_t phdrs;
};

/* Opens an executable or a shared object, which has program headers. -1 with err set. */
int elf_file_open(struct elf_file *f, const char *path, struct err *err);
/* Opens the file of a descriptor, which becomes the file's in any case; `path` is for messages. */
int elf_file_take(struct elf_file *f, int fd, const char *path, struct err *err);
/* Opens an ELF file of any type without reading its headers. -1 with err set. */
int elf_file_open_any(struct elf_file *f, const char *path, struct err *err);
void elf_file_close(struct elf_file *f);
/* Reads sections with a libelf handle of their own. The result is to be given to elf_file_end_aside(), which frees what
 * libelf keeps of them. */
Elf *elf_file_begin_aside(struct elf_file *f);
void elf_file_end_aside(struct elf_file *f, Elf *own);
/* Reads all n bytes at offset; false: they are not all there. */
bool elf_file_read(const struct elf_file *f, uint64_t offset, void *buf, size_t n);
/* Reads bytes into new memory, to be freed; NULL if they are not all there. */
uint8_t *elf_file_load(const struct elf_file *f, uint64_t offset, uint64_t n);
/*
 * Bounds reading of sections and segments, all 65535 of which may overlap: those of one kind may
 * take as many bytes as the file has, of which *left remain. False if n is more.
 */
static inline bool elf_file_within(uint64_t *left, uint64_t n)
{
	if (n > *left)
		return false;
	*left -= n;
	return true;
}
/* The first section of that name, or NULL. */
const Elf64_Shdr *elf_file_section(const struct elf_file *f, const char *name);
/* Reads the first section of that name, decompressed, into new memory, to be freed: *n bytes. NULL: there is none, or it has more
 * than max bytes. */
uint8_t *elf_file_load_section(const struct elf_file *f, const char *name, uint64_t max,
			       uint64_t *n);
const char *elf_file_section_name(const struct elf_file *f, const Elf64_Shdr *sh);

/* Returns the length of the build-id and copies up to max bytes of it; 0 if there is none. The
 * program headers of a separate debug file are those of the file it was cut from, so there only
 * sections tell. */
enum elf_notes {
	ELF_NOTES_SEGMENTS,
	ELF_NOTES_SECTIONS,
};
size_t elf_file_build_id(const struct elf_file *f, enum elf_notes where, uint8_t *id, size_t max);

#endif
