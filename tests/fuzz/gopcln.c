/* SPDX-License-Identifier: MIT */
/* Damaged tables of procedures of Go programs. Input: the table. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/gopcln.h"

#define TEXT 0x401000
#define PROCS_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A row holds the address that was asked for; a file's name ends within the table. */
static void look(const struct gopcln *g, uint64_t addr)
{
	struct unwind_row row;
	const char *file;
	int line;

	if (gopcln_row(g, addr, &row) && (addr < row.start || addr >= row.end))
		abort();
	if (gopcln_line(g, addr, &file, &line) &&
	    (line < 1 || strlen(file) >= (size_t)((const char *)g->bytes + g->size - file)))
		abort();
}

static void look_at_name(const struct gopcln *g, uint64_t i)
{
	const char *name = gopcln_name(g, i);

	if (name && strlen(name) >= (size_t)((const char *)g->bytes + g->size - name))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gopcln g = { .tried = true, .bytes = malloc(size + 1), .size = size };
	uint64_t start, end;

	if (!g.bytes)
		return 0;
	memcpy(g.bytes, data, size);
	if (gopcln_parse(&g, TEXT)) {
		look(&g, TEXT);
		for (uint64_t i = 0; i < g.procs && i < PROCS_MAX; i++) {
			look_at_name(&g, i);
			if (gopcln_range(&g, i, &start, &end)) {
				look(&g, start);
				look(&g, start + (end - start) / 2);
				look(&g, end - 1);
			}
		}
	}
	gopcln_fini(&g);
	return 0;
}
