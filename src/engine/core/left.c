/* SPDX-License-Identifier: MIT */
/*
 * The number of instructions that may be executed before the engine is asked, in parts (T_LEFT,
 * layout.h): how it is granted, shared by threads, and added up; and the code by which blocks
 * subtract from it where a schedule needs each instruction counted.
 *
 * Where a sample is far off, most blocks subtract nothing (BLOCK_COARSE). Each block has a number of
 * instructions that whoever enters it owes: they have been executed and are not subtracted yet.
 *
 *     owed 0 ┌───────────┐   owed 6 ┌───────────┐   owed 9 ┌───────────────┐
 *        ───▶│ 6         ├─────────▶│ 3         ├─────────▶│ 5, takes 14   │
 *            └─────────▲─┘          └─────┬─────┘          └───┬─────────┬─┘
 *                      └──────────────────┼────────────────────┘ owed 0  │
 *                                         ▼ owed 9                       ▼ owed 0
 *
 * A block owes what the way by which it was reached first does, plus its own instructions; if it
 * leads to a block that exists already, it first takes as much from what is left as the two differ
 * by. A link between blocks that differ all the same leads through code that takes it (left_put_edge).
 * Indirect jumps, calls and returns owe nothing. So each loop takes something, and what is really left
 * is known everywhere: T_LEFT less what is owed. Only what takes more than nothing can exhaust it,
 * and is late by OWED_MAX and a block at most; such code is left that much before a sample.
 */
#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/layout.h"
#include "engine/core/left.h"
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/build.h"

#define SHARE_MIN 1000

bool left_whole;

void left_grant(struct thread *t, uint64_t room)
{
	memset(t->granted, 0, sizeof(t->granted));
	t->granted[0] = (int64_t)room;
	memcpy(t->left, t->granted, sizeof(t->left));
}

/*
 * Divides `room` among the parts: half of it evenly, half in proportion to the last use. So there are few such calls in
 * an interval, and each leaves less to be granted.
 */
void left_divide(struct thread *t, uint64_t room, unsigned weight, unsigned part)
{
	uint64_t even = room / 2 / LEFT_PARTS, used = 0, down = 0;

	for (unsigned i = 0; i < LEFT_PARTS; i++)
		used += (uint64_t)t->taken[i];
	while (used >> down >> 31)
		down++;
	used = (used >> down) + 1;
	for (unsigned i = 0; i < LEFT_PARTS; i++) {
		uint64_t of = (uint64_t)t->taken[i] >> down, half = room / 2;

		t->granted[i] =
			(int64_t)(even + (half < used ? of * half / used : half / used * of));
	}
	if (t->granted[part] < weight) {
		for (unsigned i = 0; i < LEFT_PARTS; i++)
			t->granted[i] = (int64_t)((room - weight) / LEFT_PARTS);
		t->granted[part] += weight;
	}
	memcpy(t->left, t->granted, sizeof(t->left));
}

uint64_t left_settle(struct thread *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LEFT_PARTS; i++) {
		int64_t taken = t->granted[i] - t->left[i] + t->rest[i];

		sum += (uint64_t)taken;
		t->taken[i] = taken > 0 ? taken : 0;
		t->left[i] = t->rest[i] = t->granted[i] = 0;
	}
	return sum;
}

static unsigned threads_alive(void)
{
	unsigned n = 0;

	for (const struct thread *t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE); t; t = t->next)
		n += !t->ended;
	return n ? n : 1;
}

uint64_t left_share(uint64_t room, unsigned weight)
{
	unsigned n = threads_alive();

	if (n > 1)
		room = room / (2 * n) > SHARE_MIN ? room / (2 * n) : SHARE_MIN;
	return room < weight ? weight : room;
}

uint64_t left_slack(uint64_t interval, unsigned weight)
{
	uint64_t part = interval / 256;

	return threads_alive() > 1 && part > weight ? part : weight;
}

void left_clear(struct thread *t)
{
	memset(t->left, 0, sizeof(t->left));
	memset(t->granted, 0, sizeof(t->granted));
	memset(t->taken, 0, sizeof(t->taken));
	memset(t->rest, 0, sizeof(t->rest));
}

void left_to_rest(struct thread *t)
{
	for (unsigned i = 0; i < LEFT_PARTS; i++) {
		t->rest[i] = -t->left[i];
		t->left[i] = 0;
	}
}

static uint32_t left_of(const struct build *b)
{
	return T_LEFT + 8 * left_part(b->number);
}

