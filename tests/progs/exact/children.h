/* SPDX-License-Identifier: MIT */
/*
 * Children: how they ended, as a text.
 */
#ifndef EXACT_CHILDREN_H
#define EXACT_CHILDREN_H

#include "cases.h"

#include <sys/wait.h>

/* What ends in a status: reaped, and as a text. */
static inline void reap(int child)
{
	int status = 0;

	CHECK(child > 0);
	EQ(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		printf("killed by %d\n", WTERMSIG(status));
	else
		printf("exited with %d\n", WEXITSTATUS(status));
}

static inline int next_child(void)
{
	siginfo_t info = { 0 };

	waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
	return info.si_pid;
}

#endif
