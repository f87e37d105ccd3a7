/* SPDX-License-Identifier: MIT */
/* A thread of the program: its context, which code in the cache reaches through gs, and the ways
 * between program and engine. */
#ifndef ASSAY_ENGINE_CORE_THREAD_H
#define ASSAY_ENGINE_CORE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/layout.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

typedef uint64_t sig_set;
#define SIGNALS 64
#define sig_bit(n) (1ull << ((n)-1))

struct action { /* a signal's action, as the kernel takes it */
	uint64_t handler, flags, restorer;
	sig_set mask;
};

/* Signal actions, which threads with shared handlers have in common. */
struct handlers {
	int users;
	int lock;
	struct action a[SIGNALS + 1];
};

struct sig_info {
	int signo, err, code, pad;
	uint64_t addr; /* the address, or the sender's pid and uid */
	uint8_t rest[104];
};

struct sig_stack {
	uint64_t sp;
	int flags, pad;
	uint64_t size;
};

struct pending {
	struct sig_info info;
	uint64_t err, trapno, cr2;
	sig_set mask; /* the program's, to be restored when its handler returns */
	/* mask to which the handler's is added: the program's, or that of the system call that
	 * waits with a mask of its own */
	sig_set during;
	bool fault; /* raised by the instruction at pc */
};

struct thread {
	struct thread *self;
	int64_t exit_link;
	uint64_t engine_sp;
	uint64_t target;
	uint64_t pending;
	uint64_t pc, flags, gs_base, flags_spill;
	uint64_t stop;
	uint64_t site;
	uint64_t plane;
	uint64_t area; /* the program's area for restartable sequences: see rseq.c */
	uint64_t aside[3];
	uint64_t regs[16];
	uint64_t spill[16];
	uint64_t later[8 + 16];
	int64_t left[LEFT_PARTS];
	int64_t rest[LEFT_PARTS]; /* minus the instructions left, in addition to `left` */
	/* The base of the program's fs: as set by system calls alone where instructions may not set bases (bases.c),
	 * else valid while fs is aside. */
	uint64_t fs_base;
	/* the fields from here on are used by C alone */
	struct pending signal;
	/* signals that the program blocks, among those that the engine never blocks in the kernel */
	sig_set blocked;
	/* of these signals, and of any that came while another was pending, those that wait and
	 * were no faults */
	sig_set held;
	struct { /* the system call's own mask while the call waits */
		sig_set mask;
		bool on;
	} wait;
	struct sig_info held_info[SIGNALS + 1];
	struct handlers *handlers;
	struct sig_stack altstack;
	struct thread *next; /* next thread in the list of all */
	/* counter of the instruction in the current block, whose code changes all the time */
	struct known *known;
	uint32_t once; /* number of that block + 1 */
	int tid;
	uint64_t no_area[4]; /* stands in for the area where the program has registered none */
	uint64_t named;	     /* the critical section that the area named when it was last read */
	struct {
		uint64_t pc, addr;
	} excused; /* a fault in a sequence was withheld once */
	/* within a sequence: continues the thread at the sequence's abort handler */
	bool interrupted;
	bool stepping;	  /* single stepping to a place where the pending signal can be delivered */
	bool steps_pushf; /* the single step is over a pushf, which also pushes the trap flag */
	bool ended;
	/* the thread's counts have been logged, or are left to the recorder: phases.c */
	bool told;
	bool mapped; /* the thread's counters and stream, in the recorder's memory, are mapped */
	/* signals sent to call the thread out of the cache that have not arrived yet: see flush.c */
	uint32_t called;
	bool inside; /* may read blocks, links and counters: flush.c waits until this is false */
	/* the instruction at pc was counted in the emptied cache, and is still to be executed */
	bool uncount;
	bool in_library; /* runs the decoder's library */
	bool fs_aside;	 /* the library has a thread pointer of its own: the program's is fs_base */
	/* PR_SET_SYSCALL_USER_DISPATCH: system calls from outside the range become signals if the
	 * selector says so */
	struct {
		uint64_t start, size, selector;
		bool on;
	} user_calls;
	bool reset;		     /* the thread was cloned with CLONE_CLEAR_SIGHAND */
	uint64_t clear_tid;	     /* address that the kernel clears when the thread ends, or 0 */
	int64_t granted[LEFT_PARTS]; /* value of `left` when it was granted */
	int64_t taken[LEFT_PARTS];   /* instructions executed of earlier grants */
	/* number of instructions of the next block, after which the next phase begins; or 0 */
	uint32_t shorten;
	/* execution continues in the middle of a block, because a phase ended there */
	bool midway;
	bool cut; /* the next block to be entered ends in the middle of another block */
	/* number added to what is left because the code that is being entered assumes it is not subtracted yet */
	int32_t owed;
	uint8_t xmm[16 * 16];
};

/* Enters the cache at t->target; returns when it is left, the reason in t->exit_link. */
void rt_enter(struct thread *t);
void rt_exit(void);
void rt_enter_check(void), rt_enter_end(void), rt_enter_abort(void); /* addresses only */
void rt_once_ret(void), rt_once_jump(void);
void rt_ibl_ret(void), rt_ibl_jump(void), rt_ibl_jump_miss(void), rt_ibl_begin(void),
	rt_ibl_end(void);
/* The same entries, for sites from number NEAR_SITES on. */
void rt_ibl_far_ret(void), rt_ibl_far_jump(void);
/* The entries of indirect jumps where nothing is counted. */
void rt_direct_wrong(void), rt_direct_none(void);
/* The system call in t->regs, restartable: returns its result, or RESTART if a signal came
 * first. */
long rt_syscall(struct thread *t);
void rt_syscall_begin(void), rt_syscall_insn(void), rt_syscall_restart(void);
#define RESTART (-512)
/* Copies, or returns false if memory cannot be accessed. */
bool rt_copy(void *to, const void *from, size_t n);
void rt_copy_begin(void), rt_copy_end(void), rt_copy_failed(void);
struct sig_ucontext;
void on_signal(int sig, struct sig_info *info, struct sig_ucontext *uc);
void rt_on_signal(void), rt_sigreturn(void);
/* Switches to the stack and calls; does not return. */
void rt_call_on(uint64_t sp, void (*f)(void *), void *arg) __attribute__((noreturn));
/* clone with registers as given; in the child (which has the stack) calls f(arg). */
long rt_clone(long nr, long a, long b, long c, long d, long e, uint64_t child_sp, void (*f)(void *),
	      void *arg);
void rt_save_xmm(void *to), rt_load_xmm(const void *from);

static inline struct thread *self(void)
{
	struct thread *t;

	__asm__ volatile("mov %%gs:rt_context(%%rip), %0" : "=r"(t));
	return t;
}

/* bases.c: the bases of fs and gs. Whether instructions may read and write them. */
extern bool has_fsgsbase;
/* The base that fs has while the thread, which is the caller, runs the program. */
uint64_t fs_base(const struct thread *t);
void set_fs_base(uint64_t v), set_gs_base(uint64_t v);

static inline void set_self(struct thread *t)
{
	set_gs_base((uint64_t)t - CONTEXT);
}

#pragma GCC visibility pop

#endif
