/* SPDX-License-Identifier: MIT */
/* Finds the program's state at a place in the cache. */
#include "engine/core/cache.h"
#include "engine/core/layout.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/record/marks.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/shared.h"
#include "engine/translate/build.h"

_Static_assert(sizeof(struct build) + 0x8000 <= T_SCRATCH_SIZE, "layout");

/* Returns what the code up to offset `o` has subtracted from T_LEFT for the instruction there and
 * those after it; less than 0 if it has subtracted nothing yet. */
static int undone(const struct build *b, unsigned from, unsigned o)
{
	const struct insn *take = &b->in[b->shadow.take];
	int sum = 0;

	if (b->coarse) /* what is left becomes exact */
		return (o && o >= b->taken ? b->take : 0) - (int)(b->owed + from);
	if (schedule_on) /* a block that is executed once: the subtraction was made before it */
		return b->once || o > b->in[0].start ? (int)(b->n - from) : 0;
	if (!o || !intervals_on())
		return 0;
	for (unsigned i = from; i < b->n; i++)
		sum += lines.unit == EXACT_ACCESSES ? b->in[i].s.accesses : 1;
	return o >= take->core || !b->shadow.take ? sum : sum - (int)b->weight;
}

/* Whether the instruction is a string instruction with a repeat prefix. */
static bool repeats_string(const uint8_t *p, unsigned len)
{
	bool repeats = false;

	for (; len > 1 && (*p == 0x66 || *p == 0x67 || (*p & 0xfe) == 0xf2 || (*p & 0xf0) == 0x40 ||
			   (*p & 0xe7) == 0x26);
	     p++, len--)
		repeats |= (*p & 0xfe) == 0xf2;
	return repeats && ((*p & 0xfc) == 0xa4 || (*p >= 0xaa && *p <= 0xaf));
}

/*
 * Whether the program can continue from the instruction whose code is at `o`. A string instruction
 * is interrupted between two repetitions, as on the CPU, and continues with the remaining ones:
 * single steps to its end would take a signal each.
 */
static bool is_clean(const struct build *b, const struct insn *in, const uint8_t *p, unsigned o)
{
	return o == in->start ||
	       (o == in->core && in->kind == PLAIN && !b->once && repeats_string(p, in->len));
}

bool translate_place(struct thread *t, const struct block *blk, uint64_t at, struct place *out)
{
	struct build *b = (struct build *)((char *)t + T_SCRATCH);
	unsigned o = (unsigned)(at - blk->code);
	uint64_t pc = blk->pc;
	size_t room;

	b->bytes = blk->bytes;
	b->pc = pc;
	b->code = blk->code;
	b->e = (struct emit){ (uint8_t *)(b + 1), blk->code };
	b->id = blk->id;
	b->coarse = blk->flags & BLOCK_COARSE;
	b->owed = (uint16_t)owed_at(blk);
	b->take = b->coarse ? blk->take : 0;
	b->due = 0;
	b->site = b->coarse ? 0 : blk->site;
	b->number = (uint32_t)(blk - blocks);
	b->once = blk->flags & BLOCK_ONCE;
	b->changes = blk->flags & BLOCK_CHANGES;
	b->guard = blk->flags & (BLOCK_CHECKED | BLOCK_GUARDED);
	b->exits_dead = blk->flags & BLOCK_EXITS_DEAD;
	b->dry = true;
	b->ahead = false;
	b->nlink = 0;
	library_enter(t);
	/* A block of bytes that cannot be decoded has one byte. */
	room = blk->len + BYTES_BEHIND;
	if (blk->bytes == (const uint8_t *)pc && room > ((pc + blk->len - 1) | 4095) + 1 - pc)
		room = ((pc + blk->len - 1) | 4095) + 1 - pc;
	decode_block(b, room, blk->n, false);
	invariant(b->n == blk->n &&
		  b->len == blk->len); /* decoded in the same way as when the block was made */
	put_block(b);
	library_leave(t);
	for (unsigned i = 0; i < b->n; i++) {
		const struct insn *in = &b->in[i];
		bool last = i + 1 == b->n;
		bool before = o == in->start || (o > in->start && o <= in->core);
		bool inside = o > in->core && (o < in->end || (last && ends_block(in->kind)));

		out->undone = undone(b, i, o);
		out->ours = out->repeats = false;
		out->base = b->streams && b->reserved && o < b->closed ? b->base : NO_REG;
		out->closed = b->streams && b->reserved && o >= b->closed ? b->record : 0;
		if ((before || inside) && o < blk->size) {
			out->pc = pc;
			out->next = pc + in->len;
			out->spilled = o > in->start ? in->spilled : i ? b->reserved : 0;
			if (o > in->start && o < in->core)
				out->spilled |= in->before;
			out->done = i;
			out->ours = o > in->start && o < in->core;
			out->repeats =
				in->kind == LATER && o == in->core && in->s.later & LATER_STRING;
			out->clean = out->repeats || is_clean(b, in, b->bytes + (pc - b->pc), o);
			out->counted = i > b->counter || (i == b->counter && o >= in->core);
			out->record = in->record;
			return true;
		}
		pc += in->len;
		if (o >= in->end && o < (last ? blk->size : b->in[i + 1].start)) {
			out->pc = out->next = pc;
			out->spilled = in->spilled;
			out->done = i + 1;
			out->undone = undone(b, i + 1, o);
			out->clean = false;
			out->counted = i >= b->counter;
			out->record = last ? b->record : b->in[i + 1].record;
			return true;
		}
	}
	return false;
}
