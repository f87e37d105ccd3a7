/* SPDX-License-Identifier: MIT */
/*
 * Mappings of devices: reading one may do something, so the kernel side is told to keep off. It knows of
 * those of a process once the process's maps have been read; until then, and whenever the process has mapped more than
 * private data, code and stacks since, it reads only where no device can be, and asks for a look.
 */
#ifndef ASSAY_SAMPLER_DEVICES_H
#define ASSAY_SAMPLER_DEVICES_H

#include <sys/types.h>

#include "image/maps.h"
#include "sampler/bpf/shared.h"

struct devices {
	int map;	   /* BPF map `devices` */
	uint32_t *changes; /* counted up with each change, for the kernel side */
};

/* A process whose maps are looked at, and the counts that the kernel side's sample gave just
 * before. */
struct device_look {
	pid_t pid;
	uint64_t mm;
	uint32_t other; /* struct device_ranges */
};

/* Collects a process's device mappings into r; those beyond DEVICE_RANGES widen the last. */
void devices_find(const struct maps *m, struct device_ranges *r);
/* Tells the kernel side what m, read since, has. */
void devices_note(struct devices *d, const struct device_look *look, const struct maps *m);

#endif
