/* SPDX-License-Identifier: MIT */
/* The recorder of exact runs: what exact.c (processes, counters), records.c (what they log) and streams.c share. */
#ifndef ASSAY_EXACT_EXACT_PRIV_H
#define ASSAY_EXACT_EXACT_PRIV_H

#include "exact/classes.h"
#include "exact/exact.h"
#include "exact/order.h"
#include "engine/shared.h"
#include "sampler/files.h"
#include <uthash.h>

/* Limits on what one program can make the recorder keep. */
#define EXACT_PROCESSES_MAX (1u << 20) /* processes of a recording, ended ones included */
#define EXACT_THREADS_MAX (1u << 20)   /* of processes that have not ended */
#define EXACT_IMAGES_MAX (1u << 18)    /* images of one process */
#define EXACT_SAMPLES_KEPT (1u << 22)  /* samples that are complete but not closed */
#define EXACT_LIVE_BLOCKS \
	(1ull << 26) /* blocks of all processes that have not ended, inherited ones included */

/* A block of a process, in the profile's terms. Shared with the processes forked from it. */
struct code_block {
	struct code_block *next; /* the list of blocks that this process translated */
	uint16_t n;
	bool branch; /* ends in a conditional branch */
	bool exit; /* ends in a branch that always jumped: see struct exact_exit. Its fields are the first of another's;
			  * its columns are its own, since there later fields share them */
	uint16_t exits;	 /* number of its exits, which have the block numbers after this one */
	uint16_t before; /* exits before the place where the block is counted */
	bool indirect; /* ends in an indirect call: its arguments belong to the procedure that is called */
	uint16_t target; /* number of the stream's word that holds the target */
	uint16_t words;	 /* words of one execution in the stream */
	uint16_t nfield, ncolumn;
	struct field *field;
	struct column *column;
	uint64_t pc, addr;	  /* the block's address at run time, and in the image */
	uint16_t len;		  /* bytes */
	struct order_code *order; /* EXACT_ORDER; or NULL */
	struct calls_code
		*calls; /* with EXACT_CALLS, of a block that ends in a call or a return; or NULL */
	uint64_t
		callee; /* the target of the direct call that ends the block, as an address in the image */
	uint64_t
		leaves; /* run-time address of the direct jump's target, if that is not in its image; else 0 */
	uint32_t image;
	struct site *site[]; /* n elements; none where nothing is counted */
};

/* What is made of a block's words: a column is a word, narrowed; fields that differ from one another by a
 * constant share it. */
struct column {
	struct hot *hot; /* NULL before the first value */
	uint16_t word;
	uint8_t from; /* bits, or EXACT_HIGH */
};

#define FIELD_CONSTANT 0xffff /* in field.column */
struct field {
	uint64_t add;
	uint64_t times; /* how often a constant was observed */
	uint16_t column;
	uint8_t insn, operand, to;
};

/* Executions of a block that wait until there are enough of them to be looked at together: its words, one
 * execution after the other. Small: there is one for each block, and they are used all over. */
struct sink {
	uint64_t *at; /* where the next execution's words go */
	uint32_t
		head; /* all of them have it in the stream, and nothing else does; 0: there is no room yet */
	uint32_t
		end; /* where the room ends, that address's lower half: each of them takes the same part of it */
};
struct sink_room { /* memory for those */
	uint64_t *start;
	uint16_t words;
	uint8_t size; /* which of the sizes it has, 0: none */
	uint8_t emptied;
};

#define EXACT_OFTEN_SIZES 2 /* number of sizes of sinks of blocks that run often */
struct sink_free {	    /* a free sink */
	struct sink_free *next;
};

/* A pair of an indirect jump, call or return and where it went. Once counted, it is an edge of the profile. */
struct way {
	uint32_t block;
	uint32_t near; /* the slot that counts it while it is there, if there is one */
	struct site_id from, to;
	struct edge *edge;
	uint64_t before; /* its counter at the last poll */
};

struct counted { /* a thread's counters and stream */
	uint64_t at;
	uint64_t stream_at;
	struct exact_stream *stream; /* mapped, or NULL */
	struct order_thread *order;  /* EXACT_ORDER; or NULL */
	struct calls_made *calls;    /* EXACT_CALLS; or NULL */
	uint32_t tid;
	uint64_t firsts;    /* with lines, or 0 */
	const char *mapped; /* its counters, or NULL: they are mapped when they are read */
};

/* Memory for the blocks of one process, in a chain of pieces. */
struct code_memory {
	struct code_memory *next;
	size_t used, size;
	char data[];
};

