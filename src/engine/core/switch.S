/* SPDX-License-Identifier: MIT */
/*
 * Between the program's registers and the engine's; and the paths that must not touch flags.
 *
 * Code on the engine's stack has unwind information, by which profilers and debuggers walk call stacks. Code on the program's stack has none,
 * like the code in the cache: what called it is the program's code, which only the engine's tables know.
 */
#include "engine/core/layout.h"

/* A thread's context: see CONTEXT in layout.h. */
#define T(offset) %gs:rt_context + (offset)(%rip)
#define REG(n) T(T_REGS + 8 * (n))
#define SPILL(n) T(T_SPILL + 8 * (n))
#define FUNC(name) .globl name; .type name, @function; .balign 16; name:
/* A procedure on the engine's stack, up to END. */
#define ENGINE_FUNC(name) FUNC(name) .cfi_startproc
#define END .cfi_endproc

	.text

.macro PUSH_REG reg
	push \reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
.endm

.macro POP_REG reg
	pop \reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore \reg
.endm

/* The procedure has no caller. */
.macro NO_CALLER
	.cfi_undefined %rip
.endm

/* Where rt_enter has saved the registers of its caller, on the stack that T_ENGINE_SP points to. */
.macro SAVED_BY_RT_ENTER
	.cfi_def_cfa %rsp, 56
	.cfi_offset %rbx, -16
	.cfi_offset %rbp, -24
	.cfi_offset %r12, -32
	.cfi_offset %r13, -40
	.cfi_offset %r14, -48
	.cfi_offset %r15, -56
.endm

/* What a signal interrupted has its register at \offset above the stack pointer: a DW_CFA_expression of DW_OP_breg7. */
.macro INTERRUPTED register, offset
	.cfi_escape 0x10, \register, 3, 0x77, (\offset & 0x7f) | 0x80, \offset >> 7
.endm

/* Clears the direction flag, and the alignment check, which programs use to tell CPUs apart. */
.macro PLAIN_FLAGS
	push $2
	.cfi_adjust_cfa_offset 8
	popf
	.cfi_adjust_cfa_offset -8
.endm

ENGINE_FUNC(_start)
	NO_CALLER
	mov %rsp, %rdi
	xor %ebp, %ebp
	and $-16, %rsp
	call rt_start
	hlt
	END

/* void rt_enter(struct thread *) */
ENGINE_FUNC(rt_enter)
	PUSH_REG %rbx
	PUSH_REG %rbp
	PUSH_REG %r12
	PUSH_REG %r13
	PUSH_REG %r14
	PUSH_REG %r15
	mov %rsp, T(T_ENGINE_SP)
FUNC(rt_enter_check) /* a signal from here to rt_enter_end goes to rt_enter_abort */
	cmpl $0, T(T_PENDING)
	jne rt_enter_abort
	cmpl $0, T(T_STOP)
	jne rt_enter_abort
	push T(T_FLAGS)
	.cfi_adjust_cfa_offset 8
	popf
	.cfi_adjust_cfa_offset -8
	mov REG(0), %rax
	mov REG(1), %rcx
	mov REG(2), %rdx
	mov REG(3), %rbx
	mov REG(5), %rbp
	mov REG(6), %rsi
	mov REG(7), %rdi
	mov REG(8), %r8
	mov REG(9), %r9
	mov REG(10), %r10
	mov REG(11), %r11
	mov REG(12), %r12
	mov REG(13), %r13
	mov REG(14), %r14
	mov REG(15), %r15
	mov REG(4), %rsp
	END
	jmp *T(T_TARGET)
.globl rt_enter_end
rt_enter_end:
FUNC(rt_enter_abort)
	mov T(T_ENGINE_SP), %rsp
	.cfi_startproc
	SAVED_BY_RT_ENTER
	movq $EXIT_SIGNAL, T(T_EXIT_LINK)
	jmp 1f
	END

FUNC(rt_exit)
	mov %rsp, REG(4)
	mov %rax, REG(0)
	mov %rcx, REG(1)
	mov %rdx, REG(2)
	mov %rbx, REG(3)
	mov %rbp, REG(5)
	mov %rsi, REG(6)
	mov %rdi, REG(7)
	mov %r8, REG(8)
	mov %r9, REG(9)
	mov %r10, REG(10)
	mov %r11, REG(11)
	mov %r12, REG(12)
	mov %r13, REG(13)
	mov %r14, REG(14)
	mov %r15, REG(15)
	mov T(T_ENGINE_SP), %rsp
	.cfi_startproc
	SAVED_BY_RT_ENTER
	pushf
	.cfi_adjust_cfa_offset 8
	popq T(T_FLAGS)
	.cfi_adjust_cfa_offset -8
	testl $0x44500, T(T_FLAGS) /* AC, NT, DF, TF: popf takes long */
	jz 1f
	PLAIN_FLAGS
