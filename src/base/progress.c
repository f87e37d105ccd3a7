/* SPDX-License-Identifier: MIT */
#include "base/progress.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#define FIRST_MS 500
#define AGAIN_MS 200
#define SECONDS_MS 2000 /* from then on the line says how long it has been */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t stop;
	pthread_t thread;
	bool running, visible;
	int64_t since;
	char what[200];
} at = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int64_t now_ms(void)
{
	return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

static void paint(void)
{
	int64_t passed = now_ms() - at.since;

	fprintf(stderr, "\r%.*s", (int)(text_at_column(at.what, term_width(stderr) - 12) - at.what),
		at.what);
	if (passed >= SECONDS_MS)
		fprintf(stderr, " %d s", (int)(passed / 1000));
	fputs("\033[K", stderr);
	fflush(stderr);
	at.visible = true;
}

static void erase(void)
{
	if (at.visible)
		fputs("\r\033[K", stderr);
	at.visible = false;
}

/* Waits `ms` milliseconds, or until the work is done if that is sooner. */
static void wait_ms(int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&at.stop, &at.lock, &until);
}

static void *repaint(void *unused)
{
	pthread_mutex_lock(&at.lock);
	for (int64_t ms = FIRST_MS; at.running; ms = AGAIN_MS) {
		wait_ms(ms);
		if (at.running && now_ms() - at.since >= FIRST_MS)
			paint();
	}
	erase();
	pthread_mutex_unlock(&at.lock);
	return unused;
}

/* A message takes the line's place; the line comes again below it. */
static void make_room(void)
{
	pthread_mutex_lock(&at.lock);
	erase();
	pthread_mutex_unlock(&at.lock);
}

static void begin(void)
{
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&at.stop, &clock);
	pthread_condattr_destroy(&clock);
	at.since = now_ms();
	at.running = true;
	if (pthread_create(&at.thread, NULL, repaint, NULL))
		at.running = false;
	log_before(make_room);
}

void progress_show(const char *what, size_t done, size_t of)
{
	if (!isatty(STDERR_FILENO))
		return;
	pthread_mutex_lock(&at.lock);
	if (of > 1)
		snprintf(at.what, sizeof(at.what), "%s: %zu of %zu", what, done, of);
	else
		snprintf(at.what, sizeof(at.what), "%s", what);
	text_clean(at.what);
	if (!at.running)
		begin();
	pthread_mutex_unlock(&at.lock);
}

void progress_file(const char *what, const char *path)
{
	char text[sizeof(at.what)];

	snprintf(text, sizeof(text), "%s %s", what, path);
	progress_show(text, 0, 0);
}

void progress_end(void)
{
	bool running;

	pthread_mutex_lock(&at.lock);
	running = at.running;
	at.running = false;
	if (running)
		pthread_cond_signal(&at.stop);
	pthread_mutex_unlock(&at.lock);
	if (!running)
		return;
	pthread_join(at.thread, NULL);
	pthread_cond_destroy(&at.stop);
	log_before(NULL);
}
