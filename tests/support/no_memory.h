/* SPDX-License-Identifier: MIT */
/*
 * Memory that cannot be had. The linker wraps the functions that allocate (Makefile), and the n-th allocation of an operation
 * fails, for n = 1, 2, ... until the operation passes without a failure. Each failed operation must say so in its error, or
 * succeed where the memory was for something that it can do without; the build with sanitizers reports what leaks.
 * SQLite and jansson allocate by functions that they are given: count_libraries() and report/emit give them wrapped ones.
 * To be included by one file of a test program, after cmocka.h.
 */
#ifndef ASSAY_TESTS_NO_MEMORY_H
#define ASSAY_TESTS_NO_MEMORY_H

#include <malloc.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Tries lie farther and farther apart, by 1 / STEPS of the allocations before, so that a long operation takes few of them. */
#ifdef ASSAY_CHECKS /* with sanitizers each try takes long */
#define STEPS 8
#else
#define STEPS 100
#endif

/* The number of allocations until the one that fails; 0: none fails. */
static unsigned long left;

static bool fails(void)
{
	return left && !--left;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

static void *sql_malloc(int n)
{
	return malloc((size_t)n);
}

static void *sql_realloc(void *p, int n)
{
	return realloc(p, (size_t)n);
}

static int sql_size(void *p)
{
	return (int)malloc_usable_size(p);
}

static int sql_round_up(int n)
{
	return (n + 7) & ~7;
}

static int sql_begin(void *unused)
{
	(void)unused;
	return SQLITE_OK;
}

static void sql_end(void *unused)
{
	(void)unused;
}

/* To be called before SQLite is used. */
static void count_libraries(void)
{
	static const struct sqlite3_mem_methods methods = { sql_malloc, free,	      sql_realloc,
							    sql_size,	sql_round_up, sql_begin,
							    sql_end,	NULL };

	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
		abort();
}

/* An operation returns whether it succeeded, with its message in err otherwise, and frees all that it made. */
typedef bool (*operation)(struct err *err);

/* Returns how many tries failed. */
static unsigned long try_all(operation o)
{
	unsigned long n = 0, failed = 0;
	bool done = false;

	while (!done) {
		struct err err = { 0 };
		bool succeeded;

		n += 1 + n / STEPS;
		left = n;
		succeeded = o(&err);
		done = left != 0; /* the n-th allocation was not asked for */
		left = 0;
		if (!succeeded) {
			failed++;
			if (!err.msg[0])
				fail_msg("allocation %lu failed, and no error says so", n);
		}
		if (done && !succeeded)
			fail_msg("without a failed allocation: %s", err.msg);
		assert_true(n < 100000);
	}
	return failed;
}

#endif
