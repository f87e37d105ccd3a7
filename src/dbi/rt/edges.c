/* SPDX-License-Identifier: MIT */
/*
 * Where control goes that no link tells of. Each indirect jump, call and return is a site; a site and where it went
 * are a pair, with a counter in each thread's. switch.S looks pairs up, without a lock: in the thread's near table,
 * then here. What happens seldom (signals, threads' beginnings) is noted one by one.
 */
#include <linux/mman.h>

#include "dbi/rt/rt.h"
#include "dbi/rt/sys.h"
#include "dbi/shared.h"

#define SITES_MAX (1u << 22)
#define TARGETS (1u << 16) /* lists of pairs, by target */
#define MANY 2048	   /* pairs */
#define MADV_COLLAPSE_ 25  /* since Linux 6.1 */

_Static_assert(offsetof(struct pair, site) == 8 && offsetof(struct pair, number) == 16, "switch.S");
_Static_assert(offsetof(struct thread, site) == T_SITE, "layout");

struct pairs { /* open addressing by pc + site; read by switch.S */
	uint64_t mask;
	struct pair *slot[];
};
struct pairs *rt_pairs;
static uint64_t used;
static struct pair gone = { .pc = ~0ul };
static struct pair **targets, **by_number;

static struct site {
	uint32_t block;
	bool returns;
} * sites;
static uint32_t nsites, npairs;

static struct pairs *pairs_new(uint64_t n)
{
	struct pairs *p = reserve_densely(sizeof(*p) + n * sizeof(p->slot[0]));

	p->mask = n - 1;
	return p;
}

void edges_init(struct thread *first)
{
	sys(__NR_madvise, (char *)first + T_NEAR_TABLE, LARGE_PAGE, MADV_HUGEPAGE);
	rt_pairs = pairs_new(1 << 14);
	targets = reserve(TARGETS * sizeof(struct pair *));
	sites = reserve(SITES_MAX * sizeof(*sites));
	by_number = reserve(EXACT_PAIRS_MAX * sizeof(struct pair *));
}

void edges_reset(void)
{
	uint64_t mask = rt_pairs->mask;

	memset(rt_pairs->slot, 0, (mask + 1) * sizeof(rt_pairs->slot[0]));
	memset(targets, 0, TARGETS * sizeof(targets[0]));
	used = nsites = npairs = 0;
}

uint32_t edges_site(uint32_t block, bool returns)
{
	uint32_t n;

	if (nsites + 1 >= SITES_MAX)
		die("more than %ld indirect jumps", (long)nsites);
	n = ++nsites;
	if (n <
	    NEAR_SITES) /* spread over the near table: sites of one target, targets of one site */
		n = n * 40503 % NEAR_SITES;
	sites[n] = (struct site){ block, returns };
	return n;
}

static void put(struct pairs *t, struct pair *p)
{
	uint64_t i = (p->pc + p->site) & t->mask;

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
		__atomic_store_n(&rt_pairs, big,
				 __ATOMIC_RELEASE); /* others may still read the old one */
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

/* Slots lie all over the near table: a page for each is more than the CPU remembers. */
static void enlarge(struct thread *t)
{
	char *page = (char *)t + T_NEAR_TABLE;

	sys(__NR_madvise, page, LARGE_PAGE, MADV_HUGEPAGE);
	sys(__NR_madvise, page, LARGE_PAGE, MADV_COLLAPSE_);
}

void edges_thread(struct thread *t)
{
	sys(__NR_madvise, (char *)t + T_NEAR_TABLE, T_NEAR_TABLE_SIZE, MADV_DONTNEED);
	if (npairs >= MANY)
		sys(__NR_madvise, (char *)t + T_NEAR_TABLE, LARGE_PAGE, MADV_HUGEPAGE);
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
	return &targets[(pc ^ pc >> 16) & (TARGETS - 1)];
}

struct pair *edges_pair(uint64_t site, uint64_t pc)
{
	struct pair **old = find(site, pc), **list = list_of(pc), *p;

	if (old)
		return *old;
	p = arena(sizeof(*p));
	if (npairs >= EXACT_PAIRS_MAX)
		die("more than %ld ways of indirect jumps", (long)npairs);
	*p = (struct pair){ .pc = pc, .site = site, .number = npairs + 1, .next = *list };
	by_number[npairs] = p;
	log_pair(npairs++, sites[site].block, pc, log_fd < 0 ? 0 : image_at(pc));
	if (npairs == MANY)
		enlarge(self());
	*list = p;
	add(p);
	return p;
}

void edges_count(struct thread *t, const struct pair *p)
{
	++((uint64_t *)((char *)t + T_PAIRS))[p->number - 1];
}

static unsigned slot_of(const struct pair *p)
{
	return (uint16_t)(p->pc + p->site);
}

static uint64_t *near(struct thread *t, const struct pair *p)
{
	return (uint64_t *)((char *)t + T_NEAR_TABLE) + 2ul * slot_of(p);
}

uint32_t edges_pairs(void)
{
	return __atomic_load_n(&npairs, __ATOMIC_ACQUIRE);
}

uint64_t edges_taken(struct thread *t, uint32_t number, uint32_t *block)
{
	const struct pair *p = by_number[number];
	unsigned slot = slot_of(p);
	uint64_t n = ((uint64_t *)((char *)t + T_PAIRS))[number];

	*block = sites[p->site].block;
	if (p->site < NEAR_SITES && ((uint64_t *)((char *)t + T_NEAR_PAIRS))[slot] == p->number)
		n += ((uint64_t *)((char *)t + T_NEAR_COUNTS))[slot];
	return n;
}

void edges_near(struct thread *t, const struct pair *p, const struct block *b)
{
	uint64_t *e = near(t, p), code = sites[p->site].returns ? cache_return(p->pc) : 0;
	uint64_t *count = (uint64_t *)((char *)t + T_NEAR_COUNTS) + slot_of(p);
	uint64_t *number = (uint64_t *)((char *)t + T_NEAR_PAIRS) + slot_of(p);

	if (p->site >= NEAR_SITES)
		return;
	if (*number)
		((uint64_t *)((char *)t + T_PAIRS))[*number - 1] += *count;
	*count = 0;
	*number = p->number;
	e[0] = 0 - p->pc - NEAR_BIAS;
	e[1] = code ? code : b->code;
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
			uint64_t *e = near(t, p);

			if (e[0] == 0 - pc - NEAR_BIAS)
				e[0] = 0;
		}
		slot = find(p->site, pc);
		if (slot)
			__atomic_store_n(slot, &gone, __ATOMIC_RELEASE);
		*at = p->next;
	}
}

void edges_note_locked(unsigned kind, uint32_t block, uint64_t from, uint64_t to)
{
	if (log_fd >= 0 && log_mode & EXACT_COUNTS)
		log_edge(kind, block, from, image_at(from), to, image_at(to));
}

void edges_note(unsigned kind, uint32_t block, uint64_t from, uint64_t to)
{
	lock(&cache_lock);
	edges_note_locked(kind, block, from, to);
	unlock(&cache_lock);
}
