/* SPDX-License-Identifier: MIT */
/*
 * The format of what the exact engine tells the recorder: a sparse file in memory that both map. The recorder makes the
 * file, the observed processes take pieces of it as they need them, and the recorder gives back what it has read.
 *
 * The recorder validates everything in the file: the program can write to it at any time, so the recorder copies each
 * word once into memory of its own and checks the copy. The file's size is sealed. The recorder holds a lock (F_SETLK)
 * on the whole file: without a lock there is no recorder.
 *
 *   header ── process ── process …        newest first
 *                └─ log chunk ── chunk     records, in the order in which things happened
 *
 * Offsets are from the file's start; 0 is none.
 */
#ifndef ASSAY_ENGINE_SHARED_H
#define ASSAY_ENGINE_SHARED_H

#include <stdint.h>

#define EXACT_MAGIC 0x3330746361786541ull
#define EXACT_SIZE (1ull << 52)
#define EXACT_LOG_SIZE (1u << 18)
#define EXACT_BLOCKS_MAX (1u << 22)
#define EXACT_PAIRS_MAX (1u << 22)
/*
 * A thread's counters: two for each block, one for each pair. The counters of the last block
 * number, which no block has, serve otherwise: one is unused, and the other holds the number + 1 of
 * the block in whose system call the thread is.
 */
#define EXACT_PAIRS_AT (16u * EXACT_BLOCKS_MAX) /* offset in bytes */
#define EXACT_INSIDE (2u * EXACT_BLOCKS_MAX - 1)
/* Frequent pairs are counted in slots, in addition to the pair's own counter. */
#define EXACT_NEAR_AT (EXACT_PAIRS_AT + 8u * EXACT_PAIRS_MAX)
#define EXACT_NEAR_SLOTS (1u << 16)
struct exact_near {
	uint64_t target, code; /* the engine's */
	uint64_t count;
	uint64_t pair; /* the pair's number + 1, or 0 */
};
#define EXACT_COUNTERS_SIZE (EXACT_NEAR_AT + 32u * EXACT_NEAR_SLOTS)
/* With EXACT_LINES: the number of lines that each block was the first to touch in an interval. */
#define EXACT_FIRSTS_SIZE (8u * EXACT_BLOCKS_MAX)
#define EXACT_PATH_MAX 192

/* What is observed, as a set of bits. */
#define EXACT_COUNTS 1	  /* executions of blocks, and of the edges of branches */
#define EXACT_ADDRESSES 2 /* addresses of memory operands */
#define EXACT_VALUES 4	  /* results, loads, stores, arguments, return values, indirect targets */
#define EXACT_ORDER \
	16 /* every execution of a block, in order, with the addresses of all accesses; not together with other bits */
#define EXACT_LINES 8 /* which lines of memory each interval touches; not together with counts */
/* calls with their arguments, returns with their target and rax, by the place of the return address; not together with
 * other bits */
#define EXACT_CALLS 32
/* With EXACT_COUNTS: how often each interval executed each block. */
#define EXACT_PHASES 128
/* With EXACT_ORDER: also the values that general loads read (the first 8 bytes) */
#define EXACT_LOADED 64
#define EXACT_STREAM (EXACT_ADDRESSES | EXACT_VALUES | EXACT_ORDER | EXACT_CALLS)

/* Units of an interval's length. */
enum exact_unit {
	EXACT_INSTRUCTIONS,
	EXACT_ACCESSES,
	EXACT_CPU_NS,
	EXACT_WALL_NS
};

/* For measuring the engine, and for what the kernel accesses: */
#define EXACT_LINES_UNCHECKED 1 /* a line is marked without testing its mark first */
#define EXACT_LINES_SINGLY 2	/* each access is marked separately */
#define EXACT_LINES_KERNEL 4	/* buffers that system calls read and write, too */

struct exact_lines {
	uint32_t shift; /* lines of 1 << shift bytes */
	uint32_t unit;	/* enum exact_unit */
	uint32_t flags; /* set of EXACT_LINES_ bits */
	uint32_t
		/* most snapshots: then neighbours are merged, and intervals become twice as long */
		snapshots;
	uint64_t interval;
};

