/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "slot.h"

static const uint32_t flag_bit[6] = { FL_CF, FL_PF, FL_AF, FL_ZF, FL_SF, FL_OF };
static const char *const flag_name[6] = { "CF", "PF", "AF", "ZF", "SF", "OF" };

struct check {
	const struct trial *t;
	const struct ra_state *s;
	const struct native_result *cpu;
	const struct uop *uop;
	char *buf;
	size_t n;
};

static const char *differs(const struct check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->buf, c->n, fmt, ap);
	va_end(ap);
	return c->buf;
}

static uint64_t memory(const struct check *c, const uint8_t *mem, uint64_t ea, uint32_t bytes)
{
	uint64_t off = ea - (uintptr_t)c->t->place.data, v = 0;

	if (off <= TRIAL_DATA - bytes)
		memcpy(&v, mem + off, bytes);
	return v;
}

static const char *check_registers(const struct check *c)
{
	for (int i = 0; i < 16; i++) {
		uint64_t want = c->cpu->regs.r[i];

		if ((c->s->known >> i & 1) && c->s->r[i] != want)
			return differs(c, "%s is %#llx, the CPU has %#llx", insn_gpr_name[i],
				       (unsigned long long)c->s->r[i], (unsigned long long)want);
		if (want != c->t->regs.r[i] && !(c->t->in.gpr_written >> i & 1))
			return differs(c, "%s is written, insn says not", insn_gpr_name[i]);
	}
	return NULL;
}

static bool is_shift(const struct trial *t)
{
	switch (t->in.z.mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
		return true;
	default:
		return false;
	}
}

/* The status flags that the instruction leaves undefined on every execution. */
static uint32_t undefined_flags(const struct trial *t)
{
	if (is_shift(t)) /* OF is defined for a count of 1 */
		return t->in.fl_undefined & ~FL_OF;
	/* Zydis has one too many for some */
	if (t->in.z.mnemonic == ZYDIS_MNEMONIC_SBB)
		return 0;
	if (t->in.z.mnemonic == ZYDIS_MNEMONIC_BEXTR)
		return FL_AF | FL_SF | FL_PF;
	return t->in.fl_undefined;
}

/* Those that it leaves defined, whatever its operands. */
static uint32_t defined_flags(const struct trial *t)
{
	if (is_shift(t))
		return FL_ZF & ~(t->in.z.operand_width == 16 ? FL_STATUS : t->in.fl_undefined);
	return FL_STATUS & ~(t->in.z.cpu_flags ? t->in.z.cpu_flags->undefined : 0);
}

/* Bytes of a vector register, or bits of a mask, that are known. */
static uint64_t vector_known(const struct check *c, uint32_t i)
{
	return c->s->vlive >> i & 1 ? c->s->vknown[i] : 0;
}

static const char *check_vectors(const struct check *c)
{
	const struct native_result *cpu = c->cpu;

	for (uint32_t i = 0; i < 32 && c->t->in.vector; i++) {
		if (i >= 16 && cpu->vec_bytes < 64)
			break;
		for (uint32_t k = 0; k < cpu->vec_bytes; k++) {
			uint8_t is = (uint8_t)(c->s->v[i][k / 8] >> (8 * (k % 8))),
				want = (uint8_t)(cpu->vec[i * 8 + k / 8] >> (8 * (k % 8)));

			if ((vector_known(c, i) >> k & 1) && is != want)
				return differs(c, "byte %u of zmm%u is %#x, the CPU has %#x", k, i,
					       is, want);
		}
	}
	for (uint32_t i = 0; i < 8 && c->t->in.vector && cpu->vec_bytes == 64; i++) {
		uint64_t is = c->s->v[UV_K0 + i][0], want = cpu->vec[32 * 8 + i];

		if ((is ^ want) & vector_known(c, UV_K0 + i))
			return differs(c, "k%u is %#llx, the CPU has %#llx", i,
				       (unsigned long long)is, (unsigned long long)want);
	}
	return NULL;
}

static const char *check_flags(const struct check *c)
{
	for (int i = 0; i < 6; i++) {
		bool is = c->s->r[UR_T0 + i] != 0, want = c->cpu->regs.flags & flag_bit[i];

		if (want != !!(c->t->regs.flags & flag_bit[i]) &&
		    !((c->t->in.fl_written | c->t->in.fl_read) & flag_bit[i]))
			return differs(c, "%s is written, insn says not", flag_name[i]);
		if (!(c->t->fl_live & flag_bit[i]) || !(c->s->known >> (UR_T0 + i) & 1))
			continue;
		if (is != want)
			return differs(c, "%s is %d, the CPU has %d", flag_name[i], is, want);
		if (undefined_flags(c->t) & flag_bit[i])
			return differs(c, "%s is undefined, but known", flag_name[i]);
	}
	return NULL;
}

