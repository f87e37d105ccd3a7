/* SPDX-License-Identifier: MIT */
/*
 * Transfers of control that no link stands for. Each indirect jump, call and return is a site; a
 * site and a target that it went to are a pair, with a counter in each thread. switch.S looks pairs
 * up without a lock: in the thread's near table, then here. Rare transfers (signals, beginnings of
 * threads) are logged one by one.
 */
#include <linux/mman.h>

#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/edges.h"
#include "engine/core/layout.h"
#include "engine/core/regions.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/os/sys.h"
#include "engine/shared.h"

#define SITES_MAX (1u << 22)
#define TARGETS 4096 /* initial number of lists of pairs, by target */
#define SPREAD 40503 /* multiplier that spreads the numbers of sites, modulo NEAR_SITES */
#define GATHER 30599 /* the inverse of that factor */
#define MANY 2048    /* pairs */

_Static_assert(offsetof(struct pair, site) == 8 && offsetof(struct pair, number) == 16, "switch.S");
_Static_assert(offsetof(struct thread, site) == T_SITE, "layout");
_Static_assert(SPREAD *GATHER % NEAR_SITES == 1, "inverse");

struct pairs { /* open addressing by pc + site; read by switch.S */
	uint64_t mask;
	struct pair *slot[];
};
struct pairs *rt_pairs;
static uint64_t used;
static struct pair gone = { .pc = ~0ul };
static struct pair **targets;
static uint32_t ntargets = TARGETS; /* a power of two */

static struct site {
	uint32_t block;
	bool returns;
} * sites;
static uint32_t nsites, npairs;
static struct pair **pairs_by_number; /* all pairs, forgotten ones included; used with phases */

static struct pairs *pairs_new(uint64_t n)
{
	struct pairs *p = reserve_densely(sizeof(*p) + n * sizeof(p->slot[0]), 1);

	p->mask = n - 1;
	return p;
}

static struct exact_near *near_table(struct thread *t)
{
	return (struct exact_near *)((char *)t + T_NEAR);
}

void edges_init(void)
{
	rt_pairs = pairs_new(1 << 14);
	targets = reserve_densely(TARGETS * sizeof(struct pair *), 1);
	sites = reserve(SITES_MAX * sizeof(*sites));
	if (phases_on())
		pairs_by_number = reserve(EXACT_PAIRS_MAX * sizeof(struct pair *));
}

void edges_reset(void)
{
	uint64_t mask = rt_pairs->mask;

	memset(rt_pairs->slot, 0, (mask + 1) * sizeof(rt_pairs->slot[0]));
	memset(targets, 0, ntargets * sizeof(targets[0]));
	used = nsites = npairs = 0;
}

uint32_t edges_site(uint32_t block, bool returns)
{
	uint32_t n;

	if (nsites + 1 >= SITES_MAX)
		die("more than %ld indirect jumps", (long)nsites);
	n = ++nsites;
	sites[n] = (struct site){ block, returns };
	/* the numbers are spread so that neither the sites of one target nor the targets of one site collide in the
	 * near table */
	return n < NEAR_SITES ? n * SPREAD % NEAR_SITES : n;
}

static const struct site *site_of(uint64_t number)
{
	return &sites[number < NEAR_SITES ? number * GATHER % NEAR_SITES : number];
}

static void put(struct pairs *t, struct pair *p)
{
	uint64_t i = (p->pc + p->site) & t->mask;

	invariant(used <= t->mask / 2 + 1);
	while (t->slot[i])
		i = (i + 1) & t->mask;
	__atomic_store_n(&t->slot[i], p, __ATOMIC_RELEASE);
}

static void add(struct pair *p)
{
	struct pairs *t = rt_pairs;

	if (++used > t->mask / 2) {
		struct pairs *big = pairs_new((t->mask + 1) * 2);

		used = 1;
		for (uint64_t i = 0; i <= t->mask; i++)
			if (t->slot[i] && t->slot[i] != &gone) {
				put(big, t->slot[i]);
				used++;
			}
		__atomic_store_n(
			&rt_pairs, big,
			__ATOMIC_RELEASE); /* other threads may still read the old table, so it is never unmapped */
		t = big;
	}
	put(t, p);
}

static struct pair **find(uint64_t site, uint64_t pc)
{
	struct pairs *t = rt_pairs;

	for (uint64_t i = (pc + site) & t->mask; t->slot[i]; i = (i + 1) & t->mask)
		if (t->slot[i]->pc == pc && t->slot[i]->site == site)
			return &t->slot[i];
	return NULL;
}

/* Asks for large pages: the used slots are scattered over the near table, and the TLB has too few entries for small
 * pages. */
