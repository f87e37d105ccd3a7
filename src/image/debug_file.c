/* SPDX-License-Identifier: MIT */
/*
 * Finds the debug information that distributions keep in separate files: by build-id, or by the
 * name and checksum in .gnu_debuglink.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "image/image_priv.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define LINK_MAX_SIZE 4096
#define READ_SIZE (1u << 18)

static bool has_id(const struct image *im, const struct elf_file *f)
{
	uint8_t id[IMAGE_BUILD_ID_MAX];
	size_t n = elf_file_build_id(f, ELF_NOTES_SECTIONS, id, sizeof(id));

	return n == im->id_len && !memcmp(id, im->id_bytes, n);
}

static bool has_crc(const struct elf_file *f, uint32_t want)
{
	uint8_t *buf = malloc(READ_SIZE);
	unsigned long crc = crc32(0, NULL, 0);
	uint64_t at = 0;

	while (buf && at < f->size) {
		size_t n = f->size - at < READ_SIZE ? f->size - at : READ_SIZE;

		if (!elf_file_read(f, at, buf, n))
			break;
		crc = crc32(crc, buf, (unsigned)n);
		at += n;
	}
	free(buf);
	return at == f->size && crc == want;
}

static bool open_by_id(struct image *im)
{
	char path[sizeof(DEBUG_ROOT "/.build-id/xx/.debug") + sizeof(im->id)];
	struct err ignored;

	if (im->id_len < 2)
		return false;
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", im->id, im->id + 2);
	if (elf_file_open(&im->debug, path, &ignored))
		return false;
	if (has_id(im, &im->debug))
		return true;
	elf_file_close(&im->debug);
	return false;
}

/* A build-id decides if there is one, else the checksum, which takes long for a large file. */
static bool open_linked(struct image *im, const char *path, uint32_t crc)
{
	struct err ignored;

	if (elf_file_open(&im->debug, path, &ignored))
		return false;
	if (im->id_len ? has_id(im, &im->debug) : has_crc(&im->debug, crc))
		return true;
	elf_file_close(&im->debug);
	return false;
}

static bool open_by_link(struct image *im)
{
	const Elf64_Shdr *sh = elf_file_section(&im->file, ".gnu_debuglink");
	const char *slash = strrchr(im->path, '/');
	int dir = slash ? (int)(slash - im->path) : 0;
	char name[LINK_MAX_SIZE], path[PATH_MAX];
	bool found = false;
	size_t n;
	uint32_t crc;

	if (!slash || !sh || sh->sh_size < 8 || sh->sh_size > sizeof(name) ||
	    !elf_file_read(&im->file, sh->sh_offset, name, sh->sh_size))
		return false;
	n = strnlen(name, sh->sh_size);
	if (!n || n + 5 > sh->sh_size || memchr(name, '/', n))
		return false;
	memcpy(&crc, name + sh->sh_size - 4, sizeof(crc));
	for (int i = 0; i < 3 && !found; i++) {
		int len = snprintf(path, sizeof(path), "%s%.*s/%s%s", i == 2 ? DEBUG_ROOT : "", dir,
				   im->path, i == 1 ? ".debug/" : "", name);

		found = len < (int)sizeof(path) && open_linked(im, path, crc);
	}
	return found;
}

const struct elf_file *image_debug_file(struct image *im)
{
	if (!im->debug_tried && !open_by_id(im))
		open_by_link(im);
	im->debug_tried = true;
	return im->debug.elf ? &im->debug : NULL;
}
