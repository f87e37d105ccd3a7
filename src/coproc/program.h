/* SPDX-License-Identifier: MIT */
/*
 * A microcode program as it is loaded into the co-processor: its words, and how registers, filters, the field
 * extractor and the dispatch table are set before it runs.
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

/* Classes of instructions that the main processor's opcode filter tells apart. */
#define PROGRAM_CLASSES(X) \
	X(LOAD, "load") \
	X(STORE, "store") \
	X(MODIFY, "modify") /* loads and stores the same bytes */ \
	X(BRANCH, "branch") /* conditional */ \
	X(JUMP, "jump")	    /* indirect */ \
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

/* What can be collected of a retired instruction. */
#define PROGRAM_SOURCES(X) \
	X(PC, "pc") \
	X(VALUE, "value")     /* loaded */ \
	X(ADDRESS, "address") /* of memory */ \
	X(SIZE, "size")	      /* bytes accessed */ \
	X(TARGET, "target")   /* where control went */ \
	X(NEXT, "next")	      /* the address behind the instruction */ \
	X(TAKEN, "taken") \
	X(WRONG, "mispredicted") \
	X(MISSED, "missed") /* in the first level cache */ \
	X(TIME, "time")	    /* when it retired, main processor cycles */
enum program_source {
#define X(id, name) SOURCE_##id,
	PROGRAM_SOURCES(X)
#undef X
	SOURCE_N,
};
extern const char *const program_source_name[SOURCE_N];

/* Bits of a sample's source, or of a word of the data array. */
struct program_field {
	char name[PROGRAM_NAME];
	uint8_t source; /* of a sample */
	uint8_t shift, bits;
};

struct program_index {
	char name[PROGRAM_NAME];
	uint8_t bits; /* 1 … 16 */
	bool wrap;    /* else it saturates */
	uint16_t start;
};

/* A sub-array of the data array: its size is a power of two, and divides where it begins. */
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
	uint32_t line[PROGRAM_WORDS]; /* of the source */
	unsigned n;
	uint64_t constant[PROGRAM_CONSTANTS];
	char constant_name[PROGRAM_CONSTANTS][PROGRAM_NAME]; /* "": of a literal */
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
	uint8_t when[CLASS_N];	/* only instructions whose source, less 1, is not 0; or 0: all */
	int16_t start[CLASS_N]; /* the address that a class is dispatched to; -1: filtered out */
	struct program_param param[PROGRAM_PARAMS];
	unsigned nparam;
};

/* Bytes that a sample takes in the buffer: its fields, in whole bytes. */
unsigned program_sample_bytes(const struct program *p);
/* Lookups by name; NULL or -1 where the program has none. */
const struct program_param *program_param(const struct program *p, const char *name);
int program_index(const struct program *p, const char *name);
int program_value(const struct program *p, const char *name);
int program_base(const struct program *p, const char *name);
const struct program_field *program_field(const struct program_base *b, const char *name);
/* The sources that its samples need: bit per enum program_source. */
unsigned program_sources(const struct program *p);
/*
 * Whether the program fits the machine: its sizes, and for each word the units and ports that its operations need; that
 * no branch leaves it, and control does not run past its end. `from` names the source. -1 with err set, which names the
 * word's line and address.
 */
int program_check(const struct program *p, const struct spec *s, const char *from, struct err *err);

#endif
