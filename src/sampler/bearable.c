/* SPDX-License-Identifier: MIT */
#include "sampler/bearable.h"

#include <cpuid.h>

#define HYPERVISOR (1u << 31) /* cpuid leaf 1, ecx: a hypervisor runs this machine */

bool bearable_is_virtual(void)
{
	unsigned a, b, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & HYPERVISOR);
}

static double interrupt_ns(bool virtual)
{
	return virtual ? BEARABLE_INTERRUPT_VM_NS : BEARABLE_INTERRUPT_NS;
}

double bearable_sample_us(unsigned burst, bool virtual)
{
	return (interrupt_ns(virtual) + (double)burst * BEARABLE_AHEAD_NS) / 1e3;
}

unsigned bearable_burst(double rate, unsigned burst, bool virtual)
{
	double most = (BEARABLE_SHARE * 1e9 / rate - interrupt_ns(virtual)) / BEARABLE_AHEAD_NS;

	if (most >= burst)
		return burst;
	return most >= BEARABLE_BURST ? (unsigned)most : 0;
}

bool bearable_stacks(double rate, unsigned burst, bool virtual)
{
	double us = bearable_sample_us(burst, virtual) + BEARABLE_STACK_NS / 1e3;

	return rate * us / 1e6 <= BEARABLE_SHARE;
}

double bearable_rate(unsigned burst, bool virtual)
{
	return BEARABLE_SHARE * 1e6 / bearable_sample_us(burst, virtual);
}
