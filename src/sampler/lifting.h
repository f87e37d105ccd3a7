/* SPDX-License-Identifier: MIT */
/*
 * Lifting of code that windows reach, into maps that the kernel side runs from.
 *
 * The room is limited. Once it is full, all that was lifted is forgotten, and what runs is lifted again. The kernel side may
 * run windows meanwhile, and records in the ring buffer refer to micro-ops by their numbers, so that takes two steps:
 *
 *   lifting_hide()    the kernel side finds no code any more; when it returns, no window runs that had found some
 *   lifting_empty()   the room is used again; no record may be left that was made before lifting_hide() returned
 */
#ifndef ASSAY_SAMPLER_LIFTING_H
#define ASSAY_SAMPLER_LIFTING_H

#include "base/err.h"
#include "runahead/code.h"
#include "sampler/files.h"

struct lifting {
	struct code code;
	uint32_t neighbourhood; /* most instructions that are lifted around missing code */
	uint32_t
		ahead; /* instructions that a window runs ahead: what surely runs of them is lifted first */
	uint64_t ns; /* CPU time of lifting */
	bool full;   /* something was not lifted because there is no room */
	bool hidden;
	/* private */
	int uop_fd;
	void *uop_map, *line_map; /* NULL: not mapped */
	size_t uop_bytes, uop_mapped, line_bytes;
};

/* Maps the kernel side's maps `code`, of that many micro-ops, and `lines`, of 1 << line_bits. */
int lifting_open(struct lifting *l, int code, uint32_t uops, int lines, uint32_t line_bits,
		 struct err *err);
/* Frees and unmaps all; how many instructions were lifted, and the time that took, stay known. */
void lifting_close(struct lifting *l);
/* Lifts the code around an address that a window reached; `sampled`: ns of user space that were sampled until now. */
void lifting_lift(struct lifting *l, struct files *files, double sampled, uint32_t image,
		  uint64_t addr);
/* Returns false if the kernel does not say when no window runs; the code stays as it is then. */
bool lifting_hide(struct lifting *l);
void lifting_empty(struct lifting *l);

#endif
