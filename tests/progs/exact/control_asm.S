/* SPDX-License-Identifier: MIT */
/* Control transfers in every form. */
	.include "table.inc"

/* rax = flags in lahf + seto form: SF ZF AF PF CF OF */
	.macro FLAGS_TO_RAX
	pushfq
	pop %rax
	and $0x8d5, %eax
	.endm

/* Flags survive what does not define them: every kind of transfer. */
	.macro SET_ALL
	mov $0x7fffffff, %ecx
	add $1, %ecx		/* OF SF AF PF */
	stc
	.endm

	FN flags_jmp
	SET_ALL
	jmp 1f
	ud2
1:	FLAGS_TO_RAX
	ret

	FN flags_jmp_register
	lea 1f(%rip), %r11
	SET_ALL
	jmp *%r11
	ud2
1:	FLAGS_TO_RAX
	ret

	FN flags_jmp_memory
	lea 1f(%rip), %r11
	mov %r11, -24(%rsp)
	SET_ALL
	jmp *-24(%rsp)
	ud2
1:	FLAGS_TO_RAX
	ret

	FN flags_call_ret
	SET_ALL
	call 1f
	FLAGS_TO_RAX
	ret
1:	ret

	FN flags_call_register
	lea 1f(%rip), %r11
	SET_ALL
	call *%r11
	FLAGS_TO_RAX
	ret
1:	ret

	FN flags_ret_imm
	push %rdi
	push %rdi
	SET_ALL
	call 1f
	FLAGS_TO_RAX
	ret
1:	ret $16

	FN flags_jcc
	xor %r8d, %r8d
	SET_ALL
	jnc 9f
	jc 1f
9:	ud2
1:	jno 9b
	jo 2f
	ud2
2:	js 3f
	ud2
3:	jl 9b			/* SF == OF */
	jge 4f
	ud2
4:	jp 5f
	ud2
5:	jbe 6f
	ud2
6:	jg 7f
	ud2
7:	FLAGS_TO_RAX
	ret

	FN flags_jrcxz
	mov $0, %r10
	SET_ALL
	mov $0, %rcx
	jrcxz 1f
	ud2
1:	FLAGS_TO_RAX
	ret

	FN flags_loop
	SET_ALL
	mov $1000, %rcx
1:	loop 1b
	FLAGS_TO_RAX
	ret

	FN flags_syscall	/* all but rcx, r11, rax survive */
	push %rbx
	mov $39, %eax
	SET_ALL
	mov $39, %eax
	syscall
	FLAGS_TO_RAX
	pop %rbx
	ret

	FN syscall_rcx_r11	/* rcx is the next instruction, r11 the flags */
	SET_ALL
	mov $39, %eax
	syscall
1:	lea 1b(%rip), %rdx
	xor %eax, %eax
	cmp %rdx, %rcx
	sete %al
	and $0x8d5, %r11d
	shl $4, %r11
	or %r11, %rax
	ret

	FN flags_lahf_page	/* a long straight run of code in which only the ends touch the flags */
	SET_ALL
	.rept 600
	lea 3(%rdi,%rdi,2), %rdi
	mov %rdi, %r8
	.endr
	FLAGS_TO_RAX
	xor %r8, %rax
	ret

	FN pushf_popf
	SET_ALL
	mov $0, %eax
	mov $200, %ecx
1:	pushfq
	xorq $0x8d5, (%rsp)
	popfq
	lahf
	rol $3, %rax
	loop 1b
	ret

	FN direction
	push %rbx
	sub $64, %rsp
	mov $0, %eax
	lea 56(%rsp), %rdi
	mov $8, %ecx
	std
	rep stosq
	lea 63(%rsp), %rdi
	mov $0x5a, %al
	mov $5, %ecx
	call 1f			/* DF stays set over transfers */
	rep stosb
	pushfq
	cld
	pop %rdx
	mov 56(%rsp), %rax
	and $0x400, %edx
	add %rdx, %rax
	add $64, %rsp
	pop %rbx
	ret
1:	jmp 2f
2:	ret

/* Where code is. */
	FN call_next		/* the address of the code, as old position-independent code has it */
	call 1f
