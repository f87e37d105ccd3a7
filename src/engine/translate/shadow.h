/* SPDX-License-Identifier: MIT */
/*
 * Code that marks the lines that a block's instructions touch (layout.h: SHADOW).
 *
 * An access is marked before its instruction, as early as its registers have their values and no flag is live.
 * Accesses that lie within one line's length of each other, relative to the same registers, are marked
 * together: of so many bytes no more than two lines can be touched, that of the first and that of the last one.
 * What is known only when the instruction has been executed (how often it repeats, which lanes a gather
 * takes) ends the block, and is marked by the dispatcher.
 */
#ifndef ASSAY_ENGINE_TRANSLATE_SHADOW_H
#define ASSAY_ENGINE_TRANSLATE_SHADOW_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

/* What T_LATER holds: */
enum later_slot {
	LATER_WHAT,		  /* below */
	LATER_COUNT,		  /* of a string instruction: rcx, */
	LATER_FROM,		  /* rsi and */
	LATER_TO,		  /* rdi before it */
	LATER_BASE = LATER_COUNT, /* of a gather: its address without the index */
	LATER_MASK = LATER_FROM,  /* of a gather: the mask register, if it has one */
	LATER_INDEX = 8,	  /* of a gather: the index vector */
	LATER_LANES = 16,	  /* of a gather: the mask vector */
};
#define LATER_STRING 1
#define LATER_READS 2  /* at rsi */
#define LATER_WRITES 4 /* or compares, at rdi */
#define LATER_GATHER 8
#define LATER_INDEX_64 16
#define LATER_VECTOR_MASK 32				/* the lanes' highest bits are the mask */
#define LATER_MASK_64 64				/* the mask has lanes of 64 bits */
#define LATER_SIZE(what) ((unsigned)(what) >> 8 & 0xff) /* bytes of an element */
#define LATER_SCALE(what) ((unsigned)(what) >> 16 & 15)
#define LATER_COUNT_OF(what) ((unsigned)(what) >> 20 & 31) /* lanes */

enum {
	SHADOW_NO_SEGMENT,
	SHADOW_FS,
	SHADOW_GS
};

struct shadow_access {
	int64_t disp;
	uint32_t size; /* bytes */
	uint8_t base, index, scale;
	uint8_t segment;
	uint8_t bit,
		/* bt and the like: the register that says how far off, its bytes; or NO_REG */
		bit_size;
	bool narrow; /* an address of 32 bits */
	bool al;     /* xlat: al is added */
};

struct shadow_insn {
	struct shadow_access a[3];
	uint8_t n;
	uint8_t accesses;     /* memory operands */
	uint8_t vector, mask; /* of a gather: numbers of its registers */
	uint8_t width;	      /* of a gather: bytes of the index vector */
	uint32_t later;	      /* LATER_… */
};

struct shadow_value { /* of a register: that root and */
	uint16_t root;
	int64_t add;
};

struct shadow_group {
	uint16_t base, index; /* roots, 0: none */
	uint8_t scale, segment;
	uint8_t first;		/* instruction */
	uint8_t at;		/* instruction before which it is marked */
	uint8_t reg;		/* register by which its mark is reached */
	bool alone;		/* one access, or one that all others lie in */
	bool single;		/* alone, and its address is computed from its own registers */
	int64_t lo, hi;		/* bytes, relative to the roots */
	struct shadow_access a; /* the first one */
};

#define SHADOW_INSNS 96
struct shadow_plan {
	unsigned n;
	bool dead[SHADOW_INSNS + 1]; /* no flag is live before the instruction */
	uint8_t take;		     /* the instruction before which the block takes from T_LEFT */
	bool loop;		     /* it leads to its own beginning */
	uint8_t tmp;		     /* a register that the block does not use, or NO_REG */
	uint8_t reg;		     /* the one that is used now */
	uint8_t first; /* one that may be used at the beginning, where flags are live; or NO_REG */
	uint16_t marks_use[SHADOW_INSNS];
	struct shadow_group group[3 * SHADOW_INSNS];
	struct shadow_value value[SHADOW_INSNS + 1][16]; /* before each instruction */
};

struct build;
/* touches.c */
/* What an instruction accesses. `next` is the address behind it. */
void shadow_operands(struct shadow_insn *s, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *op, uint64_t next);
/* Which accesses are marked where. */
void shadow_plan(struct build *b);
/* The group's address at `offset` from its beginning, from what registers hold before the
 * instruction. False: no longer. */
bool shadow_express(const struct shadow_plan *s, const struct shadow_group *g, unsigned insn,
		    int64_t offset, struct shadow_access *a);
/* shadow.c */
/* At the block's beginning: asks whether the interval has room for it. */
void shadow_begin(struct build *b);
/* Notes that the block has run, in its byte of T_RAN: with lines no block has a counter. */
void shadow_ran(struct build *b);
void shadow_marks(struct build *b, unsigned insn); /* before it */
void shadow_end(struct build *b);
/* An instruction that is marked when it has been executed, as the block's last. */
void shadow_later(struct build *b, unsigned insn, const uint8_t *p, uint64_t next);

#endif
