/* SPDX-License-Identifier: MIT */
#include "observe/layouts.h"

#include <math.h>
#include <stdlib.h>

#include "base/keyed.h"

#define LAYOUTS_MAX 16384 /* layouts that are remembered; when there are more, all are forgotten */

struct layout {
	uint64_t key[2]; /* where the stack begins; the image */
	uint64_t samples;
	UT_hash_handle hh;
};

void layouts_free(struct profile *p)
{
	struct layout *l = p->layouts, *next;

	HASH_CLEAR(hh, p->layouts);
	for (; l; l = next) {
		next = l->hh.next;
		free(l);
	}
}

int layouts_note(struct profile *p, uint32_t image, uint64_t stack)
{
	struct layout *l, wanted = { 0 };
	struct profile_image *pi = p->image[image];

	wanted.key[0] = stack;
	wanted.key[1] = image;
	if (HASH_COUNT(p->layouts) >= LAYOUTS_MAX)
		layouts_free(p);
	l = keyed_get(p->layouts, key, wanted.key);
	if (!l)
		return -1;
	pi->layout_samples++;
	pi->layout_squares += 2 * (double)l->samples++ + 1;
	return 0;
}

double layouts_of(const struct profile_image *pi)
{
	double n = (double)pi->layout_samples;

	return n > 0 ? fmax(1, n * n / pi->layout_squares) : 1;
}

void layouts_add(struct profile_image *to, const struct profile_image *from)
{
	to->layout_samples += from->layout_samples;
	to->layout_squares += from->layout_squares;
}
