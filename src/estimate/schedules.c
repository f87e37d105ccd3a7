/* SPDX-License-Identifier: MIT */
#include "estimate/schedules.h"

#include <stdlib.h>
#include <string.h>

#include "estimate/rounds.h"
#include "x86/insn.h"
#include "x86/uop.h"

#define AROUND 32 /* most blocks of a loop */
#define NOT_KEPT \
	(1u << UR_RAX | 1u << UR_RCX | 1u << UR_RDX | 1u << UR_RSI | 1u << UR_RDI | 1u << UR_R8 | \
	 1u << UR_R9 | 1u << UR_R10 | 1u << UR_R11 | \
	 0xffffu << SCHEDULE_VECTORS) /* registers that calls change (System V ABI) */
#define KNOWN (1ull << 32)
#define MODELLED 10 /* samples of a class from which llvm-mca schedules its blocks */

/* Samples of each class of p, to be freed. */
static double *class_samples(const struct estimate_proc *p)
{
	double *s = calloc((size_t)p->g.nclasses + 1, sizeof(*s));

	for (uint32_t b = 0; s && b < p->g.nblocks; b++)
		s[p->g.block[b].cls] += p->samples[b];
	return s;
}

static uint32_t registers_written(const struct insn *in)
{
	return in->gpr_written | (uint32_t)insn_vectors_written(in) << SCHEDULE_VECTORS;
}

/* Registers that the instructions of a block may write; for a call, all caller-saved registers. */
static uint64_t written_by(const struct cfg_block *k, struct image *im)
{
	size_t at = 0, all = k->end - k->start;
	const uint8_t *code = image_code_all(im, k->start, all);
	uint64_t written = k->ends == CFG_END_CALL ? NOT_KEPT : 0;

	for (uint32_t i = 0; code && i < k->ninsn && at < all; i++) {
		struct insn in;
		int len = insn_decode(&in, code + at, all - at, k->start + at);

		written |= len ? registers_written(&in) : 0;
		at += len ? (size_t)len : 1;
	}
	return written;
}

/* The successor that control takes most often. */
static uint32_t next_of(const struct estimate_proc *p, uint32_t b)
{
	const struct cfg_block *k = &p->g.block[b];
	uint32_t best = k->out;

	for (uint32_t e = k->out; e < k->out + k->nout; e++)
		if (p->share[e] > p->share[best])
			best = e;
	return k->nout ? p->g.edge[best].to : CFG_EXIT_BLOCK;
}

/* Registers that nothing writes on the most frequent way from the block back to itself; 0: that way
 * does not lead back within LOOP_MAX blocks. writes: by block, KNOWN and the registers it may
 * write, or 0. */
static uint32_t carried_by(const struct estimate_proc *p, uint32_t b, struct image *im,
			   uint64_t *writes)
{
	const struct cfg_block *k = &p->g.block[b];
	uint64_t written = 1u << UR_RSP;
	uint32_t at = next_of(p, b);

	for (uint32_t e = k->out; e < k->out + k->nout; e++)
		if (p->g.edge[e].to == b)
			return SCHEDULE_LOOP;
	if (k->ends == CFG_END_CALL)
		written |= NOT_KEPT;
	for (int i = 0; i < AROUND && at >= CFG_FIRST_BLOCK; i++, at = next_of(p, at)) {
		if (at == b)
			return (uint32_t)~written;
		if (!writes[at])
			writes[at] = KNOWN | written_by(&p->g.block[at], im);
		written |= writes[at];
	}
	return 0;
}

/* Counts, or fills in, the blocks of p whose class has samples. */
static int choose(struct schedules *s, const struct estimate_proc *p, struct image *im, bool fill)
{
	double *samples = class_samples(p);
	uint64_t *writes = fill ? calloc((size_t)p->g.nblocks + 1, sizeof(*writes)) : NULL;

	for (uint32_t b = CFG_FIRST_BLOCK; samples && im && b < p->g.nblocks; b++) {
		const struct cfg_block *k = &p->g.block[b];
		const uint8_t *code;

		if (samples[k->cls] <= 0 || !k->ninsn)
			continue;
		code = image_code_all(im, k->start, k->end - k->start);
		if (!code)
			continue;
		if (fill) {
			s->of[p->first + b] = (uint32_t)s->n + 1;
			s->block[s->n] = (struct schedule_block){
				.code = code,
				.size = k->end - k->start,
				.addr = k->start,
				.n = k->ninsn,
				.insn = &s->insn[s->ninsns],
				.carried = writes ? carried_by(p, b, im, writes) : 0,
				.cold = samples[k->cls] < MODELLED,
			};
		}
		s->n++;
		s->ninsns += k->ninsn;
	}
	free(samples);
	free(writes);
	return samples && (writes || !fill) ? 0 : -1;
}

static int choose_all(struct schedules *s, const struct estimate *e,
		      const struct estimate_source *src, bool fill)
{
	s->n = s->ninsns = 0;
	for (size_t i = 0; i < e->nproc; i++)
		if (choose(s, &e->proc[i], src->image(src->ctx, e->proc[i].image), fill))
			return -1;
	return 0;
}

int schedules_make(struct schedules *s, const struct estimate *e, const struct estimate_source *src)
{
	memset(s, 0, sizeof(*s));
	if (!choose_all(s, e, src, false)) {
		s->block = calloc(s->n + 1, sizeof(*s->block));
		s->insn = calloc(s->ninsns + 1, sizeof(*s->insn));
		s->of = calloc(e->nblocks + 1, sizeof(*s->of));
		if (s->block && s->insn && s->of && !choose_all(s, e, src, true) &&
		    schedule_blocks(s->block, s->n, &src->schedule, &s->warning) >= 0 &&
		    (src->schedule.table || !rounds_schedule(s, e, src)))
			return 0;
	}
	schedules_fini(s);
	return -1;
}

void schedules_fini(struct schedules *s)
{
	free(s->block);
	free(s->insn);
	free(s->of);
	memset(s, 0, sizeof(*s));
}

const struct schedule_insn *schedules_of(const struct schedules *s, const struct estimate_proc *p,
					 uint32_t block)
{
	uint32_t at = s->of[p->first + block];

	return at ? s->block[at - 1].insn : NULL;
}
