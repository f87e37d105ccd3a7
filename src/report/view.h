/* SPDX-License-Identifier: MIT */
/*
 * A profile in order: its sites sorted by image and address, and summed up by procedure and image.
 * Made once, in n log n; the readings look things up in it.
 */
#ifndef ASSAY_REPORT_VIEW_H
#define ASSAY_REPORT_VIEW_H

#include "report/binary.h"
#include "observe/profile.h"

struct view_sum {
	uint64_t samples, observed;
	double time; /* in the unit of view.time */
};

struct view_proc {
	uint32_t image;
	uint64_t start, end; /* 0, 0: the rest of the image, that no procedure covers */
	const char *name;    /* as recorded; a word in brackets for the rest */
	size_t first, n;     /* its sites, in view.site; none for the rest */
	struct view_sum sum;
};

struct view_image {
	const struct profile_image *image;
	const char *name; /* last component of the path */
	struct view_sum sum;
};

struct view {
	const struct profile *profile;
	const struct site **site; /* by image, then address */
	uint32_t *proc_of;	  /* by site: its procedure */
	size_t n;
	struct view_proc *proc;
	size_t nproc;
	struct view_image *image;     /* by image number */
	struct view_sum sum;	      /* of all */
	bool by_samples;	      /* runs of several units: one sample is one unit of time */
	bool exact;		      /* one execution is one unit of time */
	struct run_counters counters; /* over all runs */
};

int view_open(struct view *v, const struct profile *p, struct binaries *b, struct err *err);
void view_fini(struct view *v);

/* What there is of the site: time; executions, in an exact recording. */
double view_time(const struct view *v, const struct site *s);
/* How often it was counted: samples; executions, in an exact recording. */
uint64_t view_count(const struct view *v, const struct site *s);
uint64_t view_sum_count(const struct view *v, const struct view_sum *sum);
/* What shares are of: "time", "executed instructions". */
const char *view_whole(const struct view *v);
/* Of the whole program's time, or executions. */
double view_share(const struct view *v, double time);
/* The site at that address of the procedure, or NULL. */
const struct site *view_site_in(const struct view *v, const struct view_proc *p, uint64_t addr);
/* True if the image's name or path matches the shell pattern; a NULL pattern matches all. */
bool view_image_matches(const struct view *v, uint32_t image, const char *glob);
/* The procedure's name as people write it, demangled, in buf. */
const char *view_proc_name(const struct view_proc *p, char *buf, size_t n);
/* What to call an image's code that no procedure covers: a word in brackets. */
const char *view_rest_name(const struct profile_image *pi);
/* Cuts the parameters off a demangled name. Returns it. */
char *view_cut_parameters(char *name);
/* Indices of the procedures, most time first; to be freed. NULL without memory. */
uint32_t *view_procs_by_time(const struct view *v);
/* For qsort_r and the like: more time first, then more samples. */
int view_sum_order(const struct view_sum *a, const struct view_sum *b);

#endif
