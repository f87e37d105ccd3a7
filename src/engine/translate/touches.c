/* SPDX-License-Identifier: MIT */
/* Finds the memory that a block's instructions touch, and plans which accesses are marked together,
 * where, and by which register. */
#include "engine/core/flush.h"
#include "engine/core/registers.h"
#include "engine/os/util.h"
#include "engine/record/marks.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/shared.h"
#include "engine/translate/build.h"

/* Accesses of an instruction. */

static bool tests_bits(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *op)
{
	return (d->mnemonic == ZYDIS_MNEMONIC_BT || d->mnemonic == ZYDIS_MNEMONIC_BTS ||
		d->mnemonic == ZYDIS_MNEMONIC_BTR || d->mnemonic == ZYDIS_MNEMONIC_BTC) &&
	       op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool repeats(const ZydisDecodedInstruction *d)
{
	return d->attributes &
	       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static void add_access(struct shadow_insn *s, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op, const ZydisDecodedOperand *o, uint64_t next)
{
	const ZydisDecodedOperandMem *m = &o->mem;
	struct shadow_access *a = &s->a[s->n];
	bool hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;

	*a = (struct shadow_access){ .base = (uint8_t)general_register(m->base),
				     .index = (uint8_t)general_register(m->index),
				     .scale = m->scale ? m->scale : 1,
				     .disp = m->disp.has_displacement ? m->disp.value : 0,
				     .size = o->size >= 8 ? o->size / 8 : 1,
				     .bit = NO_REG,
				     .narrow = d->address_width == 32 && !hidden,
				     .al = d->mnemonic == ZYDIS_MNEMONIC_XLAT };
	if (m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_EIP)
		a->disp += (int64_t)next;
	if (m->segment == ZYDIS_REGISTER_FS)
		a->segment = SHADOW_FS;
	else if (m->segment == ZYDIS_REGISTER_GS)
		a->segment = SHADOW_GS;
	if (hidden && m->base == ZYDIS_REGISTER_RSP && o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		a->disp -= a->size;
	if (!hidden && d->mnemonic == ZYDIS_MNEMONIC_POP && m->base == ZYDIS_REGISTER_RSP)
		a->disp += d->operand_width / 8; /* the address uses rsp's value after the step */
	if (tests_bits(d, op)) {
		a->bit = (uint8_t)general_register(op[1].reg.value);
		a->bit_size = (uint8_t)a->size;
	}
	s->n++;
}

static void add_gather(struct shadow_insn *s, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op, const ZydisDecodedOperand *o)
{
	const ZydisDecodedOperandMem *m = &o->mem;
	unsigned count = o->element_count, size = o->element_size / 8, index;
	bool wide, evex = d->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_VPGATHERQD:
	case ZYDIS_MNEMONIC_VPGATHERQQ:
	case ZYDIS_MNEMONIC_VGATHERQPS:
	case ZYDIS_MNEMONIC_VGATHERQPD:
	case ZYDIS_MNEMONIC_VPSCATTERQD:
	case ZYDIS_MNEMONIC_VPSCATTERQQ:
	case ZYDIS_MNEMONIC_VSCATTERQPS:
	case ZYDIS_MNEMONIC_VSCATTERQPD:
		wide = true;
		break;
	default:
		wide = false;
		break;
	}
	if (m->index >= ZYDIS_REGISTER_ZMM0 && m->index <= ZYDIS_REGISTER_ZMM31) {
		index = m->index - ZYDIS_REGISTER_ZMM0;
		s->width = 64;
	} else if (m->index >= ZYDIS_REGISTER_YMM0 && m->index <= ZYDIS_REGISTER_YMM31) {
		index = m->index - ZYDIS_REGISTER_YMM0;
		s->width = 32;
	} else {
		index = m->index - ZYDIS_REGISTER_XMM0;
		s->width = 16;
	}
	/* As many lanes are transferred as both vectors have. */
	for (unsigned i = 0; i < d->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && op[i].element_size >= 32 &&
		    (!size || op[i].element_size / 8 == size)) {
			size = op[i].element_size / 8;
			count = op[i].element_count;
			break;
		}
	if (count > s->width / (wide ? 8u : 4u))
		count = s->width / (wide ? 8u : 4u);
	s->vector = (uint8_t)index;
	s->mask = 0xff;
	s->later = LATER_GATHER | (wide ? LATER_INDEX_64 : 0) | size << 8 |
		   (m->scale ? m->scale : 1u) << 16 | count << 20;
	if (evex) {
		s->mask = (uint8_t)(d->avx.mask.reg - ZYDIS_REGISTER_K0);
	} else {
		const ZydisRegister r = op[2].reg.value;

		s->mask = (uint8_t)(r >= ZYDIS_REGISTER_YMM0 && r <= ZYDIS_REGISTER_YMM15
					    ? r - ZYDIS_REGISTER_YMM0
					    : r - ZYDIS_REGISTER_XMM0);
		s->later |= LATER_VECTOR_MASK | (size == 8 ? LATER_MASK_64 : 0);
	}
	add_access(s, d, op, o, 0);
	s->a[s->n - 1].index = NO_REG;
}

void shadow_operands(struct shadow_insn *s, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *op, uint64_t next)
{
	*s = (struct shadow_insn){ 0 };
	if (only_names(d) || d->meta.category == ZYDIS_CATEGORY_PREFETCH)
		return;
	for (unsigned i = 0; i < d->operand_count && s->n < 3; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    !(o->actions &
		      (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE)))
			continue;
		if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
			add_gather(s, d, op, o);
		} else if (o->mem.type == ZYDIS_MEMOP_TYPE_MEM) {
			if (repeats(d))
				s->later |= LATER_STRING | (unsigned)(o->size / 8) << 8 |
					    (general_register(o->mem.base) == RSI ? LATER_READS
										  : LATER_WRITES);
			else
				add_access(s, d, op, o, next);
		} else {
			continue;
		}
		s->accesses++;
	}
	if (s->later & LATER_STRING) { /* both operands have one size */
		unsigned size = d->operand_count ? LATER_SIZE(s->later) : 0;

		s->later = (s->later & 0xff) | size << 8;
	}
}

