/* SPDX-License-Identifier: MIT */
/* Puts blocks into the cache: their places and links, and the engine's own code beside them. */
#include <asm/errno.h>
#include <linux/mman.h>

#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/layout.h"
#include "engine/core/left.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/publish.h"
#include "engine/translate/build.h"
#include "engine/core/once.h"
#include "engine/os/sys.h"
#include "engine/shared.h"

#define CODE_MAX 0x8000 /* largest size of a block's code */
#define STUB_SIZE EXIT_SIZE
#define ONCE_SIZE 4096
#define ONCE_BYTES \
	32 /* room for a copy of the program's bytes after the code of a block that is executed once */
/* largest size of code that counts an edge, subtracts what is owed there, or ends an execution at an exit */
#define EDGE_SIZE 128
#define MARKED 4 /* factor by which marking lines makes code longer */
#define LIMIT_MIN (2 * CODE_MAX)

static uint64_t code_next = CACHE_BASE;
static uint64_t stub_next = CACHE_BASE + CACHE_CODE_SIZE;

/* Only the first pages of each of the cache's two parts are accessible: those in use, and up to as many again. All of
 * them can be written and executed; W^X would need a second, shared mapping, which fork() does not copy. */
#define OPEN_FIRST LARGE_PAGE
static uint64_t code_open = CACHE_BASE;
static uint64_t stub_open = CACHE_BASE + CACHE_CODE_SIZE;

/*
 * A link to existing code needs a stub only when that code is forgotten. `owed` links have no stub,
 * but room for theirs is kept. Returned stubs are used again while no other thread can be in one.
 */
#define SPARE_MAX 64
static uint32_t owed;
static uint32_t spare[SPARE_MAX], nspare; /* cache offsets of stubs */

/* The cache is full when it reaches these ends. Code beside stubs that links can do without may go
 * beyond them. */
static uint64_t code_end = CACHE_BASE + CACHE_CODE_SIZE;
static uint64_t stub_end = CACHE_BASE + CACHE_SIZE;

void publish_limit(uint64_t bytes)
{
	if (lines_on())
		bytes *= MARKED;
	if (bytes && bytes < CACHE_CODE_SIZE)
		code_end = CACHE_BASE + (bytes < LIMIT_MIN ? LIMIT_MIN : bytes);
	if (bytes && bytes < CACHE_SIZE - CACHE_CODE_SIZE)
		stub_end = CACHE_BASE + CACHE_CODE_SIZE + (bytes < LIMIT_MIN ? LIMIT_MIN : bytes);
}

/*
 * Puts the code from `start` to `end` into large pages, as code that is executed all over needs more entries for small
 * pages than TLBs have. Called when the first large page's worth is full, so programs with little code use no more
 * memory.
 */
static void enlarge(uint64_t start, uint64_t end)
{
	sys(__NR_madvise, start, end - start, MADV_HUGEPAGE);
	sys(__NR_madvise, start, OPEN_FIRST, MADV_COLLAPSE_);
}

/* Opens the part from `start` up to at least `need`, and not beyond `most`. False: a limit on
 * memory forbids it. */
static bool open_up(uint64_t *open, uint64_t start, uint64_t need, uint64_t most)
{
	uint64_t size = *open - start;
	bool full = size && need < most;

	if (need <= *open)
		return true;
	do
		size = size ? 2 * size : OPEN_FIRST;
	while (start + size < need);
	if (size > most - start)
		size = most - start;
	if (sys_failed(sys(__NR_mprotect, start, size, PROT_READ | PROT_WRITE | PROT_EXEC)))
		return false;
	*open = start + size;
	if (full)
		enlarge(start, *open);
	return true;
}

void publish_open_all(void)
{
	uint64_t stubs = CACHE_BASE + CACHE_CODE_SIZE, end = CACHE_BASE + CACHE_SIZE;

	open_up(&code_open, CACHE_BASE, stubs, stubs);
	open_up(&stub_open, stubs, end, end);
}

static bool code_fits(uint64_t n)
{
	return code_next + n <= code_end &&
	       open_up(&code_open, CACHE_BASE, code_next + n, CACHE_BASE + CACHE_CODE_SIZE);
}

/* True if n bytes fit beside the stubs that links may still need. */
static bool stubs_fit(uint64_t n, uint64_t end)
{
	uint64_t need = stub_next + n + owed * STUB_SIZE;

	return need <= end &&
	       open_up(&stub_open, CACHE_BASE + CACHE_CODE_SIZE, need, CACHE_BASE + CACHE_SIZE);
}

