/* SPDX-License-Identifier: MIT */
/*
 * What a recording knows of an image's control flow: which instructions ran, and where indirect
 * jumps went.
 */
#ifndef ASSAY_CFG_SEEN_H
#define ASSAY_CFG_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfg/code.h"
#include "observe/profile.h"

struct cfg_target {
	/*
	 * ELF virtual addresses of the jump and of its target; to is 0 if that is in another image
	 */
	uint64_t from, to;
};

/* The control flow seen in a whole image, or in any part of it. */
struct cfg_seen {
	uint64_t *insn; /* addresses of instructions that ran, ascending */
	size_t ninsns;
	struct cfg_target *target; /* sorted by from, then to */
	size_t ntargets;
};

/* image: its number in the profile. Values of targets are run-time addresses: the image's place is derived from the
 * targets that must be procedures. -1 with err set: no memory. */
int cfg_seen_read(struct cfg_seen *s, const struct profile *p, uint32_t image,
		  struct cfg_code *code, struct err *err);
void cfg_seen_fini(struct cfg_seen *s);
/* Whether the instruction at addr ran. */
bool cfg_seen_ran(const struct cfg_seen *s, uint64_t addr);

#endif
