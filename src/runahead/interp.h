/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The run-ahead interpreter: executes micro-ops on a private copy of a thread's state.
 *
 * One source, compiled for the kernel (sampler/bpf/) and for user space (runahead/user.c). The including file defines
 * first:
 *
 *   const struct uop *ra_uop_at(uint32_t index)             NULL if out of range
 *   int ra_read_user(uint64_t addr, uint32_t bytes, uint64_t *val)   0; non-zero if not readable
 *   int ra_read_line(uint64_t addr, uint64_t data[8])       reads an aligned line of 64 bytes, likewise
 *   const struct code_line *ra_line_at(uint32_t index)      a record of the table of lifted code
 *   uint32_t ra_line_bits(void)                             log2 of how many that has
 *   void ra_link(uint32_t from, uint32_t to)                makes the branch at micro-op `from` lead to `to`
 *   void ra_mark(uint32_t at, uint32_t flags)               sets flags of the micro-op
 *   int ra_map(struct ra_state *s, uint64_t addr)           sets image, start, end, bias; 0 if known,
 *                                                           else an enum ra_stop
 *
 * The interpreter never guesses: a value that cannot be known stays unknown.
 */
#ifndef ASSAY_RUNAHEAD_INTERP_H
#define ASSAY_RUNAHEAD_INTERP_H

#include "base/invariant.h"
#include "runahead/arith.h"
#include "runahead/check.h"
#include "runahead/flags.h"
#include "runahead/memory.h"
#include "runahead/strings.h"
#include "runahead/vector_ops.h"

RA_INLINE int ra_stop(struct ra_state *s, uint32_t why)
{
	invariant(why < RA_STOP_N && s->stop == RA_STOP_RUNNING);
	s->stop = why;
	return 1;
}

/* Control flow. */

#define RA_OTHER_LINE ~0u

/* Looks addr up in record `at`. Returns its slot, 0 if addr is not in the table, RA_OTHER_LINE
 * if the next record must be searched. */
RA_HELPER uint32_t ra_line_slot(uint32_t at, uint64_t key, uint64_t addr)
{
	const struct code_line *l = ra_line_at(at);
	uint32_t place = code_place(addr), slot;

	if (!l || !l->key)
		return 0;
	if (l->key != key)
		return RA_OTHER_LINE;
	invariant(place + CODE_SLOTS <= CODE_LINE_SLOTS);
	for (uint32_t i = 0; i < CODE_SLOTS; i++) {
		slot = l->slot[place + i];
		if (!slot || !((slot ^ (uint32_t)addr) & 63))
			return slot;
	}
	return RA_OTHER_LINE;
}

/* Returns the first micro-op of the instruction at addr (ELF virtual address), or 0. */
RA_HELPER uint32_t ra_entry(uint32_t image, uint64_t addr)
{
	uint64_t key = CODE_KEY(image, addr);
	uint32_t bits = ra_line_bits(), slot;

	for (uint32_t i = 0; i < CODE_PROBES; i++) {
		slot = ra_line_slot(code_record(key, bits, i) & ((1u << bits) - 1), key, addr);
		if (slot != RA_OTHER_LINE)
			return slot >> 6;
	}
	return 0;
}

/* Forgets the cached mappings. */
RA_INLINE void ra_new_mappings(struct ra_state *s)
{
	s->start = s->end = s->bias = 0;
	s->image = 0;
	for (uint32_t i = 0; i < RA_RANGES; i++)
		s->range[i].end = 0;
}

/* Finds the mapping of a run-time address. Returns 0, or an enum ra_stop. */
RA_HELPER int ra_find_mapping(struct ra_state *s, uint64_t va)
{
	struct ra_range *g;
	int why;

	RA_NULL(s);
	if (va >= s->start && va < s->end)
		return 0;
	for (uint32_t i = 0; i < RA_RANGES; i++) {
		g = &s->range[i];
		if (va >= g->start && va < g->end) {
			s->start = g->start;
			s->end = g->end;
			s->bias = g->bias;
			s->image = (uint32_t)g->image;
			return 0;
		}
	}
	why = ra_map(s, va);
	if (why)
		return why;
	invariant(va >= s->start && va < s->end);
	g = &s->range[s->next_range++ & (RA_RANGES - 1)];
	g->start = s->start;
	g->end = s->end;
	g->bias = s->bias;
	g->image = s->image;
	return 0;
}

