/* SPDX-License-Identifier: MIT */
/*
 * Which ELF image of one recording is which of another.
 */
#ifndef ASSAY_REPORT_MATCH_H
#define ASSAY_REPORT_MATCH_H

#include "report/reading.h"

#define MATCH_NONE UINT32_MAX

bool match_is_file(const struct view *v, uint32_t image);
/* The same file where another recording saw it: of one build-id, and if there are several, of one path. Or
 * MATCH_NONE. */
uint32_t match_find(const struct view *in, const struct profile_image *im);
/* By image of `of`: the same ELF image in the other recording, or MATCH_NONE. To be freed; NULL without memory. */
uint32_t *match_images(const struct view *of, const struct view *in);
/* -1 with err set, naming them, if files at one path differ. A path may have had several files (a
 * compiler's output); they differ if none is in both. */
int match_builds(const struct reading *a, const struct reading *b, struct err *err);
/* The error that `sampled` has nothing in common with `exact`. Returns -1. */
int match_nothing(const struct reading *sampled, const struct reading *exact, struct err *err);

#endif
