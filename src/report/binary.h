/* SPDX-License-Identifier: MIT */
/*
 * The files behind a recording's images, opened when first asked for and only if they are still the
 * ones that were recorded.
 */
#ifndef ASSAY_REPORT_BINARY_H
#define ASSAY_REPORT_BINARY_H

#include "image/image.h"
#include "observe/profile.h"

typedef void (*binary_warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct binary {
	bool tried;
	struct image *im;
};

struct binaries {
	const struct profile *profile;
	struct binary *v; /* by image */
	binary_warn warn; /* is told, once an image, what cannot be used and why; or NULL */
	unsigned missing; /* images that could not be used */
};

int binaries_init(struct binaries *b, const struct profile *p, binary_warn warn, struct err *err);
void binaries_fini(struct binaries *b);
/* NULL: not an ELF image, gone, or replaced. */
struct image *binaries_get(struct binaries *b, uint32_t image);

#endif
