/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The layout of the tables of unwind rules by which the kernel side walks call stacks (sampler/bpf/unwind.h).
 *
 *   space[pid]      mappings of code, by address: image, and what lies between run-time and ELF addresses
 *   image[number]   where the image's pages are among all pages
 *   page[i]         4 KiB of code: where its rows are among all rows, once they have been made
 *   row             bits 20-31 where in the page the rule begins, bits 0-19 the rule's number; sorted
 *   rule[i]         image/rule.h
 *
 * User space makes rows of pages as stacks are met that need them. Until then, and where a rule is of an odd shape, the walk
 * gives up, and user space walks a copy of the stack (sampler/stacks.h): so what is missing costs time, but no stack.
 */
#ifndef ASSAY_SAMPLER_BPF_UNWIND_TABLES_H
#define ASSAY_SAMPLER_BPF_UNWIND_TABLES_H

#include "image/rule.h"

#define UNWIND_RANGES 256 /* power of two */
struct unwind_mapping {
	uint64_t start, end, bias;
	uint32_t image;
	uint32_t rules; /* 0: the code is generated and has no unwind information */
};
/* The mappings of one process; valid while its address space is that one and has that number of
 * pages of code. */
struct unwind_space {
	uint64_t mm, exec_vm;
	uint32_t n, pad;
	struct unwind_mapping range[UNWIND_RANGES];
};

#define UNWIND_IMAGES 65536
struct unwind_image {
	uint64_t first; /* page of code: address / UNWIND_PAGE */
	uint32_t page;	/* its number among all pages */
	uint32_t pages; /* 0: no unwind information of the image is known */
};

#define UNWIND_PAGE 4096
#define UNWIND_PAGE_BITS 12
#define UNWIND_PAGES (1u << 17)	  /* of all images: 512 MiB of code */
#define UNWIND_READY (1ull << 63) /* bits 0-31: first row, 32-47: number of rows */

#define UNWIND_LINE 16 /* rows in an element of the map */
struct unwind_line {
	uint32_t row[UNWIND_LINE];
};
#define UNWIND_ROWS (1u << 21)
#define UNWIND_RULE_BITS 20
#define UNWIND_RULES (1u << 16)

#define UNWIND_FRAMES 512 /* power of two */

/* Reasons for which a walk ends. */
enum unwind_end {
	UNWIND_RUNNING,
	UNWIND_ROOT,	/* the frame has no caller */
	UNWIND_DEPTH,	/* there are UNWIND_FRAMES frames */
	UNWIND_NO_RULE, /* the last frame's code has no rule, and no frame pointer leads on */
	/* user space has to walk a copy */
	UNWIND_NO_RANGE,   /* no known mapping of the process holds the address */
	UNWIND_NO_ROWS,	   /* the tables have no rows of the page yet */
	UNWIND_ODD,	   /* the rule has a shape that only user space can follow */
	UNWIND_UNREADABLE, /* the rule leads to no frame, or the frame cannot be read */
};

/* A frame: bits 0-46 its address, bit 47 set if a call returns there, bits 48-63 the image's number. */
#define UNWIND_ADDR ((1ull << 47) - 1)
#define UNWIND_CALL (1ull << 47)
#define UNWIND_IMAGE_SHIFT 48

/* The record of a stack that was walked to its end. */
struct unwind_frames {
	uint16_t kind, end; /* enum sample_kind, enum unwind_end */
	uint32_t n;
	uint32_t pid, tid;
	uint64_t time, period;
	uint64_t kernel_ip; /* 0: the thread was in user space */
	char comm[16];
	uint64_t frame[UNWIND_FRAMES];
};

/* The rules of frames that were looked up last, by a hash of the frame. */
#define UNWIND_KNOWN_BITS 10
#define UNWIND_SPREAD 0x9e3779b97f4a7c15ull
struct unwind_known {
	uint64_t frame; /* its complement, as all zero is none */
	uint32_t rule, pad;
};

#define UNWIND_CHUNK 512 /* bytes of the stack that are read at once; power of two */
#define UNWIND_BELOW 64	 /* bytes of them that lie below what is read first */
#define UNWIND_NO_CHUNK (1ull << 63)

#define UNWIND_NOWHERE 1
#define UNWIND_KEEP_OFF 8 /* ranges, as in struct ra_state */
struct unwind_walk {
	uint64_t pc, sp, bp;
	uint64_t bx_at; /* address at which rbx was saved; 0: rbx was not saved; UNWIND_NOWHERE */
	uint64_t mm, exec_vm;
	uint32_t end;	   /* enum unwind_end */
	uint32_t returned; /* whether a call returns to pc */
	uint32_t by_bp;	   /* whether bp was read from a frame that a frame pointer led to */
	uint32_t nkeep_off;
	uint32_t no_chunks;		       /* whether a chunk could not be read */
	uint64_t chunk_at;		       /* where w->chunk was read; UNWIND_NO_CHUNK */
	struct unwind_mapping range;	       /* the mapping that pc was in last */
	uint64_t reg[16];		       /* of the innermost frame */
	uint64_t keep_off[UNWIND_KEEP_OFF][2]; /* memory that must not be read: from, to */
	uint64_t chunk[UNWIND_CHUNK / 8];
	struct unwind_known known[1 << UNWIND_KNOWN_BITS];
	struct unwind_frames out;
};

#endif
