/* SPDX-License-Identifier: MIT */
/* Steps from a procedure's frame to its caller's, by the image's unwind information. */
#ifndef ASSAY_IMAGE_FRAMES_H
#define ASSAY_IMAGE_FRAMES_H

#include "image/image.h"

struct frame_state {
	uint64_t pc;	  /* run-time address */
	uint64_t reg[16]; /* in encoding order: rax rcx rdx rbx rsp and so on */
	/* interrupted by a signal, whose frame was the one below: pc is not a return address */
	bool interrupted;
};

enum frames_next {
	FRAMES_CALLER,	  /* f is the caller's state now */
	FRAMES_OUTERMOST, /* f has no caller, says the image */
	FRAMES_UNKNOWN,	  /* the image has no rule for the address */
	FRAMES_UNREADABLE, /* memory that the rule needs could not be read, or the rule makes no sense */
};

/*
 * Changes f to the caller's state. `to_addr` is added to run-time addresses to give those of the
 * image; `returned`: pc is a return address, not the current instruction. `read` reads eight bytes
 * of the program's memory. False if the image does not tell, or f was the outermost frame.
 */
enum frames_next frames_next(struct image *im, struct frame_state *f, uint64_t to_addr,
			     bool returned, bool (*read)(void *ctx, uint64_t at, uint64_t *v),
			     void *ctx);
/* Whether frames_next() finds the caller. */
bool frames_step(struct image *im, struct frame_state *f, uint64_t to_addr, bool returned,
		 bool (*read)(void *ctx, uint64_t at, uint64_t *v), void *ctx);

#endif
