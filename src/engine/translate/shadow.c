/* SPDX-License-Identifier: MIT */
/* Emits the code that sets marks, as touches.c has planned them. */
#include "engine/core/layout.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/os/util.h"
#include "engine/record/marks.h"
#include "engine/record/warm.h"
#include "engine/translate/block.h"
#include "engine/translate/mark.h"
#include "engine/shared.h"
#include "engine/translate/build.h"

static void put_shift(struct emit *e, unsigned reg, unsigned by) /* shr */
{
	invariant(reg < 16 && by < 64);
	put8(e, 0x48 | (reg >= 8));
	put8(e, 0xc1);
	put8(e, 0xe8 | (reg & 7));
	put8(e, by);
}

static void put_set_bit(struct emit *e, unsigned reg, unsigned bit) /* bts */
{
	invariant(reg < 16 && bit < 64);
	put8(e, 0x48 | (reg >= 8));
	put8(e, 0x0f);
	put8(e, 0xba);
	put8(e, 0xe8 | (reg & 7));
	put8(e, bit);
}

/* Turns a line's number into the address where the thread marks the line. */
static void put_plane(struct emit *e, unsigned reg) /* or */
{
	put_gs(e, 0x0b, reg, T_PLANE);
}

/* Turns a line's number into the form that put_mark_op takes. */
static void put_mark(struct emit *e, unsigned reg)
{
	if (!lines_alone)
		put_plane(e, reg);
}

/* op byte [reg], imm */
static void put_byte_op(struct emit *e, unsigned op, unsigned ext, unsigned reg, unsigned imm)
{
	if (reg >= 8)
		put8(e, 0x41);
	put8(e, op);
	put_operand(e, ext, reg, NO_REG, 1, 0);
	put8(e, imm);
}

/* Puts an operation on the byte that is the mark of a line. */
static void put_mark_op(struct emit *e, unsigned op, unsigned ext, unsigned reg, unsigned imm)
{
	if (lines_alone)
		put8(e, 0x65);
	put_byte_op(e, op, ext, reg, imm);
}

static void put_touch(struct emit *e, unsigned reg) /* mov byte [reg], 1 */
{
	put_byte_op(e, 0xc6, 0, reg, 1);
}

/* ror or rol */
static void put_turn(struct emit *e, unsigned ext, unsigned reg, unsigned by)
{
	put8(e, 0x48 | (reg >= 8));
	put8(e, 0xc1);
	put8(e, 0xc0 | ext << 3 | (reg & 7));
	put8(e, by);
}

/* Puts a jump over what follows, taken if the register holds an address that is not canonical. The
 * jump's displacement is filled in later. */
static uint8_t *put_unless_line(struct emit *e, unsigned reg)
{
	unsigned bits = lines_alone ? ADDRESS_BITS - lines.shift : SHADOW_BIT + 1;
	uint8_t *over;

	put_turn(e, 1, reg, bits);
	if (reg >= 8)
		put8(e, 0x41);
	put8(e, 0xf7); /* test reg, the bits above an address */
	put8(e, 0xc0 | (reg & 7));
	put32(e, (1ull << (64 - bits)) - 1);
	put8(e, 0x75); /* jne */
	over = e->out;
	put8(e, 0);
	put_turn(e, 0, reg, bits);
	return over;
}

/* Sets the mark of the line whose number the register holds, and the mark above it. The program may
 * have memory where the mark of a non-canonical address would lie. */
static void put_set(struct build *b, struct emit *e)
{
	unsigned reg = b->shadow.reg;
	uint8_t *over = put_unless_line(e, reg);

	if (!b->once && !warming && !(lines.flags & EXACT_LINES_UNCHECKED))
		put_gs(e, 0xff, 0, T_FIRSTS + 8 * b->id); /* inc */
	if (lines_alone)
		put_plane(e, reg);
	put_touch(e, reg);
	for (unsigned level = 1; level <= 2; level++) {
		put_shift(e, reg, LEVEL_SHIFT);
		put_set_bit(e, reg, LEVEL_BIT);
		put_touch(e, reg);
	}
	*over = (uint8_t)(e->out - over - 1);
}

