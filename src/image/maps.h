/* SPDX-License-Identifier: MIT */
/* The mappings of a process, from /proc/PID/maps. */
#ifndef ASSAY_IMAGE_MAPS_H
#define ASSAY_IMAGE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/broker.h"
#include "base/err.h"

struct map {
	uint64_t start, end;
	uint64_t offset;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	bool read, write, exec, shared;
	bool deleted; /* the file is unlinked: " (deleted)" is removed from the name */
	char *name;   /* path, "[stack]", "[vdso]", or "" */
};

struct maps {
	struct map *map;
	size_t n;
};

/* Reads the mappings with the broker's rights. -1 with err set if there is no such process or it
 * may not be read. */
int maps_read(struct maps *m, const struct broker *b, pid_t pid, struct err *err);
/* Parses untrusted text of that form; for tests and fuzzing. */
int maps_parse(struct maps *m, const char *text, struct err *err);
void maps_fini(struct maps *m);
const struct map *maps_find(const struct maps *m, uint64_t addr);
/* Finds a path under which the mapped file can be opened even if it is deleted, replaced or in
 * another mount namespace: /proc/PID/map_files/START-END if that may be opened, else
 * /proc/PID/root/PATH, else PATH, if the file found there has the mapping's inode. Returns buf,
 * or NULL with err set. */
char *maps_file(const struct map *m, pid_t pid, char *buf, size_t n, struct err *err);
/* Opens the mapped file for reading: by the broker through map_files, else under the path of
 * maps_file(). -1 with err set. */
int maps_open(const struct map *m, const struct broker *b, pid_t pid, struct err *err);

#endif