static void enlarge(struct thread *t)
{
	near_table(t)->target =
		0; /* MADV_COLLAPSE wants at least one page of shared memory to be present */
	sys(__NR_madvise, near_table(t), LARGE_PAGE, MADV_HUGEPAGE);
	sys(__NR_madvise, near_table(t), LARGE_PAGE, MADV_COLLAPSE_);
}

void edges_thread(struct thread *t)
{
	if (npairs >= MANY || !npairs)
		enlarge(t);
}

static uint32_t image_at(uint64_t pc)
{
	struct region *r = pc ? region_of(pc) : NULL;

	if (r && !r->image)
		r->image = log_image(r);
	return r ? r->image : 0;
}

static struct pair **list_of(uint64_t pc)
{
	return &targets[(pc ^ pc >> 16) & (ntargets - 1)];
}

static void more_lists(void)
{
	struct pair **old = targets;
	uint32_t n = ntargets;

	targets = reserve_densely(4ul * n * sizeof(struct pair *), 1);
	ntargets = 4 * n;
	for (uint32_t i = 0; i < n; i++)
		for (struct pair *p = old[i], *next; p; p = next) {
			struct pair **list = list_of(p->pc);

			next = p->next;
			p->next = *list;
			*list = p;
		}
}

/* Returns the slot that counts a pair while the pair is in it; 0 for sites with large numbers,
 * which have none. */
static uint32_t slot_of(uint64_t site, uint64_t pc)
{
	return site < NEAR_SITES ? (uint16_t)(pc + site) : EXACT_NEAR_SLOTS;
}

struct pair *edges_pair(uint64_t site, uint64_t pc)
{
	struct pair **old = find(site, pc), **list, *p;

	if (old)
		return *old;
	if (npairs >= ntargets)
		more_lists();
	list = list_of(pc);
	p = arena(sizeof(*p));
	if (npairs >= EXACT_PAIRS_MAX)
		die("more than %ld ways of indirect jumps", (long)npairs);
	*p = (struct pair){ .pc = pc, .site = site, .number = npairs + 1, .next = *list };
	log_pair(npairs++, site_of(site)->block, slot_of(site, pc), pc,
		 log_fd < 0 ? 0 : image_at(pc));
	if (pairs_by_number)
		pairs_by_number[npairs - 1] = p;
	if (npairs == MANY)
		enlarge(self());
	*list = p;
	add(p);
	return p;
}

static uint64_t *own_count(struct thread *t, uint64_t number)
{
	return (uint64_t *)((char *)t + T_PAIRS) + number - 1;
}

void edges_count(struct thread *t, const struct pair *p)
{
	++*own_count(t, p->number);
}

static struct exact_near *near(struct thread *t, const struct pair *p)
{
	return &near_table(t)[(uint16_t)(p->pc + p->site)];
}

uint64_t edges_counted(struct thread *t, const struct pair *p)
{
	const struct exact_near *e = near(t, p);

	return *own_count(t, p->number) + (e->pair == p->number ? e->count : 0);
}

void edges_each(void (*f)(const struct pair *p))
{
	for (uint32_t i = 0; i < npairs; i++)
		f(pairs_by_number[i]);
}

void edges_near(struct thread *t, const struct pair *p, const struct block *b)
{
	uint64_t code = site_of(p->site)->returns ? cache_return(p->pc) : 0;
	struct exact_near *e = near(t, p);

	if (p->site >= NEAR_SITES)
		return;
	if (e->pair)
		*own_count(t, e->pair) += e->count;
	e->count = 0;
	e->pair = p->number;
	e->target = 0 - p->pc - NEAR_BIAS;
	e->code = code ? code : b->code;
}

void edges_forget(uint64_t pc)
{
	for (struct pair **at = list_of(pc); *at;) {
		struct pair *p = *at, **slot;

		if (p->pc != pc) {
			at = &p->next;
			continue;
		}
		for (struct thread *t = threads; t; t = t->next) {
			struct exact_near *e = near(t, p);

			if (!t->ended && e->target == 0 - pc - NEAR_BIAS)
				e->target = 0;
		}
		slot = find(p->site, pc);
		if (slot)
			__atomic_store_n(slot, &gone, __ATOMIC_RELEASE);
		*at = p->next;
	}
}

void edges_note_locked(unsigned kind, uint32_t block, uint64_t from, uint64_t to)
{
	if (log_fd >= 0 && counting())
		log_edge(kind, block, from, image_at(from), to, image_at(to));
}

void edges_note(unsigned kind, uint32_t block, uint64_t from, uint64_t to)
{
	lock(&cache_lock);
	edges_note_locked(kind, block, from, to);
	unlock(&cache_lock);
}