/* Puts the address of an access into the register. */
static void put_address(struct emit *e, unsigned reg, const struct shadow_access *a)
{
	unsigned base = a->base, index = a->index, scale = a->scale;
	int64_t disp = a->disp;
	bool started = false;

	if (a->bit != NO_REG) { /* reg = (bit / bits of the operand) * bytes of the operand */
		static const uint8_t log2[9] = { [2] = 1, [4] = 2, [8] = 3 };
		unsigned by = log2[a->bit_size] + 3;

		invariant(by > 3 && !a->al);		     /* an operand of 2, 4 or 8 bytes */
		put8(e, 0x48 | rex_of(reg, a->bit, NO_REG)); /* movsx, movsxd, mov */
		if (a->bit_size == 2)
			put8(e, 0x0f);
		put8(e, a->bit_size == 2 ? 0xbf : a->bit_size == 4 ? 0x63 : 0x8b);
		put8(e, 0xc0 | (reg & 7) << 3 | (a->bit & 7));
		put8(e, 0x48 | (reg >= 8)); /* sar */
		put8(e, 0xc1);
		put8(e, 0xf8 | (reg & 7));
		put8(e, by);
		put8(e, 0x48 | (reg >= 8)); /* shl */
		put8(e, 0xc1);
		put8(e, 0xe0 | (reg & 7));
		put8(e, by - 3);
		started = true;
	} else if (a->al) { /* movzx reg, al */
		put8(e, 0x48 | (reg >= 8 ? 4 : 0));
		put8(e, 0x0f);
		put8(e, 0xb6);
		put8(e, 0xc0 | (reg & 7) << 3);
		started = true;
	}
	if (base == NO_REG && index == NO_REG && !started && disp != (int32_t)disp) {
		put_imm64(e, reg, (uint64_t)disp);
		disp = 0;
		started = true;
	}
	if (!started) {
		put_lea(e, reg, base, index, scale, disp);
	} else {
		if (index != NO_REG) /* the sum so far is the base from here on */
			put_lea(e, reg, reg, index, scale, disp);
		if (base != NO_REG)
			put_lea(e, reg, base, reg, 1, index == NO_REG ? disp : 0);
		else if (index == NO_REG && disp)
			put_lea(e, reg, reg, NO_REG, 1, disp);
	}
	if (a->narrow) { /* mov reg, reg with 32 bits */
		if (reg >= 8)
			put8(e, 0x45);
		put8(e, 0x89);
		put8(e, 0xc0 | (reg & 7) << 3 | (reg & 7));
	}
}

/* Computes the address of an access, with the base of fs or gs added, in the register. `busy`: a
 * register that is spilled already. */
static void put_linear(struct emit *e, unsigned reg, unsigned busy, const struct shadow_access *a)
{
	bool plain = a->bit == NO_REG && !a->narrow && !a->al;
	static const uint8_t three[] = { RDI, RSI, RDX };
	unsigned other = 0;

	if (a->segment == SHADOW_FS && plain && (a->base == NO_REG || a->index == NO_REG)) {
		put_fs_base(e, reg);
		if (a->base != NO_REG)
			put_lea(e, reg, a->base, reg, 1, a->disp);
		else
			put_lea(e, reg, reg, a->index, a->scale, a->disp);
		return;
	}
	put_address(e, reg, a);
	if (a->segment == SHADOW_GS) {
		put_gs(e, 0x03, reg, T_GS_BASE); /* add */
	} else if (a->segment == SHADOW_FS) {
		while (three[other] == reg || three[other] == busy)
			other++;
		invariant(other < sizeof(three));
		put_spill(e, three[other]);
		put_fs_base(e, three[other]);
		put_lea(e, reg, reg, three[other], 1, 0);
		put_restore(e, three[other]);
	}
}

static struct emit beside(void)
{
	uint64_t at = publish_beside();

	return (struct emit){ (uint8_t *)at, at };
}

static void put_jump_if(struct build *b, unsigned condition, uint64_t to)
{
	invariant(condition < 16 && (b->dry || is_near(to, b->e.at + 6)));
	put8(&b->e, 0x0f);
	put8(&b->e, 0x80 | condition);
	put32(&b->e, b->dry ? 0 : to - (b->e.at + 4));
}

/* Emits code that sets the mark of the line that the register stands for. */
static void put_check(struct build *b)
{
	unsigned reg = b->shadow.reg;
	struct emit stub;

	if (b->once || lines.flags & EXACT_LINES_UNCHECKED) {
		put_set(b, &b->e);
		return;
	}
	put_mark_op(&b->e, 0x80, 7, reg, 0); /* cmp byte [reg], 0 */
	if (b->dry) {
		put_jump_if(b, 4, 0);
		return;
	}
	stub = beside();
	put_jump_if(b, 4, stub.at); /* je */
	put_set(b, &stub);
	put_jump(&stub, b->e.at);
	publish_beside_done(stub.at);
}

