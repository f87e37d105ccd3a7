/* SPDX-License-Identifier: MIT */
/*
 * A process that keeps the right to look at other users' processes, which the recorder gives up. The recorder parses
 * files that anybody may have written; the broker parses nothing, and does five things on request:
 *
 *   opens /proc/PID/maps                   for reading
 *   opens /proc/PID/smaps_rollup           for reading: sums over its memory
 *   opens a file that a process maps       for reading, through /proc/PID/map_files
 *   opens /tmp/perf-PID.map                of a process, in its own root, if it belongs to the process's user or to
 *   root
 *   sends a signal to the command under observation
 *
 * The broker ends with the recorder.
 */
#ifndef ASSAY_BASE_BROKER_H
#define ASSAY_BASE_BROKER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct broker {
	int sock;    /* -1: there is no broker, and the recorder has the rights of its user */
	int command; /* pidfd of the command, or -1 */
};
#define BROKER_NONE ((struct broker){ .sock = -1, .command = -1 })

/*
 * Forks the broker if the process has capabilities that the broker needs; to be called before memory is mapped that a
 * fork would copy, and before privilege_drop(). `command`: the pid of the command, a child that was not waited for, or
 * 0. -1 with err set.
 */
int broker_start(struct broker *b, pid_t command, struct err *err);
void broker_end(struct broker *b);

/* Returns descriptors to read from, or -1 with errno set. Without a broker (NULL) the recorder opens the files itself. */
int broker_open_maps(const struct broker *b, pid_t pid);
int broker_open_memory(const struct broker *b, pid_t pid);
int broker_open_mapped(const struct broker *b, pid_t pid, uint64_t start, uint64_t end);
/* Opens the file with names of code that a process generates; inner: its pid in its own pid
 * namespace. */
int broker_open_perf_map(const struct broker *b, pid_t pid, pid_t inner);
/* Sends the command a signal, by its pidfd, because its pid may belong to another process by now. -1 with errno set. */
int broker_signal(const struct broker *b, int sig);

#endif
