/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of samples. The kernel side copies registers and the top of the stack (bpf/stack.h); here the copy is walked by
 * the images' unwind information, frame by frame, into the profile's tree of frames (observe/stacks.h). Every stack ends with
 * a reason: it is whole, or it says why it is cut.
 */
#ifndef ASSAY_SAMPLER_STACKS_H
#define ASSAY_SAMPLER_STACKS_H

#include "sampler/bpf/shared.h"
#include "sampler/files.h"

struct walker;

/* NULL without memory. `files` outlives it; kernel_image and vdso_image are numbers in the profile. */
struct walker *walker_new(struct files *files, uint32_t kernel_image, uint32_t vdso_image,
			  uint32_t anon_image);
void walker_free(struct walker *w);
/* Adds the stack of a sample of `bytes` bytes, taken `since` ns after the run began. -1 without memory. */
int walker_add(struct walker *w, const struct sample_stack *k, size_t bytes, uint64_t since);
/* The innermost frame of the stack of the sample that was taken of the thread at that time; 0: it is not known, or no longer. */
uint32_t walker_frame(const struct walker *w, uint32_t tid, uint64_t time);

#endif
