/* SPDX-License-Identifier: MIT */
/*
 * A block's code: the program's instructions, unchanged except for control flow and rip-relative operands; with the
 * block's counter, and the code that writes into the stream.
 *
 * The same code is made again, elsewhere, to find the program's state where a signal stopped it: so nothing here may
 * depend on anything but the block's original bytes and its place in the cache.
 */
#include "engine/core/flush.h"
#include "engine/core/left.h"
#include "engine/core/once.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/build.h"
#include "engine/shared.h"

uint32_t flags_read(const struct insn *in)
{
	return faults_keep_state ? FLAGS_ALL : in->reads & FLAGS_ALL;
}

/* Chooses where the block is counted: at a place where no flag is live, if there is one. */
static void place_counter(struct build *b)
{
	uint32_t live = b->exits_dead ? 0 : FLAGS_ALL;

	b->counter = b->exits.before = 0;
	b->flags_dead = false;
	for (unsigned i = b->n; i-- > 0;) {
		if (b->in[i].kind == BRANCH && i + 1 < b->n)
			live = FLAGS_ALL;
		live = (live & ~b->in[i].writes) | flags_read(&b->in[i]);
		if (!live) {
			b->counter = i;
			b->flags_dead = true;
		}
	}
	b->dead_at_start = !live;
	if (b->guard && b->coarse) { /* a section may be aborted at any instruction */
		b->counter = 0;
		b->flags_dead = b->dead_at_start;
	}
	b->take_at_end =
		b->coarse && !b->guard && !b->flags_dead && is_indirect(b->in[b->n - 1].kind);
	if (b->take_at_end)
		b->counter = b->n - 1;
	/* executions that reach an indirect end are counted there, by their targets */
	if (b->site)
		b->counter = b->n;
	for (unsigned i = 0; i < b->counter; i++)
		b->exits.before += b->in[i].kind == BRANCH;
}

void put_plain(struct build *b, struct insn *in, const uint8_t *p)
{
	rseq_put_begin(b);
	in->core = (uint16_t)(b->e.at - b->code);
	put_bytes(&b->e, p, in->len);
	in->end = (uint16_t)(b->e.at - b->code);
	rseq_put_end(b);
}

/* Emits a block that is not observed, and in which no place is ever looked up: runs of unchanged
 * instructions are copied at once. */
static void put_unobserved(struct build *b)
{
	const uint8_t *p = b->bytes, *from = p;
	uint64_t next = b->pc;

	invariant(b->n && !b->changes == !(b->e.at - b->code));
	b->in[0].before = 0;
	if (skipping() && !b->once && !b->coarse)
		left_check(b, b->dead_at_start);

	for (unsigned i = 0; i < b->n; i++) {
		struct insn *in = &b->in[i];
		const uint8_t *at = p;

		if (b->coarse && i == b->counter && !b->take_at_end) {
			put_run(&b->e, from, (unsigned)(at - from));
			from = p;
			left_put_block(b, i);
		}
		next += in->len;
		p += in->len;
		if (in->kind == PLAIN)
			continue;
		put_run(&b->e, from, (unsigned)(at - from));
		from = p;
		in->spilled = 0;
		if (in->kind == MEMORY)
			put_memory(b, in, at, next);
		else
			put_control(b, in, at, next);
	}
	put_run(&b->e, from, (unsigned)(p - from));
	if (!ends_block(b->in[b->n - 1].kind))
		put_link_jump(b, next);
}

void put_block(struct build *b)
{
	const uint8_t *p = b->bytes;
	uint64_t next = b->pc;
	struct emit *e = &b->e;
	unsigned last = b->n - 1;
	bool count = counting() && !b->once;

	invariant(b->n && b->n <= INSNS_MAX && b->len <= b->n * INSN_MAX);
	invariant(b->e.at == b->code);
	for (unsigned i = 0; i < sizeof(b->link) / sizeof(b->link[0]); i++)
		b->link[i] = (struct link){ 0 };
	b->exits.n = 0;
	if (counting() || schedule_on)
		place_counter(b);
	if (schedule_on)
		b->weight = b->n;
	plan_stream(b);
	if (intervals_on())
		shadow_plan(b);
	if (b->changes)
		put_nops(e, CHANGED_SIZE);
	rseq_put_check(b);
	if (!b->dry && !b->guard && !(log_mode & (EXACT_COUNTS | EXACT_STREAM | EXACT_LINES))) {
		put_unobserved(b);
		return;
	}
	for (unsigned i = 0; i < b->n; i++) {
		struct insn *in = &b->in[i];

		next += in->len;
		in->spilled = b->reserved;
		in->before = 0;
		in->start = (uint16_t)(e->at - b->code);
		in->end = 0;
		if (!i && intervals_on()) {
			shadow_begin(b);
			if (lines_on() && !b->once)
				shadow_ran(b);
		} else if (!i) {
			if (schedule_on && !b->once && !b->coarse)
				left_check(b, b->dead_at_start);
			put_stream_begin(b);
		}
		if (b->coarse && i == b->counter && !b->take_at_end)
			left_put_block(b, i);
		in->record = (uint16_t)b->record;
		if (count && i == b->counter) {
			put_count(e, 2 * b->id, b->flags_dead);
			if (!b->flags_dead)
				in->spilled |= 1u << RAX;
		}
		if (b->reserved)
			put_fields(b, i, false, false);
		if (intervals_on()) {
			shadow_marks(b, i);
			if (ends_block(in->kind))
				shadow_end(b);
		} else if (i == last && ends_block(in->kind) && in->kind != JUMP_INDIRECT &&
			   in->kind != CALL_INDIRECT)
			put_stream_end(b);
		invariant(i == last || !ends_block(in->kind) || in->kind == BRANCH);
		in->core = (uint16_t)(e->at - b->code);
		if (in->kind == PLAIN)
			put_plain(b, in, p);
		else if (in->kind == MEMORY)
			put_memory(b, in, p, next);
		else if (in->kind == LATER)
			shadow_later(b, i, p, next);
		else
			put_control(b, in, p, next);
		if (!in->end)
			in->end = (uint16_t)(e->at - b->code);
		invariant(in->start <= in->core && in->core <= in->end);
		if (b->reserved)
			put_fields(b, i, true, false);
		p += in->len;
	}
	invariant(p == b->bytes + b->len && next == b->pc + b->len);
	invariant(!b->reserved || b->word == b->plan.words);
	if (!ends_block(b->in[last].kind)) {
		if (intervals_on())
			shadow_end(b);
		else
			put_stream_end(b);
		put_link_jump(b, next);
	}
}