1:	pop %rax
	lea 1b(%rip), %rdx
	sub %rdx, %rax
	ret

	FN call_next_loop
	xor %eax, %eax
	mov $10000, %ecx
1:	call 2f
2:	pop %rdx
	lea 2b(%rip), %r8
	sub %r8, %rdx
	add %rdx, %rax
	add $1, %rax
	loop 1b
	ret

	FN return_address
	call 1f
2:	ret
1:	mov (%rsp), %rax
	lea 2b(%rip), %rdx
	sub %rdx, %rax
	ret

	FN change_return_address
	call 1f
	ud2
2:	lea 5(%rdi), %rax
	ret
1:	lea 2b(%rip), %rax
	mov %rax, (%rsp)
	ret

	FN skip_after_call	/* data after the call, the callee returns behind it */
	call 1f
	.quad 0x1122334455667788
	add %rdi, %rax
	ret
1:	pop %rdx
	mov (%rdx), %rax
	add $8, %rdx
	push %rdx
	ret

	FN return_twice		/* the second address below the first */
	lea 1f(%rip), %rax
	push %rax
	call 2f
	ud2
1:	lea 9(%rdi), %rax
	ret
2:	add $8, %rsp
	ret

	FN pop_and_jump		/* a return that is not one */
	call 1f
	add $1, %rax
	ret
1:	mov %rdi, %rax
	pop %rdx
	jmp *%rdx

	FN push_ret		/* a jump by return */
	lea 1f(%rip), %rax
	push %rax
	ret
	ud2
1:	lea 7(%rdi), %rax
	ret

	FN push_ret_loop
	mov $20000, %ecx
	xor %eax, %eax
1:	lea 2f(%rip), %rdx
	lea 3f(%rip), %r8
	test $1, %cl
	cmovz %r8, %rdx
	push %rdx
	ret
2:	add $3, %rax
	loop 1b
	ret
3:	imul $3, %rax, %rax
	loop 1b
	ret

	FN ret_imm
	push %rdi
	push %rdi
	push %rdi
	mov %rsp, %r8
	call 1f
	mov %rsp, %rax
	sub %r8, %rax
	ret
1:	ret $24

	FN ret_imm_large
	mov %rsp, %r8
	sub $0x7ff8, %rsp
	call 1f
	mov %r8, %rax
	sub %rsp, %rax
	ret
1:	ret $0x7ff8

	FN ret_imm_odd		/* the stack is not always aligned */
	mov %rsp, %r8
	sub $3, %rsp
	call 1f
	mov %rsp, %rax
	sub %r8, %rax
	mov %r8, %rsp
	ret
1:	ret $3

	FN data16_ret		/* rep ret, as old compilers have it */
	call 1f
	ret
1:	lea 1(%rdi), %rax
	rep
	ret

	FN bnd_transfers	/* 0xf2 before transfers: no effect */
	call 1f
	.byte 0xf2
	jmp 3f
	ud2
3:	.byte 0xf2
	call 4f
	.byte 0xf2
	ret
1:	lea 11(%rdi), %rax
	.byte 0xf2
	ret
4:	add $4, %rax
	.byte 0xf2
	ret

	FN endbr
	endbr64
	lea 1f(%rip), %rdx
	.byte 0x3e		/* notrack */
	jmp *%rdx
1:	endbr64
	mov %rdi, %rax
	ret

/* Operands of indirect transfers. */
	FN call_registers
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	xor %r15d, %r15d
	.irp r, rax, rcx, rdx, rbx, rbp, rsi, r8, r9, r10, r11, r12, r13, r14
	lea 1f(%rip), %\r
	call *%\r
	add $1, %r15
	lea 2f(%rip), %\r
	jmp *%\r
	ud2
2:	imul $3, %r15, %r15
	.endr
	lea 1f(%rip), %r14
	mov %r15, %rax
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
1:	add %rdi, %r15
	ret

	FN call_rip_memory
	lea 1f(%rip), %rax
	mov %rax, ctl_pointer(%rip)
	mov %rdi, %rax
	call *ctl_pointer(%rip)
	lea 2f(%rip), %rdx
	mov %rdx, ctl_pointer+8(%rip)
	jmp *ctl_pointer+8(%rip)
	ud2
1:	add $10, %rax
	ret
