/* SPDX-License-Identifier: MIT */
/*
 * Blocks by address, in one open-addressing table that switch.S reads without a lock. A slot is a
 * pointer, written once, to {address, code}; the slot of a dead block points to a tombstone. The
 * pointer's high 16 bits are those of the address's hash: a search skips slots in which they
 * differ.
 */
#include <linux/mman.h>

#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/edges.h"
#include "engine/core/layout.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/publish.h"
#include "engine/os/sys.h"
#include "engine/shared.h"

#define BLOCKS_MAX (1u << 22)
#define LINKS_MAX (1u << 23)
#define PAGES_MAX (1u << 20)
#define SLOTS_MANY \
	(1u << 16) /* smaller tables grow to four times their size, larger ones to twice */
#define PAGE 4096ul
#define SLOT_TAG 0xffff000000000000ul

struct slot {
	uint64_t pc, code;
};
struct table {
	uint64_t mask;
	uint64_t slot[];
};
struct table *rt_blocks, *rt_returns; /* switch.S reads both */
const void **rt_direct;
static uint64_t used[2];
static struct slot tombstone = { ~0ul, 0 };
/* With a schedule there are several kinds of blocks. These are the tables of the kinds that are not being translated
 * now. */
static struct {
	struct table *blocks, *returns;
	const void **direct;
	uint64_t used[2];
} aside[CACHE_KINDS];
static enum cache_kind kind; /* the kind that is being translated now */

struct block *blocks;
struct link *links;
uint32_t nblocks, nlinks = 1, nids;
int cache_lock;

struct page {
	uint64_t page;
	uint32_t first; /* block + 1 */
};
static struct page *pages; /* an open-addressing table */
static uint32_t npages, pages_mask;
static struct page *last_page; /* the page that code was added to last, or NULL */

static struct table *table_new(uint64_t n)
{
	struct table *t = reserve_densely(sizeof(*t) + n * sizeof(t->slot[0]), 1);

	t->mask = n - 1;
	return t;
}

/*
 * Without counts, indirect jumps and returns share one table for all threads: code by the low 16 bits of an address.
 * The code checks whether it belongs to that address (put_entry_check). If not, it goes to rt_direct_wrong, which finds
 * the right code among rt_returns and stores it in the table. Then the slot is read once more, because the code may
 * have been forgotten meanwhile: direct_forget() clears the slot first.
 */
#define DIRECT 0x10000
#define GONE ~0ul

static void direct_reset(const void **direct)
{
	for (unsigned i = 0; direct && i < DIRECT; i++)
		direct[i] = rt_direct_none;
}

/* Removes an entry of return points from the direct table of the same kind. */
static void direct_forget(const void **direct, struct slot *s)
{
	uint64_t pc = s->pc;

	if (!direct)
		return;
	__atomic_store_n(&s->pc, GONE, __ATOMIC_SEQ_CST);
	__atomic_store_n(&direct[pc % DIRECT], rt_direct_none, __ATOMIC_SEQ_CST);
}

static void direct_put(uint64_t pc, uint64_t code)
{
	__atomic_store_n(&rt_direct[pc % DIRECT], (const void *)code, __ATOMIC_RELEASE);
}

static void pages_new(uint32_t n)
{
	pages = reserve_densely(n * sizeof(*pages), 1);
	pages_mask = n - 1;
}

void cache_direct_init(void)
{
	const uint64_t size = DIRECT * sizeof(rt_direct[0]);

	rt_direct = reserve_densely(size, size);
	direct_reset(rt_direct);
}

void cache_direct(const struct block *b)
{
	uint64_t code = cache_return(b->pc);

	if (code)
		direct_put(b->pc, code);
	else if ((code = translate_entry(b)))
		cache_add_return(b->pc, code);
}

void cache_init(void)
{
	blocks = reserve_growing(BLOCKS_MAX * sizeof(*blocks));
	links = reserve_growing(LINKS_MAX * sizeof(*links));
	pages_new(1 << 12);
	rt_blocks = table_new(1 << 16);
	rt_returns = table_new(1 << 15);
}

void cache_begin(enum cache_kind first)
{
	kind = first;
}

void cache_turn(enum cache_kind to)
{
	invariant(to != kind);
	aside[kind].blocks = rt_blocks;
	aside[kind].returns = rt_returns;
	aside[kind].direct = rt_direct;
	memcpy(aside[kind].used, used, sizeof(used));
	kind = to;
	if (!aside[to].blocks) {
		rt_blocks = table_new(1 << 16);
		rt_returns = table_new(1 << 15);
		memset(used, 0, sizeof(used));
		cache_direct_init();
		return;
	}
	rt_blocks = aside[to].blocks;
	rt_returns = aside[to].returns;
	rt_direct = aside[to].direct;
	memcpy(used, aside[to].used, sizeof(used));
}

