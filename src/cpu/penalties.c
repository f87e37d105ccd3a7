/* SPDX-License-Identifier: MIT */
#include "cpu/penalties.h"

#include <stddef.h>
#include <string.h>

/* Most cycles of a load from memory: 250 ns at 3.6 GHz, as from another socket's memory, or
 * under load. */
#define MEMORY 900

/* Most cycles of a load from another core: 125 ns at 3.6 GHz, as between core complexes or
 * sockets of a server. */
#define CONTENDED 450

/* What Golden Cove and its successor Redwood Cove have in common. The predictor keeps 12,288 branch targets (Intel, Architecture
 * Day 2021). In a virtual machine, loads from small pages took 22 cycles longer on average than from large ones while 8,192 pages
 * were in use, 150 to 200 with 16,384 to 65,536 of them, 410 with 131,072 (bench/latency): directories of 2 MiB each are cached, of
 * guest and host together. */
#define GOLDEN_COVE \
	.dtlb = { { 96, 9, 7, 2 }, { 2048, 60, 40, 8 }, { 8192, 400, 120, 20 } }, \
	.itlb = { { 256, 9, 4, 0 }, { 2048, 60, 25, 0 }, { 65536, 200, 80, 0 } }, .window = 512, \
	.misses = 16, .walks = 4, .retire = 8, .alus = 5, .mispredict = 24, .branches = 12288, \
	.unknown = 12, .decoded = 4096, .decode = 1, .contended = CONTENDED, .forward = 24, \
	.alias = 12, .divide = 20, .multiply = 5, .load = 5, .vector_load = 8

/*
 * Reorder buffers and miss buffers: AMD's software optimization guides, Intel's optimization
 * manual, uops.info. The usual latencies are those of the sources of the highest ones, at rest;
 * a line of a stream takes the bandwidth of one core, some 13 GB/s from memory.
 */