/* The plan. */

static void plan_flags(struct build *b)
{
	uint32_t live = b->exits_dead ? 0 : FLAGS_ALL;

	b->shadow.dead[b->n] = !live;
	for (unsigned i = b->n; i-- > 0;) {
		live = (live & ~b->in[i].writes) | flags_read(&b->in[i]);
		b->shadow.dead[i] = !live;
	}
}

/* Computes the values of registers before each instruction. */
static void plan_values(struct build *b)
{
	struct shadow_plan *s = &b->shadow;
	uint16_t root = 1;

	invariant(b->n && b->n <= SHADOW_INSNS);
	for (unsigned r = 0; r < 16; r++)
		s->value[0][r] = (struct shadow_value){ root++, 0 };
	for (unsigned i = 0; i < b->n; i++) {
		const struct stream_fields *f = &b->in[i].f;
		const struct shadow_value *v = s->value[i];
		struct shadow_value *to = s->value[i + 1];

		for (unsigned r = 0; r < 16; r++)
			to[r] = f->written & 1u << r ? (struct shadow_value){ root++, 0 } : v[r];
		if (f->dest != NO_REG && f->makes == MAKES_SUM && f->bits == 64 &&
		    f->src_bits == 64 && f->src_base != NO_REG && f->src_index == NO_REG)
			to[f->dest] = (struct shadow_value){ v[f->src_base].root,
							     v[f->src_base].add + f->imm };
		to[RSP].add += f->stack;
	}
}

static unsigned holds(const struct shadow_plan *s, unsigned insn, unsigned root)
{
	invariant(root && insn < SHADOW_INSNS); /* 0 stands for no root */
	for (unsigned r = 0; r < 16; r++)
		if (s->value[insn][r].root == root)
			return r;
	return NO_REG;
}

bool shadow_express(const struct shadow_plan *s, const struct shadow_group *g, unsigned insn,
		    int64_t offset, struct shadow_access *a)
{
	*a = g->a;
	a->disp = g->lo + offset;
	if (g->single) {
		a->disp = g->a.disp + offset;
		return insn == g->first;
	}
	if (g->base) {
		a->base = (uint8_t)holds(s, insn, g->base);
		if (a->base == NO_REG)
			return false;
		a->disp -= s->value[insn][a->base].add;
	}
	if (g->index) {
		a->index = (uint8_t)holds(s, insn, g->index);
		if (a->index == NO_REG || a->index == RSP)
			return false;
		a->disp -= s->value[insn][a->index].add * g->scale;
	}
	return (!g->base && !g->index) || a->disp == (int32_t)a->disp;
}

static struct shadow_group group_of(const struct shadow_plan *s, const struct shadow_access *a,
				    unsigned insn)
{
	struct shadow_group g = { .scale = a->index == NO_REG ? 0 : a->scale,
				  .segment = a->segment,
				  .first = (uint8_t)insn,
				  .alone = true,
				  .a = *a,
				  .lo = a->disp };

	g.single = a->bit != NO_REG || a->narrow || a->al;
	if (a->base != NO_REG) {
		g.base = s->value[insn][a->base].root;
		g.lo += s->value[insn][a->base].add;
	}
	if (a->index != NO_REG) {
		g.index = s->value[insn][a->index].root;
		g.lo += s->value[insn][a->index].add * a->scale;
	}
	g.hi = g.lo + a->size;
	return g;
}

static bool join(const struct shadow_plan *s, struct shadow_group *g, const struct shadow_group *n)
{
	int64_t lo = n->lo < g->lo ? n->lo : g->lo, hi = n->hi > g->hi ? n->hi : g->hi;
	struct shadow_group both = *g;
	struct shadow_access a;

	invariant(g->first <= n->first && g->lo < g->hi && n->lo < n->hi);
	if (g->single || n->single || g->base != n->base || g->index != n->index ||
	    g->scale != n->scale || g->segment != n->segment)
		return false;
	if (n->lo >= g->lo && n->hi <= g->hi && g->hi - g->lo <= 1l << lines.shift)
		return true;
	if (hi - lo > 1l << lines.shift)
		return false;
	both.lo = lo;
	both.hi = hi;
	both.alone = n->lo <= g->lo && n->hi >= g->hi && n->alone;
	if (!shadow_express(s, &both, g->first, 0, &a) ||
	    !shadow_express(s, &both, g->first, hi - lo - 1, &a))
		return false;
	*g = both;
	return true;
}

