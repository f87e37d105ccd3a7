/* SPDX-License-Identifier: MIT */
/* User space's side of bpf/members.h: the processes that the events of all CPUs sample. */
#ifndef ASSAY_SAMPLER_MEMBERS_H
#define ASSAY_SAMPLER_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct sampler_bpf;

#define MEMBERS_HOOKS 3
struct members {
	struct bpf_link *hook[MEMBERS_HOOKS];
};

/* Sets, before the programs are loaded, whether only members are sampled. */
void members_choose(struct sampler_bpf *b, bool only);
/* Makes the caller's next child that executes a program a member, and so its descendants. -1 with err set. */
int members_await(struct members *m, struct sampler_bpf *b, struct err *err);
/* Returns the number of descendants that there was no room for. */
uint64_t members_unfollowed(const struct sampler_bpf *b);
void members_fini(struct members *m);

#endif