/* Emits sub qword gs:[at], n or, with `op` 0x05, add. */
#define OP_SUB 0x2d
#define OP_ADD 0x05
static void put_change(struct emit *e, unsigned op, uint32_t at, int n)
{
	bool small = n >= -128 && n < 128;

	put8(e, 0x65);
	put8(e, 0x48);
	put8(e, small ? 0x83 : 0x81);
	put8(e, op);
	put_context(e, at, small ? 1 : 4);
	if (small)
		put8(e, (unsigned)n & 0xff);
	else
		put32(e, (uint64_t)n);
}

/* Adds n to gs:[at] through a register, which leaves flags as they are. */
static void put_change_quietly(struct emit *e, uint32_t at, int n, unsigned reg)
{
	put_gs(e, 0x8b, reg, at);
	put_lea(e, reg, reg, NO_REG, 1, n);
	put_gs(e, 0x89, reg, at);
}

void left_put_take(struct build *b)
{
	put_change(&b->e, OP_SUB, left_of(b), (int)b->weight);
}

void left_put_quietly(struct build *b, unsigned reg)
{
	put_change_quietly(&b->e, left_of(b), -(int)b->weight, reg);
}

/* Emits, beside the code, an exit from the cache before the block's first instruction. */
static uint64_t put_out(struct build *b, bool rcx)
{
	struct emit stub = { (uint8_t *)publish_beside(), publish_beside() };
	uint64_t at = stub.at;

	if (b->dry) /* a dry run needs an address of the right distance, not code */
		return at;
	if (rcx)
		put_restore(&stub, RCX);
	publish_exit(&stub, EXIT_INTERVAL - (int32_t)b->number);
	publish_beside_done(stub.at);
	return at;
}

#define JS 0x88
#define JNS 0x89

static void put_branch_out(struct build *b, unsigned condition)
{
	struct emit *e = &b->e;
	uint64_t to = put_out(b, false);

	put16(e, 0x0f | condition << 8);
	put32(e, to - (e->at + 4));
}

/* Tests without changing flags whether less than nothing is left, by the sign of the number, whose
 * top byte jrcxz can test. */
static void put_check_quietly(struct build *b)
{
	struct emit *e = &b->e;

	b->in[0].before |= 1u << RCX;
	put_spill(e, RCX);
	left_put_quietly(b, RCX);
	put8(e, 0x65); /* movzx ecx, byte gs:[left + 7] */
	put8(e, 0x0f);
	put8(e, 0xb6);
	put8(e, 0x0d);
	put_context(e, left_of(b) + 7, 0);
	put16(e, 0x05e3); /* jrcxz over the next one */
	put_jump(e, put_out(b, true));
	put_restore(e, RCX);
}

void left_check(struct build *b, bool flags_dead)
{
	if (!flags_dead) {
		put_check_quietly(b);
		return;
	}
	left_put_take(b);
	put_branch_out(b, JS);
}

static uint32_t rest_of(uint32_t number)
{
	return T_REST + 8 * rest_part(number);
}

/* Emits mov ecx, <upper half of rest>: 0 where nothing is left, else -1, as fewer than 2^32 instructions are granted. */
static void put_upper_half(struct emit *e, uint32_t rest)
{
	put8(e, 0x65);
	put16(e, 0x0d8b);
	put_context(e, rest + 4, 0);
}

/* Leaves the cache if nothing is left, which rcx says; rcx has been spilled. */
static void put_check_rest(struct build *b)
{
	struct emit *e = &b->e;

	put_upper_half(e, rest_of(b->number));
	put16(e, 0xd1f7); /* not ecx */
	put16(e, 0x05e3); /* jrcxz over the next one */
	put_jump(e, put_out(b, true));
}

/*
 * Chooses how many instructions the block subtracts. A branch backwards, above all to the block itself, is likely to
 * close a loop: there the block subtracts, and not a link.
 */
static unsigned due_of(const struct build *b)
{
	const struct insn *last = &b->in[b->n - 1];
	unsigned due = b->owed + b->n;
	uint64_t next = b->pc + b->len, to[2] = { last->target, next };
	const struct block *first = NULL;

	if (b->guard || (ends_block(last->kind) && last->kind != JUMP && last->kind != BRANCH &&
			 last->kind != LOOP && last->kind != CALL))
		return 0;
	if (!ends_block(last->kind))
		to[0] = next;
	for (unsigned i = 0; i < 2; i++) {
		const struct block *found;

		if (i && last->kind != BRANCH && last->kind != LOOP)
			break;
		if (to[i] == b->pc)
			return b->owed;
		found = cache_find(to[i]);
		if (found && (!first || to[i] < b->pc) && !(found->flags & BLOCK_ONCE))
			first = found;
	}
	if (first)
		return owed_at(first);
	return due <= OWED_MAX ? due : 0;
}

