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
/* Writes to standard error at once: printf's %s %d %x %c. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
size_t format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Ends the process, after a message: the engine itself cannot go on. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* The engine's form of base/invariant.h: checked in builds with SAN=1. */
#ifdef ASSAY_CHECKS
#define invariant(holds) ((holds) ? (void)0 : die("broken invariant: %s", #holds))
#else
#define invariant(holds) ((void)sizeof(!(holds)))
#endif
/* Allocates memory that is never freed, zeroed. */
void *arena(size_t n);
#define LARGE_PAGE (2ul << 20)
#define MADV_COLLAPSE_ 25 /* madvise(MADV_COLLAPSE), since Linux 6.1 */
/*
 * Reserves address space, zeroed when touched. Dense memory lies in large pages, because all of it
 * is touched; `align` is a power of two. Growing memory is touched from its beginning on: the first
 * part, enough for small programs, lies in the large page of dense memory if there is room, else in
 * small pages; the rest lies in large pages.
 */
void *reserve(size_t n), *reserve_densely(size_t n, size_t align), *reserve_growing(size_t n);
#define GROWING_SMALL (256ul << 10)
/* Maps a free place of the engine's room: mmap's arguments and result. */
long room_map(size_t n, int prot, int flags, long fd, uint64_t offset);
/* Keeps other threads out of the functions above, so that the child of a fork can call them. */
void memory_hold(void), memory_release(void);
void lock(int *l), unlock(int *l);

#pragma GCC visibility pop

#endif
