/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <stdio.h>
#include <string.h>

static uint64_t width_mask(uint32_t bits)
{
	return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

/* The number of a general register of any width, -1 if it is none. AH … BH are those of AX … BX. */
static int gpr(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return -1;
	return ZydisRegisterGetId(whole);
}

static uint64_t segment_base(const struct trial *t, const ZydisDecodedOperand *op)
{
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		return t->fs;
	return op->mem.segment == ZYDIS_REGISTER_GS ? t->gs : 0;
}

static uint64_t index_value(const struct trial *t, const ZydisDecodedOperand *op)
{
	int index = gpr(op->mem.index);

	if (t->in.z.mnemonic == ZYDIS_MNEMONIC_XLAT)
		return t->regs.r[UR_RAX] & 0xff;
	return index >= 0 ? t->regs.r[index] * op->mem.scale : 0;
}

/* The address of a memory operand, without what the stack, a string or a bit offset adds. */
static uint64_t address(const struct trial *t, const ZydisDecodedOperand *op)
{
	uint64_t ea = (uint64_t)op->mem.disp.value;
	int base = gpr(op->mem.base);

	if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP)
		ea += t->in.addr + t->bias + t->in.len;
	else if (base >= 0)
		ea += t->regs.r[base];
	ea += index_value(t, op);
	if (t->in.z.address_width == 32)
		ea = (uint32_t)ea;
	return ea + segment_base(t, op);
}

/* The displacement of an operand without registers, or relative to rip. */
static bool patch_disp(struct trial *t, uint64_t off, bool rip)
{
	const ZydisDecodedInstruction *z = &t->in.z;
	uint32_t n = z->raw.disp.size / 8;
	struct insn in;

	if (rip)
		off -= t->in.addr + t->bias + t->in.len;
	if (n == 4 && (int64_t)off != (int32_t)off && (rip || z->address_width == 64))
		return false;
	if (n != 4 && n != 8)
		return false;
	memcpy(t->bytes + z->raw.disp.offset, &off, n);
	if (insn_decode(&in, t->bytes, t->len, t->in.addr) != t->len)
		return false;
	t->in = in;
	return true;
}

/* Sets registers, or the displacement, such that the operand's address is about `target`. */
static bool aim(struct trial *t, const ZydisDecodedOperand *op, struct rng *r, uint64_t target)
{
	int base = gpr(op->mem.base), index = gpr(op->mem.index);
	uint64_t off = target - segment_base(t, op), disp = (uint64_t)op->mem.disp.value;

	if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP)
		return patch_disp(t, off, true);
	if (base >= 0 && base == index) {
		t->regs.r[base] = (off - disp) / (op->mem.scale + 1u);
	} else if (base >= 0) {
		t->regs.r[base] = off - disp - index_value(t, op);
	} else if (index >= 0) {
		t->regs.r[index] = (off - disp) / op->mem.scale;
	} else {
		return patch_disp(t, off, false);
	}
	/* addresses of 32 bits do not look at the rest of a register */
	if (t->in.z.address_width == 32 && base >= 0 && base != index)
		t->regs.r[base] = (uint32_t)t->regs.r[base] | rng_u64(r) << 32;
	return true;
}

static bool inside(const struct trial *t, uint64_t ea, uint64_t size)
{
	uint64_t lo = (uintptr_t)t->place.data;

	/* up to the operand's size out at either end: into the guard pages */
	return size <= TRIAL_PAGE && ea + size >= lo && ea <= lo + TRIAL_DATA;
}

/* Where an operand is to be: mostly anywhere, often across the pages, rarely at the edges. */
static uint64_t choose_target(const struct trial *t, struct rng *r, uint64_t size, bool edge)
{
	uint64_t lo = (uintptr_t)t->place.data, at;

	if (edge)
		return rng_chance(r, 50) ? lo - rng_below(r, size + 1)
					 : lo + TRIAL_DATA - rng_below(r, size + 1);
	if (rng_chance(r, 15))
		return lo + TRIAL_PAGE - rng_below(r, size + 1);
	at = lo + 1024 + rng_below(r, TRIAL_DATA - 2048);
	if (rng_chance(r, t->in.vector || size > 8 ? 60 : 30))
		at &= ~(size >= 64 ? 63ull : size >= 32 ? 31ull : size >= 16 ? 15ull : 7ull);
	return at;
}

