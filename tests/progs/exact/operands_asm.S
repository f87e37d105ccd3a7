/* SPDX-License-Identifier: MIT */
/*
 * Operands relative to the instruction's own address, in all the kinds of instructions that have them, and
 * instructions that a translator may get wrong. M is somewhere in operands[].
 */
	.include "table.inc"
	.set M, operands

/* R name; instructions; E: registers, flags and operands[] are the result. E MASK: of the flags only these,
 * where the instructions leave others undefined */
	.macro R name
	FN \name
	mov %rdi, %rax
	mov %rdi, %rcx
	not %rcx
	lea (%rdi,%rdi,2), %rdx
	mov %rdi, %r8
	cmp %rcx, %rdi
	.endm

	.macro E mask=0x8d5
	pushfq
	pop %r9
	and $\mask, %r9d
	rol $5, %rax
	xor %rcx, %rax
	rol $5, %rax
	xor %rdx, %rax
	rol $5, %rax
	xor %r8, %rax
	rol $12, %rax
	xor %r9, %rax
	ret
	.endm

	R load8; mov M+3(%rip), %al; E
	R load8_high; mov M+3(%rip), %ah; E
	R load16; mov M+3(%rip), %ax; E
	R load32; mov M+3(%rip), %eax; E
	R load64; mov M+3(%rip), %rax; E
	R load_zx; movzbl M+9(%rip), %eax; E
	R load_zx_from_high; movzbl %ch, %eax; E
	R load_sx; movsbq M+9(%rip), %rax; E
	R load_sxd; movslq M+9(%rip), %rax; E
	R store8; mov %cl, M+1(%rip); E
	R store8_high; mov %ch, M+1(%rip); E
	R store8_dh; mov %dh, M+1(%rip); E
	R store16; mov %cx, M+1(%rip); E
	R store32; mov %r8d, M+1(%rip); E
	R store64; mov %r8, M+1(%rip); E
	R store_imm8; movb $0x5a, M+5(%rip); E
	R store_imm16; movw $0x5a5b, M+5(%rip); E
	R store_imm32; movl $0x5a5b5c5d, M+5(%rip); E
	R store_imm64; movq $-7, M+5(%rip); E
	R add_to; addl $0x12345678, M+8(%rip); E
	R add_to_sx; addq $-3, M+8(%rip); E
	R adc_to; adcq $5, M+8(%rip); E
	R sbb_from; sbb M+8(%rip), %rax; E
	R and_high; and M+8(%rip), %ah; E 0x8c5
	R or_high; or %ah, M+8(%rip); E 0x8c5
	R xor_8; xorb $0x77, M+8(%rip); E 0x8c5
	R cmp_imm; cmpl $0x5f3a15f0, M+8(%rip); E
	R cmp_16; cmpw $0x1234, M+8(%rip); E
	R test_imm; testl $0x00ff00ff, M+8(%rip); E 0x8c5
	R test_8; testb $0x10, M+8(%rip); E 0x8c5
	R not_it; notq M+8(%rip); E
	R neg_it; negl M+8(%rip); E
	R inc_it; incb M+8(%rip); E
	R dec_it; decw M+8(%rip); E
	R mul_it; mulq M+8(%rip); E 0x801
	R imul_it; imulq M+8(%rip); E 0x801
	R imul_two; imul M+8(%rip), %rcx; E 0x801
	R imul_three; imul $1234567, M+8(%rip), %rcx; E 0x801
	R imul_three_8; imul $-5, M+8(%rip), %ecx; E 0x801
	R shl_it; shlq $7, M+8(%rip); E 0x0c5
	R shl_one; shlq M+8(%rip); E 0x8c5
	R shr_cl; shrl %cl, M+8(%rip); E 0x0c5
	R rcl_it; rclq $3, M+8(%rip); E 0x0d5
	R shld_imm; shld $9, %rcx, M+8(%rip); E 0x0c5
	R shrd_cl; shrd %cl, %rdx, M+8(%rip); E 0x0c5
	R bt_imm; btq $33, M+8(%rip); E 0x041
	R bts_imm; btsq $33, M+8(%rip); E 0x041
	R lock_add; lock addq $9, M+16(%rip); E
	R lock_inc; lock incl M+16(%rip); E
	R lock_or; lock orb $9, M+16(%rip); E 0x8c5
	R xadd_it; xadd %rcx, M+16(%rip); E
	R lock_xadd; lock xadd %ecx, M+16(%rip); E
	R xchg_it; xchg %rcx, M+16(%rip); E
	R xchg_high; xchg %ch, M+16(%rip); E
	R cmpxchg_it; cmpxchg %rcx, M+16(%rip); E
	R lock_cmpxchg8; lock cmpxchg %cl, M+16(%rip); E
	R lock_bts; lock btsl $5, M+16(%rip); E 0x041
	R push_it; pushq M+16(%rip); pop %rcx; E
	R push_16; pushw M+16(%rip); popw %cx; E
	R pop_to; push %rcx; popq M+16(%rip); E
	R cmov_from; cmovb M+16(%rip), %rcx; E
	R set_it; setae M+16(%rip); E
	R movbe_from; movbe M+16(%rip), %rcx; E
	R movbe_to; movbe %rcx, M+16(%rip); E
	R movnti_to; movnti %rcx, M+16(%rip); E
	R popcnt_it; popcnt M+16(%rip), %rcx; E
	R bsf_it; bsf M+16(%rip), %rcx; E 0x040
	R bsr_it; bsr M+16(%rip), %rcx; E 0x040
	R tzcnt_it; tzcnt M+16(%rip), %ecx; E 0x041
	R lzcnt_it; lzcnt M+16(%rip), %rcx; E 0x041
	R crc_it; crc32q M+16(%rip), %rcx; E
	R crc_8; crc32b M+16(%rip), %ecx; E
	R sse_load; movups M+32(%rip), %xmm3; movups %xmm3, M+80(%rip); E
	R sse_load_aligned; movaps M+32(%rip), %xmm9; movaps %xmm9, M+80(%rip); E
	R sse_scalar; movsd M+32(%rip), %xmm3; cvttsd2si %xmm3, %rcx; E
	R sse_convert; cvtsi2sdq M+32(%rip), %xmm3; movq %xmm3, %rcx; E
	R sse_add; movups M+32(%rip), %xmm3; paddd M+48(%rip), %xmm3; movups %xmm3, M+80(%rip); E
	R sse_shuffle; pshufd $0x1b, M+32(%rip), %xmm3; movups %xmm3, M+80(%rip); E
	R sse_insert; pxor %xmm3, %xmm3; pinsrw $3, M+32(%rip), %xmm3; movups %xmm3, M+80(%rip); E
	R sse_extract; movups M+32(%rip), %xmm3; pextrq $1, %xmm3, M+80(%rip); E
	R sse_align; movups M+32(%rip), %xmm3; palignr $5, M+48(%rip), %xmm3; movups %xmm3, M+80(%rip); E
	R sse_compare; pxor %xmm3, %xmm3; ucomisd M+32(%rip), %xmm3; E
	R sse_string; movups M+32(%rip), %xmm3; pcmpistri $0, M+48(%rip), %xmm3; E
	R sse_low_high; movhps M+32(%rip), %xmm3; movlps M+48(%rip), %xmm3; movhlps %xmm3, %xmm3; movups %xmm3, M+80(%rip); E
	R sse_nontemporal; movups M+32(%rip), %xmm3; movntdq %xmm3, M+80(%rip); E
	R aes; movups M+32(%rip), %xmm3; aesenc M+48(%rip), %xmm3; movups %xmm3, M+80(%rip); E
	R clmul; movups M+32(%rip), %xmm3; pclmulqdq $0x11, M+48(%rip), %xmm3; movups %xmm3, M+80(%rip); E
	R mmx; movq M+32(%rip), %mm3; paddb M+40(%rip), %mm3; movq %mm3, M+80(%rip); emms; E
	R x87_load; fldl one(%rip); fmuls three(%rip); fistpll M+80(%rip); E
	R x87_ext; fildq M+32(%rip); fstpt M+80(%rip); E
	R x87_control; fnstcw M+80(%rip); fldcw M+80(%rip); E
	R x87_bcd; fildl M+32(%rip); fbstp M+80(%rip); E
	R mxcsr; stmxcsr M+80(%rip); andl $0xffffffc0, M+80(%rip); ldmxcsr M+80(%rip); E
	R hints; prefetcht0 M(%rip); clflush M(%rip); prefetchw M(%rip); E

