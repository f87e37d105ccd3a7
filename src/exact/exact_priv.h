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
#define EXACT_PROCESSES_MAX (1u << 20) /* of a recording, ended ones included */
#define EXACT_THREADS_MAX (1u << 20)   /* of processes that have not ended */
#define EXACT_IMAGES_MAX (1u << 18)    /* of a process */
#define EXACT_SAMPLES_KEPT (1u << 22)  /* that have not been closed */
#define EXACT_LIVE_BLOCKS (1ull << 26) /* of processes that have not ended, inherited ones too */

/* A block of a process, in the profile's terms. Shared with the processes forked from it. */
struct code_block {
	struct code_block *next; /* of the same process's own */
	uint16_t n;
	bool branch; /* ends in one */
	bool exit; /* ends in a branch that always jumped: see struct exact_exit. Its fields are the first of another's;
			  * its columns are its own, since there later fields share them */
	uint16_t exits;	 /* its exits: the numbers that follow */
	uint16_t before; /* exits before the place where the block is counted */
	bool indirect;	 /* its arguments are those of its target */
	uint16_t target; /* word of the stream that has its target */
	uint16_t words;	 /* of an execution in the stream */
	uint16_t nfield, ncolumn;
	struct field *field;
	struct column *column;
	uint64_t pc, addr;	  /* at run time, in the image */
	uint16_t len;		  /* bytes */
	struct order_code *order; /* EXACT_ORDER; or NULL */
	struct calls_code *calls; /* EXACT_CALLS, ends in a call or a return; or NULL */
	uint64_t callee;	  /* of the direct call that it ends in, the image's address */
	uint64_t
		leaves; /* run-time address of the direct jump's target, if that is not in its image; else 0 */
	uint32_t image;
	struct site *site[]; /* n of them; none where nothing is counted */
};

/* What is made of a block's words: a column is a word, narrowed; fields that differ from one another by a
 * constant share it. */
struct column {
	struct hot *hot; /* NULL: nothing yet */
	uint16_t word;
	uint8_t from; /* bits, or EXACT_HIGH */
};

#define FIELD_CONSTANT 0xffff /* for column */
struct field {
	uint64_t add;
	uint64_t times; /* of a constant */
	uint16_t column;
	uint8_t insn, operand, to;
};

/* Executions of a block that wait until there are enough of them to be looked at together: its words, one
 * execution after the other. Small: there is one for each block, and they are used all over. */