/* The slot at which the search for an address begins; switch.S computes the same. */
static uint64_t table_index(const struct table *t, uint64_t pc)
{
	uint64_t line = (pc >> TABLE_NEAR) * TABLE_FACTOR >> TABLE_SHIFT;
	uint64_t part = pc >> (TABLE_NEAR - TABLE_LINE) & ((1 << TABLE_LINE) - 1);

	return (line << TABLE_LINE | part) & t->mask;
}

static uint64_t slot_value(const struct slot *s)
{
	return (uint64_t)s | (s->pc * TABLE_FACTOR & SLOT_TAG);
}

static struct slot *slot_at(uint64_t value)
{
	return (struct slot *)(value & ~SLOT_TAG);
}

static void table_put(struct table *t, struct slot *s)
{
	uint64_t i = table_index(t, s->pc);

	while (t->slot[i])
		i = (i + 1) & t->mask;
	__atomic_store_n(&t->slot[i], slot_value(s), __ATOMIC_RELEASE);
}

static void table_add(struct table **table, uint64_t *count, struct slot *s)
{
	struct table *t = *table;

	if (++*count > t->mask / 2) {
		struct table *big = table_new((t->mask + 1) * (t->mask < SLOTS_MANY ? 4 : 2));

		*count = 1;
		for (uint64_t i = 0; i <= t->mask; i++)
			if (t->slot[i] && slot_at(t->slot[i]) != &tombstone) {
				table_put(big, slot_at(t->slot[i]));
				++*count;
			}
		__atomic_store_n(
			table, big,
			__ATOMIC_RELEASE); /* other threads may still read the old table, so it is never unmapped */
		t = big;
	}
	table_put(t, s);
}

static uint64_t *table_find(struct table *t, uint64_t pc)
{
	uint64_t tag = pc * TABLE_FACTOR & SLOT_TAG;

	for (uint64_t i = table_index(t, pc); t->slot[i]; i = (i + 1) & t->mask)
		if ((t->slot[i] & SLOT_TAG) == tag && slot_at(t->slot[i])->pc == pc)
			return &t->slot[i];
	return NULL;
}

void cache_expect(uint64_t pc)
{
	const struct table *t = __atomic_load_n(&rt_blocks, __ATOMIC_RELAXED);

	__builtin_prefetch(&t->slot[table_index(t, pc)]);
}

void cache_expect_return(uint64_t pc)
{
	const struct table *t = __atomic_load_n(&rt_returns, __ATOMIC_RELAXED);

	__builtin_prefetch(&t->slot[table_index(t, pc)]);
}

struct block *cache_find(uint64_t pc)
{
	const uint64_t *s = table_find(rt_blocks, pc);

	return s ? (struct block *)slot_at(*s) : NULL;
}

/* Returns the page's slot, or the free slot where it belongs. Eight neighbouring pages hash to neighbouring slots,
 * because programs use them together. */
static struct page *page_slot(uint64_t page)
{
	uint64_t number = page / PAGE, hash = (number >> 3) * TABLE_FACTOR >> TABLE_SHIFT;
	uint32_t i = (uint32_t)(hash << 3 | (number & 7)) & pages_mask;

	while (pages[i].page && pages[i].page != page)
		i = (i + 1) & pages_mask;
	return &pages[i];
}

static void pages_grow(void)
{
	const struct page *old = pages;
	uint32_t n = pages_mask + 1;

	pages_new(n * 4);
	for (uint32_t i = 0; i < n; i++)
		if (old[i].page)
			*page_slot(old[i].page) = old[i];
}

static struct page *page_entry(uint64_t page, bool make)
{
	struct page *p = last_page;

	if (p && p->page == page)
		return p;
	p = page_slot(page);
	if (p->page)
		return last_page = p;
	if (!make)
		return NULL;
	if (npages > pages_mask / 2 && pages_mask + 1 < PAGES_MAX) {
		pages_grow();
		p = page_slot(page);
	}
	npages++;
	invariant(npages <= pages_mask && page % PAGE == 0);
	p->page = page;
	return last_page = p;
}