/* V name, feature; instructions; EV: where the processor has it, features[] (operands.c) */
	.macro V name, feature
	R \name
	cmpb $0, features+\feature(%rip)
	je 7f
	.endm

	.macro EV mask=0x8d5
7:	E \mask
	.endm

	.set AVX2, 0
	.set AVX512, 1
	.set BMI, 2
	V avx_load, AVX2; vmovdqu M+32(%rip), %ymm3; vpaddd M+64(%rip), %ymm3, %ymm4; vmovdqu %ymm4, M+128(%rip); EV
	V avx_scalar, AVX2; vmovsd M+32(%rip), %xmm3; vmovups %ymm3, M+128(%rip); EV
	V avx_imm, AVX2; vmovdqu M+32(%rip), %ymm3; vpalignr $3, M+64(%rip), %ymm3, %ymm4; vmovdqu %ymm4, M+128(%rip); EV
	V avx_permute, AVX2; vpermq $0x1b, M+64(%rip), %ymm4; vmovdqu %ymm4, M+128(%rip); EV
	V avx_broadcast, AVX2; vpbroadcastb M+64(%rip), %ymm14; vmovdqu %ymm14, M+128(%rip); EV
	V avx_blend, AVX2; vmovdqu M+32(%rip), %ymm3; vpblendvb %ymm3, M+64(%rip), %ymm3, %ymm4; vmovdqu %ymm4, M+128(%rip); EV
	V avx_mask, AVX2; vmovdqu M+32(%rip), %ymm3; vpmaskmovd M+64(%rip), %ymm3, %ymm4; vmovdqu %ymm4, M+128(%rip); vpmaskmovd %ymm3, %ymm3, M+160(%rip); EV
	V avx_insert, AVX2; vpxor %ymm3, %ymm3, %ymm3; vinserti128 $1, M+64(%rip), %ymm3, %ymm4; vextracti128 $1, %ymm4, M+128(%rip); EV
	V fma, AVX2; vmovsd one(%rip), %xmm1; vmovsd three8(%rip), %xmm2; vfmadd213sd three8(%rip), %xmm1, %xmm2; vmovsd %xmm2, M+128(%rip); EV
	V gather, AVX2; vpcmpeqd %ymm5, %ymm5, %ymm5; vmovdqu indices(%rip), %ymm6; lea M(%rip), %r9; vpgatherdd %ymm5, (%r9,%ymm6,2), %ymm7; vmovdqu %ymm7, M+128(%rip); EV
	V gather_q, AVX2; vpcmpeqd %ymm5, %ymm5, %ymm5; vmovdqu indices(%rip), %xmm6; lea M(%rip), %r9; vpgatherdq %ymm5, 3(%r9,%xmm6), %ymm7; vmovdqu %ymm7, M+128(%rip); EV
	V vzero, AVX2; vmovdqu M+32(%rip), %ymm3; vzeroupper; vmovdqu %ymm3, M+128(%rip); EV
	V avx512, AVX512; vmovdqu64 M(%rip), %zmm17; vpaddq M+64(%rip), %zmm17, %zmm18; vmovdqu64 %zmm18, M+128(%rip); EV
	V avx512_broadcast, AVX512; vmovdqu64 M(%rip), %zmm17; vpaddd M+64(%rip){1to16}, %zmm17, %zmm18; vmovdqu64 %zmm18, M+128(%rip); EV
	V avx512_masked, AVX512; mov $0x5555, %r9d; kmovw %r9d, %k1; vmovdqu32 M(%rip), %zmm17; vmovdqu32 M+64(%rip), %zmm17{%k1}; vmovdqu32 %zmm17, M+128(%rip){%k1}; EV
	V avx512_imm, AVX512; vmovdqu64 M(%rip), %zmm17; vpternlogq $0x96, M+64(%rip), %zmm17, %zmm17; vmovdqu64 %zmm17, M+128(%rip); EV
	V avx512_compare, AVX512; vmovdqu64 M(%rip), %zmm17; vpcmpub $1, M+64(%rip), %zmm17, %k2; kmovq %k2, M+128(%rip); EV
	V avx512_gather, AVX512; kxnorw %k1, %k1, %k1; vmovdqu64 indices(%rip), %zmm6; lea M(%rip), %r9; vpgatherdd (%r9,%zmm6), %zmm7{%k1}; vmovdqu64 %zmm7, M+128(%rip); EV
	V avx512_scatter, AVX512; kxnorw %k1, %k1, %k1; vmovdqu64 indices(%rip), %zmm6; lea M+128(%rip), %r9; vpscatterdd %zmm6, (%r9,%zmm6,4){%k1}; EV
	V avx512_compress, AVX512; mov $0xf0f0, %r9d; kmovw %r9d, %k1; vmovdqu32 M(%rip), %zmm17; vpcompressd %zmm17, M+128(%rip){%k1}; EV
	V mask_load, AVX512; kmovq M(%rip), %k3; kmovw %k3, M+128(%rip); EV
	V andn_it, BMI; andn M(%rip), %rdx, %rcx; EV 0x8c1
	V pext_it, BMI; pext M(%rip), %rdx, %rcx; EV
	V pdep_it, BMI; pdep M(%rip), %rdx, %rcx; EV
	V rorx_it, BMI; rorx $13, M(%rip), %rcx; EV
	V shlx_it, BMI; shlx %rdx, M(%rip), %rcx; EV
	V bextr_it, BMI; bextr %rdx, M(%rip), %rcx; EV 0x841
	V mulx_it, BMI; mulx M(%rip), %rcx, %r8; EV
	V adx_it, BMI; adcx M(%rip), %rcx; adox M+8(%rip), %rcx; EV

	FN divide_rip
	xor %edx, %edx
	mov %rdi, %rax
	movq $12345, M(%rip)
	divq M(%rip)
	add %rdx, %rax
	mov %rax, %r8
	mov $-100000, %eax
	cltd
	movl $-7, M(%rip)
	idivl M(%rip)
	add %rdx, %rax
	add %r8, %rax
	ret

	FN divide_16_and_8
	mov $0x1234, %eax
	mov $0, %edx
	movw $77, M(%rip)
	divw M(%rip)
	shl $16, %edx
	movzx %ax, %eax
	or %edx, %eax
	mov %eax, %r8d
	mov $0x345, %eax
	movb $29, M(%rip)
	divb M(%rip)
	movzx %ax, %eax
	add %r8, %rax
	ret

	FN cmpxchg8b_rip
	push %rbx
	mov M+16(%rip), %eax
	mov M+20(%rip), %edx
	mov %edi, %ebx
	mov $7, %ecx
	lock cmpxchg8b M+16(%rip)
	setz %cl
	lock cmpxchg8b M+16(%rip)
	setz %ch
	movzx %cx, %ecx
	shl $32, %rcx
	or %rcx, %rax
	pop %rbx
	ret

	FN cmpxchg16b_rip	/* uses all registers that a translator would like to borrow */
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	.irp r, rbp, rsi, r8, r9, r10, r11, r12, r13, r14, r15
	lea 7(%rdi), %\r
	.endr
	mov M+16(%rip), %rax
	mov M+24(%rip), %rdx
	mov %rdi, %rbx
	mov $9, %ecx
	lock cmpxchg16b M+16(%rip)
	setz %cl
	cmpxchg16b M+16(%rip)
	.irp r, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15, rbx, rcx, rdx
	imul $5, %rax, %rax
	add %\r, %rax
	.endr
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

	FN all_registers_live	/* the same with a store of each register and nothing to spare, flags live */
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	.irp r, rax, rbx, rcx, rdx, rbp, rsi, r8, r9, r10, r11, r12, r13, r14, r15
	lea 3(%rdi), %\r
	.endr
	stc
	.irp r, rax, rbx, rcx, rdx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	adc %\r, M+40(%rip)
	mov %\r, M+48(%rip)
	mov M+56(%rip), %\r
	adcb $3, M+64(%rip)
	.endr
	.irp r, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15, rbx, rcx, rdx
	imul $5, %rax, %rax
	add %\r, %rax
	.endr
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

	FN rsp_relative_to_rip	/* rsp itself loaded from, stored to and compared with memory by rip */
	mov %rsp, M+40(%rip)
	sub $64, %rsp
	cmp %rsp, M+40(%rip)
	seta %al
	movzx %al, %eax
	mov M+40(%rip), %rsp
	xchg %rsp, M+40(%rip)
	movq $0, M+40(%rip)
	ret

	FN eip_relative		/* 0x67: the address is cut to 32 bits; only its computation is used */
	lea M(%eip), %rax
	lea M(%rip), %rdx
	mov %edx, %edx
	sub %rdx, %rax
	ret

	FN code_as_data		/* its own instructions, by rip, forwards and backwards */
	mov 1f(%rip), %eax
