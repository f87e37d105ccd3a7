/* SPDX-License-Identifier: MIT */
/* Any text as a memory map, and as a list of generated procedures. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/maps.h"
#include "image/perf_map.h"

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

static void check_perf_map(char *text, size_t size)
{
	const struct perf_map_entry *found;
	struct perf_map m;

	MUST(!perf_map_parse(&m, text, size));
	for (size_t i = 0; i < m.n; i++) {
		MUST(m.entry[i].start < m.entry[i].end && m.entry[i].name[0]);
		MUST(!i || m.entry[i - 1].start <= m.entry[i].start);
		found = perf_map_find(&m, m.entry[i].start);
		MUST(found && found->start <= m.entry[i].start && found->end > m.entry[i].start);
	}
	perf_map_fini(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = copy_text(data, size);

	check_maps(text);
	check_perf_map(text, size);
	return 0;
}