2:	imul $5, %rax, %rax
	ret

	FN call_rsp_memory	/* the address is computed before the push */
	lea 1f(%rip), %rax
	push %rax
	lea 2f(%rip), %rax
	push %rax
	mov %rdi, %rax
	call *8(%rsp)
	call *(%rsp)
	mov $1, %ecx
	call *-8(%rsp,%rcx,8)
	lea 3f(%rip), %rdx
	mov %rdx, (%rsp)
	jmp *(%rsp)
	ud2
1:	add $1, %rax
	ret
2:	add $100, %rax
	ret
3:	add $16, %rsp
	add $10000, %rax
	ret

	FN call_pop_memory	/* call through the stack slot that the callee's frame overlays */
	lea 1f(%rip), %rax
	mov %rax, -8(%rsp)
	call *-8(%rsp)
	ret
1:	lea 3(%rdi), %rax
	ret

	FN push_rsp		/* rsp before the push */
	push %rsp
	pop %rax
	sub %rsp, %rax
	ret

	FN pop_memory_rsp	/* the address is computed after the pop */
	push %rdi
	push %rdi
	push $77
	popq 8(%rsp)
	mov 8(%rsp), %rax
	pop %rdx
	pop %rdx
	ret

	FN pop_rsp
	mov %rsp, %rdx
	push %rdx
	pop %rsp
	mov %rsp, %rax
	sub %rdx, %rax
	ret

	FN push_rsp_memory
	push %rdi
	pushq (%rsp)
	pop %rax
	pop %rdx
	ret

	FN push_forms		/* 16-bit pushes, sign extension of immediates */
	mov %rsp, %r8
	push $-5
	push $0x12345678
	pushw $0x1234
	pushw %di
	popw %ax
	popw %cx
	pop %rdx
	pop %r9
	movzx %ax, %eax
	movzx %cx, %ecx
	add %rcx, %rax
	add %rdx, %rax
	add %r9, %rax
	sub %rsp, %r8
	add %r8, %rax
	ret

	FN jump_table
	xor %eax, %eax
	xor %ecx, %ecx
	lea ctl_jumps(%rip), %r8
1:	mov %ecx, %edx
	and $7, %edx
	movslq (%r8,%rdx,4), %rdx
	add %r8, %rdx
	jmp *%rdx
	.irp i, 1,2,3,4,5,6,7,8
.Ljump_\i:
	lea \i(%rax,%rax,2), %rax
	jmp 2f
	.endr
2:	add $1, %ecx
	cmp $4000, %ecx
	jb 1b
	ret
	.pushsection .rodata
	.balign 4
ctl_jumps:
	.irp i, 1,2,3,4,5,6,7,8
	.long .Ljump_\i - ctl_jumps
	.endr
	.popsection

	FN jump_table_memory	/* jmp *table(,%rdx,8) with a pointer table */
	xor %eax, %eax
	xor %ecx, %ecx
	lea ctl_pointers(%rip), %r8
1:	mov %ecx, %edx
	and $3, %edx
	jmp *(%r8,%rdx,8)
	.irp i, 1,2,3,4
.Lpointer_\i:
	imul $(2*\i+1), %rax, %rax
	add $\i, %rax
	jmp 2f
	.endr
2:	add $1, %ecx
	cmp $4000, %ecx
	jb 1b
	ret
	.pushsection .data.rel.ro, "aw"
	.balign 8
ctl_pointers: .quad .Lpointer_1, .Lpointer_2, .Lpointer_3, .Lpointer_4
	.popsection

	FN fs_call		/* through thread-local storage */
	lea 1f(%rip), %rax
	mov %rax, %fs:ctl_tls@tpoff
	call *%fs:ctl_tls@tpoff
	ret
1:	lea 21(%rdi), %rax
	ret
	.pushsection .tbss, "awT", @nobits
	.balign 8
ctl_tls: .skip 8
	.popsection

	FN many_targets		/* more targets than an inline chain holds */
	push %rbx
	xor %eax, %eax
	mov $30000, %ecx
	mov %edi, %edx
1:	imul $1664525, %edx, %edx
	add $1013904223, %edx
	mov %edx, %ebx
	shr $22, %ebx
	shl $4, %ebx
	lea 2f(%rip), %r8
	add %rbx, %r8
	jmp *%r8
	.balign 16