static const struct culprit_machine machines[] = {
	/* Zen 5: AMD, Software Optimization Guide for the AMD Zen 5 Microarchitecture, 58455: sizes of caches, TLBs and
	 * tables, widths, and penalties of mispredictions. */
	{ .part = "(Zen 5)",
	  .name = "AMD Zen 5",
	  .data = { { 768, 14, 10, 1 }, { 16384, 50, 40, 4 }, { 524288, MEMORY, 350, 10 } },
	  .code = { { 512, 14, 14, 0 }, { 16384, 50, 40, 0 }, { 524288, MEMORY, 250, 0 } },
	  .dtlb = { { 96, 8, 7, 2 }, { 4096, 60, 40, 8 }, { 65536, 200, 80, 20 } },
	  .itlb = { { 64, 8, 4, 0 }, { 2048, 60, 25, 0 }, { 65536, 200, 80, 0 } },
	  .window = 448,
	  .misses = 22,
	  .walks = 6,
	  .retire = 8,
	  .alus = 6,
	  .mispredict = 20,
	  .branches = 16384,
	  .unknown = 12,
	  .decoded = 6144,
	  .decode = 1,
	  .contended = CONTENDED,
	  .forward = 20,
	  .alias = 8,
	  .divide = 20,
	  .multiply = 4,
	  .load = 5,
	  .vector_load = 8 },
	{ .part = "AMD",
	  .name = "AMD Zen",
	  .data = { { 512, 14, 9, 2 }, { 8192, 40, 35, 4 }, { 262144, MEMORY, 350, 10 } },
	  .code = { { 512, 14, 14, 0 }, { 8192, 40, 40, 0 }, { 262144, MEMORY, 250, 0 } },
	  .dtlb = { { 64, 8, 7, 2 }, { 2048, 60, 40, 8 }, { 65536, 200, 80, 20 } },
	  .itlb = { { 64, 8, 4, 0 }, { 512, 60, 25, 0 }, { 65536, 200, 80, 0 } },
	  .window = 256,
	  .misses = 22,
	  .walks = 6,
	  .retire = 8,
	  .alus = 4,
	  .mispredict = 20,
	  .branches = 4096,
	  .unknown = 12,
	  .decoded = 4096,
	  .decode = 1,
	  .contended = CONTENDED,
	  .forward = 20,
	  .alias = 8,
	  .divide = 20,
	  .multiply = 4,
	  .load = 5,
	  .vector_load = 8 },
	/* Golden Cove in a server: Intel's optimization manual, table of cache parameters; uops.info; chips and cheese's
	 * latency of the third level, 70 ns. Failed forwarding: 21 cycles more than what succeeds
	 * were measured (bench/causes). */
	{ .part = "(Sapphire Rapids)",
	  .name = "Intel Golden Cove",
	  .data = { { 768, 14, 10, 2 }, { 32768, 280, 250, 8 }, { 524288, MEMORY, 400, 20 } },
	  .code = { { 512, 14, 14, 0 }, { 32768, 280, 100, 0 }, { 524288, MEMORY, 250, 0 } },
	  GOLDEN_COVE },
	/* Redwood Cove in a server: Intel's optimization manual. It differs from Golden Cove in the first instruction cache; its
	 * third level is nearer. Loads from 512 KiB took 19 cycles, from 4 and 8 MiB 148 to 154, from 256 MiB 690
	 * (bench/latency). */
	{ .part = "(Granite Rapids)",
	  .name = "Intel Redwood Cove",
	  .data = { { 768, 16, 13, 2 }, { 32768, 280, 130, 8 }, { 524288, MEMORY, 500, 20 } },
	  .code = { { 1024, 14, 14, 0 }, { 32768, 280, 60, 0 }, { 524288, MEMORY, 250, 0 } },
	  GOLDEN_COVE },
	{ .part = "Intel",
	  .name = "Intel Core",
	  .data = { { 512, 14, 9, 2 }, { 16384, 70, 60, 8 }, { 262144, MEMORY, 350, 20 } },
	  .code = { { 512, 14, 14, 0 }, { 16384, 70, 70, 0 }, { 262144, MEMORY, 250, 0 } },
	  .dtlb = { { 64, 9, 7, 2 }, { 1536, 60, 40, 8 }, { 65536, 200, 80, 20 } },
	  .itlb = { { 128, 9, 4, 0 }, { 1536, 60, 25, 0 }, { 65536, 200, 80, 0 } },
	  .window = 224,
	  .misses = 10,
	  .walks = 2,
	  .retire = 8,
	  .alus = 4,
	  .mispredict = 22,
	  .branches = 4096,
	  .unknown = 12,
	  .decoded = 1536,
	  .decode = 1,
	  .contended = CONTENDED,
	  .forward = 17,
	  .alias = 12,
	  .divide = 95,
	  .multiply = 5,
	  .load = 5,
	  .vector_load = 8 },
	{ .part = NULL,
	  .name = "unknown CPU",
	  .data = { { 384, 20, 10, 2 }, { 4096, 80, 60, 8 }, { 65536, MEMORY, 350, 20 } },
	  .code = { { 384, 20, 20, 0 }, { 4096, 80, 80, 0 }, { 65536, MEMORY, 250, 0 } },
	  .dtlb = { { 32, 12, 7, 2 }, { 512, 100, 40, 8 }, { 16384, 300, 80, 20 } },
	  .itlb = { { 32, 12, 4, 0 }, { 512, 100, 25, 0 }, { 16384, 300, 80, 0 } },
	  .window = 224,
	  .misses = 10,
	  .walks = 2,
	  .retire = 8,
	  .alus = 4,
	  .mispredict = 30,
	  .branches = 1024,
	  .unknown = 20,
	  .decoded = 1024,
	  .decode = 2,
	  .contended = CONTENDED,
	  .forward = 25,
	  .alias = 15,
	  .divide = 100,
	  .multiply = 6,
	  .load = 6,
	  .vector_load = 10 },
};

const struct culprit_machine *culprit_machine(const char *cpu)
{
	size_t i = 0;

	while (machines[i].part && !strstr(cpu ? cpu : "", machines[i].part))
		i++;
	return &machines[i];
}
