/* SPDX-License-Identifier: MIT */
#include "native.h"

#include <asm/prctl.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define FLAGS_STATUS 0x8d5 /* CF PF AF ZF SF OF */

/* What the assembly below reads and writes; the offsets stand there as numbers. */
struct native_area {
	uint64_t in[16];		  /* 0 */
	uint64_t in_flags;		  /* 128 */
	uint64_t in_rip;		  /* 136 */
	uint64_t host_rsp;		  /* 144 */
	uint64_t exit;			  /* 152 */
	uint64_t out[16];		  /* 160 */
	uint64_t out_flags;		  /* 288 */
	const void *vec;		  /* 296 */
	uint32_t mxcsr;			  /* 304 */
	uint32_t level;			  /* 308: 0 SSE, 1 AVX, 2 AVX-512 with BW */
	uint64_t stack[32];		  /* 312 … 568 */
	uint64_t out_vec[NATIVE_VECTORS]; /* 568 */
} native_area;
_Static_assert(offsetof(struct native_area, stack) == 312, "as the assembly has it");

void native_enter(void);
extern const char native_exit_fall[], native_exit_before[], native_exit_after[],
	native_exit_fault[];

/* clang-format off */
__asm__(
"	.text\n"
"	.p2align 4\n"
"	.globl native_enter\n"
"	.type native_enter, @function\n"
"native_enter:\n"
"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
"	mov %rsp, native_area+144(%rip)\n"
"	mov native_area+296(%rip), %rax\n"
"	test %rax, %rax\n"
"	jz 3f\n"
"	cmpl $1, native_area+308(%rip)\n"
"	ja 2f\n"
"	jb 1f\n"
"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
"	vmovdqu \\i*64(%rax), %ymm\\i\n"
"	.endr\n"
"	jmp 3f\n"
"1:\n"
"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
"	movdqu \\i*64(%rax), %xmm\\i\n"
"	.endr\n"
"	jmp 3f\n"
"2:\n"
"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
"	vmovdqu64 \\i*64(%rax), %zmm\\i\n"
"	.endr\n"
"	.irp i,0,1,2,3,4,5,6,7\n"
"	kmovq 2048+\\i*8(%rax), %k\\i\n"
"	.endr\n"
"3:\n"
"	lea native_area+568(%rip), %rsp\n"
"	pushq native_area+128(%rip)\n"
"	popfq\n"
"	mov native_area+0(%rip), %rax\n"
"	mov native_area+8(%rip), %rcx\n"
"	mov native_area+16(%rip), %rdx\n"
"	mov native_area+24(%rip), %rbx\n"
"	mov native_area+32(%rip), %rsp\n"
"	mov native_area+40(%rip), %rbp\n"
"	mov native_area+48(%rip), %rsi\n"
"	mov native_area+56(%rip), %rdi\n"
"	mov native_area+64(%rip), %r8\n"
"	mov native_area+72(%rip), %r9\n"
"	mov native_area+80(%rip), %r10\n"
"	mov native_area+88(%rip), %r11\n"
"	mov native_area+96(%rip), %r12\n"
"	mov native_area+104(%rip), %r13\n"
"	mov native_area+112(%rip), %r14\n"
"	mov native_area+120(%rip), %r15\n"
"	jmp *native_area+136(%rip)\n"
"native_exit_before:\n"
"	movq $1, native_area+152(%rip)\n"
"	jmp 4f\n"
"native_exit_after:\n"
"	movq $2, native_area+152(%rip)\n"
"	jmp 4f\n"
"native_exit_fall:\n"
"	movq $0, native_area+152(%rip)\n"
"4:\n"
"	mov %rax, native_area+160(%rip)\n"
"	mov %rcx, native_area+168(%rip)\n"
"	mov %rdx, native_area+176(%rip)\n"
"	mov %rbx, native_area+184(%rip)\n"
"	mov %rsp, native_area+192(%rip)\n"
"	mov %rbp, native_area+200(%rip)\n"
"	mov %rsi, native_area+208(%rip)\n"
"	mov %rdi, native_area+216(%rip)\n"
"	mov %r8, native_area+224(%rip)\n"
"	mov %r9, native_area+232(%rip)\n"
"	mov %r10, native_area+240(%rip)\n"
"	mov %r11, native_area+248(%rip)\n"
"	mov %r12, native_area+256(%rip)\n"
"	mov %r13, native_area+264(%rip)\n"
"	mov %r14, native_area+272(%rip)\n"
"	mov %r15, native_area+280(%rip)\n"
"	lea native_area+568(%rip), %rsp\n"
"	pushfq\n"
"	popq native_area+288(%rip)\n"
"	cmpq $0, native_area+296(%rip)\n"
"	je native_exit_fault\n"
"	lea native_area+568(%rip), %rax\n"
"	cmpl $1, native_area+308(%rip)\n"
"	ja 7f\n"
"	jb 6f\n"
"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
"	vmovdqu %ymm\\i, \\i*64(%rax)\n"
"	.endr\n"
"	jmp native_exit_fault\n"
"6:\n"
"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
"	movdqu %xmm\\i, \\i*64(%rax)\n"
"	.endr\n"
"	jmp native_exit_fault\n"
"7:\n"
"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
"	vmovdqu64 %zmm\\i, \\i*64(%rax)\n"
"	.endr\n"
"	.irp i,0,1,2,3,4,5,6,7\n"
"	kmovq %k\\i, 2048+\\i*8(%rax)\n"
"	.endr\n"
"native_exit_fault:\n"
"	lea native_area+568(%rip), %rsp\n"
"	pushq $2\n"
"	popfq\n"
"	fninit\n"
"	ldmxcsr native_area+304(%rip)\n"
"	cmpl $0, native_area+308(%rip)\n"
"	je 5f\n"
"	vzeroupper\n"
"5:\n"
"	mov native_area+144(%rip), %rsp\n"
"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
"	ret\n"
"	.size native_enter, .-native_enter\n");
/* clang-format on */

