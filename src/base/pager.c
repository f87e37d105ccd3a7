/* SPDX-License-Identifier: MIT */
#include "base/pager.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_FOUND 127 /* the shell's status for a command that does not exist */
#define ROWS 24
#define COLUMNS 80

static int terminal = -1; /* the original standard output */
static const char *command;

/* NULL: none. */
static const char *find_command(void)
{
	const char *term = getenv("TERM"), *name = getenv("ASSAY_PAGER");

	if (!term || !strcmp(term, "dumb"))
		return NULL;
	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = "less";
	return *name && strcmp(name, "cat") != 0 ? name : NULL;
}

int pager_terminal(int fd)
{
	return fd == STDOUT_FILENO && terminal >= 0 ? terminal : fd;
}

void pager_begin(bool paged)
{
	int kept;

	if (!isatty(STDOUT_FILENO))
		return;
	kept = memfd_create("output", MFD_CLOEXEC);
	if (kept < 0)
		return;
	fflush(stdout);
	terminal = dup(STDOUT_FILENO);
	if (terminal >= 0 && dup2(kept, STDOUT_FILENO) < 0) {
		close(terminal);
		terminal = -1;
	}
	close(kept);
	command = paged ? find_command() : NULL;
}

/* The length of the control sequence at s, which begins with ESC [ and takes no columns of the terminal; or 0. */
static size_t skip_sequence(const char *s, size_t n)
{
	size_t i = 2;

	if (n < 2 || s[0] != '\033' || s[1] != '[')
		return 0;
	while (i < n && (s[i] < '@' || s[i] > '~'))
		i++;
	return i < n ? i + 1 : n;
}

static unsigned rows_of(const char *s, size_t n, unsigned columns)
{
	unsigned rows = 0, column = 0;

	for (size_t i = 0, skip; i < n; i += skip ? skip : 1) {
		skip = skip_sequence(s + i, n - i);
		if (skip || ((unsigned char)s[i] & 0xc0) == 0x80)
			continue;
		if (s[i] == '\n' || column == columns) {
			rows++;
			column = 0;
		}
		column += s[i] != '\n';
	}
	return rows + (column > 0);
}

/* Whether the text and the shell's next prompt fit on the screen. */
static bool fits(const char *text, size_t n)
{
	struct winsize w;
	bool known = !ioctl(terminal, TIOCGWINSZ, &w);
	unsigned rows = known && w.ws_row ? w.ws_row : ROWS;

	return rows_of(text, n, known && w.ws_col ? w.ws_col : COLUMNS) < rows;
}

static void write_all(const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(STDOUT_FILENO, text, n);

		if (done <= 0)
			return;
		text += done;
		n -= (size_t)done;
	}
}

/* The pager reads the kept text from its beginning. less keeps colours, and leaves the text on the screen. */
static void run_pager(int kept)
{
	if (lseek(kept, 0, SEEK_SET) || dup2(kept, STDIN_FILENO) < 0)
		_exit(NOT_FOUND);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(NOT_FOUND);
}

/* Whether the pager could be started. Meanwhile interrupts from the keyboard go to the pager. */
static bool show(int kept)
{
	void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		run_pager(kept);
	if (pid > 0)
		waitpid(pid, &status, 0);
	signal(SIGINT, interrupt);
	signal(SIGQUIT, quit);
	return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND);
}

void pager_end(void)
{
	char *text = NULL;
	off_t n;
	int kept;

	if (terminal < 0)
		return;
	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	dup2(terminal, STDOUT_FILENO);
	n = kept < 0 ? 0 : lseek(kept, 0, SEEK_END);
	if (n > 0)
		text = mmap(NULL, (size_t)n, PROT_READ, MAP_SHARED, kept, 0);
	if (text && text != MAP_FAILED) {
		if (!command || fits(text, (size_t)n) || !show(kept))
			write_all(text, (size_t)n);
		munmap(text, (size_t)n);
	}
	if (kept >= 0)
		close(kept);
	close(terminal);
	terminal = -1;
}
