/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Micro-ops: the small, regular instruction set that x86-64 is lifted to, and that the run-ahead
 * interpreter executes in the kernel and in user space. This header is compiled for both: it
 * includes nothing but fixed-width types.
 *
 *   byte  0      1      2    3   4   5   6-7   8-15
 *         op     flags  dst  a   b   c   rec   imm
 *
 * flags  bits 0-1: width, log2 of bytes (0: 8 bits, 3: 64 bits); then UF_*.
 * dst, a, b, c: virtual registers (enum uop_reg) unless the op says otherwise.
 * b is replaced by imm where UF_IMM is set.
 *
 * Every op reads its inputs masked to its width and writes its result zero-extended to 64 bits, so
 * an x86 write of 32 or 64 bits needs nothing more; one of 8 or 16 bits goes to a temporary and is
 * then merged by UOP_INS. A result is unknown if an input that it depends on is.
 *
 * An x86 instruction is a run of micro-ops of which each way through has exactly one that carries
 * UF_RETIRE; that one says in `rec` what of the instruction a window records:
 *
 *   bits 0-4  register A    5-6  kind of A    7-11  register B    12-13  kind of B    14  address
 *
 * kinds: enum uop_rec. "address" records UR_EA, where every UOP_LD and UOP_ST leaves the address it
 * used. Registers are read after the micro-op has been executed. What is recorded of A and B is the
 * whole 64-bit virtual register, so the lifter points at one that holds just the value meant.
 *
 * Windows write 64-bit words (enum ra_word_*, runahead/interp.h).
 */
#ifndef ASSAY_X86_UOP_H
#define ASSAY_X86_UOP_H

#ifndef __bpf__
#include <stdint.h>
#else
#include "sampler/bpf/types.h"
#endif

enum uop_reg {
	/* 0-15: rax rcx rdx rbx rsp rbp rsi rdi r8-r15, in x86 encoding order */
	UR_RAX = 0,
	UR_RCX,
	UR_RDX,
	UR_RBX,
	UR_RSP,
	UR_RBP,
	UR_RSI,
	UR_RDI,
	UR_R8,
	UR_R9,
	UR_R10,
	UR_R11,
	UR_R12,
	UR_R13,
	UR_R14,
	UR_R15,
	UR_FS = 16,   /* fs base */
	UR_GS = 17,   /* gs base */
	UR_BIAS = 18, /* run-time address minus the image's ELF virtual address */
	UR_ZERO = 19, /* always 0 and known; never a destination */
	UR_EA = 20,   /* address of the last UOP_LD or UOP_ST */
	UR_T0 = 21,
	UR_T1,
	UR_T2,
	UR_T3,
	UR_T4,
	UR_T5,
	UR_T6,
	UR_T7,
	UR_T8,
	UR_T9,
	UR_T10,
	UR_N = 32,
};

/*
 * Vector registers, in dst, a and b of the UOP_V* and UOP_K*, with a numbering of their own. Each
 * byte of them, or each bit of a mask register, is known or unknown by itself.
 */
enum uop_vreg {
	UV_Z0 = 0,   /* 0-31: zmm0 to zmm31 */
	UV_T0 = 32,  /* temporaries within an instruction */
	UV_OUT = 39, /* used by the interpreter */
	UV_K0 = 40,  /* 40-47: k0 to k7 */
	UV_N = 64,
};

#define UF_WIDTH 0x03
#define UF_IMM 0x04   /* b is imm */
#define UF_FLAGS 0x08 /* sets the status flags as the x86 instruction of that name does */
#define UF_FELL \
	0x10 /* of a conditional branch: a window saw it not taken; set by the interpreter */
#define UF_WENT 0x20   /* likewise, taken */
#define UF_RETIRE 0x80 /* the instruction is complete */

enum uop_rec {
	UREC_NONE = 0,
	UREC_RESULT,
	UREC_LOAD,
	UREC_STORE
};
#define UREC_A(reg, kind) ((uint16_t)((unsigned)(reg) | (unsigned)(kind) << 5))
#define UREC_B(reg, kind) ((uint16_t)((unsigned)(reg) << 7 | (unsigned)(kind) << 12))
#define UREC_EA 0x4000

