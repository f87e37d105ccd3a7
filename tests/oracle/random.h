/* SPDX-License-Identifier: MIT */
/*
 * Random instructions: trials made, run by the CPU and by both builds of the interpreter, compared.
 */
#ifndef ASSAY_TESTS_RANDOM_H
#define ASSAY_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "forms.h"
#include "kernel.h"

struct random_opts {
	uint64_t seed;
	uint64_t first; /* number of the first trial */
	uint64_t count;
	unsigned vector_percent;
	bool table; /* print what came of each mnemonic */
};

struct random_run {
	struct forms forms;
	struct arena user;
	struct kernel kernel;
	bool has_kernel;
	char no_kernel[128]; /* why not */
	uint8_t *code, *low, *high;
	struct trial *trial;
	uint64_t compared[2]; /* by build: user, kernel */
	uint64_t differences, shown;
};

/* -1: no memory, or the fixed addresses are taken. */
int random_init(struct random_run *r);
void random_fini(struct random_run *r);
/* Runs the trials; returns how many differ. Prints differences, counts, and the forms covered. */
uint64_t random_run(struct random_run *r, const struct random_opts *o);

/* Adjusts o by --seed, --first, --count, --vector, --table. -1 after saying what is wrong. */
int random_options(struct random_opts *o, int argc, char **argv);

#endif