2:
	.set i, 0
	.rept 1024
	add $(i*7+1), %eax
	jmp 3f
	.balign 16
	.set i, i+1
	.endr
3:	rol $1, %eax
	sub $1, %ecx
	jnz 1b
	pop %rbx
	ret

/* Conditional forms. */
	FN jrcxz_forms
	xor %eax, %eax
	mov $0x100000000, %rcx
	jecxz 1f		/* only ecx is looked at */
	ud2
1:	jrcxz 9f
	add $1, %rax
	mov $0, %ecx
	jrcxz 2f
9:	ud2
2:	add $2, %rax
	ret

	FN loops
	xor %eax, %eax
	mov $10, %ecx
1:	add $1, %rax
	cmp $5, %rax
	loopne 1b
	shl $8, %rcx
	or %rcx, %rax
	mov $10, %ecx
	mov $0, %edx
2:	add $1, %edx
	cmp %edx, %edx
	loope 2b
	shl $16, %rdx
	or %rdx, %rax
	mov $0x300000002, %rcx
3:	.byte 0x67
	loop 3b			/* ecx: two rounds, upper half cleared */
	add %rcx, %rax
	ret

	FN loop_zero		/* rcx is decremented first */
	mov $3, %ecx
	xor %eax, %eax
1:	add $1, %eax
	loop 1b
	mov %rcx, %rdx
	sub $1, %rdx
	sub %rdx, %rax
	ret

	FN all_conditions	/* each jcc near and short, each setcc and cmovcc, against all flags */
	push %rbx
	push %r12
	xor %r12d, %r12d
	xor %ebx, %ebx
1:	mov %ebx, %eax
	and $0x8d5, %eax
	push %rax
	popfq
	.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	j\cc 2f
	lea 1(%r12), %r12
2:	lea (%r12,%r12,4), %r12
	j\cc 3f
	jmp 4f
	.skip 200, 0x90
3:	lea 3(%r12), %r12
4:	set\cc %al
	movzx %al, %eax
	lea (%r12,%rax,2), %r12
	mov $7, %edx
	mov $9, %ecx
	cmov\cc %rcx, %rdx
	lea (%r12,%rdx), %r12
	.endr
	add $1, %ebx
	cmp $0x1000, %ebx
	jb 1b
	mov %r12, %rax
	pop %r12
	pop %rbx
	ret

	FN cmov_memory		/* also loads when it does not move; clears the upper half */
	mov $-1, %rax
	mov $5, %ecx
	cmp %ecx, %ecx
	cmovne ctl_pointer(%rip), %eax
	push %rdi
	cmovne (%rsp), %rdi
	pop %rdi
	add %rdi, %rax
	ret

/* Code that is not what it seems. */
	FN overlapping		/* the middle of an instruction is another one */
	xor %eax, %eax
	mov $3000, %ecx
1:	jmp 2f+2
2:	.byte 0x48, 0xb8	/* movabs $…, %rax */
	add $5, %eax		/* 3 bytes: inside the immediate */
	jmp 3f			/* 2 bytes */
	.byte 0x90, 0x90, 0x90
3:	sub $1, %ecx
	jz 4f
	test $1, %cl
	jz 1b
	mov %rax, %rdx
	jmp 2b			/* now from its beginning */
4:	mov %rdx, %rax
	add %rdi, %rax
	ret

	FN jump_into_prefix	/* with the lock prefix, and behind it */
	push %rdi
	mov $100, %ecx
1:	test $1, %cl
	jz 2f+1
