/* SPDX-License-Identifier: MIT */
/*
 * The code, procedures and tables of an image, from which graphs are made. There is one struct
 * cfg_code for each image. It remembers results: which procedures do not return, decoded
 * instructions.
 */
#ifndef ASSAY_CFG_CODE_H
#define ASSAY_CFG_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "image/image.h"
#include "observe/profile.h"

struct cfg_proc {
	uint64_t start, end; /* [start, end) */
	const char *name;    /* "" if it has none */
};

/* The source of code: an image, or a test. Addresses are ELF virtual addresses. */
struct cfg_source {
	void *ctx;
	/* Returns the code from addr on, *n bytes of it, at least one whole instruction unless the
	 * code ends there. NULL: none. */
	const uint8_t *(*bytes)(void *ctx, uint64_t addr, size_t *n);
	/* Finds the procedure that holds addr; false: there is none. */
	bool (*proc)(void *ctx, uint64_t addr, struct cfg_proc *proc);
	/* Reads n bytes of the initial memory at addr, with addresses in them relocated (as ELF
	 * virtual addresses); false: there are none. *constant: the program cannot change them. */
	bool (*data)(void *ctx, uint64_t addr, void *buf, size_t n, bool *constant);
	/* Lists where exceptions enter the procedure that begins at start: up to max addresses.
	 * Returns how many there are. The function may be NULL. */
	size_t (*pads)(void *ctx, uint64_t start, uint64_t *pad, size_t max);
};

struct cfg_code;

/* The image remains the caller's. For use by one thread at a time. NULL with err set: no memory. */
struct cfg_code *cfg_code_new(struct image *im, struct err *err);
struct cfg_code *cfg_code_over(const struct cfg_source *src, struct err *err);
void cfg_code_free(struct cfg_code *c);

/* Finds the procedure that holds addr: the image's, or, where the image knows none, the range
 * from one called place to the next. False: no code there. */
bool cfg_code_proc(struct cfg_code *c, uint64_t addr, struct cfg_proc *proc);

/*
 * Opens the file of a recorded image, to be closed with image_close. NULL with err set: it is no ELF
 * file, is gone, or is not the one that was recorded (the hint says what to do).
 */
struct image *cfg_open_recorded(const struct profile_image *pi, struct err *err);

#endif
