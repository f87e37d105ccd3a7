/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The state of one run ahead, and its output. Shared by kernel and user space. */
#ifndef ASSAY_RUNAHEAD_STATE_H
#define ASSAY_RUNAHEAD_STATE_H

#include "base/hash.h"
#include "x86/uop.h"

#define RA_BURST_MAX 2048 /* instructions that a window may be asked to have */
#define RA_LONG_MAX \
	8192 /* most instructions of a window that continues through new code (ra_state.more) */
#define RA_OUT_WORDS 16384 /* power of two */
#define RA_ENTRY_WORDS 8   /* the most that one micro-op writes to out[] */
#define RA_OUT_HEAD 14	   /* words at the start of out[] that are left to the source's header */

#define RA_STOP_RUNNING RA_STOP_N /* the window has not ended yet */

/*
 * The private store buffer: stores of this window by aligned 8-byte word. Open addressing with
 * RA_SB_PROBES probes; a slot of another generation is empty, so nothing is cleared between
 * windows.
 */
#define RA_ADDR_BITS 47 /* of a user's addresses */
#define RA_SB_BITS 11
#define RA_SB_SLOTS (1 << RA_SB_BITS)
#define RA_SB_PROBES 4
#define RA_SB_GEN_SHIFT 44 /* key: generation above, address >> 3 below */
#define RA_SB_GEN_MAX 0xfffff
struct ra_slot {
	uint64_t key;
	uint64_t data;
	uint64_t valid;	  /* bit mask: bits of data that were stored */
	uint64_t unknown; /* the stored bits whose value is unknown */
};

/*
 * Lines of the thread's memory read in this window. Reads fetch whole lines, because entering the
 * user's address space is the main cost of a read. Direct-mapped; tag: generation and address.
 */
#define RA_LINES 64 /* power of two */
#define RA_LINE_BYTES 64
#define RA_LINE_GEN_SHIFT 41
struct ra_line {
	uint64_t tag;
	uint64_t data[RA_LINE_BYTES / 8];
};

/*
 * From out[RA_OUT_HEAD] on: for each retired instruction a head word, then a word for each field that is present.
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

/* The operation that last set the status flags. */
enum ra_lazy_kind {
	RA_LAZY_UNKNOWN = 0, /* no flag is known */
	RA_LAZY_READY = 8,   /* the flags are in fl and fl_unk */
	RA_LAZY_LOGIC = 4,
	RA_LAZY_ADD = 2, /* bit 1: the operation has carries */
	RA_LAZY_SUB = 3, /* bit 0: the operation has borrows */
};
#define RA_LAZY_SUB_BIT 1
struct ra_lazy {
	uint32_t kind, width;
	uint64_t a, b, r;
};
#define RA_FL_LT 0x1000 /* SF != OF, used beside the FL_* */

/* A call of this window: its run-time return address, and the micro-op there. */
#define RA_CALLS 8 /* only the last calls are kept; a power of two */
struct ra_call {
	uint64_t va, pc;
};

/* A mapping; end 0: none. */
#define RA_RANGES 4 /* power of two */
struct ra_range {
	uint64_t start, end, bias;
	uint64_t image;
};

/* Memory that must not be read. */
#define RA_KEEP_OFF 8
struct ra_extent {
	uint64_t start, end;
};

struct ra_state {
	/* State that every micro-op touches. */
	uint64_t r[UR_N];
	uint32_t known; /* bit i: r[i] is known */
	uint32_t pc;	/* micro-op to execute next */

	struct ra_lazy lazy, unwanted; /* unwanted: a sink, written and never read */
	uint32_t fl, fl_unk;