static bool is_string(const struct insn *in)
{
	return in->z.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

static bool is_bit_string(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		return in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return false;
	}
}

static bool is_stack(const struct insn *in, const ZydisDecodedOperand *op)
{
	switch (in->z.meta.category) {
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		/* pop [rsp + n] looks at rsp behind the pop */
		return op->mem.base == ZYDIS_REGISTER_RSP || op->mem.base == ZYDIS_REGISTER_ESP;
	default:
		return in->z.mnemonic == ZYDIS_MNEMONIC_ENTER ||
		       in->z.mnemonic == ZYDIS_MNEMONIC_LEAVE;
	}
}

static void set_memory(struct trial *t, uint64_t ea, const void *p, size_t n)
{
	uint64_t off = ea - (uintptr_t)t->place.data;

	if (off <= TRIAL_DATA - n)
		memcpy(t->place.data + off, p, n);
}

static uint64_t get_memory(const struct trial *t, uint64_t ea, size_t n)
{
	uint64_t off = ea - (uintptr_t)t->place.data, v = 0;

	if (n <= 8 && off <= TRIAL_DATA - n)
		memcpy(&v, t->place.data + off, n);
	return v;
}

/* Operands whose values decide whether the instruction gets anywhere. */

/* The divisor, extended as the division does. */
static uint64_t divisor(const struct trial *t, bool is_signed)
{
	const ZydisDecodedOperand *op = &t->in.op[0];
	uint32_t bits = op->size;
	bool high_byte = op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			 op->reg.value >= ZYDIS_REGISTER_AH && op->reg.value <= ZYDIS_REGISTER_BH;
	int reg = op->type == ZYDIS_OPERAND_TYPE_REGISTER ? gpr(op->reg.value) : -1;
	uint64_t d = reg >= 0 ? t->regs.r[reg] >> (high_byte ? 8 : 0)
			      : get_memory(t, address(t, op), bits / 8);

	d &= width_mask(bits);
	if (is_signed && d >> (bits - 1) & 1)
		d |= ~width_mask(bits);
	return d;
}

/* Quotient and remainder first, so that some divisions succeed; extreme quotients among them. */
static void prepare_division(struct trial *t, struct rng *r)
{
	bool is_signed = t->in.z.mnemonic == ZYDIS_MNEMONIC_IDIV;
	uint32_t bits = t->in.op[0].size;
	uint64_t m = width_mask(bits), d = divisor(t, is_signed), q = rng_value(r) & m, lo, hi;
	unsigned __int128 n;

	if (!d || rng_chance(r, 15))
		return;
	if (rng_chance(r, 20))
		q = rng_chance(r, 50) ? m ^ m >> 1 : is_signed ? m >> 1 : m;
	if (is_signed) {
		__int128 rem = (__int128)((rng_u64(r) >> 1) % (d >> 63 ? -d : d));
		__int128 sq = q >> (bits - 1) & 1 ? (__int128)q - ((__int128)1 << bits) : q;
		bool minus = (sq < 0) != ((int64_t)d < 0);

		n = (unsigned __int128)(sq * (int64_t)d + (minus ? -rem : rem));
	} else {
		n = (unsigned __int128)q * d + rng_u64(r) % d;
	}
	if (rng_chance(r, 5))
		n = n >> bits << bits;
	lo = (uint64_t)n & m;
	hi = (uint64_t)(n >> bits) & m;
	if (bits == 8) {
		t->regs.r[UR_RAX] = (t->regs.r[UR_RAX] & ~0xffffull) | hi << 8 | lo;
		return;
	}
	t->regs.r[UR_RAX] = (t->regs.r[UR_RAX] & ~m) | lo;
	t->regs.r[UR_RDX] = (t->regs.r[UR_RDX] & ~m) | hi;
}

