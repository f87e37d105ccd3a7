/* SPDX-License-Identifier: MIT */
/* What the files of the sampler share: its state, and the functions that they call of one another. */
#ifndef ASSAY_SAMPLER_SAMPLER_PRIV_H
#define ASSAY_SAMPLER_SAMPLER_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler.skel.h"
#include "sampler/backlog.h"
#include "sampler/events.h"
#include "sampler/files.h"
#include "sampler/large_pages.h"
#include "sampler/lifting.h"
#include "sampler/members.h"
#include "sampler/ring.h"
#include "sampler/sampler.h"
#include "sampler/slots.h"
#include "sampler/stacks.h"
#include "sampler/watches.h"

#define BACKLOG_FULL \
	(4u << 20) /* bytes of waiting records at which further ones stay in the ring buffer */

/* A sample in a file that is not known yet, kept until the file is. */
struct pending {
	struct file_key key;
	uint64_t offset; /* offset in the file */
	uint64_t time, period;
	uint32_t pid, tid;
	char name[32];
};

#define LATELY 64
struct lately {
	uint32_t pid;
	uint64_t time;
};

struct sampler {
	struct sampler_options o;
	struct sampler_bpf *bpf;
	struct bpf_program *prog; /* the variant of the kernel side that this kernel accepts */
	struct ring ring;
	struct backlog backlog;
	struct watches *watches;	       /* watchpoints, or NULL */
	struct slots *slots;		       /* the policy of slots, or NULL */
	struct tables_memory tables;	       /* the tables of call stacks */
	struct bpf_link *on_started, *on_born; /* the programs of bpf/started.h, or NULL */
	struct walker *walker;		       /* walks call stacks; or NULL */
	struct sideband *sideband;	       /* the walker's; or NULL */
	uint64_t enabled;		       /* when sampling began; ns, CLOCK_MONOTONIC */
	void *filter_map;
	struct events events, rare; /* events of rare windows; opened only with o.branches */
	struct members members;
	struct lifting lifting;
	struct files files;
	struct large_pages large_pages;
	struct profile *profile;
	uint32_t kernel_image, anon_image, vdso_image;
	sampler_sink sink;
	void *ctx;
	struct err sink_err;
	bool failed;
	bool more; /* records were left in the ring buffer */
	struct pending *pending;
	size_t npending, pending_cap;
	uint64_t unattributed, lost_pending, user_samples;
	uint64_t stop[RA_STOP_N];
	struct sampler_counters n;
	/* processes whose mappings were read lately: for files, for devices */
	struct lately synced[LATELY], looked[LATELY];
	uint64_t devices_noted;
	struct retired ri[RA_LONG_MAX];
};

/* sampler.c: passes a window on to the sink. -1 with s->sink_err set. */
int sampler_deliver(struct sampler *s, const struct window *w);
/* The same, of a window that begins at this address of the image. */
int sampler_deliver_at(struct sampler *s, struct window *w, uint32_t image, uint64_t addr);

/* load.c: the bytes of the ring buffer. */
uint32_t sampler_ring_bytes(const struct sampler_options *o);
/* Loads the kernel side; without call stacks if it does not load with them. */
int sampler_load(struct sampler *s, struct err *err);
void sampler_unload(struct sampler *s);

/* attach.c: the kernel side no longer notes the addresses of started programs. */
void sampler_end_starts(struct sampler *s);

/* placing.c: whether the mappings of the sample's process may be read again already. */
bool sampler_may_sync(struct sampler *s, const struct sample *h);
/* Reads the mappings of the sample's process. */
void sampler_resolve_all(struct sampler *s, const struct sample *h);
void sampler_note_devices(struct sampler *s, const struct sample *h);
/* Lifts the code at the address, for the kernel side. */
void sampler_lift(struct sampler *s, uint32_t image, uint64_t addr);
/* Handles a sample in a mapping that the kernel side did not know. */
int sampler_new_mapping(struct sampler *s, const struct sample *h, const struct sample_vma *v,
			struct window *w);
/* Handles a user sample whose mapping was not found in the interrupt. */
int sampler_unplaced(struct sampler *s, const struct sample *h, struct window *w);
/* Retries the samples that waited for their files: those whose file is known by now, or all at the end. */
int sampler_settle(struct sampler *s, bool all);

/* records.c: reads records from the ring buffer. */
int sampler_take_records(struct sampler *s, struct err *err);

#endif
