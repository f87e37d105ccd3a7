/* SPDX-License-Identifier: MIT */
/*
 * Layouts: in how many processes an image was executed whose memory lies at different addresses. Each process that
 * executes a program has its stack, heap and libraries elsewhere (address space layout randomisation); forked children
 * have them where their parent has. Addresses that an image was seen to access in k layouts are of k processes that
 * share no lines.
 */
#ifndef ASSAY_OBSERVE_LAYOUTS_H
#define ASSAY_OBSERVE_LAYOUTS_H

#include "observe/profile.h"

/* Counts a sample in the image, in a process whose stack begins there. -1 without memory. */
int layouts_note(struct profile *p, uint32_t image, uint64_t stack);
/* The effective number of layouts of the image: the square of the sum of its layouts' samples over the sum of their
 * squares. 1 if no sample was counted. */
double layouts_of(const struct profile_image *pi);
void layouts_add(struct profile_image *to, const struct profile_image *from);
void layouts_free(struct profile *p);

#endif
