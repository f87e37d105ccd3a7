/* SPDX-License-Identifier: MIT */
/*
 * Executes one instruction on the real CPU: all general registers and status flags are loaded, the
 * instruction is jumped to, and where it leaves to, registers and flags are taken before anything
 * changes them.
 *
 * The code of one instruction is laid out in a slot, from a 256-byte boundary:
 *
 *   0x00  way out "before", the target of backward branches
 *   0x40  the instruction; behind its last byte the way out "fall"
 *   0x80  way out "after", the target of forward branches
 *   0xc0  pointers that the ways out jump through
 */
#ifndef ASSAY_TESTS_NATIVE_H
#define ASSAY_TESTS_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NATIVE_VECTORS (32 * 8 + 8) /* words: 32 registers of 64 bytes, then 8 masks */
#define NATIVE_SLOT 0x100
#define NATIVE_BEFORE_AT 0x00
#define NATIVE_INSN_AT 0x40
#define NATIVE_AFTER_AT 0x80

enum native_exit {
	NATIVE_FALL,
	NATIVE_BEFORE,
	NATIVE_AFTER,
	NATIVE_FAULT
};

struct native_regs {
	uint64_t r[16]; /* enum uop_reg */
	uint64_t flags;
};

struct native_result {
	struct native_regs regs; /* unset after a fault */
	enum native_exit exit;
	int sig; /* NATIVE_FAULT: the signal */
	/* Vector registers, as trial_make() lays them out, until the next one runs; of each so many bytes. */
	const uint64_t *vec;
	uint32_t vec_bytes;
};

/* Takes over SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGTRAP, until native_end() gives them back: the
 * test framework has handlers of its own. -1 with errno. */
int native_begin(void);
void native_end(void);

uint64_t native_fs_base(void);
/* base: below 1 << 46. */
void native_set_gs_base(uint64_t base);

/* Lays out `insn` in the slot at `slot` (writable and executable). */
void native_layout(uint8_t *slot, const uint8_t *insn, size_t len);

/* Runs the slot's instruction. vector: also load the vector and mask registers with `vec` (32 of 64
 * bytes each, then 8 masks); NULL leaves them as they are. */
void native_run(const uint8_t *slot, const struct native_regs *in, const void *vec,
		struct native_result *out);

#endif