2:	lock
	addq $3, (%rsp)
	sub $1, %ecx
	jnz 1b
	pop %rax
	ret

	FN nops
	mov %rdi, %rax
	nop
	.byte 0x66, 0x90
	.byte 0x0f, 0x1f, 0x00
	.byte 0x0f, 0x1f, 0x40, 0x00
	.byte 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00
	.byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	.byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 /* 15 bytes */
	.byte 0x0f, 0x1f, 0x05, 0xff, 0xff, 0xff, 0x7f	/* rip-relative, of no address that exists */
	.byte 0x0f, 0x0d, 0x05, 0xff, 0xff, 0xff, 0x7f	/* prefetchw the same */
	.byte 0x0f, 0x18, 0x0d, 0xff, 0xff, 0xff, 0x7f	/* prefetcht0 */
	.byte 0x0f, 0x19, 0x05, 0xff, 0xff, 0xff, 0x7f	/* a reserved hint */
	.byte 0xf3, 0x90	/* pause */
	.byte 0x48, 0x90
	.byte 0x66, 0x48, 0x90
	.byte 0xf3, 0x48, 0x90
	xchg %eax, %eax
	.byte 0x87, 0xc0	/* this one clears the upper half */
	add $1, %rax
	ret

	FN redundant_prefixes
	mov %rdi, %rax
	.byte 0x2e, 0x3e, 0x48, 0x83, 0xc0, 0x05	/* cs ds add $5, %rax */
	.byte 0x40, 0x48, 0x83, 0xc0, 0x05		/* two REX: the last counts */
	.byte 0x48, 0x66, 0x83, 0xc0, 0x05		/* REX before 66: ignored */
	.byte 0xf3, 0x48, 0x01, 0xf8			/* rep add */
	.byte 0x66, 0x66, 0x66, 0x83, 0xc0, 0x01
	ret

	FN branch_hints
	mov %rdi, %rax
	cmp %rax, %rax
	.byte 0x2e
	je 1f
	ud2
1:	.byte 0x3e
	jne 2f
	add $3, %rax
2:	ret

	FN enter_leave
	push %rbp
	mov %rsp, %r8
	enter $32, $0
	mov %rdi, -8(%rbp)
	enter $16, $3
	mov %rbp, %rdx
	leave
	mov -8(%rbp), %rax
	leave
	sub %rsp, %r8
	add %r8, %rax
	pop %rbp
	ret

	FN xlat
	push %rbx
	lea ctl_bytes(%rip), %rbx
	mov %rdi, %rax
	and $7, %eax
	mov $0x1234500, %edx
	or %rdx, %rax
	xlat
	pop %rbx
	ret
	.pushsection .rodata
ctl_bytes: .byte 3, 1, 4, 1, 5, 9, 2, 6
	.popsection

	FN red_zone		/* what is below rsp stays, over every kind of transfer without a push */
	lea 1f(%rip), %r8
	mov %r8, -128(%rsp)
	.set i, 1
	.rept 15
	mov %rdi, %rax
	imul $i, %rax, %rax
	mov %rax, -8*i(%rsp)
	.set i, i+1
	.endr
	mov $50, %ecx
9:	jmp *%r8
1:	cmp $3, %ecx
	jb 2f
	jmp 2f
2:	sub $1, %ecx
	jz 3f
	test $1, %cl
	jz 9b
	jmp *-128(%rsp)
3:	xor %eax, %eax
	.set i, 1
	.rept 15
	imul $3, %rax, %rax
	xor -8*i(%rsp), %rax
	.set i, i+1
	.endr
	ret

	FN red_zone_table	/* the same where a jump table and rip-relative operands need registers */
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rdi, -8(%rsp)
	mov %rdi, -120(%rsp)
	mov $1000, %ecx
	lea ctl_pointers2(%rip), %r8
	xor %eax, %eax
	.irp r, rbx, rbp, r12, r13, r14, r15, r9, r10, r11, rsi, rdi
	lea 3(%rdi), %\r
	.endr
	mov $4, %ebx
1:	mov %ecx, %edx
	and $1, %edx
	add %rdx, ctl_sum(%rip)
	jmp *(%r8,%rdx,8)
.Lrz_1:	add -8(%rsp), %rax
	jmp 2f
.Lrz_2:	xor -120(%rsp), %rax
	lock
	xadd %rax, ctl_sum(%rip)
2:	sub $1, %ecx
	jnz 1b
	.irp r, rbx, rbp, r12, r13, r14, r15, r9, r10, r11, rsi, rdi, rcx, rdx
	imul $3, %rax, %rax
	add %\r, %rax
	.endr
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.pushsection .data.rel.ro, "aw"
	.balign 8
