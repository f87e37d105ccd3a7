/* SPDX-License-Identifier: MIT */
#include "model/cache.h"

#include <assert.h>
#include <immintrin.h>
#include <stdlib.h>
#include <sys/mman.h>

#define NONE UINT64_MAX
#define WIDE 32 /* ways from which a cache of one set is searched by hints */

#define HUGE_PAGE (2ul << 20)

/* Allocates room for n lines. The lines of large caches, which are touched at random, are in huge pages if the kernel has any:
 * the TLB reaches them all then. */
static uint64_t *make_lines(size_t n)
{
	size_t size = (n + 1) * sizeof(uint64_t);
	uint64_t *line;

	if (size < HUGE_PAGE)
		return malloc(size);
	size = (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	line = aligned_alloc(HUGE_PAGE, size);
	if (line)
		madvise(line, size, MADV_HUGEPAGE);
	return line;
}

static bool make(struct cache *c, size_t n)
{
	c->line = make_lines(n);
	if (c->policy == CACHE_PLRU)
		c->used = calloc(c->g.sets + 1ul, sizeof(*c->used));
	if (c->wide) {
		c->at = calloc(n, sizeof(*c->at));
		c->hint = calloc(CACHE_HINTS, sizeof(*c->hint));
	}
	return c->line && (c->policy != CACHE_PLRU || c->used) && (!c->wide || (c->at && c->hint));
}

int cache_init(struct cache *c, struct cache_geometry g, int policy)
{
	size_t n = (size_t)g.sets * g.ways;

	assert(policy != CACHE_PLRU || g.ways <= CACHE_PLRU_WAYS);
	*c = (struct cache){ .g = g, .policy = policy, .mask = g.sets - 1ul };
	c->power = !(g.sets & (g.sets - 1));
	c->vectors = policy == CACHE_LRU && __builtin_cpu_supports("avx512f");
	c->wide = policy == CACHE_LRU && g.sets == 1 && g.ways >= WIDE && g.ways <= UINT16_MAX;
	c->direct = n && policy == CACHE_LRU && c->power && !c->wide;
	if (!make(c, n)) {
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
	free(c->at);
	free(c->hint);
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

/* Touches a line of an LRU set, as touch_lru() does, eight ways at a time. */
__attribute__((target("avx512f"))) static bool touch_lru_vectors(uint64_t *set, unsigned ways,
								 uint64_t line)
{
	__m512i wanted = _mm512_set1_epi64((long long)line), before = wanted;

	for (unsigned i = 0; i < ways; i += 8) {
		__mmask8 some = ways - i < 8 ? (__mmask8)((1u << (ways - i)) - 1) : 0xff;
		__m512i now = _mm512_maskz_loadu_epi64(some, set + i);
		__m512i moved = _mm512_alignr_epi64(now, before, 7);
		unsigned at = _mm512_mask_cmpeq_epi64_mask(some, now, wanted);

		/* if the line is here, the ways up to its place move */
		_mm512_mask_storeu_epi64(set + i, some & (__mmask8)(at ^ (at - 1)), moved);
		if (at)
			return true;
		before = now;
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

/* Finds the line in a wide cache, or the way that was touched least recently. */
static unsigned way_of(const struct cache *c, uint64_t line)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < c->g.ways; i++) {
		if (c->line[i] == line)
			return i;
		if (c->at[i] < c->at[oldest])
			oldest = i;
	}
	return oldest;
}

static bool touch_wide(struct cache *c, uint64_t line)
{
	unsigned i = way_of(c, line);
	bool hit = c->line[i] == line;

	c->line[i] = line;
	c->at[i] = ++c->now;
	c->hint[line % CACHE_HINTS] = (uint16_t)i;
	return hit;
}

bool cache_look(struct cache *c, uint64_t line)
{
	uint32_t sets = c->g.sets, ways = c->g.ways;
	uint64_t at, *set;

	if (!ways)
		return false;
	if (c->wide)
		return touch_wide(c, line);
	at = c->power ? line & c->mask : line % sets;
	set = c->line + at * ways;
	if (c->vectors)
		return touch_lru_vectors(set, ways, line);
	return c->policy == CACHE_LRU ? touch_lru(set, ways, line)
				      : touch_plru(set, c->used + at, ways, line);
}
