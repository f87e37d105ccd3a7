/* SPDX-License-Identifier: MIT */
/*
 * Which rates a program can bear: what a sample takes of its CPU time.
 *
 * Constants, so that the same command does the same each time: a measurement of some milliseconds beside a busy machine's
 * other programs found 0 to 14 us for an interrupt that takes 8.
 */
#ifndef ASSAY_SAMPLER_BEARABLE_H
#define ASSAY_SAMPLER_BEARABLE_H

#include <stdbool.h>

#define BEARABLE_SHARE 0.5 /* part of the program's CPU time */
/* ns: a timer interrupt with its sample. In a virtual machine the hypervisor has a part in each (bench/rates). */
#define BEARABLE_INTERRUPT_NS 2000
#define BEARABLE_INTERRUPT_VM_NS 8000
#define BEARABLE_AHEAD_NS 40   /* an instruction; `assay info` prints what it was in a recording */
#define BEARABLE_STACK_NS 3000 /* a call stack, of a usual program */
#define BEARABLE_BURST 16      /* a shorter window is hardly worth its interrupt */

/* Whether this is a virtual machine, by cpuid's bit for that. */
bool bearable_is_virtual(void);
/* us that a sample takes, with a window of that many instructions. */
double bearable_sample_us(unsigned burst, bool virtual);
/* The longest window, of `burst` instructions at most, that leaves the program its BEARABLE_SHARE; 0: not even one of
 * BEARABLE_BURST does. */
unsigned bearable_burst(double rate, unsigned burst, bool virtual);
/* Whether call stacks, beside such windows, leave it as much. */
bool bearable_stacks(double rate, unsigned burst, bool virtual);
/* The highest rate that does, in Hz. */
double bearable_rate(unsigned burst, bool virtual);

#endif
