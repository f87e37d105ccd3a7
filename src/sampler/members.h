/* SPDX-License-Identifier: MIT */
/*
 * The user's side of bpf/members.h: the processes that are sampled by the events of all CPUs.
 */
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

/* Before the programs are loaded: whether only members are sampled. */
void members_choose(struct sampler_bpf *b, bool only);
/* The caller's next child that executes a program is a member from there on, and so are its descendants. -1 with err set. */
int members_await(struct members *m, struct sampler_bpf *b, struct err *err);
/* Descendants that there was no room for. */
uint64_t members_unfollowed(const struct sampler_bpf *b);
void members_fini(struct members *m);

#endif
