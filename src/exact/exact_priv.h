/* SPDX-License-Identifier: MIT */
/* The recorder of exact runs: what its parts share. */
#ifndef ASSAY_EXACT_EXACT_PRIV_H
#define ASSAY_EXACT_EXACT_PRIV_H

#include "exact/classes.h"
#include "exact/exact.h"
#include "exact/order.h"
#include "engine/shared.h"
#include "sampler/files.h"
#include <uthash.h>

#define EXACT_PAGE 4096ul /* bytes of the file that the header has, and each process's record */

/* Limits on what a program can make the recorder keep. */
#define EXACT_PROCESSES_MAX (1u << 20) /* processes of a recording, ended ones included */
#define EXACT_THREADS_MAX (1u << 20)   /* threads of processes that have not ended */
#define EXACT_IMAGES_MAX (1u << 18)    /* images of one process */
#define EXACT_SAMPLES_KEPT (1u << 22)  /* samples that are complete but not closed */
#define EXACT_LIVE_BLOCKS \
	(1ull << 26) /* blocks of all processes that have not ended, inherited ones included */

/* A block of a process, in the profile's terms. Shared with the processes forked from it. */
struct code_block {
	struct code_block *next; /* the list of blocks that this process translated */
	uint16_t n;
	bool branch; /* ends in a conditional branch */
	bool exit; /* ends in a branch that always jumped (struct exact_exit): its fields are the first of another block's */
	uint16_t exits;	 /* number of its exits, which have the block numbers after this one */
	uint16_t before; /* exits before the place where the block is counted */
	bool indirect; /* ends in an indirect call: its arguments belong to the procedure that is called */
	uint16_t target;	  /* number of the stream's word that holds the target */
	uint16_t words;		  /* words of one execution in the stream */
	struct order_code *order; /* the block's ops, with EXACT_ORDER; or NULL */
	uint16_t nfield, ncolumn;
	struct field *field;
	struct column *column;
	uint64_t pc, addr; /* the block's address at run time, and in the image */
	uint16_t len;	   /* bytes of code */
	struct calls_code
		*calls; /* with EXACT_CALLS, of a block that ends in a call or a return; or NULL */
	uint64_t
		callee; /* the target of the direct call that ends the block, as an address in the image */
	uint64_t
		leaves; /* run-time address of the direct jump's target, if that is not in its image; else 0 */
	uint32_t image;
	struct site *site[]; /* n elements; none where nothing is counted */
};

#define EXACT_OFTEN_SIZES 2 /* number of sizes of sinks of blocks that run often */

/* A pair of an indirect jump, call or return and its target. Once counted, the pair is an edge of the profile. */
struct way {
	uint32_t block;
	/* number of the slot that counts the pair while the pair is in it, if there is one */
	uint32_t near;
	struct site_id from, to;
	struct edge *edge;
	uint64_t before; /* its counter at the last poll */
};

