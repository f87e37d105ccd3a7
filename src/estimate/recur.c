/* SPDX-License-Identifier: MIT */
#include "estimate/recur.h"

#include <math.h>
#include <stdlib.h>

#include "x86/uop.h"

#define FLAGS (1ull << 63)
#define ROUNDS 8      /* executions, of which the later half counts */
#define BY_CHAINS 0.9 /* part of a schedule from which on a chain is what it waits for */

static uint64_t registers(uint16_t general, uint16_t vectors, uint16_t flags)
{
	return (general & ~(1u << UR_RSP)) | (uint64_t)vectors << SCHEDULE_VECTORS |
	       (flags ? FLAGS : 0);
}

static bool is_between_registers(const struct insn *in)
{
	return in->z.operand_count_visible == 2 && in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

/* Whether the instruction only gives a whole register another name. */
static bool is_renamed(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return is_between_registers(in) && in->op[0].size >= 32;
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVDQA:
		return is_between_registers(in);
	default:
		return false;
	}
}

static bool is_product(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_MULSD:
	case ZYDIS_MNEMONIC_MULSS:
	case ZYDIS_MNEMONIC_MULPD:
	case ZYDIS_MNEMONIC_MULPS:
	case ZYDIS_MNEMONIC_VMULSD:
	case ZYDIS_MNEMONIC_VMULSS:
	case ZYDIS_MNEMONIC_VMULPD:
	case ZYDIS_MNEMONIC_VMULPS:
		return true;
	default:
		return false;
	}
}

double recur_cycles(const struct insn *in, const uint8_t *latency, unsigned n)
{
	double ready[64] = { 0 }, end[ROUNDS] = { 0 };

	for (unsigned k = 0; k < ROUNDS; k++)
		for (unsigned i = 0; i < n; i++) {
			uint64_t read =
				registers(in[i].gpr_read, insn_vectors_read(&in[i]), in[i].fl_read);
			uint64_t written = registers(
				in[i].gpr_written, insn_vectors_written(&in[i]), in[i].fl_written);
			double at = 0;

			for (uint64_t r = insn_clears(&in[i]) ? 0 : read; r; r &= r - 1)
				at = fmax(at, ready[__builtin_ctzll(r)]);
			at += latency[i];
			for (uint64_t w = written; w; w &= w - 1)
				ready[__builtin_ctzll(w)] = at;
			end[k] = fmax(end[k], at);
		}
	return (end[ROUNDS - 1] - end[ROUNDS / 2 - 1]) / (ROUNDS / 2.0);
}

/* Decodes the block's instructions. False: some is none. */
static bool decode(const struct schedule_block *b, struct insn *in)
{
	size_t at = 0;

	for (unsigned i = 0; i < b->n; i++) {
		int len = insn_decode(&in[i], b->code + at, b->size - at, b->addr + at);

		if (!len)
			return false;
		at += (size_t)len;
	}
	return true;
}

/* The latency in the core, where the model has `latency`. */
static uint8_t latency_of(const struct insn *in, uint8_t latency, const struct cpu_model *m)
{
	if (is_renamed(in))
		return 0;
	return is_product(in) && latency > m->product ? (uint8_t)(latency - m->product) : latency;
}

void recur_shorten(struct schedule_block *b, const struct cpu_model *m)
{
	struct insn *in = calloc((size_t)b->n + 1, sizeof(*in));
	uint8_t latency[SCHEDULE_BLOCK_MAX], shorter[SCHEDULE_BLOCK_MAX];
	double whole = 0, chain, left;
	unsigned moves = 0;

	if (in && decode(b, in)) {
		for (unsigned i = 0; i < b->n; i++) {
			whole += b->insn[i].least;
			moves += is_renamed(&in[i]);
			latency[i] = b->insn[i].latency;
			shorter[i] = latency_of(&in[i], latency[i], m);
		}
		chain = recur_cycles(in, latency, b->n);
		left = fmax(recur_cycles(in, shorter, b->n), (b->n - moves) / (double)m->renames);
		for (unsigned i = 0; i < b->n && left < chain && chain > BY_CHAINS * whole; i++)
			b->insn[i].least *= (float)(left / chain);
	}
	free(in);
}
