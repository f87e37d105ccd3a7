/* SPDX-License-Identifier: MIT */
/*
 * Holds what the interpreter made of a trial against what the CPU did.
 */
#ifndef ASSAY_TESTS_CHECK_H
#define ASSAY_TESTS_CHECK_H

#include "arena.h"
#include "native.h"
#include "trial.h"

/* NULL if there is no difference, else what differs, in buf. Counts into the tally. The trial's
 * place holds the memory as the CPU left it. a: the arena that the state comes from. */
const char *check_trial(const struct trial *t, const struct arena *a, const struct ra_state *s,
			const struct native_result *cpu, struct tally *tally, char *buf, size_t n);

#endif