/* Moves control to a run-time address: sets pc, or stops. */
RA_HELPER int ra_goto(struct ra_state *s, uint64_t va)
{
	uint32_t pc;
	int why;

	RA_NULL(s);
	s->target = va;
	why = ra_find_mapping(s, va);
	if (why)
		return ra_stop(s, (uint32_t)why);
	s->r[UR_BIAS] = s->bias;
	pc = ra_entry(s->image, va - s->bias);
	if (!pc)
		return ra_stop(s, RA_STOP_MISS);
	invariant(pc < CODE_UOPS_MAX);
	s->pc = pc;
	return 0;
}

RA_INLINE void ra_call(struct ra_state *s, uint64_t back, uint32_t pc)
{
	uint32_t i = s->calls & (RA_CALLS - 1);

	s->ret[i].va = back;
	s->ret[i].pc = pc;
	s->calls++;
}

/* Moves control to a run-time address that is most likely the return address of the last call. */
RA_HELPER int ra_return(struct ra_state *s, uint64_t va)
{
	uint32_t i;
	int why;

	RA_NULL(s);
	i = (s->calls - 1) & (RA_CALLS - 1);
	if (!s->calls || s->ret[i].va != va)
		return ra_goto(s, va);
	s->calls--;
	s->target = va;
	why = ra_find_mapping(s, va);
	if (why)
		return ra_stop(s, (uint32_t)why);
	s->r[UR_BIAS] = s->bias;
	s->pc = (uint32_t)s->ret[i].pc;
	return 0;
}

/* Follows the branch at micro-op `from`, whose imm is CODE_UNLINKED(). */
RA_HELPER int ra_follow(struct ra_state *s, uint32_t from, uint64_t imm)
{
	uint32_t image;

	RA_NULL(s);
	invariant(imm >> 63);
	image = s->image;
	if (ra_goto(s, (imm & ~(1ull << 63)) + s->bias))
		return 1;
	if (s->image == image)
		ra_link(from, s->pc);
	return 0;
}

/* Recording of instructions. */

/* Retires an instruction that records nothing. */
RA_INLINE int ra_retire_bare(struct ra_state *s, uint32_t pc, uint32_t taken)
{
	if (s->out_n > RA_OUT_WORDS - 2 * RA_ENTRY_WORDS)
		return ra_stop(s, RA_STOP_SPACE);
	s->out[s->out_n++ & (RA_OUT_WORDS - 1)] = pc | (uint64_t)taken << (RA_HAS_SHIFT + 3);
	s->n++;
	if (s->n >= s->burst)
		return ra_stop(s, RA_STOP_FULL);
	return 0;
}

/* Retires an instruction, without branches: every word is written, and counts only if it is
 * wanted and known. */
RA_INLINE int ra_retire(struct ra_state *s, uint32_t pc, uint32_t rec, uint32_t taken)
{
	uint32_t at = s->out_n, i = at + 1, a = rec & 31, b = rec >> 7 & 31, known = s->known;
	uint32_t has_ea = (uint32_t)(rec / UREC_EA) & known >> UR_EA & 1;
	uint32_t has_a = (rec >> 5 | rec >> 6) & known >> a & 1;
	uint32_t has_b = (rec >> 12 | rec >> 13) & known >> b & 1;

	if (!rec)
		return ra_retire_bare(s, pc, taken);
	if (at > RA_OUT_WORDS - 2 * RA_ENTRY_WORDS)
		return ra_stop(s, RA_STOP_SPACE);
	s->out[i & (RA_OUT_WORDS - 1)] = s->r[UR_EA];
	i += has_ea;
	s->out[i & (RA_OUT_WORDS - 1)] = s->r[a];
	i += has_a;
	s->out[i & (RA_OUT_WORDS - 1)] = s->r[b];
	i += has_b;
	s->out[at & (RA_OUT_WORDS - 1)] =
		pc | (uint64_t)(has_ea | has_a << 1 | has_b << 2 | taken << 3) << RA_HAS_SHIFT;
	invariant(i - at <= RA_ENTRY_WORDS);
	s->out_n = i;
	s->n++;
	if (s->n >= s->burst)
		return ra_stop(s, RA_STOP_FULL);
	return 0;
}

RA_INLINE void ra_put(struct ra_state *s, uint64_t word)
{
	s->out[s->out_n & (RA_OUT_WORDS - 1)] = word;
	s->out_n++;
}