	uint32_t n;	/* instructions retired */
	uint32_t burst; /* to retire at most */
	uint32_t
		more; /* instructions to retire after each branch that goes a way for the first time; 0: none */
	uint32_t out_n;	    /* words in out[] */
	uint32_t stop;	    /* enum ra_stop */
	uint32_t uops;	    /* micro-ops executed, counted by the caller of ra_step() */
	uint32_t gen;	    /* of the window */
	uint64_t target;    /* RA_STOP_MISS, UNMAPPED, NOIMAGE: the run-time address */
	uint64_t bloom;	    /* bit word & 63 for every word in the store buffer */
	uint64_t aux, aux2; /* results of helpers in addition to those they return */

	/* The mapping that control is in, set by ra_map(). */
	uint64_t start, end, bias;
	uint32_t image;

	uint32_t calls; /* calls of this window */
	uint32_t nkeep_off;

	/* Recent mappings of control flow; they stay valid from one window to the next until the
	 * source calls ra_new_mappings(). */
	uint32_t next_range;
	struct ra_range range[RA_RANGES];
	struct ra_extent keep_off[RA_KEEP_OFF];
	uint64_t key[2]; /* the source's own: tells ra_map() whose mappings to search */

	/*
	 * Vector registers. A register that this window did not write is not in vlive, and unknown.
	 * vknown: bit i: byte i is known; of mask registers, which are v[][0], bit i.
	 */
	uint64_t vlive;
	uint64_t vknown[UV_N];
	uint64_t v[UV_N][8];

	struct ra_call ret[RA_CALLS];
	struct ra_slot sb[RA_SB_SLOTS];
	struct ra_line line[RA_LINES];
	uint64_t out[RA_OUT_WORDS];
};

/*
 * Where lifted code begins: a hash table of lines, 64 bytes of an image's code each, written by user space
 * only. Lines that lie in the same 2 KiB of code are in the same page, as what runs together is looked up
 * together, and finding a page costs more than reading a line. An instruction is in one of CODE_SLOTS slots from the place on that its offset in the line has; a
 * line whose slots are taken goes on in a further record of the same key.
 *
 *   slot   bits 0-5 offset in the line, 6-31 index of the first micro-op; 0: empty, and ends a search
 */
#define CODE_LINE_SLOTS 30
#define CODE_SLOTS 8  /* slots tried in a record */
#define CODE_PROBES 8 /* records tried */
struct code_line {
	uint64_t key; /* CODE_KEY(); 0: the record is empty, and ends a search */
	uint32_t slot[CODE_LINE_SLOTS];
};
#define CODE_KEY(image, addr) ((uint64_t)(image) << 48 | ((addr) >> 6 & 0x3ffffffffffull))
#define CODE_SLOT(uop, addr) ((uop) << 6 | ((uint32_t)(addr)&63))
#define CODE_UOPS_MAX (1u << 26)

#define CODE_PAGE 5 /* log2 of the records in a page */
/* Record i of those that may hold a key: the search uses the same records in each page. */
static inline __attribute__((always_inline)) uint32_t code_record(uint64_t key, uint32_t bits,
								  uint32_t i)
{
	uint64_t h = key >> CODE_PAGE;
	uint32_t page;

	h = hash_mix(h ^ h >> 32);
	h = (h ^ h >> 29) * 0xc2b2ae3d27d4eb4full;
	page = (uint32_t)(h >> (64 + CODE_PAGE - bits)) + i * ((uint32_t)h | 1);
	return page << CODE_PAGE | (key & ((1u << CODE_PAGE) - 1));
}

/* The first slot to try for an address. */
static inline __attribute__((always_inline)) uint32_t code_place(uint64_t addr)
{
	return ((uint32_t)addr & 63) * (CODE_LINE_SLOTS - CODE_SLOTS + 1) >> 6;
}

/*
 * imm of a direct branch (UOP_JCC, UOP_JMP) that is not linked to a micro-op yet: the address of
 * its target. The interpreter looks that up when it comes there, and links the branch.
 */
#define CODE_UNLINKED(addr) ((int64_t)((addr) | 1ull << 63))

#endif
