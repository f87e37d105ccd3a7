/* SPDX-License-Identifier: MIT */
/*
 * Transfers of control of every kind, each as often as is known (tests/cli/export.t): a loop, a tail call, indirect calls, a
 * switch, calls of another image, and calls from there; a part that compilers move elsewhere as it is cold. With FOREVER it
 * goes on until it is killed, as does its child, which alone executes child_spin().
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static volatile long sink;

KEEP void spin(long n)
{
	for (long i = 0; i < n; i++)
		sink = sink + i;
}

KEEP long ends_here(long n)
{
	return sink + n;
}

KEEP long goes_on(long n)
{
	sink = n;
	return ends_here(n + 1);
}

KEEP void first(void)
{
	sink = sink + 1;
}

KEEP void second(void)
{
	sink = sink + 2;
}

KEEP void apply(void (*f)(void))
{
	f();
	sink = sink * 2;
}

KEEP int choose(int i)
{
	switch (i) {
	case 0:
		return (int)sink + 3;
	case 1:
		return puts("one");
	case 2:
		return (int)(sink * 5);
	case 3:
		return getenv("BRANCHING") != NULL;
	case 4:
		return (int)sink - 7;
	default:
		return abs((int)sink);
	}
}

KEEP int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static __attribute__((cold)) KEEP void complain(long n)
{
	sink = sink - n;
}

KEEP void split(long n)
{
	if (n % 10 == 3)
		complain(n);
	sink = sink + n;
}

#ifdef FOREVER
KEEP void child_spin(long n)
{
	for (long i = 0; i < n; i++)
		sink = sink ^ i;
}

static _Noreturn void forever(void)
{
	pid_t parent = getpid(), child = fork();

	for (;;) {
		if (!child)
			child_spin(1000);
		else
			spin(1000);
		choose((int)sink & 7);
		if (!child && getppid() != parent)
			_exit(0);
	}
}
#endif

int main(void)
{
	int v[8] = { 5, 3, 8, 1, 7, 2, 6, 4 };

#ifdef FOREVER
	forever();
#endif
	spin(1000);
#ifdef OTHER
	spin(10);
#endif
	for (int i = 0; i < 7; i++)
		goes_on(i);
	for (int i = 0; i < 8; i++)
		apply(i < 3 ? first : second);
	for (int i = 0; i < 12; i++)
		choose(i % 6);
	for (int i = 0; i < 100; i++)
		split(i);
	qsort(v, 8, sizeof(v[0]), compare);
	return v[0] != 1;
}
