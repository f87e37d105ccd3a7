/* SPDX-License-Identifier: MIT */
/*
 * Faulting instructions, each between two labels, entered with every register and the flags as
 * faults_in says, and left with them in faults_out. The handler continues at the second label.
 *   faults_in, faults_out: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15 rflags, in the order of their numbers
 * rsp is one of them: handlers are on the alternate stack.
 */
	.text

	.macro ENTER name
	.globl fault_\name, fault_\name\()_at, fault_\name\()_next
	.type fault_\name, @function
fault_\name:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, saved_rsp(%rip)
	pushq faults_in+128(%rip)
	popfq
	mov faults_in+0(%rip), %rax
	mov faults_in+8(%rip), %rcx
	mov faults_in+16(%rip), %rdx
	mov faults_in+24(%rip), %rbx
	mov faults_in+32(%rip), %rsp
	mov faults_in+40(%rip), %rbp
	mov faults_in+48(%rip), %rsi
	mov faults_in+56(%rip), %rdi
	mov faults_in+64(%rip), %r8
	mov faults_in+72(%rip), %r9
	mov faults_in+80(%rip), %r10
	mov faults_in+88(%rip), %r11
	mov faults_in+96(%rip), %r12
	mov faults_in+104(%rip), %r13
	mov faults_in+112(%rip), %r14
	mov faults_in+120(%rip), %r15
	.endm

	.macro BEGIN name
	ENTER \name
fault_\name\()_at:
	.endm

	/* … at the beginning of a basic block */
	.macro BEGIN_BLOCK name
	ENTER \name
	jmp fault_\name\()_at
fault_\name\()_at:
	.endm

	.macro END name
fault_\name\()_next:
	jmp leave_fault
	.endm

leave_fault:
	mov %rax, faults_out+0(%rip)
	mov %rcx, faults_out+8(%rip)
	mov %rdx, faults_out+16(%rip)
	mov %rbx, faults_out+24(%rip)
	mov %rsp, faults_out+32(%rip)
	mov %rbp, faults_out+40(%rip)
	mov %rsi, faults_out+48(%rip)
	mov %rdi, faults_out+56(%rip)
	mov %r8, faults_out+64(%rip)
	mov %r9, faults_out+72(%rip)
	mov %r10, faults_out+80(%rip)
	mov %r11, faults_out+88(%rip)
	mov %r12, faults_out+96(%rip)
	mov %r13, faults_out+104(%rip)
	mov %r14, faults_out+112(%rip)
	mov %r15, faults_out+120(%rip)
	mov saved_rsp(%rip), %rsp
	pushfq
	popq faults_out+128(%rip)
	cld
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

	BEGIN load
	mov (%rbx), %rcx
	END load

	BEGIN load_ah
	mov (%rbx), %ah
	END load_ah

	BEGIN store
	mov %r10, 8(%rbx)
	END store

	BEGIN add_memory
	add %rax, (%rbx,%rcx,2)
	END add_memory

	BEGIN_BLOCK add_memory_first
	add %rax, (%rbx,%rcx,2)
	END add_memory_first

	BEGIN_BLOCK load_first
	mov (%rbx), %rcx
	add %rcx, %rdx
	END load_first

	BEGIN absolute
	mov %fs:0x7fff0000, %rax
	END absolute

	BEGIN rip_load
	mov faults_page(%rip), %rax
	END rip_load

	BEGIN rip_store_immediate
	movq $0x12345678, faults_page+16(%rip)
	END rip_store_immediate

	BEGIN rip_vector
	movups faults_page+32(%rip), %xmm3
	END rip_vector

	BEGIN rip_all_busy
	cmpxchg16b faults_page+64(%rip)
	END rip_all_busy

	BEGIN push
	push %rdi
	END push

	BEGIN push_memory
	pushq (%rbx)
	END push_memory

	BEGIN pop
	pop %r14
	END pop

	BEGIN leave
	leave
	END leave

	BEGIN call
	call leave_fault
	END call

	BEGIN call_register
	call *%r11
	END call_register

	BEGIN call_memory
	call *(%rbx)
	END call_memory

	BEGIN call_rip
	call *faults_page+8(%rip)
	END call_rip

	BEGIN jmp_memory
	jmp *8(%rbx,%rcx,8)
	END jmp_memory

	BEGIN ret
	ret
	END ret

	BEGIN call_nowhere
	call *%rbx
	END call_nowhere

	BEGIN jmp_nowhere
	jmp *%rbx
	END jmp_nowhere

	BEGIN jmp_noncanonical
	jmp *%rbx
	END jmp_noncanonical

	BEGIN ret_nowhere
	ret
	END ret_nowhere

	BEGIN noncanonical
	mov (%rbx), %rcx
	END noncanonical

	BEGIN misaligned
	movaps 8(%rbx), %xmm1
	END misaligned

	BEGIN rep_movs
	rep movsb
	END rep_movs

	BEGIN rep_stos
	rep stosq
	END rep_stos

	BEGIN bus
	mov (%rbx), %cl
	END bus

	BEGIN divide
	idivq %rbx
	END divide

	BEGIN divide_overflow
	divl %ebx
	END divide_overflow

	BEGIN ud2
	ud2
	END ud2

	BEGIN xend
	.byte 0x0f, 0x01, 0xd5
	END xend

	BEGIN undefined
	.byte 0x0f, 0x0b
	END undefined

	BEGIN bad_opcode
	.byte 0x06
	END bad_opcode

	BEGIN bad_lock
	.byte 0xf0, 0x01, 0xc0
	END bad_lock

	BEGIN int3
	int3
	END int3

	BEGIN int_3
	.byte 0xcd, 0x03
	END int_3

	BEGIN icebp
	.byte 0xf1
	END icebp

	BEGIN hlt
	hlt
	END hlt

	BEGIN in
	in %dx, %al
	END in

	BEGIN int_99
	int $0x99
	END int_99

	BEGIN second_of_block
	mov %rax, %rdx
	add %rax, %rdx
	xor %r9, %r9
	cmp %r9, %r9
	mov (%rbx), %r9
	END second_of_block

	.bss
	.balign 4096
	.globl faults_page, faults_in, faults_out
faults_page: .skip 4096
faults_in: .skip 136
faults_out: .skip 136
saved_rsp: .skip 8
	.section .note.GNU-stack,"",@progbits
