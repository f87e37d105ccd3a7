/* SPDX-License-Identifier: MIT */
/*
 * The number of instructions that may be executed before the engine is asked, in parts (T_LEFT,
 * layout.h): how it is granted, shared by threads, and added up; and the code by which blocks
 * subtract from it where a schedule needs each instruction counted.
 */
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

/*
 * `room`, in parts: half of it evenly, half as they were used since the last time. So there are few of these calls
 * an interval, and each of them leaves less to be granted.
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
		int64_t taken = t->granted[i] - t->left[i];

		sum += (uint64_t)taken;
		t->taken[i] = taken > 0 ? taken : 0;
		t->left[i] = t->granted[i] = 0;
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
}

static uint32_t left_of(const struct build *b)
{
	return T_LEFT + 8 * left_part(b->number);
}

void left_put_take(struct build *b)
{
	struct emit *e = &b->e;
	unsigned weight = b->weight;
	bool small = weight < 128;

	put8(e, 0x65); /* sub qword gs:[left], weight */
	put8(e, 0x48);
	put8(e, small ? 0x83 : 0x81);
	put8(e, 0x2d);
	put_context(e, left_of(b), small ? 1 : 4);
	if (small)
		put8(e, weight);
	else
		put32(e, weight);
}

void left_put_quietly(struct build *b, unsigned reg)
{
	put_gs(&b->e, 0x8b, reg, left_of(b));
	put_lea(&b->e, reg, reg, NO_REG, 1, -(int64_t)b->weight);
	put_gs(&b->e, 0x89, reg, left_of(b));
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

/* Tests without changing flags whether less than nothing is left: that is the number's sign, and
 * jrcxz can test its byte. */
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
	struct emit *e = &b->e;
	uint64_t to;

	if (!flags_dead) {
		put_check_quietly(b);
		return;
	}
	left_put_take(b);
	to = put_out(b, false);
	put16(e, 0x880f); /* js */
	put32(e, to - (e->at + 4));
}
