/* SPDX-License-Identifier: MIT */
/* Finding the procedure that the user names. */
#ifndef ASSAY_QUERY_LOOKUP_H
#define ASSAY_QUERY_LOOKUP_H

#include "query/view.h"

/*
 * The procedure of that name, mangled or demangled, with or without its parameters; or a shell pattern;
 * or an address in it ("0x3a10"). what = NULL: the one with most time
 * (of those whose instructions were observed, if there are any). Only in images that match the
 * shell pattern `image` (NULL: in any). NULL with err set: none (ERR_EMPTY, with what is near) or several
 * (ERR_USAGE, with how to tell them apart).
 */
const struct view_proc *lookup_proc(const struct view *v, const char *what, const char *image,
				    struct err *err);

#endif
