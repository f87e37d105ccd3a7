/* SPDX-License-Identifier: MIT */
/* The files of a recording's images, opened on demand if they are still the recorded ones. */
#ifndef ASSAY_QUERY_BINARY_H
#define ASSAY_QUERY_BINARY_H

#include "image/image.h"
#include "observe/profile.h"

typedef void (*binary_warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct binary {
	bool tried;
	struct image *im;
};

struct binaries {
	const struct profile *profile;
	struct binary *v; /* by image number */
	binary_warn warn; /* called once for each unusable image, with the reason; or NULL */
	unsigned missing; /* number of unusable images */
};

int binaries_init(struct binaries *b, const struct profile *p, binary_warn warn, struct err *err);
void binaries_fini(struct binaries *b);
/* Returns NULL if the image is no ELF file, missing, or replaced. */
struct image *binaries_get(struct binaries *b, uint32_t image);

#endif
