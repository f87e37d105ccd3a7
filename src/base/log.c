/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void log_warn(const char *fmt, ...)
{
	va_list ap;

	fputs("assay: warning: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void log_err(const struct err *err)
{
	fprintf(stderr, "assay: %s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  %s\n", err->hint);
}

bool term_color(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (!no || !*no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(f));
}

int term_width(FILE *f)
{
	struct winsize w;

	if (isatty(fileno(f)) && !ioctl(fileno(f), TIOCGWINSZ, &w) && w.ws_col >= 40)
		return w.ws_col;
	return 80;
}
