/* SPDX-License-Identifier: MIT */
#include "base/fmt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *fmt_count(uint64_t v, char *buf, size_t n)
{
	char digits[32], out[48];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, v), k = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[k++] = ',';
		out[k++] = digits[i];
	}
	out[k] = 0;
	snprintf(buf, n, "%s", out);
	return buf;
}

char *fmt_short(double v, char *buf, size_t n)
{
	static const char *const unit[] = { "", "k", "M", "G", "T" };
	int k = 0;

	for (; v >= 999.5 && k < 4; k++)
		v /= 1000;
	snprintf(buf, n, v < 9.95 && (k || v != floor(v)) ? "%.1f%s" : "%.0f%s", v, unit[k]);
	return buf;
}

char *fmt_size(uint64_t bytes, char *buf, size_t n)
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB" };
	double v = (double)bytes;
	int i = 0;

	/* A value that would print as 1000.0 is shown in the next larger unit. */
	while (v >= (i ? 999.95 : 1000) && i < 4) {
		v /= 1000;
		i++;
	}
	snprintf(buf, n, i ? "%.1f %s" : "%.0f %s", v, unit[i]);
	return buf;
}

char *fmt_percent(double share, char *buf, size_t n)
{
	double p = 100 * share;

	snprintf(buf, n, p > 0 && p < 0.05 ? "%.2f" : "%.1f", p);
	return buf;
}

char *fmt_time(double ns, char *buf, size_t n)
{
	if (ns >= 1e9)
		snprintf(buf, n, "%.2f s", ns / 1e9);
	else if (ns >= 1e6)
		snprintf(buf, n, "%.1f ms", ns / 1e6);
	else if (ns >= 1e3)
		snprintf(buf, n, "%.1f us", ns / 1e3);
	else
		snprintf(buf, n, "%.0f ns", ns);
	return buf;
}

char *fmt_hex(uint64_t v, char *buf, size_t n)
{
	char digits[20];
	int len = snprintf(digits, sizeof(digits), "%" PRIx64, v), run = 1;

	while (run < len && digits[run] == digits[0])
		run++;
	if (run > len - 2)
		run = len - 2;
	if (len == 16 && run > 4)
		snprintf(buf, n, "0x%.2s..%s", digits, digits + run);
	else
		snprintf(buf, n, "0x%s", digits);
	return buf;
}

static size_t quote(const char *word, char *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "@%+=:,./-_";
	size_t k = 0;

	if (*word && strspn(word, plain) == strlen(word)) {
		strcpy(out, word);
		return strlen(word);
	}
	out[k++] = '\'';
	for (; *word; word++) {
		if (*word == '\'') {
			memcpy(out + k, "'\\''", 4);
			k += 4;
		} else {
			out[k++] = *word;
		}
	}
	out[k++] = '\'';
	out[k] = 0;
	return k;
}

char *fmt_shell_quote(char *const argv[])
{
	size_t n = 1, k = 0;
	char *s;

	for (int i = 0; argv[i]; i++)
		n += 4 * strlen(argv[i]) + 3;
	s = malloc(n);
	if (!s)
		return NULL;
	s[0] = 0;
	for (int i = 0; argv[i]; i++) {
		if (i)
			s[k++] = ' ';
		k += quote(argv[i], s + k);
	}
	return s;
}
