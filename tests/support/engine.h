/* SPDX-License-Identifier: MIT */
/*
 * The exact engine's side of the memory that it shares with the recorder, played by a test: a recorder in each way of
 * observing, and processes, logs, threads and records for it to read.
 */
#ifndef ASSAY_TESTS_ENGINE_H
#define ASSAY_TESTS_ENGINE_H

#include "exact/exact_priv.h"

#define ENGINE_MODES(X) \
	X(COUNTS) \
	X(ADDRESSES) \
	X(VALUES) \
	X(CALLS) \
	X(LINES) \
	X(PHASES) \
	X(CONFLICTS) \
	X(REUSE) \
	X(MISSES) \
	X(CYCLES)
enum engine_mode {
#define X(id) ENGINE_##id,
	ENGINE_MODES(X)
#undef X
	ENGINE_MODE_N,
};

#define ENGINE_SIZE (1ull << 30) /* of the file, as far as it is mapped */
#define ENGINE_PROCESSES 64

struct engine {
	struct profile profile;
	const struct order_consumer *consumer; /* or NULL */
	struct exact *e;
	char *file;
	uint64_t next; /* its first free byte */
	/* Processes, and the last chunk of each one's log: not in the file, where the recorder can clear them. */
	struct engine_note {
		const struct exact_process *process;
		uint64_t chunk, used;
	} note[ENGINE_PROCESSES];
	unsigned nprocess;
};

/* -1 with err set. */
int engine_open(struct engine *g, enum engine_mode mode, struct err *err);
void engine_close(struct engine *g);
/* A new piece of the file, in pages, and where it lies there; NULL: there is no more. */
void *engine_piece(struct engine *g, uint64_t size, uint64_t *at);
/* What lies there. */
void *engine_at(const struct engine *g, uint64_t at);
/* A process with an empty log, that of the caller; the newest. NULL: no room. */
struct exact_process *engine_process(struct engine *g, uint64_t *at);
/* Its last chunk. */
struct exact_log *engine_log(struct engine *g, const struct exact_process *p);
/* A record of that size, all 0 but its head, in a new chunk if the last one is full. NULL: no room. It is the recorder's
 * once engine_tell has said so. */
void *engine_record(struct engine *g, struct exact_process *p, unsigned kind, size_t size);
void engine_tell(struct engine *g, const struct exact_process *p);
/* A thread with counters, stream and first touches, as the mode has them. NULL: no room. */
struct exact_thread *engine_thread(struct engine *g, struct exact_process *p);
/* Its stream's half. */
uint64_t *engine_half(const struct engine *g, const struct exact_thread *t, unsigned half);
/* A block of n one-byte instructions, with fields; not told yet. NULL: no room. */
struct exact_block *engine_block(struct engine *g, struct exact_process *p, uint32_t id, unsigned n,
				 const struct exact_field *field, unsigned nfield);
struct exact_field *engine_fields(struct exact_block *b);

#endif
