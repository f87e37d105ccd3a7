/* SPDX-License-Identifier: MIT */
/*
 * Executed instructions in the order of the program, thread by thread: what a recorder with EXACT_ORDER gives its
 * consumer. Threads take turns as their streams are read, by half a stream (dbi/shared.h): what one thread does is in
 * order, how two of them interleave is not told finer than that.
 */
#ifndef ASSAY_DBI_ORDER_H
#define ASSAY_DBI_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/sites.h"

enum order_kind {
	ORDER_FETCH, /* of code at `at`, in another line than the one before */
	ORDER_LOAD,
	ORDER_STORE,
	ORDER_MODIFY, /* a load and a store of the same bytes */
	ORDER_PREFETCH,
	ORDER_BRANCH, /* conditional, at `at`: taken or not */
	ORDER_JUMP,   /* indirect, went to `to` */
	ORDER_CALL,   /* direct; `next` follows it */
	ORDER_ICALL,
	ORDER_RETURN,
	ORDER_KIND_N,
};
/* Bytes of one access, at least 1: what a string instruction repeats more often is cut off there, and counted. */
#define ORDER_SIZE_MAX (1ull << 32)
#define ORDER_ACCESSES (1u << ORDER_LOAD | 1u << ORDER_STORE | 1u << ORDER_MODIFY)

struct order_event {
	uint64_t at; /* run-time address: of the access, or of the instruction */
	union {
		uint64_t size; /* bytes */
		uint64_t to;   /* where it went, 0: not known */
	};
	void *site; /* the consumer's */
	uint8_t kind;
	bool taken;
	uint8_t len; /* of the instruction: the next one is at at + len */
	uint8_t access; /* as isa/insn.h has it: 0 if it is no plain load, store or both; with `plain` */
	uint32_t now; /* instructions of the thread before this one, modulo 2 to the power of 32 */
};

struct order_consumer {
	void *arg;
	unsigned kinds; /* bit per enum order_kind: what it wants to see */
	unsigned shift; /* code lines are of 2 to the power of that */
	bool plain;	/* events of accesses have `access` */
	/* What events of a site carry, what is called for each process and each thread. NULL: no memory. */
	void *(*site)(void *arg, struct site *s);
	void *(*process)(void *arg, uint32_t pid);
	void *(*thread)(void *arg, void *process);
	/* -1 without memory */
	int (*take)(void *arg, void *thread, const struct order_event *e, size_t n);
	void (*thread_end)(void *arg, void *thread);
	void (*process_end)(void *arg, void *process);
	/* From now on what is told is a warm-up: it changes the model, and is not to be counted; or no longer. NULL: it
	 * makes no difference. */
	void (*warm_up)(void *arg, bool on);
};

#endif
