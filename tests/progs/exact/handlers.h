/* SPDX-License-Identifier: MIT */
/*
 * What programs about signals begin with: handlers that keep what they are told, and how signals come.
 */
#ifndef EXACT_HANDLERS_H
#define EXACT_HANDLERS_H

#include "cases.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t caught, last_number;
static volatile siginfo_t last_info;

static inline void on_info(int number, siginfo_t *info, void *context)
{
	(void)context;
	last_info = *info;
	last_number = number;
	caught++;
}

static void handle(int number, void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = { .sa_sigaction = f, .sa_flags = SA_SIGINFO | flags };

	EQ(sigaction(number, &act, NULL), 0);
}

static inline void every(int microseconds)
{
	struct itimerval t = { { 0, microseconds }, { 0, microseconds } };

	setitimer(ITIMER_REAL, &t, NULL);
}

#endif
