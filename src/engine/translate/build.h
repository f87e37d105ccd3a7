/* SPDX-License-Identifier: MIT */
/*
 * A block on its way from the program to the cache. The stages, in their order:
 *
 *   decode.c    instructions, and which registers they leave free
 *   code.c      the block's code: its counter, then instruction by instruction; with these parts:
 *     operand.c   memory operands that have to be rewritten
 *     control.c   the block's end: jumps, calls, returns
 *     words.c     the stream's words, as planned by plan.c
 *     touches.c   the lines that the block touches
 *     shadow.c    the marks of those lines
 *   publish.c   its place in the cache, its links, the engine's own code beside it
 *
 * translate.c runs them for a new block; place.c for one that a signal has stopped, to find which instruction lies
 * where.
 */
#ifndef ASSAY_ENGINE_TRANSLATE_BUILD_H
#define ASSAY_ENGINE_TRANSLATE_BUILD_H

#include <Zydis/Zydis.h>

#include "engine/translate/emit.h"
#include "engine/translate/plan.h"
#include "engine/core/thread.h"
#include "engine/record/log.h"
#include "engine/translate/block.h"
#include "engine/translate/shadow.h"

#pragma GCC visibility push(hidden)

#define INSNS_MAX PLAN_INSNS
#define CHANGED_SIZE 5 /* bytes of the jump at the beginning of blocks whose code may change */
#define FLAGS_ALL \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | \
	 ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

enum kind {
	PLAIN,
	MEMORY, /* the memory operand has to be rewritten: it is relative to rip, or to gs */
	JUMP,
	BRANCH,
	LOOP, /* jrcxz and loop, which have short displacements only */
	CALL,
	RET,
	RET_POP,
	JUMP_INDIRECT,
	CALL_INDIRECT,
	SYSCALL,
	ODD,
	LATER, /* the touched lines are known only after its execution */
	INVALID,
};

struct insn {
	uint64_t target; /* target of a direct jump */
	uint8_t len, kind;
	uint8_t modrm, disp, imm; /* offsets within the instruction; 0: none */
	uint8_t rex;		  /* offset of the REX prefix + 1; 0: none */
	uint32_t reads, writes;	  /* status flags */
	bool rip, gs;
	bool narrow; /* the address has 32 bits */
	uint8_t was; /* the original kind of a LATER instruction */
	/* offsets in the code: what precedes the instruction, its own copy, what follows */
	uint16_t start, core, end;
	uint16_t record; /* bytes of the stream's record before the instruction */
	uint32_t spilled;
	/* registers that are spilled until the code has reached the instruction's own copy */
	uint32_t before;
	struct stream_fields f; /* values of the instruction that go into the stream */
	struct shadow_insn s;	/* memory that the instruction touches */
};

struct build {
	struct emit e;
	uint64_t code; /* address of the block's code in the cache */
	uint64_t pc;
	const uint8_t *bytes; /* the program's bytes at pc when the block was made */
	unsigned n, len;
	struct insn in[INSNS_MAX];
	struct link link[EXITS_MAX + 3]; /* the links' sites and targets */
	unsigned nlink;
	uint64_t returns; /* cache address that the call at the block's end returns to */
	uint32_t id;	  /* number that the recorder knows the block by */
	uint32_t number;  /* number of the block in the cache */
	/* number of the indirect jump, call or return at the block's end; 0: none */
	uint32_t site;
	struct log_exits exits;
	unsigned counter; /* the instruction before which the block is counted */
	bool flags_dead;  /* no flag is live where the block is counted */
	bool dead_at_start;
	bool once;
	bool changes; /* the program may write there: see BLOCK_CHANGES */
	/* registers that no instruction uses: one for the stream, one to spare */
	uint8_t base, scratch;
	uint32_t reserved; /* bit mask of these two registers; 0 without a stream */
	bool streams;
	uint32_t record; /* bytes of the stream's record so far */
	unsigned word;	 /* index of the plan's next word */
	uint16_t closed; /* offset in the code at which the execution's record is complete */
	struct plan plan;
	uint16_t guard;	       /* BLOCK_CHECKED, BLOCK_GUARDED or 0 */
	uint64_t *description; /* description of the guard's section */
	/* the block is made only to be examined: no code may be put beside it */
	bool dry;
	bool brief;	 /* the block is executed once, see translate_short() */
	bool ahead;	 /* the code that the block leads to is translated in the same step */
	bool exits_dead; /* no flag is live at the block's end */
	unsigned weight; /* what an execution subtracts from T_LEFT */
	/* with `coarse`, see left.c: the instructions owed before and after the block; what the block subtracts; where
	 * it has subtracted, as an offset in the code */
	bool coarse;
	uint16_t owed, due, taken;
	bool take_at_end; /* where registers have been spilled for an indirect jump, call or return, as an offset */
	uint8_t *out_at; /* end of the jrcxz that leaves the cache from there, or NULL */
	int take;
	struct shadow_plan shadow;
};

