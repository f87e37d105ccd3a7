/* SPDX-License-Identifier: MIT */
/*
 * A set-associative cache of lines: which lines it holds, without data. A line that is touched is
 * brought in.
 */
#ifndef ASSAY_MODEL_CACHE_H
#define ASSAY_MODEL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum cache_policy {
	CACHE_LRU,
	/* Bit-PLRU: a bit for each way is set when the way is used; when all would be set, the
	 * others are cleared; the first way without the bit is evicted. */
	CACHE_PLRU,
};

struct cache_geometry {
	uint32_t sets, ways; /* ways 0: the cache does not exist; the number of sets is arbitrary */
};

#define CACHE_HINTS 512

struct cache {
	uint64_t *line; /* lines by set; in LRU order, most recent first. Empty ways: UINT64_MAX */
	uint64_t mask;
	struct cache_geometry g;
	bool direct; /* LRU with line & mask as the set, and the order of a set is that of its ways */
	bool power;   /* the number of sets is a power of two */
	bool vectors; /* LRU, eight ways at a time */
	bool wide;    /* one set of many ways, LRU: ways do not move */
	int policy;
	uint64_t *used; /* PLRU: for each set, one bit for each way */
	/* wide: when each way was touched last, by a clock of touches; and where a line may be */
	uint64_t *at, now;
	uint16_t *hint;
};

#define CACHE_PLRU_WAYS 64

/* Returns -1 without memory. PLRU: at most CACHE_PLRU_WAYS ways. */
int cache_init(struct cache *c, struct cache_geometry g, int policy);
void cache_fini(struct cache *c);
bool cache_look(struct cache *c, uint64_t line);
/* Whether the line was the last one touched in its set, so that another touch changes nothing.
 * Most touches are such. */
static inline bool cache_top(const struct cache *c, uint64_t line)
{
	return c->direct && c->line[(line & c->mask) * c->g.ways] == line;
}
/* Touches a line of a wide cache if the line is in the way that its hint names, as most lines are. Returns whether it is. */
static inline bool cache_hinted(struct cache *c, uint64_t line)
{
	unsigned i;

	if (!c->wide)
		return false;
	i = c->hint[line % CACHE_HINTS];
	if (c->line[i] != line)
		return false;
	c->at[i] = ++c->now;
	return true;
}

/* Touches the line. Returns whether the cache had it. */
static inline bool cache_touch(struct cache *c, uint64_t line)
{
	return cache_top(c, line) || cache_hinted(c, line) || cache_look(c, line);
}

#endif