ctl_pointers2: .quad .Lrz_1, .Lrz_2
	.popsection

	FN own_bytes		/* code reads itself: what it says in the file */
	lea ctl_own_bytes(%rip), %rsi
	mov $(1f - ctl_own_bytes), %ecx
	xor %eax, %eax
2:	movzbl (%rsi), %edx
	lea (%rax,%rax,4), %rax
	add %rdx, %rax
	inc %rsi
	loop 2b
	call 3f
3:	pop %rdx
	mov (%rdx), %rdx
	xor %rdx, %rax
1:	ret

	FN deep_calls		/* deeper than any return-address predictor or shadow stack's first page */
	mov $60000, %ecx
	xor %eax, %eax
	call 1f
	ret
1:	sub $1, %ecx
	jz 2f
	call 1b
	add $1, %rax
2:	add $1, %rax
	ret

	FN unwind_calls		/* calls that never return: the stack is cut, again and again */
	push %rbx
	push %rbp
	mov %rsp, %rbp
	mov $20000, %ebx
	xor %eax, %eax
1:	call 2f
	ud2
2:	call 3f
	ud2
3:	add $1, %eax
	mov %rbp, %rsp
	sub $1, %ebx
	jnz 1b
	pop %rbp
	pop %rbx
	ret

	FN coroutines		/* two stacks, a transfer by return in each direction */
	push %rbx
	push %rbp
	lea ctl_stack_end(%rip), %rbx
	lea 5f(%rip), %rax
	sub $8, %rbx
	mov %rax, (%rbx)
	xor %eax, %eax
	mov $20000, %ecx
1:	call 4f
	add $1, %rax
	sub $1, %ecx
	jg 1b
	pop %rbp
	pop %rbx
	ret
4:	xchg %rsp, %rbx
	ret
5:	add $2, %rax
	call 4b
	add $3, %rax
	call 4b
	jmp 5b

	FN recursion		/* fib(22) */
	push %rbx
	mov $22, %edi
	call 1f
	pop %rbx
	ret
1:	cmp $2, %edi
	jae 2f
	mov %edi, %eax
	ret
2:	push %rbx
	push %rdi
	sub $1, %edi
	call 1b
	mov %eax, %ebx
	pop %rdi
	sub $2, %edi
	call 1b
	add %ebx, %eax
	pop %rbx
	ret

	FN same_target_jcc	/* both ways to one place; a branch to the next instruction; to itself */
	mov %rdi, %rax
	mov $100, %ecx
1:	test $1, %cl
	jz 2f
2:	jmp 3f
3:	jnz 4f
	jmp 4f
4:	sub $1, %ecx
	jnz 1b
	mov $70000, %ecx
5:	loop 5b
	add %rcx, %rax
	ret

	FN far_apart		/* near branches over more than a megabyte, from code section to code section */
	mov %rdi, %rax
	mov $300, %ecx
1:	jmp 2f
	.pushsection .text.far, "ax", @progbits
	.skip 1300000, 0xcc
2:	add $1, %rax
	test $3, %cl
	jnz 3f
	.popsection
	call 4f
3:	sub $1, %ecx
	jnz 1b
	ret
	.pushsection .text.far, "ax", @progbits
	call 4f
	jmp 3b
4:	add $5, %rax
	ret
	.popsection

	FN page_crossing	/* instructions and blocks over the end of a page */
	xor %eax, %eax
	mov $200, %ecx
	jmp 1f
	.balign 4096, 0xcc
	.skip 4093, 0xcc
1:	.byte 0x48, 0x05, 1, 2, 3, 0	/* add $0x30201, %rax: over the end */
	sub $1, %ecx
	jnz 1b
	ret

	FN lots_of_code		/* 20,000 blocks, each run a few times */
	xor %eax, %eax
	mov $3, %ecx
1:	.set i, 0
	.rept 20000
	add $(i & 127), %eax
	test $(1 << (i & 3)), %al
	jz 9f
	xor $(i & 63), %eax
9:	.set i, i+1
	.endr
	sub $1, %ecx
	jnz 1b
	ret

	.text
	.bss
	.balign 16
ctl_pointer: .skip 16
ctl_sum: .skip 8
	.balign 16
ctl_stack: .skip 4096
ctl_stack_end:
	.section .note.GNU-stack,"",@progbits