/*
 * A thread's stream: two halves that are filled in turn. Each execution of a block is a head and the number of words
 * that the head gives:
 *
 *   63         done follows
 *   47..32     if the execution ended early: after how many instructions
 *   30..22     words
 *   21..0      block + 1
 *
 * The words are values of registers, addresses, and contents of memory: the fewest from which everything observed can
 * be computed; fields say how. Up to `at` executions are complete.
 */
#define EXACT_HEAD_BLOCKS 22
#define EXACT_HEAD_BLOCK(head) ((uint32_t)(head) & ((1u << EXACT_HEAD_BLOCKS) - 1))
#define EXACT_HEAD_WORDS(head) ((uint32_t)(head) >> EXACT_HEAD_BLOCKS)
#define EXACT_HEAD_DONE(head) ((unsigned)((head) >> 32 & 0xffff))
#define EXACT_HEAD_CUT (1ull << 63)
#define EXACT_WORDS_MAX 511
#define EXACT_HALF 0x200000u
struct exact_stream {
	uint64_t at;	   /* where the next execution's record goes: an address in the program */
	uint64_t start[2]; /* addresses of the halves in the program */
	uint32_t full[2];  /* 1: to be read, the recorder clears it */
	uint32_t used[2];  /* bytes */
	uint32_t current;
	uint32_t waits; /* the thread that waits for a half to be read, to be woken */
};
#define EXACT_STREAM_PAGE 4096u
#define EXACT_STREAM_SIZE (EXACT_STREAM_PAGE + 2 * EXACT_HALF)

/*
 * One observed value of an instruction's executions: add + (the word narrowed to `from` bits),
 * narrowed to `to` bits. from <= to: different words give different values. With EXACT_CONSTANT the
 * value is `add`. With EXACT_ORDER blocks without words have heads in the stream, too, and each
 * field has an `access`: its kind in bits 12 and up, its bytes below. An instruction's fields come
 * in the order of execution, loads first, except EXACT_LEFT. With EXACT_LOADED, a field of
 * OPERAND_LOAD without an access is the value that the instruction's first load or modification
 * reads.
 */
enum exact_access {
	EXACT_LOAD = 1,
	EXACT_STORE,
	EXACT_MODIFY, /* a load and a store */
	EXACT_PREFETCH,
	EXACT_REPEATS, /* no address: how many elements of that size the following accesses of the instruction have */
	/* no address: by how many elements that number was too large; follows the instruction's
	 * accesses */
	EXACT_LEFT,
	EXACT_ACCESS_N,
};
#define EXACT_ACCESS_BITS 12
struct exact_field {
	int64_t add;
	uint16_t word;
	uint8_t insn;
	uint8_t operand;  /* enum operand, stream/window.h */
	uint8_t from, to; /* 64, 32, 16, 8; from EXACT_HIGH: bits 8 to 15 */
	uint16_t access;
};
#define EXACT_CONSTANT 0xffff
#define EXACT_HIGH 1

/*
 * Which parts of the run are observed (stream/schedule.h). Each process counts its own
 * instructions; a forked child and a new image continue the count of their parent or predecessor.
 * Between samples instructions are only counted.
 */
enum exact_schedule_kind {
	EXACT_WHOLE, /* the whole run */
	/* samples at first, first + period, first + 2 periods and on, in each process */
	EXACT_PERIODIC,
	EXACT_LISTED, /* samples at listed positions of the first process, whatever images it executes */
};
#define EXACT_SAMPLES_MAX (1u << 16) /* most samples of a list */
struct exact_schedule {
	uint32_t kind; /* enum exact_schedule_kind */
	uint32_t each; /* the recorder is awaited after each sample; else after many samples */
	uint32_t
		/* where the schedule skips, touched lines are reported (EXACT_TOUCHED);
		 * header.lines.shift gives their size */
		warming;
	uint32_t pad;
	uint64_t first, period;
	uint64_t size, warmup; /* instructions */
	uint64_t list,
		n; /* EXACT_LISTED: offset in the file of n starts, ascending, 64 bits each */
};

enum exact_phase {
	EXACT_SKIP,
	EXACT_WARMUP, /* observed to warm up a model for later observations, and not counted */
	EXACT_SAMPLE,
};

