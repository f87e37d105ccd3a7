/* SPDX-License-Identifier: MIT */
/* The engine's own library: memory, text, locks. There is no libc in the program's process. */
#ifndef ASSAY_ENGINE_OS_UTIL_H
#define ASSAY_ENGINE_OS_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *p, int c, size_t n);
size_t strlen(const char *s);
int memcmp(const void *a, const void *b, size_t n);
int strcmp(const char *a, const char *b);
bool starts_with(const char *s, const char *prefix);
/* printf's %s %d %x %c to standard error, in one write. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
size_t format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Ends the process, after a message: the engine itself cannot go on. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* As base/invariant.h has it, for the engine: the build of SAN=1 checks. */
#ifdef ASSAY_CHECKS
#define invariant(holds) ((holds) ? (void)0 : die("broken invariant: %s", #holds))
#else
#define invariant(holds) ((void)sizeof(!(holds)))
#endif
/* Memory for good, zeroed. */
void *arena(size_t n);
#define LARGE_PAGE (2ul << 20)
/* Address space, zeroed when touched. What is reserved densely lies in large pages: for what is touched all over; `align`
 * is a power of two. What grows is touched from its begin on, and lies in large pages but for what small programs need:
 * of the first one that is in the page of what is reserved densely, else in small ones. */
void *reserve(size_t n), *reserve_densely(size_t n, size_t align), *reserve_growing(size_t n);
#define GROWING_SMALL (256ul << 10)
/* A free place of the engine's room, mapped: mmap's arguments and result. */
long room_map(size_t n, int prot, int flags, long fd, uint64_t offset);
/* Between these two calls no other thread is in one of the functions above: a child that is forked meanwhile can call
 * them. */
void memory_hold(void), memory_release(void);
void lock(int *l), unlock(int *l);

#pragma GCC visibility pop

#endif
