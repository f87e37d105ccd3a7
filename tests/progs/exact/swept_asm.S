/* SPDX-License-Identifier: MIT */
/*
 * What swept.c interrupts at every instruction: procedures that return a checksum of all they went through. The
 * registers r12 to r15, rbx and rbp are saved by PROLOGUE.
 */
	.text

.macro FUNC name
	.globl \name
	.type \name, @function
	.balign 16
\name:
.endm

.macro PROLOGUE
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov $1, %r15
.endm

.macro EPILOGUE
	mov %r15, %rax
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
.endm

/* r15 takes in another value. Changes flags. */
.macro MIX value
	xor \value, %r15
	imul $0x5bd1e995, %r15, %r15
	ror $13, %r15
.endm

/* The same, and the flags stay as they are. */
.macro MIX_QUIETLY value
	lea 3(%r15,\value), %r15
	lea (%r15,%r15,4), %r15
	bswap %r15
.endm

/* Calls, returns and jumps of each kind. */
FUNC swept_calls
	PROLOGUE
	mov $3, %ebx
1:	call leaf
	MIX %rax
	lea leaf(%rip), %rcx
	call *%rcx
	MIX %rax
	call *pointers(%rip)
	MIX %rax
	mov %rbx, %rcx
	and $3, %ecx
	lea pointers(%rip), %rdx
	call *(%rdx,%rcx,8)
	MIX %rax
	push $5
	push $7
	call popping
	MIX %rax
	call 2f /* the address of the code itself */
2:	pop %rax
	lea 2b(%rip), %rcx
	sub %rcx, %rax
	MIX %rax
	lea 3f(%rip), %rax /* a return to where no call was */
	push %rax
	ret
3:	lea 4f(%rip), %rax
	jmp *%rax
	ud2
4:	mov %rbx, %rcx
	jrcxz 6f
	mov $3, %ecx
5:	MIX_QUIETLY %rcx
	loop 5b
6:	call tail
	MIX %rax
	push %r15
	call *leaf_at(%rip)
	pop %rcx
	MIX %rax
	MIX %rcx
	dec %rbx
	jnz 1b
	EPILOGUE

leaf:	lea 17(%r15), %rax
	ret
tail:	mov %r15, %rax
	not %rax
	jmp other
other:	add $9, %rax
	jmp *pointer_of_last(%rip)
last:	ret
popping:
	mov 8(%rsp), %rax
	imul 16(%rsp), %rax
	ret $16
	.section .data.rel.ro, "aw"
	.balign 8
pointers:
	.quad leaf, tail, other, leaf
leaf_at:
	.quad leaf
pointer_of_last:
	.quad last
	.text

/* Flags that stay live over jumps, calls and instructions that keep some of them. */
FUNC swept_flags
	PROLOGUE
	mov $4, %ebx
1:	mov %r15, %rax
	add %rbx, %rax /* carry from here on */
	mov $-1, %rcx
	adc %rcx, %rcx
	jmp 2f
2:	adc $0x70, %al
	call keeps
	adc %rax, %rcx
	seto %dl
	setp %dh
	movzwl %dx, %edx
	jc 3f
	lea 5(%rcx), %rcx
3:	sbb %rsi, %rsi
	MIX %rcx
	MIX %rdx
	MIX %rsi
	mov %r15d, %eax
	shl $1, %eax
	inc %edx /* keeps the carry */
	rcl $3, %rax
	dec %edx
	cmovc %rax, %rdx
	setz %cl
	lahf
	push %rax
	xor %eax, %eax
	pop %rax
	sahf
	cmovs %rdx, %rax
	MIX %rax
	MIX %rdx
	cmp $2, %rbx
	mov $0, %eax
	mov $77, %edx
	cmova %rdx, %rax
	ja 4f
	add $3, %rax
4:	MIX %rax
	dec %rbx
	jnz 1b
	EPILOGUE
keeps:	lea 1(%rax), %rax
	push %rax
	pop %rax
	ret

/* String instructions, forwards, backwards and empty, with each prefix. */
FUNC swept_strings
	PROLOGUE
	mov $2, %ebx
1:	lea from(%rip), %rdi
	mov $40, %ecx
	mov %ebx, %eax
	rep stosb
	lea from(%rip), %rsi
	sub %rsi, %rdi
	MIX %rdi
	lea to(%rip), %rdi
	mov $5, %ecx
	rep movsq
	MIX %rcx
	std
	lea from + 39(%rip), %rsi
	lea to + 40(%rip), %rdi
	mov $24, %ecx
	rep movsb
	cld
	MIX %rcx
	lea to(%rip), %rdi
	mov $41, %ecx
	mov $99, %eax
	repne scasb
	setnz %al
	movzbl %al, %eax
	MIX %rax
	MIX %rcx
	movb $3, to + 20(%rip)
	lea from(%rip), %rsi
	lea to(%rip), %rdi
	mov $40, %ecx
	repe cmpsb
	seta %al
	movzbl %al, %eax
	MIX %rax
	MIX %rcx
	xor %ecx, %ecx
	rep movsb
	lea from(%rip), %rsi
	lodsq
	MIX %rax
	mov to + 16(%rip), %rax
	MIX %rax
	dec %rbx
	jnz 1b
	EPILOGUE
	.bss
	.balign 16
from:	.zero 64
to:	.zero 64
	.text

