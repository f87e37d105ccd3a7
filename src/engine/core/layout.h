/* SPDX-License-Identifier: MIT */
/*
 * Where things lie: addresses that the engine takes for itself, and offsets in a thread's context, which
 * code in the cache reaches through gs. For C and assembly.
 *
 *   0x7a0008000000  near    images that the program maps: within 2 GiB of the cache, so that
 *                           rip-relative operands reach them from there
 *   0x7a0060000000  cache   translated code, from below; exit stubs, from above
 *   0x7a0080000000  engine  its text and data; the program's brk follows, unless its image has a fixed address
 *   0x7c0060000000  room    the engine's memory, the first thread's context at its beginning, and the recorder's
 *                           that it maps
 *
 * With --observe lines there are planes: a byte for each line of memory, 1 if a thread of that plane has touched it
 * in this interval, at SHADOW + plane * lines + address / line; one for each 4096 of those at LEVEL_1, one for each
 * 4096 of these at LEVEL_2:
 *
 *   0x200000000000  SHADOW   a plane has 2 TiB for lines of 64 bytes, 8 for 16; all have 32 at most
 *   0x400200000000  LEVEL_1
 *   0x400400200000  LEVEL_2
 *
 * They are made of single bits, so that code gets from one to the next by a shift and by setting a bit.
 *
 * As long as there is one thread its plane is at ALONE, where gs points: code gets from a line to its byte without
 * knowing the plane. That needs lines of 64 bytes at least.
 */
#ifndef ASSAY_ENGINE_CORE_LAYOUT_H
#define ASSAY_ENGINE_CORE_LAYOUT_H

#define ROOM_BASE (CONTEXT + ALONE)
#define ROOM_END 0x7e0000000000
#define NEAR_BASE 0x7a0008000000
#define NEAR_END 0x7a0060000000
#define CACHE_BASE 0x7a0060000000
#define CACHE_SIZE 0x20000000
#define CACHE_CODE_SIZE 0x18000000
#define ENGINE_BASE 0x7a0080000000
/*
 * gs points to this distance below the thread's context: code reaches the context relative to rip, as if it lay there.
 * CPUs forward a store to a load at once where both name the same base register and displacement; an access by
 * displacement alone waits for the store each time (7 to 10 cycles, AMD Zen).
 */
#define CONTEXT 0x7a0060000000

/*
 * Where blocks are looked up, by the table's mask: blocks of 1 << TABLE_NEAR bytes of the program
 * share a cache line of the table, found by (address >> TABLE_NEAR) * factor >> shift; a search
 * begins at the slot in that line that the address's lower bits choose.
 */
#define TABLE_FACTOR 0x61c88647
#define TABLE_SHIFT 16
#define TABLE_NEAR 7
#define TABLE_LINE 3 /* slots, as power of two */
#define SHADOW_BIT 45
#define LEVEL_BIT 46
#define ALONE_BIT 41
#define ALONE (1ull << ALONE_BIT)
#define LEVEL_SHIFT 12
#define SHADOW (1ull << SHADOW_BIT)
#define LEVEL_1 (1ull << LEVEL_BIT | SHADOW >> LEVEL_SHIFT)
#define LEVEL_2 (1ull << LEVEL_BIT | LEVEL_1 >> LEVEL_SHIFT)
#define ADDRESS_BITS 47 /* the program's */
#define PLANES_MAX 16

