/* SPDX-License-Identifier: MIT */
/* One decoded x86-64 instruction: the static facts about a site. Zydis decodes. */
#ifndef ASSAY_X86_INSN_H
#define ASSAY_X86_INSN_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_MAX_LEN 15

enum insn_class {
	INSN_OTHER, /* accesses registers only */
	INSN_LOAD,
	INSN_STORE,
	INSN_RMW,    /* reads and writes the same memory operand */
	INSN_COPY,   /* reads one memory operand and writes another: movs, push [m] */
	INSN_BRANCH, /* conditional direct branch (jcc, loop, jrcxz) */
	INSN_JUMP,   /* unconditional direct jump */
	INSN_IJUMP,  /* indirect jump */
	INSN_CALL,   /* direct call */
	INSN_ICALL,  /* indirect call */
	INSN_RET,
	INSN_SYSCALL, /* syscall, int, and other instructions that enter the kernel on purpose */
	INSN_TRAP,    /* ud2, hlt, int3: control does not go on */
	INSN_CLASS_N,
};
extern const char *const insn_class_name[INSN_CLASS_N];

struct insn {
	uint64_t addr; /* ELF virtual address */
	uint8_t len;
	uint8_t cls;  /* enum insn_class */
	bool vector;  /* touches an MMX, SSE, AVX, AVX-512 or x87 register */
	uint8_t nmem; /* memory operands that are accessed (not lea, not nop) */
	/* bytes of the operand of a plain load, store or both; 0: there is none or it is not
	 * known, as in string and masked instructions and those with several operands */
	uint8_t access;
	uint16_t
		gpr_read; /* bit i: register i (enum uop_reg) is read, address registers included */
	uint16_t gpr_written;  /* bit i: register i is written, wholly or in part */
	uint16_t fl_read;      /* FL_*: status flags (and DF) that are read */
	uint16_t fl_written;   /* flags set to a defined or undefined value on every execution */
	uint16_t fl_undefined; /* the written flags that are left undefined */
	uint64_t target;       /* target of a direct branch, jump or call: ELF virtual address */
	ZydisDecodedInstruction z;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

/*
 * Decodes the instruction at addr; p[0 .. n) are the bytes there. Returns its length, or 0 if the
 * bytes are no complete instruction.
 */
int insn_decode(struct insn *in, const uint8_t *p, size_t n, uint64_t addr);

/* xmm0 to xmm15 (or their upper parts), one bit each, that the instruction reads or writes. */
uint16_t insn_vectors_read(const struct insn *in);
uint16_t insn_vectors_written(const struct insn *in);

/* True if control can go on to the next instruction (a call does, a jump does not). */
bool insn_falls_through(const struct insn *in);
/* True of direct branches, jumps and calls. */
static inline bool insn_has_target(const struct insn *in)
{
	return in->cls == INSN_BRANCH || in->cls == INSN_JUMP || in->cls == INSN_CALL;
}
/* True if the instruction ends a basic block: any transfer of control, system calls and traps. */
bool insn_ends_block(const struct insn *in);

/* Whether the result is zero whatever the register was, as of xor eax, eax; cores know that it depends on nothing. */
bool insn_clears(const struct insn *in);
/* Whether it is a compare or the like, which can be one micro-op with a branch behind it. */
bool insn_may_fuse(const struct insn *in);
/* Whether such an instruction and the branch after it are one micro-op. */
bool insn_fuses(const struct insn *before, const struct insn *in);

/* Formats in Intel syntax, addresses absolute, as ELF virtual addresses. Returns buf. */
char *insn_format(const struct insn *in, char *buf, size_t n);

/* Names of enum uop_reg 0 to 15: "rax" to "r15". */
extern const char *const insn_gpr_name[16];

#endif
