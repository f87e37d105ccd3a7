/* SPDX-License-Identifier: MIT */
/*
 * How often each block and edge of a program ran, estimated from a sampled recording (docs/methods/frequencies.md).
 *
 *   profile ─▶ procedures: graph, samples and observations of each block ─┬─▶ dcpi     S / M by class
 *                                                                         ├─▶ windows  flow from branches
 *                                                                         ├─▶ flow     both, reconciled
 *   exact recording of the same work ─────────────────────────────────────┴─▶ counted  windows, with counts
 *
 * A frequency is relative; multiplied by the estimate's `scale` it is a number of executions.
 */
#ifndef ASSAY_ESTIMATE_ESTIMATE_H
#define ASSAY_ESTIMATE_ESTIMATE_H

#include "base/err.h"
#include "cfg/cfg.h"
#include "estimate/dcpi.h"
#include "estimate/schedule.h"
#include "image/image.h"
#include "observe/misses.h"
#include "observe/profile.h"

/*
 * The methods. COUNTED is WINDOWS with counts of an exact recording of the same work where there
 * are any.
 */
#define ESTIMATE_METHODS(X) \
	X(DCPI, "dcpi")	      /* samples over least times, propagated within the procedure */ \
	X(WINDOWS, "windows") /* flow through the program from branch outcomes that windows saw */ \
	X(FLOW, "flow")	      /* both as evidence, reconciled by minimum-cost flow */ \
	X(COUNTED, "counted")
enum estimate_method {
#define X(id, name) ESTIMATE_##id,
	ESTIMATE_METHODS(X)
#undef X
	ESTIMATE_METHOD_N,
};
#define ESTIMATE_DEFAULT ESTIMATE_WINDOWS /* the method that verifies best */
extern const char *const estimate_method_name[ESTIMATE_METHOD_N];
/* The method of that name, or -1. */
int estimate_method_by_name(const char *name);

struct estimate_value {
	double f;	    /* relative frequency; scale * f executions */
	uint8_t confidence; /* enum confidence */
};

struct estimate_proc {
	uint32_t image;
	struct cfg g;
	size_t first; /* number of its first block; blocks are numbered through the program */
	/* The evidence. */
	const struct site **site;   /* by instruction of the graph, or NULL */
	double *samples, *observed; /* by block */
	double *share;		    /* by edge: of the executions of the block it leaves */
	/* The estimate. */
	struct estimate_value *block, *edge;
	/* by block: enum confidence of its comparison with other blocks of its part */
	uint8_t *alone;
};

/* A call or jump that is known to lead to a procedure of the program. */
struct estimate_call {
	uint32_t from_proc, from_block, to_proc;
	double share; /* share of the block's executions */
};

struct estimate {
	enum estimate_method method;
	double scale;
	/* for counted estimates: executions that the exact recording counted over those that the
	 * program counts itself; 0: not known */
	double apart;
	struct estimate_proc *proc;
	size_t nproc, nblocks;
	struct estimate_call *call;
	size_t ncalls;
	struct estimate_range *range; /* procedures' ranges of code, sorted by image and address */
	size_t nranges;
	struct parts *
		/* parts of the program, tied together by control flow that windows saw
		 * (estimate/parts.h) */
		parts;
	/* instructions that the program counts itself, which give parts their scales */
	size_t counted;
	char warning[512]; /* a source that could not be used, or "" */
};

/* Executions of an instruction; of a branch also those that were taken. */
struct estimate_count {
	double executed, taken;
};

struct estimate_source {
	const struct profile *profile;
	/* The file of an image, or NULL; the source keeps owning it. */
	struct image *(*image)(void *ctx, uint32_t image);
	void *ctx;
	struct schedule_options schedule;
	/* For ESTIMATE_COUNTED: false where the image was not counted. */
	bool (*count)(void *ctx, uint32_t image, uint64_t addr, struct estimate_count *n);
	/* NULL, or the misses of an execution, by enum miss_kind; false where they are not known */
	bool (*missed)(void *ctx, uint32_t image, uint64_t addr, double each[MISS_KIND_N]);
	void *count_ctx;
};

/* -1 with err set: no memory. Code that cannot be estimated (no file, no code) is left out. */
int estimate_make(struct estimate *e, const struct estimate_source *src,
		  enum estimate_method method, struct err *err);
void estimate_fini(struct estimate *e);
/* The scale that an exact run gives: the median, by samples, of executions that src counted over
 * frequencies. 0: no block has both. -1 without memory. */
double estimate_counted_scale(const struct estimate *e, const struct estimate_source *src);

/* The standard deviation of the logarithm of a block's executions: the error of its part's scale
 * and, by its confidence, of its comparison within the part. */
double estimate_error(const struct estimate *e, const struct estimate_proc *p, uint32_t block);
/* The instructions executed by all executions of a procedure, and the standard deviation of the
 * logarithm of that number. */
struct estimate_sum {
	double executed, error;
};
struct estimate_sum estimate_sum(const struct estimate *e, const struct estimate_proc *p);
/* The share of all samples in code whose executions follow from counters of the program itself. */
double estimate_counted(const struct estimate *e);
/* The factor by which an estimate is off, either way, in at most one case of ten. */
double estimate_factor(double error);

/* Finds the procedure and block of an instruction; false: the instruction is not estimated. */
struct estimate_at {
	const struct estimate_proc *proc;
	uint32_t block;
};
bool estimate_find(const struct estimate *e, uint32_t image, uint64_t addr, struct estimate_at *at);

#endif
