/* SPDX-License-Identifier: MIT */
/* Two libraries of the same shape and other results, for selfmod libraries: PLUGIN is which. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static __thread uint64_t local = PLUGIN;
static uint64_t calls;

__attribute__((constructor)) static void loaded(void)
{
	calls = 1000 * PLUGIN;
}

__attribute__((noipa)) uint64_t plugin_part(uint64_t x)
{
	return x * PLUGIN + local;
}

uint64_t plugin(uint64_t x)
{
	char text[64];

	snprintf(text, sizeof text, "%llu", (unsigned long long)plugin_part(x));
	local += strlen(text);
	return ++calls + plugin_part(x) + local;
}
