/* SPDX-License-Identifier: MIT */
/* Memory operands that have to be rewritten, because they are relative to rip, or use gs. */
#include "engine/core/layout.h"
#include "engine/core/registers.h"
#include "engine/os/util.h"
#include "engine/translate/block.h"
#include "engine/translate/build.h"

/* Finds one of the first eight registers, neither rsp nor rbp, that is not in `used`. */
static unsigned pick(uint32_t used)
{
	static const uint8_t order[] = { RAX, RCX, RDX, RBX, RSI, RDI };

	for (unsigned i = 0; i < sizeof(order); i++)
		if (!(used & 1u << order[i]))
			return order[i];
	die("no register is free");
}

static uint64_t rip_target(const struct insn *in, const uint8_t *p, uint64_t next)
{
	int32_t disp;
	uint64_t target;

	__builtin_memcpy(&disp, p + in->disp, sizeof(disp));
	target = next + (uint64_t)(int64_t)disp;
	return in->narrow ? (uint32_t)target : target;
}

/* Rewrites the operand to use a register that holds [gs base + effective address], or an address
 * out of rip's reach. */
static void put_by_register(struct build *b, struct insn *in, const uint8_t *p, uint64_t next)
{
	struct emit *e = &b->e;
	uint32_t used = registers_used(p) | b->reserved;
	unsigned r = pick(used), skip = 0, prefixes = 0, s = NO_REG;
	unsigned modrm = p[in->modrm], tail = in->modrm + 1;

	invariant(in->modrm && in->modrm < in->len && (in->rip || in->gs));
	in->spilled |= 1u << r;
	put_spill(e, r);
	if (in->rip) {
		put_imm64(e, r, rip_target(in, p, next));
		tail += 4;
	} else { /* lea r, [operand] */
		unsigned rex = in->rex ? p[in->rex - 1] & 3 : 0, has_sib = (modrm & 7) == 4;
		unsigned mod = modrm >> 6;
		unsigned disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;

		if (mod == 0 && has_sib && (p[tail] & 7) == 5)
			disp = 4;
		put8(e, 0x48 | rex);
		put8(e, 0x8d);
		put8(e, (modrm & 0xc7) | r << 3);
		put_bytes(e, p + tail, has_sib + disp);
		tail += has_sib + disp;
	}
	if (in->gs) {
		s = pick(used | 1u << r);
		in->spilled |= 1u << s;
		put_spill(e, s);
		put_gs(e, 0x8b, s, T_GS_BASE);
		put8(e, 0x48); /* lea r, [r + s] */
		put8(e, 0x8d);
		put8(e, r << 3 | 4);
		put8(e, s << 3 | r);
	}
	rseq_put_begin(b);
	in->core = (uint16_t)(e->at - b->code);
	/* Puts the instruction with [r] as its operand; a gs prefix is left out. */
	for (unsigned i = 0; i < in->modrm; i++) {
		unsigned byte = p[i];

		if (!skip && byte == 0x65 && in->gs) {
			skip = 1;
			continue;
		}
		if (in->rex && i + 1 == in->rex)
			/* neither B nor X is set: r is one of the first eight registers */
			byte &= ~3u;
		put8(e, byte);
		prefixes++;
	}
	if (!in->rex && prefixes >= 3) { /* VEX and EVEX store B and X inverted */
		uint8_t *op = e->out - prefixes;

		while (*op == 0x66 || *op == 0x67 || *op == 0x64 || *op == 0x65 || *op == 0x2e ||
		       *op == 0x3e || *op == 0x26 || *op == 0x36 || *op == 0xf2 || *op == 0xf3)
			op++;
		if (*op == 0xc4 || *op == 0x62)
			op[1] |= 0x60;
	}
	put8(e, (modrm & 0x38) | r);
	put_bytes(e, p + tail, in->len - tail);
	in->end = (uint16_t)(e->at - b->code);
	rseq_put_end(b);
	put_restore(e, r);
	if (s != NO_REG)
		put_restore(e, s);
}

void put_memory(struct build *b, struct insn *in, const uint8_t *p, uint64_t next)
{
	struct emit *e = &b->e;
	uint64_t target, there;
	bool near;

	if (in->gs || !in->rip) {
		put_by_register(b, in, p, next);
		return;
	}
	invariant(in->disp == in->modrm + 1 && in->disp + 4 <= in->len); /* no SIB byte */
	target = rip_target(in, p, next);
	there = target - (e->at + (b->guard == BLOCK_GUARDED ? GUARD_SIZE : 0) + in->len);
	near = there == (uint64_t)(int64_t)(int32_t)there && !in->narrow;
	if (!near && target >= 0x80000000) {
		put_by_register(b, in, p, next);
		return;
	}
	rseq_put_begin(b);
	in->core = (uint16_t)(e->at - b->code);
	if (near) {
		put_bytes(e, p, in->disp);
		put32(e, there);
	} else { /* [disp32] without a base */
		put_bytes(e, p, in->modrm);
		put8(e, (p[in->modrm] & 0x38) | 4);
		put8(e, 0x25);
		put32(e, target);
	}
	put_bytes(e, p + in->disp + 4, in->len - in->disp - 4u);
	in->end = (uint16_t)(e->at - b->code);
	rseq_put_end(b);
}

void put_target(struct build *b, struct insn *in, const uint8_t *p, uint64_t next)
{
	struct emit *e = &b->e;
	unsigned modrm = p[in->modrm], rex = in->rex ? p[in->rex - 1] & 3 : 0, n = 0;
	unsigned start = (unsigned)(e->at - b->code);
	uint8_t mov[24] = { 0 };
	struct insn m = *in;

	if (modrm >> 6 == 3) {
		put8(e, 0x48 | (rex & 1));
		put8(e, 0x8b);
		put8(e, 0xc8 | (modrm & 7));
		return;
	}
	for (unsigned i = 0; i + 1 < in->modrm; i++)
		if (p[i] == 0x64 || p[i] == 0x65 || p[i] == 0x67)
			mov[n++] = p[i];
	m.rex = (uint8_t)(n + 1);
	mov[n++] = (uint8_t)(0x48 | rex);
	mov[n++] = 0x8b;
	m.modrm = (uint8_t)n;
	mov[n++] = (uint8_t)((modrm & 0xc7) | RCX << 3);
	m.disp = (uint8_t)(in->disp ? in->disp + (m.modrm - in->modrm) : 0);
	for (unsigned i = in->modrm + 1u; i < in->len; i++)
		mov[n++] = p[i];
	invariant(n <= sizeof(mov));
	m.len = (uint8_t)n;
	m.spilled = 0;
	if (in->rip || in->gs)
		put_memory(b, &m, mov, next);
	else
		put_bytes(e, mov, n);
	in->spilled |= m.spilled;
	in->core = m.core > start ? m.core : in->core;
}
