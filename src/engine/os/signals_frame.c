/* SPDX-License-Identifier: MIT */
/*
 * Frames of handlers: written on the program's stack or its alternate one, with the state that the handler interrupts,
 * and read again when it returns. The engine leaves a program by such a frame, too.
 */
#include <asm/errno.h>
#include <asm/prctl.h>
#include <asm/sigcontext.h>
#include <asm/siginfo.h>
#include <asm/signal.h>

#include "engine/core/layout.h"
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/signals_priv.h"
#include "engine/os/sys.h"
#include "engine/os/util.h"

#define FLAGS_PROGRAM 0x40dd5ul /* flags that a handler may change: AC OF DF TF SF ZF AF PF CF */
#ifndef ARCH_GET_XCOMP_PERM
#define ARCH_GET_XCOMP_PERM 0x1022
#endif
#define UC_FP_XSTATE 1
#define UC_SIGCONTEXT_SS 2
#define UC_STRICT_RESTORE_SS 4
#define ALTSTACK_ON 1
#define ALTSTACK_OFF 2
#define ALTSTACK_AUTODISARM (1u << 31)

struct frame {
	uint64_t restorer;
	struct sig_ucontext uc;
	struct sig_info info;
};

/* The vector state of a frame: its components, and its bytes. A program has some components only when it asks for them. */
static uint64_t xsave_mask, xsave_size;
/* What handlers begin with: initial vector state, for which the header names no component as present. */
static struct {
	uint8_t legacy[512], header[64];
} __attribute__((aligned(64))) initial;
static uint32_t initial_pkru;

#define MXCSR 24 /* offset in the legacy state */
#define MXCSR_INITIAL 0x1f80
#define COMPONENT_PKRU (1ull << 9)

static void cpuid(uint32_t leaf, uint32_t part, uint32_t *a, uint32_t *b)
{
	uint32_t d;

	__asm__ volatile("cpuid" : "=a"(*a), "=b"(*b), "+c"(part), "=d"(d) : "a"(leaf));
}

void signals_frame_components(void)
{
	uint32_t a, b, d;
	uint64_t mask, size = sizeof(initial), permitted;

	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	mask = (uint64_t)d << 32 | a;
	if (!sys(__NR_arch_prctl, ARCH_GET_XCOMP_PERM, &permitted))
		mask &= permitted;
	for (uint32_t i = 2; i < 63; i++) {
		if (!(mask >> i & 1))
			continue;
		cpuid(0xd, i, &a, &b); /* the component's size and offset */
		if (a + b > size)
			size = a + b;
	}
	/* in this order, because another thread may be writing a frame */
	__atomic_store_n(&xsave_size, size, __ATOMIC_RELEASE);
	__atomic_store_n(&xsave_mask, mask, __ATOMIC_RELEASE);
}

void signals_frame_init(void)
{
	const uint32_t mxcsr = MXCSR_INITIAL;
	uint32_t d;

	signals_frame_components();
	memcpy(initial.legacy + MXCSR, &mxcsr, sizeof(mxcsr));
	if (xsave_mask & COMPONENT_PKRU)
		__asm__ volatile("rdpkru" : "=a"(initial_pkru), "=d"(d) : "c"(0));
}

/* Gives a handler the vector state that the kernel gives it. */
static void load_initial_vectors(void)
{
	uint64_t mask = xsave_mask & ~COMPONENT_PKRU;

	__asm__ volatile("xrstor64 %0" ::"m"(initial), "a"((uint32_t)mask),
			 "d"((uint32_t)(mask >> 32)));
	if (xsave_mask & COMPONENT_PKRU)
		__asm__ volatile("wrpkru" ::"a"(initial_pkru), "c"(0), "d"(0));
}

void signals_save_regs(struct thread *t, const struct context *c)
{
	uint64_t *r = t->regs;

	r[RAX] = c->rax, r[RCX] = c->rcx, r[RDX] = c->rdx, r[RBX] = c->rbx;
	r[RSP] = c->rsp, r[RBP] = c->rbp, r[RSI] = c->rsi, r[RDI] = c->rdi;
	r[R8] = c->r8, r[R9] = c->r9, r[R10] = c->r10, r[R11] = c->r11;
	r[R12] = c->r12, r[R13] = c->r13, r[R14] = c->r14, r[R15] = c->r15;
	t->flags = c->flags & ~FLAG_TRAP;
}

static bool on_altstack(const struct thread *t)
{
	uint64_t sp = t->regs[RSP];

	return !((unsigned)t->altstack.flags & ALTSTACK_AUTODISARM) && sp > t->altstack.sp &&
	       sp - t->altstack.sp <= t->altstack.size;
}

