/* SPDX-License-Identifier: MIT */
/*
 * The run-ahead interpreter's user-space build.
 */
#ifndef ASSAY_RUNAHEAD_USER_H
#define ASSAY_RUNAHEAD_USER_H

#include "runahead/code.h"
#include "runahead/state.h"

/* Access of the interpreter to code and memory. */
struct ra_env {
	const struct code *code;
	/* Reads 1, 2, 4 or 8 bytes at addr, zero-extended; returns non-zero if they cannot be
	 * read. */
	int (*read)(void *ctx, uint64_t addr, uint32_t bytes, uint64_t *val);
	/* Sets s->image, start, end and bias for a run-time address; returns 0, or an enum
	 * ra_stop. */
	int (*map)(void *ctx, struct ra_state *s, uint64_t addr);
	void *ctx;
};

/*
 * Runs ahead from run-time address ip, up to `burst` instructions (at most RA_BURST_MAX). The
 * caller sets s->r and s->known for UR_RAX to UR_GS, and s->nkeep_off. The result is in s->stop,
 * s->n, s->out. The thread's memory is only read.
 */
void ra_user_run(struct ra_state *s, const struct ra_env *env, uint64_t ip, uint64_t rflags,
		 uint32_t burst);

#endif
