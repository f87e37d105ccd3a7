/* SPDX-License-Identifier: MIT */
/* Translates a basic block of the program into code in the cache. */
#include <linux/mman.h>
#include <signal.h>

#include "engine/core/cache.h"
#include "engine/core/edges.h"
#include "engine/core/flush.h"
#include "engine/core/left.h"
#include "engine/core/layout.h"
#include "engine/core/regions.h"
#include "engine/core/thread.h"
#include "engine/os/signals.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/publish.h"
#include "engine/translate/build.h"
#include "engine/core/once.h"
#include "engine/shared.h"

static bool constant(const struct region *r)
{
	return r->inode && !(r->prot & PROT_WRITE) && !r->shared;
}

static const uint8_t *block_lengths(const struct build *b)
{
	static uint8_t len[INSNS_MAX];

	for (unsigned i = 0; i < b->n; i++)
		len[i] = b->in[i].len;
	return len;
}

/* Returns how much of the code at pc, of which `room` bytes are mapped, can be read: a mapping can
 * be longer than its file. A block lies on at most two pages. */
static size_t readable(uint64_t pc, size_t room)
{
	size_t page = 4096 - (pc & 4095);
	char c;

	if (!rt_copy(&c, (const void *)pc, 1))
		return 0;
	return room > page && !rt_copy(&c, (const void *)(pc + page), 1) ? page : room;
}

/* Whether all code that the block can lead to writes flags before reading them; only for targets in
 * the same code, which does not change. */
static bool leaves_flags_dead(const struct build *b, const struct region *r)
{
	const struct insn *last = &b->in[b->n - 1];
	uint64_t next = b->pc + b->len, to[2] = { next, next };

	switch (last->kind) {
	case PLAIN:
	case MEMORY:
	case LATER:
		break;
	case JUMP:
	case CALL:
		to[0] = to[1] = last->target;
		break;
	case BRANCH:
		to[1] = last->target;
		break;
	default:
		return false;
	}
	for (unsigned i = 0; i < 2; i++)
		if (to[i] < r->start || to[i] >= r->end ||
		    !decode_flags_dead((const uint8_t *)to[i], readable(to[i], r->end - to[i])))
			return false;
	return true;
}

/*
 * Copies the code at b->pc as it is now: `most` bytes, or fewer if *room, the mapped bytes, are
 * fewer; never more than a block can have. *room becomes the number of readable bytes. Returns how
 * many were copied.
 */
static size_t take_bytes(struct build *b, size_t *room, size_t most)
{
	static uint8_t bytes[INSNS_MAX * INSN_MAX + BYTES_BEHIND];
	size_t n = *room < most ? *room : most;

	b->bytes = bytes;
	if (n > sizeof(bytes) - BYTES_BEHIND)
		n = sizeof(bytes) - BYTES_BEHIND;
	if (rt_copy(bytes, (const void *)b->pc, n))
		return n;
	*room = readable(b->pc, *room);
	if (n > *room)
		n = *room;
	return rt_copy(bytes, (const void *)b->pc, n) ? n : 0;
}

#define FIRST_BYTES 64 /* enough for most blocks and the instruction after each */

static void decode(struct build *b, size_t *room, unsigned max)
{
	size_t n = take_bytes(b, room, FIRST_BYTES);
	unsigned most;

	decode_block(b, n, max, n < *room);
	if (n < *room && b->len + INSN_MAX > n)
		decode_block(b, n = take_bytes(b, room, *room), max, false);
	most = rseq_divide(b);
	if (most < b->n)
		decode_block(b, n, most, false);
}

/* Decodes the block, and makes sure that its code is still the same afterwards: other threads may
 * be writing there. */
static void decode_watched(struct build *b, const struct region *r, size_t *room, unsigned max)
{
	static uint8_t now[INSNS_MAX * INSN_MAX];

	do {
		decode(b, room, max);
		b->once = b->n && !regions_watch(r, b->pc, b->len);
	} while (b->n && !b->once && b->changes && rt_copy(now, (const void *)b->pc, b->len) &&
		 memcmp(now, b->bytes, b->len));
	if (b->once)
		decode(b, room, 1);
}