RA_INLINE void ra_args(struct ra_state *s, uint32_t pc)
{
	const uint32_t regs[6] = { UR_RDI, UR_RSI, UR_RDX, UR_RCX, UR_R8, UR_R9 };
	uint32_t head_at = s->out_n & (RA_OUT_WORDS - 1);
	uint64_t head = pc | RA_ARGS;

	s->out_n++;
	RA_UNROLL
	for (uint32_t i = 0; i < 6; i++)
		if (s->known >> regs[i] & 1) {
			head |= 1ull << (RA_ARGS_SHIFT + i);
			ra_put(s, s->r[regs[i]]);
		}
	s->out[head_at] = head;
}

/* Notes that the branch at micro-op pc goes a way that no window saw, so the window continues for a
 * while. */
RA_HELPER int ra_first_time(struct ra_state *s, uint32_t pc, uint32_t way)
{
	uint32_t burst;

	RA_NULL(s);
	invariant(way == UF_FELL || way == UF_WENT);
	ra_mark(pc, way);
	burst = s->n + s->more;
	if (burst > RA_LONG_MAX)
		burst = RA_LONG_MAX;
	if (burst > s->burst)
		s->burst = burst;
	return 0;
}

/* The operands of a micro-op. */
struct ra_operands {
	uint64_t a, b, m; /* m: mask of the width */
	uint32_t op, flags, w, dst, c, imm;
	uint32_t ka, kb; /* 1 if a, or b, is known */
};

RA_INLINE void ra_take(const struct ra_state *s, const struct uop *u, struct ra_operands *o)
{
	uint32_t known = s->known;

	o->op = u->op;
	o->flags = u->flags;
	o->w = o->flags & UF_WIDTH;
	o->m = ra_mask(o->w);
	o->dst = u->dst & (UR_N - 1);
	o->c = u->c;
	o->imm = o->flags / UF_IMM & 1;
	o->a = s->r[u->a & (UR_N - 1)];
	o->ka = known >> (u->a & (UR_N - 1)) & 1;
	o->b = s->r[u->b & (UR_N - 1)];
	o->b ^= (o->b ^ (uint64_t)u->imm) & -(uint64_t)o->imm;
	o->kb = (known >> (u->b & (UR_N - 1)) & 1) | o->imm;
}

RA_INLINE void ra_write(struct ra_state *s, uint32_t dst, uint64_t val, uint32_t known)
{
	invariant(dst < UR_N && dst != UR_ZERO && dst != UR_BIAS && known <= 1);
	s->r[dst] = val;
	s->known = (s->known & ~(1u << dst)) | known << dst;
}

RA_INLINE int ra_complete(struct ra_state *s, const struct uop *u, uint32_t pc)
{
	return u->flags & UF_RETIRE ? ra_retire(s, pc, u->rec, 0) : 0;
}

/* Executes a vector micro-op. */
RA_HELPER int ra_step_vector(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	int v;

	RA_NULL(s);
	if (!u)
		return ra_stop(s, RA_STOP_UNSUPPORTED);
	if (u->op == UOP_VLD) {
		v = ra_v_load(s, pc);
		if (v)
			return ra_stop(s, v == RA_FAULTS ? RA_STOP_FAULT : RA_STOP_PAGE);
	} else if (u->op == UOP_VST) {
		if (!(s->known >> UR_EA & 1))
			return ra_stop(s, RA_STOP_ADDRESS);
		v = ra_v_store(s, pc);
		if (v)
			return ra_stop(s, v == RA_FAULTS ? RA_STOP_FAULT : RA_STOP_STORES);
	} else {
		ra_vector(s, u, pc);
	}
	return ra_complete(s, u, pc);
}