/* Likewise; the register holds an address. */
static void put_line(struct build *b)
{
	put_shift(&b->e, b->shadow.reg, lines.shift);
	put_mark(&b->e, b->shadow.reg);
	put_check(b);
}

/* Emits code beside the block; the register stands for a line's mark. */
static void put_check_beside(struct build *b, struct emit *stub)
{
	uint8_t *over;

	put_mark_op(stub, 0x80, 7, b->shadow.reg, 0);
	put8(stub, 0x75); /* jne */
	over = stub->out;
	put8(stub, 0);
	put_set(b, stub);
	*over = (uint8_t)(stub->out - over - 1);
}

/* Puts code that marks the line of the last byte of an access that is not aligned. */
static uint64_t put_last_byte(struct build *b, const struct shadow_access *a, uint64_t back)
{
	struct emit stub = beside();
	uint64_t at = stub.at;
	unsigned reg = b->shadow.reg;

	put_lea(&stub, reg, reg, NO_REG, 1, a->size - 1);
	put_shift(&stub, reg, lines.shift);
	put_mark(&stub, reg);
	put_check_beside(b, &stub);
	put_linear(&stub, reg, b->shadow.tmp, a);
	put_jump(&stub, back);
	publish_beside_done(stub.at);
	return at;
}

/* For accesses to the stack: the marks of the first byte's line and of the next one are tested
 * together, since most often both are set. If one is not, code beside the block finds out which. */
static void put_pair(struct build *b, const struct shadow_access *a)
{
	struct emit *e = &b->e, stub;
	unsigned reg = b->shadow.reg;
	uint64_t to = 0;

	invariant(a->size <= 1u << lines.shift && a->base == RSP); /* two lines at most */
	put_linear(e, reg, b->shadow.tmp, a);
	put_shift(e, reg, lines.shift);
	put_mark(e, reg);
	put8(e, 0x66); /* cmp word [reg], 0x0101 */
	put_mark_op(e, 0x81, 7, reg, 1);
	put8(e, 1);
	if (!b->dry) {
		stub = beside();
		to = stub.at;
		put_check_beside(b, &stub);
		put_lea(&stub, reg, a->base, NO_REG, 1, a->disp + a->size - 1);
		put_shift(&stub, reg, lines.shift);
		put_mark(&stub, reg);
		put_check_beside(b, &stub);
		put_jump(&stub, e->at + 6);
		publish_beside_done(stub.at);
	}
	put_jump_if(b, 5, to); /* jne */
}

/* For one access of a power of two of bytes: if it is aligned, it lies in one line. */
static void put_aligned(struct build *b, const struct shadow_access *a)
{
	struct emit *e = &b->e;
	unsigned reg = b->shadow.reg;

	invariant(a->size && !(a->size & (a->size - 1)));
	put_linear(e, reg, b->shadow.tmp, a);
	if (a->size > 1) {
		if (reg >= 4 || a->size > 128) /* test reg, size - 1 */
			put8(e, 0x40 | (reg >= 8));
		put8(e, a->size <= 128 ? 0xf6 : 0xf7);
		put8(e, 0xc0 | (reg & 7));
		if (a->size <= 128)
			put8(e, a->size - 1);
		else
			put32(e, a->size - 1);
		put_jump_if(b, 5, b->dry ? 0 : put_last_byte(b, a, e->at + 6)); /* jnz */
	}
	put_line(b);
}

static void put_group(struct build *b, const struct shadow_group *g)
{
	int64_t size = g->hi - g->lo, line = 1l << lines.shift;
	struct shadow_access a;

	shadow_express(&b->shadow, g, g->at, 0, &a);
	a.size = (uint32_t)size;
	if (a.base == NO_REG && a.index == NO_REG && !a.segment && !g->single) {
		uint64_t first = (uint64_t)a.disp >> lines.shift;
		uint64_t last = (uint64_t)(a.disp + size - 1) >> lines.shift;

		for (uint64_t i = first; i <= last && last < 1ull << (ADDRESS_BITS - lines.shift);
		     i++) {
			put_imm64(&b->e, b->shadow.reg, i);
			put_mark(&b->e, b->shadow.reg);
			put_check(b);
		}
		return;
	}
	if (size > 1 && size <= line && a.base == RSP && a.index == NO_REG && !a.segment &&
	    !g->single && !b->once && !(lines.flags & EXACT_LINES_UNCHECKED)) {
		put_pair(b, &a);
		return;
	}
	if (size == 1 || (g->alone && !(size & (size - 1)) && size <= line && !b->once)) {
		put_aligned(b, &a);
		return;
	}
	for (int64_t at = 0; at < size - 1; at += line) {
		shadow_express(&b->shadow, g, g->at, at, &a);
		put_linear(&b->e, b->shadow.reg, b->shadow.tmp, &a);
		put_line(b);
	}
	shadow_express(&b->shadow, g, g->at, size - 1, &a);
	put_linear(&b->e, b->shadow.reg, b->shadow.tmp, &a);
	put_line(b);
}

