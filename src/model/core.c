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
	c->branch = branch_new();
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

static void translate(struct tlb *t, uint64_t page, uint64_t *n)
{
	enum tlb_result r = tlb_touch(t, page);

	n[CORE_TLB] += r != TLB_HIT;
	n[CORE_WALK] += r == TLB_WALK;
}

static void look(struct core *c, struct cache *first, uint64_t line, uint64_t *n)
{
	if (cache_touch(first, line))
		return;
	n[CORE_L1]++;
	if (cache_touch(&c->l2, line))
		return;
	n[CORE_L2]++;
	n[CORE_L3] += !cache_touch(c->l3, line);
}

void core_data(struct core *c, uint64_t at, uint64_t size, uint64_t *n)
{
	uint64_t last = at + size - 1, page = at >> c->page;

	/* the first TLB has the last page on top */
	if (page != c->touched)
		translate(&c->dtlb, page, n);
	for (uint64_t line = at >> c->line; line <= last >> c->line; line++) {
		uint64_t p = (line << c->line) >> c->page;

		if (p > page) {
			page = p;
			translate(&c->dtlb, page, n);
		}
		look(c, &c->l1d, line, n);
	}
	c->touched = page;
}

void core_fetch(struct core *c, uint64_t at, uint64_t *n)
{
	uint64_t line = at >> c->line;

	if (line == c->fetched)
		return;
	c->fetched = line;
	translate(&c->itlb, at >> c->page, n);
	look(c, &c->l1i, line, n);
}
