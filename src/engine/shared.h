/* SPDX-License-Identifier: MIT */
/*
 * What the exact engine tells the recorder: a sparse file in memory that both map. The recorder makes it,
 * the observed processes take pieces of it as they need them, the recorder gives back what it has read.
 * The recorder validates everything it finds there: the program can write to it at any time, so the recorder copies
 * each word once into memory of its own and checks the copy. The file's size is sealed. The recorder holds a lock
 * (F_SETLK) on the whole file: without a lock there is no recorder.
 *
 *   header ── process ── process …        newest first
 *               └─ log chunk ── chunk …   records, in the order in which things happened
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
/* A thread's counters: two of each block, one of each pair. Those of the last block, which there never is, are
 * one that is not used, and the block, + 1, in whose system call the thread is. */
#define EXACT_PAIRS_AT (16u * EXACT_BLOCKS_MAX) /* offset in bytes */
#define EXACT_INSIDE (2u * EXACT_BLOCKS_MAX - 1)
/* Pairs that are often taken are counted in slots, on top of the pair's own counter. */
#define EXACT_NEAR_AT (EXACT_PAIRS_AT + 8u * EXACT_PAIRS_MAX)
#define EXACT_NEAR_SLOTS (1u << 16)
struct exact_near {
	uint64_t target, code; /* the engine's */
	uint64_t count;
	uint64_t pair; /* its number + 1, or 0 */
};
#define EXACT_COUNTERS_SIZE (EXACT_NEAR_AT + 32u * EXACT_NEAR_SLOTS)
/* With EXACT_LINES: how many lines each block was the first to touch in an interval. */
#define EXACT_FIRSTS_SIZE (8u * EXACT_BLOCKS_MAX)
#define EXACT_PATH_MAX 192

/* What is observed. */
#define EXACT_COUNTS 1	  /* executions of blocks, and of the edges of branches */
#define EXACT_ADDRESSES 2 /* of memory operands */
#define EXACT_VALUES 4	  /* results, loads, stores, arguments, return values, indirect targets */
#define EXACT_ORDER \
	16 /* every execution of a block, in order, with the addresses of all accesses; by itself */
#define EXACT_LINES \
	8 /* which lines of memory are touched, in each interval; by itself: nothing is counted */
/* Calls with their arguments, returns with where they return to and rax, by where the return address lies; by itself */
#define EXACT_CALLS 32
/* With EXACT_COUNTS: which blocks each interval executed how often. */
#define EXACT_PHASES 128
/* With EXACT_ORDER: the values that loads of general memory operands load, too (their first 8 bytes) */
#define EXACT_LOADED 64
#define EXACT_STREAM (EXACT_ADDRESSES | EXACT_VALUES | EXACT_ORDER | EXACT_CALLS)

/* What the length of an interval is counted in. */
enum exact_unit {
	EXACT_INSTRUCTIONS,
	EXACT_ACCESSES,
	EXACT_CPU_NS,
	EXACT_WALL_NS
};

/* For measuring, and what the kernel does: */
#define EXACT_LINES_UNCHECKED 1 /* a line is marked without looking whether it is */
#define EXACT_LINES_SINGLY 2	/* each access by itself */
#define EXACT_LINES_KERNEL 4	/* buffers that system calls read and write, too */

struct exact_lines {
	uint32_t shift; /* lines of 1 << shift bytes */
	uint32_t unit;	/* enum exact_unit */
	uint32_t flags; /* EXACT_LINES_… */
	uint32_t
		snapshots; /* so many at most: neighbours become one, and intervals twice as long */
	uint64_t interval;
};

/*
 * A thread's stream: two halves that are filled in turn. Each execution of a block is a head and as many words
 * as it says:
 *
 *   63  done behind 47..32            if the execution ended early: after how many instructions
 *   30..22 words   21..0 block + 1
 *
 * The words are values of registers, addresses, and what memory holds, as few as all that is observed can be
 * computed from: fields say how. Up to `at` executions are complete.
 */
