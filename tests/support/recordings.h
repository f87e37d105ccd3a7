/* SPDX-License-Identifier: MIT */
/*
 * Recordings made up for tests: always the same.
 */
#ifndef ASSAY_TESTS_RECORDINGS_H
#define ASSAY_TESTS_RECORDINGS_H

#include "observe/profile.h"

/*
 * A compressor: images squeeze, libz.so.1 (stripped), the kernel, generated code and what could not be
 * placed. Each of these asserts that it succeeds.
 *
 *   squeeze  longest_match  hot; a load that is 0x3c8 in 19 of 20, a branch taken in 3 of 4
 *            deflate        its second argument is always 0, its first never twice the same
 *            main           hardly any time
 */
void recordings_squeeze(struct profile *p);
/* Samples in the kernel alone: no window, no value. */
void recordings_kernel(struct profile *p);
/* A run without a sample. */
void recordings_empty(struct profile *p);
/* Windows over the procedure `match` of an ELF file: what it loads is 7 in 19 of 20, its argument rsi
 * is always 0, rdi never twice the same. finished: false leaves the procedures unnamed. */
void recordings_elf(struct profile *p, const char *path, bool finished);
/* Windows of the loops of the procedures chase, divide and straight of the file at path (tests/cli/culprits.t):
 * in each most begin at its third instruction. cpu: as /proc/cpuinfo has it. */
void recordings_stall(struct profile *p, const char *path, const char *cpu);
/* An exact recording of the same file: chase and divide ran a million and 250,000 rounds, straight never did.
 * missed: -1, or of a hundred loads those that simulated first level did not have. */
void recordings_stall_counts(struct profile *p, const char *path, int missed);
/* So many sites, in procedures of 50 instructions, with values. */
void recordings_big(struct profile *p, unsigned sites);

/* As above, with 15,000 stacks of 3,000 procedures in 3,000 threads, hardly two of them alike; a
 * quarter ends in the kernel. */
void recordings_forest(struct profile *p);
/* Two procedures that call one another at random: 2^levels different stacks of `levels` frames, one
 * sample of each. */
void recordings_many_stacks(struct profile *p, unsigned levels);
/* 200 samples with call stacks: main, deflate, then longest_match or a procedure of the name `hostile`; every tenth stack is
 * cut. Two threads, the second one of that name. */
void recordings_stacks(struct profile *p, const char *hostile);

/* Piece by piece. A run of that source: "sampler", "exact". The pointer is good until the next run. */
struct run *recordings_run(struct profile *p, const char *source, const char *command);
/* An instruction (enum insn_class) that was observed, or ran, so often. */
struct site *recordings_site(struct profile *p, uint32_t image, uint64_t addr, int cls,
			     uint64_t observed, uint64_t taken);
/* That its operand had a value so many times. */
void recordings_value(struct profile *p, struct site *s, int operand, uint64_t value,
		      uint64_t count);
/* An exact recording of the run that recordings_squeeze samples: longest_match's load is 0x3c8 in 9 of
 * 10, its first branch is taken in 7 of 10; main runs a little, generated code too. */
void recordings_exact(struct profile *p);
/* … with working sets of two processes: three intervals of 300, 44 and 3 lines. */
void recordings_wset(struct profile *p);
/* … with phases of a process, of 60 intervals: longest_match's blocks, main's, and both. */
void recordings_phases(struct profile *p);

#endif
