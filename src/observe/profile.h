/* SPDX-License-Identifier: MIT */
/*
 * A profile: everything a recording holds, in memory. Additive: two profiles merge by adding.
 *
 *   profile ─┬─ runs    what was recorded and how (one a recording, more after a merge)
 *            ├─ images  by build-id and path; image 0 is "[unknown]"
 *            │   └─ procedures that were hit
 *            ├─ sites   (image, address) ─ counters, hot lists by operand, locality (observe/locality.h)
 *            ├─ edges, calls, conflicts   between sites: observe/edges.h, calls.h, conflicts.h
 *            ├─ tallies  what the program counts itself: observe/tallies.h
 *            ├─ sampled  which parts of an exact run were observed (observe/sampled.h)
 *            ├─ wsets   working sets of processes (observe/wset.h)
 *            ├─ phases  what processes execute over time (observe/phases.h)
 *            ├─ stacks  call stacks of samples, by thread and time (observe/stacks.h)
 *            ├─ misses, distances         of simulated caches, by site: observe/misses.h, distances.h
 *            └─ reuses  reuse times that the sampler saw, by process: observe/reuses.h
 *
 * Windows begin where time is spent: `observed` counts how often windows saw the instruction, which is no
 * execution count, and what goes with a stall is seen too often. Each window is weighed for that, as it comes
 * (profile_window); `weights` of a site, and those in its hot lists, are what shares are of.
 */
#ifndef ASSAY_OBSERVE_PROFILE_H
#define ASSAY_OBSERVE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "x86/uop.h"
#include "observe/phases.h"
#include "observe/rows.h"
#include "observe/sites.h"
#include "observe/stacks.h"
#include "observe/wset.h"
#include "sketch/hot.h"
#include "stream/window.h"

enum image_kind {
	IMAGE_UNKNOWN, /* unresolved addresses, reported as such */
	IMAGE_FILE,    /* ELF file; addresses are ELF virtual addresses */
	IMAGE_KERNEL,  /* kernel; addresses are run-time addresses */
	IMAGE_ANON,    /* code without a file (JIT); addresses are run-time addresses */
	IMAGE_VDSO,
	IMAGE_KIND_N,
};
extern const char *const image_kind_name[IMAGE_KIND_N];

struct profile_proc {
	uint64_t start, end;
	char *name;
};

struct profile_image {
	uint32_t id; /* index in the profile */
	int kind;    /* enum image_kind */
	char *path;
	char *build_id; /* hex, or "" */
	bool stripped;	/* procedures come from unwind information alone */
	struct profile_proc
		/* procedures that contain a site, sorted by start; filled in when recording */
		*proc;
	size_t nproc; /* ends, so that a recording is readable where its images are missing */
	/* samples whose layout is known, and the sum over layouts of the squares of their numbers: observe/layouts.h */
	uint64_t layout_samples;
	double layout_squares;
};

