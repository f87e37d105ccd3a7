/* SPDX-License-Identifier: MIT */
/*
 * This program as the image that others execute, and what it finds.
 */
#ifndef EXACT_IMAGES_H
#define EXACT_IMAGES_H

#include "cases.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>

extern char **environ;
static char self[PATH_MAX];
static char *const plain_env[] = { "A=1", "B=two words", "EMPTY=", NULL };

static void find_self(void)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	CHECK(n > 0);
	self[n > 0 ? n : 0] = 0;
}

/* What an image finds. */
CASE(child_look)
{
	char cwd[PATH_MAX], target[PATH_MAX];
	sigset_t mask;

	printf("%d arguments:", argc);
	for (int i = 0; i < argc; i++)
		printf(" <%s>", argv[i]);
	printf("\nenvironment:");
	for (char **e = environ; *e; e++)
		printf(" <%s>", *e);
	CHECK(getcwd(cwd, sizeof cwd) != NULL);
	printf("\ncwd: %s\n", !strncmp(cwd, "/tmp", 4) ? "in the folder" : cwd);
	for (int fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int i = 1; i <= 64; i++) {
		struct sigaction act;

		if (sigismember(&mask, i) > 0)
			printf("blocked %d\n", i);
		if (!sigaction(i, NULL, &act) && act.sa_handler == SIG_IGN)
			printf("ignored %d\n", i);
		else if (i != 32 && i != 33 && act.sa_handler != SIG_DFL)
			printf("handled %d\n", i);
	}
	stack_t alternate;
	sigaltstack(NULL, &alternate);
	EQ(alternate.ss_flags, SS_DISABLE);
	ssize_t n = readlink("/proc/self/exe", target, sizeof target - 1);
	target[n > 0 ? n : 0] = 0;
	printf("exe: %s\n", strrchr(target, '/') ? strrchr(target, '/') : target);
	FILE *f = fopen("/proc/self/comm", "r");
	char comm[64];
	CHECK(f && fgets(comm, sizeof comm, f));
	printf("comm: %s", comm);
}

CASE(child_count)
{
	uint64_t n = 0;

	for (int i = 0; i < argc; i++)
		n += strlen(argv[i]);
	printf("%d arguments, %llu bytes\n", argc, (unsigned long long)n);
}

#endif