1:	POP_REG %r15
	POP_REG %r14
	POP_REG %r13
	POP_REG %r12
	POP_REG %rbp
	POP_REG %rbx
	ret
	END

/*
 * Indirect targets. The program's address is in rcx, rcx's and rax's values in their spills; eax is the address +
 * the site's number. Finds the code in the thread's near table, by the low 16 bits of that, and counts the
 * pair; behind that in the tables that all threads share. jrcxz and lea leave the flags alone.
 */
.globl rt_ibl_begin
rt_ibl_begin:

/* Looks rcx up in the table at \table: mask, then slots with pointers to {address, code}. Falls through
 * if it is not there. */
.macro PROBE table, found
	mov \table(%rip), %rdx
	mov %rcx, %rax
	shr $TABLE_NEAR, %rax
	imul $TABLE_FACTOR, %rax, %rax
	shr $TABLE_SHIFT - TABLE_LINE, %rax
	and $-(1 << TABLE_LINE), %rax
	mov %ecx, %ebx
	shr $TABLE_NEAR - TABLE_LINE, %ebx
	and $(1 << TABLE_LINE) - 1, %ebx
	or %rbx, %rax
1:	and (%rdx), %rax
	mov 8(%rdx,%rax,8), %rbx
	shl $16, %rbx /* the entry without its tag */
	shr $16, %rbx
	jz 2f
	cmp %rcx, (%rbx)
	je \found
	inc %rax
	jmp 1b
2:
.endm

.macro SPILL_FLAGS
	mov %rbx, SPILL(3)
	lahf
	seto %al
	mov %rax, T(T_FLAGS_SPILL)
.endm

.macro RESTORE
	mov SPILL(0), %rax
	mov SPILL(1), %rcx
	mov SPILL(2), %rdx
.endm

/* eax: to the slot of the near table, in units of 8 bytes; rcx: zero if it is the address's. */
.macro NEAR
	mov %rdx, SPILL(2)
	movzwl %ax, %eax
	lea 0(,%rax,4), %eax
	lea rt_context(%rip), %rdx
	mov %gs:T_NEAR(%rdx,%rax,8), %rdx
	lea NEAR_BIAS(%rcx,%rdx), %rcx
.endm

/* The pair is found: its code to rcx, and rdx for COUNT. */
.macro CODE
	lea rt_context(%rip), %rdx
	mov %gs:T_NEAR_CODE(%rdx,%rax,8), %rcx
.endm

.macro COUNT
	mov %gs:T_NEAR_COUNT(%rdx,%rax,8), %rcx
	lea 1(%rcx), %rcx
	mov %rcx, %gs:T_NEAR_COUNT(%rdx,%rax,8)
.endm

/* Reached from NEAR if the pair was not found: rcx is the address again, the flags are spilled, and
 * the site's number is in T_SITE. */
.macro MISSED
	not %rdx
	lea (1 - NEAR_BIAS)(%rcx,%rdx), %rcx
	mov %eax, %edx
	SPILL_FLAGS
	shr $2, %edx
	sub %ecx, %edx
	movzwl %dx, %edx
	mov %rdx, T(T_SITE)
.endm

/* The same for sites that have no slots: eax is the number. */
.macro FAR
	mov %rdx, SPILL(2)
	mov %eax, %edx
	SPILL_FLAGS
	mov %rdx, T(T_SITE)
.endm

/* The code's slot is in rbx. Finds the pair, counts it, and puts it into the near table; the code is in T_TARGET then,
 * flags and rbx are restored. Falls through if there is no such pair. */
.macro PAIR found
	mov 8(%rbx), %rdx
	mov %rdx, T(T_TARGET)
	mov %rsi, SPILL(6)
	mov T(T_SITE), %rsi
	mov rt_pairs(%rip), %rdx
	lea (%rcx,%rsi), %rax
1:	and (%rdx), %rax
	mov 8(%rdx,%rax,8), %rbx
	test %rbx, %rbx
	jz 4f
	cmp %rcx, (%rbx)
	jne 2f
	cmp %rsi, 8(%rbx)
	je 3f
