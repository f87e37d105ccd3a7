/* SPDX-License-Identifier: MIT */
/*
 * The working set of a process over time: which lines of memory each interval touched.
 *
 *   wset ─┬─ regions    what lines belong to: the heap, a stack, the image of a file and so on
 *         └─ snapshots  one for each interval, in order: its times, the call stack at its end, and two packed sets of
 *                       lines, of data and of code
 *
 * A set is a list of chunks of 4096 lines, with a bit for each line. If there would be more snapshots than `max`,
 * neighbours are merged, and their sets united. With more than one thread, a third set tells which thread touched which
 * line, so that private lines can be told from shared ones, also after merging.
 */
#ifndef ASSAY_OBSERVE_WSET_H
#define ASSAY_OBSERVE_WSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WSET_CHUNK 4096
#define WSET_CODE 0 /* region 0: executed code */
#define WSET_REGIONS_MAX 65536
#define WSET_THREADS_MAX 16 /* threads that are told apart; further threads share numbers */

#define WSET_UNITS(X) \
	X(INSTRUCTIONS, "instructions") \
	X(ACCESSES, "accesses") \
	X(CPU_NS, "cpu") \
	X(WALL_NS, "wall")
enum wset_unit {
#define X(id, name) WSET_##id,
	WSET_UNITS(X)
#undef X
	WSET_UNIT_N,
};
extern const char *const wset_unit_name[WSET_UNIT_N];

#define WSET_KINDS(X) \
	X(CODE, "code") \
	X(HEAP, "heap") \
	X(STACK, "stack") \
	X(FILE, "file") \
	X(MAPPING, "mapping")
enum wset_kind {
#define X(id, name) WSET_KIND_##id,
	WSET_KINDS(X)
#undef X
	WSET_KIND_N,
};
extern const char *const wset_kind_name[WSET_KIND_N];

struct wset_region {
	int kind; /* enum wset_kind */
	char *name;
};

/* Counts how often a procedure was the first to touch a line in an interval. */
struct wset_first {
	char *procedure;
	uint64_t lines;
};

struct wset_chunk {
	uint64_t at; /* address / (bytes of a line * 4096) */
	uint32_t region;
	uint64_t bits[WSET_CHUNK / 64];
};

struct wset_lines { /* sorted by place, then region; regions of one place have no common lines */
	struct wset_chunk *chunk;
	size_t n, room;
};

struct wset_sets {
	struct wset_lines data, code;
	struct wset_lines
		/* sets of data: chunks by thread, stored in place of the region; empty: all lines
		 * belong to thread 0 */
		thread;
};

struct wset_snapshot {
	uint64_t start, end;	  /* in instructions, or accesses, since the process began */
	uint64_t cpu_ns, wall_ns; /* from the process's beginning to the end of this interval */
	uint64_t lines, code_lines;
	uint64_t first;	 /* lines of data that no earlier interval touched */
	char *stack;	 /* procedure names, innermost first: "a;b;c" */
	uint8_t *packed; /* all sets, compressed by zstd */
	size_t npacked, size;
};

struct wset {
	uint32_t run, process; /* numbers in the recording */
	uint32_t pid, parent;  /* parent: the process that forked it; 0: not known */
	uint32_t line, max;
	int unit;	   /* unit of the intervals */
	uint64_t interval; /* initial length; it doubles with each halving */
	char *command;
	struct wset_region *region;
	size_t nregion;
	struct wset_snapshot *snapshot;
	size_t nsnapshot;
	struct wset_first *first; /* sorted by name */
	size_t nfirst;
};

struct wset *wset_new(void);
void wset_free(struct wset *w);
/* Copies a working set into an empty one. -1 without memory. */
int wset_copy(struct wset *to, const struct wset *from);
/* Finds or makes the region's number. -1 without memory or room. */
long wset_region(struct wset *w, int kind, const char *name);

/* Adds to that procedure's counts. -1 without memory. */
int wset_first(struct wset *w, const char *procedure, uint64_t lines);

/* Finds or makes the chunk; NULL without memory. Fast where places come in order. */
struct wset_chunk *wset_chunk(struct wset_lines *l, uint64_t at, uint32_t region);
void wset_lines_fini(struct wset_lines *l);
/* Number of lines of a chunk. */
unsigned wset_chunk_count(const struct wset_chunk *c);
uint64_t wset_count(const struct wset_lines *l);
/*
 * to
 *
 * = from. A line in both belongs to the region in `from`. -1 without memory.
 */
int wset_or(struct wset_lines *to, const struct wset_lines *newer);
/* Number of common lines. */
uint64_t wset_common(const struct wset_lines *a, const struct wset_lines *b);

/*
 * to
 *
 * = from, by place and region. `as`: the new region of all lines, or WSET_AS_IS. -1 without memory.
 */
#define WSET_AS_IS (~0u)
int wset_join(struct wset_lines *to, const struct wset_lines *from, uint32_t as);
/* Collects lines that belong to more than one region, as region 0. -1 without memory. */
int wset_shared(const struct wset_lines *l, struct wset_lines *shared);

void wset_sets_fini(struct wset_sets *sets);
/*
 * to
 *
 * = newer. -1 without memory.
 */
int wset_sets_or(struct wset_sets *to, const struct wset_sets *newer);
/* Packs sets into a snapshot, and unpacks them. -1 with err set: no memory, or malformed packed
 * data. */
int wset_pack(struct wset_snapshot *s, const struct wset_sets *sets, struct err *err);
int wset_unpack(const struct wset *w, const struct wset_snapshot *s, struct wset_sets *sets,
		struct err *err);

/* Adds a snapshot and takes ownership; halves the number of snapshots if there are too many. */
int wset_add(struct wset *w, struct wset_snapshot *s, struct err *err);

#endif