struct process {
	uint64_t at; /* its place in the file */
	UT_hash_handle hh;
	uint32_t pid; /* positive, also when converted to pid_t */
	struct process *parent;
	unsigned
		users; /* itself, until it needs no blocks, and those forked from it: of `memory` */
	uint32_t forks,
		forked; /* forks: children that the process has begun, known when it has ended; forked: children that the recorder has met */
	struct code_memory *memory; /* holds the blocks that this process translated */
	struct code_block *own;
	struct exact_process *shared; /* the process's record, mapped until the process is done */
	struct exact_log *log;	      /* the chunk of the log that is being read, mapped; or NULL */
	uint64_t chunk, pos, bytes;   /* how far its log was read: chunk, in it, in all */
	struct code_block **block;
	struct sink *sink; /* by block number + 1, as the stream names blocks */
	uint32_t sinks;	   /* a power of two, more than there are blocks */
	struct sink_room *sink_room;
	bool *inverted;
	uint32_t nblock, room;
	uint64_t *before; /* counters at the last poll, summed over threads */
	uint64_t nbefore;
	struct way *way;
	size_t nway, way_room;
	/* an array of pointers, because other threads may begin while one thread's stream is read */
	struct counted **thread;
	size_t nthread;
	struct process_image {
		uint32_t image; /* the image's number in the profile */
		uint64_t
			to_addr; /* added to a run-time address it gives the address in the image */
		uint64_t start, end;
	} * image;
	size_t nimage;
	struct lines_reader *lines;   /* or NULL */
	struct phases_reader *phases; /* or NULL */
	struct exact_cut *cut;	      /* to be applied when the counters have been read */
	size_t ncut;
	struct process *
		successor; /* the continuation of the same process with blocks numbered anew; or NULL */
	void *order;	   /* with EXACT_ORDER: the consumer's data */
	struct calls_made
		*calls;	   /* with EXACT_CALLS: open calls of the process that this one continues */
	uint32_t answered; /* number of the process's last request that was answered */
	bool gap;      /* the process has ended a sample and observes nothing until the next one */
	bool replaced; /* the process has executed another image */
	bool done;
	bool released; /* everything but this structure has been freed */
};

struct exact {
	int fd;
	uint64_t mode; /* EXACT_… */
	struct profile *profile;
	struct exact_header *header;
	struct process **process;
	size_t nprocess;
	struct process *by_at;	  /* the same processes in a hash table, by place in the file */
	uint64_t nthread, nblock; /* totals over processes that are not released */
	struct files files;	  /* images by number, for names */
	size_t procedures_read;	  /* number of images whose procedures have been read */
	struct classes *classes;
	const struct order_consumer *consumer; /* EXACT_ORDER */
	uint8_t *record;		       /* a copy of the log's record that is being read */
	size_t record_size;
	struct exact_lines lines;
	uint64_t began_ns; /* monotonic */
	char **argv;
	char *path, *option;
	struct exact_totals totals;
	uint64_t repeat_room; /* bytes that repeated accesses of this half may touch yet */
	char *sinks;	      /* memory for the sinks of blocks that run often */
	size_t sinks_used;
	struct sink_free *sinks_free[EXACT_OFTEN_SIZES][EXACT_WORDS_MAX + 1]; /* by words */
	const struct exact_sampling *sampling;				      /* with a schedule */
	struct exact_sample *sample; /* samples that have ended since `closed` was called */
	size_t nsample, nclosed;
	size_t nmapped;	   /* threads whose counters stay mapped */
	uint64_t position; /* of the first process */
	bool warms;	   /* where the schedule skips, touched lines are told to the consumer */
	bool discard;	   /* what is being read belongs to a warm-up */
	uint32_t heard;	   /* the bell */
	bool read_any,
		read_before; /* the last poll found something in a stream, the one before it */
};

/* records.c */
int exact_bad(struct err *err);
/* Sets err: the program has more of `what` than the recorder keeps. Returns -1. */
int exact_too_many(const char *what, uint64_t most, struct err *err);
/* Reads the process's log on, the first until `limit` bytes of records have been read in all, the second to the log's
 * present end. */
int exact_read_log_to(struct exact *e, struct process *p, uint64_t limit, struct err *err);
int exact_read_log(struct exact *e, struct process *p, struct err *err);
/* Adds a block, or NULL, under the process's next number. -1 with err set. */
int exact_add_block(struct exact *e, struct process *p, struct code_block *b, bool inverted,
		    struct err *err);
/* Gives n bytes of the shared file, which nobody needs any more, back to the system. */
void exact_punch(const struct exact *e, uint64_t at, uint64_t n);

/* exact.c */
/* n executions of a block, of which its branch was counted `second` times. -1 without memory. */
int exact_count(struct exact *e, struct process *p, uint32_t block, uint64_t n, uint64_t second);
/* From now on the counter of the block's branch counts the other direction. Corrects what was counted before. -1
 * without memory. */
int exact_invert(struct exact *e, struct process *p, uint32_t block);
/* Appends a zero element to an array of *n elements. Only this function adds elements: the capacity follows from *n. */
bool exact_grow(void *array, size_t *n, size_t size);
/* A piece of the file, to be read; NULL: there is none. */
void *exact_map(const struct exact *e, uint64_t at, uint64_t n);
/* n bytes of a thread's counters, which there are, from offset `at` on; NULL: they cannot be mapped. */
const void *exact_counters(struct exact *e, struct counted *t, uint64_t at, uint64_t n);
void exact_counters_done(const struct counted *t, const void *p, uint64_t n);
/* True if a piece of n bytes at that offset lies in the file. An offset of 0, for "none", passes. */
bool exact_fits(uint64_t at, uint64_t n);