/* Additive counters of a run. One line an item. */
#define RUN_COUNTERS(X) \
	X(samples, "time samples, user and kernel") \
	X(user, "of those, in user space") \
	X(kernel, "of those, in the kernel") \
	X(idle, "of those, in the idle loop (-a)") \
	X(windows, "user samples that ran ahead at least one instruction") \
	X(instructions, "instructions run ahead; executed, in an exact recording") \
	X(uops, "micro-ops executed for them") \
	X(ahead_ns, "time spent running ahead, ns") \
	X(lost_ring, "samples lost: ring buffer full") \
	X(lost_stacks, "samples whose call stacks were lost: ring buffer full") \
	X(lost_nested, "samples lost: interrupted another") \
	X(lost_map, "samples lost: no map entry") \
	X(lost_write, "samples lost: could not be written to the recording") \
	X(unattributed, "user samples whose image could not be found") \
	X(lifted, "instructions lifted") \
	X(lift_ns, "CPU time spent lifting, ns") \
	X(recorder_ns, "CPU time of the recorder, ns") \
	X(fixed_ns, "of that, before the program ran and after its end, ns") \
	X(missed_ns, "CPU time of the program that no sample stands for, ns") \
	X(program_ns, "CPU time of the program and its children, ns (0 if not known)") \
	X(elapsed_ns, "wall time, ns") \
	X(processes, "processes seen") \
	X(native, "programs that ran without the exact engine: not in the recording") \
	X(uncounted, "instructions executed under it, but not counted: their code changes") \
	X(stacks, "call stacks of samples") \
	X(stack_frames, "frames of call stacks that were walked in the kernel") \
	X(stack_copies, "call stacks that were copied, for user space to walk") \
	X(walk_ns, "time spent walking stacks to their end in the kernel, ns") \
	X(stack_ns, "time spent walking and copying stacks in the kernel, ns") \
	X(watches, "lines of memory that were watched") \
	X(watch_hits, "exceptions that their watchpoints raised") \
	X(watch_unhit, "lines not touched while they were watched") \
	X(watch_failed, "lines whose watchpoints the kernel refused") \
	X(rare, "windows that began at page faults, beside the samples") \
	X(policy_operands, "operands of instructions that --policy slots met") \
	X(policy_masked, "of those, masked at the end: known well enough") \
	X(policy_reopened, "operands that were judged again after a pause") \
	X(policy_thrashed, "times that more operands wanted slots than there are") \
	X(memory_kib, \
	  "memory of sampled processes, anonymous or of hugetlbfs, KiB: a sum over looks") \
	X(large_kib, "memory of that in large pages, KiB") \
	X(small_kib, "the most memory in small pages that a look found, KiB") \
	X(memory_measured, "times that loads were measured before the program ran: sums of") \
	X(near_ps, "time of a load from the third cache level, ps") \
	X(far_ps, "time of a load from memory, ps") \
	X(near_line_ps, "time of a line that is read in order from the third cache level, ps") \
	X(far_line_ps, "time of a line that is read in order from memory, ps") \
	X(page_walk_ps, "time of a page walk, ps") \
	X(refills, "how often others fill the third cache level in a second, in thousandths")
struct run_counters {
#define X(name, what) uint64_t name;
	RUN_COUNTERS(X)
#undef X
	uint64_t stop[RA_STOP_N]; /* windows by the reason why they ended */
};

#define RUN_CLOCK_MAX 20000000000 /* Hz; largest plausible value */

struct run {
	char *source; /* "sampler", "exact" */
	/* shell-quoted command, or "-p PID", "-a" and the like */
	char *command;
	char *host, *cpu, *kernel, *version; /* version: of Assay */
	/* "cpu-clock", "cycles"; for an exact run what was observed: "counts" and the like */
	char *event;
	char *machine;	  /* the simulated machine (model/machine.h), or NULL */
	char *unit;	  /* unit of site.time: "ns", "cycles" */
	uint64_t started; /* seconds since the epoch */
	uint64_t clock;	  /* clock of the CPU during the run in Hz; 0: not measured */
	double rate;	  /* requested samples a second and CPU */
	unsigned burst;
	unsigned distance; /* distance within which conflicts were recorded; 0: they were not */
	int sketch;	   /* enum hot_method */
	unsigned sketch_capacity;
	int status; /* the command's wait status, or 0 */
	/* false: the recorder was killed, and the recording ends where it was last flushed */
	bool finished;
	struct run_counters n;
};

