/* SPDX-License-Identifier: MIT */
/*
 * Mappings of devices. Reading a device may have effects, so the kernel side is told to keep off. The kernel side knows
 * a process's devices once the process's maps have been read. Until then, and whenever the process has mapped more than
 * private data, code and stacks since, the kernel side reads only where no device can be, and asks user space to look.
 */
#ifndef ASSAY_SAMPLER_DEVICES_H
#define ASSAY_SAMPLER_DEVICES_H

#include <sys/types.h>

#include "image/maps.h"
#include "sampler/bpf/shared.h"

struct devices {
	int map;	   /* BPF map `devices` */
	uint32_t *changes; /* incremented at each change, for the kernel side */
};

/* A process whose maps are looked at, and the counts that the kernel side's sample gave just before
 * that. */
struct device_look {
	pid_t pid;
	uint64_t mm;
	uint32_t other; /* struct device_ranges */
};

/* Collects a process's device mappings into r; those beyond DEVICE_RANGES widen the last range. */
void devices_find(const struct maps *m, struct device_ranges *r);
/* Tells the kernel side the devices in m, which was read after that sample. */
void devices_note(struct devices *d, const struct device_look *look, const struct maps *m);

#endif