static void prepare_string(struct trial *t, struct rng *r)
{
	uint64_t n = rng_below(r, 20), fill = (rng_u64(r) & 0xff) * 0x0101010101010101ull;
	uint64_t lo = (uintptr_t)t->place.data;

	t->regs.r[UR_RCX] = n;
	if (t->in.z.address_width == 32)
		t->regs.r[UR_RCX] |= rng_u64(r) << 32;
	/* comparing goes on for as long as what is compared is alike */
	if (rng_chance(r, 60)) {
		memset(t->place.data, (int)(fill & 0xff), TRIAL_DATA);
		t->regs.r[UR_RAX] = fill;
		t->place.data[(t->regs.r[UR_RDI] + rng_below(r, 64) - lo) % TRIAL_DATA] ^= 1;
	}
	if (rng_chance(r, 20)) /* overlapping */
		t->regs.r[UR_RDI] = t->regs.r[UR_RSI] + rng_below(r, 16) - 8;
}

/* Indirect branches and returns go to a way out. */
static void prepare_branch(struct trial *t, struct rng *r)
{
	const ZydisDecodedOperand *op = &t->in.op[0];
	uint64_t to =
		(uintptr_t)t->place.code + (rng_chance(r, 50) ? NATIVE_AFTER_AT : NATIVE_BEFORE_AT);
	int reg;

	if (t->in.z.meta.category == ZYDIS_CATEGORY_RET) {
		set_memory(t, t->regs.r[UR_RSP], &to, 8);
	} else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		set_memory(t, address(t, op), &to, 8);
	} else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		reg = gpr(op->reg.value);
		if (reg >= 0)
			t->regs.r[reg] = to;
	}
}

static void prepare_popf(struct trial *t, struct rng *r)
{
	/* without TF, IOPL, NT, AC: those are no business of a program's */
	uint64_t fl = get_memory(t, t->regs.r[UR_RSP], 8) & 0xcd5;

	if (rng_chance(r, 70))
		fl &= ~0x400ull;
	set_memory(t, t->regs.r[UR_RSP], &fl, 8);
}

