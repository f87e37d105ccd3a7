/* SPDX-License-Identifier: MIT */
/*
 * Facts about an instruction: its effects, from its bytes, and bounds from windows. Bounds hold for
 * the mean over executions. What windows did not see is unknown, and bounds nothing.
 */
#ifndef ASSAY_CULPRIT_FACTS_H
#define ASSAY_CULPRIT_FACTS_H

#include "culprit/culprit.h"
#include "culprit/crowd.h"
#include "culprit/fetched.h"
#include "culprit/meetings.h"
#include "culprit/pattern.h"
#include "culprit/places.h"
#include "estimate/schedules.h"
#include "x86/insn.h"
#include "observe/locality.h"
#include "observe/misses.h"

#define FACT_FLAGS \
	16 /* bit of reads and writes where vector registers begin; general registers are below */
#define FACT_VECTOR 17
#define EXPLAINS 1e6 /* cycles of a culprit that nothing bounds */

/* A quantity for the mean execution: its upper bound, and its likely value, in proportion to which
 * stalls are shared. */
struct odds {
	double most, likely;
};

/* How much of a load's misses other instructions hide. */
struct hiding {
	bool stream;	/* lines are prefetched */
	double overlap; /* misses that are under way at a time */
	double most;	/* misses that can be under way at a time */
	/* cycles of a miss in which the following instructions fill the reorder buffer */
	double behind;
};
#define HIDES_NOTHING ((struct hiding){ .overlap = 1, .most = 1 })
/* The usual cycles of a miss of each level. */
static inline double hiding_cost(struct hiding h, const struct machine_level *level)
{
	double cost = (level->likely - h.behind) / h.overlap, least = level->likely / h.most;

	if (h.stream && level->stream < level->likely)
		return level->stream;
	return cost > least ? cost : least;
}

struct fact {
	uint64_t addr;
	uint32_t image;
	double executions; /* executions of its block; 0: not estimated */
	uint64_t reads, writes;
	uint8_t len, cls;
	float least;	  /* cycles by the schedule of its block */
	uint8_t latency;  /* latency in cycles; a load's with its data in L1 */
	bool load, store; /* true for calls and returns, too */
	bool fuses;	  /* it fuses with the branch after it */
	bool integer;	  /* it occupies a unit for integers, or for branches */
	bool divides, multiplies;
	bool serial; /* serialising: locks, fences, system calls */
	bool string; /* a string instruction with a count */
	/* how much of its misses of lines, and of pages, other instructions hide */
	struct hiding hide_line, hide_page;
	struct odds dcache, dtlb; /* cycles of an access beyond an L1 and TLB hit */
	/* share of executions whose forwarding fails, or which meet an alias */
	struct odds forward, alias;
	bool located; /* windows saw whether its lines had been used just before */
	bool judged;  /* windows saw which stores it met, or it does not load */
	struct odds
		contended; /* share of executions whose line of data another thread has just used */
	uint64_t forward_store, alias_store;
	struct odds mispredicted; /* share of executions that are mispredicted */
	/* cycles from the block's first instruction until this one is done, by what it waits for: a branch is resolved then */
	double ready;
	struct odds code_line,
		code_page; /* share of fetches of lines, or pages, that were not used just before */
	struct odds fetch_line,
		fetch_page; /* cycles of its fetches if misses are known; else INFINITY */
	/* cycles for which an execution has waited for the instruction itself (front.c) */
	bool placed;
	struct odds branch, icache, itlb, front;
	struct odds exposed; /* cycles of what it waits for in its block, after a misprediction */
	const struct fact *branch_fault; /* the mispredicted branch, or NULL */
};

/* The other inputs of facts. */
struct fact_source {
	const struct culprit_machine *machine;
	const struct meetings *meetings; /* NULL: conflicts were not recorded */
	const struct profile *profile;	 /* for the layouts of images; NULL: one each */
	double scale;			 /* factor from frequencies to executions */
	uint64_t processes;
	double samples; /* interrupts of the sampler, each of which empties first and second levels */
	/* how often others fill the last cache level while the procedure's instructions run; 0: not known */
	double refills;
	const double *all_refills; /* by the procedure's number; NULL: not known */
	double small;		   /* bytes in small pages, at most; 0: not known */
	double large;		   /* part of memory in large pages, of which TLBs lack few */
	struct locality seen;	   /* sums over all sites */
	const struct schedules *schedules;
	/* The lines and pages, of data and of code, that the whole program touches. */
	const struct fetched *lines_fetched, *pages_fetched; /* NULL: not known */
	const struct places *line_places, *page_places;	     /* NULL: not known */
	struct crowd *data_lines, *data_pages, *code_lines, *code_pages, *targets, *insns;
};

/* Makes the facts of a decoded instruction. site: NULL if it was never observed. pattern: how its
 * address comes about. */