/* Move flags to rax, whose own value is spilled; and back. */
static void put_save_flags(struct emit *e)
{
	put_spill(e, RAX);
	put8(e, 0x9f); /* lahf */
	put8(e, 0x0f); /* seto al */
	put8(e, 0x90);
	put8(e, 0xc0);
}

static void put_load_flags(struct emit *e)
{
	put8(e, 0x04); /* add al, 0x7f */
	put8(e, 0x7f);
	put8(e, 0x9e); /* sahf */
	put_restore(e, RAX);
}

/* Subtracts the block's weight without changing flags, by way of a register. */
static void put_take_quietly(struct build *b)
{
	struct emit *e = &b->e;
	bool spill = b->shadow.first == NO_REG;
	unsigned reg = spill ? RAX : b->shadow.first;

	if (spill) {
		put_spill(e, RAX);
		b->in[0].spilled |= 1u << RAX;
	}
	left_put_quietly(b, reg);
	if (spill)
		put_restore(e, RAX);
}

/* Where flags are live, the next block checks what is left; but a loop may have no next block. */
void shadow_begin(struct build *b)
{
	struct emit *e = &b->e, stub;
	bool save = !b->shadow.dead[0];
	uint64_t to = 0;

	if (schedule_on) {
		if (!b->once)
			left_check(b, b->dead_at_start);
		if (b->reserved)
			put_spill(e, b->shadow.tmp);
		return;
	}
	if (b->weight && !b->once && save && !b->shadow.loop) {
		if (b->reserved)
			put_spill(e, b->shadow.tmp);
		if (!b->shadow.take)
			put_take_quietly(b);
		return;
	}
	if (b->weight && !b->once) {
		if (save) {
			put_save_flags(e);
			b->in[0].spilled |= 1u << RAX;
		}
		left_put_take(b);
		if (!b->dry) {
			stub = beside();
			to = stub.at;
			if (save)
				put_load_flags(&stub);
			publish_exit(&stub, EXIT_INTERVAL - (int32_t)b->number);
			publish_beside_done(stub.at);
		}
		put_jump_if(b, 8, to); /* js */
		if (save)
			put_load_flags(e);
	}
	if (b->reserved)
		put_spill(e, b->shadow.tmp);
}

void shadow_ran(struct build *b)
{
	struct emit *e = &b->e;

	put8(e, 0x65); /* mov byte gs:[ran], 1 */
	put8(e, 0xc6);
	put8(e, 0x05);
	put_context(e, T_RAN + (warming ? b->number : b->id), 1);
	put8(e, 1);
}

void shadow_marks(struct build *b, unsigned insn)
{
	const struct shadow_plan *s = &b->shadow;
	bool any = false, rax = false, save = !s->dead[insn];

	if (insn && insn == s->take && b->weight && !b->once && !schedule_on)
		left_put_take(b);
	for (unsigned i = 0; i < s->n; i++) {
		struct shadow_access a;

		if (s->group[i].at != insn)
			continue;
		any = true;
		shadow_express(s, &s->group[i], insn, 0, &a);
		rax |= a.base == RAX || a.index == RAX || a.bit == RAX || a.al;
	}
	if (!any)
		return;
	if (save) {
		put_save_flags(&b->e);
		b->in[insn].spilled |= 1u << RAX;
		if (rax) { /* rax is needed meanwhile */
			put_gs(&b->e, 0x89, RAX, T_FLAGS_SPILL);
			put_restore(&b->e, RAX);
		}
	}
	for (unsigned i = 0; i < s->n; i++)
		if (s->group[i].at == insn) {
			b->shadow.reg = s->group[i].reg;
			put_group(b, &s->group[i]);
		}
	if (save) {
		if (rax)
			put_gs(&b->e, 0x8b, RAX, T_FLAGS_SPILL);
		put_load_flags(&b->e);
	}
}

void shadow_end(struct build *b)
{
	if (b->reserved)
		put_restore(&b->e, b->shadow.tmp);
}

/* Memory that is marked after the instruction has been executed. */

static void put_later_slot(struct emit *e, unsigned reg, unsigned slot)
{
	put_gs(e, 0x89, reg, T_LATER + 8 * slot);
}

