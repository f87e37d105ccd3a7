/* SPDX-License-Identifier: MIT */
/*
 * Any text as a memory map, and as a list of kernel symbols.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/ksyms_priv.h"
#include "image/maps.h"

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	MUST(text);
	memcpy(text, data, size);
	text[size] = 0;
	return text;
}

static void check_maps(const char *text)
{
	struct err err = { 0 };
	struct maps m;

	if (maps_parse(&m, text, &err)) {
		MUST(err.msg[0] && !m.n);
		return;
	}
	for (size_t i = 0; i < m.n; i++) {
		const struct map *map = &m.map[i];

		MUST(map->start < map->end && map->name);
		MUST(!i || m.map[i - 1].start <= map->start);
		MUST(strlen(map->name) <= strlen(text));
		map = maps_find(&m, map->start);
		MUST(!map || map->start <= m.map[i].start);
	}
	maps_fini(&m);
}

static void check_ksyms(char *text, size_t size)
{
	struct err err = { 0 };
	struct ksyms *k = ksyms_parse(text, size, &err);
	const char *name, *module;
	uint64_t start, end, addr = 0;

	MUST(k || err.msg[0]);
	for (int i = 0; k && i < 64; i++, addr = addr * 5 + 0x1234) {
		if (!ksyms_at(k, addr, &name, &module, &start, &end))
			continue;
		MUST(start <= addr && addr < end && *name && module);
	}
	ksyms_close(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = copy_text(data, size);

	check_maps(text);
	check_ksyms(text, size);
	return 0;
}
