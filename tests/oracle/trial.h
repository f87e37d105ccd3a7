/* SPDX-License-Identifier: MIT */
/*
 * One trial: an instruction, the registers and memory it meets, and what of them the interpreter is
 * told. Trials are made from a number, and the same number makes the same trial.
 */
#ifndef ASSAY_TESTS_TRIAL_H
#define ASSAY_TESTS_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "forms.h"
#include "x86/insn.h"
#include "x86/uop.h"
#include "native.h"
#include "rng.h"

#define TRIAL_PAGE 4096
#define TRIAL_DATA (2 * TRIAL_PAGE) /* bytes of memory, between pages that cannot be accessed */
#define TRIAL_PRELUDES 4
#define TRIAL_VECTORS 40 /* 8 words of at most four registers, masks */

/* Where a trial takes place. */
struct place {
	uint8_t *code; /* struct native.h's slot */
	uint8_t *data; /* TRIAL_DATA bytes */
};

/* A store of the window's before the instruction. */
struct prelude {
	uint64_t addr, value;
	uint8_t w;
	bool unknown;
};

struct trial_mem {
	uint64_t ea;
	uint32_t size; /* bytes */
	bool read, write;
	bool exact; /* ea is where the access is: no stack, string or bit offset */
};

struct trial {
	uint64_t number;
	struct form *form; /* NULL: random bytes */
	struct place place;
	struct insn in; /* at its ELF address: run-time address less bias */
	uint8_t bytes[INSN_MAX_LEN];
	uint8_t len;
	struct native_regs regs;
	uint64_t fs, gs, bias;
	uint32_t known;	  /* bit i: register i is known */
	uint32_t fl_unk;  /* flags that are not */
	uint16_t fl_live; /* what the lifter is told */
	uint32_t nprelude;
	struct prelude prelude[TRIAL_PRELUDES];
	uint32_t nmem;
	struct trial_mem mem[4];
	uint64_t vec[NATIVE_VECTORS]; /* vector registers, then masks */
	/* Of those that the instruction names, the words that the interpreter is told. */
	uint32_t nvec;
	uint16_t vec_known[TRIAL_VECTORS];
	bool whole;		     /* nothing is unknown, all flags live */
	uint8_t initial[TRIAL_DATA]; /* as the interpreter's memory is */
	uint8_t before[TRIAL_DATA];  /* with the preludes: as the CPU meets it */
};

/* Makes trial `number` of the sequence `seed`: t->place must be set. Writes the place's data and
 * code. */
void trial_make(struct trial *t, struct forms *f, uint64_t seed, uint64_t number,
		unsigned vector_percent);
/* Likewise, of a form; false if nothing came of it. */
bool trial_make_form(struct trial *t, struct form *form, uint64_t number);

/* Writes the preludes to the place's data: what the CPU is to meet. */
void trial_apply_preludes(struct trial *t);

/* Prints the instruction and its registers. */
void trial_print(const struct trial *t);

#endif