/* The store buffer, applied to the memory as it was, is the memory as it is. */
static const char *check_memory(const struct check *c, bool *unknown)
{
	static uint8_t is[TRIAL_DATA], hidden[TRIAL_DATA];
	uint64_t lo = (uintptr_t)c->t->place.data;

	memcpy(is, c->t->initial, sizeof(is));
	memset(hidden, 0, sizeof(hidden));
	for (uint32_t i = 0; i < RA_SB_SLOTS; i++) {
		const struct ra_slot *e = &c->s->sb[i];

		for (uint32_t k = 0; k < 8 && slot_used(c->s, e); k++) {
			uint64_t at = slot_addr(e) + k - lo;

			if (!(e->valid >> (8 * k) & 0xff))
				continue;
			/* masked stores are taken for whole ones of what is not known */
			if (at >= TRIAL_DATA && (e->unknown >> (8 * k) & 0xff))
				continue;
			if (at >= TRIAL_DATA)
				return differs(c, "a store to %#llx, where the CPU has none",
					       (unsigned long long)(slot_addr(e) + k));
			is[at] = (uint8_t)(e->data >> (8 * k));
			hidden[at] = e->unknown >> (8 * k) & 0xff ? 1 : 0;
			*unknown |= hidden[at];
		}
	}
	for (uint32_t i = 0; i < TRIAL_DATA; i++)
		if (!hidden[i] && is[i] != c->t->place.data[i])
			return differs(c, "memory at %#llx is %#x, the CPU has %#x",
				       (unsigned long long)(lo + i), is[i], c->t->place.data[i]);
	return NULL;
}

/* True if v, of some width, is in memory where the instruction accesses it. */
static bool is_accessed(const struct check *c, const uint8_t *mem, uint64_t v, uint64_t ea)
{
	uint64_t at[8] = { ea, c->t->regs.r[UR_RSP], c->cpu->regs.r[UR_RSP] };
	uint32_t n = 3;

	for (uint32_t i = 0; i < c->t->nmem; i++)
		at[n++] = c->t->mem[i].ea;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
			for (uint32_t k = 0; k < 20; k++)
				if (memory(c, mem, at[i] + k * bytes, bytes) == v)
					return true;
	return false;
}

static bool is_result(const struct check *c, uint64_t v)
{
	if (c->t->in.cls == INSN_RET) /* what the procedure returns */
		return v == c->cpu->regs.r[UR_RAX];
	/* where an indirect branch goes */
	if (c->t->in.cls == INSN_IJUMP || c->t->in.cls == INSN_ICALL)
		return v ==
		       (uintptr_t)c->t->place.code +
			       (c->cpu->exit == NATIVE_AFTER ? NATIVE_AFTER_AT : NATIVE_BEFORE_AT);
	for (int i = 0; i < 16; i++) {
		uint64_t r = c->cpu->regs.r[i];

		if (!(c->t->in.gpr_written >> i & 1))
			continue;
		if (v == r || v == (uint32_t)r || v == (uint16_t)r || v == (uint8_t)r ||
		    v == (uint8_t)(r >> 8))
			return true;
	}
	return false;
}

static const char *check_value(const struct check *c, uint32_t kind, uint64_t v, uint64_t ea)
{
	switch (kind) {
	case UREC_LOAD:
		if (!is_accessed(c, c->t->before, v, ea))
			return differs(c, "loaded value %#llx is not what is in memory",
				       (unsigned long long)v);
		break;
	case UREC_STORE:
		if (!is_accessed(c, c->t->place.data, v, ea))
			return differs(c, "stored value %#llx is not what is in memory",
				       (unsigned long long)v);
		break;
	case UREC_RESULT:
		if (!is_result(c, v))
			return differs(c, "result %#llx is in no register that is written",
				       (unsigned long long)v);
		break;
	default:
		return differs(c, "a value of no kind is recorded");
	}
	return NULL;
}

static const char *check_address(const struct check *c, uint64_t ea)
{
	const struct trial *t = c->t;

	for (uint32_t i = 0; i < t->nmem; i++)
		if (!t->mem[i].exact || t->mem[i].ea == ea)
			return NULL;
	return differs(c, "recorded address %#llx is of no operand", (unsigned long long)ea);
}

static const char *check_recorded(const struct check *c)
{
	const uint64_t *p = &c->s->out[RA_OUT_HEAD];
	uint64_t head = *p++, ea = 0;
	uint32_t rec = c->uop[(uint32_t)head].rec;
	const char *why = NULL;
	bool taken = head & RA_TAKEN, branch = c->t->in.z.meta.branch_type;

	if (head & RA_ARGS)
		return differs(c, "an entry is recorded");
	if (head & RA_HAS_EA) {
		ea = *p++;
		why = check_address(c, ea);
	}
	if (!why && (head & RA_HAS_A))
		why = check_value(c, rec >> 5 & 3, *p++, ea);
	if (!why && (head & RA_HAS_B))
		why = check_value(c, rec >> 12 & 3, *p++, ea);
	if (!why && p != &c->s->out[c->s->out_n])
		why = differs(c, "more is recorded than said");
	if (!why && taken != (c->cpu->exit != NATIVE_FALL) && (branch || taken))
		why = differs(c, "taken is %d", taken);
	return why;
}

