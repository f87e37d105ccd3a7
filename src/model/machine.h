/* SPDX-License-Identifier: MIT */
/*
 * The simulated machine: its parameters, those of the CPU we run on unless told otherwise.
 *
 * Written as text, they are "l1d=48K/12,l1i=32K/8,l2=1M/16,l3=32M/16,line=64,dtlb=96/96,itlb=64/64,dtlb2=4096/16,
 * itlb2=2048/16,page=4K,policy=lru,predictor=tage": bytes or entries, and ways. A size of 0: there is none. The text of a machine whose
 * cycles are simulated goes on with the core's parameters: "width=4,window=224" and so on.
 */
#ifndef ASSAY_MODEL_MACHINE_H
#define ASSAY_MODEL_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MACHINE_CACHES(X) \
	X(l1d, "l1d", 32 << 10, 8) \
	X(l1i, "l1i", 32 << 10, 8) \
	X(l2, "l2", 1 << 20, 16) \
	X(l3, "l3", 32 << 20, 16)
#define MACHINE_TLBS(X) \
	X(dtlb, "dtlb", 64, 4) \
	X(itlb, "itlb", 64, 8) \
	X(dtlb2, "dtlb2", 1536, 12) \
	X(itlb2, "itlb2", 1024, 8)

/* The core's parameters: identifier, default, least and greatest value, meaning. Latencies are
 * from a load's issue to its result. docs/methods/core-model.md has the source of each default. */
#define MACHINE_NUMBERS(X) \
	X(width, 4, 1, 10, "fused micro-ops dispatched and retired in a cycle") \
	X(window, 224, 8, 4096, "fused micro-ops in flight: the reorder buffer") \
	X(alus, 4, 1, 10, "integer operations that start in a cycle") \
	X(vectors, 2, 1, 10, "vector and floating-point operations that start in a cycle") \
	X(loads, 2, 1, 10, "loads that start in a cycle") \
	X(stores, 1, 1, 10, "stores that start in a cycle") \
	X(buffer, 56, 1, 1024, "stores between dispatch and the first level: the store buffer") \
	X(fills, 12, 1, 256, "lines that may be missing from the first level at once") \
	X(streams, 16, 0, 64, "ascending or descending streams that the prefetcher follows") \
	X(l1lat, 5, 1, 10000, "cycles of a load that the first level has") \
	X(l2lat, 14, 1, 10000, "... the second") \
	X(l3lat, 50, 1, 10000, "... the last") \
	X(memlat, 250, 1, 10000, "... memory") \
	X(memgap, 12, 0, 10000, "cycles between two lines that memory delivers") \
	X(tlblat, 7, 0, 10000, "cycles more of an access that the second TLB has") \
	X(walklat, 30, 0, 10000, "... that needs a walk of the page tables") \
	X(refill, 16, 0, 10000, "cycles from a mispredicted branch's result to the next dispatch")

struct machine_size {
	uint64_t size; /* bytes of a cache, or entries of a TLB */
	uint32_t ways;
};

enum machine_predictor {
	MACHINE_TAGE,	/* the modern one of model/branch.h */
	MACHINE_GSHARE, /* the simple one */
};

struct machine {
#define X(id, name, size, ways) struct machine_size id;
	MACHINE_CACHES(X)
	MACHINE_TLBS(X)
#undef X
	uint32_t line, page; /* bytes, powers of two */
	int policy;	     /* enum cache_policy, for all caches */
	int predictor;	     /* enum machine_predictor */
#define X(id, value, least, most, what) uint32_t id;
	MACHINE_NUMBERS(X)
#undef X
};

#define MACHINE_TEXT 512

/* Describes this CPU by sysfs and cpuid; values that they lack are those of a plain machine. */
void machine_this(struct machine *m);
/* Changes the parameters that the text names. -1 with err set (ERR_USAGE). */
int machine_parse(struct machine *m, const char *text, struct err *err);
/* Writes caches, TLBs and pages as text. n: MACHINE_TEXT. */
char *machine_text(const struct machine *m, char *buf, size_t n);
/* Writes caches, TLBs, pages and the core's parameters. */
char *machine_text_core(const struct machine *m, char *buf, size_t n);

#endif
