/* SPDX-License-Identifier: MIT */
/*
 * The rates of sampling that a program can bear: the share of its CPU time that a sample takes.
 *
 * The costs are constants, so that the same command always behaves the same. A measurement of some milliseconds on a
 * busy machine found 0 to 14 us for an interrupt that takes 8.
 */
#ifndef ASSAY_SAMPLER_BEARABLE_H
#define ASSAY_SAMPLER_BEARABLE_H

#include <stdbool.h>

#define BEARABLE_SHARE 0.5 /* part of the program's CPU time */
/* ns of a timer interrupt with its sample; in a virtual machine the hypervisor takes part of them (bench/rates) */
#define BEARABLE_INTERRUPT_NS 2000
#define BEARABLE_INTERRUPT_VM_NS 8000
#define BEARABLE_AHEAD_NS \
	40 /* ns of an interpreted instruction; `assay info` prints the figure of a recording */
#define BEARABLE_STACK_NS 3000 /* ns of the call stack of a usual program */
#define BEARABLE_BURST 16      /* instructions; a shorter window is hardly worth its interrupt */

/* Whether this is a virtual machine, by the hypervisor bit of cpuid. */
bool bearable_is_virtual(void);
/* us that a sample takes, with a window of that many instructions. */
double bearable_sample_us(unsigned burst, bool virtual);
/* Returns the longest window, at most `burst` instructions, that leaves the program its BEARABLE_SHARE of the CPU time;
 * 0 if even a window of BEARABLE_BURST does not. */
unsigned bearable_burst(double rate, unsigned burst, bool virtual);
/* Whether the program keeps that share with call stacks beside such windows. */
bool bearable_stacks(double rate, unsigned burst, bool virtual);
/* Returns the highest rate, in Hz, that leaves the program its share. */
double bearable_rate(unsigned burst, bool virtual);

#endif