static void set_coarse(struct block *blk, const struct build *b)
{
	unsigned at = 0;

	for (unsigned i = 0; i < b->counter; i++)
		at += b->in[i].len;
	blk->flags |= BLOCK_COARSE;
	blk->owed = b->owed;
	blk->take = (int16_t)b->take;
	blk->take_at = (uint16_t)at;
	blk->behind = b->take && !b->guard && !b->changes ? b->taken : 0;
	blk->weight = (uint16_t)b->counter;
}

/* Makes the block that has been decoded. If `from` leads there and its block was the last one made, the new code
 * follows that block's. */
static struct block *make(struct build *b, struct thread *t, struct region *r, struct link *from)
{
	const struct insn *last = &b->in[b->n - 1];
	struct block *blk;

	if (last->kind == CALL || last->kind == CALL_INDIRECT)
		cache_expect_return(b->pc + b->len);
	/* the target is about to be looked up, or translated */
	if (last->kind == CALL || last->kind == JUMP) {
		cache_expect(last->target);
		__builtin_prefetch((const void *)last->target);
	}
	b->changes = b->changes && !b->once;
	b->coarse = coarse() && !b->once;
	left_plan(b, from);
	from = from && from->kind == LINK_JUMP && !b->once && constant(r) ? take_place(from) : NULL;
	blk = b->once ? once_block(t) : &blocks[nblocks];
	b->code = b->once ? blk->code : publish_next(b->changes);
	b->e = (struct emit){ (uint8_t *)b->code, b->code };
	b->id = nids;
	b->site = counting() && !b->once && is_indirect(last->kind)
			  ? edges_site(b->id, last->kind == RET)
			  : 0;
	b->number = (uint32_t)(blk - blocks);
	b->nlink = 0;
	b->returns = 0;
	b->dry = false;
	b->ahead = (!log_mode || lines_on() || skipping()) && !b->once && !b->changes && !b->brief;
	b->exits_dead = (intervals_on() || skipping()) && !faults_keep_state && !b->once &&
			constant(r) && leaves_flags_dead(b, r);
	put_block(b);
	if (b->once) {
		publish_once(b, blk);
		publish_bytes(blk, b->bytes);
		once_note(t, blk, r);
		return blk;
	}
	invariant(blk == &blocks[nblocks] && b->e.at > b->code);
	blk->pc = b->pc;
	blk->code = b->code;
	blk->size = (uint32_t)(b->e.at - b->code);
	blk->len = (uint16_t)b->len;
	blk->n = (uint16_t)b->n;
	blk->in = blk->next_page[0] = blk->next_page[1] = 0;
	blk->site = b->site;
	blk->flags = (b->dead_at_start ? BLOCK_FLAGS_DEAD : 0) | (skipping() ? BLOCK_SKIPS : 0) |
		     (b->exits_dead ? BLOCK_EXITS_DEAD : 0) | (b->changes ? BLOCK_CHANGES : 0) |
		     b->guard;
	blk->weight = (uint16_t)b->weight;
	if (b->coarse)
		set_coarse(blk, b);
	blk->bytes = b->bytes;
	if (!skipping()) {
		if (!r->image)
			r->image = log_image(r);
		log_block(blk, r->image, log_fd < 0 ? NULL : block_lengths(b), &b->plan, &b->exits);
	}
	publish(b, blk);
	if (b->changes)
		publish_bytes(blk, b->bytes);
	else
		blk->bytes = (const uint8_t *)b->pc;
	if (from) {
		invariant(from->target == b->pc && !from->linked);
		from->linked = from->fallen = true;
		blk->in = (uint32_t)(from - links) + 1;
	}
	__atomic_store_n(&nblocks, nblocks + 1, __ATOMIC_RELEASE);
	if (b->brief) {
		cache_add_page(blk);
		return blk;
	}
	cache_add(blk);
	if (b->returns)
		cache_add_return(b->pc + b->len, b->returns);
	return blk;
}

/* Links to the link's target. If the target lies in the same code, which does not change, and has
 * no block yet, its block is made and returned. */
static struct block *follow(struct build *b, struct thread *t, struct region *r, struct link *l)
{
	struct block *to = cache_find(l->target);
	size_t room = r->end - l->target;

