/* SPDX-License-Identifier: MIT */
/*
 * Names of the kernel's procedures. The kernel is asked for each (bpf_snprintf's %pS): to make the text of
 * /proc/kallsyms costs it more than all else at a recording's end, and kernel.kptr_restrict hides that. Who may
 * load the program that asks may run it: it needs no capability besides, and none later.
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

/* Parses the %pS of addr, "NAME+0xOFFSET/0xSIZE" and perhaps " [MODULE]"; false if it is not a
 * name. */
bool kernel_name_parse(const char *answer, uint64_t addr, struct kernel_name *n);
/* Finds the procedure that holds the address; false if none with a name does. */
bool kernel_names_at(struct kernel_names *k, uint64_t addr, struct kernel_name *n);

#endif