/* A comparison that succeeds, now and then. */
static void prepare_cmpxchg(struct trial *t, struct rng *r)
{
	uint64_t ea = address(t, &t->in.op[0]);
	uint32_t half = t->in.op[0].size / 16;

	if (rng_chance(r, 50))
		return;
	if (t->in.z.mnemonic == ZYDIS_MNEMONIC_CMPXCHG) {
		if (t->in.op[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
			t->regs.r[UR_RAX] = get_memory(t, ea, t->in.op[0].size / 8);
		else if (gpr(t->in.op[0].reg.value) >= 0)
			t->regs.r[UR_RAX] = t->regs.r[gpr(t->in.op[0].reg.value)];
		return;
	}
	t->regs.r[UR_RAX] = get_memory(t, ea, half);
	t->regs.r[UR_RDX] = get_memory(t, ea + half, half);
}

static void prepare(struct trial *t, struct rng *r)
{
	int reg;

	if (is_string(&t->in))
		prepare_string(t, r);
	if (is_bit_string(&t->in) && t->in.op[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
		reg = gpr(t->in.op[1].reg.value);
		/* the bit offset is signed and reaches beyond the operand */
		if (reg >= 0)
			t->regs.r[reg] =
				(t->regs.r[reg] & ~width_mask(t->in.op[1].size)) |
				((rng_below(r, 16384) - 8192) & width_mask(t->in.op[1].size));
	}
	switch (t->in.z.mnemonic) {
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		prepare_division(t, r);
		break;
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_CMPXCHG8B:
	case ZYDIS_MNEMONIC_CMPXCHG16B:
		prepare_cmpxchg(t, r);
		break;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		prepare_popf(t, r);
		break;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
		if (rng_chance(r, 60))
			t->regs.r[UR_RCX] = rng_below(r, 3) | (rng_chance(r, 50) ? 0 : 1ull << 32);
		break;
	default:
		break;
	}
	if (t->in.z.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
		prepare_branch(t, r);
}

/* Direct branches are aimed at a way out. */
static bool patch_branch(struct trial *t, struct rng *r)
{
	const ZydisDecodedInstruction *z = &t->in.z;
	int64_t rel;

	if (!z->raw.imm[0].is_relative)
		return true;
	rel = (rng_chance(r, 50) ? NATIVE_AFTER_AT : NATIVE_BEFORE_AT) - NATIVE_INSN_AT - t->len;
	memcpy(t->bytes + z->raw.imm[0].offset, &rel, z->raw.imm[0].size / 8);
	return insn_decode(&t->in, t->bytes, t->len, t->in.addr) == t->len;
}

/* Notes the memory operands. False if one is out of reach. */
static bool note_memory(struct trial *t)
{
	const struct insn *in = &t->in;

	t->nmem = 0;
	for (int i = 0; i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];
		struct trial_mem m = { .size = op->size / 8u };

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		m.ea = address(t, op);
		m.read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		m.write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		m.exact = !is_stack(in, op) && !is_string(in) && !is_bit_string(in) &&
			  op->mem.type == ZYDIS_MEMOP_TYPE_MEM;
		if (!inside(t, m.ea, m.size))
			return false;
		if (t->nmem < 4)
			t->mem[t->nmem++] = m;
	}
	return true;
}

static bool choose_registers(struct trial *t, struct rng *r)
{
	uint64_t lo = (uintptr_t)t->place.data;
	bool edge = rng_chance(r, 2);

	for (int i = 0; i < 16; i++)
		t->regs.r[i] = rng_value(r);
	t->regs.flags = rng_u64(r) & FL_STATUS;
	t->gs = rng_value(r) & 0x3fffffffffffull;
	t->regs.r[UR_RSP] = lo + 2048 + rng_below(r, 4096);
	if (rng_chance(r, 85))
		t->regs.r[UR_RSP] &= ~7ull;
	if (t->in.z.mnemonic == ZYDIS_MNEMONIC_LEAVE || t->in.z.mnemonic == ZYDIS_MNEMONIC_ENTER)
		t->regs.r[UR_RBP] = lo + 2048 + rng_below(r, 4096);
	for (int i = 0; i < t->in.z.operand_count; i++) {
		const ZydisDecodedOperand *op = &t->in.op[i];

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && is_stack(&t->in, op)))
			continue;
		if (!aim(t, op, r, choose_target(t, r, op->size / 8u, edge)))
			return false;
	}
	return true;
}

static void choose_memory(struct trial *t, struct rng *r)
{
	uint64_t *p = (uint64_t *)t->place.data, x = rng_u64(r);

	for (size_t i = 0; i < TRIAL_DATA / 8; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = x;
	}
	for (uint32_t i = 0; i < t->nmem; i++) {
		uint64_t v = rng_value(r);

		if (rng_chance(r, 70))
			set_memory(t, t->mem[i].ea, &v, 8);
	}
}

/* Stores that come before, at and about what the instruction reads and writes. */
static void choose_preludes(struct trial *t, struct rng *r)
{
	uint64_t lo = (uintptr_t)t->place.data;

	t->nprelude = 0;
	if (!t->nmem || rng_chance(r, 50))
		return;
	for (uint64_t n = 1 + rng_below(r, TRIAL_PRELUDES); n--;) {
		struct prelude *p = &t->prelude[t->nprelude];
		uint64_t about = t->mem[rng_below(r, t->nmem)].ea;

		if (t->in.z.meta.category == ZYDIS_CATEGORY_POP)
			about = t->regs.r[UR_RSP];
		p->addr = about + rng_below(r, 24 + (t->in.vector ? t->mem[0].size : 0)) - 12;
		p->w = (uint8_t)rng_below(r, 4);
		/* where a branch goes stays: elsewhere there is nothing to come back from */
		p->value = t->in.cls >= INSN_BRANCH ? get_memory(t, p->addr, 8) : rng_value(r);
		p->unknown = rng_chance(r, 25);
		if (p->addr >= lo && p->addr + 8 <= lo + TRIAL_DATA)
			t->nprelude++;
	}
}

/* A word of a vector: bytes at which comparisons change their ways, or numbers, small ones among them. */
static uint64_t vector_word(struct rng *r, uint32_t kind)
{
	static const uint8_t byte[8] = { 0, 0, 1, 0x7f, 0x80, 0xff, 'a', 'b' };
	double d;
	float f[2];
	uint64_t v = 0;

	switch (kind) {
	case 0:
		for (int i = 0; i < 8; i++)
			v = v << 8 | byte[rng_below(r, 8)];
		return v;
	case 1:
		d = (double)(int64_t)rng_value(r) / (rng_chance(r, 50) ? 1 : 2);
		memcpy(&v, &d, sizeof(v));
		return v;
	case 2:
		for (int i = 0; i < 2; i++)
			f[i] = (float)(int32_t)rng_value(r) / (rng_chance(r, 50) ? 1 : 2);
		memcpy(&v, f, sizeof(v));
		return v;
	case 3: /* not numbers, infinities, denormals */
		v = rng_u64(r) & 0x800fffff807fffffull;
		if (rng_chance(r, 30))
			v &= 0x8000000080000000ull;
		return rng_chance(r, 50) ? v | 0x7ff000007f800000ull : v;
	default:
		return rng_value(r);
	}
}

static bool has_many_addresses(const struct insn *in)
{
	for (int i = 0; i < in->z.operand_count; i++)
		if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    in->op[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			return true;
	return false;
}

/* Where a vector or mask register is in t->vec, and how many words it has there; -1 if it is none. */
static int vector_at(ZydisRegister reg, uint32_t *words)
{
	int n = ZydisRegisterGetId(reg);

	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		*words = 8;
		return n * 8;
	case ZYDIS_REGCLASS_MASK:
		*words = 1;
		return 32 * 8 + n;
	default:
		return -1;
	}
}

/* Like what is in memory, or in another register, but for a byte. */
static void make_alike(struct trial *t, struct rng *r, int at, int other)
{
	for (int i = 0; i < 8; i++) {
		if (other >= 0)
			t->vec[at + i] = t->vec[other + i];
		else if (t->nmem)
			t->vec[at + i] = get_memory(t, t->mem[0].ea + 8 * (uint64_t)i, 8);
	}
	if (rng_chance(r, 60))
		t->vec[at + (int)rng_below(r, 8)] ^= 1ull << rng_below(r, 64);
}

/* The values of vector registers; and which words of those that are named are known. */
static void choose_vectors(struct trial *t, struct rng *r)
{
	uint32_t words, kind;
	int at, last = -1;

	for (uint32_t i = 0; i < 32 * 8; i++)
		t->vec[i] = i * 0x25 & 0x7f;
	for (uint32_t i = 0; i < 8; i++)
		t->vec[32 * 8 + i] = rng_chance(r, 20) ? ~0ull : rng_value(r);
	t->nvec = 0;
	for (int i = 0; i < t->in.z.operand_count; i++) {
		const ZydisDecodedOperand *op = &t->in.op[i];

		if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		at = vector_at(op->reg.value, &words);
		if (at < 0 || t->nvec + words > TRIAL_VECTORS)
			continue;
		kind = (uint32_t)rng_below(r, 5);
		for (uint32_t k = 0; k < words && words > 1 && !has_many_addresses(&t->in); k++)
			t->vec[(uint32_t)at + k] = vector_word(r, kind);
		if (words > 1 && rng_chance(r, 40) && !has_many_addresses(&t->in))
			make_alike(t, r, at, last);
		last = words > 1 ? at : last;
		kind = (uint32_t)rng_below(r, 4); /* a quarter in part */
		for (uint32_t k = 0; k < words; k++)
			if (kind || rng_chance(r, 50))
				t->vec_known[t->nvec++] = (uint16_t)((uint32_t)at + k);
			else
				t->whole = false;
	}
}

static void choose_unknowns(struct trial *t, struct rng *r)
{
	static const uint32_t status[] = { FL_CF, FL_PF, FL_AF, FL_ZF, FL_SF, FL_OF };

	t->known = (1u << UR_BIAS) - 1;
	t->fl_unk = 0;
	t->fl_live = FL_STATUS;
	t->whole = true;
	if (rng_chance(r, 25)) { /* one, several, most */
		uint32_t hide = (uint32_t)rng_u64(r) & (uint32_t)rng_u64(r);

		if (rng_chance(r, 50))
			hide &= (uint32_t)rng_u64(r);
		t->known &= ~(hide & ((1u << UR_BIAS) - 1));
	}
	for (int i = 0; i < 6 && (t->number & 3) == 1; i++)
		if (rng_chance(r, 40))
			t->fl_unk |= status[i];
	if (rng_chance(r, 20))
		t->fl_live = (uint16_t)(rng_u64(r) & FL_STATUS);
	if (t->fl_unk || t->fl_live != FL_STATUS || t->known != (1u << UR_BIAS) - 1)
		t->whole = false;
	for (uint32_t i = 0; i < t->nprelude; i++)
		if (t->prelude[i].unknown)
			t->whole = false;
}

/* One attempt, of t->form if it has one; false if the instruction cannot be placed. */
static bool make(struct trial *t, struct rng *r)
{
	uint64_t at = (uintptr_t)t->place.code + NATIVE_INSN_AT;
	int len;

	t->bias = (rng_u64(r) & 0x3ffffff) << 12;
	if (t->bias > at)
		t->bias = 0x1000;
	if (t->form)
		len = form_encode(t->form, r, at - t->bias, t->bytes, &t->in);
	else
		len = form_random(r, at - t->bias, t->bytes, &t->in);
	t->len = (uint8_t)len;
	if (!len || !patch_branch(t, r) || !choose_registers(t, r))
		return false;
	if (!note_memory(t))
		return false;
	choose_memory(t, r);
	prepare(t, r);
	return note_memory(t);
}

static void finish(struct trial *t, struct rng *r)
{
	choose_preludes(t, r);
	choose_unknowns(t, r);
	choose_vectors(t, r);
	memcpy(t->initial, t->place.data, TRIAL_DATA);
	native_layout(t->place.code, t->bytes, t->len);
}

void trial_make(struct trial *t, struct forms *f, uint64_t seed, uint64_t number,
		unsigned vector_percent)
{
	struct rng r = { seed * 0xd1342543de82ef95ull + number };

	r.s ^= rng_u64(&r);
	t->number = number;
	t->fs = native_fs_base();
	do
		t->form = rng_chance(&r, 10) ? NULL
					     : forms_pick(f, &r, rng_chance(&r, vector_percent));
	while (!make(t, &r));
	finish(t, &r);
}

bool trial_make_form(struct trial *t, struct form *form, uint64_t number)
{
	struct rng r = { number };

	t->number = number;
	t->fs = native_fs_base();
	t->form = form;
	for (int tries = 0; tries < 20; tries++)
		if (make(t, &r)) {
			finish(t, &r);
			return true;
		}
	return false;
}

void trial_apply_preludes(struct trial *t)
{
	for (uint32_t i = 0; i < t->nprelude; i++) {
		uint64_t v = t->prelude[i].value;

		set_memory(t, t->prelude[i].addr, &v, 1u << t->prelude[i].w);
	}
	memcpy(t->before, t->place.data, TRIAL_DATA);
}

void trial_print(const struct trial *t)
{
	char text[128];

	insn_format(&t->in, text, sizeof(text));
	printf("# trial %llu: %s  (", (unsigned long long)t->number, text);
	for (int i = 0; i < t->len; i++)
		printf("%s%02x", i ? " " : "", t->bytes[i]);
	printf(")\n#  bias %#llx fs %#llx gs %#llx flags %#llx known %#x fl_unk %#x fl_live %#x\n",
	       (unsigned long long)t->bias, (unsigned long long)t->fs, (unsigned long long)t->gs,
	       (unsigned long long)t->regs.flags, t->known, t->fl_unk, t->fl_live);
	for (int i = 0; i < 16; i++)
		printf("%s%s %#llx%s", i % 4 ? " " : "#  ", insn_gpr_name[i],
		       (unsigned long long)t->regs.r[i], i % 4 == 3 ? "\n" : "");
	for (uint32_t i = 0; i < t->nmem; i++)
		printf("#  memory %#llx size %u %s%s was %#llx\n", (unsigned long long)t->mem[i].ea,
		       t->mem[i].size, t->mem[i].read ? "r" : "", t->mem[i].write ? "w" : "",
		       (unsigned long long)get_memory(&(struct trial){ .place = t->place },
						      t->mem[i].ea, 8));
	for (uint32_t i = 0; i < t->nprelude; i++)
		printf("#  before: %d bytes at %#llx = %#llx%s\n", 1 << t->prelude[i].w,
		       (unsigned long long)t->prelude[i].addr,
		       (unsigned long long)t->prelude[i].value,
		       t->prelude[i].unknown ? " unknown" : "");
}
