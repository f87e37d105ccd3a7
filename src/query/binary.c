/* SPDX-License-Identifier: MIT */
#include "query/binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int binaries_init(struct binaries *b, const struct profile *p, binary_warn warn, struct err *err)
{
	*b = (struct binaries){ .profile = p, .warn = warn };
	b->v = calloc(p->nimage + 1, sizeof(*b->v));
	return b->v ? 0 : err_no_memory(err, "the binary");
}

void binaries_fini(struct binaries *b)
{
	for (size_t i = 0; b->v && i < b->profile->nimage; i++)
		if (b->v[i].im)
			image_close(b->v[i].im);
	free(b->v);
	b->v = NULL;
}

static void refuse(struct binaries *b, const char *why)
{
	b->missing++;
	if (b->warn)
		b->warn("%s: its code and source lines are not shown; put back the file that was "
			"recorded, or record again",
			why);
}

static struct image *open_recorded(struct binaries *b, const struct profile_image *pi)
{
	struct image *im;
	struct err err;

	im = image_open(pi->path, pi->path, &err);
	if (!im) {
		refuse(b, err.msg);
		return NULL;
	}
	if (pi->build_id[0] && strcmp(image_build_id(im), pi->build_id)) {
		char why[4400];

		snprintf(why, sizeof(why),
			 "%s is not the file that was recorded (build-id %.16s, recorded "
			 "%.16s)",
			 pi->path, image_build_id(im), pi->build_id);
		refuse(b, why);
		image_close(im);
		return NULL;
	}
	return im;
}

struct image *binaries_get(struct binaries *b, uint32_t image)
{
	const struct profile_image *pi;
	struct binary *one;

	if (image >= b->profile->nimage)
		return NULL;
	pi = b->profile->image[image];
	one = &b->v[image];
	if (!one->tried && pi->kind == IMAGE_FILE)
		one->im = open_recorded(b, pi);
	one->tried = true;
	return one->im;
}
