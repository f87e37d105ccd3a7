/* SPDX-License-Identifier: MIT */
/*
 * The plan of what a block writes into the stream: the fewest words from which everything observed
 * of its instructions can be computed. Values of registers are numbered: each is a root plus a
 * constant, perhaps narrowed. A root is stored once, when a value of it is first needed.
 */
#ifndef ASSAY_ENGINE_TRANSLATE_PLAN_H
#define ASSAY_ENGINE_TRANSLATE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/translate/fields.h"
#include "engine/shared.h"

#define PLAN_INSNS 96
#define PLAN_FIELDS (5 * PLAN_INSNS + 16)
#define PLAN_PAIRS 32

enum plan_what {
	PLAN_REGISTER, /* a register's value */
	PLAN_ADDRESS,  /* the address base + index * scale + disp */
	PLAN_MEMORY,   /* the `size` bytes at that address */
	/* the `size` bytes at the address that an earlier word holds: its number is disp */
	PLAN_BEHIND,
	/* an indirect jump's target, which the code for the jump has in a register */
	PLAN_TARGET,
};

/* A word of the stream; words are kept in their order. */
struct plan_word {
	int64_t disp;
	uint8_t insn;
	bool after; /* the word is written after the instruction */
	bool fs;    /* fs's base is added */
	uint8_t what;
	uint8_t base, index, scale, size; /* base: the register of PLAN_REGISTER */
};

struct plan_value {
	int64_t add;
	uint16_t root;
	uint8_t bits; /* bits that the value is narrowed to */
	bool constant;
};

struct plan {
	unsigned words, nfield;
	bool scratch; /* some word needs a register besides the stream's */
	struct plan_word word[EXACT_WORDS_MAX];
	struct exact_field field[PLAN_FIELDS];
	/* used only while the plan is being made */
	struct plan_value reg[16];
	struct plan_root {
		int64_t bias;  /* root = word - bias */
		uint16_t word; /* number of the root's word; EXACT_CONSTANT: none */
		uint8_t bits;  /* the root is less than 2 to that power */
	} root[16 + 12 * PLAN_INSNS];
	unsigned nroot;
	struct plan_pair { /* sums of two roots that have a root of their own */
		uint16_t a, b, root;
		uint8_t scale;
	} pair[PLAN_PAIRS];
	unsigned npair;
	uint16_t fs; /* number of the word that is fs's base; EXACT_CONSTANT: none */
};

void plan_begin(struct plan *p);
/* Adds the block's next instruction; `next` is the address behind it. */
void plan_insn(struct plan *p, unsigned insn, const struct stream_fields *f, uint64_t next);

#endif
