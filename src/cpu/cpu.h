/* SPDX-License-Identifier: MIT */
/* The name of this machine's CPU. */
#ifndef ASSAY_CPU_CPU_H
#define ASSAY_CPU_CPU_H

/*
 * Returns the name that the CPU gives itself, with its microarchitecture in parentheses where
 * features tell it and the name does not: "AMD EPYC (Zen 5)". "" where /proc/cpuinfo has none.
 * NULL: no memory.
 */
char *cpu_name(void);
/* The microarchitecture by the maker and the list of features, as /proc/cpuinfo spells both, and by the KiB of the first
 * instruction cache (0: not known). NULL: not known. */
const char *cpu_microarchitecture(const char *maker, const char *features, unsigned code_kib);

#endif
