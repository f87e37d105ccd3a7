/* SPDX-License-Identifier: MIT */
/*
 * The surroundings of the co-processor: the sample buffer, its clock, and the host's interrupts.
 *
 *   main processor ──retires──▶ filters ──▶ bus ──▶ sample buffer ──▶ co-processor ──interrupt──▶ host
 *                                               full: dropped                             timer ──▶
 *
 * Time is in main processor cycles of the observed program. While the host's handler runs the program stands still, so
 * the cost of handlers is counted separately.
 */
#ifndef ASSAY_COPROC_FEED_H
#define ASSAY_COPROC_FEED_H

#include "coproc/copro.h"

struct feed;

/* The host's part of a program. */
struct host {
	void *arg;
	/* Called for an interrupt of the co-processor or of the host's timer; `why` tells which.
	 * Returns the handler's cost in main processor cycles, without bus operations and the
	 * interrupt itself; or -1 with err set. */
	int64_t (*handle)(void *arg, struct copro *c, int why, uint64_t now, struct err *err);
	/* Main processor cycles until the timer's next interrupt, which the host may change.
	 * NULL: there is no timer. */
	const uint64_t *timer;
};
enum {
	HOST_INTERRUPT,
	HOST_TIMER,
	HOST_END, /* the run has ended, and the final state is read */
};

struct feed_counts {
	uint64_t offered; /* instructions of the classes that the program samples */
	uint64_t passed;  /* instructions that passed the filters */
	uint64_t dropped; /* instructions dropped because the buffer was full */
	uint64_t done;	  /* samples processed */
	uint64_t busy;	  /* main processor cycles in which the co-processor worked */
	uint64_t interrupts, timers;
	uint64_t bus;	   /* bus operations of the host */
	uint64_t overhead; /* main processor cycles of handlers */
	uint64_t deepest;  /* most bytes in the buffer */
};

struct feed {
	struct copro *c;
	struct host host;
	struct feed_counts n;
	uint64_t now; /* time of the last instruction */
	/* private */
	struct feed_sample *ring;
	uint32_t room, head, count; /* number of samples */
	uint32_t bytes;		    /* bytes of a sample */
	uint64_t bus_free, free_at, finish, timer_at;
	bool running;
	enum copro_outcome outcome;
};

/* The program has been loaded; that cost is included. -1 with err set. */
int feed_init(struct feed *f, struct copro *c, struct host host, struct err *err);
void feed_fini(struct feed *f);

/* Offers an instruction that retires at `now`, of a class that the opcode filter accepts; hash:
 * copro_hash of its address. */
int feed_take(struct feed *f, const struct sample *s, uint32_t hash, uint64_t now, struct err *err);
/* Ends the run: the buffer is drained, and the host reads the final state. */
int feed_end(struct feed *f, struct err *err);

/* Whether feed_take() of the instruction would have no effect, because filters reject it and
 * nothing is due before this time. */
static inline bool feed_rejects(const struct feed *f, unsigned cls, uint32_t hash, uint64_t now)
{
	return !copro_accepts(f->c, cls, hash) && !f->count && (!f->timer_at || now < f->timer_at);
}

#endif
