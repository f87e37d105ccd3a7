/* SPDX-License-Identifier: MIT */
/*
 * A block on its way from the program to the cache. The stages, in their order:
 *
 *   decode.c    instructions, and which registers they leave free
 *   code.c      the block's code: its counter, instruction for instruction; with it
 *     operand.c   memory operands that cannot stay as they are
 *     control.c   what ends it: jumps, calls, returns
 *     words.c     the stream's words, as plan.c has them
 *     touches.c   the lines that it touches
 *     shadow.c    the marks of those lines
 *   publish.c   its place in the cache, its links, the engine's own code beside it
 *
 * translate.c runs them for a new block; place.c for one that a signal has stopped, to see what lies where.
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
#define CHANGED_SIZE 5 /* of the jump that a block of changed code begins with */
#define FLAGS_ALL \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | \
	 ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

enum kind {
	PLAIN,
	MEMORY, /* its memory operand has to be rewritten: rip-relative, or gs */
	JUMP,
	BRANCH,
	LOOP, /* jrcxz, loop: short displacements only */
	CALL,
	RET,
	RET_POP,
	JUMP_INDIRECT,
	CALL_INDIRECT,
	SYSCALL,
	ODD,
	LATER, /* what it touches is known when it has been executed */
	INVALID,
};

struct insn {
	uint64_t target; /* of a direct jump */
	uint8_t len, kind;
	uint8_t modrm, disp, imm; /* offsets in the instruction, 0 if none */
	uint8_t rex;		  /* offset + 1 */
	uint32_t reads, writes;	  /* flags */
	bool rip, gs;
	bool narrow;		   /* addresses of 32 bits */
	uint8_t was;		   /* the kind of one that is LATER */
	uint16_t start, core, end; /* in the code: its sequence, its own copy, what follows */
	uint16_t record;	   /* the stream's bytes before it */
	uint32_t spilled;
	uint32_t before;	/* spilled registers until the code has reached its own copy */
	struct stream_fields f; /* what the stream gets of it */
	struct shadow_insn s;	/* what it touches */
};

struct build {
	struct emit e;
	uint64_t code; /* cache address of the start */
	uint64_t pc;
	const uint8_t *bytes; /* the program's at pc, as they were when the block was made */
	unsigned n, len;
	struct insn in[INSNS_MAX];
	struct link link[EXITS_MAX + 3]; /* site and target */
	unsigned nlink;
	uint64_t returns; /* cache address where the call at its end returns to */
	uint32_t id;	  /* the recorder's */
	uint32_t number;  /* of the block, in the cache */
	uint32_t site;	  /* of what ends it, if that is indirect */
	struct log_exits exits;
	unsigned counter; /* the instruction before which the block is counted */
	bool flags_dead;  /* there */
	bool dead_at_start;
	bool once;
	bool changes; /* the program may write there: see BLOCK_CHANGES */
	uint8_t base,
		scratch;   /* registers that no instruction uses: the stream's, and one to spare */
	uint32_t reserved; /* as bits, those of them that are taken; 0 without a stream */
	bool streams;
	uint32_t record; /* the stream's bytes so far */
	unsigned word;	 /* the plan's next one */
	uint16_t closed; /* in the code: from here on the execution's record is complete */
	struct plan plan;
	uint16_t guard;	       /* BLOCK_CHECKED, BLOCK_GUARDED or 0 */
	uint64_t *description; /* of the guard's section */
	bool dry;	       /* to look at: nothing may be put beside it */
	bool brief;	       /* executed once, see translate_short() */
	bool ahead;	       /* where it leads on, that is made at once */
	bool exits_dead;       /* no flag is live where it ends */
	unsigned weight;       /* of T_LEFT */
	struct shadow_plan shadow;
};

/* decode.c */
/* Whether the code there writes all flags before it reads any. */
bool decode_flags_dead(const uint8_t *p, size_t room);
/* Around use of the decoder's library: it is compiled for SSE2 and a stack protector. */
void library_enter(struct thread *t), library_leave(struct thread *t);
/* Up to `max` instructions of b->pc, at b->bytes, of which `room` bytes can be read, to the first that ends a block.
 * `partly`: there are more of them, so only as long as an instruction of any length fits. */