/* True if what is written to a vector register is not known wholly. */
static bool vector_unknown(const struct check *c)
{
	for (int i = 0; i < c->t->in.z.operand_count; i++) {
		const ZydisDecodedOperand *op = &c->t->in.op[i];
		uint32_t n = op->type == ZYDIS_OPERAND_TYPE_REGISTER
				     ? (uint32_t)ZydisRegisterGetId(op->reg.value)
				     : 0;

		if (op->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		switch (ZydisRegisterGetClass(op->reg.value)) {
		case ZYDIS_REGCLASS_MASK:
			n += UV_K0;
			/* fall through */
		case ZYDIS_REGCLASS_XMM:
		case ZYDIS_REGCLASS_YMM:
		case ZYDIS_REGCLASS_ZMM:
			if (~vector_known(c, n))
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}

/* Counts what came out unknown though all that goes in is known. */
static void count_unknown(const struct check *c, struct tally *tally, bool unk_mem)
{
	uint32_t defined = defined_flags(c->t);
	bool flag = false;

	for (int i = 0; i < 6; i++)
		if ((defined & flag_bit[i]) && !(c->s->known >> (UR_T0 + i) & 1))
			flag = true;
	tally->whole++;
	tally->unk_flag += flag;
	tally->unk_reg += (c->s->known & 0xffff) != 0xffff;
	tally->unk_mem += unk_mem;
	tally->unk_vec += vector_unknown(c);
}

/* True if nothing forbids the accesses that are foreseen: they are all inside, need no alignment,
 * and are of no control word. */
static bool is_accessible(const struct trial *t)
{
	uint64_t lo = (uintptr_t)t->place.data;

	if (t->in.vector || t->in.z.mnemonic == ZYDIS_MNEMONIC_CMPXCHG16B ||
	    t->in.z.mnemonic == ZYDIS_MNEMONIC_LDMXCSR ||
	    t->in.z.mnemonic == ZYDIS_MNEMONIC_VLDMXCSR)
		return false;
	for (uint32_t i = 0; i < t->nmem; i++)
		if (!t->mem[i].exact || t->mem[i].ea < lo ||
		    t->mem[i].ea + t->mem[i].size > lo + TRIAL_DATA)
			return false;
	return true;
}

/* The CPU faulted. */
static const char *check_fault(const struct check *c, struct tally *tally)
{
	const struct ra_state *s = c->s;

	if (c->cpu->sig == SIGILL) {
		tally->refused++;
		return NULL;
	}
	if (!s->n) {
		tally->faults++;
		return NULL;
	}
	tally->went_on++;
	if (c->cpu->sig == SIGFPE && c->t->whole && !c->t->in.vector)
		return differs(c, "a division that faults went on");
	if (c->cpu->sig != SIGFPE && c->t->in.cls < INSN_BRANCH && is_accessible(c->t))
		return differs(c, "the CPU gets signal %d for no reason", c->cpu->sig);
	return NULL;
}

const char *check_trial(const struct trial *t, const struct arena *a, const struct ra_state *s,
			const struct native_result *cpu, struct tally *tally, char *buf, size_t n)
{
	struct check c = { .t = t, .s = s, .cpu = cpu, .uop = a->uop, .buf = buf, .n = n };
	bool unk_mem = false;
	const char *why;

	tally->run++;
	if (cpu->exit == NATIVE_FAULT)
		return check_fault(&c, tally);
	if (s->n == 0) {
		tally->stopped++;
		tally->whole_stopped += t->whole;
		if (s->stop == RA_STOP_FAULT || (s->stop == RA_STOP_PAGE && !t->in.vector))
			return differs(&c, "stops (%u), the CPU goes on", s->stop);
		return NULL;
	}
	if (s->n != 1 || s->stop != ARENA_DONE)
		return differs(&c, "%u retired, stop %u", s->n, s->stop);
	if (s->r[UR_T6] != cpu->exit)
		return differs(&c, "leaves by way %llu, the CPU by %d",
			       (unsigned long long)s->r[UR_T6], cpu->exit);
	why = check_registers(&c);
	if (!why)
		why = check_vectors(&c);
	if (!why)
		why = check_flags(&c);
	if (!why)
		why = check_memory(&c, &unk_mem);
	if (!why)
		why = check_recorded(&c);
	if (why)
		return why;
	tally->same++;
	if (t->whole)
		count_unknown(&c, tally, unk_mem);
	return NULL;
}