struct sink {
	uint64_t *at; /* the next one goes there */
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

#define EXACT_OFTEN_SIZES 2 /* of sinks of blocks that run often */
struct sink_free {	    /* one that is not in use */
	struct sink_free *next;
};

/* Where an indirect jump, call or return went; when it has been counted, an edge of the profile. */
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

/* Blocks of one process. */
struct code_memory {
	struct code_memory *next;
	size_t used, size;
	char data[];
};

struct process {
	uint64_t at; /* its place in the file */
	UT_hash_handle hh;
	uint32_t pid; /* more than 0, as a pid_t too */
	struct process *parent;
	unsigned
		users; /* itself, until it needs no blocks, and those forked from it: of `memory` */
	uint32_t forks, forked;	    /* that it began, when it has ended; that are known */
	struct code_memory *memory; /* of its own blocks */
	struct code_block *own;
	struct exact_process *shared; /* that place, mapped until it is done */
	struct exact_log *log;	      /* the chunk, mapped, or NULL */
	uint64_t chunk, pos, bytes;   /* how far its log was read: chunk, in it, in all */
	struct code_block **block;
	struct sink *sink; /* by number + 1, as heads have it */
	uint32_t sinks;	   /* a power of two, more than there are blocks */
	struct sink_room *sink_room;
	bool *inverted;
	uint32_t nblock, room;
	uint64_t *before; /* counters at the last poll, summed over threads */
	uint64_t nbefore;
	struct way *way;
	size_t nway, way_room;
	/* each stays where it is: others may begin while its stream is read */
	struct counted **thread;
	size_t nthread;
	struct process_image {
		uint32_t image;	  /* in the profile */
		uint64_t to_addr; /* added to run-time addresses */
		uint64_t start, end;
	} * image;
	size_t nimage;
	struct lines_reader *lines;   /* or NULL */
	struct phases_reader *phases; /* or NULL */
	struct exact_cut *cut;	      /* to be applied when the counters have been read */
	size_t ncut;
	struct process *successor; /* the same one, with blocks numbered anew; or NULL */
	void *order;		   /* EXACT_ORDER: the consumer's */
	struct calls_made *calls;  /* EXACT_CALLS: of the process that it goes on for */
	uint32_t answered;	   /* of what it has asked for */
	bool gap;      /* it has ended a sample, and observes nothing until the next one */
	bool replaced; /* by another image: it has ended */
	bool done;
	bool released; /* all that is left of it is this structure */
};

struct exact {
	int fd;
	uint64_t mode; /* EXACT_… */
	struct profile *profile;
	struct exact_header *header;
	struct process **process;
	size_t nprocess;
	struct process *by_at;	  /* the same, as a hash table by place in the file */
	uint64_t nthread, nblock; /* of those that are not released */
	struct files files;	  /* images by number, for names */
	size_t procedures_read;	  /* of so many of them */
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
	char *sinks;	      /* memory of those that are used often */
	size_t sinks_used;
	struct sink_free *sinks_free[EXACT_OFTEN_SIZES][EXACT_WORDS_MAX + 1]; /* by words */
	const struct exact_sampling *sampling;				      /* with a schedule */
	struct exact_sample *sample; /* that have ended since it was called */
	size_t nsample, nclosed;
	size_t nmapped;	   /* threads whose counters stay mapped */
	uint64_t position; /* of the first process */
	bool warms;	   /* where the schedule skips, touched lines are told to the consumer */
	bool discard;	   /* what is being read is of a warm-up */
	uint32_t heard;	   /* the bell */
	bool read_any,
		read_before; /* the last poll found something in a stream, the one before it */
};

/* records.c */
int exact_bad(struct err *err);
/* Sets err: the program has more of them than the recorder keeps. Returns -1. */
int exact_too_many(const char *what, uint64_t most, struct err *err);
/* Reads on in the process's log, up to `limit` bytes of records in all; or what it has logged so far. */
int exact_read_log_to(struct exact *e, struct process *p, uint64_t limit, struct err *err);
int exact_read_log(struct exact *e, struct process *p, struct err *err);
/* Adds a block, or NULL, under the process's next number. -1 with err set. */
int exact_add_block(struct exact *e, struct process *p, struct code_block *b, bool inverted,
		    struct err *err);
/* Memory of the file that nobody needs. */
void exact_punch(const struct exact *e, uint64_t at, uint64_t n);

/* exact.c */
/* n executions of a block, of which its branch was counted `second` times. -1 without memory. */
int exact_count(struct exact *e, struct process *p, uint32_t block, uint64_t n, uint64_t second);
/* The block's branch is counted the other way from now on; what was counted before is put right. -1 without memory. */
int exact_invert(struct exact *e, struct process *p, uint32_t block);
/* Another element for an array of *n, all zero. The array and *n are changed by nothing else, but to none. */
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
/* The site at a run-time address. */
struct site_id ways_at(const struct process *p, uint64_t pc);
int ways_pair(struct process *p, const struct exact_pair *r, struct err *err);
int ways_edge(struct exact *e, const struct process *p, const struct exact_edge *r,
	      struct err *err);
/* What its parent had. */
int ways_inherit(struct process *p, uint32_t n, struct err *err);
/* Adds what has been counted since the last time. */
int ways_count(struct exact *e, struct process *p, struct err *err);
/* A block's direct jump out of its image, so often. -1 without memory. */
int ways_leave(struct exact *e, const struct process *p, const struct code_block *b, uint64_t n);
/* The process has ended: where its threads were is where they left. */
int ways_end(struct exact *e, struct process *p, struct err *err);
/* lines.c */
/* A record of a snapshot. */
/* A chunk's lines, a bit each. -1: the record is none. */
int exact_touched_lines(const struct exact_touched *c, uint64_t bits[EXACT_CHUNK / 64]);
int lines_record(struct exact *e, struct process *p, const struct exact_record *r, struct err *err);
/* It goes on where `from` ended. */
int lines_go_on(struct process *p, struct process *from, struct err *err);
/* The process has ended: which procedures were the first to touch lines. */
int lines_finish(struct exact *e, struct process *p, struct err *err);
void lines_free(struct process *p);
/* Executed, as far as snapshots tell; 0 if they count something else. */
uint64_t lines_instructions(const struct exact *e);

/* phases.c */
/* A record of an interval. */
int phases_record(struct exact *e, struct process *p, const struct exact_record *r,
		  struct err *err);
int phases_cut(struct exact *e, struct process *p, const struct exact_cut *c, struct err *err);
/* It goes on where `from` ended, whose counters have been read for the last time. */
int phases_go_on(struct exact *e, struct process *p, struct process *from, struct err *err);
/* The process has ended, and its counters have been read. */
int phases_finish(struct exact *e, struct process *p, struct err *err);
void phases_free_reader(struct process *p);

/* streams.c */
/* A block's fields, of its record. */
int streams_block(struct code_block *b, const struct exact_block *r, struct err *err);
void streams_free_block(struct code_block *b);
/* An exit has the first of its block's. */
int streams_exit(struct code_block *b, const struct code_block *of, const struct exact_exit *r,
		 struct err *err);
/* Sinks for so many blocks, less one; a power of two. */
bool streams_widen(struct process *p, uint32_t n);
/* Counted: executions of the block's instructions from one on, up to another. */
void streams_count(struct code_block *b, unsigned from, unsigned to, uint64_t n);
/* Takes what is in the process's streams; `last`: halves that are not full too. */
int streams_read(struct exact *e, struct process *p, bool last, struct err *err);
/* Everything that waits goes to the profile. */
int streams_finish(struct exact *e, struct process *p, struct err *err);
void streams_free(struct exact *e, struct process *p);
void streams_close(struct exact *e);

/* order.c */
int order_block(struct exact *e, struct code_block *b, const struct exact_block *r,
		struct err *err);
int order_exit(struct code_block *b, const struct code_block *of, const struct exact_exit *r,
	       struct err *err);
void order_free_block(struct code_block *b);
/* Between what was told and what comes now, the process's threads have done something that nobody observed. */
void order_gap(struct process *p);
/* Complete executions of a thread: n words. */
/* After reading, before what was read is added: whether it is of a warm-up. */
void exact_note_phase(struct exact *e, const struct process *p);
/* Lines that have been touched where the schedule skipped. */
int order_touched(struct exact *e, struct process *p, const struct exact_touched *r,
		  struct err *err);
int order_take(struct exact *e, struct process *p, struct counted *c, const uint64_t *w, size_t n,
	       struct err *err);
/* The process has ended: its successor goes on with what the consumer has of it. */
void order_free(const struct exact *e, struct process *p);

/* calls.c */
int calls_block(const struct process *p, struct code_block *b, const struct exact_block *r,
		struct err *err);
void calls_free_block(struct code_block *b);
/* Calls that have not returned are forgotten: nobody observes when they do. */
void calls_gap(struct process *p);
/* Complete executions of a thread: n words. */
int calls_take(struct exact *e, struct process *p, struct counted *c, const uint64_t *w, size_t n,
	       struct err *err);
/* The process has ended: its successor goes on with calls that have not returned. */
void calls_end(struct process *p);

#endif