void decode_block(struct build *b, size_t room, unsigned max, bool partly);
/* Registers that the instruction names or uses. */
uint32_t registers_used(const uint8_t *p);

/* Whether it writes memory other than a stack that it pushes to. */
bool writes_memory(const uint8_t *p);

/* rseq.c */
/* How many of the instructions make a block, and its guard: restartable sequences have borders. */
unsigned rseq_divide(struct build *b);
#define GUARD_SIZE 104 /* what rseq_put_begin() puts before a store */
/* Where a block of a section begins; around an instruction that writes memory. */
void rseq_put_check(struct build *b), rseq_put_begin(struct build *b),
	rseq_put_end(struct build *b);

static inline bool ends_block(unsigned kind)
{
	return kind >= JUMP;
}

/* What ends so leads to one place, and to another one when a call returns. */
static inline bool leads_on(unsigned kind)
{
	return !ends_block(kind) || kind == JUMP || kind == CALL;
}

static inline bool is_indirect(unsigned kind)
{
	return kind == RET || kind == RET_POP || kind == JUMP_INDIRECT || kind == CALL_INDIRECT;
}

/* code.c */
void put_block(struct build *b);
/* An instruction as it is. */
void put_plain(struct build *b, struct insn *in, const uint8_t *p);
/*
 * Flags that the instruction reads, or whoever looks where it faults: a handler that gets a context. Without such
 * handlers they are not kept for them: it costs 4 to 7 % where blocks are counted.
 */
uint32_t flags_read(const struct insn *in);

/* left.c */
/* Takes the block's weight from what is left, changing flags; or by way of a register. */
void left_put_take(struct build *b), left_put_quietly(struct build *b, unsigned reg);
/* At the block's beginning: takes its weight, and leaves the cache if there is less. */
void left_check(struct build *b, bool flags_dead);

/* operand.c */
/* An instruction with a rip-relative or a gs operand. */
void put_memory(struct build *b, struct insn *in, const uint8_t *p, uint64_t next);
/* mov rcx, <operand of an indirect jump or call>; rcx has been spilled. */
void put_target(struct build *b, struct insn *in, const uint8_t *p, uint64_t next);

/* control.c */
void put_control(struct build *b, struct insn *in, const uint8_t *p, uint64_t next);
void put_link(struct build *b, uint64_t target, enum link_kind kind);
void put_link_jump(struct build *b, uint64_t target);
/* Where indirect jumps to pc come in if nothing is counted: lets by those that are for pc. */
#define CHECK_SIZE 37
void put_entry_check(struct emit *e, uint64_t pc);

/* words.c */
void plan_stream(struct build *b);
void put_stream_begin(struct build *b), put_stream_end(struct build *b);
/* Where a branch leaves the block before its end: ends the record there. */
void put_stream_exit(struct build *b, struct emit *e, unsigned exit);
/* The words before an instruction, or after it. */
void put_fields(struct build *b, unsigned insn, bool after, bool target);

/* publish.c */
/* Where the next block's code goes, as aligned as it has to be: there is room, see publish_full. */
uint64_t publish_next(bool changes);
void publish(struct build *b, struct block *blk);
/* Keeps a copy of blk's code in the program, with BYTES_BEHIND more. */
void publish_bytes(struct block *blk, const uint8_t *bytes);
/* Where code beside the blocks goes, and how far it went. */
uint64_t publish_beside(void);
void publish_beside_done(uint64_t end);
void publish_exit(struct emit *e, int32_t why); /* leaves the cache */
/* A thread's own block for code that changes all the time: made anew at each execution. */
struct block *once_block(struct thread *t);
void publish_once(struct build *b, struct block *blk);
/*
 * The block that was made last ends in a jump that was just taken for the first time: its target is to
 * take the jump's place. If it was the branch before that jump, its condition is inverted first. Only in
 * code that does not change, and while nobody else can be running it. Returns where the code goes.
 */
struct link *take_place(struct link *l);

#pragma GCC visibility pop

#endif
