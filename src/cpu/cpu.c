/* SPDX-License-Identifier: MIT */
#include "cpu/cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Microarchitectures by CPU features. In a virtual machine the name of a CPU often tells only its
 * maker. The first feature in the list that the CPU has, as /proc/cpuinfo spells it, tells its
 * microarchitecture (gcc's manual, "x86 Options", lists the features of each).
 */
static const struct {
	const char *maker, *feature, *name;
} by_feature[] = {
	{ "AuthenticAMD", "avx512_vp2intersect", "Zen 5" },
	{ "AuthenticAMD", "avx512f", "Zen 4" },
	{ "AuthenticAMD", "vaes", "Zen 3" },
	{ "AuthenticAMD", "clwb", "Zen 2" },
	{ "AuthenticAMD", "sha_ni", "Zen" },
	{ "GenuineIntel", "amx_tile", "Sapphire Rapids" },
	{ "GenuineIntel", "avx512_vbmi2", "Ice Lake" },
	{ "GenuineIntel", "avx_vnni", "Alder Lake" },
	{ "GenuineIntel", "avx512_vnni", "Cascade Lake" },
	{ "GenuineIntel", "avx512f", "Skylake server" },
	{ "GenuineIntel", "clflushopt", "Skylake" },
	{ "GenuineIntel", "adx", "Broadwell" },
	{ "GenuineIntel", "avx2", "Haswell" },
};

static bool has_word(const char *line, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = line; (p = strstr(p, word)); p += n)
		if (p > line && p[-1] == ' ' && (!p[n] || p[n] == ' ' || p[n] == '\n'))
			return true;
	return false;
}

const char *cpu_microarchitecture(const char *maker, const char *features)
{
	for (size_t i = 0; i < sizeof(by_feature) / sizeof(*by_feature); i++)
		if (!strcmp(maker, by_feature[i].maker) &&
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

char *cpu_name(void)
{
	char name[256], maker[64], features[8192] = " ", *text;
	const char *kind;

	cpu_line("model name", name, sizeof(name));
	cpu_line("vendor_id", maker, sizeof(maker));
	cpu_line("flags", features + 1, sizeof(features) - 1);
	kind = cpu_microarchitecture(maker, features);
	if (!kind || strstr(name, kind))
		return strdup(name);
	return asprintf(&text, "%s (%s)", name, kind) < 0 ? NULL : text;
}