/* Status flags at their positions in rflags. */
#define FL_CF 0x0001
#define FL_PF 0x0004
#define FL_AF 0x0010
#define FL_ZF 0x0040
#define FL_SF 0x0080
#define FL_DF 0x0400
#define FL_OF 0x0800
#define FL_STATUS (FL_CF | FL_PF | FL_AF | FL_ZF | FL_SF | FL_OF)

/*
 * Nearly all executed micro-ops are of ten kinds, which the interpreter computes without branching
 * on the kind: bits of their numbers tell what they do. They are sums or logic; the address of a
 * memory op is the sum. sum: a + (b << c) + imm (without UF_IMM), with b negated if SUB. logic:
 * AND: a & b, XOR: a ^ b, both: a
 *
 * b.
 */
#define UOP_HOT 0x80
#define UOP_HOT_AND 0x01
#define UOP_HOT_XOR 0x02
#define UOP_HOT_LOGIC 0x04
#define UOP_HOT_SUB 0x08
#define UOP_HOT_MEMORY 0x10

/* Flags in c of LD and ST: UR_RSP moves after the access. */
#define UC_POP 0x10  /* up by 8 */
#define UC_PUSH 0x20 /* down by 8 */

/* Flags in c of JMP and JIND. */
#define UC_CALL 1
#define UC_RETURN 2

enum uop_op {
	UOP_STOP, /* the window ends before this instruction; imm: enum ra_stop */
	UOP_NOP,

	/* Data movement. */
	UOP_MOV = UOP_HOT,	  /* dst = b; a is UR_ZERO */
	UOP_LEA = UOP_HOT | 0x20, /* dst = a + (b << c) + imm; b is a register */
	UOP_LD = UOP_HOT |
		 UOP_HOT_MEMORY, /* dst = memory at a + (b << c) + imm; UR_EA = that address */
	UOP_ST = UOP_HOT | UOP_HOT_MEMORY |
		 1, /* memory at a + (b << c) + imm = dst; UR_EA = that address */
	UOP_STU = UOP_HOT | UOP_HOT_MEMORY |
		  3, /* like UOP_ST, but the stored value is unknown, and UR_EA does not change */
	UOP_SX = 2,  /* dst = b sign-extended from the width to that of c (log2 of bytes) */
	/* dst = dst with its bits c to c + width replaced by b; the other bits of 64 unchanged */
	UOP_INS,
	UOP_EXT,   /* dst = (b >> c), masked to the width (c = 8: a high byte) */
	UOP_CMOV,  /* dst = condition c ? b : a; both registers (not UF_IMM) */
	UOP_SETCC, /* dst = condition c ? 1 : 0 */

	/* Arithmetic. dst = a op b; UF_FLAGS sets flags. Comparisons and tests need only the
	 * flags, and have a temporary as dst. */
	UOP_ADD = UOP_HOT | 0x40,
	UOP_SUB = UOP_HOT | 0x40 | UOP_HOT_SUB,
	UOP_AND = UOP_HOT | UOP_HOT_LOGIC | UOP_HOT_AND,
	UOP_OR = UOP_HOT | UOP_HOT_LOGIC | UOP_HOT_AND | UOP_HOT_XOR,
	UOP_XOR = UOP_HOT | UOP_HOT_LOGIC | UOP_HOT_XOR,
	/* ADD and SUB with flags, except that CF is unchanged (inc, dec) */
	UOP_ADDK = UOP_SETCC + 1,
	UOP_SUBK,
	UOP_ADC,
	UOP_SBB,
	UOP_ANDN, /* ~a & b */
	UOP_SHL,
	UOP_SHR,
	UOP_SAR, /* count b, masked as the CPU masks it */
	UOP_ROL,
	UOP_ROR,
	UOP_RCL,
	UOP_RCR, /* count b, masked as the CPU masks it */
	UOP_SHLD,
	UOP_SHRD, /* a shifted by b, filled from register c */
	UOP_MUL,  /* low half of the product; no flags */
	UOP_MULHU,
	UOP_MULHS, /* high half of the product, unsigned and signed; no flags */
	/* no result: CF = OF = the product a * b does not fit the width (c: signed); other flags
	 * undefined */
	UOP_MULF,
	UOP_DIVU,
	UOP_DIVS, /* dst = quotient, register c = remainder, of imm's register : a by b;
			     * a fault ends the window; all flags undefined. Never UF_IMM. */

