/* SPDX-License-Identifier: MIT */
#include "model/core.h"

static struct cache_geometry geometry(struct machine_size s, uint32_t unit)
{
	if (!s.ways || !s.size)
		return (struct cache_geometry){ 0 };
	return (struct cache_geometry){ .sets = (uint32_t)(s.size / unit / s.ways),
					.ways = s.ways };
}

int core_last_level(struct cache *l3, const struct machine *m)
{
	return cache_init(l3, geometry(m->l3, m->line), m->policy);
}

int core_init(struct core *c, const struct machine *m, struct cache *l3)
{
	*c = (struct core){ .l3 = l3,
			    .line = (unsigned)__builtin_ctz(m->line),
			    .page = (unsigned)__builtin_ctz(m->page),
			    .fetched = UINT64_MAX,
			    .touched = UINT64_MAX };
	c->branch = m->predictor == MACHINE_GSHARE ? branch_new_simple() : branch_new();
	if (c->branch && !cache_init(&c->l1d, geometry(m->l1d, m->line), m->policy) &&
	    !cache_init(&c->l1i, geometry(m->l1i, m->line), m->policy) &&
	    !cache_init(&c->l2, geometry(m->l2, m->line), m->policy) &&
	    !tlb_init(&c->dtlb, geometry(m->dtlb, 1), geometry(m->dtlb2, 1)) &&
	    !tlb_init(&c->itlb, geometry(m->itlb, 1), geometry(m->itlb2, 1)))
		return 0;
	core_fini(c);
	return -1;
}

void core_fini(struct core *c)
{
	cache_fini(&c->l1d);
	cache_fini(&c->l1i);
	cache_fini(&c->l2);
	tlb_fini(&c->dtlb);
	tlb_fini(&c->itlb);
	branch_free(c->branch);
	*c = (struct core){ 0 };
}

static inline unsigned translate(struct tlb *t, uint64_t page, uint64_t *n)
{
	enum tlb_result r;

	if (!t->first.g.ways || cache_top(&t->first, page) || cache_hinted(&t->first, page))
		return TLB_HIT;
	r = tlb_touch(t, page);
	n[CORE_TLB] += r != TLB_HIT;
	n[CORE_WALK] += r == TLB_WALK;
	return r;
}

static unsigned look_behind(struct core *c, uint64_t line, uint64_t *n)
{
	n[CORE_L1]++;
	if (cache_touch(&c->l2, line))
		return 1;
	n[CORE_L2]++;
	if (cache_touch(c->l3, line))
		return 2;
	n[CORE_L3]++;
	return 3;
}

static inline unsigned look(struct core *c, struct cache *first, uint64_t line, uint64_t *n)
{
	return cache_top(first, line) || cache_look(first, line) ? 0 : look_behind(c, line, n);
}

static unsigned farther(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* An access to several lines. The first one's page is translated. */
static unsigned look_on(struct core *c, uint64_t line, uint64_t last, unsigned tlb, uint64_t *n)
{
	unsigned level = 0;

	for (; line <= last; line++) {
		uint64_t page = (line << c->line) >> c->page;

		if (page != c->touched) {
			c->touched = page;
			tlb = farther(tlb, translate(&c->dtlb, page, n));
		}
		level = farther(level, look(c, &c->l1d, line, n));
	}
	return CORE_FOUND(level, tlb);
}

unsigned core_data_look(struct core *c, uint64_t at, uint64_t size, uint64_t *n)
{
	uint64_t last = (at + size - 1) >> c->line, line = at >> c->line, page = at >> c->page;
	unsigned tlb = TLB_HIT;

	/* otherwise the page is already the most recent one of the first TLB */
	if (page != c->touched) {
		c->touched = page;
		tlb = translate(&c->dtlb, page, n);
	}
	return line == last ? CORE_FOUND(look(c, &c->l1d, line, n), tlb)
			    : look_on(c, line, last, tlb, n);
}

unsigned core_fetch_look(struct core *c, uint64_t at, uint64_t *n)
{
	uint64_t line = at >> c->line;
	unsigned tlb = translate(&c->itlb, at >> c->page, n);

	c->fetched = line;
	return CORE_FOUND(look(c, &c->l1i, line, n), tlb);
}

void core_touched(struct core *c, uint64_t at)
{
	uint64_t line = at >> c->line;

	cache_touch(c->l3, line);
	cache_touch(&c->l2, line);
	cache_touch(&c->dtlb.second, at >> c->page);
}
