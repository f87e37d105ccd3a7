/* SPDX-License-Identifier: MIT */
/*
 * Names of the kernel's procedures. The kernel is asked for each (bpf_snprintf's %pS): making the text of
 * /proc/kallsyms costs the kernel more than everything else at a recording's end, and kernel.kptr_restrict hides the
 * addresses there. A process that may load the BPF program needs no further capability to run it.
 */
#ifndef ASSAY_SAMPLER_KERNEL_NAMES_H
#define ASSAY_SAMPLER_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_names {
	int prog;	   /* descriptor of the program that asks */
	uint64_t *address; /* the address that is asked for */
	char *answer;
	bool silent; /* the kernel side does not answer, and is not asked again */
};

struct kernel_name {
	uint64_t start, end; /* run-time addresses */
	char name[640];	     /* name, with " [MODULE]" */
};

/* Parses the %pS text of addr, "NAME+0xOFFSET/0xSIZE" and perhaps " [MODULE]"; false if the text
 * holds no name. */
bool kernel_name_parse(const char *answer, uint64_t addr, struct kernel_name *n);
/* Finds the procedure that holds the address; false if no named one does. */
bool kernel_names_at(struct kernel_names *k, uint64_t addr, struct kernel_name *n);

#endif