/* Saves vector and mask registers of a gather in T_LATER. */
static void put_vectors(struct emit *e, const struct shadow_insn *s)
{
	bool evex = !(s->later & LATER_VECTOR_MASK);

	for (unsigned i = 0; i < (evex ? 1u : 2u); i++) {
		unsigned r = i ? s->mask : s->vector;
		unsigned at = T_LATER + 8 * (i ? LATER_LANES : LATER_INDEX);

		put8(e, 0x65);
		if (evex) { /* vmovdqu64 gs:[at], vector */
			unsigned ll = s->width == 64 ? 2 : s->width == 32 ? 1 : 0;

			put8(e, 0x62);
			put8(e, 0x61 | (r & 8 ? 0 : 0x80) | (r & 16 ? 0 : 0x10));
			put8(e, 0xfe);
			put8(e, ll << 5 | 8);
			put8(e, 0x7f);
		} else { /* vmovdqu gs:[at], ymm */
			put8(e, 0xc5);
			put8(e, (r & 8 ? 0 : 0x80) | 0x7e);
			put8(e, 0x7f);
		}
		put8(e, (r & 7) << 3 | 5);
		put_context(e, at, 0);
	}
	if (evex) { /* kmovw gs:[at], k: at most 16 lanes */
		put8(e, 0x65);
		put8(e, 0xc5);
		put8(e, 0xf8);
		put8(e, 0x91);
		put8(e, s->mask << 3 | 5);
		put_context(e, T_LATER + 8 * LATER_MASK, 0);
	}
}

void shadow_later(struct build *b, unsigned insn, const uint8_t *p, uint64_t next)
{
	struct insn *in = &b->in[insn];
	struct emit *e = &b->e;
	const struct shadow_insn *s = &in->s;

	invariant(insn + 1 == b->n && in->kind == LATER && in->was <= MEMORY);
	if (s->later & LATER_GATHER) {
		unsigned reg = b->shadow.tmp == NO_REG ? RBX : b->shadow.tmp;
		bool save = s->a[0].segment != SHADOW_NO_SEGMENT;

		put_spill(e, reg);
		in->spilled |= 1u << reg;
		if (save) {
			put_save_flags(e);
			put_gs(e, 0x89, RAX, T_FLAGS_SPILL);
			put_restore(e, RAX);
			in->spilled |= 1u << RAX;
		}
		put_linear(e, reg, b->shadow.tmp, &s->a[0]);
		put_later_slot(e, reg, LATER_BASE);
		if (save) {
			put_gs(e, 0x8b, RAX, T_FLAGS_SPILL);
			put_load_flags(e);
		}
		put_restore(e, reg);
		put_vectors(e, s);
	} else {
		put_later_slot(e, RCX, LATER_COUNT);
		put_later_slot(e, RSI, LATER_FROM);
		put_later_slot(e, RDI, LATER_TO);
	}
	put8(e, 0x65); /* mov qword gs:[what], imm */
	put8(e, 0x48);
	put8(e, 0xc7);
	put8(e, 0x05);
	put_context(e, T_LATER, 4);
	put32(e, s->later);
	in->core = (uint16_t)(e->at - b->code);
	if (in->was == MEMORY)
		put_memory(b, in, p, next);
	else
		put_plain(b, in, p);
	put8(e, 0xe9);
	put_link(b, next, LINK_LATER);
}

uint64_t shadow_skip(uint64_t at, bool unaligned)
{
	const uint8_t *p = (const uint8_t *)at;
	unsigned modrm, wide = *p == 0x66;
	int32_t to;

	p += wide;
	if (*p == 0x65)
		p++;
	if (*p == 0x41)
		p++;
	if (*p != (wide ? 0x81 : 0x80) && *p != 0xc6)
		return 0;
	modrm = p[1];
	if (*p == 0xc6) /* mov byte [reg], 1 */
		return (uint64_t)p + 3 + ((modrm & 7) == 4) + (modrm >> 6 == 1);
	/* cmp byte [reg], 0 or cmp word [reg], 0x0101, and the branch behind it */
	p += 3 + wide + ((modrm & 7) == 4) + (modrm >> 6 == 1);
	if (unaligned) { /* continues as if one of the two marks was not set: jne */
		if (!wide || *p != 0x0f)
			return 0;
		memcpy(&to, p + 2, sizeof(to));
		return (uint64_t)p + 6 + (uint64_t)(int64_t)to;
	}
	return (uint64_t)p + (*p == 0x75 ? 2u + p[1] : 6u);
}