	/* Bit operations. dst = op b. */
	UOP_BT, /* no result: CF = bit (b mod width) of a */
	UOP_BTS,
	UOP_BTR,
	UOP_BTC, /* dst = a with that bit set, reset or complemented; CF as in UOP_BT */
	UOP_BSF,
	UOP_BSR, /* bit scans of b; b = 0: dst unknown, ZF set */
	UOP_TZCNT,
	UOP_LZCNT,
	UOP_POPCNT,
	UOP_BSWAP,
	UOP_BLSI,
	UOP_BLSMSK,
	UOP_BLSR,
	UOP_BEXTR, /* bits of a, with start and length in b */
	UOP_BZHI,  /* a without the bits from bit b on */
	UOP_PDEP,
	UOP_PEXT, /* a, with mask b */
	UOP_ADCX,
	UOP_ADOX,  /* dst = a + b + CF (OF); sets only CF (OF) */
	UOP_CRC32, /* a: checksum so far (32 bits); b: data of the width */

	/* Operations on flags. */
	/* dst = status flags as in rflags, masked by imm; unknown if one of them is unknown */
	UOP_GETFL,
	UOP_SETFL, /* the flags in imm are taken from register b */
	UOP_UNKFL, /* the flags in imm become unknown */
	UOP_UNK,   /* the registers in the bit mask imm become unknown */

	/* Control flow inside an instruction: imm is a signed distance in micro-ops from this
	 * one. */
	UOP_BR,	  /* unconditional */
	UOP_BRZ,  /* if b == 0 at the width; b is a register */
	UOP_BRNZ, /* if b != 0 */
	UOP_BRCC, /* if condition c holds */
	/*
	 * Up to 8 bytes at once of a repeated stos (c = 0) or movs (c = 1), and then this micro-op again. Control goes on
	 * to the next one, with nothing done, where no element is left, where something is unknown, where memory is not
	 * accessible, and where source and destination overlap so that elements must be moved one by one.
	 */
	UOP_REP,

	/* Control flow between instructions. imm: micro-op index of the target, or
	 * CODE_UNLINKED() (runahead/state.h). */
	UOP_JCC, /* if condition c holds, else on to the next micro-op; records nothing */
	/* unconditional; b is UR_ZERO. With UF_RETIRE it is a taken branch, without it leads to
	 * the next instruction */
	UOP_JMP,
	UOP_JIND, /* to the run-time address in b */
	/* c of JMP and JIND: UC_CALL, with the return address in a; or UC_RETURN */

	/* a procedure's entry: records the six argument registers; does not retire an
	 * instruction */
	UOP_ARGS,

