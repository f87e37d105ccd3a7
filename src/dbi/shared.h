/* SPDX-License-Identifier: MIT */
/*
 * What the exact engine tells the recorder: a sparse file in memory that both map. The recorder makes it,
 * the observed processes take pieces of it as they need them, the recorder gives back what it has read.
 * Nothing that the recorder finds in it is trusted: the program can write there too.
 *
 *   header ── process ── process …        newest first
 *               └─ log chunk ── chunk …   records, in the order in which things happened
 *
 * Offsets are from the file's start; 0 is none.
 */
#ifndef ASSAY_DBI_SHARED_H
#define ASSAY_DBI_SHARED_H

#include <stdint.h>

#define EXACT_MAGIC 0x3130746361786541ull
#define EXACT_SIZE (1ull << 44)
#define EXACT_LOG_SIZE (1u << 18)
#define EXACT_COUNTERS_SIZE 0x4000000u
#define EXACT_PATH_MAX 192

/* What is observed. */
#define EXACT_COUNTS 1 /* executions of blocks, and of the edges of branches */

struct exact_header {
	uint64_t magic;
	uint64_t mode;	  /* EXACT_… */
	uint64_t next;	  /* first free byte */
	uint64_t process; /* newest */
};

enum exact_state {
	EXACT_RUNNING,
	EXACT_ENDED,
};

struct exact_process {
	uint64_t next;	     /* the one before */
	uint64_t parent;     /* forked from: its records up to parent_log are this one's too */
	uint64_t parent_log; /* bytes of records */
	uint32_t parent_blocks, parent_images; /* how many of them these were */
	uint64_t log;			       /* first chunk */
	uint32_t pid;
	uint32_t state; /* enum exact_state */
};

struct exact_log {
	uint64_t next;
	uint64_t used; /* bytes of data that are complete */
	uint8_t data[];
};
#define EXACT_LOG_DATA (EXACT_LOG_SIZE - sizeof(struct exact_log))

enum exact_kind {
	EXACT_IMAGE,
	EXACT_BLOCK,
	EXACT_INVERTED,
	EXACT_THREAD,
	EXACT_CUT,
	EXACT_NATIVE,
};

struct exact_record { /* all begin so; sizes are multiples of 8 */
	uint32_t size;
	uint32_t kind;
};

/* Code of a mapping, in use from here on under its number, from 1. */
struct exact_image {
	struct exact_record r;
	uint32_t number, prot;
	uint64_t start, end, offset, dev, inode;
	char path[EXACT_PATH_MAX];
};

struct exact_block {
	struct exact_record r;
	uint64_t pc;
	uint32_t id; /* counters 2 id and 2 id + 1: executions, and how often its branch jumped */
	uint32_t image; /* of the last record with that number */
	uint16_t len, n;
	uint32_t flags;
	uint8_t bytes[];
};

/* From the start on, that block's second counter tells how often its branch did not jump. */
struct exact_inverted {
	struct exact_record r;
	uint32_t id, pad;
};

struct exact_thread {
	struct exact_record r;
	uint32_t tid, pad;
	uint64_t counters; /* EXACT_COUNTERS_SIZE bytes */
};

/* A signal ended an execution of a block after `done` instructions; `counted` says whether the counter
 * had been advanced by then. */
struct exact_cut {
	struct exact_record r;
	uint32_t id;
	uint16_t done, counted;
};

/* A program that ran without the engine. */
struct exact_native {
	struct exact_record r;
	char path[EXACT_PATH_MAX];
};

#endif
