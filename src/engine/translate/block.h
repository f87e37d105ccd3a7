/* SPDX-License-Identifier: MIT */
/* Blocks, the links between them, and the state of the program at a place in the cache. */
#ifndef ASSAY_ENGINE_TRANSLATE_BLOCK_H
#define ASSAY_ENGINE_TRANSLATE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/layout.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct block {
	uint64_t pc, code; /* read by switch.S */
	uint32_t size;	   /* of the code */
	uint16_t len, n;   /* bytes and instructions of the program */
	uint32_t link;	   /* first of its links */
	uint32_t links;
	uint32_t in;	       /* links that lead here: number + 1, a list */
	uint32_t next_page[2]; /* blocks of the same page: number + 1 */
	uint32_t site;	       /* number of the indirect jump, call or return at its end, or 0 */
	uint16_t flags;
	uint16_t weight;      /* what an execution takes of T_LEFT */
	uint32_t id;	      /* the recorder's number; those of its exits follow */
	const uint8_t *bytes; /* the program's at pc, as they were, and BYTES_BEHIND more */
};
#define BYTES_BEHIND 15 /* what the decoder sees of what is no instruction */
#define BLOCK_DEAD 1
#define BLOCK_ONCE 2	    /* one instruction, never kept: its code changes */
#define BLOCK_FLAGS_DEAD 8  /* arithmetic flags are not read before they are written */
#define BLOCK_EXITS_DEAD 16 /* arithmetic flags are dead where the block ends */
/* The program may write there. Others may be about to enter the code when it is forgotten: it begins with a no-op
 * then, which becomes a jump out of the cache, to the link behind the block's own ones. */
#define BLOCK_CHANGES 32
#define BLOCK_CHECKED 128 /* of a restartable sequence: see rseq.c */
#define BLOCK_GUARDED \
	256 /* of a restartable sequence, and a store: runs in a section of the engine's */
#define BLOCK_SKIPS 64	 /* made for skipping: nothing of it is observed */
#define BLOCK_INVERTED 4 /* its branch has the opposite condition, its two links are exchanged */

#define EXITS_MAX 4 /* branches that leave a block before its end */
enum link_kind {
	LINK_JUMP,    /* goes on at target */
	LINK_SYSCALL, /* target is the instruction after it */
	LINK_ODD,     /* an instruction that the engine does itself: target is the instruction */
	LINK_LATER,   /* target is the instruction after one whose lines are to be marked now */
};
struct link {
	uint64_t target;
	uint32_t site; /* cache offset of the rel32, 0 if it can't be linked */
	uint32_t stub; /* cache offset, 0 if it has none */
	uint32_t from; /* block */
	uint32_t next; /* in target's list */
	uint8_t kind;
	bool linked;
	bool fallen;  /* its jump is gone: target's code follows */
	bool edge;    /* counted */
	uint8_t exit; /* the exit whose counter counts it; 0: the block's second counter */
};

/* Where its jump leads to from now on. */
static inline void link_patch(struct link *l, uint64_t to)
{
	uint64_t site = CACHE_BASE + l->site;

	invariant(l->site && l->site < CACHE_SIZE && to - CACHE_BASE < CACHE_SIZE);
	__atomic_store_n((int32_t *)site, (int32_t)(to - (site + 4)), __ATOMIC_RELEASE);
}

/* Makes a block of the code at pc; NULL if there is none to decode (a fault is then pending). If `from`
 * leads there and its block was the last one made, the code goes on where that one ends. */
struct block *translate(struct thread *t, uint64_t pc, struct link *from);
/* Makes a block of at most the first n instructions at pc, to which no link leads. */
struct block *translate_short(struct thread *t, uint64_t pc, unsigned n);
/* What the program's state is where the cache's code stands at `at`, in a block. */
struct place {
	uint64_t pc, next; /* the instruction, and what follows it */
	uint32_t spilled;  /* registers whose value is in t->spill */
	unsigned done;	   /* instructions of the block that are complete */
	bool clean;	   /* exactly between two instructions */
	bool counted;	   /* the block's counter has been advanced */
	unsigned record;   /* bytes of the stream that are complete */
	unsigned base;	   /* register that points to the execution's record, or NO_REG */
	unsigned closed;   /* the whole record's bytes, if it has been completed already */
	int undone;   /* to be given back to T_LEFT: what was taken for instructions from pc on */
	bool ours;    /* the code there is the engine's, before the instruction */
	bool repeats; /* the instruction does, and may have begun: T_LATER is set */
};
/* Code that counts an edge and goes on at `to`: its address in the cache, or 0 without room. */
uint64_t translate_edge(const struct link *l, const struct block *to);
/* Code that indirect jumps come to the block by: its address in the cache, or 0 without room. */
uint64_t translate_entry(const struct block *b);
/* The counter of an edge. */
uint32_t edge_counter(const struct link *l);
bool translate_place(struct thread *t, const struct block *b, uint64_t at, struct place *out);

#pragma GCC visibility pop

#endif
