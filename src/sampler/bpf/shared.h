/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Data that the kernel program and user space share, beside the code map (runahead/state.h). */
#ifndef ASSAY_SAMPLER_BPF_SHARED_H
#define ASSAY_SAMPLER_BPF_SHARED_H

#include "runahead/state.h"

/*
 * A process's executable mappings, keyed by address space. Filled in the kernel as samples land, and
 * by user space from /proc/PID/maps. A range with end 0 is empty.
 */
#define PROC_RANGES 32		 /* power of two */
#define PROC_NOIMAGE 0xffffffffu /* code that no file holds */
struct proc_range {
	uint64_t start, end;
	uint64_t bias;	/* run-time address minus ELF virtual address */
	uint32_t image; /* number, or PROC_NOIMAGE */
	uint32_t pad;
};
struct proc_key {
	uint64_t mm;
	uint64_t tgid;
};
struct proc {
	uint32_t n; /* ranges added so far; the next one is stored at this number mod PROC_RANGES */
	uint32_t pad;
	uint64_t
		exec_vm; /* executable pages when the ranges were filled in; another number means other mappings */
	struct proc_range range[PROC_RANGES];
};

/* Files whose code may be lifted, by what a mapping tells of its file. */
#define FILE_SEGMENTS 4
struct file_key {
	uint64_t ino;
	uint64_t dev; /* as the kernel numbers it: major << 20 | minor */
};
struct file_info {
	uint32_t image;
	uint32_t nseg;
	struct {
		uint64_t offset, size, addr;
	} seg[FILE_SEGMENTS];
};

/*
 * A process's mappings of devices, by tgid, in order of address; and the number of pages that were
 * neither private data, code nor stack when user space looked. Mapping another device makes that
 * number larger.
 */
#define DEVICE_RANGES RA_KEEP_OFF
struct device_ranges {
	uint64_t mm; /* the process's address space then; exec and a reused pid have another one */
	uint32_t n, other;
	struct ra_extent range[DEVICE_RANGES];
};

/* A record of the ring buffer: this header, then words as runahead/state.h says. */
enum sample_kind {
	SAMPLE_USER = 1,
	SAMPLE_KERNEL,
	SAMPLE_WATCH, /* a record of its own: struct sample_watch */
	SAMPLE_STACK, /* a record of its own: struct sample_stack */
	SAMPLE_FRAMES /* likewise: struct unwind_frames */
};
#define SAMPLE_VMA 1  /* flag: struct sample_vma is what follows, and no windows */
#define SAMPLE_PICK 2 /* flag: a long window, of which a touch is to be picked */
#define SAMPLE_LOOK 4 /* flag: the process may map devices that nobody has looked for */
#define SAMPLE_RARE 8 /* flag: a rare window (sampler/bpf/rare.h), which stands for no time */
/* Bits of `flags` from this one on: the number of windows that this window stands for; 0: no window is ever passed
 * over, or this one was. */
#define SAMPLE_STANDS_SHIFT 8
struct sample {
	uint16_t kind, flags;
	uint32_t other; /* struct device_ranges */
	uint32_t pid, tid;
	uint64_t time;	 /* ns, CLOCK_MONOTONIC */
	uint64_t period; /* amount that the sample stands for */
	uint64_t ip;
	uint64_t bias;	 /* bias of the image that ip is in */
	uint64_t target; /* struct ra_state */
	uint64_t mm;
	uint32_t image; /* number of the image that ip is in; 0: not known */
	uint32_t stop;
	uint32_t n; /* retired instructions */
	uint32_t uops;
	uint32_t ns;	     /* spent running ahead */
	uint32_t stop_image; /* image that control was in at the end */
	uint64_t exec_vm;
	uint64_t
		stop_bias; /* difference of run-time and ELF addresses of the image in which the window stopped */
	/* where the first thread's stack begins: at another address for each program that is executed, where its parent's
	 * begins for a forked child */
	uint64_t stack;
};
_Static_assert(sizeof(struct sample) == RA_OUT_HEAD * 8, "a sample is what precedes out[]");

struct sample_vma {
	uint64_t start, end, pgoff; /* pgoff in bytes */
	uint64_t ino, dev;	    /* 0: no file */
	char name[32];		    /* the file's own, cut */
};

/* A hit of a watchpoint. */
struct sample_watch {
	uint16_t kind, flags;
	uint32_t tid;
	uint64_t addr;	  /* watched */
	uint64_t hits;	  /* number of the hit, counted from 1 */
	uint64_t running; /* ns for which the watchpoint was set while the thread ran */
};

/* The data from which a call stack is found. */
#define STACK_COPY 32768 /* bytes of the stack, at most */
struct sample_stack {
	uint16_t kind, flags;
	uint32_t n; /* bytes that follow */
	uint32_t pid, tid;
	uint64_t time, period;
	uint64_t mm, exec_vm; /* identify the process's mappings at the moment of the sample */
	uint64_t kernel_ip;   /* 0: the thread was in user space */
	uint64_t ip;	      /* address in user space */
	uint64_t reg[16];     /* in encoding order: rax rcx rdx rbx rsp and so on */
	char comm[16];
	/* the stack from the stack pointer, reg[4], on; the last page is room that the verifier
	 * requires */
	uint8_t bytes[STACK_COPY + 4096];
};

#define CODE_NAME_MAX 600 /* the kernel's longest names have 511 characters */

/* Counters, one set a CPU. */
struct sampler_counters {
	uint64_t user, kernel, idle;
	uint64_t lost_ring, lost_nested, lost_map, lost_stacks;
	uint64_t windows, instructions, uops, ahead_ns;
	uint64_t find_vma, find_vma_failed;
	uint64_t rare; /* rare windows, which `windows` does not include */
	/* stack_frames and walk_ns count stacks that were walked to their end; stack_ns counts all
	 * stacks */
	uint64_t stacks, stack_frames, stack_copies, walk_ns, stack_ns;
};

#endif
