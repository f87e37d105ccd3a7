/* SPDX-License-Identifier: MIT */
/* What the recorder is told. */
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

extern int log_fd; /* or -1 */
extern uint64_t
	log_mode; /* what the code that is made now observes: log_observed, or MODE_SKIPPING */
extern uint64_t log_observed; /* what the recorder asks to be observed */
#define MODE_SKIPPING (1ull << 32)
const struct exact_schedule *log_schedule(void);
/* A piece of the recorder's memory, to be read. */
const void *log_piece(uint64_t at, uint64_t n);
void log_sampled(const struct exact_sampled *s);
/* What the recorder is to know of the schedule's state. */
void log_position(uint64_t position, unsigned phase, bool main);
/* Waits until the recorder has read all that has been observed. All other threads are out of the
 * cache. */
void log_ask(void);
/* How lines are observed, as the recorder says. */
const struct exact_lines *log_lines(void);
/* What our first argument says: the descriptor, and whose place the image takes, "FD:OFFSET", or
 * only FD. */
void log_init(const char *option);
/* Where the process stands in the schedule, as our first argument says: how far it had come, and whether it is the first one. */
extern uint64_t log_began;
extern bool log_main;
/* Our first argument in a new image. */
void log_exec_option(char *out, size_t size);
void log_thread(struct thread *t);
void log_thread_end(struct thread *t); /* its counters and stream are unmapped */
void log_before_fork(void);
void log_after_fork(struct thread *t, long result);
uint32_t log_image(const struct region *g); /* its number */
struct plan;
struct log_exits { /* of a block: see struct exact_exit */
	unsigned n, before;
	struct log_exit {
		uint8_t insn;	/* the branch */
		uint16_t words; /* the stream's, before it */
		uint64_t target;
	} exit[EXITS_MAX];
};
/* The block gets its number, and its exits those that follow. */
void log_block(struct block *b, uint32_t image, const uint8_t *lens, const struct plan *plan,
	       const struct log_exits *exits);
/* Another half for t's stream: executions are complete up to `end`, the n bytes there are taken
 * along. */
void log_next_half(struct thread *t, uint64_t end, size_t n);
void log_inverted(uint32_t id);
void log_pair(uint32_t number, uint32_t block, uint32_t near, uint64_t pc, uint32_t image);
void log_edge(unsigned kind, uint32_t block, uint64_t from, uint32_t from_image, uint64_t to,
	      uint32_t to_image);
void log_cut(uint32_t id, unsigned done, bool counted);
void log_native(const char *path);
void log_mapping(const char *line, bool first); /* a line of /proc/self/maps */
/* `bits`: one for each line of the chunk. */
void log_touched(unsigned plane, uint64_t chunk, const uint64_t *bits, unsigned n);
void log_ran(const uint8_t *bits, uint32_t blocks);
void log_stack(const struct thread *t);
void log_snapshot(const struct exact_snapshot *s);
void log_vector(const struct exact_executed *e, unsigned n, bool pairs);
void log_interval(void);
void log_uncounted(int n);
void log_tell(
	void); /* what has waited for that: before the process ends, or executes another image */
/* The process is the one that logs, and no vfork's child, which shares its memory. */
bool log_is_ours(void);
void log_ended(void);
/* Blocks are numbered anew from here on: another set of counters and streams for all threads. */
void log_restart(void);
/* The process's only thread goes on without the engine: ends the log, and lets go of the
 * recorder's memory. */
void log_leave(struct thread *t);
bool log_descriptors(struct thread *t, long nr, long *ret);
/* Whether the call is to read, write or map the recorder's memory: to the program that is no
 * open file. */
bool log_refuses(const struct thread *t, long nr);

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
