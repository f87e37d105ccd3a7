/* SPDX-License-Identifier: MIT */
#include "model/cache.h"

#include <assert.h>
#include <stdlib.h>

#define NONE UINT64_MAX

int cache_init(struct cache *c, struct cache_geometry g, int policy)
{
	size_t n = (size_t)g.sets * g.ways;

	assert(policy != CACHE_PLRU || g.ways <= CACHE_PLRU_WAYS);
	*c = (struct cache){ .g = g, .policy = policy, .mask = g.sets - 1ul };
	c->direct = n && policy == CACHE_LRU && !(g.sets & (g.sets - 1));
	c->line = malloc((n ? n : 1) * sizeof(*c->line));
	c->used = policy == CACHE_PLRU ? calloc(g.sets + 1ul, sizeof(*c->used)) : NULL;
	if (!c->line || (policy == CACHE_PLRU && !c->used)) {
		cache_fini(c);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		c->line[i] = NONE;
	return 0;
}

void cache_fini(struct cache *c)
{
	free(c->line);
	free(c->used);
	*c = (struct cache){ 0 };
}

/* Moves each way to the next, up to the old place of the line, or to the last way, whose line is
 * evicted. */
static bool touch_lru(uint64_t *set, unsigned ways, uint64_t line)
{
	uint64_t before = set[0];

	if (before == line)
		return true;
	set[0] = line;
	for (unsigned i = 1; i < ways; i++) {
		uint64_t at = set[i];

		set[i] = before;
		if (at == line)
			return true;
		before = at;
	}
	return false;
}

static bool touch_plru(uint64_t *set, uint64_t *used, unsigned ways, uint64_t line)
{
	uint64_t all = ways < 64 ? (1ull << ways) - 1 : ~0ull;
	unsigned i = 0;
	bool hit;

	while (i < ways && set[i] != line)
		i++;
	hit = i < ways;
	if (!hit)
		i = *used == all ? 0 : (unsigned)__builtin_ctzll(~*used);
	set[i] = line;
	*used |= 1ull << i;
	if (*used == all)
		*used = 1ull << i;
	return hit;
}

bool cache_look(struct cache *c, uint64_t line)
{
	uint32_t sets = c->g.sets, ways = c->g.ways;
	uint64_t at, *set;

	if (!ways)
		return false;
	at = sets & (sets - 1) ? line % sets : line & c->mask;
	set = c->line + at * ways;
	return c->policy == CACHE_LRU ? touch_lru(set, ways, line)
				      : touch_plru(set, c->used + at, ways, line);
}
