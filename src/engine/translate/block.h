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
	uint64_t pc, code; /* switch.S reads both */
	uint32_t size;	   /* bytes of code in the cache */
	uint16_t len, n;   /* bytes and instructions of the program */
	uint32_t link;	   /* number of its first link */
	uint16_t links;
	uint16_t
		take_at; /* BLOCK_COARSE: offset in the program's bytes of the instruction at which it subtracts */
	uint32_t in; /* first link that leads here, as its number + 1: the head of a list */
	uint32_t next_page[2]; /* next block of the same page, for each of two pages: number + 1 */
	union {
		uint32_t site; /* number of the indirect jump, call or return at its end, or 0 */
		struct {       /* BLOCK_COARSE: see left.c */
			uint16_t owed;
			int16_t take;
		};
	};
	uint16_t flags;
	/* what an execution subtracts from T_LEFT; BLOCK_COARSE: instructions before the one at take_at */
	uint16_t weight;
	union {
		/* number that the recorder knows the block by; those of its exits follow */
		uint32_t id;
		/* BLOCK_COARSE: offset of the code that follows the subtraction, or 0 if there is none */
		uint32_t behind;
	};
	/* the program's bytes at pc when the block was made, and BYTES_BEHIND more */
	const uint8_t *bytes;
};
/* further bytes that the decoder needs to see that bytes are no instruction */
#define BYTES_BEHIND 15
#define BLOCK_DEAD 1
#define BLOCK_ONCE 2	    /* the block is one instruction whose code changes; it is not kept */
#define BLOCK_FLAGS_DEAD 8  /* arithmetic flags are not read before they are written */
#define BLOCK_EXITS_DEAD 16 /* arithmetic flags are dead where the block ends */
/*
 * The program may write to the block's code. Other threads may be about to enter the block when it
 * is forgotten: so it begins with a no-op, which then becomes a jump out of the cache, to the link
 * behind the block's own ones.
 */
#define BLOCK_CHANGES 32
#define BLOCK_CHECKED 128 /* block of a restartable sequence: see rseq.c */
#define BLOCK_GUARDED \
	256 /* block of a restartable sequence with a store: runs in a section of the engine's */
#define BLOCK_SKIPS 64 /* block made for skipping: nothing of it is observed */
#define BLOCK_COARSE \
	512 /* block made for skipping that subtracts its instructions only where needed: see left.c */
#define BLOCK_INVERTED \
	4 /* the branch has the opposite condition, and the two links are exchanged */

#define EXITS_MAX 4 /* branches that leave a block before its end */
enum link_kind {
	LINK_JUMP,    /* execution goes on at target */
	LINK_SYSCALL, /* target is the instruction after the system call */
	LINK_ODD,     /* target is an instruction that the engine executes itself */
	LINK_LATER,   /* target is the instruction after one whose lines have to be marked now */
};
struct link {
	uint64_t target;
	uint32_t site; /* cache offset of the jump's rel32; 0: the link cannot be patched */
	uint32_t stub; /* cache offset of the stub; 0: there is none */
	uint32_t from; /* number of the block that the link leaves */
	uint32_t next; /* next link in the target's list */
	uint8_t kind;
	bool linked;
	bool fallen;  /* the jump was removed: the target's code follows */
	bool edge;    /* passes of the link are counted */
	uint8_t exit; /* the exit whose counter counts the link; 0: the block's second counter */
	/* number of instructions that have been executed but not subtracted where the link is
	 * taken: see left.c */
	uint16_t owed;
};

/* Number of instructions that were executed before the block without having been subtracted. */
static inline unsigned owed_at(const struct block *b)
{
	return b->flags & BLOCK_COARSE ? b->owed : 0;
}

/* Patches the link's jump to lead to `to` from now on. */
static inline void link_patch(struct link *l, uint64_t to)
{
	uint64_t site = CACHE_BASE + l->site;

	invariant(l->site && l->site < CACHE_SIZE && to - CACHE_BASE < CACHE_SIZE);
	__atomic_store_n((int32_t *)site, (int32_t)(to - (site + 4)), __ATOMIC_RELEASE);
}

/*
 * Makes a block of the code at pc. NULL: there is no code to decode, and a fault is pending. If
 * `from` leads to pc and its block was the last one made, the new code follows that block directly.
 */
struct block *translate(struct thread *t, uint64_t pc, struct link *from);
/* Makes a block of at most the first n instructions at pc, to which no link leads. */
struct block *translate_short(struct thread *t, uint64_t pc, unsigned n);
/* Makes a block to which no link leads, for a place within other blocks. */
struct block *translate_midway(struct thread *t, uint64_t pc);
/* The program's state at a place in a block's code. */
struct place {
	uint64_t pc, next; /* addresses of the instruction and of the next one */
	uint32_t spilled;  /* registers whose value is in t->spill */
	unsigned done;	   /* instructions of the block that are complete */
	bool clean;	   /* the place is exactly between two instructions */
	bool counted;	   /* the block's counter has been advanced */
	unsigned record;   /* bytes of the stream that are complete */
	unsigned base;	   /* register that points to the execution's record, or NO_REG */
	unsigned closed;   /* bytes of the whole record, if it is complete already */
	/* amount to be added to T_LEFT again for instructions from pc on that did not run */
	int undone;
	bool ours;    /* the code is the engine's own, before the instruction */
	bool repeats; /* the instruction repeats, and may have begun: T_LATER is set */
};
/* Makes code that counts an edge, or subtracts what is owed, and continues at `to`. Returns its address in the cache;
 * 0: there is no room. */
uint64_t translate_edge(const struct link *l, const struct block *to);
/* Makes code through which indirect jumps enter the block. Returns its address in the cache; 0:
 * there is no room. */
uint64_t translate_entry(const struct block *b);
/* Returns the number of an edge's counter. */
uint32_t edge_counter(const struct link *l);
bool translate_place(struct thread *t, const struct block *b, uint64_t at, struct place *out);

#pragma GCC visibility pop

#endif
