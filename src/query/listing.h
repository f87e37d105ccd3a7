/* SPDX-License-Identifier: MIT */
/*
 * The decoded instructions of a procedure, sorted by address, with their sites. Only the facts that
 * readings need are kept; an instruction is decoded again for printing.
 */
#ifndef ASSAY_QUERY_LISTING_H
#define ASSAY_QUERY_LISTING_H

#include "x86/insn.h"
#include "query/view.h"

struct listing_insn {
	uint64_t addr, target;
	const struct site *site; /* NULL: never observed */
	/* general registers; an idiom that clears a register does not read it */
	uint16_t reads, writes;
	uint16_t kills; /* written registers of which no old bits remain */
	uint16_t fl_reads, fl_writes;
	uint16_t addresses; /* registers in the address of the memory access */
	uint8_t len, cls;
	bool valid; /* false: the bytes are no instruction */
	/* its result is constant by construction: mov r, imm; lea r, [rip+x]; xor r, r */
	bool constant;
	/* the value belongs to the stack: push, pop, leave, addresses in the frame, the canary */
	bool frame;
	size_t first; /* index of the first instruction of its basic block, as divided by direct jumps alone */
	size_t block_n;	   /* in the first instruction: the number of the block's instructions */
	double block_time; /* in the first instruction: their time */
	/* lower limit of the invariant from which its result follows (report/values.c) */
	double derived;
};

struct listing {
	struct listing_insn *v;
	size_t n;
};

/* Reads the procedure's whole extent. Decoding resynchronises at sites. -1: no memory, or no
 * code. */
int listing_read(struct listing *l, struct image *im, const struct view *v,
		 const struct view_proc *p);
void listing_fini(struct listing *l);
/* The instruction that begins at addr, or NULL. */
struct listing_insn *listing_at(const struct listing *l, uint64_t addr);
/* Decodes one instruction again. Returns its length or 0. */
int listing_decode(struct insn *in, struct image *im, uint64_t addr);

#endif
