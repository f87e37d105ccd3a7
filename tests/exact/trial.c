/* SPDX-License-Identifier: MIT */
/*
 * Runs a command to its end or for so long, and says how it ended: what the tests and benches of the
 * exact engine compare.
 *
 * Usage: trial [-t SECONDS] [-s FILE] COMMAND ARG…
 *   -s FILE   one line: "exit 3", "signal 11" or "timeout", then CPU seconds, wall seconds, and the
 *             largest resident set in KiB, of it and its descendants
 * Nothing of it survives: descendants become its children and are killed when the command has ended.
 * No core files. Exit status as a shell's: its own, 128 + signal, 124 for a timeout.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Kills our children; their children become ours. Whether there were any. */
static int kill_children(void)
{
	char path[64];
	int pid, any = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	if (!f)
		return 0;
	while (fscanf(f, "%d", &pid) == 1) {
		kill(pid, SIGKILL);
		any = 1;
	}
	fclose(f);
	return any;
}

static void reap_all(void)
{
	while (kill_children()) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(2000);
	}
}

static volatile sig_atomic_t stopped;
static void on_stop(int number)
{
	stopped = number;
}

static int start(char **command)
{
	struct rlimit none = { 0, 0 };
	int pid = fork();

	if (pid)
		return pid;
	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &none);
	execvp(command[0], command);
	fprintf(stderr, "trial: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

int main(int argc, char **argv)
{
	double limit = 60, began;
	const char *file = NULL;
	int o, pid, status = 0, timed_out = 0;
	sigset_t child;
	struct rusage usage;

	while ((o = getopt(argc, argv, "+t:s:")) != -1) {
		if (o == 't')
			limit = atof(optarg);
		else if (o == 's')
			file = optarg;
		else
			return 2;
	}
	if (optind == argc) {
		fprintf(stderr, "usage: trial [-t SECONDS] [-s FILE] COMMAND ARG…\n");
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGTERM, on_stop);
	signal(SIGINT, on_stop);
	began = now();
	pid = start(argv + optind);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL); /* of ours only: the command has begun */
	for (;;) {
		struct timespec tick = { 0, 100000000 };
		int got = waitpid(-1, &status, WNOHANG);

		if (got == pid)
			break;
		if (got > 0)
			continue;
		if (now() - began > limit || stopped) {
			timed_out = 1;
			break;
		}
		sigtimedwait(&child, NULL, &tick);
	}
	limit = now() - began;
	reap_all();
	getrusage(RUSAGE_CHILDREN, &usage);
	if (file) {
		FILE *f = fopen(file, "w");

		if (!f)
			return 2;
		if (timed_out)
			fputs("timeout", f);
		else if (WIFSIGNALED(status))
			fprintf(f, "signal %d", WTERMSIG(status));
		else
			fprintf(f, "exit %d", WEXITSTATUS(status));
		fprintf(f, " %.3f %.3f %ld\n",
			(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
				(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
			limit, usage.ru_maxrss);
		fclose(f);
	}
	return timed_out ? 124 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