void cache_add_page(struct block *b)
{
	uint64_t first = b->pc & ~(PAGE - 1), last = (b->pc + b->len - 1) & ~(PAGE - 1);
	uint32_t id = (uint32_t)(b - blocks) + 1;
	struct page *p = page_entry(first, true);

	b->next_page[0] = p->first;
	p->first = id;
	if (last != first) {
		p = page_entry(last, true);
		b->next_page[1] = p->first;
		p->first = id;
	}
}

void cache_add(struct block *b)
{
	invariant(b->n && b->len && !(b->flags & (BLOCK_DEAD | BLOCK_ONCE)));
	invariant(b == blocks || b[-1].code <= b->code);
	cache_add_page(b);
	table_add(&rt_blocks, &used[0], (struct slot *)b);
}

void cache_add_return(uint64_t pc, uint64_t code)
{
	uint64_t *old = table_find(rt_returns, pc);
	struct slot *s = arena(sizeof(*s));

	s->pc = pc;
	s->code = code;
	if (old) {
		struct slot *before = slot_at(*old);

		__atomic_store_n(old, slot_value(s), __ATOMIC_RELEASE);
		if (!counting())
			direct_forget(rt_direct, before);
	} else {
		table_add(&rt_returns, &used[1], s);
	}
	if (!counting())
		direct_put(pc, code);
}

uint64_t cache_return(uint64_t pc)
{
	const uint64_t *s = table_find(rt_returns, pc);

	return s ? slot_at(*s)->code : 0;
}

struct block *cache_by_code(uint64_t at)
{
	uint32_t low = 0, high = nblocks;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (blocks[mid].code <= at)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	return at < blocks[low - 1].code + blocks[low - 1].size ? &blocks[low - 1] : NULL;
}

void cache_link(struct link *l, struct block *to)
{
	uint64_t code;

	if (l->linked || !l->site || to->flags & (BLOCK_DEAD | BLOCK_ONCE) ||
	    blocks[l->from].flags & BLOCK_DEAD)
		return;
	code = (l->edge && counting()) || l->owed != owed_at(to) ? translate_edge(l, to) : to->code;
	if (!code)
		return;
	invariant(l->target == to->pc && !l->fallen);
	invariant(code >= CACHE_BASE && code < CACHE_BASE + CACHE_SIZE);
	l->linked = true;
	l->next = to->in;
	to->in = (uint32_t)(l - links) + 1;
	link_patch(l, code);
	publish_linked(l);
}

/* Whether indirect jumps reach the block by rt_direct and not by pairs, because code of its kind counts no executions. */
static bool is_direct(const struct block *b)
{
	return schedule_on ? b->flags & BLOCK_SKIPS : !counting();
}

static enum cache_kind kind_of(const struct block *b)
{
	if (!schedule_on)
		return kind;
	return b->flags & BLOCK_COARSE	? CACHE_COARSE
	       : b->flags & BLOCK_SKIPS ? CACHE_SKIPS
					: CACHE_OBSERVES;
}

/* The table of blocks of the same kind as b, that of their return points, and that of indirect jumps to them. */
static struct table *blocks_of(const struct block *b)
{
	return kind_of(b) == kind ? rt_blocks : aside[kind_of(b)].blocks;
}

static struct table *returns_of(const struct block *b)
{
	return kind_of(b) == kind ? rt_returns : aside[kind_of(b)].returns;
}

static const void **direct_of(const struct block *b)
{
	return kind_of(b) == kind ? rt_direct : aside[kind_of(b)].direct;
}

static void bury(struct table *t, uint64_t pc)
{
	uint64_t *s = table_find(t, pc);

	if (s)
		__atomic_store_n(s, (uint64_t)&tombstone, __ATOMIC_RELEASE);
}

/* Removes the return point at pc from the table for the block's kind. */
static void bury_return(const struct block *b, uint64_t pc)
{
	uint64_t *s = table_find(returns_of(b), pc);
	struct slot *of;

	if (!s)
		return;
	of = slot_at(*s);
	__atomic_store_n(s, (uint64_t)&tombstone, __ATOMIC_RELEASE);
	if (is_direct(b))
		direct_forget(direct_of(b), of);
}

/* Removes an entry of the return table that leads to the block itself. A call's return point at the same address lies
 * below the end of the cache's code and stays. */
static void bury_entry(const struct block *b)
{
	const uint64_t *s = table_find(returns_of(b), b->pc);

	if (s && slot_at(*s)->code >= CACHE_BASE + CACHE_CODE_SIZE)
		bury_return(b, b->pc);
}