long signals_altstack(struct thread *t)
{
	const void *new = (const void *)t->regs[RDI];
	void *old = (void *)t->regs[RSI];
	struct sig_stack s, before = t->altstack;

	before.flags = !before.size ? ALTSTACK_OFF : on_altstack(t) ? ALTSTACK_ON : 0;
	before.flags |= (int)((unsigned)t->altstack.flags & ALTSTACK_AUTODISARM);
	if (new) {
		unsigned mode;

		if (!rt_copy(&s, new, sizeof(s)))
			return -EFAULT;
		if (on_altstack(t))
			return -EPERM;
		mode = (unsigned)s.flags & ~ALTSTACK_AUTODISARM;
		if (mode != ALTSTACK_OFF && mode != ALTSTACK_ON && mode)
			return -EINVAL;
		if (mode == ALTSTACK_OFF)
			s.sp = s.size = 0;
		else if (s.size < 2048)
			return -ENOMEM;
		t->altstack = s;
	}
	if (old && !rt_copy(old, &before, sizeof(before)))
		return -EFAULT;
	return 0;
}

/* Copies the vector state, of these components, into a frame, with the marks that tell its size. */
static bool save_vectors(uint64_t at, uint64_t mask, uint64_t size)
{
	struct _fpstate_64 *fp = (void *)at;
	uint8_t zero[512 + 64] = { 0 };
	uint32_t magic = FP_XSTATE_MAGIC2;
	/* a probe: the copy meets the fault that xsave would meet */
	if (!rt_copy((void *)at, zero, sizeof(zero)) || !rt_copy((void *)(at + size), &magic, 4))
		return false;
	__asm__ volatile("xsave64 %0"
			 : "+m"(*(uint8_t(*)[4096])at)
			 : "a"((uint32_t)mask), "d"((uint32_t)(mask >> 32)));
	fp->sw_reserved.magic1 = FP_XSTATE_MAGIC1;
	fp->sw_reserved.extended_size = (uint32_t)size + 4;
	fp->sw_reserved.xfeatures = mask;
	fp->sw_reserved.xstate_size = (uint32_t)size;
	return true;
}

static bool load_vectors(struct thread *t, uint64_t at)
{
	uint64_t *area = (uint64_t *)((char *)t + T_SCRATCH);
	uint32_t *sw;

	if (!rt_copy(area, (const void *)at, 512))
		return false;
	sw = (uint32_t *)((char *)area + 464);
	area[3] &= ~0xffff0000ull | 0xffff; /* reserved bits of mxcsr are cleared */
	memset((char *)area + 512, 0, 64);
	if (sw[0] == FP_XSTATE_MAGIC1 && sw[4] >= sizeof(initial) && sw[4] <= xsave_size) {
		if (!rt_copy((char *)area + 512, (const void *)(at + 512), sw[4] - 512))
			return false;
		area[64] &= xsave_mask & ((uint64_t)sw[3] << 32 | sw[2]);
		memset(&area[65], 0, 56);
	} else {
		area[64] = 3; /* x87 and SSE */
	}
	__asm__ volatile("xrstor64 %0" ::"m"(*(uint8_t(*)[4096])area), "a"((uint32_t)xsave_mask),
			 "d"((uint32_t)(xsave_mask >> 32)));
	return true;
}

static void fill_context(const struct thread *t, struct context *c)
{
	const uint64_t *r = t->regs;

	c->rax = r[RAX], c->rcx = r[RCX], c->rdx = r[RDX], c->rbx = r[RBX];
	c->rsp = r[RSP], c->rbp = r[RBP], c->rsi = r[RSI], c->rdi = r[RDI];
	c->r8 = r[R8], c->r9 = r[R9], c->r10 = r[R10], c->r11 = r[R11];
	c->r12 = r[R12], c->r13 = r[R13], c->r14 = r[R14], c->r15 = r[R15];
	c->rip = t->pc;
	c->flags = t->flags;
	c->cs = 0x33;
	c->ss = 0x2b;
	c->err = t->signal.err;
	c->trapno = t->signal.trapno;
	c->cr2 = t->signal.cr2;
	c->oldmask = t->signal.mask;
}

