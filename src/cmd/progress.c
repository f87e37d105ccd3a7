/* SPDX-License-Identifier: MIT */
#include "cmd/progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_MS 500
#define AGAIN_MS 100

static int64_t started, shown;
static bool visible;

void progress_show(const char *what, size_t done, size_t of)
{
	int64_t now;

	if (!isatty(STDERR_FILENO))
		return;
	now = (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
	if (!started)
		started = now;
	if (now - started < FIRST_MS || now - shown < AGAIN_MS)
		return;
	shown = now;
	visible = true;
	if (of > 1)
		fprintf(stderr, "\r%s: %zu of %zu\033[K", what, done, of);
	else
		fprintf(stderr, "\r%s\033[K", what);
}

void progress_end(void)
{
	if (visible)
		fputs("\r\033[K", stderr);
	visible = false;
	started = 0;
}