/* Executes a micro-op that is not among the most frequent. */
RA_HELPER int ra_step_other(struct ra_state *s, uint32_t pc)
{
	uint32_t op, flags, w, dst, c, how, ka, kb, known;
	uint64_t a, b, m, r = 0, ea;
	const struct uop *u = ra_uop_at(pc);
	struct ra_operands o;
	int v;

	RA_NULL(s);
	if (!u)
		return ra_stop(s, RA_STOP_UNSUPPORTED);
	ra_take(s, u, &o);
	op = o.op;
	flags = o.flags;
	w = o.w;
	m = o.m;
	dst = o.dst;
	c = o.c;
	a = o.a;
	b = o.b;
	ka = o.ka;
	kb = o.kb;
	known = ka & kb;
	how = w | (flags & UF_FLAGS) | op << 8;
	switch (op) {
	case UOP_STOP:
		return ra_stop(s, (uint32_t)u->imm);
	case UOP_NOP:
		return ra_complete(s, u, pc);
	case UOP_SX:
		r = ra_sign_extend(b, w);
		known = kb;
		m = ra_mask(c & 3);
		break;
	case UOP_INS:
		r = s->r[dst];
		known = kb && (s->known >> dst & 1);
		r = (r & ~(m << (c & 63))) | (b & m) << (c & 63);
		m = ~0ull;
		break;
	case UOP_EXT:
		r = b >> (c & 63);
		known = kb;
		break;
	case UOP_CMOV:
		v = ra_cond(s, c);
		r = v > 0 ? b : a;
		known = v < 0 ? 0 : v ? kb : ka;
		break;
	case UOP_SETCC:
		v = ra_cond(s, c);
		r = v > 0;
		known = v >= 0;
		break;

	case UOP_ANDN:
		r = ~a & b;
		ra_flags_lazy(s, RA_LAZY_LOGIC, w, a, b, r, known, flags & UF_FLAGS);
		if (flags & UF_FLAGS)
			ra_flags_set(s, FL_PF, 0, FL_PF);
		break;
	case UOP_ADDK:
	case UOP_SUBK:
	case UOP_ADC:
	case UOP_SBB:
	case UOP_ADCX:
	case UOP_ADOX:
		v = ra_carry(s, a, b, how | (known ? 0 : 0x10000));
		r = s->aux;
		known = v == 0;
		break;
	case UOP_SHL:
	case UOP_SHR:
	case UOP_SAR:
	case UOP_ROL:
	case UOP_ROR:
	case UOP_RCL:
	case UOP_RCR:
	case UOP_SHLD:
	case UOP_SHRD: {
		bool shift_fill = op == UOP_SHLD || op == UOP_SHRD;
		uint32_t cr = c & (UR_N - 1);

		if (shift_fill && !(s->known >> cr & 1))
			known = false;
		if (!known) {
			/* a count that is known to be 0 leaves the flags unchanged */
			if ((flags & UF_FLAGS) && !(kb && !(b & (w == 3 ? 63 : 31)))) {
				uint32_t which = FL_STATUS;

				if (op >= UOP_ROL && op <= UOP_RCR)
					which = FL_CF | FL_OF;
				ra_flags_set(s, which, 0, which);
			}
			break;
		}
		v = ra_shift(s, a, b, s->r[cr], how);
		r = s->aux;
		known = v == 0;
		break;
	}
	case UOP_MUL:
		r = a * b;
		break;
	case UOP_MULHU:
	case UOP_MULHS:
		r = ra_mulh(a & m, b & m, w, op == UOP_MULHS);
		break;
	case UOP_MULF:
		if (!known) {
			ra_flags_set(s, FL_STATUS, 0, FL_STATUS);
			return ra_complete(s, u, pc);
		}
		r = ra_mulh(a & m, b & m, w, c != 0);
		ea = c ? (uint64_t)((int64_t)ra_sign_extend(a * b, w) >> 63) & m : 0;
		ra_flags_set(s, FL_STATUS, r != ea ? FL_CF | FL_OF : 0,
			     FL_SF | FL_ZF | FL_AF | FL_PF);
		return ra_complete(s, u, pc);
	case UOP_DIVU:
	case UOP_DIVS: {
		uint32_t hi = (uint32_t)u->imm & (UR_N - 1), rem = c & (UR_N - 1);

		b = s->r[u->b & (UR_N - 1)];
		s->aux = s->r[hi];
		if (!(s->known >> hi & 1) || !known) {
			known = false;
			s->known &= ~(1u << rem);
			ra_flags_forget(s);
			break;
		}
		ra_flags_forget(s);
		if (ra_div(s, a, b, w | (op == UOP_DIVS ? 4 : 0)))
			return ra_stop(s, RA_STOP_FAULT);
		r = s->aux;
		s->r[rem] = s->aux2;
		s->known |= 1u << rem;
		break;
	}
	case UOP_BSF:
	case UOP_BSR:
	case UOP_TZCNT:
	case UOP_LZCNT:
	case UOP_POPCNT:
	case UOP_BLSI:
	case UOP_BLSMSK:
	case UOP_BLSR:
		known = kb;
		/* fall through */
	case UOP_BT:
	case UOP_BTS:
	case UOP_BTR:
	case UOP_BTC:
	case UOP_BEXTR:
	case UOP_BZHI:
		if (!known) {
			if (flags & UF_FLAGS)
				ra_flags_set(s, FL_STATUS, 0, FL_STATUS);
		} else {
			v = ra_bits(s, a, b, how);
			r = s->aux;
			known = v == 0;
		}
		if (op == UOP_BT)
			return ra_complete(s, u, pc);
		break;
	case UOP_BSWAP:
		r = ra_bswap(b, w);
		known = kb;
		break;
	case UOP_PDEP:
	case UOP_PEXT:
		r = ra_pext_pdep(a & m, b & m, op == UOP_PDEP);
		break;
	case UOP_CRC32:
		r = ra_crc32(a, b, w);
		m = ra_mask(2);
		break;

	case UOP_GETFL:
		ra_flags(s);
		r = s->fl & (uint64_t)u->imm;
		known = !(s->fl_unk & (uint32_t)u->imm);
		m = ~0ull;
		break;
	case UOP_SETFL:
		b = s->r[u->b & (UR_N - 1)];
		kb = s->known >> (u->b & (UR_N - 1)) & 1;
		ra_flags_set(s, (uint32_t)u->imm, (uint32_t)b, kb ? 0 : FL_STATUS);
		return ra_complete(s, u, pc);
	case UOP_UNKFL:
		ra_flags_set(s, (uint32_t)u->imm, 0, FL_STATUS);
		return ra_complete(s, u, pc);
	case UOP_UNK:
		s->known &= ~((uint32_t)u->imm & ~(1u << UR_ZERO | 1u << UR_BIAS));
		return ra_complete(s, u, pc);

	case UOP_BRCC:
		v = ra_cond(s, c);
		if (v < 0)
			return ra_stop(s, RA_STOP_BRANCH);
		if (v)
			s->pc = pc + (uint32_t)u->imm;
		return 0;
	case UOP_BRZ:
	case UOP_BRNZ:
		/* imm is the distance, so b is the register */
		b = s->r[u->b & (UR_N - 1)];
		kb = s->known >> (u->b & (UR_N - 1)) & 1;
		if (!kb)
			return ra_stop(s, RA_STOP_BRANCH);
		if (!(b & m) == (op == UOP_BRZ))
			s->pc = pc + (uint32_t)u->imm;
		return 0;
	case UOP_BR:
		s->pc = pc + (uint32_t)u->imm;
		return 0;
	case UOP_REP:
		if (ra_rep(s, flags, c) > 0)
			s->pc = pc;
		return 0;

	case UOP_ARGS:
		if (s->out_n > RA_OUT_WORDS - 2 * RA_ENTRY_WORDS)
			return ra_stop(s, RA_STOP_SPACE);
		ra_args(s, pc);
		return 0;
	default:
		return ra_stop(s, RA_STOP_UNSUPPORTED);
	}
	ra_write(s, dst, r & m, known);
	return ra_complete(s, u, pc);
}

