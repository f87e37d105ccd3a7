/* SPDX-License-Identifier: MIT */
#include "culprit/pattern.h"

#include "x86/insn.h"
#include "x86/uop.h"

#define FAR 160		/* most instructions that are searched */
#define SLOTS 4		/* most places of the stack that an address may depend on */
#define STORES 8	/* most places of the stack that are remembered as stored to */
#define NOT_KEPT 0x0fc7 /* registers that calls change (System V ABI): rax rcx rdx rsi rdi r8-r11 */

/* A place in the stack: a register and a displacement. */
struct slot {
	ZydisRegister base;
	int64_t disp;
};

/*
 * The registers and slots that the address depends on, at an instruction of the backward search.
 * For the address to advance by a constant, a value that is computed by other operations than
 * additions and moves must stay the same from one execution to the next.
 */
struct slice {
	uint16_t regs, steady; /* steady: those of regs that have to stay the same */
	uint16_t written;      /* registers that were set since the last execution */
	struct slot slot[SLOTS];
	bool fixed[SLOTS]; /* by slot: whether it has to stay the same */
	unsigned nslots;
	struct slot stored[STORES]; /* slots that were stored to since the last execution */
	unsigned nstored;	    /* number of them; more than STORES: not all are known */
	bool curved; /* the address depends on a sum with a term that is no constant */
};

/* A load of the procedure. */
struct load {
	uint32_t block, k;
	unsigned at; /* number of instructions that were searched before it */
};

static uint16_t gpr_bit(ZydisRegister r)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return 0;
	return (uint16_t)(1u << (whole - ZYDIS_REGISTER_RAX));
}

static const ZydisDecodedOperand *memory_of(const struct insn *in)
{
	for (unsigned i = 0; in->nmem && i < in->z.operand_count; i++)
		if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    in->op[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
			return &in->op[i];
	return NULL;
}

/* Registers of the address, except the base of a slot in the stack. */
static uint16_t address_of(const ZydisDecodedOperand *m)
{
	return gpr_bit(m->mem.base) | gpr_bit(m->mem.index);
}

static bool is_slot(const ZydisDecodedOperand *m)
{
	return m->mem.index == ZYDIS_REGISTER_NONE &&
	       (m->mem.base == ZYDIS_REGISTER_RBP || m->mem.base == ZYDIS_REGISTER_RSP);
}

static bool is_at(const struct slot *s, const ZydisDecodedOperand *m)
{
	return s->base == m->mem.base && s->disp == m->mem.disp.value;
}

static int find_slot(const struct slice *s, const ZydisDecodedOperand *m)
{
	for (unsigned i = 0; is_slot(m) && i < s->nslots; i++)
		if (is_at(&s->slot[i], m))
			return (int)i;
	return -1;
}

static bool add_slot(struct slice *s, const ZydisDecodedOperand *m, bool fixed)
{
	int i = find_slot(s, m);

	if (i >= 0) {
		s->fixed[i] |= fixed;
		return true;
	}
	if (s->nslots == SLOTS)
		return false;
	s->fixed[s->nslots] = fixed;
	s->slot[s->nslots++] = (struct slot){ m->mem.base, m->mem.disp.value };
	return true;
}

/* Whether the instruction computes a sum or a copy, so that a constant step stays a constant step. */
static bool is_straight(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_SHL:
		return true;
	default:
		return false;
	}
}

static bool is_cleared(const struct insn *in)
{
	return in->z.mnemonic == ZYDIS_MNEMONIC_XOR &&
	       in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       in->op[0].reg.value == in->op[1].reg.value;
}

/* Follows the address backwards over a store to a slot that it depends on. */
static bool before_store(struct slice *s, const struct insn *in, unsigned slot)
{
	uint16_t from =
		in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER ? gpr_bit(in->op[1].reg.value) : 0;

	s->curved |= !is_straight(in);
	s->regs |= from;
	s->steady |= s->fixed[slot] ? from : 0;
	if (in->z.mnemonic == ZYDIS_MNEMONIC_MOV) {
		s->slot[slot] = s->slot[--s->nslots];
		s->fixed[slot] = s->fixed[s->nslots];
	}
	return true;
}

/* Notes the registers and slots that an instruction sets. */
static void note_set(struct slice *s, const struct insn *in, const ZydisDecodedOperand *m)
{
	s->written |= in->gpr_written;
	if (!m || !is_slot(m) || (in->cls != INSN_STORE && in->cls != INSN_RMW))
		return;
	if (s->nstored < STORES)
		s->stored[s->nstored] = (struct slot){ m->mem.base, m->mem.disp.value };
	s->nstored++;
}

