/* SPDX-License-Identifier: MIT */
/*
 * The co-processor: its state, and how it executes a program on one sample, word by word. The sample buffer, time and
 * the host's interrupts are in coproc/feed.h.
 *
 * The host reads and writes all state through the functions below, which count the bus operations that this costs.
 */
#ifndef ASSAY_COPROC_COPRO_H
#define ASSAY_COPROC_COPRO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "coproc/program.h"
#include "coproc/spec.h"

/* A retired instruction, as the main processor reports it. */
struct sample {
	uint64_t source[SOURCE_N];
	uint8_t cls; /* enum program_class */
};

enum copro_outcome {
	COPRO_DONE,
	COPRO_INTERRUPT,
	COPRO_TRAP,
};

enum copro_trap {
	TRAP_NONE,
	TRAP_ARRAY,   /* index beyond the end of its array */
	TRAP_ENTRY,   /* index beyond the associative array */
	TRAP_ENDLESS, /* neither end nor interrupt after spec.limit words */
};

/* A cycle, for observers: reported after the word at `at` has been executed. */
struct copro_step {
	/* cycle within the sample; cycles lost after it to a mispredicted branch */
	uint32_t cycle, stall;
	uint16_t at;
	bool taken;
};

struct copro_micro; /* private: prepared words */

struct copro {
	struct spec s;
	const struct program *p;	  /* the loaded program, not owned */
	uint64_t reg[WORD_OPERANDS + 14]; /* registers by operand number */
	bool t, x, y, hit, sat;		  /* flags */
	uint16_t lfsr;
	uint64_t *entry, *data;
	uint64_t *valid; /* one bit for each entry */
	uint64_t *ignore;
	uint8_t *predicted;   /* by word: whether its branch was taken the last time */
	uint64_t mask, match; /* PC filter: hash & mask must equal match */
	unsigned classes;     /* opcode filter: one bit for each class */
	/* Statistics. */
	uint64_t bus; /* bus operations of the host since this was last set to 0 */
	uint64_t samples, words, mispredicted, branches;
	enum copro_trap trap;
	unsigned trap_at;    /* address of the word that trapped */
	uint64_t trap_index; /* the index that was out of bounds */
	/* if not NULL, called for each word */
	void (*watch)(void *arg, const struct copro *c, const struct copro_step *step);
	void *watch_arg;
	/* private */
	struct copro_micro *micro;
	uint32_t *bucket, *chain; /* valid entries by value: heads and links of lists; number + 1 */
	uint32_t buckets;
};

/* Returns -1 without memory. No program is loaded. */
int copro_init(struct copro *c, const struct spec *s);
void copro_fini(struct copro *c);

/* The hash of an instruction's address for the PC filter. */
static inline uint32_t copro_hash(uint64_t pc)
{
	uint32_t h = (uint32_t)(pc ^ pc >> 32);

	return h ^ h >> 16 ^ h >> 23;
}
/* Whether the filters accept the instruction. */
static inline bool copro_accepts(const struct copro *c, unsigned cls, uint32_t hash)
{
	uint32_t bit = hash & (c->s.ignore - 1);

	return c->classes >> cls & 1 && (hash & c->mask) == c->match &&
	       !(c->ignore[bit / 64] >> bit % 64 & 1);
}

/* Executes the routine for the sample's class. *cycles: the cycles that it took. */
enum copro_outcome copro_run(struct copro *c, const struct sample *sample, uint32_t *cycles);
/* Describes a trap, with the word's address and source line. Returns -1. */
int copro_trap(const struct copro *c, struct err *err);

/* Access by the host. Loads a program that program_check has accepted: microcode, registers,
 * dispatch table, filters. */
void copro_load(struct copro *c, const struct program *p);
/* Resets index registers to their start values; flags and the random register do not change. */
void copro_reset_indexes(struct copro *c);
/* Invalidates all entries, and clears the data array, with one operation each. */
void copro_invalidate(struct copro *c);
void copro_clear(struct copro *c);
/* Reads n words from `at` on, packed: the number of operations depends on their bytes. */
void copro_read_data(struct copro *c, uint32_t at, uint32_t n, uint64_t *to);
void copro_read_entries(struct copro *c, uint32_t at, uint32_t n, uint64_t *to);
uint16_t copro_read_index(struct copro *c, int index);
void copro_write_index(struct copro *c, int index, uint16_t v);
void copro_write_filter(struct copro *c, uint64_t mask, uint64_t match);
/* Sets or clears the ignore bit of a hash. */
void copro_ignore(struct copro *c, uint32_t hash, bool on);

/* For tests and observers: counts no operations. */
bool copro_is_valid(const struct copro *c, uint32_t entry);

#endif