1:	add $0x11223344, %eax
	xor 1b(%rip), %rax
	movzbl .(%rip), %edx
	add %rdx, %rax
	crc32q 1b(%rip), %rax
	ret

	FN tls_operands
	mov %rdi, %fs:op_local@tpoff
	lock addq $5, %fs:op_local@tpoff
	mov %fs:0, %rax
	mov op_local@tpoff(%rax), %rax
	mov $op_local@tpoff, %rcx
	add %fs:(%rcx), %rax
	addb $3, %fs:1(%rcx)
	add %fs:(%rcx), %rax
	ret
	.pushsection .tbss, "awT", @nobits
	.balign 8
op_local: .skip 8
	.popsection

	FN strings_rep
	push %rbx
	xor %ebx, %ebx
	cld
	lea M(%rip), %rsi
	lea M+100(%rip), %rdi
	mov $77, %ecx
	rep movsb
	lea M+10(%rip), %rdi
	mov $0x11223344, %eax
	mov $9, %ecx
	rep stosl
	add %rdi, %rbx
	sub %rsi, %rbx
	lea M(%rip), %rdi
	mov $0x44, %al
	mov $300, %ecx
	repne scasb
	lea (%rcx,%rbx,4), %rbx
	lea M(%rip), %rdi
	lea M+100(%rip), %rsi
	mov $300, %ecx
	repe cmpsb
	sete %al
	movzx %al, %eax
	lea (%rcx,%rbx,4), %rbx
	lea (%rax,%rbx,4), %rbx
	mov $0, %ecx		/* none: flags and pointers stay */
	cmp %ebx, %ebx
	repne scasb
	sete %al
	lea (%rax,%rbx,4), %rbx
	mov $3, %ecx
	lea M+20(%rip), %rsi
	rep lodsq
	lea (%rax,%rbx,4), %rbx
	lodsb
	lodsw
	stosw
	movsq
	cmpsl
	scasw
	sbb $0, %rbx
	std
	lea M+200(%rip), %rsi
	lea M+260(%rip), %rdi
	mov $17, %ecx
	rep movsq
	cld
	mov $5, %ecx
	jecxz 1f
	lea M(%rip), %rsi
	movabs $0xffffffff00000004, %rcx