void fact_make(struct fact *f, const struct insn *in, const struct site *site, double executions,
	       struct pattern pattern, const struct fact_source *src);
/* Whether a pattern matters: the instruction loads from lines that were not used just before. */
bool fact_is_fresh(const struct insn *in, const struct site *site);
/* Finds when the instructions of a block are done. */
void fact_resolve(struct fact *block, unsigned n);
/* Tightens bounds by the misses of an execution, by enum miss_kind (missed.c). */
void fact_missed(struct fact *f, const double each[MISS_KIND_N], const struct culprit_machine *m);
/* Combines two bounds: the lower limit, and the second's likely value if it is known. */
struct odds fact_tighter(struct odds a, struct odds b);
/* Returns the most cycles for which causes other than the schedule can have held up an execution; f
 * has been placed. */
double fact_most(const struct fact *f, const struct culprit_machine *m);
/* Whether b reads a result of a. Flags of a fused instruction do not count. */
bool fact_feeds(const struct fact *a, const struct fact *b);

/*
 * The cost of an access by its place. A line is evicted only by other lines, as many as there is
 * room for (crowd.h). Addresses that are not listed lie anywhere in the region that the listed ones
 * show.
 */
struct footprint {
	const struct hot *hot; /* hot list of addresses; may be NULL */
	double uses;
	unsigned unit; /* bits of an address within a unit: MACHINE_LINE, MACHINE_PAGE */
	struct crowd *crowd;
	const struct places *places; /* NULL: not known */
	struct odds fresh;	     /* share of accesses to lines that were not used just before */
	double samples;		     /* interrupts of the sampler */
	double distinct;	     /* units that are accessed, at most; INFINITY: not known */
	bool fixed;		     /* the instruction itself shows that it accesses one place, */
	bool stack;		     /* and that the place is near the stack pointer */
	uint64_t processes;
	double refills; /* how often others fill the last cache level meanwhile; 0: not known */
	double walk; /* executions until a list or a stream begins anew; 0: the accesses are neither */
	double layouts; /* number of processes with memory of their own, which share uses and units */
	struct hiding hiding;
};
struct odds footprint_cost(const struct footprint *f,
			   const struct machine_level level[MACHINE_LEVELS]);
/* The cost of an access to one place; bursts: its fresh uses. */
struct odds footprint_single(double uses, double bursts, struct odds fresh, struct crowd *crowd,
			     const struct machine_level level[MACHINE_LEVELS]);
/*
 * Finds the regions of addresses. Of n evenly spread addresses, a share of 2 / (n + 1) lies outside
 * those seen, on average. Each process has a region with the same use; the widest one counts.
 * Returns the number of regions; 0: too few addresses to tell.
 */
#define FOOTPRINT_REGIONS 64
struct region {
	uint64_t start;
	double bytes;
	unsigned seen; /* number of addresses */
};
unsigned footprint_regions(const struct hot *h, uint64_t processes,
			   struct region region[FOOTPRINT_REGIONS]);
/* Bytes of all regions; INFINITY: too few addresses to tell. */
double footprint_region(const struct hot *h, uint64_t processes);

/* Instructions that ran right before another one. */
#define FRONT_FROM 16
struct front_from {
	const struct fact *fact; /* NULL: not known */
	double share;
	bool jumped; /* control was transferred: taken, called, returned */
};
/*
 * The mispredictions that lead one way, as a share of the branch's executions. wrong: all of them; way: the share of
 * its executions that goes that way. A predictor that is nearly always right errs as often to either side. A predictor
 * that knows only how often either way was gone expects the more frequent one: with counters of three bits (Seznec,
 * Michaud, "A case for (partially) TAgged GEometric history length branch prediction", JILP 2006), x^3 / (1 + x^3) of its
 * errors lead the rarer way, where the other way is x times as frequent.
 */
double front_wrong_to(double wrong, double way);
/* Computes how long the core waited for the instruction itself, from those that ran right
 * before. */
void front_place(struct fact *f, const struct front_from *from, unsigned n, bool head,
		 const struct fact_source *src);

/* The share of f's executions that follow a misprediction of the branch, which is NULL if it is not known. share: of f's
 * executions, those that come from there. */
struct odds front_wrong_before(const struct fact *f, const struct fact *branch, double share);
/*
 * A misprediction leaves the pipeline empty: none of the n instructions of the block behind it began before, so the
 * latencies of those that wait for each other show. share: of the block's executions, those behind the misprediction of the
 * branch `by`.
 */
void front_expose(struct fact *block, unsigned n, struct odds share, const struct fact *by);

/* The share `part` of n, with a prior; with few observations it is close to `all`, the share over
 * all sites. */
struct odds fact_part(uint64_t part, uint64_t n, double all);
/* The upper limit of the 95 % confidence interval of a share (Wilson). */
double fact_upper(double part, double n);

#endif
