/* SPDX-License-Identifier: MIT */
/*
 * What the stream gets of a block: as few words as all that is observed of its instructions can be computed
 * from. Registers' values are numbered: each is a root plus a constant, perhaps narrowed; a root is stored
 * once, when a value of it is first asked for.
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
	PLAN_ADDRESS,  /* base + index * scale + disp */
	PLAN_MEMORY,   /* `size` bytes there */
	PLAN_BEHIND,   /* `size` bytes at the address that is an earlier word, number disp */
	PLAN_TARGET,   /* an indirect jump's: whoever emits it has it in a register */
};

/* A word of the stream, in their order. */
struct plan_word {
	int64_t disp;
	uint8_t insn;
	bool after; /* the instruction */
	bool fs;    /* plus fs's base */
	uint8_t what;
	uint8_t base, index, scale, size; /* base: the register */
};

struct plan_value {
	int64_t add;
	uint16_t root;
	uint8_t bits; /* what it is narrowed to */
	bool constant;
};

struct plan {
	unsigned words, nfield;
	bool scratch; /* something takes a register besides the stream's */
	struct plan_word word[EXACT_WORDS_MAX];
	struct exact_field field[PLAN_FIELDS];
	/* while it is made */
	struct plan_value reg[16];
	struct plan_root {
		int64_t bias;  /* root = word - bias */
		uint16_t word; /* or EXACT_CONSTANT: none */
		uint8_t bits;  /* it is less than 2 to the power of that */
	} root[16 + 12 * PLAN_INSNS];
	unsigned nroot;
	struct plan_pair { /* sums of two roots that have one of their own */
		uint16_t a, b, root;
		uint8_t scale;
	} pair[PLAN_PAIRS];
	unsigned npair;
	uint16_t fs; /* the word that is fs's base, or EXACT_CONSTANT */
};

void plan_begin(struct plan *p);
/* The block's next instruction; `next` is the address behind it. */
void plan_insn(struct plan *p, unsigned insn, const struct stream_fields *f, uint64_t next);

#endif
