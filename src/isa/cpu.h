/* SPDX-License-Identifier: MIT */
/* What the CPU of this machine is called. */
#ifndef ASSAY_ISA_CPU_H
#define ASSAY_ISA_CPU_H

/*
 * The name that the CPU gives itself, and its microarchitecture in parentheses where the name does not have that and its
 * features tell: "AMD EPYC (Zen 5)". "" where /proc/cpuinfo has none. NULL: no memory.
 */
char *cpu_name(void);
/* By the maker and the list of features, as /proc/cpuinfo spells both; NULL: not known. */
const char *cpu_microarchitecture(const char *maker, const char *features);

#endif
