/* SPDX-License-Identifier: MIT */
/*
 * Properties of cores that llvm-mca's models lack. LLVM 19 schedules some cores by the model of an older one, which is
 * narrower: the differences that matter are facts here, with their sources in models.c.
 */
#ifndef ASSAY_CPU_MODELS_H
#define ASSAY_CPU_MODELS_H

#include <stdbool.h>

struct cpu_model {
	const char *name;  /* llvm-mca's (-mcpu) */
	const char *part;  /* part of the CPU's name; NULL: any */
	unsigned dispatch; /* instructions that are dispatched in a cycle; 0: as the model has it */
	unsigned multipliers; /* units that multiply integers, for each that the model has */
	unsigned stores;      /* stores in a cycle, for each that the model has */
	bool idioms; /* instructions that clear a register depend on what it was, by the model, and do not in the core */
	/* instructions that are renamed in a cycle, moves between registers not counted, which take no time; 0: as the model has it */
	unsigned renames;
	/* cycles for which a division of integers of 32 bits, or of 64, occupies its unit; 0: as the model has it */
	float division[2];
	unsigned product; /* cycles by which a product of floating-point numbers is ready sooner */
	float early; /* cycles by which a sum of floating-point numbers is ready sooner for the next addition */
};

/* Returns how the core differs from that model of llvm-mca; most do not. cpu: the CPU's name, or NULL. */
const struct cpu_model *cpu_model(const char *name, const char *cpu);

#endif
