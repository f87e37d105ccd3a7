/* SPDX-License-Identifier: MIT */
#ifndef ASSAY_IMAGE_KSYMS_PRIV_H
#define ASSAY_IMAGE_KSYMS_PRIV_H

#include <stddef.h>

#include "image/ksyms.h"

/* Takes text in the form of /proc/kallsyms, n bytes and a 0, from malloc: it belongs to the result,
 * and is freed on failure too. */
struct ksyms *ksyms_parse(char *text, size_t n, struct err *err);

#endif
