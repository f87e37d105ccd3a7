/* SPDX-License-Identifier: MIT */
/*
 * Text from outside, which may hold anything: names in recordings and ELF files, of files, threads and commands.
 *
 * Text for a terminal, a picture or a graph is cleaned here just before it is written. Each character that a terminal
 * would obey, or that would change how others are shown, becomes a '?':
 *
 *	U+0000..U+001F, U+007F..U+009F	control characters: newlines too, which forge lines of their own
 *	U+061C, U+200E, U+200F, U+202A..U+202E, U+2066..U+2069	direction of text
 *	U+2028, U+2029	separators of lines and paragraphs
 *	U+FFFE, U+FFFF	no characters: XML refuses them
 *	each byte that belongs to no UTF-8 (RFC 3629: no surrogates, nothing longer than needed)
 *
 * All other UTF-8 is kept. JSON output escapes these characters instead, so it loses nothing (report/emit).
 */
#ifndef ASSAY_BASE_TEXT_H
#define ASSAY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_INVALID UINT32_MAX

/* Returns the character at *s, which must not be 0, and advances *s. TEXT_INVALID: the byte is no valid UTF-8. */
uint32_t text_next(const char **s);
/* Returns the part of a path after its last '/'; the whole path if it ends there. */
const char *text_last_component(const char *path);
/* Whether a character may be shown. */
bool text_shows(uint32_t c);
/* Returns how many of the first bytes may be shown unchanged. */
size_t text_span(const char *s);
/* Cleans s in place; cleaning never lengthens text. Returns s. */
char *text_clean(char *s);
/* Writes a clean copy of s to buf, cut to n bytes. Returns buf. */
char *text_copy(const char *s, char *buf, size_t n);
/* Columns that UTF-8 text takes: continuation bytes take none. */
int text_columns(const char *s);
/* The byte at which column `at` of the text begins. */
const char *text_at_column(const char *s, int at);
/* Prints s, cleaned. */
void text_put(const char *s, FILE *f);

#endif
