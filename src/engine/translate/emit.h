/* SPDX-License-Identifier: MIT */
/* Writes machine code into memory at `out`, to run at the address `at`. */
#ifndef ASSAY_ENGINE_TRANSLATE_EMIT_H
#define ASSAY_ENGINE_TRANSLATE_EMIT_H

#include "engine/core/layout.h"
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/translate/block.h"

struct emit {
	uint8_t *out;
	uint64_t at;
};

static inline void put8(struct emit *e, unsigned v)
{
	*e->out++ = (uint8_t)v;
	e->at++;
}

static inline void put32(struct emit *e, uint64_t v)
{
	*(uint32_t *)e->out = (uint32_t)v;
	e->out += 4;
	e->at += 4;
}

static inline void put16(struct emit *e, unsigned v)
{
	*(uint16_t *)e->out = (uint16_t)v;
	e->out += 2;
	e->at += 2;
}

static inline void put64(struct emit *e, uint64_t v)
{
	*(uint64_t *)e->out = v;
	e->out += 8;
	e->at += 8;
}

static inline void put_bytes(struct emit *e, const uint8_t *p, unsigned n)
{
	uint8_t *out = e->out;

	/* as long as most instructions: two copies, of both ends, which may overlap */
	if (n >= 4 && n <= 16) {
		unsigned half = n >= 8 ? 8 : 4;

		__builtin_memcpy(out, p, half == 8 ? 8 : 4);
		__builtin_memcpy(out + n - half, p + n - half, half == 8 ? 8 : 4);
	} else {
		for (unsigned i = 0; i < n; i++)
			out[i] = p[i];
	}
	e->out = out + n;
	e->at += n;
}

static inline void put_run(struct emit *e, const uint8_t *p, unsigned n)
{
	for (; n > 16; n -= 16, p += 16)
		put_bytes(e, p, 16);
	put_bytes(e, p, n);
}

/* Whether 32 bits hold the displacement from one address to another. */
static inline bool is_near(uint64_t to, uint64_t from)
{
	return (int64_t)(to - from) == (int32_t)(to - from);
}

/* Puts the displacement of the thread's context relative to rip; `behind` bytes of the instruction
 * follow it. */
static inline void put_context(struct emit *e, uint32_t offset, unsigned behind)
{
	invariant(is_near(CONTEXT + offset, e->at + 4 + behind));
	put32(e, CONTEXT + offset - (e->at + 4 + behind));
}

/* Puts op reg, gs:[offset] with 64-bit operands. */
static inline void put_gs(struct emit *e, unsigned op, unsigned reg, uint32_t offset)
{
	invariant(reg < 16);
	put32(e, 0x65 | (0x48 | (reg >= 8 ? 4u : 0)) << 8 | op << 16 | ((reg & 7) << 3 | 5) << 24);
	put_context(e, offset, 0);
}

static inline void put_spill(struct emit *e, unsigned reg) /* mov gs:spill, reg */
{
	put_gs(e, 0x89, reg, T_SPILL + 8 * reg);
}

/* Puts the base of the program's fs into the register. */
static inline void put_fs_base(struct emit *e, unsigned reg)
{
	invariant(reg < 16);
	if (!has_fsgsbase) {
		put_gs(e, 0x8b, reg, T_FS_BASE);
		return;
	}
	put8(e, 0xf3); /* rdfsbase */
	put8(e, 0x48 | (reg >= 8));
	put8(e, 0x0f);
	put8(e, 0xae);
	put8(e, 0xc0 | (reg & 7));
}

#define RESTORE_SIZE 8
static inline void put_restore(struct emit *e, unsigned reg)
{
	put_gs(e, 0x8b, reg, T_SPILL + 8 * reg);
}

/* Puts op reg, [base + disp] with 64-bit operands. */
static inline void put_based(struct emit *e, unsigned op, unsigned reg, unsigned base,
			     uint32_t disp)
{
	unsigned small = disp < 128;

	invariant(reg < 16 && base < 16 && disp <= INT32_MAX);
	put16(e, 0x48 | (reg >= 8 ? 4u : 0) | (base >= 8) | op << 8);
	put8(e, (small ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7));
	if ((base & 7) == 4)
		put8(e, 0x24);
	if (small)
		put8(e, disp);
	else
		put32(e, disp);
}