#define EXACT_HEAD_BLOCKS 22
#define EXACT_HEAD_BLOCK(head) ((uint32_t)(head) & ((1u << EXACT_HEAD_BLOCKS) - 1))
#define EXACT_HEAD_WORDS(head) ((uint32_t)(head) >> EXACT_HEAD_BLOCKS)
#define EXACT_HEAD_DONE(head) ((unsigned)((head) >> 32 & 0xffff))
#define EXACT_HEAD_CUT (1ull << 63)
#define EXACT_WORDS_MAX 511
#define EXACT_HALF 0x200000u
struct exact_stream {
	uint64_t at;	   /* where the next execution goes: an address in the program */
	uint64_t start[2]; /* the halves', there */
	uint32_t full[2];  /* 1: to be read, the recorder clears it */
	uint32_t used[2];  /* bytes */
	uint32_t current;
	uint32_t waits; /* the thread, for a half to be read: it is to be woken */
};
#define EXACT_STREAM_PAGE 4096u
#define EXACT_STREAM_SIZE (EXACT_STREAM_PAGE + 2 * EXACT_HALF)

/*
 * One observed value of an instruction's executions: narrowed to `to` bits, add + (the word narrowed to
 * `from` bits). from <= to: no two values of the word give the same. EXACT_CONSTANT: add.
 *
 * With EXACT_ORDER blocks without words have heads in the stream, too, and each field has an `access`: kind in bits 12
 * and up, below them the bytes. Of an instruction they come in the order of execution, loads first; but for EXACT_LEFT.
 * With EXACT_LOADED a field without an access, of OPERAND_LOAD, is the value that the instruction's first load or
 * modification loads.
 */
