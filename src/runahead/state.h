/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The state of one run ahead, and what it leaves behind. Shared by kernel and user space.
 */
#ifndef ASSAY_RUNAHEAD_STATE_H
#define ASSAY_RUNAHEAD_STATE_H

#include "isa/uop.h"

#define RA_BURST_MAX 512
#define RA_OUT_WORDS 4096 /* power of two */
#define RA_ENTRY_WORDS 8  /* the most that one micro-op writes to out[] */
#define RA_OUT_HEAD 14	  /* words at the start of out[] that are left to the source's header */

#define RA_STOP_RUNNING RA_STOP_N /* not ended yet */

/*
 * The private store buffer: stores of this window by aligned 8-byte word. Open addressing with
 * RA_SB_PROBES probes; a slot of another generation is empty, so nothing is cleared between windows.
 */
#define RA_SB_SLOTS 256 /* power of two */
#define RA_SB_PROBES 4
#define RA_SB_GEN_SHIFT 44 /* key: generation above, address >> 3 below */
#define RA_SB_GEN_MAX 0xfffff
struct ra_slot {
	uint64_t key;
	uint64_t data;
	uint64_t valid;	  /* bit mask: bits of data that were stored */
	uint64_t unknown; /* of those, bits whose value is not known */
};

/*
 * Lines of the thread's memory read in this window: what is near what was read is read with it, as
 * entering the user's address space is what a read costs. Direct-mapped; tag: generation and address.
 */
#define RA_LINES 64 /* power of two */
#define RA_LINE_BYTES 64
#define RA_LINE_GEN_SHIFT 41
struct ra_line {
	uint64_t tag;
	uint64_t data[RA_LINE_BYTES / 8];
};

/*
 * out[RA_OUT_HEAD …]: for each retired instruction a head word, then a word for each field that is present.
 *
 *   bits 0-31 index of the micro-op that retired it   32 address  33 A  34 B present   35 taken
 *
 * A head with bit 36 is a procedure's entry: bits 40-45 say which of rdi rsi rdx rcx r8 r9 are
 * known; a word for each of those follows. The instruction's own head comes after it.
 */
#define RA_HAS_SHIFT 32
#define RA_HAS_EA (1ull << 32)
#define RA_HAS_A (1ull << 33)
#define RA_HAS_B (1ull << 34)
#define RA_TAKEN (1ull << 35)
#define RA_ARGS (1ull << 36)
#define RA_ARGS_SHIFT 40

/* The operation that set the status flags last. */
enum ra_lazy_kind {
	RA_LAZY_UNKNOWN = 0, /* no flag is known */
	RA_LAZY_READY = 8,   /* they are in fl and fl_unk */
	RA_LAZY_LOGIC = 4,
	RA_LAZY_ADD = 2, /* bit 1: has carries */
	RA_LAZY_SUB = 3, /* bit 0: borrows */
};
#define RA_LAZY_SUB_BIT 1
struct ra_lazy {
	uint32_t kind, width;
	uint64_t a, b, r;
};
#define RA_FL_LT 0x1000 /* SF != OF, beside the FL_* */

struct ra_state {
	uint64_t r[UR_N];
	uint32_t known; /* bit i: r[i] is known */
	uint32_t pc;	/* micro-op to execute next */

	struct ra_lazy lazy;
	uint32_t fl, fl_unk;

	uint32_t n;	/* instructions retired */
	uint32_t burst; /* to retire at most */
	uint32_t out_n; /* words in out[] */
	uint32_t stop;	/* enum ra_stop */
	uint32_t
		stop_uop; /* RA_STOP_MISS: the branch whose target is not lifted, or 0: see target */
	uint32_t uops;	  /* executed */
	uint64_t target;  /* RA_STOP_MISS, UNMAPPED, NOIMAGE: the run-time address */

	/* The image that control is in, and where it ends: set by ra_map(). */
	uint64_t start, end, bias;
	uint32_t image;

	uint64_t key[2]; /* the source's own: whose mappings ra_map() looks in */

	uint32_t gen;
	uint64_t bloom;		 /* bit word & 63 for every word in the store buffer */
	uint64_t aux, aux2;	 /* results of helpers beside what they return */
	struct ra_lazy unwanted; /* written and never read */
	struct ra_slot sb[RA_SB_SLOTS];
	struct ra_line line[RA_LINES];
	uint64_t out[RA_OUT_WORDS];
};

/*
 * Where lifted code begins: a hash table by image and address, written by user space only. The 64 bytes
 * of a line of code share a cluster of 32 entries, in their order, as what runs together is looked up
 * together; collisions probe linearly.
 */
struct code_entry {
	uint64_t key; /* CODE_KEY(); 0: empty */
	uint32_t uop; /* index of its first micro-op; 0: not lifted */
	uint32_t pad; /* user space's */
};
#define CODE_KEY(image, addr) ((uint64_t)(image) << 48 | ((addr)&0xffffffffffffull))
#define CODE_PROBES 32
#define CODE_CLUSTER 5 /* log2 */
/* Where a key may be, in the order of the tries: sixteen places from its own in its line's cluster on, then
 * in a second cluster. The first empty one ends a search. */
static inline __attribute__((always_inline)) uint32_t code_slot(uint64_t key, uint32_t bits,
								uint32_t i)
{
	uint64_t k = i < CODE_PROBES / 2 ? 0x9e3779b97f4a7c15ull : 0xc2b2ae3d27d4eb4full;
	uint32_t cluster = (uint32_t)(((key >> 6) * k) >> (64 + CODE_CLUSTER - bits));
	uint32_t place = (uint32_t)(key >> 1 & ((1u << CODE_CLUSTER) - 1));

	return ((cluster << CODE_CLUSTER | place) + (i & (CODE_PROBES / 2 - 1))) &
	       ((1u << bits) - 1);
}

#endif
