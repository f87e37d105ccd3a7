/* SPDX-License-Identifier: MIT */
#include "cpu/cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Microarchitectures by CPU features. In a virtual machine the name of a CPU often tells only its
 * maker. The first feature in the list that the CPU has, as /proc/cpuinfo spells it, tells its
 * microarchitecture (gcc's manual, "x86 Options", lists the features of each). Virtual machines hide features of the
 * newest CPUs: Granite Rapids, whose amx_fp16 they hide, has 64 KiB of instruction cache where its predecessors have 32
 * (Intel, 64 and IA-32 Architectures Optimization Reference Manual, "Redwood Cove Microarchitecture").
 */
static const struct {
	const char *maker, *feature, *name;
	unsigned code_kib; /* at least */
} by_feature[] = {
	{ "AuthenticAMD", "avx512_vp2intersect", "Zen 5", 0 },
	{ "AuthenticAMD", "avx512f", "Zen 4", 0 },
	{ "AuthenticAMD", "vaes", "Zen 3", 0 },
	{ "AuthenticAMD", "clwb", "Zen 2", 0 },
	{ "AuthenticAMD", "sha_ni", "Zen", 0 },
	{ "GenuineIntel", "amx_tile", "Granite Rapids", 64 },
	{ "GenuineIntel", "amx_tile", "Sapphire Rapids", 0 },
	{ "GenuineIntel", "avx512_vbmi2", "Ice Lake", 0 },
	{ "GenuineIntel", "avx_vnni", "Alder Lake", 0 },
	{ "GenuineIntel", "avx512_vnni", "Cascade Lake", 0 },
	{ "GenuineIntel", "avx512f", "Skylake server", 0 },
	{ "GenuineIntel", "clflushopt", "Skylake", 0 },
	{ "GenuineIntel", "adx", "Broadwell", 0 },
	{ "GenuineIntel", "avx2", "Haswell", 0 },
};

static bool has_word(const char *line, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = line; (p = strstr(p, word)); p += n)
		if (p > line && p[-1] == ' ' && (!p[n] || p[n] == ' ' || p[n] == '\n'))
			return true;
	return false;
}

const char *cpu_microarchitecture(const char *maker, const char *features, unsigned code_kib)
{
	for (size_t i = 0; i < sizeof(by_feature) / sizeof(*by_feature); i++)
		if (!strcmp(maker, by_feature[i].maker) && code_kib >= by_feature[i].code_kib &&
		    has_word(features, by_feature[i].feature))
			return by_feature[i].name;
	return NULL;
}

/* Copies the value that /proc/cpuinfo gives for the name, of the first CPU; "" if there is none. */
static void cpu_line(const char *name, char *to, size_t n)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[8192];

	*to = 0;
	while (f && !*to && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, name, strlen(name)) && colon)
			snprintf(to, n, "%s", colon + 1 + (colon[1] == ' '));
	}
	if (f)
		fclose(f);
}

/* Reads a line of a file that describes a cache of the first CPU. */
static bool cache_line(unsigned index, const char *name, char *to, int n)
{
	char path[96];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, name);
	f = fopen(path, "re");
	got = f && fgets(to, n, f);
	if (f)
		fclose(f);
	return got;
}

static unsigned code_kib(void)
{
	char type[32], size[32];

	for (unsigned i = 0; cache_line(i, "type", type, sizeof(type)); i++)
		if (!strcmp(type, "Instruction\n") && cache_line(i, "size", size, sizeof(size)))
			return (unsigned)strtoul(size, NULL, 10); /* in KiB: "64K" */
	return 0;
}

char *cpu_name(void)
{
	char name[256], maker[64], features[8192] = " ", *text;
	const char *kind;

	cpu_line("model name", name, sizeof(name));
	cpu_line("vendor_id", maker, sizeof(maker));
	cpu_line("flags", features + 1, sizeof(features) - 1);
	kind = cpu_microarchitecture(maker, features, code_kib());
	if (!kind || strstr(name, kind))
		return strdup(name);
	return asprintf(&text, "%s (%s)", name, kind) < 0 ? NULL : text;
}