enum exact_access {
	EXACT_LOAD = 1,
	EXACT_STORE,
	EXACT_MODIFY, /* both */
	EXACT_PREFETCH,
	EXACT_REPEATS, /* no address: how many elements of that size the instruction's next accesses have */
	EXACT_LEFT, /* no address: so many fewer; behind its accesses */
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
 * Which parts of the run are observed (stream/schedule.h). Each process counts its own instructions, a forked child and
 * a new image from where their parent and predecessor were. Between samples instructions are only counted.
 */
enum exact_schedule_kind {
	EXACT_WHOLE,	/* all of it */
	EXACT_PERIODIC, /* samples at first, first + period, first + 2 periods … in each process */
	EXACT_LISTED, /* samples at listed positions of the first process, whatever images it executes */
};
#define EXACT_SAMPLES_MAX (1u << 16) /* of a list */
struct exact_schedule {
	uint32_t kind; /* enum exact_schedule_kind */
	uint32_t each; /* after each sample the recorder is waited for; else after many of them */
	uint32_t
		warming; /* where it skips, touched lines are told: EXACT_TOUCHED; header.lines.shift says how large they are */
	uint32_t pad;
	uint64_t first, period;
	uint64_t size, warmup; /* instructions */
	uint64_t list,
		n; /* EXACT_LISTED: n starts, ascending, 64 bits each; where they lie in the file */
};

enum exact_phase {
	EXACT_SKIP,
	EXACT_WARMUP, /* observed, for the sake of what is observed later: not to be counted */
	EXACT_SAMPLE,
};

struct exact_header {
	uint64_t magic;
	uint64_t mode; /* EXACT_… */
	uint64_t next; /* first free byte */
	uint64_t
		code_limit; /* bytes of translated code in a process; 0: as much as there is room for */
	uint64_t process;   /* newest */
	uint32_t bell;	    /* a futex: advanced when there is something to read */
	uint32_t waits;	    /* it does, for the bell */
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
	uint64_t next;	     /* the one before */
	uint64_t parent;     /* forked from: its records up to parent_log are this one's too */
	uint64_t parent_log; /* bytes of records */
	uint32_t parent_blocks, parent_images, parent_pairs; /* how many of them these were */
	uint64_t log;					     /* first chunk */
	uint64_t replaces; /* it has ended: it executed this image, or is the same */
	uint32_t pid;
	uint32_t state; /* enum exact_state */
	uint32_t forks; /* begun, and not failed: so many others will name it as their parent */
	uint32_t
		same; /* it is the same process as the one it replaces, whose blocks are numbered anew */
	/* With a schedule: */
	uint64_t position; /* instructions, as far as they have been added up */
	uint32_t phase;	   /* enum exact_phase */
	uint32_t main;	   /* it is the first process */
	/* What has been observed so far is to be read before the process goes on: it asks by advancing `asked`, and waits
	 * until the recorder has made `answered` the same. */
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
	uint32_t
		id; /* counters 2 id and 2 id + 1: executions, and how often its last branch jumped */
	uint32_t image; /* of the last record with that number */
	uint16_t len, n;
	uint16_t words, nfield;
	uint16_t
		exits; /* branches in it that leave it, before its last instruction: a record each follows */
	uint16_t
		before; /* how many of these branches precede the place where the block is counted */
	uint32_t pad;
	uint8_t bytes[]; /* of code; then each instruction's length; then, aligned to 8, fields */
};
/* No block has more instructions, since a field has eight bits for its own, and none has more fields. */
#define EXACT_INSNS_MAX 256
#define EXACT_FIELDS_MAX 4096

#define EXACT_BLOCK_FIELDS(len, n) (((len) + (n) + 7u) & ~7u) /* offset in bytes */

/* Executions of block `of` that end with its n-th instruction, a branch that jumps, have a number of their own, for
 * the stream and the counter: the block's `words` first words, the fields that its `nfield` first are. */
struct exact_exit {
	struct exact_record r;
	uint32_t id, of;
	uint16_t n, words, nfield, pad;
	uint64_t target; /* a run-time address */
};

/* From the start on, that block's second counter tells how often its branch did not jump. */
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

/* A signal ended an execution of a block after `done` instructions; `counted` says whether the counter
 * had been advanced by then. */
struct exact_cut {
	struct exact_record r;
	uint32_t id;
	uint16_t done, counted;
};

/* A place in the program: a run-time address, and the image that it lies in, or 0. */
struct exact_place {
	uint64_t pc;
	uint32_t image; /* of the last record with that number */
	uint32_t pad;
};

/* From here on the counter of that number tells how often control went from the block's last instruction, an
 * indirect jump, call or return, there, with what its slot counts while the pair is there; such a block has no other one
 * for its executions. Numbers count up. */
struct exact_pair {
	struct exact_record r;
	uint32_t number, block;
	uint32_t near, pad; /* the slot; or EXACT_NEAR_SLOTS: none */
	struct exact_place to;
};

#define EXACT_WENT 0
#define EXACT_CAME 1
/* Once. All 0: the outside. */
struct exact_edge {
	struct exact_record r;
	uint32_t kind;	/* EXACT_WENT, EXACT_CAME: as observe/edges.h has them */
	uint32_t block; /* + 1: from its last instruction; 0: from the place */
	struct exact_place from, to;
};

/*
 * A snapshot: what was touched since the one before, in records that follow each other: mappings, if they may
 * have changed since they were last told; touched lines; blocks that were executed; a stack; and at last the
 * snapshot's own.
 */
struct exact_mapping {
	struct exact_record r;
	uint32_t first, pad; /* of a new list */
	uint64_t start, end;
	char perms[8], name[EXACT_PATH_MAX]; /* as in /proc/PID/maps */
};

#define EXACT_CHUNK 4096 /* lines */
struct exact_touched {
	struct exact_record r;
	uint64_t chunk;	       /* of lines: address >> shift >> 12 */
	uint32_t n;	       /* how many lines of it */
	uint8_t listed, plane; /* plane: of the threads that touched them */
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
	uint64_t pc, reg[16]; /* in encoding order */
	uint8_t bytes[];      /* from reg[4] on */
};

struct exact_snapshot {
	struct exact_record r;
	uint64_t count; /* of instructions, or accesses, since the process began */
	uint64_t cpu_ns, wall_ns;
	uint32_t tid, last; /* last: it ends the process, or its image */
	char name[16];	    /* the thread's */
};

/* Executions since the last vector that named them, of the interval that ends with the next EXACT_INTERVAL. */
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
/* A sample has ended. */
struct exact_sampled {
	struct exact_record r;
	uint64_t number;     /* of the schedule's samples, from 0 */
	uint64_t begin, end; /* positions */
	uint32_t cut, gap; /* cut: the process ended within it; gap: what follows is not observed */
};

/* A program that ran without the engine. */
struct exact_native {
	struct exact_record r;
	char path[EXACT_PATH_MAX];
};

#endif
