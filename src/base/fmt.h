/* SPDX-License-Identifier: MIT */
/*
 * Numbers and words as people read them. Each writes to buf and returns it.
 */
#ifndef ASSAY_BASE_FMT_H
#define ASSAY_BASE_FMT_H

#include <stddef.h>
#include <stdint.h>

char *fmt_count(uint64_t v, char *buf, size_t n); /* 12,034 */
char *fmt_short(double v, char *buf,
		size_t n); /* 1.2, 3, 12, 133M: at most five characters below 10^15 */
char *fmt_size(uint64_t bytes, char *buf, size_t n);  /* 1.2 MB */
char *fmt_percent(double share, char *buf, size_t n); /* a share from 0 to 1: "12.3" */
char *fmt_time(double ns, char *buf, size_t n);	      /* 1.23 s, 45.6 ms, 789 ns */
/* Hexadecimal: 0x3c8. In a number of 16 digits, a long run of one leading digit is shortened:
 * 0xff..ff, 0x55..1c. No digit is lost, because the number is known to have 16. */
char *fmt_hex(uint64_t v, char *buf, size_t n);
/* argv quoted for a shell. The caller frees the result; NULL without memory. */
char *fmt_shell_quote(char *const argv[]);

#endif