2:	inc %rax
	jmp 1b
3:	mov 16(%rbx), %rbx
	lea rt_context(%rip), %rdx
	incq %gs:(T_PAIRS - 8)(%rdx,%rbx,8)
	cmp $NEAR_SITES, %rsi
	jae 5f
	lea (%rcx,%rsi), %eax
	movzwl %ax, %eax
	shl $T_NEAR_SHIFT, %eax
	add %rdx, %rax
	mov %gs:T_NEAR_PAIR(%rax), %rsi
	test %rsi, %rsi
	jz 6f
	lea (%rdx,%rsi,8), %rdx
	mov %gs:T_NEAR_COUNT(%rax), %rsi
	add %rsi, %gs:(T_PAIRS - 8)(%rdx)
6:	movq $0, %gs:T_NEAR_COUNT(%rax)
	mov %rbx, %gs:T_NEAR_PAIR(%rax)
	lea NEAR_BIAS(%rcx), %rbx
	neg %rbx
	mov %rbx, %gs:T_NEAR(%rax)
	mov T(T_TARGET), %rdx
	mov %rdx, %gs:T_NEAR_CODE(%rax)
5:	mov T(T_FLAGS_SPILL), %rax
	add $0x7f, %al
	sahf
	mov SPILL(3), %rbx
	mov SPILL(6), %rsi
	jmp \found
4:	mov SPILL(6), %rsi
.endm

/* ret: the stack's slot is to hold the code, for a return that the CPU has predicted. */
FUNC(rt_ibl_ret)
	NEAR
	jrcxz 1f
	jmp 2f
1:	CODE
	mov %rcx, (%rsp)
	COUNT
	RESTORE
	ret
2:	MISSED
ret_missed:
	PROBE rt_returns, ret_known
	PROBE rt_blocks, ret_known
	lea 8(%rsp), %rsp
	jmp unknown
ret_known:
	PAIR ret_found
	lea 8(%rsp), %rsp
	jmp unknown
ret_found:
	mov T(T_TARGET), %rdx
	mov %rdx, (%rsp)
	RESTORE
	ret

FUNC(rt_ibl_far_ret)
	FAR
	jmp ret_missed

FUNC(rt_ibl_jump)
	NEAR
	jrcxz 1f
	jmp rt_ibl_jump_miss
1:	CODE
	mov %rcx, T(T_TARGET)
	COUNT
	RESTORE
	jmp *T(T_TARGET)

FUNC(rt_ibl_jump_miss)
	MISSED
jump_missed:
	PROBE rt_blocks, jump_known
	jmp unknown
jump_known:
	PAIR jump_found
	jmp unknown
jump_found:
	RESTORE
	jmp *T(T_TARGET)

FUNC(rt_ibl_far_jump)
	FAR
	jmp jump_missed

/*
 * Used without counts: the address is in rcx, and the values of rcx and rax are in their spill
 * slots. The code that is found is put into the direct table by an exchange, because the load
 * behind it must not be done earlier.
 */
/* entered by way of a check: the address is rcx plus what rax was subtracted from */
FUNC(rt_direct_wrong)
	not %rax
	lea 1(%rcx,%rax), %rcx
	jmp rt_direct_none
FUNC(rt_direct_none)
	mov %rdx, SPILL(2)
	SPILL_FLAGS
	PROBE rt_returns, direct_known
	jmp unknown
direct_known:
	mov 8(%rbx), %rdx
	mov %rdx, T(T_TARGET)
	mov rt_direct(%rip), %rax
	shr $3, %rax
	mov %cx, %ax
	xchg %rdx, (,%rax,8)
	cmp %rcx, (%rbx)
	jne 1f
	mov T(T_FLAGS_SPILL), %rax
	add $0x7f, %al
	sahf
	mov SPILL(3), %rbx
	mov SPILL(2), %rdx
	jmp *T(T_TARGET)
1:	lea rt_direct_none(%rip), %rdx
	mov %rdx, (,%rax,8)
	jmp unknown

/* The same without looking: for code that changes all the time, whose every instruction comes back. */
FUNC(rt_once_ret)
	lea 8(%rsp), %rsp
	jmp rt_once_jump
FUNC(rt_once_jump)
	mov %rcx, T(T_PC)
	mov SPILL(1), %rcx
	movq $EXIT_INDIRECT, T(T_EXIT_LINK)
	jmp rt_exit

