/* SPDX-License-Identifier: MIT */
/*
 * Mappings of devices: reading one may do something, so the kernel side is told to keep off. It knows of
 * those of a process once the process's maps have been read.
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

/* Collects a process's device mappings into r; those beyond DEVICE_RANGES widen the last. */
void devices_find(const struct maps *m, struct device_ranges *r);
/* Tells the kernel side. */
void devices_note(struct devices *d, pid_t pid, const struct maps *m);

#endif