void left_plan(struct build *b, const struct link *from)
{
	b->owed = b->due = 0;
	b->take = 0;
	if (!b->coarse)
		return;
	if (from && !b->guard && !b->changes)
		b->owed = from->owed;
	b->due = (uint16_t)due_of(b);
	b->take = (int)(b->owed + b->n) - b->due;
}

void left_put_block(struct build *b, unsigned i)
{
	struct emit *e = &b->e;

	if (b->take && b->flags_dead) {
		put_change(e, OP_ADD, rest_of(b->number), b->take);
		if (b->take > 0)
			put_branch_out(b, JNS);
	} else if (b->take) {
		b->in[i].before |= 1u << RCX;
		put_spill(e, RCX);
		put_change_quietly(e, rest_of(b->number), b->take, RCX);
		if (b->take > 0)
			put_check_rest(b);
		put_restore(e, RCX);
	}
	b->taken = (uint16_t)(e->at - b->code);
}

void left_put_end(struct build *b, const struct insn *in)
{
	struct emit *e = &b->e;

	b->out_at = NULL;
	if (!b->coarse || !b->take_at_end)
		return;
	if (b->take)
		put_change_quietly(e, rest_of(b->number), b->take, RCX);
	if (b->take > 0 &&
	    in->kind ==
		    CALL_INDIRECT) { /* the code that follows is longer than jrcxz can jump over */
		put_check_rest(b);
	} else if (b->take > 0) {
		put_upper_half(e, rest_of(b->number));
		put16(e, 0x00e3); /* jrcxz to the code that left_put_behind() emits */
		b->out_at = e->out;
	}
	if (b->take && in->kind != RET &&
	    in->kind != RET_POP) /* the operand may use the register */
		put_restore(e, RCX);
	b->taken = (uint16_t)(e->at - b->code);
}

void left_put_behind(struct build *b)
{
	if (!b->out_at)
		return;
	invariant(b->e.out - b->out_at < 128);
	b->out_at[-1] = (uint8_t)(b->e.out - b->out_at);
	put_jump(&b->e, put_out(b, true));
}

void left_put_edge(struct emit *e, int n, const struct block *to)
{
	bool quiet = !(to->flags & BLOCK_FLAGS_DEAD);
	uint32_t number = (uint32_t)(to - blocks), rest = rest_of(number);
	unsigned behind = quiet ? RESTORE_SIZE + JUMP_SIZE : JUMP_SIZE;

	if (quiet) {
		put_spill(e, RCX);
		put_change_quietly(e, rest, n, RCX);
	} else {
		put_change(e, OP_ADD, rest, n);
	}
	if (quiet && n > 0)
		put_upper_half(e, rest);
	if (n > 0)
		put16(e, behind << 8 | (quiet ? 0xe3 : 0x79)); /* jrcxz or jns behind the jump */
	if (quiet)
		put_restore(e, RCX);
	put_jump(e, to->code);
	if (n <= 0)
		return;
	if (quiet)
		put_restore(e, RCX);
	publish_exit(e, EXIT_BEFORE - (int32_t)number);
}

bool left_enter(struct thread *t, const struct block *b)
{
	if (!(b->flags & BLOCK_COARSE)) {
		t->owed = 0;
		return true;
	}
	if (t->rest[0] >= 0)
		return false;
	t->owed = b->owed;
	t->rest[0] -= t->owed;
	return true;
}

uint64_t left_again(struct thread *t, const struct block *b)
{
	if (t->rest[0] >= 0 || !b->behind || b->flags & BLOCK_DEAD)
		return 0;
	t->owed = b->owed + b->weight - b->take;
	t->rest[0] -= t->owed;
	t->spill[RCX] =
		t->regs[RCX]; /* what follows an indirect end's subtraction expects it there */
	return b->code + b->behind;
}

void left_not_entered(struct thread *t)
{
	t->rest[0] += t->owed;
	t->owed = 0;
}

/* Handles a block that has left the cache in the middle, where it subtracts: some of its
 * instructions have been executed. */
unsigned left_exhausted(struct thread *t, const struct block *b)
{
	if (b->flags & BLOCK_COARSE) {
		t->rest[0] += b->owed + b->weight - b->take;
		t->pc = b->pc + b->take_at;
		return (unsigned)b->take + 1;
	}
	t->left[left_part((uint32_t)(b - blocks))] += b->weight;
	t->pc = b->pc;
	return b->weight;
}