.globl rt_ibl_end
rt_ibl_end:
unknown:
	mov %rcx, T(T_PC)
	mov T(T_FLAGS_SPILL), %rax
	add $0x7f, %al
	sahf
	mov SPILL(3), %rbx
	mov SPILL(0), %rax
	mov SPILL(1), %rcx
	mov SPILL(2), %rdx
	movq $EXIT_INDIRECT, T(T_EXIT_LINK)
	jmp rt_exit

/* long rt_syscall(struct thread *) */
ENGINE_FUNC(rt_syscall)
	PUSH_REG %rbx
	mov REG(0), %rax
	mov REG(7), %rdi
	mov REG(6), %rsi
	mov REG(2), %rdx
	mov REG(10), %r10
	mov REG(8), %r8
	mov REG(9), %r9
/* a signal from here to the instruction, itself included, goes to rt_syscall_restart */
.globl rt_syscall_begin
rt_syscall_begin:
	cmpl $0, T(T_PENDING)
	jne rt_syscall_restart
.globl rt_syscall_insn
rt_syscall_insn:
	syscall
	.cfi_remember_state
	POP_REG %rbx
	ret
	.cfi_restore_state
.globl rt_syscall_restart
rt_syscall_restart:
	mov $-512, %rax
	POP_REG %rbx
	ret
	END

/* bool rt_copy(void *to, const void *from, size_t n): in words, where a string instruction takes longer to begin */
ENGINE_FUNC(rt_copy)
	mov %rdx, %rcx
	cmp $256, %rdx
.globl rt_copy_begin
rt_copy_begin:
	ja 4f
	sub $8, %rcx
	jb 2f
1:	mov (%rsi), %rax
	mov %rax, (%rdi)
	add $8, %rsi
	add $8, %rdi
	sub $8, %rcx
	jae 1b
2:	add $8, %rcx
	jz rt_copy_end
3:	mov (%rsi), %al
	mov %al, (%rdi)
	inc %rsi
	inc %rdi
	dec %rcx
	jnz 3b
	jmp rt_copy_end
4:	rep movsb
.globl rt_copy_end
rt_copy_end:
	mov $1, %eax
	ret
.globl rt_copy_failed
rt_copy_failed:
	xor %eax, %eax
	ret
	END

ENGINE_FUNC(rt_on_signal)
	PLAIN_FLAGS
	jmp on_signal
	END

/* The information begins a byte early, because return addresses are looked up by the byte before. */
	.balign 16
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, (160 & 0x7f) | 0x80, 160 >> 7, 0x06 /* CFA: the stack pointer that the kernel saved */
	INTERRUPTED 16, 168 /* rip */
	INTERRUPTED 6, 120  /* rbp */
	INTERRUPTED 3, 128  /* rbx */
	INTERRUPTED 12, 72
	INTERRUPTED 13, 80
	INTERRUPTED 14, 88
	INTERRUPTED 15, 96
	nop
.globl rt_sigreturn
.type rt_sigreturn, @function
rt_sigreturn:
	mov $15, %eax
	syscall
	hlt
	END

/* void rt_call_on(uint64_t sp, void (*f)(void *), void *arg) */
ENGINE_FUNC(rt_call_on)
	NO_CALLER
	mov %rdi, %rsp
	mov %rdx, %rdi
	xor %ebp, %ebp
	call *%rsi
	hlt
	END

/* long rt_clone(nr, a, b, c, d, e, child_sp, f, arg): child_sp, f, arg are on the stack */
ENGINE_FUNC(rt_clone)
	PUSH_REG %rbx
	PUSH_REG %r12
	PUSH_REG %r13
	mov 32(%rsp), %rbx
	mov 40(%rsp), %r12
	mov 48(%rsp), %r13
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsi
	mov %rcx, %rdx
	mov %r8, %r10
	mov %r9, %r8
	syscall
	test %rax, %rax
	jz 1f
	.cfi_remember_state
	POP_REG %r13
	POP_REG %r12
	POP_REG %rbx
	ret
	.cfi_restore_state
1:	NO_CALLER
	test %rbx, %rbx
	jz 2f
	mov %rbx, %rsp
2:	mov %r13, %rdi
	xor %ebp, %ebp
	and $-16, %rsp
	call *%r12
	hlt
	END

ENGINE_FUNC(rt_save_xmm)
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups %xmm\n, (16 * \n)(%rdi)
	.endr
	ret
	END
ENGINE_FUNC(rt_load_xmm)
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups (16 * \n)(%rdi), %xmm\n
	.endr
	ret
	END

	.section .note.GNU-stack,"",@progbits
