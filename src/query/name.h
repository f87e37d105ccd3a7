/* SPDX-License-Identifier: MIT */
/*
 * Procedures' names in columns that are too narrow for them.
 *
 * Two C++ or Rust names mostly differ at their ends. So template arguments give way first (f<..>), then the middle:
 * "std::__detail::_Map_base<..>::operator[]" becomes "std::__d..::operator[]". In one table two names never look the
 * same.
 */
#ifndef ASSAY_QUERY_NAME_H
#define ASSAY_QUERY_NAME_H

#include <stddef.h>

#define NAME_INLINED \
	" (inlined)" /* follows the name of a procedure that the compiler has put into another */

/* Writes the name in at most `width` columns to buf. attempt: 0, or more for another way to cut
 * it. */
char *name_fit(const char *name, int width, unsigned attempt, char *buf, size_t n);

/* The names of one table, as they were shown; zeroed when empty. */
struct names {
	struct name_shown *shown;
};
/* Writes the name in at most `width` columns to buf, unlike all others of the table. Without
 * memory it may equal one of them. */
char *names_fit(struct names *t, const char *name, int width, char *buf, size_t n);
void names_forget(struct names *t);

#endif