struct exact_header {
	uint64_t magic;
	uint64_t mode; /* set of EXACT_ bits */
	uint64_t next; /* first free byte */
	uint64_t
		code_limit; /* most bytes of translated code in a process; 0: all the room there is */
	uint64_t process;   /* newest */
	uint32_t bell;	    /* a futex: advanced when there is something to read */
	uint32_t waits;	    /* the recorder waits for the bell */
	uint32_t reading;   /* 0: the recorder has given up */
	uint64_t uncounted; /* instructions executed in code that changes too much */
	struct exact_lines lines;
	struct exact_schedule schedule;
};

enum exact_state {
	EXACT_RUNNING,
	EXACT_ENDED,
};

struct exact_process {
	uint64_t next; /* the one before */
	uint64_t
		parent; /* the forking parent: its records up to parent_log are this process's too */
	uint64_t parent_log; /* bytes of records */
	/* numbers of the parent's blocks, images and pairs at that point of its log */
	uint32_t parent_blocks, parent_images, parent_pairs;
	uint64_t log; /* first chunk */
	/* a process that has ended: this one executed a new image in its place, or continues it
	 * with renumbered blocks */
	uint64_t replaces;
	uint32_t pid;
	uint32_t state; /* enum exact_state */
	/* number of children that the process has begun, each of which will name it as its parent */
	uint32_t forks;
	uint32_t
		/* this is the same process as the one it replaces, with blocks numbered anew */
		same;
	/* Used with a schedule: */
	uint64_t position;     /* instructions, as far as they have been added up */
	uint32_t phase;	       /* enum exact_phase */
	uint32_t main;	       /* this is the first process */
	uint64_t phase_length; /* instructions between the beginning and the end of the phase */
	/* A process that needs the recorder to read everything observed so far advances `asked`,
	 * and waits until the recorder has set `answered` to the same number. */
	uint32_t asked, answered;
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
	EXACT_EXIT,
	EXACT_INVERTED,
	EXACT_THREAD,
	EXACT_CUT,
	EXACT_NATIVE,
	EXACT_PAIR,
	EXACT_EDGE,
	EXACT_MAPPING,
	EXACT_TOUCHED,
	EXACT_RAN,
	EXACT_STACK,
	EXACT_SNAPSHOT,
	EXACT_VECTOR,
	EXACT_INTERVAL,
	EXACT_SAMPLED,
};

struct exact_record { /* the beginning of every record; sizes are multiples of 8 */
	uint32_t size;
	uint32_t kind;
};

/* Code of a mapping, in use from here on under its number; numbers begin with 1. */
struct exact_image {
	struct exact_record r;
	uint32_t number, prot;
	uint64_t start, end, offset, dev, inode;
	char path[EXACT_PATH_MAX];
};

struct exact_block {
	struct exact_record r;
	uint64_t pc;
	uint32_t
		id; /* counters 2 id and 2 id + 1: executions, and how often its last branch jumped */
	uint32_t image; /* number of the image; the last record with that number holds */
	uint16_t len, n;
	uint16_t words, nfield;
	uint16_t
		exits; /* branches that leave the block before its last instruction: a record for each follows */
	uint16_t before; /* number of these branches before the place where the block is counted */
	uint32_t pad;
	/* the code; then each instruction's length; then, aligned to 8, the fields */
	uint8_t bytes[];
};
/* Most instructions of a block: a field has eight bits for its instruction's number. A block has no
 * more fields, either. */
#define EXACT_INSNS_MAX 256
#define EXACT_FIELDS_MAX 4096

#define EXACT_BLOCK_FIELDS(len, n) (((len) + (n) + 7u) & ~7u) /* offset in bytes */

/* Executions of block `of` that end with its n-th instruction, a branch that jumps, have a number of their own, for the
 * stream and the counter. They have the block's first `words` words, which its first `nfield` fields describe. */
struct exact_exit {
	struct exact_record r;
	uint32_t id, of;
	uint16_t n, words, nfield, pad;
	uint64_t target; /* a run-time address */
};

/* From the start of the run on, that block's second counter counts how often its branch did not
 * jump. */
struct exact_inverted {
	struct exact_record r;
	uint32_t id, pad;
};

