/* SPDX-License-Identifier: MIT */
/*
 * A procedure's instructions, decoded, in order of address, each with its site if the recording has
 * one. What the readings ask of instructions is kept; to print one it is decoded again.
 */
#ifndef ASSAY_REPORT_LISTING_H
#define ASSAY_REPORT_LISTING_H

#include "isa/insn.h"
#include "report/view.h"

struct listing_insn {
	uint64_t addr, target;
	const struct site *site; /* or NULL: never seen */
	uint16_t reads, writes;	 /* general registers; an idiom that clears one does not read it */
	uint16_t kills;		 /* of those written, the ones of which nothing old is left */
	uint16_t fl_reads, fl_writes;
	uint16_t addresses; /* registers that are part of the address of memory accessed */
	uint8_t len, cls;
	bool valid;    /* false: bytes that are no instruction */
	bool constant; /* its result is by construction: mov r, imm; lea r, [rip+x]; xor r, r */
	bool frame; /* of the stack's making: push, pop, leave, addresses in the frame, the canary */
	size_t first; /* index of the first instruction of its basic block, by direct jumps alone */
	size_t block_n;	   /* of that first one: the block's instructions */
	double block_time; /* and their time */
	double derived; /* lower limit of the invariant that its result follows from (report/values.c) */
};

struct listing {
	struct listing_insn *v;
	size_t n;
};

/* The procedure's whole extent. Sites are where decoding gets back into step. -1: no memory, or no code
 * to be had there. */
int listing_read(struct listing *l, struct image *im, const struct view *v,
		 const struct view_proc *p);
void listing_fini(struct listing *l);
/* The instruction that begins at addr, or NULL. */
struct listing_insn *listing_at(const struct listing *l, uint64_t addr);
/* Decodes one instruction anew. Returns its length or 0. */
int listing_decode(struct insn *in, struct image *im, uint64_t addr);

#endif
