/* SPDX-License-Identifier: MIT */
/*
 * Executed instructions in the order of the program, thread by thread: what a recorder with EXACT_ORDER gives its
 * consumer. Threads take turns as their streams are read, by half a stream (engine/shared.h): what one thread does is in
 * order, how two of them interleave is not told finer than that.
 */
#ifndef ASSAY_EXACT_ORDER_H
#define ASSAY_EXACT_ORDER_H

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
	uint8_t access; /* as x86/insn.h has it: 0 if it is no plain load, store or both; with `plain` */
	uint32_t now; /* instructions of the thread before this one, modulo 2 to the power of 32 */
};

/* What is told of each execution of a block, in order: an event, as far as it is known before. */
struct order_op {
	uint64_t add;  /* an address: the word, narrowed, + that; or the instruction's */
	uint16_t word; /* or ORDER_NO_WORD */
	uint16_t size;
	uint8_t insn;
	uint8_t kind; /* enum order_kind; ORDER_REPEATS, ORDER_LEFT */
	uint8_t from, to;
	uint8_t len;
	bool repeats; /* its size is of an element */
	uint8_t access;
	bool plain;	    /* nothing is narrowed */
	struct order_part { /* the value that it loads; to: 0, it is not known */
		uint64_t add;
		uint16_t word;
		uint8_t from, to;
	} value;
	void *site;
};
enum {
	ORDER_REPEATS =
		ORDER_KIND_N, /* no event: how many elements the next ones of its instruction have, */
	ORDER_LEFT,	      /* and how many fewer */
	ORDER_NO_WORD = 0xffff,
};

/* A block's code, and what is told of it; its exits have the first of its ops. */
struct order_code {
	uint64_t pc, next; /* run-time addresses: its own, what follows it */
	struct order_op *op;
	uint32_t n;
	void *first;  /* the site of its first instruction, if control is looked at; or NULL */
	bool shared;  /* ops, and `own`, are another's */
	bool checked; /* all words of its ops are words of its executions */
	uint8_t end; /* ORDER_BRANCH, ...: what its last instruction is; ORDER_FETCH: nothing to tell */
	struct order_op last; /* ... */
	void *own;	      /* the consumer's (order_consumer.block), or NULL */
};

/* An execution of a block: its first `done` instructions, and the words that its addresses come from. The program may
 * write to them at any time: each is read once. */
struct order_execution {
	const struct order_code *code;
	const uint64_t *w;
	unsigned words, done;
	bool cut;    /* it ended early */
	bool whole;  /* it did not, and all words are there */
	void *exact; /* private, of order_repeated() */
};

/* Bytes of an access that is repeated so often; cut off at what one may have. */
uint64_t order_repeated(const struct order_execution *x, const struct order_op *o, uint64_t times);

static inline uint64_t order_narrow(uint64_t v, unsigned bits)
{
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

/* An op's address, or count. Words that an execution that was cut short does not have: false. */
static inline bool order_value(const struct order_execution *x, const struct order_op *o,
			       uint64_t *v)
{
	*v = o->add;
	if (o->word == ORDER_NO_WORD)
		return true;
	if (!x->whole && o->word >= x->words)
		return false;
	*v = __atomic_load_n(&x->w[o->word], __ATOMIC_RELAXED);
	*v = o->plain ? *v + o->add : order_narrow(order_narrow(*v, o->from) + o->add, o->to);
	return true;
}

/* What an op loads (order_consumer.values), its first 8 bytes. False: that is not known. */
static inline bool order_loaded(const struct order_execution *x, const struct order_op *o,
				uint64_t *v)
{
	const struct order_part *p = &o->value;

	if (!p->to || (p->word != ORDER_NO_WORD && p->word >= x->words))
		return false;
	*v = p->word == ORDER_NO_WORD ? 0 : __atomic_load_n(&x->w[p->word], __ATOMIC_RELAXED);
	*v = order_narrow(order_narrow(*v, p->from) + p->add, p->to);
	return true;
}

/* A block's instructions, for who looks at their bytes. */
struct order_bytes {
	uint64_t pc;
	const uint8_t *bytes;
	struct site *const *site; /* n; each has its instruction's length */
	unsigned n;
};

struct order_consumer {
	void *arg;
	unsigned kinds; /* bit per enum order_kind: what it wants to see */
	unsigned shift; /* code lines are of 2 to the power of that */
	bool plain;	/* events of accesses have `access` */
	bool values;	/* order_loaded() knows what general loads load; with `execute` */
	/* What events of a site carry, what is called for each process and each thread. NULL: no memory. */
	void *(*site)(void *arg, struct site *s);
	void *(*process)(void *arg, uint32_t pid);
	void *(*thread)(void *arg, void *process);
	/* What is kept of a block beside its ops, one piece of memory, that is freed with it. NULL: no memory. May be NULL. */
	void *(*block)(void *arg, const struct order_bytes *b);
	/* Events. -1 without memory. Or NULL, where there are the two that follow: */
	int (*take)(void *arg, void *thread, const struct order_event *e, size_t n);
	/* executions, each with its ops as they are, which saves the events; and where a block went whose last instruction
	 * is told, when that is known: it comes before the next execution. */
	void (*execute)(void *arg, void *thread, const struct order_execution *x);
	void (*end)(void *arg, void *thread, const struct order_op *last, bool taken, uint64_t to);
	void (*thread_end)(void *arg, void *thread);
	void (*process_end)(void *arg, void *process);
	/* From now on what is told is a warm-up: it changes the model, and is not to be counted; or no longer. NULL: it
	 * makes no difference. */
	void (*warm_up)(void *arg, bool on);
	/* Where nothing was told the thread has touched the line at that address, or fetched it. May be NULL. */
	void (*touched)(void *arg, void *thread, uint64_t at);
};

#endif
