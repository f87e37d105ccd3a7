/* SPDX-License-Identifier: MIT */
/* The log: what the engine tells the recorder. */
#ifndef ASSAY_ENGINE_RECORD_LOG_H
#define ASSAY_ENGINE_RECORD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/layout.h"
#include "engine/shared.h"
#include "engine/translate/block.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct region;
struct thread;

extern int log_fd; /* descriptor of the recorder's file, or -1 */
extern uint64_t
	log_mode; /* what code translated from now on observes: log_observed, or MODE_SKIPPING */
extern uint64_t log_observed; /* what the recorder asks to be observed */
#define MODE_SKIPPING (1ull << 32)
#define MODE_COARSE (1ull << 33) /* in addition: instructions are subtracted rarely */
const struct exact_schedule *log_schedule(void);
/* Maps a piece of the recorder's memory for reading. */
const void *log_piece(uint64_t at, uint64_t n);
void log_sampled(const struct exact_sampled *s);
/* Tells the recorder the schedule's state. */
void log_position(uint64_t position, unsigned phase, uint64_t length, bool main);
/* Waits until the recorder has read everything that was observed. All other threads are outside the
 * cache. */
void log_ask(void);
/* Returns how the recorder wants lines to be observed. */
const struct exact_lines *log_lines(void);
/* Reads the engine's first argument: the recorder's descriptor, and the process that this image
 * continues: "FD:OFFSET", or only FD. */
void log_init(const char *option);
/* Reads from the engine's first argument the process's position in the schedule, and whether the
 * process is the first one. */
extern uint64_t log_began;
extern bool log_main;
/* Writes the engine's first argument for a new image. */
void log_exec_option(char *out, size_t size);
void log_thread(struct thread *t);
void log_thread_end(struct thread *t); /* unmaps the thread's counters and stream */
void log_before_fork(void);
void log_after_fork(struct thread *t, long result);
uint32_t log_image(const struct region *g); /* returns the image's number */
struct plan;
struct log_exits { /* Exits of a block: see struct exact_exit. */
	unsigned n, before;
	struct log_exit {
		uint8_t insn;	/* index of the branch */
		uint16_t words; /* words of the stream before the branch */
		uint64_t target;
	} exit[EXITS_MAX];
};
/* Logs a block and its exits, and gives them consecutive numbers. */
void log_block(struct block *b, uint32_t image, const uint8_t *lens, const struct plan *plan,
	       const struct log_exits *exits);
/* Gives t the other half of its stream: executions are complete up to `end`, and the n bytes from
 * there on move to the new half. */
void log_next_half(struct thread *t, uint64_t end, size_t n);
void log_inverted(uint32_t id);
void log_pair(uint32_t number, uint32_t block, uint32_t near, uint64_t pc, uint32_t image);
void log_edge(unsigned kind, uint32_t block, uint64_t from, uint32_t from_image, uint64_t to,
	      uint32_t to_image);
void log_cut(uint32_t id, unsigned done, bool counted);
void log_native(const char *path);
/* Begin a record of n bytes, with its head filled in, and complete it: no other thread logs meanwhile. */
void *log_open(unsigned kind, size_t n);
void log_close(const void *record);
/* log_sets.c */
void log_mapping(const char *line, bool first); /* logs a line of /proc/self/maps */
/* Logs the touched lines of a chunk. `bits`: one for each line. */
void log_touched(unsigned plane, uint64_t chunk, const uint64_t *bits, unsigned n);
void log_ran(const uint8_t *bits, uint32_t blocks);
void log_stack(const struct thread *t);
void log_snapshot(const struct exact_snapshot *s);
void log_vector(const struct exact_executed *e, unsigned n, bool pairs);
void log_interval(void);
/* log.c */
void log_uncounted(int n);
void log_tell(
	void); /* logs the records that had to wait, before the process ends or executes another image */
/* Whether the process is the one that logs, and not a child of vfork, which shares its memory. */
bool log_is_ours(void);
void log_ended(void);
/* Begins new counters and streams for all threads, because blocks are renumbered. */
void log_restart(void);
/* Ends the log and unmaps the recorder's memory, because the process's only thread goes on without
 * the engine. */
void log_leave(struct thread *t);
static inline struct exact_stream *stream_of(struct thread *t)
{
	return (struct exact_stream *)((char *)t + T_STREAM);
}

static inline uint64_t *counter_of(struct thread *t, uint32_t id)
{
	return (uint64_t *)((char *)t + T_COUNTERS) + id;
}

#pragma GCC visibility pop

#endif