/* struct thread */
#define T_SELF 0x00
#define T_EXIT_LINK 0x08 /* why the thread left the cache: a link's number, or one of EXIT_ */
#define T_ENGINE_SP 0x10 /* the engine's stack while the program runs */
#define T_TARGET 0x18	 /* address in the cache where execution goes on */
#define T_PENDING 0x20	 /* a signal waits to be delivered */
#define T_PC 0x28	 /* the program's */
#define T_FLAGS 0x30
#define T_GS_BASE 0x38 /* the program's: gs itself is ours */
#define T_FLAGS_SPILL 0x40
#define T_STOP 0x48  /* the cache is about to be emptied: threads must stay outside */
#define T_SITE 0x50  /* the number of the indirect jump, call or return that leaves the cache */
#define T_PLANE 0x58 /* address of the plane with the thread's marks */
/* area of restartable sequences: the program's, or one that names no section */
#define T_AREA 0x60
#define T_ASIDE 0x68  /* rax, rcx and the sequence's name, while os/rseq.c uses them */
#define T_REGS 0x80   /* the program's registers, in encoding order: rax rcx rdx rbx rsp and on */
#define T_SPILL 0x100 /* a register's value while a sequence in the cache uses it */
#define T_LATER 0x180 /* memory to be marked after an instruction: see translate/shadow.h */
/*
 * The number of instructions that may be executed before the engine is asked, as the sum of several
 * parts; a block subtracts from the part that its number chooses. Subtractions from a single number
 * in memory would wait for one another: 7 to 10 cycles a block.
 */
#define T_LEFT 0x240
#define LEFT_PARTS 16 /* a power of two */
/* Where few blocks subtract (left.c), they add to these words instead, which are less than 0 while something is left:
 * so code that must not touch flags finds -1 in the upper half, or 0 where nothing is left. */
#define T_REST (T_LEFT + 8 * LEFT_PARTS)
#define T_FS_BASE (T_REST + 8 * LEFT_PARTS) /* the program's, where has_fsgsbase is false */

#define T_STACK_TOP 0x10000 /* engine stack: below this */
#define NEAR_BIAS 0x40000001
#define NEAR_SITES 0x10000 /* sites below have different slots for each target */
#define T_SIGNAL_STACK 0x10000
#define T_SIGNAL_STACK_SIZE 0x10000
#define T_SCRATCH \
	0x20000 /* a copy of a block's code, made again to find which instruction lies where */
#define T_SCRATCH_SIZE 0x40000
#define T_COUNTERS 0x200000 /* 8 bytes each; mapped when counting */
#define T_PAIRS (T_COUNTERS + 0x4000000)
/* The near table: indirect targets, by the low 16 bits of address + site. Each slot holds -address - NEAR_BIAS, the
 * code, and for the pair in it the number of passes and its number + 1. A slot of zeroes matches an address that no
 * program has, and that cannot be jumped to. A slot is half a line, and the table is one large page, because accesses
 * are scattered over all of it. */
#define T_NEAR (T_PAIRS + 0x2000000)
#define T_NEAR_CODE (T_NEAR + 8)
#define T_NEAR_COUNT (T_NEAR + 16)
#define T_NEAR_PAIR (T_NEAR + 24)
#define T_NEAR_SHIFT 5
#define T_NEAR_SIZE 0x200000
#define T_COUNTERS_SIZE 0x6200000
/* The stream: its control page, which begins with the position of the next execution; then two halves, each followed by
 * an unmapped page, so that a store beyond its end faults. */
#define T_STREAM (T_COUNTERS + T_COUNTERS_SIZE)
#define T_HALF_0 (T_STREAM + 0x10000)
#define T_HALF_1 (T_STREAM + 0x220000)
#define T_HALF_SIZE 0x200000
#define T_GUARD_SIZE 0x10000
/* With --observe lines, instead of a stream: the number of lines that each block was the first to
 * touch, 8 bytes each. */
#define T_FIRSTS T_STREAM
#define T_FIRSTS_SIZE 0x2000000
/* The blocks that ran in this interval: a byte of 1 each. */
#define T_RAN (T_FIRSTS + T_FIRSTS_SIZE)
#define T_RAN_SIZE 0x400000
#define T_SIZE (T_RAN + T_RAN_SIZE)

/* Beyond links: in T_EXIT_LINK. */
#define EXIT_INDIRECT -1 /* T_PC holds the target */
#define EXIT_SIGNAL -2	 /* no code ran: pending signals are delivered */
/* Below these numbers each block has an exit, EXIT_INTERVAL minus the block's number: no instruction of the block ran,
 * because T_LEFT has fewer instructions than it executes. */
#define EXIT_INTERVAL -16
/* Also one for each block, where the link that leads to the block exhausted T_LEFT. */
#define EXIT_BEFORE (EXIT_INTERVAL - (1 << 23))

#endif