void publish_init(void)
{
	long r = sys(__NR_mmap, CACHE_BASE, CACHE_SIZE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (r == CACHE_BASE && publish_full())
		r = -ENOMEM;
	if (r != CACHE_BASE)
		die("no room for the code cache: errno %ld (a limit on memory? see ulimit -v and "
		    "-d)",
		    -r);
}

bool publish_full(void)
{
	/* Room is kept for a block, for another one whose code changes, and for numbers that only
	 * count. */
	return nids + 2 * EXITS_MAX + 4 >= 1u << 22 || nlinks + EXITS_MAX + 8 >= 1u << 23 ||
	       !code_fits(CODE_MAX + ONCE_SIZE) ||
	       !stubs_fit((intervals_on() ? CODE_MAX : 0) + (schedule_on ? STUB_SIZE + 16 : 0) +
				  EXITS_MAX * EDGE_SIZE + (EXITS_MAX + 8) * STUB_SIZE,
			  stub_end);
}

/* Whether there is room for code that belongs to one link. */
static bool edge_fits(void)
{
	return stubs_fit(EDGE_SIZE, CACHE_BASE + CACHE_SIZE);
}

void publish_reset(void)
{
	sys(__NR_madvise, CACHE_BASE, code_next - CACHE_BASE, MADV_DONTNEED);
	sys(__NR_madvise, CACHE_BASE + CACHE_CODE_SIZE, stub_next - CACHE_BASE - CACHE_CODE_SIZE,
	    MADV_DONTNEED);
	code_next = CACHE_BASE;
	stub_next = CACHE_BASE + CACHE_CODE_SIZE;
	owed = nspare = 0;
}

void publish_leave(void)
{
	sys(__NR_munmap, CACHE_BASE, CACHE_SIZE);
}

uint64_t publish_next(bool changes)
{
	return changes ? (code_next + 7) & ~7ul : code_next;
}

uint64_t publish_beside(void)
{
	return stub_next;
}

void publish_beside_done(uint64_t end)
{
	stub_next = end;
}

void publish_exit(struct emit *e, int32_t why)
{
	put32(e, 0x05c74865); /* mov qword gs:[exit link], why */
	put_context(e, T_EXIT_LINK, 4);
	put32(e, (uint64_t)(int64_t)why);
	put_jump(e, (uint64_t)rt_exit);
}

static void put_stub(struct link *l)
{
	bool again = nspare && !threads->next;
	uint64_t at = again ? (uint64_t)CACHE_BASE + spare[--nspare] : stub_next;
	struct emit e = { (uint8_t *)at, at };

	invariant(!l->stub && at >= CACHE_BASE + CACHE_CODE_SIZE);
	l->stub = (uint32_t)(at - CACHE_BASE);
	publish_exit(&e, (int32_t)(l - links));
	invariant(e.at - at == STUB_SIZE && e.at <= stub_open);
	if (!again)
		stub_next = e.at;
}

void publish_unlinked(struct link *l)
{
	if (!l->stub) {
		invariant(owed);
		put_stub(l);
		owed--;
	}
	link_patch(l, CACHE_BASE + l->stub);
}

void publish_linked(struct link *l)
{
	if (!l->stub || threads->next || nspare == SPARE_MAX)
		return;
	spare[nspare++] = l->stub;
	l->stub = 0;
	owed++;
}

/* Emits what the stream needs between a branch that leaves the block and the branch's link. */
static void put_exit(struct build *b, struct link *l)
{
	struct emit e = { (uint8_t *)stub_next, stub_next };
	uint64_t site = CACHE_BASE + l->site;

	*(int32_t *)site = (int32_t)(stub_next - (site + 4));
	put_stream_exit(b, &e, l->exit);
	put_align(&e, 1);
	put8(&e, 0xe9);
	l->site = (uint32_t)(e.at - CACHE_BASE);
	put32(&e, 0);
	invariant(e.at - stub_next <= EDGE_SIZE);
	stub_next = e.at;
}

/*
 * Links to the target if it exists, or prepares its translation. Four in five procedures exist
 * already when they are called from a new place, but only one in twenty targets of branches. Other
 * targets will be looked up and decoded soon, if they are executed at all.
 */
static void link_or_expect(struct link *l, bool called)
{
	struct block *to = called ? cache_find(l->target) : NULL;

	if (to) {
		cache_link(l, to);
	} else {
		cache_expect(l->target);
		__builtin_prefetch((const void *)l->target);
	}
}

void publish(struct build *b, struct block *blk)
{
	unsigned kind = b->in[b->n - 1].kind;
	bool certain = b->ahead && leads_on(kind);

	invariant(b->e.at - b->code <= CODE_MAX && b->e.at <= code_open);
	invariant(b->nlink <= sizeof(b->link) / sizeof(b->link[0]));
	code_next = b->e.at;
	blk->link = nlinks;
	blk->links = (uint16_t)b->nlink;
	for (unsigned i = 0; i < b->nlink; i++) {
		struct link *l = &links[nlinks++];

		*l = b->link[i];
		l->from = (uint32_t)(blk - blocks);
		/* no thread gets here before the link leads somewhere */
		if (certain && !threads->next) {
			owed++;
			continue;
		}
		put_stub(l);
		if (l->exit && b->reserved)
			put_exit(b, l);
		link_patch(l, CACHE_BASE + l->stub);
		if (l->kind == LINK_JUMP)
			link_or_expect(l, kind == CALL && i + 1 == b->nlink);
		else
			l->site = 0;
	}
	if (b->changes) {
		links[nlinks] = (struct link){ .target = b->pc,
					       .from = (uint32_t)(blk - blocks),
					       .owed = b->owed };
		put_stub(&links[nlinks++]);
	}
}

void publish_bytes(struct block *blk, const uint8_t *bytes)
{
	uint8_t *at = blk->flags & BLOCK_ONCE ? (uint8_t *)blk->code + ONCE_SIZE - ONCE_BYTES
					      : (uint8_t *)code_next;

	memcpy(at, bytes, blk->len + BYTES_BEHIND);
	blk->bytes = at;
	if (!(blk->flags & BLOCK_ONCE))
		code_next += blk->len + BYTES_BEHIND;
}

struct block *once_block(struct thread *t)
{
	struct block *blk;

	if (t->once)
		return &blocks[t->once - 1];
	blk = &blocks[nblocks];
	*blk = (struct block){
		.pc = ~0ul, .code = publish_next(false), .size = ONCE_SIZE, .links = 3
	};
	code_next += ONCE_SIZE;
	blk->link = nlinks;
	for (unsigned i = 0; i < blk->links; i++) {
		links[nlinks] = (struct link){ .from = nblocks };
		put_stub(&links[nlinks++]);
	}
	__atomic_store_n(&nblocks, nblocks + 1, __ATOMIC_RELEASE);
	t->once = nblocks;
	return blk;
}

void publish_once(struct build *b, struct block *blk)
{
	blk->pc = b->pc;
	blk->len = (uint16_t)b->len;
	blk->n = (uint16_t)b->n;
	blk->flags = BLOCK_ONCE | b->guard;
	blk->weight = (uint16_t)b->weight;
	for (unsigned i = 0; i < b->nlink; i++) {
		struct link *l = &links[blk->link + i];
		uint64_t site = CACHE_BASE + b->link[i].site;

		l->target = b->link[i].target;
		l->kind = b->link[i].kind;
		l->edge = b->link[i].edge;
		l->site = 0;
		*(int32_t *)site = (int32_t)(CACHE_BASE + l->stub - (site + 4));
	}
}

struct link *take_place(struct link *l)
{
	struct block *b = &blocks[l->from];
	struct link *last;

	if (threads->next || l->from + 1 != nblocks ||
	    b->flags &
		    ~(unsigned)(BLOCK_FLAGS_DEAD | BLOCK_EXITS_DEAD | BLOCK_SKIPS | BLOCK_COARSE) ||
	    !b->links)
		return NULL;
	last = &links[b->link + b->links - 1];
	if ((uint64_t)CACHE_BASE + last->site + 4 != code_next || last->linked ||
	    last->kind != LINK_JUMP || (last->edge && counting()))
		return NULL;
	if (l->exit)
		return NULL;
	if (l != last) {
		uint8_t *op = (uint8_t *)CACHE_BASE + l->site - 1;
		uint64_t target = l->target;

		if ((op[0] & 0xf0) != 0x80 || op[-1] != 0x0f || l->linked)
			return NULL;
		op[0] ^= 1;
		l->target = last->target;
		last->target = target;
		b->flags |= BLOCK_INVERTED;
		if (counting())
			log_inverted(b->id);
	}
	b->size -= 5;
	code_next -= 5;
	publish_linked(last);
	return last;
}

uint32_t edge_counter(const struct link *l)
{
	uint32_t id = blocks[l->from].id;

	return l->exit ? 2 * (id + l->exit) : 2 * id + 1;
}

uint64_t translate_edge(const struct link *l, const struct block *to)
{
	struct emit e = { (uint8_t *)stub_next, stub_next };
	uint64_t at = stub_next;

	if (!edge_fits())
		return 0;
	if (counting()) {
		put_count(&e, edge_counter(l), to->flags & BLOCK_FLAGS_DEAD);
		put_jump(&e, to->code);
	} else {
		left_put_edge(&e, (int)l->owed - (int)owed_at(to), to);
	}
	invariant(e.at - at <= EDGE_SIZE);
	stub_next = e.at;
	return at;
}

uint64_t translate_entry(const struct block *b)
{
	struct emit e = { (uint8_t *)stub_next, stub_next };
	uint64_t at = stub_next;

	if (!edge_fits())
		return 0;
	put_entry_check(&e, b->pc);
	if (owed_at(b))
		left_put_edge(&e, -(int)owed_at(b), b);
	else
		put_jump(&e, b->code);
	invariant(e.at - at <= EDGE_SIZE);
	stub_next = e.at;
	return at;
}
