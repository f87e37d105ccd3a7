/* SPDX-License-Identifier: MIT */
/* Threads, children and other images. */
#ifndef ASSAY_ENGINE_OS_PROCESS_H
#define ASSAY_ENGINE_OS_PROCESS_H

#include <stdbool.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

/* The option that gives the next image a path: "N/NAME" after it is a descriptor N, to be closed,
 * and the file's name. */
#define OPEN_FILE "//assay/fd/"
/* Notes that a program of several threads has restricted its system calls, and thereby the
 * engine's. */
extern bool process_restricted;
bool process_syscall(struct thread *t, long nr, long *ret);
/* Whether the program wants a signal instead of the system call before t->pc. */
bool process_refuses_call(const struct thread *t);

#pragma GCC visibility pop

#endif