/* Functions of decode.c: */
/* Whether the code at p writes all flags before it reads any. */
bool decode_flags_dead(const uint8_t *p, size_t room);
/* Called around each use of the decoder's library, which is compiled for SSE2 and a stack
 * protector. */
void library_enter(struct thread *t), library_leave(struct thread *t);
/*
 * Decodes at most `max` instructions at b->pc, up to the first one that ends a block; `room` of
 * their bytes are at b->bytes. `partly`: more bytes exist than `room`, so decoding stops where an
 * instruction of any length might not fit.
 */
void decode_block(struct build *b, size_t room, unsigned max, bool partly);
/* Returns the registers that the instruction names or uses. */
uint32_t registers_used(const uint8_t *p);

/* Whether the instruction writes memory other than by a push. */
bool writes_memory(const uint8_t *p);

/* Functions of rseq.c: */
/* Returns how many of the instructions make a block, and sets its guard: blocks do not cross the
 * borders of restartable sequences. */
unsigned rseq_divide(struct build *b);
#define GUARD_SIZE 104 /* writes what belongs before a store */
/* Put code where a block of a restartable sequence begins, and around an instruction that writes
 * memory. */
void rseq_put_check(struct build *b), rseq_put_begin(struct build *b),
	rseq_put_end(struct build *b);

static inline bool ends_block(unsigned kind)
{
	return kind >= JUMP;
}

/* Whether an instruction of that kind leads to one place only, apart from the return of a call. */
static inline bool leads_on(unsigned kind)
{
	return !ends_block(kind) || kind == JUMP || kind == CALL;
}

static inline bool is_indirect(unsigned kind)
{
	return kind == RET || kind == RET_POP || kind == JUMP_INDIRECT || kind == CALL_INDIRECT;
}

/* Functions of code.c: */
void put_block(struct build *b);
/* Puts an instruction unchanged. */
void put_plain(struct build *b, struct insn *in, const uint8_t *p);
/*
 * Returns the flags that the instruction reads, or that a signal handler might see in its context
 * if the instruction faults. Programs without such handlers need no such flags: keeping them costs
 * 4 to 7 % where blocks are counted.
 */
uint32_t flags_read(const struct insn *in);

/* Functions of left.c: */
/* Put code that subtracts the block's weight from T_LEFT: the first one changes flags, the second
 * one uses a register instead. */
void left_put_take(struct build *b), left_put_quietly(struct build *b, unsigned reg);
/* Puts code at the block's beginning that subtracts its weight, and leaves the cache if too little
 * is left. */
void left_check(struct build *b, bool flags_dead);

/* Functions of operand.c: */
/* Puts an instruction with an operand that is relative to rip or gs. */
void put_memory(struct build *b, struct insn *in, const uint8_t *p, uint64_t next);
/* Puts mov rcx, <operand of an indirect jump or call>; rcx has been spilled. */
void put_target(struct build *b, struct insn *in, const uint8_t *p, uint64_t next);

/* Functions of control.c: */
void put_control(struct build *b, struct insn *in, const uint8_t *p, uint64_t next);
void put_link(struct build *b, uint64_t target, enum link_kind kind);
void put_link_jump(struct build *b, uint64_t target);
/* Emits the code through which indirect jumps to pc enter a block where nothing is counted: it lets
 * those pass whose address is pc. */
#define CHECK_SIZE 37
void put_entry_check(struct emit *e, uint64_t pc);

/* Functions of words.c: */
void plan_stream(struct build *b);
void put_stream_begin(struct build *b), put_stream_end(struct build *b);
/* Puts code that ends the record where a branch leaves the block before its end. */
void put_stream_exit(struct build *b, struct emit *e, unsigned exit);
/* Puts code that writes the words before an instruction, or after it. */
void put_fields(struct build *b, unsigned insn, bool after, bool target);

/* Functions of publish.c: */
/* Returns where the next block's code goes, suitably aligned. publish_full() has made sure that
 * there is room. */
uint64_t publish_next(bool changes);
void publish(struct build *b, struct block *blk);
/* Keeps a copy of the program's bytes of blk, and of BYTES_BEHIND more. */
void publish_bytes(struct block *blk, const uint8_t *bytes);
/* Code beside the blocks goes to the first function's address; the second function tells where that
 * code ended. */
uint64_t publish_beside(void);
void publish_beside_done(uint64_t end);
#define EXIT_SIZE 17
void publish_exit(struct emit *e, int32_t why); /* puts a jump out of the cache */
/* Returns a thread's own block for code that changes all the time: it is translated anew at each
 * execution. */
struct block *once_block(struct thread *t);
void publish_once(struct build *b, struct block *blk);
/*
 * Lets the target's code replace the jump that ends the last block made, and that was just taken
 * for the first time. If the branch before that jump was taken instead, its condition is inverted
 * first. Only for code that does not change, and while no other thread can be running it. Returns
 * the link whose jump is gone; NULL if that is not possible.
 */
struct link *take_place(struct link *l);

#pragma GCC visibility pop

#endif