/* Marks a group as late as possible where no flag is live: most accesses that can join it have
 * joined it by then. */
static void place(const struct build *b, struct shadow_group *g)
{
	struct shadow_access a;

	g->at = g->first;
	for (unsigned i = g->first + 1u; i-- > 0;) {
		if (!shadow_express(&b->shadow, g, i, 0, &a) ||
		    !shadow_express(&b->shadow, g, i, g->hi - g->lo - 1, &a))
			return;
		if (b->shadow.dead[i]) {
			g->at = (uint8_t)i;
			return;
		}
	}
}

/* Collects the registers that marks are computed from, by the instruction that they stand before. */
static void plan_registers(struct shadow_plan *s, unsigned insns)
{
	memset(s->marks_use, 0, insns * sizeof(s->marks_use[0]));
	for (unsigned i = 0; i < s->n; i++) {
		struct shadow_access a;

		invariant(s->group[i].at <= s->group[i].first && s->group[i].first < insns);
		shadow_express(s, &s->group[i], s->group[i].at, 0, &a);
		s->marks_use[s->group[i].at] |=
			(uint16_t)((a.base == NO_REG ? 0 : 1u << a.base) |
				   (a.index == NO_REG ? 0 : 1u << a.index) |
				   (a.bit == NO_REG ? 0 : 1u << a.bit) | (a.al ? 1u << RAX : 0));
	}
}

/* Finds a register that is overwritten, from the instruction on, before its value is needed; or
 * NO_REG. */
static unsigned overwritten(const struct build *b, unsigned insn)
{
	const struct shadow_plan *s = &b->shadow;
	uint32_t used = 1u << RSP | (s->dead[insn] ? 0 : 1u << RAX); /* rax keeps flags */

	if (faults_keep_state || b->once || b->changes)
		return NO_REG;
	for (unsigned i = insn; i < b->n && !ends_block(b->in[i].kind); i++) {
		const struct stream_fields *f = &b->in[i].f;

		used |= s->marks_use[i];
		if (f->dest != NO_REG && !(used & 1u << f->dest) &&
		    (f->makes == MAKES_CONSTANT || !(f->read & 1u << f->dest)))
			return f->dest;
		used |= f->used;
	}
	return NO_REG;
}

/* Chooses the registers that marks are set by. */
static void choose_registers(struct build *b)
{
	struct shadow_plan *s = &b->shadow;

	plan_registers(s, b->n);
	s->first = (uint8_t)(s->dead[0] ? NO_REG : overwritten(b, 0));
	for (unsigned i = 0; i < s->n; i++) {
		unsigned reg = overwritten(b, s->group[i].at);

		if (reg == NO_REG) {
			reg = s->tmp;
			b->reserved = 1u << reg;
		}
		invariant(reg < 16 && reg != RSP);
		s->group[i].reg = (uint8_t)reg;
	}
	if (b->reserved)
		s->first = s->tmp;
}

static bool is_loop(const struct build *b)
{
	const struct insn *last = &b->in[b->n - 1];

	return (last->kind == BRANCH || last->kind == JUMP || last->kind == LOOP) &&
	       last->target == b->pc;
}

/* The test of what is left stands at the beginning if the block has to test there; else where no
 * flag is live, if there is such a place. */
static void place_take(struct build *b)
{
	struct shadow_plan *s = &b->shadow;

	s->take = 0;
	for (unsigned i = 1; i < b->n && !s->dead[0] && !s->loop && !s->take; i++)
		if (s->dead[i])
			s->take = (uint8_t)i;
}

void shadow_plan(struct build *b)
{
	struct shadow_plan *s = &b->shadow;
	bool singly = lines.flags & EXACT_LINES_SINGLY;

	s->n = 0;
	s->first = NO_REG;
	s->loop = is_loop(b);
	b->weight = 0;
	for (unsigned i = 0; i < b->n; i++)
		b->weight += lines.unit == EXACT_ACCESSES ? b->in[i].s.accesses : 1u;
	plan_flags(b);
	place_take(b);
	if (!lines_on())
		s->tmp = NO_REG;
	if (s->tmp == NO_REG)
		return;
	plan_values(b);
	for (unsigned i = 0; i < b->n; i++) {
		if (b->in[i].s.later)
			continue;
		for (unsigned k = 0; k < b->in[i].s.n; k++) {
			struct shadow_group n = group_of(s, &b->in[i].s.a[k], i);
			unsigned j = s->n;

			while (!singly && j-- > 0)
				if (join(s, &s->group[j], &n))
					break;
			if (singly || j == ~0u)
				s->group[s->n++] = n;
		}
	}
	for (unsigned i = 0; i < s->n; i++)
		place(b, &s->group[i]);
	choose_registers(b);
}
