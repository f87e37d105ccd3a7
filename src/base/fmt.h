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
		size_t n); /* 1.2, 3, 12, 133M: five characters or less, below 10^15 */
char *fmt_size(uint64_t bytes, char *buf, size_t n);  /* 1.2 MB */
char *fmt_percent(double share, char *buf, size_t n); /* of 0 to 1: "12.3" */
char *fmt_time(double ns, char *buf, size_t n);	      /* 1.23 s, 45.6 ms, 789 ns */
/* Hexadecimal: 0x3c8. Of 16 digits, a long run of one in front is shortened as in the seed: 0xff..ff,
 * 0x55..1c. Nothing is lost, since there are 16 of them. */
char *fmt_hex(uint64_t v, char *buf, size_t n);
/* argv as a shell would take it. To be freed; NULL without memory. */
char *fmt_shell_quote(char *const argv[]);

#endif
