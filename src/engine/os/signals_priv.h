/* SPDX-License-Identifier: MIT */
/*
 * The way of a signal. The kernel runs the engine's handler, which notes the signal and brings the thread to a place
 * where the program's state is known. There the program's handler is entered, with a frame like the kernel's
 * (arch/x86/kernel/signal.c). From the note to the delivery all signals are blocked, so at most one is pending. While
 * none is pending the kernel's signal mask is the program's, except for the signals that the engine itself depends on:
 * which of those the program blocks is kept in the thread.
 *
 *   signals_arrival.c  the engine's handler, until the thread is out of the cache
 *   signals.c          what becomes of the noted signal: the program's handler, nothing, or the process's end
 *   signals_frame.c    frames of handlers: written, and read again at their return; the stacks where they lie
 *   signals_mask.c     which signals the program blocks, and those that came nevertheless
 *   signals_action.c   which handlers the program has, and the engine's, which the kernel runs in their place
 */
#ifndef ASSAY_ENGINE_OS_SIGNALS_PRIV_H
#define ASSAY_ENGINE_OS_SIGNALS_PRIV_H

#include <asm/siginfo.h>
#include <asm/signal.h>

#include "engine/os/signals.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

#define FLAG_TRAP 0x100ul
#define FLAG_DIRECTION 0x400ul
#define FLAG_ALIGNMENT 0x40000ul

struct context { /* struct sigcontext, 64-bit */
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
		flags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};

struct sig_ucontext {
	uint64_t flags, link;
	struct sig_stack stack;
	struct context c;
	sig_set mask;
};

/* The signals that the engine depends on, which it never blocks in the kernel: faults and traps. */
static const sig_set sync_signals =
	sig_bit(SIGSEGV) | sig_bit(SIGBUS) | sig_bit(SIGILL) | sig_bit(SIGFPE) | sig_bit(SIGTRAP);

/* signals.c: ends the process as a signal without a handler does. */
void signals_die(int sig) __attribute__((noreturn));

/* signals_frame.c: finds out how much vector state there is, and what handlers begin with. */
void signals_frame_init(void);
/* Takes the program's registers and flags from what the kernel saved of a thread. */
void signals_save_regs(struct thread *t, const struct context *c);
/* Writes the frame of the pending signal and enters the program's handler. False: there is no room. */
bool signals_push_frame(struct thread *t, const struct action *a);

/* signals_mask.c: sets the program's mask while no signal is pending. Signals that this unblocks are delivered now. */
void signals_set_mask(struct thread *t, sig_set mask);

/* signals_action.c: does rt_sigaction. */
long signals_kernel_action(int sig, const struct action *a, struct action *old);

#pragma GCC visibility pop

#endif
