/* SPDX-License-Identifier: MIT */
/*
 * No library and no loader: what the kernel gives a program at its first instruction, then a little of
 * everything, then exit. Lists the one case "all"; with it, prints what it found; exit status 42.
 */
	.text
	.globl _start
_start:
	mov %rsp, %rbx		/* argc, argv… */
	test $15, %spl
	jz 1f
	lea bad_stack(%rip), %rsi
	call say
1:	cmpq $1, (%rbx)
	jne 2f
	lea list(%rip), %rsi	/* no arguments */
	call say
	xor %edi, %edi
	mov $60, %eax
	syscall

2:	/* general registers are zero, as the kernel leaves them */
	mov %rbp, %rax
	or %r12, %rax
	or %r13, %rax
	or %r14, %rax
	or %r15, %rax
	or %rdx, %rax
	or %r8, %rax
	or %r10, %rax
	jz 3f
	lea bad_registers(%rip), %rsi
	call say
3:	pushfq
	pop %rax
	and $0xcd5, %eax
	cmp $0, %eax
	je 4f
	cmp $0x44, %eax		/* what the comparisons above leave */
	je 4f
	lea bad_flags(%rip), %rsi
	call say
4:	sub $8, %rsp
	stmxcsr (%rsp)
	cmpl $0x1f80, (%rsp)
	jne 5f
	fnstcw (%rsp)
	cmpw $0x37f, (%rsp)
	je 6f
5:	lea bad_control(%rip), %rsi
	call say
6:	add $8, %rsp
	/* the auxiliary vector ends where the stack says */
	mov (%rbx), %rcx
	lea 16(%rbx,%rcx,8), %rsi	/* the environment */
7:	lodsq
	test %rax, %rax
	jnz 7b
	xor %r12d, %r12d
8:	lodsq
	mov %rax, %rdx
	lodsq
	test %rdx, %rdx
	jz 9f
	cmp $9, %rdx		/* AT_ENTRY */
	jne 8b
	lea _start(%rip), %rcx
	cmp %rcx, %rax
	sete %r12b
	jmp 8b
9:	test %r12d, %r12d
	jnz 10f
	lea bad_entry(%rip), %rsi
	call say
10:	/* a page of its own, code in it, a call */
	mov $9, %eax
	xor %edi, %edi
	mov $4096, %esi
	mov $7, %edx
	mov $0x22, %r10d
	mov $-1, %r8
	xor %r9d, %r9d
	syscall
	movw $0x9148, (%rax)	/* xchg %rcx, %rax; ret */
	movb $0xc3, 2(%rax)
	mov $1234, %ecx
	mov %rax, %r13
	call *%r13
	cmp $1234, %rax
	jne 11f
	/* a process without a library */
	mov $57, %eax
	syscall
	test %eax, %eax
	jnz 12f
	mov $7, %edi
	mov $231, %eax
	syscall
11:	lea bad_code(%rip), %rsi
	call say
12:	sub $16, %rsp
	mov %rax, %rdi
	mov %rsp, %rsi
	xor %edx, %edx
	xor %r10d, %r10d
	mov $61, %eax
	syscall
	cmpl $0x700, (%rsp)
	je 13f
	lea bad_child(%rip), %rsi
	call say
13:	lea ok(%rip), %rsi
	call say
	mov $42, %edi
	mov $231, %eax
	syscall
	hlt

say:	mov %rsi, %rdx
1:	cmpb $0, (%rdx)
	je 2f
	inc %rdx
	jmp 1b
2:	sub %rsi, %rdx
	mov $1, %edi
	mov $1, %eax
	syscall
	ret

	.section .rodata
list:	.asciz "all\n"
ok:	.asciz "done\n"
bad_stack: .asciz "BAD stack is not aligned\n"
bad_registers: .asciz "BAD registers\n"
bad_flags: .asciz "BAD flags\n"
bad_control: .asciz "BAD mxcsr or x87 control word\n"
bad_entry: .asciz "BAD AT_ENTRY\n"
bad_code: .asciz "BAD code\n"
bad_child: .asciz "BAD child\n"
	.section .note.GNU-stack,"",@progbits
