/* SPDX-License-Identifier: MIT */
/*
 * One ELF file on disk, x86-64: its headers through libelf, its bytes through pread. Nothing is
 * mapped: a file that shrinks while it is open must not bring SIGBUS.
 */
#ifndef ASSAY_IMAGE_ELF_FILE_H
#define ASSAY_IMAGE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "base/err.h"

struct elf_file {
	int fd; /* -1: not open */
	uint64_t size;
	Elf *elf;
	const Elf64_Ehdr *ehdr;
	const Elf64_Phdr *phdr;
	size_t phdrs;
};

/* Opens an executable or a shared object, which has program headers. -1 with err set. */
int elf_file_open(struct elf_file *f, const char *path, struct err *err);
/* The same from a descriptor, which becomes the file's in any case; `path` is for messages. */
int elf_file_take(struct elf_file *f, int fd, const char *path, struct err *err);
/* Opens an ELF file of any type; its headers are not read. -1 with err set. */
int elf_file_open_any(struct elf_file *f, const char *path, struct err *err);
void elf_file_close(struct elf_file *f);
/* All n bytes at offset, or false. */
bool elf_file_read(const struct elf_file *f, uint64_t offset, void *buf, size_t n);
/* The same into memory of its own, to be freed; NULL if they are not all there. */
uint8_t *elf_file_load(const struct elf_file *f, uint64_t offset, uint64_t n);
/*
 * Sections and segments may overlap, all 65535 of them. What is read of those of one kind is bounded by the file's size, of
 * which *left remains: false if n is more.
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
const char *elf_file_section_name(const struct elf_file *f, const Elf64_Shdr *sh);

/* The build-id's length and up to max bytes of it; 0 if there is none. A separate debug file's
 * program headers are those of the file it was cut from: there, only sections tell. */
enum elf_notes {
	ELF_NOTES_SEGMENTS,
	ELF_NOTES_SECTIONS,
};
size_t elf_file_build_id(const struct elf_file *f, enum elf_notes where, uint8_t *id, size_t max);

#endif
