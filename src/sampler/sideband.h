/* SPDX-License-Identifier: MIT */
/*
 * The kernel's records of processes as they begin, execute a program, map code, and end. An event on each CPU has a
 * buffer that the kernel writes such records into; they are taken from all buffers in the order of time.
 */
#ifndef ASSAY_SAMPLER_SIDEBAND_H
#define ASSAY_SAMPLER_SIDEBAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "image/maps.h"

enum sideband_kind {
	SIDEBAND_MAP,  /* code was mapped, or made executable: `map` */
	SIDEBAND_EXEC, /* another program is executed: the earlier mappings are gone */
	SIDEBAND_FORK, /* the process is born of `parent`, with its mappings */
	SIDEBAND_EXIT, /* the process's first thread ended */
};

struct sideband_record {
	enum sideband_kind kind;
	pid_t pid, parent;
	uint64_t time;	/* ns, CLOCK_MONOTONIC */
	struct map map; /* the name is valid until the next record is taken */
};

struct sideband;

/* Opens events of all CPUs, or, with the descriptor of a control group's folder in place of -1, of that group's
 * processes; the events begin disabled. NULL with err set. */
struct sideband *sideband_open(int cgroup, struct err *err);
void sideband_close(struct sideband *s);
int sideband_enable(struct sideband *s, struct err *err);
/* Makes the epoll descriptor ready when a buffer is half full. */
int sideband_watch(const struct sideband *s, int epoll, struct err *err);
/* Takes the oldest record, unless it is younger than `until`; then returns NULL. */
const struct sideband_record *sideband_next(struct sideband *s, uint64_t until);

#endif
