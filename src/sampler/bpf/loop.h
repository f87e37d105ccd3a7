/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The loop over micro-ops in the kernel. A call for each micro-op costs more than most micro-ops: a return is
 * mispredicted where the kernel guards returns (AMD's SRSO). Linux 6.9 can loop without calls (may_goto); older kernels
 * have bpf_loop() alone.
 */
#ifndef ASSAY_SAMPLER_BPF_LOOP_H
#define ASSAY_SAMPLER_BPF_LOOP_H

#include "runahead/interp.h"

/* True once more; the verifier knows that this ends. clang 14 does not know the instruction. */
#define can_loop \
	({ \
		__label__ loop_end, loop_on; \
		bool loop_more = true; \
		asm volatile goto("1:.byte 0xe5; .byte 0; " \
				  ".long ((%l[loop_end] - 1b - 8) / 8) & 0xffff; .short 0" \
				  : \
				  : \
				  : \
				  : loop_end); \
		goto loop_on; \
	loop_end: \
		loop_more = false; \
	loop_on:; \
		loop_more; \
	})

struct loop_ctx { /* callbacks are handed a pointer to the stack */
	struct ra_state *s;
};

static long loop_step(uint32_t i, struct loop_ctx *c)
{
	return ra_step(c->s) != 0;
}

/* Executes micro-ops until the window ends, by bpf_loop(). */
static __always_inline void run_by_calls(struct ra_state *s, uint32_t budget)
{
	struct loop_ctx c = { .s = s };

	if (s->more)
		budget = ra_budget(RA_LONG_MAX);
	s->uops += (uint32_t)bpf_loop(budget, loop_step, &c, 0);
	if (s->stop == RA_STOP_RUNNING)
		s->stop = RA_STOP_STRING;
}

/* Executes micro-ops until the window ends, by may_goto. The verifier checks this function
 * separately, and only once. */
RA_HELPER int run_in_place(struct ra_state *s)
{
	RA_NULL(s);
	while (can_loop) {
		if (s->uops >= ra_budget(s->burst))
			break;
		s->uops++;
		if (ra_step(s))
			break;
	}
	if (s->stop == RA_STOP_RUNNING)
		s->stop = RA_STOP_STRING;
	return 0;
}

#endif
