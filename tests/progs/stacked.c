/* SPDX-License-Identifier: MIT */
/*
 * Frames of all kinds, for walks of call stacks to be held against: recursion, alloca, realigned stacks, tail calls, callbacks from a
 * library, many saved registers, variable arguments, signals on the stack and on one of their own, cold paths.
 * It stops itself (SIGSTOP) before and after.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FN __attribute__((noinline))

static volatile long sink;
static volatile int signals;

FN static long leaf(long a)
{
	return sink += a ^ 3;
}

FN static long recurse(int n, long a)
{
	return n ? recurse(n - 1, leaf(a)) + n : leaf(a);
}

FN static long grown(size_t n)
{
	char *room = alloca(n);

	memset(room, (int)n, n);
	return leaf(room[n / 2]);
}

FN static long tail(long a)
{
	return leaf(a + 1);
}

FN static long tails(long a)
{
	return a & 1 ? tail(a) : tails(a + 1);
}

static int compare(const void *a, const void *b)
{
	return (int)leaf(*(const int *)a) * 0 + *(const int *)a - *(const int *)b;
}

FN static long sorted(void)
{
	int v[12];

	for (int i = 0; i < 12; i++)
		v[i] = i * 7 % 12;
	qsort(v, 12, sizeof(v[0]), compare);
	return v[3];
}

FN static long sum(int n, ...)
{
	va_list ap;
	long s = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		s += leaf(va_arg(ap, long));
	va_end(ap);
	return s;
}

FN static long registers(const long *v)
{
	long a = leaf(v[0]), b = leaf(v[1]), c = leaf(v[2]), d = leaf(v[3]), e = leaf(v[4]);

	return leaf(a) * b + leaf(c) * d - leaf(e) * a + b - c + d;
}

/* The stack is realigned, by a register of its own where there is alloca, too. */
FN static long aligned(size_t n)
{
	__attribute__((aligned(64))) volatile char room[64];
	char *more = alloca(n);

	more[0] = room[5] = (char)n;
	return leaf(room[5] + more[0]);
}

/* Registers are saved on the way that is seldom taken. */
FN static long wrapped(long a, const long *v)
{
	if (__builtin_expect(a & 1, 0))
		return registers(v) + registers(v + 1) * a;
	return a;
}

static void handler(int sig)
{
	signals++;
	recurse(2, sig);
}

FN static void interrupted(int sig)
{
	raise(sig);
	leaf(sig);
}

static jmp_buf away;

FN static void jump(int n)
{
	if (!n)
		longjmp(away, 1);
	jump(n - 1);
	leaf(n);
}

int main(void)
{
	static const long v[6] = { 1, 2, 3, 4, 5, 6 };
	stack_t own = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	char text[64];

	signal(SIGUSR1, handler);
	sigaltstack(&own, NULL);
	sigaction(SIGUSR2, &a, NULL);
	raise(SIGSTOP);
	recurse(6, 1);
	grown(300);
	tails(2);
	sorted();
	sum(4, 1l, 2l, 3l, 4l);
	registers(v);
	aligned(40);
	wrapped(2, v);
	wrapped(3, v);
	interrupted(SIGUSR1);
	interrupted(SIGUSR2);
	if (!setjmp(away))
		jump(3);
	snprintf(text, sizeof(text), "%ld %.3f %s", sink, 1.5, "x");
	free(strdup(text));
	raise(SIGSTOP);
	return signals == 2 ? 0 : 1;
}