/* Whether a value that has to stay the same was set since the last execution. */
static bool has_changed(const struct slice *s)
{
	if (s->steady & s->written)
		return true;
	for (unsigned i = 0; i < s->nslots; i++) {
		if (s->fixed[i] && s->nstored > STORES)
			return true;
		for (unsigned k = 0; s->fixed[i] && k < s->nstored; k++)
			if (s->stored[k].base == s->slot[i].base &&
			    s->stored[k].disp == s->slot[i].disp)
				return true;
	}
	return false;
}

/*
 * Follows the address backwards over an instruction. *loaded: the instruction loads a part of the
 * address from elsewhere than the stack. False: the search cannot tell what the address depends on.
 */
static bool before(struct slice *s, const struct insn *in, bool *loaded)
{
	const ZydisDecodedOperand *m = memory_of(in);
	uint16_t written = in->gpr_written & s->regs, reads;
	bool steady;
	int slot = m && in->cls != INSN_LOAD ? find_slot(s, m) : -1;

	*loaded = false;
	note_set(s, in, m);
	if (in->cls == INSN_CALL || in->cls == INSN_ICALL)
		return !(s->regs & NOT_KEPT);
	if (slot >= 0 && (in->cls == INSN_STORE || in->cls == INSN_RMW))
		return before_store(s, in, (unsigned)slot);
	if (!written)
		return true;
	steady = (written & s->steady) || !is_straight(in);
	s->regs &= (uint16_t)~written;
	s->steady &= (uint16_t)~written;
	if (is_cleared(in))
		return true;
	*loaded = m && !is_slot(m);
	reads = *loaded && in->z.mnemonic == ZYDIS_MNEMONIC_MOV ? address_of(m) : in->gpr_read;
	if (m && is_slot(m))
		reads &= (uint16_t)~gpr_bit(m->mem.base);
	s->regs |= reads;
	s->steady |= steady ? reads : 0;
	return !m || !is_slot(m) || add_slot(s, m, steady);
}

/* The block that most often ran before; CFG_ENTRY_BLOCK: none is known. *others: increased by the part of the block's
 * executions before which others ran. */
static uint32_t block_before(const struct estimate_proc *p, uint32_t block, double *others)
{
	const struct cfg *g = &p->g;
	const struct cfg_block *b = &g->block[block];
	uint32_t best = CFG_ENTRY_BLOCK;
	double most = 0, all = 0;

	for (uint32_t i = b->in; i < b->in + b->nin; i++) {
		const struct cfg_edge *e = &g->edge[g->in[i]];

		all += p->edge[g->in[i]].f;
		if (e->kind == CFG_VIRTUAL || p->edge[g->in[i]].f <= most)
			continue;
		most = p->edge[g->in[i]].f;
		best = e->from;
	}
	*others += all > 0 ? 1 - most / all : 1;
	return best;
}

static bool decode(struct image *im, const struct cfg_insn *at, struct insn *in)
{
	size_t n = 0;
	const uint8_t *code = image_code(im, at->addr, &n);

	return code && insn_decode(in, code, n, at->addr);
}

/* The search's conclusion when it reaches the load again. */
static struct pattern judge(const struct slice *s, const struct insn *in, bool indirect,
			    unsigned every, double others)
{
	bool chain = (in->gpr_written & s->regs) != 0, alone = !s->curved && !has_changed(s);
	bool stream = !chain && !indirect && alone;

	return (struct pattern){ chain	  ? PATTERN_CHAIN
				 : stream ? PATTERN_STREAM
					  : PATTERN_APART,
				 every, (chain || stream) && alone ? 1 / others : 0 };
}

struct pattern pattern_of(struct image *im, const struct estimate_proc *proc, uint32_t block,
			  uint32_t k)
{
	const struct cfg *g = &proc->g;
	struct load until = { block, k, 0 };
	struct slice s = { 0 };
	unsigned every = 0, n = 0;
	double others = 0;
	bool indirect = false, loaded;
	const ZydisDecodedOperand *m;
	struct insn in;

	if (!im || !decode(im, &g->insn[g->block[block].insn + k], &in))
		return (struct pattern){ 0 };
	m = memory_of(&in);
	if (!m)
		return (struct pattern){ 0 };
	s.regs = address_of(m);
	for (uint32_t b = block, i = k; n < FAR; n++) {
		for (int empty = 0; i == 0 && empty < SLOTS; empty++) {
			b = block_before(proc, b, &others);
			if (b < CFG_FIRST_BLOCK)
				return (struct pattern){ 0 };
			i = g->block[b].ninsn;
		}
		if (i == 0 || !decode(im, &g->insn[g->block[b].insn + --i], &in))
			break;
		if (b == block && i == k && !every)
			every = n + 1;
		if (b == until.block && i == until.k)
			return judge(&s, &in, indirect, every ? every : n + 1 - until.at, others);
		if (!before(&s, &in, &loaded))
			break;
		if (loaded && !indirect) {
			indirect = true;
			until = (struct load){ b, i, n };
		}
	}
	return (struct pattern){ .every = every };
}
