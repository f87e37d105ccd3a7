/* SPDX-License-Identifier: MIT */
/*
 * A microcode program as it is loaded into the co-processor: its words, and the initial state of
 * registers, filters, the field extractor and the dispatch table.
 */
#ifndef ASSAY_COPROC_PROGRAM_H
#define ASSAY_COPROC_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "coproc/spec.h"
#include "coproc/word.h"

#define PROGRAM_NAME 32
#define PROGRAM_WORDS 1024
#define PROGRAM_PARAMS 32
#define PROGRAM_TARGETS 8
#define PROGRAM_BASES 8
#define PROGRAM_FIELDS 8
#define PROGRAM_INDEXES 8
#define PROGRAM_VALUES 16
#define PROGRAM_CONSTANTS 16

/* Classes of instructions that the main processor's opcode filter distinguishes. */
#define PROGRAM_CLASSES(X) \
	X(LOAD, "load") \
	X(STORE, "store") \
	X(MODIFY, "modify") /* loads and stores the same bytes */ \
	X(BRANCH, "branch") /* conditional branch */ \
	X(JUMP, "jump")	    /* indirect jump */ \
	X(CALL, "call") \
	X(ICALL, "icall") \
	X(RETURN, "return")
enum program_class {
#define X(id, name) CLASS_##id,
	PROGRAM_CLASSES(X)
#undef X
	CLASS_N,
};
extern const char *const program_class_name[CLASS_N];

/* Facts that can be collected of a retired instruction. */
#define PROGRAM_SOURCES(X) \
	X(PC, "pc") \
	X(VALUE, "value")     /* loaded value */ \
	X(ADDRESS, "address") /* memory address */ \
	X(SIZE, "size")	      /* bytes accessed */ \
	X(TARGET, "target")   /* where control went */ \
	X(NEXT, "next")	      /* address of the following instruction */ \
	X(TAKEN, "taken") \
	X(WRONG, "mispredicted") \
	X(MISSED, "missed") /* whether it missed the first level cache */ \
	X(TIME, "time")	    /* when it retired, in main processor cycles */
enum program_source {
#define X(id, name) SOURCE_##id,
	PROGRAM_SOURCES(X)
#undef X
	SOURCE_N,
};
extern const char *const program_source_name[SOURCE_N];

/* A range of bits of a sample's source, or of a word of the data array. */
struct program_field {
	char name[PROGRAM_NAME];
	uint8_t source; /* enum program_source, in a sample's field */
	uint8_t shift, bits;
};

struct program_index {
	char name[PROGRAM_NAME];
	uint8_t bits; /* 1 to 16 */
	bool wrap;    /* wraps; otherwise it saturates */
	uint16_t start;
};

/* A sub-array of the data array: its size is a power of two, and divides its start. */
struct program_base {
	char name[PROGRAM_NAME];
	uint32_t at, size;
	struct program_field field[PROGRAM_FIELDS];
	unsigned nfield;
};

struct program_param {
	char name[PROGRAM_NAME];
	uint64_t value;
};

struct program {
	char name[PROGRAM_NAME];
	struct word word[PROGRAM_WORDS];
	uint32_t line[PROGRAM_WORDS]; /* line of each word in the source */
	unsigned n;
	uint64_t constant[PROGRAM_CONSTANTS];
	/* "": the constant is a number in the source */
	char constant_name[PROGRAM_CONSTANTS][PROGRAM_NAME];
	unsigned nconstant;
	char value_name[PROGRAM_VALUES][PROGRAM_NAME];
	unsigned nvalue;
	struct program_index index[PROGRAM_INDEXES];
	unsigned nindex;
	struct program_base base[PROGRAM_BASES];
	unsigned nbase;
	uint16_t target[PROGRAM_TARGETS];
	unsigned ntarget;
	struct program_field sample[PROGRAM_FIELDS];
	unsigned nsample;
	/* by class: the source that must not be 0, plus 1; or 0: all instructions are sampled */
	uint8_t when[CLASS_N];
	int16_t start[CLASS_N]; /* address that a class is dispatched to; -1: filtered out */
	struct program_param param[PROGRAM_PARAMS];
	unsigned nparam;
};

/* Bytes of a sample in the buffer: its fields, rounded up to bytes. */
unsigned program_sample_bytes(const struct program *p);
/* Look-ups by name; NULL or -1 if the program has none of that name. */
const struct program_param *program_param(const struct program *p, const char *name);
int program_index(const struct program *p, const char *name);
int program_value(const struct program *p, const char *name);
int program_base(const struct program *p, const char *name);
const struct program_field *program_field(const struct program_base *b, const char *name);
/* The sources that its samples need, one bit for each enum program_source. */
unsigned program_sources(const struct program *p);
/*
 * Checks that the program fits the machine: its sizes, and for each word the units and ports that
 * its operations need. No branch may leave the program, and control must not run past its end.
 * `from` names the source. -1 with err set, which names the word's line and address.
 */
int program_check(const struct program *p, const struct spec *s, const char *from, struct err *err);

#endif
