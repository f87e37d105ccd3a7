/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of samples, added to the profile's tree of frames (observe/stacks.h). The kernel side walks most of them
 * by tables (bpf/unwind.h); of the others it copies registers and the top of the stack, and this file walks the copy by
 * everything that the images tell. That also supplies what the kernel side lacked: the process's mappings, and rules
 * for the code on the stack. Every stack ends with a reason: that it is whole, or why it is cut.
 */
#ifndef ASSAY_SAMPLER_STACKS_H
#define ASSAY_SAMPLER_STACKS_H

#include "sampler/bpf/shared.h"
#include "sampler/bpf/unwind_tables.h"
#include "sampler/files.h"
#include "sampler/sideband.h"
#include "sampler/tables.h"

struct walker;

struct walker_options {
	struct files *files;			       /* outlives the walker */
	uint32_t kernel_image, vdso_image, anon_image; /* numbers in the profile */
	int spaces; /* the kernel side's map of processes' mappings; -1: there is none */
	struct tables_memory memory;
};

/* Makes a walker, or returns NULL without memory. */
struct walker *walker_new(const struct walker_options *o);
void walker_free(struct walker *w);
/* From this call on the walker takes mappings from `sideband`, which it closes: those of process `only` and its
 * descendants, or, with 0, of all processes. */
void walker_follow(struct walker *w, struct sideband *sideband, pid_t only);
/* Applies the changes of mappings that the kernel told up to the time `until`. No sample from before `until` may be
 * added later. */
void walker_advance(struct walker *w, uint64_t until);
/* Adds the stack of a sample of `bytes` bytes, taken `since` ns after the run began. -1 without memory. */
int walker_add(struct walker *w, const struct sample_stack *k, size_t bytes, uint64_t since);
/* Adds the stack of a sample as walker_add() does, from frames that the kernel side has found. */
int walker_add_frames(struct walker *w, const struct unwind_frames *k, size_t bytes,
		      uint64_t since);
/* The innermost frame of the stack of the sample that was taken of thread `tid` at `time`; 0 if it is not known, or not
 * remembered. */
uint32_t walker_frame(const struct walker *w, uint32_t tid, uint64_t time);
/* Adds the names of the vDSO's procedures to the profile. */
void walker_name_procedures(struct walker *w);

#endif