1:	mov %rbx, %rax
	pop %rbx
	ret

	FN rep_large		/* over pages, forwards and overlapping */
	lea big_buffer(%rip), %rdi
	mov %dil, %al
	mov $0x5a, %al
	mov $20000, %ecx
	rep stosb
	lea big_buffer(%rip), %rsi
	lea big_buffer+1(%rip), %rdi
	movb $7, big_buffer(%rip)
	mov $19000, %ecx
	rep movsb
	movzbl big_buffer+18999(%rip), %eax
	movzbl big_buffer+19500(%rip), %edx
	shl $8, %edx
	or %edx, %eax
	ret

	FN x87_stack
	fld1
	fldpi
	fldl2e
	fmul %st(2), %st
	fxch %st(1)
	faddp
	fsqrt
	fld %st(0)
	fprem
	fcomip %st(1), %st
	setb %cl
	fstpl M(%rip)
	fstp %st(0)
	mov M(%rip), %rax
	movzx %cl, %ecx
	add %rcx, %rax
	ret

	FN fxsave_area		/* without the addresses of the last x87 instruction */
	fld1
	fldpi
	fxsave fx_area(%rip)
	fninit
	movq $0, fx_area+8(%rip)
	movq $0, fx_area+16(%rip)
	fxrstor fx_area(%rip)
	faddp
	fstpt M(%rip)
	movzwl fx_area+2(%rip), %eax
	ret

	FN xsave_area
	push %rbx
	mov $7, %eax
	xor %edx, %edx
	lea xs_area(%rip), %r8
	mov $0, %ecx
	xgetbv
	and $7, %eax
	xor %edx, %edx
	movups M+16(%rip), %xmm4
	xsave xs_area(%rip)
	pxor %xmm4, %xmm4
	xrstor xs_area(%rip)
	movups %xmm4, M+80(%rip)
	movzbl xs_area+512(%rip), %eax
	and $2, %eax
	pop %rbx
	ret

	FN bit_strings		/* bt with a register reaches memory far from its operand */
	mov $1000, %ecx
	bts %ecx, M(%rip)
	setc %al
	mov $-70, %rcx
	btc %rcx, M+100(%rip)
	adc $3, %al
	lock btr %ecx, M+100(%rip)
	adc $3, %al
	movzx %al, %eax
	ret

	FN partial_registers
	mov %rdi, %rax
	mov $5, %al
	mov $6, %ah
	add %ah, %al
	sub %al, %ah
	mov $1, %eax
	mov %ah, %cl
	movzbl %cl, %ecx
	mov %rdi, %rdx
	mov %dh, %al
	mov %al, %dh
	xchg %al, %ah
	bswap %edx
	movsbw %dl, %ax
	cwtl
	cltq
	xor %rdx, %rax
	add %rcx, %rax
	ret

	FN decimal_free		/* what 64-bit mode still has of odd instructions */
	mov %rdi, %rax
	cmp %rax, %rax
	lahf
	sahf
	cmc
	rcr $1, %rax
	cmc
	sbb %edx, %edx
	add %rdx, %rax
	cqto
	add %rdx, %rax
	ret

	.data
	.balign 64
one:	.double 1.0
three8:	.double 3.0
three:	.float 3.0
	.balign 64
indices: .long 0, 8, 3, 17, 60, 33, 21, 5, 1, 2, 4, 6, 7, 9, 10, 11
	.bss
	.balign 64
fx_area: .skip 512
	.balign 64
xs_area: .skip 4096
big_buffer: .skip 24576
	.section .note.GNU-stack,"",@progbits
