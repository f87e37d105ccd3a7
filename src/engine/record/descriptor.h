/* SPDX-License-Identifier: MIT */
/* System calls of the program that concern the recorder's descriptor. */
#ifndef ASSAY_ENGINE_RECORD_DESCRIPTOR_H
#define ASSAY_ENGINE_RECORD_DESCRIPTOR_H

#include <stdbool.h>

struct thread;

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

/* Answers a system call that closes, copies or replaces the descriptor: true, with the result that the program is to see. */
bool descriptor_answers(struct thread *t, long nr, long *ret);
/* Whether the system call would read, write or map the recorder's memory: for the program that descriptor is not open. */
bool descriptor_refuses(const struct thread *t, long nr);

#pragma GCC visibility pop

#endif
