/* SPDX-License-Identifier: MIT */
#include "cmd/progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 500
#define AGAIN_MS 100

static int64_t started, shown;
static bool visible;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void progress_show(const char *what, size_t done, size_t of)
{
	int64_t now;

	if (!isatty(STDERR_FILENO))
		return;
	now = now_ms();
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
