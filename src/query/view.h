/* SPDX-License-Identifier: MIT */
/*
 * A sorted profile: its sites by image and address, with sums by procedure and image. Made once, in
 * time n log n; readings look things up in it.
 */
#ifndef ASSAY_QUERY_VIEW_H
#define ASSAY_QUERY_VIEW_H

#include "query/binary.h"
#include "observe/profile.h"

struct view_sum {
	uint64_t samples, observed;
	double time; /* in the unit of view.time */
};

struct view_proc {
	uint32_t image;
	uint64_t start, end; /* 0, 0: the rest of the image, outside all procedures */
	const char *name;    /* name as recorded; a word in brackets for the rest */
	size_t first, n;     /* its sites in view.site; the rest has none */
	struct view_sum sum;
};

struct view_image {
	const struct profile_image *image;
	const char *name; /* last component of the path */
	struct view_sum sum;
};

struct view {
	const struct profile *profile;
	const struct site **site; /* sorted by image, then address */
	uint32_t *proc_of;	  /* by site: number of its procedure */
	size_t n;
	struct view_proc *proc;
	size_t nproc;
	struct view_image *image; /* by image number */
	struct view_sum sum;	  /* sum of all sites */
	/* runs have different units: one sample is one unit of time */
	bool by_samples;
	bool exact;		      /* one execution is one unit of time */
	struct run_counters counters; /* over all runs */
};

int view_open(struct view *v, const struct profile *p, struct binaries *b, struct err *err);
void view_fini(struct view *v);

/* The site's time, or its executions in an exact recording. */
double view_time(const struct view *v, const struct site *s);
/* The site's samples, or its executions in an exact recording. */
uint64_t view_count(const struct view *v, const struct site *s);
uint64_t view_sum_count(const struct view *v, const struct view_sum *sum);
/* The name of the whole that shares refer to: "time", "executed instructions". */
const char *view_whole(const struct view *v);
/* Share of the whole program's time, or executions. */
double view_share(const struct view *v, double time);
/* Whether the image's name or path matches the shell pattern; NULL matches all. */
bool view_image_matches(const struct view *v, uint32_t image, const char *glob);
/* The procedure's name as people write it, demangled, in buf. */
const char *view_proc_name(const struct view_proc *p, char *buf, size_t n);
/* The name of an image's code that no procedure covers: a word in brackets. */
const char *view_rest_name(const struct profile_image *pi);
/* Cuts the parameters off a demangled name. Returns it. */
char *view_cut_parameters(char *name);
/* Numbers of the procedures, most time first; to be freed. NULL without memory. */
uint32_t *view_procs_by_time(const struct view *v);
/* For qsort_r and the like: more time first, then more samples. */
int view_sum_order(const struct view_sum *a, const struct view_sum *b);

#endif