struct counted { /* a thread's counters and stream */
	uint64_t at;
	uint64_t stream_at;
	struct exact_stream *stream; /* the mapped stream, or NULL */
	struct order_thread *order;  /* the consumer's data, with EXACT_ORDER; or NULL */
	struct calls_made *calls;    /* the open calls, with EXACT_CALLS; or NULL */
	uint32_t tid;
	uint64_t firsts; /* where first touches lie, with lines; or 0 */
	/* the mapped counters, or NULL: they are mapped only while they are read */
	const char *mapped;
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
		/* users of `memory`: the process until it needs no blocks, and the processes
		 * forked from it */
		users;
	uint32_t forks,
		forked; /* forks: children that the process has begun, known when it has ended; forked: children that the recorder has met */
	struct code_memory *memory; /* holds the blocks that this process translated */
	struct code_block *own;
	struct exact_process *shared; /* the process's record, mapped until the process is done */
	struct exact_log *log;	      /* the chunk of the log that is being read, mapped; or NULL */
	/* how far the log was read: the chunk, the position in it, and the bytes in all */
	uint64_t chunk, pos, bytes;
	struct code_block **block;
	/* by block number + 1, as the stream names blocks; the first one is not used */
	struct sink *sink;
	uint32_t sinks; /* number of sinks: a power of two, more than there are blocks */
	struct sink_room *sink_room;
	bool *inverted;
	uint32_t nblock, room;
	uint32_t most_exits; /* no block has more exits */
	uint64_t *before;    /* counters at the last poll, summed over threads */
	uint64_t nbefore;
	uint64_t *now; /* room for the present counters, while they are read */
	size_t before_room, now_room;
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
	struct lines_reader *lines;   /* reader of snapshots, or NULL */
	struct phases_reader *phases; /* reader of intervals, or NULL */
	struct exact_cut
		*cut; /* early ends of executions, applied when the counters have been read */
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
	uint64_t mode; /* set of EXACT_ bits */
	struct profile *profile;
	struct exact_header *header;
	struct process **process;
	size_t nprocess;
	struct process *by_at;	  /* the same processes in a hash table, by place in the file */
	uint64_t nthread, nblock; /* totals over processes that are not released */
	struct files files;	  /* images by number, for names */
	size_t procedures_read;	  /* number of images whose procedures have been read */
	struct classes *classes;
	const struct order_consumer *consumer; /* with EXACT_ORDER */
	uint8_t *record;		       /* a copy of the log's record that is being read */
	size_t record_size;
	struct exact_lines lines;
	uint64_t began_ns; /* monotonic clock */
	char **argv;
	char *path, *option;
	struct exact_totals totals;
	uint64_t repeat_room; /* bytes that repeated accesses of this half may touch yet */
	char *sinks;	      /* memory for the sinks of blocks that run often */
	size_t sinks_used;
	/* free sinks, by size and by words of an execution */
	struct sink_free *sinks_free[EXACT_OFTEN_SIZES][EXACT_WORDS_MAX + 1];
	/* used with a schedule: */
	const struct exact_sampling *sampling;
	struct exact_sample *sample; /* samples that have ended since `closed` was called */
	size_t nsample, nclosed;
	size_t nmapped;	   /* threads whose counters stay mapped */
	uint64_t position; /* instructions that the first process has executed */
	bool warms;	   /* where the schedule skips, the consumer is told the touched lines */
	bool discard;	   /* the streams being read belong to a warm-up */
	uint32_t heard;	   /* the bell's value at the last look */
	bool read_any,
		read_before; /* the last poll, and the one before it, found something in a stream */
};

/* open.c */
/* Maps a piece of the file for reading; NULL: it cannot be mapped. */
void *exact_map(const struct exact *e, uint64_t at, uint64_t n);
/* True if a piece of n bytes at that offset lies in the file. An offset of 0, for "none", passes. */
bool exact_fits(uint64_t at, uint64_t n);
/* Returns n bytes of the shared file, which nobody needs any more, to the system. */
void exact_punch(const struct exact *e, uint64_t at, uint64_t n);

/* records.c */
int exact_bad(struct err *err);
/* Sets err: the program has more of `what` than the recorder keeps. Returns -1. */
int exact_too_many(const char *what, uint64_t most, struct err *err);
/* Both continue reading the process's log: the first one until `limit` bytes of records have been
 * read in all, the second one to the log's present end. */
int exact_read_log_to(struct exact *e, struct process *p, uint64_t limit, struct err *err);
int exact_read_log(struct exact *e, struct process *p, struct err *err);
/* Adds a block, or NULL, under the process's next number. -1 with err set. */
int exact_add_block(struct exact *e, struct process *p, struct code_block *b, bool inverted,
		    struct err *err);

/* exact.c */
/* Notes whether what was read belongs to a warm-up. Called after reading, and before adding to the
 * profile. */
void exact_note_phase(struct exact *e, const struct process *p);

/* processes.c */
/* Adds the processes that have begun since the last call. */
int processes_add_new(struct exact *e, struct err *err);
/* Returns the memory shared with a process that has ended, except its record, to the system. */
void processes_give_back(struct exact *e, struct process *p);
/* Frees everything of a process but its structure: processes may still appear that were forked from
 * it, although they inherit nothing. */
void processes_release(struct exact *e, struct process *p);
void processes_free(struct exact *e);

/* counters.c */
/* Maps n bytes of an existing thread's counters, from offset `at` on; or returns the mapping that is kept. NULL: they
 * cannot be mapped. */
const void *counters_map(struct exact *e, struct counted *t, uint64_t at, uint64_t n);
/* Ends the use of what counters_map() returned. */
void counters_unmap(const struct counted *t, const void *p, uint64_t n);
/* Unmaps a thread's counters if their mapping is kept. */
void counters_forget(struct exact *e, struct counted *t);
/* Adds n executions of a block, of which its branch was counted `second` times. -1 without memory. */
int counters_add(struct exact *e, struct process *p, uint32_t block, uint64_t n, uint64_t second);
/* Notes that the counter of the block's branch counts the other direction from now on. Corrects earlier counts. -1
 * without memory. */