	/*
	 * Vectors. The width is the vector's: 8 bytes << width. Unless it says otherwise an op makes all bytes above its
	 * result 0, or with UV_KEEP in imm leaves those above the low 16 as they are.
	 *
	 * c      bits 0-2: the mask register, 0 if none; bit 3: what is masked off becomes 0 (UC_ZEROING), else stays
	 *        bits 4-6: elements, log2 of bytes
	 */
	UOP_VLD,    /* dst = imm's low 7 bits: bytes at UR_EA; register a = the first 8 of them */
	UOP_VST,    /* the same, to memory */
	UOP_VLOGIC, /* dst = bitwise: bit (2 a + b) of the table in imm */
	UOP_VARITH, /* dst = by element: enum uop_varith in imm */
	UOP_VCMP,   /* mask register dst = by element: predicate in imm */
	UOP_VBC,    /* dst = the first element of a, repeated */
	UOP_VSHUF,  /* dst = by 16 bytes: two dwords of a and two of b, selected by imm (shufps) */
	/* dst = by 16 bytes: the lower 16 bytes of b:a shifted right by imm bytes (palignr) */
	UOP_VSHB,
	/* dst's bytes from imm on = register b, as many as the width says; the others 0, or
	 * unchanged */
	UOP_VPUT,
	UOP_VGET,  /* register dst = a's bytes from imm on, as many as the width says */
	UOP_VBITS, /* register dst = the top bits of a's elements */
	UOP_VTEST, /* ZF = (a & b) == 0, CF = (~a & b) == 0, the other flags 0 */
	UOP_VZ,	   /* bytes above the low 16 of zmm0 to zmm15 become 0 */
	UOP_VUNK,  /* the vector registers in the bit mask imm become unknown */
	/* flags from comparing the first elements of a and b as floating-point numbers (ucomisd) */
	UOP_VFCMP,
	UOP_VFINT, /* register dst = the first element of a, a floating-point number, truncated */
	UOP_VINTF, /* dst's first element = b, a number of the width, as a floating-point number */
	/* Operations on mask registers, with the widths of general registers. */
	UOP_KOP,   /* dst = bitwise: bit (2 a + b) of the table in imm */
	UOP_KCAT,  /* dst = a : b, each of half the width */
	UOP_KSH,   /* dst = a shifted left by imm, or right by -imm */
	UOP_KTEST, /* ZF = (a | b) == 0, CF = (a | b) == all ones; with imm like UOP_VTEST */

	UOP_N, /* all numbers without UOP_HOT are below */
};

#define UC_ZEROING 8
#define UC_ELEMENT(log2) ((log2) << 4)
#define UV_BYTES 0x7f	/* the bits of imm that hold bytes */
#define UV_KEEP 0x100	/* in imm: bytes above the low 16 are unchanged */
#define UV_INSERT 0x200 /* in imm of UOP_VPUT: all other bytes are unchanged */
#define UV_SIGNED 0x40	/* in imm of UOP_VARITH and UOP_VCMP */
#define UV_TEST 0x80	/* in imm of UOP_VCMP: compares a & b with 0 */

/* Tables for UOP_VLOGIC and UOP_KOP. */
#define UV_A 0xc
#define UV_B 0xa
#define UV_AND (UV_A & UV_B)
#define UV_ANDN (~UV_A & UV_B & 15)
#define UV_OR (UV_A | UV_B)
#define UV_XOR (UV_A ^ UV_B)
#define UV_XNOR (~UV_XOR & 15)

enum uop_varith {
	UVA_ADD,
	UVA_SUB,
	UVA_MIN,
	UVA_MAX,
	UVA_EQ,
	UVA_LT
};

struct uop {
	uint8_t op;
	uint8_t flags;
	uint8_t dst;
	uint8_t a;
	uint8_t b;
	uint8_t c;
	uint16_t rec;
	int64_t imm;
};

/* Condition codes are x86's: 0 o, 1 no, 2 b, 3 ae, 4 e, 5 ne, 6 be, 7 a, 8 s, 9 ns, 10 p, 11 np,
 * 12 l, 13 ge, 14 le, 15 g. */

/* Reasons why a window ended. One line an item: the name, and its meaning. */
#define RA_STOPS(X) \
	X(FULL, "full", "ran its full length") \
	X(MISS, "not-lifted", "reached code that was not lifted yet") \
	X(UNMAPPED, "unmapped", "reached an address whose image is not known yet") \
	X(NOIMAGE, "no-image", "reached code that no file holds (JIT, vdso)") \
	X(BRANCH, "unknown-branch", "branch on a value that cannot be known") \
	X(ADDRESS, "unknown-store", "store to an address that cannot be known") \
	X(SYSCALL, "syscall", "system call") \
	X(PAGE, "page", "load from a page that is not resident, or a device's") \
	X(STRING, "string", "string operation longer than the bound") \
	X(STORES, "stores", "more stores than the private buffer holds") \
	X(UNSUPPORTED, "unsupported", "instruction that is not lifted") \
	X(FAULT, "fault", "the instruction would fault") \
	X(SPACE, "space", "no room left to record") \
	X(PASSED, "passed-over", "not run: others stand for it (--budget, --policy)")
enum ra_stop {
#define X(id, name, what) RA_STOP_##id,
	RA_STOPS(X)
#undef X
	RA_STOP_N,
};

#endif
