/* SPDX-License-Identifier: MIT */
/* Shared by the programs that test threads: starting threads together, waiting for them, and work for them to do. */
#ifndef EXACT_THREADS_H
#define EXACT_THREADS_H

#include "cases.h"

#include <pthread.h>

#define N 64
static pthread_t threads[N];

static void start_all(int n, void *(*f)(void *))
{
	for (int i = 0; i < n; i++)
		EQ(pthread_create(&threads[i], NULL, f, (void *)(intptr_t)i), 0);
}

static void join_all(int n)
{
	for (int i = 0; i < n; i++)
		EQ(pthread_join(threads[i], NULL), 0);
}

NOINLINE static uint64_t fib(uint64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

#endif
