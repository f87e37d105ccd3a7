/* SPDX-License-Identifier: MIT */
/*
 * Code that marks the lines that a block's instructions touch (layout.h: SHADOW).
 *
 * An access is marked before its instruction, as early as its registers have their values and no flag is live. Accesses
 * that lie within one line's length of each other, relative to the same registers, are marked together: that many bytes
 * touch at most two lines, those of the first and the last byte. Accesses that are known only after the instruction has
 * been executed (how often it repeats, which lanes a gather takes) end the block, and the dispatcher marks them.
 */
#ifndef ASSAY_ENGINE_TRANSLATE_SHADOW_H
#define ASSAY_ENGINE_TRANSLATE_SHADOW_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

/* Contents of T_LATER: */
enum later_slot {
	LATER_WHAT,		  /* set of the LATER_ bits that follow */
	LATER_COUNT,		  /* a string instruction's rcx before it, */
	LATER_FROM,		  /* its rsi and */
	LATER_TO,		  /* its rdi */
	LATER_BASE = LATER_COUNT, /* a gather's address without the index */
	LATER_MASK = LATER_FROM,  /* a gather's mask register, if it has one */
	LATER_INDEX = 8,	  /* a gather's index vector */
	LATER_LANES = 16,	  /* a gather's mask vector */
};
#define LATER_STRING 1
#define LATER_READS 2  /* reads at rsi */
#define LATER_WRITES 4 /* writes or compares at rdi */
#define LATER_GATHER 8
#define LATER_INDEX_64 16
#define LATER_VECTOR_MASK 32				/* the lanes' highest bits are the mask */
#define LATER_MASK_64 64				/* the mask has lanes of 64 bits */
#define LATER_SIZE(what) ((unsigned)(what) >> 8 & 0xff) /* bytes of an element */
#define LATER_SCALE(what) ((unsigned)(what) >> 16 & 15)
#define LATER_COUNT_OF(what) ((unsigned)(what) >> 20 & 31) /* number of lanes */

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
		/* for bt and its kind: the register with the bit's number; or NO_REG */
		bit_size;
	bool narrow; /* the address has 32 bits */
	bool al;     /* xlat: al is added to the address */
};

struct shadow_insn {
	struct shadow_access a[3];
	uint8_t n;
	uint8_t accesses;     /* number of memory operands */
	uint8_t vector, mask; /* a gather's register numbers */
	uint8_t width;	      /* bytes of a gather's index vector */
	uint32_t later;	      /* set of LATER_ bits */
};

struct shadow_value { /* A register's value: a root and a constant. */
	uint16_t root;
	int64_t add;
};

struct shadow_group {
	uint16_t base, index; /* numbers of roots; 0: none */
	uint8_t scale, segment;
	uint8_t first; /* index of the first instruction */
	uint8_t at;    /* instruction before which it is marked */
	uint8_t reg;   /* register by which its mark is reached */
	bool alone;    /* the group is one access, or one that contains all others */
	/* `alone`, and the address is computed from the access's own registers */
	bool single;
	int64_t lo, hi;		/* extent in bytes, relative to the roots */
	struct shadow_access a; /* the first access */
};

#define SHADOW_INSNS 96
struct shadow_plan {
	unsigned n;
	bool dead[SHADOW_INSNS + 1]; /* whether no flag is live before each instruction */
	/* the instruction before which the block subtracts from T_LEFT */
	uint8_t take;
	bool loop;   /* the block leads to its own beginning */
	uint8_t tmp; /* a register that the block does not use, or NO_REG */
	uint8_t reg; /* the register that is used now */
	/* a register that may be used at the beginning, where flags are live; or NO_REG */
	uint8_t first;
	uint16_t marks_use[SHADOW_INSNS];
	struct shadow_group group[3 * SHADOW_INSNS];
	/* values of registers before each instruction */
	struct shadow_value value[SHADOW_INSNS + 1][16];
};

struct build;
/* touches.c */
/* Describes what an instruction accesses. `next` is the address behind it. */
void shadow_operands(struct shadow_insn *s, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *op, uint64_t next);
/* Plans which accesses are marked where. */
void shadow_plan(struct build *b);
/* Describes the group's address at `offset` from its beginning by what registers hold before the
 * instruction. False: no registers hold what is needed. */
bool shadow_express(const struct shadow_plan *s, const struct shadow_group *g, unsigned insn,
		    int64_t offset, struct shadow_access *a);
/* shadow.c */
/* Emits code at the block's beginning that tests whether the interval has room for the block. */
void shadow_begin(struct build *b);
/* Emits code that notes in T_RAN's byte of the block that the block has run: blocks have no
 * counters while lines are observed. */
void shadow_ran(struct build *b);
/* puts the marks that are set before the instruction */
void shadow_marks(struct build *b, unsigned insn);
void shadow_end(struct build *b);
/* Puts an instruction whose lines are marked after its execution, as the block's last. */
void shadow_later(struct build *b, unsigned insn, const uint8_t *p, uint64_t next);

#endif
