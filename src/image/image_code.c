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

const uint8_t *image_code(const struct image *im, uint64_t addr, size_t *n)
{
	const struct image_segment *seg = image_segment_at(im, addr);
	struct image_code *code;
	uint64_t at, last, end;

	*n = 0;
	if (!seg)
		return NULL;
	code = &im->code[seg - im->segment];
	if (!code->bytes && !reserve(code, seg->size))
		return NULL;
	at = addr - seg->addr;
	end = seg->size - at < IMAGE_CODE_MIN ? seg->size : at + IMAGE_CODE_MIN;
	last = (end - 1) / CHUNK;
	if (!load_chunk(im, seg, code, at / CHUNK) || !load_chunk(im, seg, code, last))
		return NULL;
	end = seg->size - last * CHUNK < CHUNK ? seg->size : (last + 1) * CHUNK;
	*n = end - at;
	return code->bytes + at;
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
