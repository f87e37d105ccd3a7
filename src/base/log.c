/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/pager.h"
#include "base/text.h"

static void (*before_line)(void);

void log_before(void (*call)(void))
{
	before_line = call;
}

static void put_line(const char *before, const char *fmt, va_list ap)
{
	char text[4096 + 1024]; /* room for a path and a message about it */

	vsnprintf(text, sizeof(text), fmt, ap);
	if (before_line)
		before_line();
	fprintf(stderr, "%s%s\n", before, text_clean(text));
}

void log_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line("", fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line("assay: warning: ", fmt, ap);
	va_end(ap);
}

void log_err(const struct err *err)
{
	log_line("assay: %s", err->msg);
	if (err->hint[0])
		log_line("  %s", err->hint);
}

bool term_color(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (!no || !*no) && term && strcmp(term, "dumb") != 0 &&
	       isatty(pager_terminal(fileno(f)));
}

int term_width(FILE *f)
{
	int fd = pager_terminal(fileno(f));
	struct winsize w;

	if (isatty(fd) && !ioctl(fd, TIOCGWINSZ, &w) && w.ws_col >= 40)
		return w.ws_col;
	return 80;
}
