/* SPDX-License-Identifier: MIT */
/* A thread of the program: its context, which code in the cache reaches through gs, and the ways between program and engine. */
#ifndef ASSAY_ENGINE_CORE_THREAD_H
#define ASSAY_ENGINE_CORE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/layout.h"

#pragma GCC visibility push(hidden) /* all is in one file: no tables of addresses */

typedef uint64_t sig_set;
#define SIGNALS 64
#define sig_bit(n) (1ull << ((n)-1))

struct action { /* as the kernel takes it */
	uint64_t handler, flags, restorer;
	sig_set mask;
};

/* Threads that share signal handlers share one. */
struct handlers {
	int users;
	int lock;
	struct action a[SIGNALS + 1];
};

struct sig_info {
	int signo, err, code, pad;
	uint64_t addr; /* or pid, uid */
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
	sig_set mask;	/* the program's, to be restored when its handler returns */
	sig_set during; /* … what its handler's is added to: of a system call that waits with a mask of its own, that one */
	bool fault;	/* by the instruction at pc */
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
	uint64_t area; /* of restartable sequences: see rseq.c */
	uint64_t aside[3];
	uint64_t regs[16];
	uint64_t spill[16];
	uint64_t later[8 + 16];
	int64_t left[LEFT_PARTS];
	/* C alone from here */
	struct pending signal;
	sig_set blocked; /* of those that the engine keeps open */
	sig_set held; /* of those, and of any while one is pending: that have come meanwhile, not as faults */
	struct { /* the system call's own mask, while it waits */
		sig_set mask;
		bool on;
	} wait;
	struct sig_info held_info[SIGNALS + 1];
	struct handlers *handlers;
	struct sig_stack altstack;
	struct thread *next; /* all threads */
	struct known *known; /* what counts the instruction in its block for code that changes */
	uint32_t once;	     /* … which is this: number + 1 */
	int tid;
	uint64_t no_area[4]; /* in the place of a registered one */
	uint64_t named;	     /* the section that the area was last seen to name */
	struct {
		uint64_t pc, addr;
	} excused;	  /* a fault in a section that was not told of */
	bool interrupted; /* in a section: it goes on at the section's handler */
	bool stepping;	  /* to a place where the pending signal can be delivered */
	bool steps_pushf; /* … over a pushf, which pushes the flag that makes it step */
	bool ended;
	bool told;   /* what it has counted is told, or left to the recorder: phases.c */
	bool mapped; /* the recorder's memory for it: counters, stream */
	int called;  /* out of the cache, by a signal that has not come yet: see flush.c */
	bool inside; /* may look at blocks, links, counters: flush.c waits until it does not */
	bool uncount; /* the instruction at pc, counted in a cache that is no more, is still to come */
	bool in_library;  /* of the decoder: */
	uint64_t fs_base; /* the program's, while it runs */
	struct {
		uint64_t start, size, selector;
		bool on;
	} user_calls; /* PR_SET_SYSCALL_USER_DISPATCH: calls from elsewhere are signals, where the byte says so */
	bool reset;		     /* its clone reset the handlers */
	uint64_t clear_tid;	     /* where the kernel writes when it ends; 0: nowhere */
	int64_t granted[LEFT_PARTS]; /* what `left` began with */
	int64_t taken[LEFT_PARTS];   /* … of the one before */
	uint32_t
		shorten; /* the next block has only so many instructions: the schedule's next phase begins behind them; or 0 */
	uint8_t xmm[16 * 16];
};

/* Enters the cache at t->target; returns when it is left, the reason in t->exit_link. */
void rt_enter(struct thread *t);
void rt_exit(void);
void rt_enter_check(void), rt_enter_end(void), rt_enter_abort(void); /* addresses only */
void rt_once_ret(void), rt_once_jump(void);
void rt_ibl_ret(void), rt_ibl_jump(void), rt_ibl_jump_miss(void), rt_ibl_begin(void),
	rt_ibl_end(void);
/* … of sites from NEAR_SITES on. */
void rt_ibl_far_ret(void), rt_ibl_far_jump(void);
/* … where nothing is counted. */
void rt_direct_wrong(void), rt_direct_none(void);
/* The system call in t->regs, restartable: returns its result, or RESTART if a signal came first. */
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

static inline uint64_t fs_base(void)
{
	uint64_t v;

	__asm__ volatile("rdfsbase %0" : "=r"(v));
	return v;
}

static inline void set_fs_base(uint64_t v)
{
	__asm__ volatile("wrfsbase %0" ::"r"(v));
}

static inline void set_gs_base(uint64_t v)
{
	__asm__ volatile("wrgsbase %0" ::"r"(v));
}

static inline void set_self(struct thread *t)
{
	set_gs_base((uint64_t)t - CONTEXT);
}

#pragma GCC visibility pop

#endif