int counters_invert(struct exact *e, struct process *p, uint32_t block);
/* Adds what the process's counters have counted since the last call. */
int counters_read(struct exact *e, struct process *p, struct err *err);
/* Corrects the counts of executions that ended early (p->cut). -1 without memory. */
int counters_cut(struct exact *e, struct process *p);
void counters_free(struct process *p);

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
/* Adds, for each thread of an ended process, an edge out of the program from where the thread ended. */
int ways_end(struct exact *e, struct process *p, struct err *err);

/* lines.c */
/* Reads a record of a chunk's lines, a bit each. -1: the record is malformed. */
int exact_touched_lines(const struct exact_touched *c, uint64_t bits[EXACT_CHUNK / 64]);
/* Reads a record of a snapshot. */
int lines_record(struct exact *e, struct process *p, const struct exact_record *r, struct err *err);
/* Called when the process p continues the process `from`. */
int lines_go_on(struct process *p, struct process *from, struct err *err);
/* Called when the process has ended: reads which procedures were the first to touch lines. */
int lines_finish(struct exact *e, struct process *p, struct err *err);
void lines_free(struct process *p);
/* Returns the instructions executed up to the last snapshot; 0 if snapshots do not count
 * instructions. */
uint64_t lines_instructions(const struct exact *e);

/* phases.c */
/* Reads a record of an interval. */
int phases_record(struct exact *e, struct process *p, const struct exact_record *r,
		  struct err *err);
int phases_cut(struct exact *e, struct process *p, const struct exact_cut *c, struct err *err);
/* Called when the process p continues the process `from`, whose counters have been read for the
 * last time. */
int phases_go_on(struct exact *e, struct process *p, struct process *from, struct err *err);
/* Called when the process has ended, and its counters have been read. */
int phases_finish(struct exact *e, struct process *p, struct err *err);
void phases_free_reader(struct process *p);

/* fields.c */
/* Reads a block's fields from its record. */
int fields_block(struct code_block *b, const struct exact_block *r, struct err *err);
/* Gives an exit a prefix of its block's fields. */
int fields_exit(struct code_block *b, const struct code_block *of, const struct exact_exit *r,
		struct err *err);
/* Adds n executions of the block's instructions [from, to) to the fields that are constants. */
void fields_count(struct code_block *b, unsigned from, unsigned to, uint64_t n);
void fields_free(struct code_block *b);

/* sinks.c */
/* Makes p->sink and p->sink_room large enough for n blocks, a power of two. False: no memory. */
bool sinks_widen(struct process *p, uint32_t n);
void sinks_close(struct exact *e);

/* streams.c */
/* Reads the process's streams: full halves, and with `last` the other halves too. */
int streams_read(struct exact *e, struct process *p, bool last, struct err *err);
/* Adds everything that waits in sinks to the profile. */
int streams_finish(struct exact *e, struct process *p, struct err *err);
void streams_free(struct exact *e, struct process *p);

/* order.c */
int order_block(struct exact *e, struct code_block *b, const struct exact_block *r,
		struct err *err);
int order_exit(struct code_block *b, const struct code_block *of, const struct exact_exit *r,
	       struct err *err);
void order_free_block(struct code_block *b);
/* Tells the consumer that the process's threads run unobserved between the last execution and the next one. */
void order_gap(struct process *p);
/* Tells the consumer that the profile is about to be read. */
void order_settle(const struct exact *e);
/* Reads a record of lines that were touched while the schedule skipped. */
int order_touched(struct exact *e, struct process *p, const struct exact_touched *r,
		  struct err *err);
/* Passes complete executions of a thread, n words, to the consumer. */
int order_take(struct exact *e, struct process *p, struct counted *c, const uint64_t *w, size_t n,
	       struct err *err);
/* Called when the process has ended: its successor takes over the consumer's data. */
void order_free(const struct exact *e, struct process *p);

/* calls.c */
int calls_block(const struct process *p, struct code_block *b, const struct exact_block *r,
		struct err *err);
void calls_free_block(struct code_block *b);
/* Forgets all open calls, because their returns may run unobserved. */
void calls_gap(struct process *p);
/* Reads complete executions of a thread, n words. */
int calls_take(struct exact *e, struct process *p, struct counted *c, const uint64_t *w, size_t n,
	       struct err *err);
/* Called when the process has ended: its successor takes over the open calls. */
void calls_end(struct process *p);

#endif
