/* SPDX-License-Identifier: MIT */
/* Messages on stderr, cleaned for a terminal (base/text), and the abilities of a terminal. */
#ifndef ASSAY_BASE_LOG_H
#define ASSAY_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

void log_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Sets a function to be called before each of these lines; NULL: none. */
void log_before(void (*call)(void));
/* "assay: message" and the remedy on a line of its own. */
void log_err(const struct err *err);

/* Colours are for terminals where NO_COLOR is not set and TERM is not dumb. */
bool term_color(FILE *f);
int term_width(FILE *f); /* columns of the terminal; 80 if f is no terminal */

#endif
