/* SPDX-License-Identifier: MIT */
/*
 * The instruction forms of x86-64: every opcode of every map with every prefix that changes its
 * meaning is decoded, and what decodes is sorted by mnemonic and by kind and width of its operands.
 * Nothing is listed by hand but what must not be run.
 */
#ifndef ASSAY_TESTS_FORMS_H
#define ASSAY_TESTS_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "x86/insn.h"
#include "rng.h"

#define FORM_TEMPLATES 6

/* What came of a form's trials. */
struct tally {
	uint64_t run;	  /* executed by the CPU; a fault counts */
	uint64_t refused; /* of those: not known to this CPU */
	uint64_t faults;  /* the CPU and the interpreter both stop */
	uint64_t went_on; /* only the CPU does: stores and alignment are not checked ahead */
	uint64_t stopped; /* only the interpreter does: not supported, or an input is unknown */
	uint64_t same;	  /* compared, no difference */
	uint64_t whole;	  /* of those, with all inputs known; of these: */
	uint64_t unk_reg, unk_flag, unk_mem, unk_vec; /* something defined came out unknown */
	uint64_t whole_stopped;
	uint64_t differ;
};

struct form {
	char name[56];	   /* "ADD r32, m32", "LOCK XADD m8, r8" */
	uint16_t mnemonic; /* ZydisMnemonic */
	bool vector;
	bool refused; /* this CPU does not know it: never picked */
	uint8_t ntemplate;
	struct {
		uint8_t bytes[INSN_MAX_LEN];
		uint8_t len;
	} tmpl[FORM_TEMPLATES];
	uint64_t seen;
	struct tally tally;
};

struct forms {
	struct form *form;
	uint32_t n, cap;
	uint32_t *index;	    /* by hash of the name */
	uint32_t *general, *vector; /* the forms of each kind, by number */
	uint32_t ngeneral, nvector;
};

/* -1 without memory. */
int forms_init(struct forms *f);
void forms_fini(struct forms *f);

/* A form, general registers' or vector registers', all alike likely. */
struct form *forms_pick(struct forms *f, struct rng *r, bool vector);

/* The form of an instruction, NULL if there is none of that name. */
struct form *forms_of(struct forms *f, const struct insn *in);

/* Makes an instruction of the form: other registers, addressing, displacement and immediate.
 * Returns its length, 0 if nothing came of it this time. `in` is decoded at addr. */
int form_encode(const struct form *form, struct rng *r, uint64_t addr, uint8_t *bytes,
		struct insn *in);

/* Random bytes that decode to something that may be run, or 0. */
int form_random(struct rng *r, uint64_t addr, uint8_t *bytes, struct insn *in);

/* Not run: enters the kernel, changes segments or the thread's own base, waits, or differs between
 * makers of CPUs. */
bool form_excluded(const struct insn *in);

void form_name(const struct insn *in, char *buf, size_t n);

#endif