bool signals_push_frame(struct thread *t, const struct action *a)
{
	struct frame f = { .restorer = a->restorer, .info = t->signal.info };
	uint64_t mask = __atomic_load_n(&xsave_mask, __ATOMIC_ACQUIRE), size = xsave_size;
	uint64_t sp = t->regs[RSP], fp;
	struct sig_stack alt = t->altstack;
	bool on_alt = on_altstack(t);

	f.uc.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
	f.uc.stack = t->altstack;
	if (!t->altstack.size)
		f.uc.stack.flags = ALTSTACK_OFF;
	if (a->flags & SA_ONSTACK && alt.size && !on_alt) {
		sp = alt.sp + alt.size;
		on_alt = true;
		if ((unsigned)alt.flags & ALTSTACK_AUTODISARM)
			memset(&t->altstack, 0, sizeof(t->altstack));
	} else {
		sp -= 128;
	}
	fp = (sp - (size + 4)) & ~63ul;
	sp = ((fp - sizeof(f)) & ~15ul) - 8;
	/* the alternate stack has no room */
	if (on_alt && (sp <= alt.sp || sp - alt.sp > alt.size))
		return false;
	fill_context(t, &f.uc.c);
	f.uc.c.fpstate = fp;
	f.uc.mask = t->signal.mask;
	if (!save_vectors(fp, mask, size) || !rt_copy((void *)sp, &f, sizeof(f)))
		return false;
	load_initial_vectors();
	t->regs[RSP] = sp;
	t->regs[RDI] = (uint64_t)f.info.signo;
	t->regs[RSI] = sp + offsetof(struct frame, info);
	t->regs[RDX] = sp + offsetof(struct frame, uc);
	t->regs[RAX] = 0;
	t->pc = a->handler;
	t->flags &= ~(FLAG_TRAP | FLAG_DIRECTION | 0x10000ul);
	return true;
}

/* Called when the return frame cannot be read. False: another signal is delivered first. */
static bool raise_bad_frame(struct thread *t)
{
	if (!signals_raise(t, SIGSEGV, SI_KERNEL, 0))
		return false;
	t->regs[RAX] = 0;
	return true;
}

bool signals_return(struct thread *t)
{
	struct sig_ucontext uc;
	sig_set mask;

	signals_block_all(&mask);
	if (t->pending) /* its handler begins with this mask and this context, and ends before they change */
		return false;
	if (!rt_copy(&uc, (const void *)(t->regs[RSP] - 8 + offsetof(struct frame, uc)),
		     sizeof(uc))) {
		signals_restore(mask);
		t->regs[RCX] = t->pc;
		t->regs[R11] = t->flags;
		return raise_bad_frame(t);
	}
	signals_save_regs(t, &uc.c);
	t->flags = (uc.c.flags & FLAGS_PROGRAM & ~FLAG_TRAP) | 0x202;
	t->pc = uc.c.rip;
	if (uc.c.fpstate && !load_vectors(t, uc.c.fpstate)) {
		signals_set_mask(t, uc.mask);
		if (!raise_bad_frame(t))
			signals_die(SIGSEGV);
		return true;
	}
	if (!(uc.stack.flags & ALTSTACK_OFF) || !uc.stack.size)
		t->altstack = uc.stack;
	if (t->altstack.flags & ALTSTACK_OFF)
		memset(&t->altstack, 0, sizeof(t->altstack));
	signals_set_mask(t, uc.mask);
	return true;
}

/*
 * Ends the engine's part in a process of one thread. Signals, memory and gs are set to what the
 * program expects, and the program continues from t->pc by itself. The kernel restores the
 * registers, as after a handler. All signals are blocked; `mask` was the program's.
 */
void signals_leave(struct thread *t, sig_set mask)
{
	struct frame *f = (struct frame *)((char *)t + T_SCRATCH);
	uint64_t vectors = ((uint64_t)(f + 1) + 63) & ~63ul;

	memset(f, 0, sizeof(*f));
	t->signal = (struct pending){ .mask = mask | t->blocked };
	fill_context(t, &f->uc.c);
	f->uc.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
	f->uc.c.fpstate = vectors;
	f->uc.mask = t->signal.mask;
	f->uc.stack = t->altstack;
	if (!t->altstack.size)
		f->uc.stack.flags = ALTSTACK_OFF;
	if (!save_vectors(vectors, xsave_mask, xsave_size))
		die("no memory to leave the program");
	for (int sig = 1; sig <= SIGNALS; sig++)
		signals_kernel_action(sig, &t->handlers->a[sig], NULL);
	set_gs_base(t->gs_base);
	__asm__ volatile("mov %0, %%rsp\n\tmov $15, %%eax\n\tsyscall" : : "r"(&f->uc) : "memory");
	__builtin_unreachable();
}