struct exact_thread {
	struct exact_record r;
	uint32_t tid, pad;
	uint64_t counters; /* EXACT_COUNTERS_SIZE bytes, or 0 */
	uint64_t stream;   /* EXACT_STREAM_SIZE bytes, or 0 */
	uint64_t firsts;   /* EXACT_FIRSTS_SIZE bytes, or 0 */
};

/* A signal ended an execution of a block after `done` instructions; `counted` says whether the execution had been
 * counted by then. */
struct exact_cut {
	struct exact_record r;
	uint32_t id;
	uint16_t done, counted;
};

/* A place in the program: a run-time address, and the image that it lies in, or 0. */
struct exact_place {
	uint64_t pc;
	uint32_t image; /* number of the image; the last record with that number holds */
	uint32_t pad;
};

/*
 * A pair: from here on the counter with that number tells how often control went from the block's
 * last instruction, an indirect jump, call or return, to that place. The count in the pair's slot,
 * while the pair is in it, is added. Such a block has no other counter of its executions. Numbers
 * ascend.
 */
struct exact_pair {
	struct exact_record r;
	uint32_t number, block;
	uint32_t near, pad; /* the slot; or EXACT_NEAR_SLOTS: none */
	struct exact_place to;
};

#define EXACT_WENT 0
#define EXACT_CAME 1
/* An edge that is logged each time that it is taken. A place that is all 0 is not observed. */
struct exact_edge {
	struct exact_record r;
	uint32_t kind; /* EXACT_WENT, EXACT_CAME: as observe/edges.h has them */
	/* number + 1 of the block whose last instruction is `from`; 0: `from` itself is the place */
	uint32_t block;
	struct exact_place from, to;
};

/*
 * A snapshot: what was touched since the previous one, in consecutive records: mappings, if they
 * may have changed since they were last told; touched lines; executed blocks; a stack; and last the
 * snapshot's own record.
 */
struct exact_mapping {
	struct exact_record r;
	uint32_t first, pad; /* the first mapping of a new list */
	uint64_t start, end;
	char perms[8], name[EXACT_PATH_MAX]; /* permissions and name, as in /proc/PID/maps */
};

#define EXACT_CHUNK 4096 /* lines */
struct exact_touched {
	struct exact_record r;
	uint64_t chunk;	       /* number of a chunk of lines: address >> shift >> 12 */
	uint32_t n;	       /* number of lines of the chunk */
	uint8_t listed, plane; /* the plane, that is, the group of threads that touched them */
	uint8_t reserved[2];
	uint8_t lines[]; /* listed: their numbers, 16 bits each; else a bit for each line */
};

struct exact_ran {
	struct exact_record r;
	uint32_t first, bytes;
	uint8_t blocks[]; /* a bit for each, from `first` on */
};

#define EXACT_STACK_MAX 16384
struct exact_stack {
	struct exact_record r;
	uint64_t pc, reg[16]; /* registers in encoding order */
	uint8_t bytes[];      /* the stack from reg[4] on */
};

struct exact_snapshot {
	struct exact_record r;
	uint64_t count; /* instructions, or accesses, since the process began */
	uint64_t cpu_ns, wall_ns;
	uint32_t tid, last; /* last: it ends the process, or its image */
	char name[16];	    /* the thread's */
};

/* Executions since the last vector with the same blocks, for the interval that ends with the next EXACT_INTERVAL. */
struct exact_vector {
	struct exact_record r;
	uint32_t n;
	uint32_t
		pairs; /* 0: entries are of blocks; 1: of pairs, and count executions of the pair's block */
	struct exact_executed {
		uint32_t number, times;
	} entry[];
};
#define EXACT_VECTOR_MAX 1024 /* entries */
/* The end of a sample. */
struct exact_sampled {
	struct exact_record r;
	uint64_t number;     /* number in the schedule's samples, from 0 */
	uint64_t begin, end; /* positions */
	uint32_t cut,
		gap; /* cut: the process ended within it; gap: the following instructions are not observed */
};

/* A program that ran without the engine. */
struct exact_native {
	struct exact_record r;
	char path[EXACT_PATH_MAX];
};

#endif
