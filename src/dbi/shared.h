/* SPDX-License-Identifier: MIT */
/*
 * What the exact engine tells the recorder: a sparse file in memory that both map. The recorder makes it,
 * the observed processes take pieces of it as they need them, the recorder gives back what it has read.
 * Nothing that the recorder finds in it is trusted: the program can write there too. The recorder holds a
 * lock (F_SETLK) on all of it: where there is none nobody reads.
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
#define EXACT_COUNTS 1	  /* executions of blocks, and of the edges of branches */
#define EXACT_ADDRESSES 2 /* of memory operands */
#define EXACT_VALUES 4	  /* results, loads, stores, arguments, return values, indirect targets */
#define EXACT_STREAM (EXACT_ADDRESSES | EXACT_VALUES)

/* What the stream holds of an instruction: 64-bit words in this order. */
#define EXACT_F_ADDRESS 1
#define EXACT_F_LOAD 2
#define EXACT_F_RESULT 4
#define EXACT_F_RESULT2 8
#define EXACT_F_STORE 16
#define EXACT_F_RETURN 32
#define EXACT_F_ARGS 64 /* six words */
#define EXACT_F_TARGET 128
#define EXACT_F_WIDTH_SHIFT 8	/* of the result, enum exact_width, 3 bits */
#define EXACT_F_WIDTH2_SHIFT 11 /* of the second one */
enum exact_width {
	EXACT_64,
	EXACT_32,
	EXACT_16,
	EXACT_8,
	EXACT_8_HIGH, /* bits 8 to 15 of the word */
};

/*
 * A thread's stream: two halves that are filled in turn. Each execution of a block is a word, its number
 * + 1, and the fields of its instructions. With the topmost bit set the execution ended early: bits 32 to
 * 47 hold after how many instructions. A half that is not full ends at a word 0.
 *
 * An execution that does not fit goes into the other half as a whole: its words behind `used` are not the
 * recorder's, which clears what it has read and no more.
 */
#define EXACT_HALF 0x40000u
struct exact_stream {
	uint32_t full[2]; /* 1: to be read; the recorder clears the words, then this */
	uint32_t used[2]; /* bytes */
	uint32_t current, pad;
};
#define EXACT_STREAM_PAGE 4096u
#define EXACT_STREAM_SIZE (EXACT_STREAM_PAGE + 2 * EXACT_HALF)

struct exact_header {
	uint64_t magic;
	uint64_t mode;	    /* EXACT_… */
	uint64_t next;	    /* first free byte */
	uint64_t process;   /* newest */
	uint32_t bell;	    /* a futex: advanced when there is something to read */
	uint32_t reading;   /* 0: the recorder has given up */
	uint64_t uncounted; /* instructions executed in code that changes all the time */
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
	uint8_t bytes
		[]; /* of code; then each instruction's length; then, aligned to 2, if there is a
			  * stream, 16 bits of EXACT_F_ for each instruction */
};

#define EXACT_BLOCK_FIELDS(len, n) (((len) + (n) + 1u) & ~1u) /* offset in bytes */

/* From the start on, that block's second counter tells how often its branch did not jump. */
struct exact_inverted {
	struct exact_record r;
	uint32_t id, pad;
};

struct exact_thread {
	struct exact_record r;
	uint32_t tid, pad;
	uint64_t counters; /* EXACT_COUNTERS_SIZE bytes */
	uint64_t stream;   /* EXACT_STREAM_SIZE bytes, or 0 */
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
