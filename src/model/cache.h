/* SPDX-License-Identifier: MIT */
/*
 * A set-associative cache of lines: what it holds, not the data. Whatever is touched is brought in.
 */
#ifndef ASSAY_MODEL_CACHE_H
#define ASSAY_MODEL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum cache_policy {
	CACHE_LRU,
	/* a bit for each way, set when it is used; when all would be, the others are cleared; the first way
	 * without goes: what is called bit-PLRU */
	CACHE_PLRU,
};

struct cache_geometry {
	uint32_t sets, ways; /* ways: 0, there is no such cache; any number of sets */
};

struct cache {
	struct cache_geometry g;
	bool direct; /* LRU, and line & mask is the set; else line % sets */
	uint64_t mask;
	int policy;
	uint64_t *line; /* of each set, LRU: the one used last first. Without: UINT64_MAX */
	uint64_t *used; /* PLRU: of each set, a bit for each way */
};

#define CACHE_PLRU_WAYS 64

/* -1 without memory. PLRU: CACHE_PLRU_WAYS at most. */
int cache_init(struct cache *c, struct cache_geometry g, int policy);
void cache_fini(struct cache *c);
bool cache_look(struct cache *c, uint64_t line);
/* Whether the line is what its set was asked for last: a touch of it changes nothing. Most are. */
static inline bool cache_top(const struct cache *c, uint64_t line)
{
	return c->direct && c->line[(line & c->mask) * c->g.ways] == line;
}
/* Whether the line was there. It is now. */
static inline bool cache_touch(struct cache *c, uint64_t line)
{
	return cache_top(c, line) || cache_look(c, line);
}

#endif
