/* SPDX-License-Identifier: MIT */
/* Matching of the ELF images of two recordings. */
#ifndef ASSAY_REPORT_MATCH_H
#define ASSAY_REPORT_MATCH_H

#include "report/reading.h"

#define MATCH_NONE UINT32_MAX

bool match_is_file(const struct view *v, uint32_t image);
/* Finds the same file in another recording: by build-id, and if there are several, by path. Or
 * MATCH_NONE. */
uint32_t match_find(const struct view *in, const struct profile_image *im);
/* By image of `of`: the matching ELF image in the other recording, or MATCH_NONE. To be freed;
 * NULL without memory. */
uint32_t *match_images(const struct view *of, const struct view *in);
/* Returns -1 with err set, naming the images, if files of one path differ. A path may have had
 * several files (a compiler's output); they differ if they have none in common. */
int match_builds(const struct reading *a, const struct reading *b, struct err *err);
/* Sets the error that `sampled` has nothing in common with `exact`. Returns -1. */
int match_nothing(const struct reading *sampled, const struct reading *exact, struct err *err);

#endif
