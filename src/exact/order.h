/* SPDX-License-Identifier: MIT */
/*
 * Executed instructions in the order of the program, thread by thread: what a recorder with
 * EXACT_ORDER gives to its consumer. Threads take turns as their streams are read, by half a stream
 * (engine/shared.h): the instructions of one thread are in order, but the order between threads is
 * known only to half a stream.
 */
#ifndef ASSAY_EXACT_ORDER_H
#define ASSAY_EXACT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/sites.h"

enum order_kind {
	ORDER_FETCH, /* code at `at` is fetched, from another line than the code before it */
	ORDER_LOAD,
	ORDER_STORE,
	ORDER_MODIFY, /* a load and a store of the same bytes */
	ORDER_PREFETCH,
	ORDER_BRANCH, /* a conditional branch at `at`, taken or not */
	ORDER_JUMP,   /* an indirect jump, which went to `to` */
	ORDER_CALL,   /* a direct call; `next` follows it */
	ORDER_ICALL,
	ORDER_RETURN,
	ORDER_KIND_N,
};
/* Largest access in bytes. Longer repetitions of string instructions are cut off there, and counted. */
#define ORDER_SIZE_MAX (1ull << 32)
#define ORDER_ACCESSES (1u << ORDER_LOAD | 1u << ORDER_STORE | 1u << ORDER_MODIFY)

struct order_event {
	uint64_t at; /* run-time address of the access or of the instruction */
	union {
		uint64_t size; /* bytes of the access */
		uint64_t to;   /* the target; 0: not known */
	};
	void *site; /* the consumer's data of the site */
	uint8_t kind;
	bool taken;
	uint8_t len; /* length of the instruction: the next one is at `at` + len */
	/* access of struct insn (x86/insn.h): 0 unless it is a plain load, store or both; only
	 * with `plain` */
	uint8_t access;
	uint32_t now; /* number of the thread's instructions before this one, modulo 2^32 */
};

/* An event of each execution of a block, in so far as it is known before the execution. A block's ops are in program
 * order. */
struct order_op {
	/* added to the narrowed word to give the address; or the instruction's address */
	uint64_t add;
	uint16_t word; /* number of the execution's word, or ORDER_NO_WORD */
	uint16_t size;
	uint8_t insn;
	uint8_t kind; /* enum order_kind, or ORDER_REPEATS, ORDER_LEFT */
	uint8_t from, to;
	uint8_t len;
	bool repeats; /* the instruction repeats the access: `size` is that of one element */
	uint8_t access;
	bool plain; /* the word needs no narrowing */
	void *site;
};
/* A value that an op loads; not known if `to` is 0. */
struct order_part {
	uint64_t add;
	uint16_t word;
	uint8_t from, to;
};
enum {
	ORDER_REPEATS =
		/* no event: the number of elements of the next accesses of its instruction */
		ORDER_KIND_N,
	ORDER_LEFT, /* no event: by how many elements that number was too large */
	ORDER_NO_WORD = 0xffff,
};

/* A block's code and its ops. An exit has a prefix of its block's ops. */
struct order_code {
	uint64_t pc, next; /* run-time addresses of the block, and of the code after it */
	struct order_op *op;
	uint32_t n;
	uint8_t end; /* kind of its last instruction (ORDER_BRANCH and so on); ORDER_FETCH: no event */
	bool shared;  /* `op`, `part` and `own` belong to another block */
	bool checked; /* every op's word is below the number of words of an execution */
	bool listed;  /* the consumer has it in a list */
	void *own;    /* what order_consumer.block returned, or NULL */
	/* the consumer's counts of complete executions, until it adds them to sites: all executions, those that fetched
	 * their first line, those whose end was told */
	uint64_t runs, entered, ended;
	struct order_code *listed_next;
	struct order_op last; /* the op of the last instruction */
	struct order_part *
		part; /* the values that its ops load, as many as ops; NULL unless the consumer wants values */
	void *first; /* the site of its first instruction, if the consumer sees control flow; or NULL */
};

/* An execution of a block: its first `done` instructions, and the words from which its addresses are computed. The
 * program may write to the words at any time: each is read once. */
struct order_execution {
	struct order_code *code;
	const uint64_t *w;
	unsigned words, done;
	bool cut;    /* the execution ended before the block's end */
	bool whole;  /* the execution is complete, and so are its words */
	void *exact; /* private to order_repeated() */
};

/* Returns the bytes of an access that is repeated `times` times, at most ORDER_SIZE_MAX. */
uint64_t order_repeated(const struct order_execution *x, const struct order_op *o, uint64_t times);

static inline uint64_t order_narrow(uint64_t v, unsigned bits)
{
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

/* Computes an op's address or count. False if the execution was cut short before the word that it needs. */
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

/* Returns the first 8 bytes that one of the execution's ops loads (order_consumer.values). False if they are not known. */
static inline bool order_loaded(const struct order_execution *x, const struct order_op *o,
				uint64_t *v)
{
	const struct order_part *p = x->code->part + (o - x->code->op);

	if (!p->to || (p->word != ORDER_NO_WORD && p->word >= x->words))
		return false;
	*v = p->word == ORDER_NO_WORD ? 0 : __atomic_load_n(&x->w[p->word], __ATOMIC_RELAXED);
	*v = order_narrow(order_narrow(*v, p->from) + p->add, p->to);
	return true;
}

/* A block's instructions, for consumers that decode them. */
struct order_bytes {
	uint64_t pc;
	const uint8_t *bytes;
	struct site *const *site; /* n elements, each with the length of its instruction */
	unsigned n;
};

struct order_consumer {
	void *arg;
	unsigned
		kinds; /* the kinds of events that the consumer wants, a bit for each enum order_kind */
	unsigned shift; /* a line of code has 2^shift bytes */
	bool plain;	/* fill in order_event.access */
	bool values; /* order_loaded() knows the values of loads to general registers; only with `execute` */
	/* Make the consumer's data of a site, of a process and of a thread. NULL: no memory. */
	void *(*site)(void *arg, struct site *s);
	void *(*process)(void *arg, uint32_t pid);
	void *(*thread)(void *arg, void *process);
	/* Makes the consumer's data of a block, in one piece of memory that is freed with the block. NULL: no memory.
	 * The pointer may be NULL. */
	void *(*block)(void *arg, const struct order_bytes *b);
	/* Takes an event. -1 without memory. NULL if the consumer has the next two functions: */
	int (*take)(void *arg, void *thread, const struct order_event *e, size_t n);
	/*
	 * the first one takes an execution with its ops, without making events; the second one takes the block's
	 * successor (code->last), if the last instruction is reported, before the next execution
	 */
	void (*execute)(void *arg, void *thread, const struct order_execution *x);
	void (*end)(void *arg, void *thread, struct order_code *code, bool taken, uint64_t to);
	/* Adds to sites what the consumer counts elsewhere, before anybody reads the profile. The pointer may be NULL. */
	void (*settle)(void *arg);
	void (*thread_end)(void *arg, void *thread);
	void (*process_end)(void *arg, void *process);
	/* Begins or ends a warm-up of that many instructions, in which events change the model and are not counted. The
	 * pointer may be NULL. */
	void (*warm_up)(void *arg, bool on, uint64_t instructions);
	/* The thread has touched or fetched the line at that address while the schedule skipped. The pointer may be
	 * NULL. */
	void (*touched)(void *arg, void *thread, uint64_t at);
};

#endif
