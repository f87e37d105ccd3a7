/* SPDX-License-Identifier: MIT */
#include "image/image_priv.h"

#include <stdlib.h>
#include <sys/mman.h>

#define CHUNK 16384u

static bool reserve(struct image_code *code, uint64_t size)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (bytes == MAP_FAILED)
		return false;
	code->present = calloc(size / CHUNK / 64 + 1, sizeof(*code->present));
	if (!code->present) {
		munmap(bytes, size);
		return false;
	}
	code->bytes = bytes;
	return true;
}

static bool load_chunk(const struct image *im, const struct image_segment *seg,
		       struct image_code *code, uint64_t chunk)
{
	uint64_t from = chunk * CHUNK;
	uint64_t n = seg->size - from < CHUNK ? seg->size - from : CHUNK;

	if (code->present[chunk / 64] >> chunk % 64 & 1)
		return true;
	if (!elf_file_read(&im->file, seg->offset + from, code->bytes + from, n))
		return false;
	code->read += n;
	code->present[chunk / 64] |= 1ull << chunk % 64;
	return true;
}

/* Reads the chunks of `least` bytes from addr on, or of those that the segment has. *n: how many bytes there are then. */
static const uint8_t *load(const struct image *im, uint64_t addr, size_t least, size_t *n)
{
	const struct image_segment *seg = image_segment_at(im, addr);
	struct image_code *code;
	uint64_t at, last, end;

	*n = 0;
	if (!seg || !least)
		return NULL;
	code = &im->code[seg - im->segment];
	if (!code->bytes && !reserve(code, seg->size))
		return NULL;
	at = addr - seg->addr;
	end = seg->size - at < least ? seg->size : at + least;
	last = (end - 1) / CHUNK;
	for (uint64_t chunk = at / CHUNK; chunk <= last; chunk++)
		if (!load_chunk(im, seg, code, chunk))
			return NULL;
	end = seg->size - last * CHUNK < CHUNK ? seg->size : (last + 1) * CHUNK;
	*n = end - at;
	return code->bytes + at;
}

const uint8_t *image_code(const struct image *im, uint64_t addr, size_t *n)
{
	return load(im, addr, IMAGE_CODE_MIN, n);
}

const uint8_t *image_code_all(const struct image *im, uint64_t addr, size_t size)
{
	size_t n;
	const uint8_t *code = load(im, addr, size, &n);

	return n < size ? NULL : code;
}

void image_code_fini(struct image *im)
{
	for (unsigned i = 0; im->code && i < im->segments; i++) {
		if (im->code[i].bytes)
			munmap(im->code[i].bytes, im->segment[i].size);
		free(im->code[i].present);
		im->code[i] = (struct image_code){ 0 };
	}
}