/* Puts ModRM, SIB and displacement of reg, [base + index * scale + disp], in the shortest form;
 * NO_REG for none. The REX prefix comes before the opcode: rex_of() returns its bits R, X and B. */
static inline unsigned rex_of(unsigned reg, unsigned base, unsigned index)
{
	return (reg >= 8 ? 4u : 0) | (index != NO_REG && index >= 8 ? 2u : 0) |
	       (base != NO_REG && base >= 8);
}

static inline void put_operand(struct emit *e, unsigned reg, unsigned base, unsigned index,
			       unsigned scale, int64_t disp)
{
	unsigned log2 = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2;
	unsigned mod = base == NO_REG		     ? 0
		       : !disp && (base & 7) != 5    ? 0
		       : disp >= -128 && disp <= 127 ? 1
						     : 2;
	bool sib = index != NO_REG || base == NO_REG || (base & 7) == 4;

	invariant(index != RSP && disp == (int32_t)disp);
	invariant(index == NO_REG || scale == 1 || scale == 2 || scale == 4 || scale == 8);
	put8(e, mod << 6 | (reg & 7) << 3 | (sib ? 4 : base & 7));
	if (sib)
		put8(e, log2 << 6 | (index != NO_REG ? index & 7 : 4) << 3 |
				(base != NO_REG ? base & 7 : 5));
	if (mod == 1)
		put8(e, (unsigned)disp & 0xff);
	else if (mod == 2 || base == NO_REG)
		put32(e, (uint64_t)disp);
}

/* Puts lea reg, [base + index * scale + disp]; or mov, which takes no time, if the address is a
 * register's value. */
static inline void put_lea(struct emit *e, unsigned reg, unsigned base, unsigned index,
			   unsigned scale, int64_t disp)
{
	if (base != NO_REG && index == NO_REG && !disp) {
		put8(e, 0x48 | rex_of(base, reg, NO_REG));
		put8(e, 0x89);
		put8(e, 0xc0 | (base & 7) << 3 | (reg & 7));
		return;
	}
	put8(e, 0x48 | rex_of(reg, base, index));
	put8(e, 0x8d);
	put_operand(e, reg, base, index, scale, disp);
}

static inline void put_imm64(struct emit *e, unsigned reg, uint64_t v) /* mov reg, imm */
{
	invariant(reg < 16);
	put16(e, 0x48 | (reg >= 8) | (0xb8 | (reg & 7)) << 8);
	put64(e, v);
}

static inline void put_rel32(struct emit *e, uint64_t to)
{
	invariant(is_near(to, e->at + 4));
	put32(e, to - (e->at + 4));
}

#define JUMP_SIZE 5
static inline void put_jump(struct emit *e, uint64_t to)
{
	put8(e, 0xe9);
	put_rel32(e, to);
}

/* Advances a counter. If flags are live, rax is spilled and used. */
static inline void put_count(struct emit *e, uint32_t id, bool flags_dead)
{
	uint32_t at = T_COUNTERS + 8 * id;

	if (flags_dead) {
		put_gs(e, 0xff, 0, at); /* inc qword gs:[at] */
		return;
	}
	put_spill(e, RAX);
	put_gs(e, 0x8b, RAX, at);
	put_lea(e, RAX, RAX, NO_REG, 1, 1);
	put_gs(e, 0x89, RAX, at);
	put_restore(e, RAX);
}

static inline void put_nops(struct emit *e, unsigned n)
{
	static const uint8_t nop[9][9] = {
		{ 0x90 },
		{ 0x66, 0x90 },
		{ 0x0f, 0x1f, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0x00 },
		{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
	};

	for (; n > 9; n -= 9)
		put_bytes(e, nop[8], 9);
	if (n)
		put_bytes(e, nop[n - 1], n);
}

/* A 32-bit field that begins `before` bytes from here must not lie across two cache lines: it is patched
 * while other threads run it. */
static inline void put_align(struct emit *e, unsigned before)
{
	unsigned in = (unsigned)(e->at + before) & 63;

	if (in > 60)
		put_nops(e, 64 - in);
}

#endif