/* ways.c */
struct site_id ways_place(const struct process *p, const struct exact_place *at);
/* Returns the site at a run-time address. */
struct site_id ways_at(const struct process *p, uint64_t pc);
int ways_pair(struct process *p, const struct exact_pair *r, struct err *err);
int ways_edge(struct exact *e, const struct process *p, const struct exact_edge *r,
	      struct err *err);
/* Copies the first n pairs of the parent process. */
int ways_inherit(struct process *p, uint32_t n, struct err *err);
/* Adds to the profile what the pairs' counters have counted since the last call. */
int ways_count(struct exact *e, struct process *p, struct err *err);
/* Counts n executions of a direct jump out of the block's image. -1 without memory. */
int ways_leave(struct exact *e, const struct process *p, const struct code_block *b, uint64_t n);
/* The process has ended: where its threads were is where they left. */
int ways_end(struct exact *e, struct process *p, struct err *err);
/* lines.c */
/* A record of a snapshot. */
/* A chunk's lines, a bit each. -1: the record is none. */
int exact_touched_lines(const struct exact_touched *c, uint64_t bits[EXACT_CHUNK / 64]);
int lines_record(struct exact *e, struct process *p, const struct exact_record *r, struct err *err);
/* The process p continues the process `from`. */
int lines_go_on(struct process *p, struct process *from, struct err *err);
/* The process has ended: which procedures were the first to touch lines. */
int lines_finish(struct exact *e, struct process *p, struct err *err);
void lines_free(struct process *p);
/* Instructions executed up to the last snapshot; 0 if snapshots do not count instructions. */
uint64_t lines_instructions(const struct exact *e);

/* phases.c */
/* A record of an interval. */
int phases_record(struct exact *e, struct process *p, const struct exact_record *r,
		  struct err *err);
int phases_cut(struct exact *e, struct process *p, const struct exact_cut *c, struct err *err);
/* The process p continues the process `from`, whose counters have been read for the last time. */
int phases_go_on(struct exact *e, struct process *p, struct process *from, struct err *err);
/* The process has ended, and its counters have been read. */
int phases_finish(struct exact *e, struct process *p, struct err *err);
void phases_free_reader(struct process *p);

/* streams.c */
/* Reads a block's fields from its record. */
int streams_block(struct code_block *b, const struct exact_block *r, struct err *err);
void streams_free_block(struct code_block *b);
/* An exit has a prefix of its block's fields. */
int streams_exit(struct code_block *b, const struct code_block *of, const struct exact_exit *r,
		 struct err *err);
/* Makes room for n sinks, a power of two; the first one is not used. */
bool streams_widen(struct process *p, uint32_t n);
/* Adds n executions of the block's instructions [from, to). */
void streams_count(struct code_block *b, unsigned from, unsigned to, uint64_t n);
/* Reads the process's streams: full halves, and with `last` the others too. */
int streams_read(struct exact *e, struct process *p, bool last, struct err *err);
/* Adds everything that waits in sinks to the profile. */
int streams_finish(struct exact *e, struct process *p, struct err *err);
void streams_free(struct exact *e, struct process *p);
void streams_close(struct exact *e);

/* order.c */
int order_block(struct exact *e, struct code_block *b, const struct exact_block *r,
		struct err *err);
int order_exit(struct code_block *b, const struct code_block *of, const struct exact_exit *r,
	       struct err *err);
void order_free_block(struct code_block *b);
/* Tells the consumer that the process's threads ran unobserved between the last execution and the next one. */
void order_gap(struct process *p);
/* Complete executions of a thread: n words. */
/* After reading, before what was read is added: whether it is of a warm-up. */
void exact_note_phase(struct exact *e, const struct process *p);
/* Reads a record of lines that were touched while the schedule skipped. */
int order_touched(struct exact *e, struct process *p, const struct exact_touched *r,
		  struct err *err);
int order_take(struct exact *e, struct process *p, struct counted *c, const uint64_t *w, size_t n,
	       struct err *err);
/* The process has ended: its successor takes over the consumer's data. */
void order_free(const struct exact *e, struct process *p);

/* calls.c */
int calls_block(const struct process *p, struct code_block *b, const struct exact_block *r,
		struct err *err);
void calls_free_block(struct code_block *b);
/* Forgets all open calls, because their returns may run unobserved. */
void calls_gap(struct process *p);
/* Complete executions of a thread: n words. */
int calls_take(struct exact *e, struct process *p, struct counted *c, const uint64_t *w, size_t n,
	       struct err *err);
/* The process has ended: its successor takes over the open calls. */
void calls_end(struct process *p);

#endif