static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
static struct sigaction saved[5];
static uint8_t *alt_stack;
static volatile sig_atomic_t fault_sig, running;

/* A fault of the instruction goes on at the way out; one of ours is as it would have been. */
static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)info;
	if (!running) {
		signal(sig, SIG_DFL);
		return;
	}
	fault_sig = sig;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)native_exit_fault;
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x44500; /* TF DF NT AC */
}

static uint32_t vector_level(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
		return 2;
	return __builtin_cpu_supports("avx") ? 1 : 0;
}

int native_begin(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	size_t size = 64 * 1024;
	stack_t ss = { .ss_size = size };

	alt_stack = malloc(size);
	if (!alt_stack)
		return -1;
	ss.ss_sp = alt_stack;
	if (sigaltstack(&ss, NULL))
		return -1;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], &sa, &saved[i]))
			return -1;
	native_area.level = vector_level();
	native_area.mxcsr = 0x1f80;
	return 0;
}

void native_end(void)
{
	stack_t off = { .ss_flags = SS_DISABLE };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &saved[i], NULL);
	sigaltstack(&off, NULL);
	free(alt_stack);
	alt_stack = NULL;
}

uint64_t native_fs_base(void)
{
	static _Thread_local uint64_t base;

	if (!base)
		syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	return base;
}

void native_set_gs_base(uint64_t base)
{
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, base))
		abort();
}

/* jmp *[rip + …] through the n-th pointer. */
static void put_exit(uint8_t *slot, size_t at, size_t n, const char *to)
{
	uint32_t disp = (uint32_t)(0xc0 + 8 * n - (at + 6));

	slot[at] = 0xff;
	slot[at + 1] = 0x25;
	memcpy(slot + at + 2, &disp, sizeof(disp));
	memcpy(slot + 0xc0 + 8 * n, &to, sizeof(to));
}

void native_layout(uint8_t *slot, const uint8_t *insn, size_t len)
{
	memset(slot, 0xcc, NATIVE_SLOT);
	memcpy(slot + NATIVE_INSN_AT, insn, len);
	put_exit(slot, NATIVE_BEFORE_AT, 0, native_exit_before);
	put_exit(slot, NATIVE_INSN_AT + len, 1, native_exit_fall);
	put_exit(slot, NATIVE_AFTER_AT, 2, native_exit_after);
}

void native_run(const uint8_t *slot, const struct native_regs *in, const void *vec,
		struct native_result *out)
{
	memcpy(native_area.in, in->r, sizeof(in->r));
	native_area.in_flags = (in->flags & FLAGS_STATUS) | 2;
	native_area.in_rip = (uintptr_t)slot + NATIVE_INSN_AT;
	native_area.vec = vec;
	fault_sig = 0;
	running = 1;
	native_enter();
	running = 0;
	out->sig = fault_sig;
	out->exit = fault_sig ? NATIVE_FAULT : (enum native_exit)native_area.exit;
	memcpy(out->regs.r, native_area.out, sizeof(out->regs.r));
	out->regs.flags = native_area.out_flags;
	out->vec = native_area.out_vec;
	out->vec_bytes = !vec ? 0 : native_area.level == 2 ? 64 : native_area.level ? 32 : 16;
}
