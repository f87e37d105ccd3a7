/* SPDX-License-Identifier: MIT */
/* The line of progress, as a terminal on the standard error gets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/progress.h"

#define PATIENCE_MS 60000

static int master, own; /* the terminal's other end; the standard error as it was */
static char got[65536];
static size_t n;

static int setup(void **state)
{
	struct winsize size = { .ws_row = 24, .ws_col = 60 };
	int slave;

	(void)state;
	n = 0;
	if (openpty(&master, &slave, NULL, NULL, &size))
		return -1;
	own = dup(STDERR_FILENO);
	dup2(slave, STDERR_FILENO);
	close(slave);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dup2(own, STDERR_FILENO);
	close(own);
	close(master);
	return 0;
}

/* Reads on; false if nothing comes in time. */
static bool more(int ms)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	ssize_t r = poll(&p, 1, ms) > 0 ? read(master, got + n, sizeof(got) - 1 - n) : 0;

	if (r <= 0)
		return false;
	n += (size_t)r;
	got[n] = 0;
	return true;
}

/* Waits until the text comes behind `from`, and returns where it ends. */
static const char *await(const char *from, const char *text)
{
	const char *at;

	while (!(at = strstr(from, text)))
		assert_true(more(PATIENCE_MS));
	return at + strlen(text);
}

/* Whatever was written, the line is empty again. */
static void assert_erased(void)
{
	while (more(0))
		;
	if (n)
		assert_string_equal(got + n - 4, "\r\033[K");
}

static void test_line(void **state)
{
	const char *at = got;

	(void)state;
	got[0] = 0;
	progress_file("reading", "a\tfile.db");
	at = await(at, "\rreading a?file.db\033[K"); /* what a terminal would obey is replaced */
	progress_show("adding", 2, 7);
	at = await(at, "\radding: 2 of 7\033[K");
	log_line("a message");
	at = await(at, "\r\033[Ka message\r\n"); /* takes the line's place */
	at = await(at, "\radding: 2 of 7");	 /* which comes again */
	at = await(at, " s\033[K");		 /* and then says for how long */
	progress_end();
	await(at, "\r\033[K");
	assert_erased();
}

/* It can begin again at once, and what ends soon leaves nothing. */
static void test_short(void **state)
{
	(void)state;
	got[0] = 0;
	for (int i = 0; i < 100; i++) {
		progress_show("short", 0, 0);
		progress_end();
	}
	progress_end();
	assert_erased();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