static bool is_found(const struct block *b)
{
	const uint64_t *s = table_find(blocks_of(b), b->pc);

	return s && (struct block *)slot_at(*s) == b;
}

/* Turns the no-op at the block's beginning into a jump out of the cache. It is written with one store, because other
 * threads may execute the no-op at the same time. */
static void close_entry(const struct block *b)
{
	uint64_t *at = (uint64_t *)b->code, to = CACHE_BASE + links[b->link + b->links].stub;

	__atomic_store_n(at,
			 (*at & ~0xfffffffffful) | ((to - (b->code + 5)) & 0xffffffff) << 8 | 0xe9,
			 __ATOMIC_RELEASE);
}

static void kill_block(struct block *b)
{
	if (b->flags & BLOCK_DEAD)
		return;
	b->flags |= BLOCK_DEAD;
	if (b->flags & BLOCK_CHANGES)
		close_entry(b);
	if (is_found(b))
		bury(blocks_of(b), b->pc);
	if (is_direct(b))
		bury_entry(b);
	else
		edges_forget(b->pc);
	/* the return point of the call that ends the block lies in the block's code */
	bury_return(b, b->pc + b->len);
	if (!is_direct(b))
		edges_forget(b->pc + b->len);
	for (uint32_t i = b->in; i;) {
		struct link *l = &links[i - 1];

		invariant(l->linked && l->target == b->pc);
		i = l->next;
		l->linked = false;
		l->next = 0;
		if (l->fallen) { /* the code above falls through into this block, whose first byte becomes a jump */
			l->fallen = false;
			l->site = (uint32_t)(b->code + 1 - CACHE_BASE);
			*(uint8_t *)b->code = 0xe9;
		}
		publish_unlinked(l);
	}
	b->in = 0;
}

static void invalidate_page(uint64_t page, uint64_t start, uint64_t end)
{
	struct page *p = page_entry(page, false);
	uint32_t *at;

	if (!p)
		return;
	for (at = &p->first; *at;) {
		struct block *b = &blocks[*at - 1];
		uint32_t *next = &b->next_page[(b->pc & ~(PAGE - 1)) == page ? 0 : 1];

		if (b->flags & BLOCK_DEAD || (b->pc < end && b->pc + b->len > start)) {
			kill_block(b);
			*at = *next;
		} else {
			at = next;
		}
	}
}

void cache_invalidate(uint64_t start, uint64_t n)
{
	uint64_t end = start + n, first = start & ~(PAGE - 1);

	if ((end - first) / PAGE > pages_mask) {
		for (uint32_t i = 0; i <= pages_mask; i++)
			if (pages[i].page >= first && pages[i].page < end)
				invalidate_page(pages[i].page, start, end);
		return;
	}
	for (uint64_t page = first; page < end && npages; page += PAGE)
		invalidate_page(page, start, end);
}

bool cache_full(void)
{
	return npages + 2 > PAGES_MAX * 3 / 4;
}

static void forget(void *p, uint64_t n)
{
	sys(__NR_madvise, p, (n + PAGE - 1) & ~(PAGE - 1), MADV_DONTNEED);
}

static void table_reset(struct table *t)
{
	uint64_t mask = t->mask;

	forget(t, sizeof(*t) + (mask + 1) * sizeof(t->slot[0]));
	t->mask = mask;
}

void cache_reset(void)
{
	forget(blocks, nblocks * sizeof(*blocks));
	forget(links, nlinks * sizeof(*links));
	forget(pages, (pages_mask + 1) * sizeof(*pages));
	last_page = NULL;
	table_reset(rt_blocks);
	table_reset(rt_returns);
	for (unsigned i = 0; i < CACHE_KINDS; i++) {
		if (i == (unsigned)kind || !aside[i].blocks)
			continue;
		table_reset(aside[i].blocks);
		table_reset(aside[i].returns);
		direct_reset(aside[i].direct);
		memset(aside[i].used, 0, sizeof(aside[i].used));
	}
	if (log_observed & EXACT_COUNTS)
		edges_reset();
	direct_reset(rt_direct);
	memset(used, 0, sizeof(used));
	npages = 0;
	nlinks = 1;
	nids = 0;
	__atomic_store_n(&nblocks, 0, __ATOMIC_RELEASE);
	for (struct thread *t = threads; t; t = t->next) {
		if (log_observed & EXACT_COUNTS)
			forget((char *)t + T_NEAR, T_NEAR_SIZE);
		t->once = 0;
		t->known = NULL;
	}
}
