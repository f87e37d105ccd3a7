/* SPDX-License-Identifier: MIT */
#include "cpu/models.h"

#include <stddef.h>
#include <string.h>

/*
 * Zen 5: LLVM 19's model is that of Zen 4. The core dispatches eight instructions in a cycle instead of six, three of its
 * six ALUs multiply instead of one of four, and two stores are executed in a cycle instead of one (AMD, Software
 * Optimization Guide for the AMD Zen 5 Microarchitecture, 58455; nine multiplications of a loop take 3.05 cycles).
 *
 * Idioms: the core knows of xor eax, eax and the like that they depend on nothing (Intel, Optimization Reference Manual,
 * "Dependency Breaking Idioms"); LLVM 19's models of Golden Cove let them wait for the register.
 *
 * Moves: Golden Cove and its successor rename the registers of moves, and six other instructions in a cycle (Intel, Architecture
 * Day 2021). A chain of eight additions takes as long with a move between each two as without; LLVM 19 adds a cycle for each.
 *
 * Divisions of integers occupy the unit of Golden Cove for 6 cycles, or 10 if they are of 64 bits (bench/latency); LLVM 19 lets one
 * begin every three cycles.
 *
 * Products: Redwood Cove multiplies floating-point numbers in three cycles instead of Golden Cove's four (bench/latency).
 *
 * Sums: adders of Golden Cove, its successor and Zen 5 hand a sum to the next addition a cycle before other
 * instructions have it, so a chain of additions takes two cycles each (bench/latency), where LLVM 19 has three.
 */
#define GOLDEN_COVE \
	.idioms = true, .renames = 6, .division = { 6, 10 }, .multipliers = 1, .stores = 1, \
	.early = 1
static const struct cpu_model models[] = {
	{ .name = "znver5", .dispatch = 8, .multipliers = 3, .stores = 2, .early = 1 },
	{ .name = "sapphirerapids", .part = "(Granite Rapids)", .product = 1, GOLDEN_COVE },
	{ .name = "sapphirerapids", GOLDEN_COVE },
	{ .name = "alderlake", GOLDEN_COVE },
	{ .name = NULL, .multipliers = 1, .stores = 1 },
};

const struct cpu_model *cpu_model(const char *name, const char *cpu)
{
	size_t i = 0;

	while (models[i].name && (strcmp(models[i].name, name) ||
				  (models[i].part && (!cpu || !strstr(cpu, models[i].part)))))
		i++;
	return &models[i];
}