/* The direction flag is set while system calls are made. */
FUNC swept_backwards
	PROLOGUE
	std
	mov $39, %eax /* getpid */
	syscall
	mov %rax, %rbx
	lea from + 16(%rip), %rdi
	mov $0x55, %eax
	stosb
	stosb
	mov $39, %eax
	syscall
	sub %rbx, %rax
	MIX %rax
	movb $7, 1(%rdi)
	lea from + 15(%rip), %rsi
	lodsb
	sub %rsi, %rdi
	cld
	MIX %rdi
	movzbl %al, %eax
	MIX %rax
	EPILOGUE

/* Memory: the area below the stack pointer, operands relative to rip and rsp, atomic instructions, another stack. */
FUNC swept_memory
	PROLOGUE
	mov $3, %ebx
1:	mov %r15, -8(%rsp)
	mov %rbx, -120(%rsp)
	movq $11, -128(%rsp)
	addq $7, -8(%rsp)
	mov -8(%rsp), %rax
	xor -120(%rsp), %rax
	add -128(%rsp), %rax
	MIX %rax
	push %r15
	push %rbx
	xchg %rax, (%rsp)
	pop 0(%rsp) /* over the word above */
	pop %rcx
	MIX %rcx
	enter $32, $0
	mov %r15, -16(%rbp)
	mov -16(%rbp), %rdx
	leave
	MIX %rdx
	mov $21, %eax
	mov %eax, word(%rip)
	mov $22, %ecx
	lock cmpxchg %rcx, word(%rip)
	setz %al
	lock xadd %rcx, word(%rip)
	movzbl %al, %eax
	MIX %rax
	MIX %rcx
	addq $0x12345, word(%rip)
	mov word(%rip), %rdx
	MIX %rdx
	mov %rsp, %rbp
	lea stack_end(%rip), %rsp
	push %r15
	call leaf
	pop %rcx
	mov %rbp, %rsp
	MIX %rax
	MIX %rcx
	dec %rbx
	jnz 1b
	EPILOGUE
	.bss
	.balign 64
word:	.zero 8
	.zero 32768
stack_end:
	.zero 64
	.text

/* Vector and x87 registers, their control words among them. */
FUNC swept_vectors
	PROLOGUE
	mov $2, %ebx
	stmxcsr mxcsr(%rip)
	fnstcw control(%rip)
1:	mov $3, %ecx
	movq %rcx, %xmm0
	pshufd $0, %xmm0, %xmm1
	cvtsi2sd %r15d, %xmm2
	movdqa %xmm1, %xmm15
	paddd %xmm1, %xmm15
	mov mxcsr(%rip), %eax
	or $0x6000, %eax /* rounds towards zero */
	mov %eax, other_mxcsr(%rip)
	ldmxcsr other_mxcsr(%rip)
	mov $7, %eax
	cvtsi2sd %eax, %xmm3
	divsd %xmm3, %xmm2
	movq %xmm2, %rax
	MIX %rax
	ldmxcsr mxcsr(%rip)
	movq %xmm15, %rax
	MIX %rax
	movzwl control(%rip), %eax
	or $0xc00, %eax
	mov %ax, other_control(%rip)
	fldcw other_control(%rip)
	fldpi
	fldl2e
	fld1
	faddp
	fld %st(0)
	fmul %st(2), %st
	fxch
	fxam
	fnstsw %ax
	movzwl %ax, %eax
	MIX %rax
	frndint
	fistpll integer(%rip)
	mov integer(%rip), %rax
	MIX %rax
	fistpll integer(%rip)
	mov integer(%rip), %rax
	MIX %rax
	fistpll integer(%rip)
	mov integer(%rip), %rax
	MIX %rax
	fldcw control(%rip)
	dec %rbx
	jnz 1b
	EPILOGUE
	.bss
	.balign 8
integer:
	.zero 8
mxcsr:	.zero 4
other_mxcsr:
	.zero 4
control:
	.zero 2
other_control:
	.zero 2
	.text

/* The upper halves of vector registers. */
FUNC swept_ymm
	PROLOGUE
	mov $77, %eax
	movq %rax, %xmm5
	vpbroadcastq %xmm5, %ymm5
	vpaddq %ymm5, %ymm5, %ymm14
	vpxor %ymm0, %ymm0, %ymm0
	vpsubq %ymm14, %ymm0, %ymm7
	nop
	vextracti128 $1, %ymm7, %xmm1
	vmovq %xmm1, %rax
	MIX %rax
	vpextrq $1, %xmm14, %rax
	MIX %rax
	vextracti128 $1, %ymm5, %xmm2
	vpextrq $1, %xmm2, %rax
	MIX %rax
	vzeroupper
	EPILOGUE

FUNC swept_zmm
	PROLOGUE
	mov $77, %eax
	vpbroadcastq %rax, %zmm17
	vpaddq %zmm17, %zmm17, %zmm31
	mov $0x5a, %eax
	kmovw %eax, %k3
	vpaddq %zmm31, %zmm31, %zmm31{%k3}
	nop
	vextracti64x4 $1, %zmm31, %ymm1
	vextracti128 $1, %ymm1, %xmm1
	vmovq %xmm1, %rax
	MIX %rax
	kmovw %k3, %eax
	MIX %rax
	vextracti64x4 $1, %zmm17, %ymm1
	vmovq %xmm1, %rax
	MIX %rax
	vzeroupper
	EPILOGUE

	.section .note.GNU-stack, "", @progbits
