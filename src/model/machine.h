/* SPDX-License-Identifier: MIT */
/*
 * The simulated machine: its parameters, those of the CPU we run on unless told otherwise.
 *
 * Written as text, they are "l1d=48K/12,l1i=32K/8,l2=1M/16,l3=32M/16,line=64,dtlb=96/96,itlb=64/64,dtlb2=4096/16,
 * itlb2=2048/16,page=4K,policy=lru": bytes or entries, and ways. A size of 0: there is none.
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

struct machine_size {
	uint64_t size; /* bytes, or entries */
	uint32_t ways;
};

struct machine {
#define X(id, name, size, ways) struct machine_size id;
	MACHINE_CACHES(X)
	MACHINE_TLBS(X)
#undef X
	uint32_t line, page; /* bytes, powers of two */
	int policy;	     /* enum cache_policy; of caches */
};

#define MACHINE_TEXT 256

/* This CPU's, of sysfs and cpuid; what they do not tell is of a plain one. */
void machine_this(struct machine *m);
/* What the text names is changed. -1 with err set (ERR_USAGE). */
int machine_parse(struct machine *m, const char *text, struct err *err);
char *machine_text(const struct machine *m, char *buf, size_t n); /* n: MACHINE_TEXT */

#endif