/*
 * Executes one micro-op. Returns 0 to go on; otherwise the window has ended, and s->stop says why.
 * Its paths join again where they can, because the verifier's work is the number of paths.
 */
RA_INLINE int ra_step(struct ra_state *s)
{
	uint64_t neg, sum, logic, r = 0, left;
	uint32_t pc = s->pc, op, known, taken = 0;
	const struct uop *u = ra_uop_at(pc);
	struct ra_operands o;
	int v;

	ra_check(s);
	if (!u)
		return ra_stop(s, RA_STOP_UNSUPPORTED);
	ra_check_uop(u);
	s->pc = pc + 1;
	ra_take(s, u, &o);
	op = o.op;
	known = o.ka & o.kb;
	if (op & UOP_HOT) {
		neg = -(uint64_t)(op / UOP_HOT_SUB & 1);
		sum = o.a + ((o.b ^ neg) << (o.c & 3)) - neg +
		      ((uint64_t)u->imm & ((uint64_t)o.imm - 1));
		if (op & UOP_HOT_MEMORY)
			goto memory;
		logic = (o.a & o.b & -(uint64_t)(op & UOP_HOT_AND)) |
			((o.a ^ o.b) & -(uint64_t)(op / UOP_HOT_XOR & 1));
		r = sum ^ ((sum ^ logic) & -(uint64_t)(op / UOP_HOT_LOGIC & 1));
		/* A result is known regardless of a register if the other operand decides it: 0 of
		 * an AND, all ones of an OR. */
		left = (o.b ^ -(uint64_t)(op / UOP_HOT_XOR & 1)) & o.m;
		known |= o.kb & op & (uint32_t)(ra_nonzero(left) ^ 1);
		ra_flags_lazy(s,
			      (RA_LAZY_ADD | (op / UOP_HOT_SUB & RA_LAZY_SUB_BIT)) +
				      (op / UOP_HOT_LOGIC & 1) * (RA_LAZY_LOGIC - RA_LAZY_ADD),
			      o.w, o.a, o.b, r, known, o.flags & UF_FLAGS);
		goto write;
	}
	if (op == UOP_JCC) {
		v = ra_cond_here(s, o.c);
		if (v < 0)
			return ra_stop(s, RA_STOP_BRANCH);
		if (!(o.flags & (UF_FELL << v)) && s->more)
			ra_first_time(s, pc, UF_FELL << v);
		if (ra_retire_bare(s, pc, (uint32_t)v))
			return 1;
		if (!v)
			return 0;
		goto jump;
	}
	if (op != UOP_JMP && op != UOP_JIND)
		return op >= UOP_VLD ? ra_step_vector(s, pc) : ra_step_other(s, pc);
	if (!o.kb)
		return ra_stop(s, RA_STOP_BRANCH);
	if (!(o.flags & UF_RETIRE))
		goto jump;
	taken = 1;
	goto retire;

memory:
	if (op != UOP_STU)
		ra_write(s, UR_EA, sum, known);
	if (op == UOP_LD) {
		if (known) {
			v = ra_load(s, sum, o.w);
			if (v < 0)
				return ra_stop(s, v == RA_FAULTS ? RA_STOP_FAULT : RA_STOP_PAGE);
			r = s->aux;
			known = 1 - (uint32_t)v;
		}
	} else {
		if (!known)
			return ra_stop(s, RA_STOP_ADDRESS);
		s->aux = s->r[o.dst];
		v = ra_store(s, sum, o.w | (op == UOP_ST && (s->known >> o.dst & 1) ? 0 : 4));
		if (v)
			return ra_stop(s, v == RA_FAULTS ? RA_STOP_FAULT : RA_STOP_STORES);
	}
	s->r[UR_RSP] += (uint64_t)(o.c & UC_POP) / 2 - (uint64_t)(o.c & UC_PUSH) / 4;
	if (op != UOP_LD)
		goto retire;
write:
	ra_write(s, o.dst, r & o.m, known);
retire:
	if (!(o.flags & UF_RETIRE))
		return 0;
	if (ra_retire(s, pc, u->rec, taken))
		return 1;
	if (!taken)
		return 0;
	if (o.c == UC_RETURN)
		return ra_return(s, o.b);
	if (o.c == UC_CALL)
		ra_call(s, o.a, pc + 1);
	if (op == UOP_JIND)
		return ra_goto(s, o.b);
jump:
	invariant(u->imm);
	if (u->imm < 0)
		return ra_follow(s, pc, (uint64_t)u->imm);
	s->pc = (uint32_t)u->imm;
	return 0;
}

/* Initialises the state, except for r[0..UR_GS], their known bits, pc and the image. rflags: the
 * thread's. */
RA_INLINE void ra_begin(struct ra_state *s, uint64_t rflags, uint32_t burst)
{
	s->r[UR_ZERO] = 0;
	s->r[UR_BIAS] = s->bias;
	s->known = (s->known & ((1u << UR_BIAS) - 1)) | 1u << UR_ZERO | 1u << UR_BIAS;
	invariant(burst && burst <= RA_BURST_MAX);
	s->lazy.kind = RA_LAZY_READY;
	s->fl = (uint32_t)rflags & FL_STATUS;
	s->fl_unk = 0;
	s->n = 0;
	s->burst = burst;
	s->more = 0;
	s->out_n = RA_OUT_HEAD;
	s->stop = RA_STOP_RUNNING;
	s->uops = 0;
	s->target = 0;
	s->bloom = 0;
	s->calls = 0;
	s->vlive = 0;
	ra_sb_begin(s);
}

/* The number of micro-ops after which a window ends as an endless string operation. */
RA_INLINE uint32_t ra_budget(uint32_t burst)
{
	return burst * 12 + 512;
}

#endif
