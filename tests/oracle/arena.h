/* SPDX-License-Identifier: MIT */
/*
 * The interpreter's two builds at work on trials. An arena is memory laid out as tests/bpf/lane.h
 * says: in the kernel build it is the maps of the program, in the user build our own.
 *
 * A lane's micro-ops: the preludes, the instruction, and for each way out a tail that says which it
 * was and takes the flags:
 *
 *   UR_T0 … UR_T5  CF PF AF ZF SF OF      UR_T6  enum native_exit
 */
#ifndef ASSAY_TESTS_ARENA_H
#define ASSAY_TESTS_ARENA_H

#include "bpf/lane.h"
#include "trial.h"

#define ARENA_DONE RA_STOP_SYSCALL /* the stop at the end of a tail */

struct arena {
	struct lane *lane;
	struct uop *uop;
	struct code_line *line;
	uint32_t used; /* lanes laid down since arena_clear */
};

/* The user build's: -1 without memory. */
int arena_init(struct arena *a);
void arena_fini(struct arena *a);

void arena_clear(struct arena *a);
/* Lifts the trial's instruction and lays down everything in lane n. */
void arena_put(struct arena *a, uint32_t n, const struct trial *t);
/* Runs lane n in the user build. Memory is the trial's place. */
void arena_run(struct arena *a, uint32_t n, const struct trial *t);

/* NULL, or what differs between what two builds made of a lane. */
const char *arena_compare(const struct arena *a, const struct arena *b, uint32_t n);

#endif
