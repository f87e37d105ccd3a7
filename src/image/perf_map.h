/* SPDX-License-Identifier: MIT */
/*
 * Names of code that a program generates, as runtimes write them for perf: lines "START SIZE NAME", numbers in hexadecimal,
 * in /tmp/perf-PID.map (Linux, tools/perf/Documentation/jit-interface.txt).
 */
#ifndef ASSAY_IMAGE_PERF_MAP_H
#define ASSAY_IMAGE_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/broker.h"

struct perf_map_entry {
	uint64_t start, end;
	size_t line; /* line in the file: where code was replaced, the later line counts */
	const char *name;
};

struct perf_map {
	struct perf_map_entry *entry; /* sorted by start, later lines first */
	size_t n;
	char *text; /* the text of the file, which holds the names */
};

/* Parses untrusted text, which is changed, and freed by perf_map_fini(), also on failure.
 * Malformed lines are skipped. -1 without memory. */
int perf_map_parse(struct perf_map *m, char *text, size_t bytes);
/* Reads the file of a process, with the broker's rights while the process exists, else by its
 * pid. -1 if there is none that belongs to the process's user or to root, or it is larger than
 * 256 MiB. */
int perf_map_read(struct perf_map *m, const struct broker *b, pid_t pid, pid_t inner);
/* The entry that holds the address, or NULL. */
const struct perf_map_entry *perf_map_find(const struct perf_map *m, uint64_t addr);
void perf_map_fini(struct perf_map *m);

#endif
