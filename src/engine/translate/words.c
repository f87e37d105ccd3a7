/* SPDX-License-Identifier: MIT */
/* Emits code that writes the stream's words. */
#include "engine/core/layout.h"
#include "engine/core/registers.h"
#include "engine/record/log.h"
#include "engine/translate/block.h"
#include "engine/translate/build.h"
#include "engine/shared.h"

void plan_stream(struct build *b)
{
	uint64_t next = b->pc;

	b->reserved = 0;
	b->word = b->record = 0;
	b->plan.words = b->plan.nfield = 0;
	if (!b->streams || b->once)
		return;
	plan_begin(&b->plan);
	for (unsigned i = 0; i < b->n; i++) {
		next += b->in[i].len;
		plan_insn(&b->plan, i, &b->in[i].f, next);
	}
	if (b->plan.words || log_mode & EXACT_ORDER)
		b->reserved = 1u << b->base | (b->plan.scratch ? 1u << b->scratch : 0);
}

static void put_word(struct build *b, unsigned reg)
{
	invariant(b->reserved && b->word < b->plan.words && reg != b->base);
	invariant(b->record == 8 + 8 * b->word);
	put_based(&b->e, 0x89, reg, b->base, b->record);
	b->record += 8;
	b->word++;
}

static void put_head(struct build *b, struct emit *e, uint32_t id, unsigned words)
{
	put8(e, 0x48 | (b->base >= 8)); /* mov qword [base], head */
	put8(e, 0xc7);
	put8(e, b->base & 7);
	if ((b->base & 7) == 4) {
		e->out[-1] = 4;
		put8(e, 0x24);
	} else if ((b->base & 7) == 5) {
		e->out[-1] = 0x45;
		put8(e, 0);
	}
	put32(e, (id + 1) | words << EXACT_HEAD_BLOCKS);
}

void put_stream_begin(struct build *b)
{
	struct emit *e = &b->e;

	if (!b->reserved)
		return;
	put_spill(e, b->base);
	if (b->plan.scratch)
		put_spill(e, b->scratch);
	put_gs(e, 0x8b, b->base, T_STREAM);
	put_head(b, e, b->id, b->plan.words);
	b->record = 8;
}

static void put_stream_left(struct build *b, struct emit *e)
{
	if (b->plan.scratch)
		put_restore(e, b->scratch);
	put_restore(e, b->base);
}

void put_stream_exit(struct build *b, struct emit *e, unsigned exit)
{
	unsigned words = b->exits.exit[exit - 1].words;

	if (words || log_mode & EXACT_ORDER) {
		put_head(b, e, b->id + exit, words);
		put_lea(e, b->base, b->base, NO_REG, 1, 8 + 8 * words);
		put_gs(e, 0x89, b->base, T_STREAM);
	}
	put_stream_left(b, e);
}

void put_stream_end(struct build *b)
{
	struct emit *e = &b->e;

	if (!b->reserved || !b->streams)
		return;
	invariant(b->word == b->plan.words && b->record == 8 + 8 * b->word);
	put_lea(e, b->base, b->base, NO_REG, 1, b->record);
	put_gs(e, 0x89, b->base, T_STREAM);
	b->closed = (uint16_t)(e->at - b->code);
	put_stream_left(b, e);
}

/* Puts code that loads the value at an address into the scratch register, zero-extended. */
static void put_fetch(struct build *b, unsigned base, unsigned index, unsigned scale, int64_t disp,
		      unsigned size)
{
	struct emit *e = &b->e;
	unsigned s = b->scratch, rex;

	invariant(b->reserved & 1u << s && s != b->base);
	if (base == NO_REG && disp != (int32_t)disp) {
		put_imm64(e, s, (uint64_t)disp);
		base = s;
		disp = 0;
	}
	rex = rex_of(s, base, index) | (size == 8 ? 8 : 0);
	if (rex)
		put8(e, 0x40 | rex);
	if (size < 4)
		put8(e, 0x0f);
	put8(e, size == 1 ? 0xb6 : size == 2 ? 0xb7 : 0x8b);
	put_operand(e, s, base, index, scale, disp);
}

/* Puts fs's base + base + index * scale into the scratch register. */
static void put_fs_address(struct build *b, const struct plan_word *w)
{
	struct emit *e = &b->e;
	unsigned s = b->scratch;

	put_fs_base(e, s);
	if (w->base != NO_REG)
		put_lea(e, s, s, w->base, 1, 0);
	if (w->index != NO_REG)
		put_lea(e, s, s, w->index, w->scale, 0);
}

static void put_planned(struct build *b, const struct plan_word *w)
{
	switch (w->what) {
	case PLAN_REGISTER:
		put_word(b, w->base);
		break;
	case PLAN_ADDRESS:
		if (w->fs)
			put_fs_address(b, w);
		else
			put_lea(&b->e, b->scratch, w->base, w->index, w->scale, w->disp);
		put_word(b, b->scratch);
		break;
	case PLAN_MEMORY:
		put_fetch(b, w->base, w->index, w->scale, w->disp, w->size);
		put_word(b, b->scratch);
		break;
	case PLAN_BEHIND:
		put_based(&b->e, 0x8b, b->scratch, b->base, 8 + 8 * (uint32_t)w->disp);
		put_fetch(b, b->scratch, NO_REG, 1, 0, w->size);
		put_word(b, b->scratch);
		break;
	default: /* rcx holds it */
		put_word(b, RCX);
		break;
	}
}

void put_fields(struct build *b, unsigned insn, bool after, bool target)
{
	while (b->word < b->plan.words) {
		const struct plan_word *w = &b->plan.word[b->word];

		if (w->insn != insn || w->after != after || (w->what == PLAN_TARGET) != target)
			break;
		put_planned(b, w);
	}
}