	if (to) {
		cache_link(l, to);
		to = NULL;
	} else if (l->target >= r->start && l->target < r->end && !flush_due(true)) {
		b->pc = l->target;
		decode(b, &room, INSNS_MAX);
		if (b->n) {
			invariant(b->pc == l->target);
			to = make(b, t, r, l);
			cache_link(l, to);
		}
	}
	if (!l->linked)
		publish_unlinked(l);
	return to;
}

#define AHEAD_MAX 16 /* most blocks that are translated ahead */

/*
 * Translates the code that will run after a block unless a signal or a fault intervenes: the target
 * of its jump, or, if it calls a procedure that is translated already, the code after the call. So
 * blocks lie in the same order as without this, and each saves an exit from the cache. A branch
 * ends the stretch.
 */
static void make_ahead(struct build *b, struct thread *t, struct region *r, struct block *blk)
{
	for (unsigned i = 0; blk && leads_on(b->in[b->n - 1].kind); i++) {
		struct link *first = &links[blk->link], *last = first + blk->links - 1;
		bool more = i < AHEAD_MAX;

		blk = NULL;
		if (more)
			blk = follow(b, t, r, last);
		else
			publish_unlinked(last);
		if (first == last)
			continue;
		if (more && !blk && last->linked) /* a call */
			blk = follow(b, t, r, first);
		else
			publish_unlinked(first);
	}
}

static struct block *translate_most(struct thread *t, uint64_t pc, struct link *from, unsigned max)
{
	static struct build b;
	struct region *r = region_of(pc);
	struct block *blk;
	size_t room, mapped;

	if (!r) {
		signals_raise(t, SIGSEGV, regions_fault(pc), pc);
		return NULL;
	}
	room = mapped = r->end - pc;
	b.pc = pc;
	b.changes = !constant(r);
	library_enter(t);
	b.brief = max < INSNS_MAX;
	decode_watched(&b, r, &room, max);
	if (!b.n) { /* the code extends beyond the end of its region, perhaps into another one */
		library_leave(t);
		if (room < mapped) {
			signals_raise(t, SIGBUS, BUS_ADRERR, pc + room);
			return NULL;
		}
		r = region_of(r->end);
		if (!r) {
			signals_raise(t, SIGSEGV, regions_fault(pc + room), pc + room);
			return NULL;
		}
		b.once = !regions_watch(r, pc, 15);
		b.changes |= !constant(r);
		library_enter(t);
		room = readable(pc, r->end - pc);
		decode(&b, &room, 1);
		if (!b.n)
			die("no instruction at %lx", pc);
	}
	blk = make(&b, t, r, from);
	if (b.ahead)
		make_ahead(&b, t, r, blk);
	library_leave(t);
	return blk;
}

struct block *translate(struct thread *t, uint64_t pc, struct link *from)
{
	return translate_most(t, pc, from, INSNS_MAX);
}

/* Short blocks that were made before: phases begin at the same places in loops again and again. */
#define BRIEFS 4096
static struct brief {
	uint64_t pc, mode;
	uint32_t n, block, flushes;
} briefs[BRIEFS];

struct block *translate_midway(struct thread *t, uint64_t pc)
{
	const struct region *r = region_of(pc);

	/* a block that is made anew each time has another number each time, and would never get what was granted to it */
	if (!r || !constant(r))
		return translate(t, pc, NULL);
	return translate_short(t, pc, INSNS_MAX - 1);
}

struct block *translate_short(struct thread *t, uint64_t pc, unsigned n)
{
	struct brief *k = &briefs[(pc * TABLE_FACTOR >> TABLE_SHIFT ^ n) % BRIEFS];
	struct block *b = &blocks[k->block];

	if (k->n == n && k->pc == pc && k->flushes == flushes && k->mode == log_mode &&
	    !(b->flags & BLOCK_DEAD))
		return b;
	b = translate_most(t, pc, NULL, n);
	if (b && !(b->flags & (BLOCK_ONCE | BLOCK_CHANGES)))
		*k = (struct brief){ pc, log_mode, n, (uint32_t)(b - blocks), flushes };
	return b;
}