struct profile {
	struct run *run;
	size_t nrun;
	struct profile_image **image; /* [0] always exists */
	size_t nimage;
	struct sites sites;
	enum hot_method method; /* method of hot lists made from now on */
	unsigned capacity;
	bool branches; /* future windows contain control flow, but no values */
	/* distance for conflicts in future windows; 0: none are recorded */
	unsigned conflict_distance;
	struct edge *edges; /* uthash, key */
	struct call *calls;
	struct callers *callers; /* observe/callers.h; NULL: none */
	struct conflict *conflicts;
	struct tally *tallies;
	struct tally_words *tally_words; /* private */
	struct sampled **sampled;	 /* of exact runs with a schedule */
	size_t nsampled;
	struct wset **wset; /* sorted by run, then process */
	size_t nwset;
	struct phases **phases; /* sorted by run, then process */
	size_t nphases;
	struct stacks stacks;
	struct site_rows misses, cycles; /* observe/misses.h, cycles.h */
	struct distances **distances;	 /* one for each process */
	size_t ndistances;
	struct site_distances *site_distances;
	struct reuses *reuses; /* uthash, key */
	/* number of regions that a recorder keeps, over all processes */
	uint32_t reuse_regions;
	struct locality_past *locality; /* private, for sampled windows */
	struct pace *pace;		/* private, for sampled windows */
	struct balance *balance;	/* private, for sampled windows */
	uint64_t windows;		/* private: number of windows examined */
	double starts, near;		/* private: sums of the sites' weights */
	struct image_key *image_keys;	/* private */
	struct layout *layouts;		/* private */
};

int profile_init(struct profile *p, struct err *err);
void profile_fini(struct profile *p);

/* Finds or makes the image of that identity, which is (kind, path, build_id). NULL: no memory. */
struct profile_image *profile_image(struct profile *p, int kind, const char *path,
				    const char *build_id);
/* Orders by image, then address. */
int site_id_order(struct site_id a, struct site_id b);
/* Finds or makes the site; NULL: no memory. */
struct site *profile_site(struct profile *p, struct site_id id);
struct site *profile_site_find(const struct profile *p, struct site_id id);
/* Finds or makes the hot list of its operand; NULL: no memory. */
struct hot *profile_operand(struct profile *p, struct site *s, int operand);
/* Whether the run saw every instruction, so that `observed` and `taken` are executions. */
bool run_is_exact(const struct run *r);
/* How much of the lists of values is recorded: sampled ones grow with the run, and most of that is noise. */
enum hot_extent profile_extent(const struct profile *p);
/* Adds a run, zeroed; strings are set with strdup. The pointer is valid until the next call. */
struct run *profile_run(struct profile *p);

/* Adds an empty working set; NULL: no memory. */
struct wset *profile_wset(struct profile *p);
/* Adds empty phases for another process; NULL: no memory. */
struct phases *profile_phases(struct profile *p);

/*
 * Runs the observers of a sampled recording, in one pass over the window: time (its first
 * instruction), counts (observed, taken) and values (hot lists), raw and weighted; edges, calls,
 * conflicts and tallies. -1 without memory.
 *
 * A window begins at an instruction in proportion to the time that one holds up retirement: t(s) per execution,
 * so that it weighs 1 / t(s) where what runs is asked for. t(s) is how often windows begin at s over how often
 * that is expected by what windows, weighed so, pass through soon after they begin: it settles as they come.
 * Where it is small an instruction mostly retires with others before it, and is hit after something unusual
 * alone: so t counts as T_LEAST of the mean at least. Besides it weighs less where much is mispredicted: it is of a slow
 * phase then (observe/pace.h), and more where windows end more often than they begin (observe/balance.h).
 *
 * A rare window is no sample, and weighs PROFILE_RARE_WEIGHT.
 */
#define PROFILE_RARE_WEIGHT 0.01
int profile_window(struct profile *p, const struct window *w);
/* Adds another recording's observations. If the number of windows is unknown on either side, it
 * is unknown in the sum. */
void profile_site_observed(struct site *s, uint64_t observed, uint64_t taken, uint64_t windows);
/* The present weight of a window that begins at s, without its pace. */
double profile_window_weight(const struct profile *p, struct site_id s);
/* Adds a time sample without a window (kernel, unknown). */
int profile_sample(struct profile *p, struct site_id id, double weight);

/* dst += src. Images are matched by identity; runs are appended. Exact and sampled profiles do
 * not add up. */
int profile_merge(struct profile *dst, const struct profile *src, struct err *err);

/* Adds up the counters of all runs. */
void profile_counters(const struct profile *p, struct run_counters *sum);

#endif
