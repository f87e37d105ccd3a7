/* SPDX-License-Identifier: MIT */
#include "x86/lift_table.h"

#include <stddef.h>

static void lift_nop(struct lift *l)
{
	lift_retire(l, 0);
}

static void lift_unsupported(struct lift *l)
{
	lift_stop(l, RA_STOP_UNSUPPORTED);
}

#define M(name, fn) [ZYDIS_MNEMONIC_##name] = fn
#define CC(prefix, fn) \
	M(prefix##O, fn), M(prefix##NO, fn), M(prefix##B, fn), M(prefix##NB, fn), \
		M(prefix##Z, fn), M(prefix##NZ, fn), M(prefix##BE, fn), M(prefix##NBE, fn), \
		M(prefix##S, fn), M(prefix##NS, fn), M(prefix##P, fn), M(prefix##NP, fn), \
		M(prefix##L, fn), M(prefix##NL, fn), M(prefix##LE, fn), M(prefix##NLE, fn)

static lift_fn *const table[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	M(MOV, lift_mov),
	M(MOVZX, lift_extend),
	M(MOVSX, lift_extend),
	M(MOVSXD, lift_extend),
	M(MOVBE, lift_movbe),
	M(BSWAP, lift_bswap),
	M(LEA, lift_lea),
	M(XCHG, lift_xchg),
	M(XADD, lift_xadd),
	M(CMPXCHG, lift_cmpxchg),
	M(CMPXCHG8B, lift_cmpxchg_wide),
	M(CMPXCHG16B, lift_cmpxchg_wide),
	M(ADD, lift_alu),
	M(SUB, lift_alu),
	M(ADC, lift_alu),
	M(SBB, lift_alu),
	M(AND, lift_alu),
	M(OR, lift_alu),
	M(XOR, lift_alu),
	M(CMP, lift_compare),
	M(TEST, lift_compare),
	M(INC, lift_unary),
	M(DEC, lift_unary),
	M(NEG, lift_unary),
	M(NOT, lift_unary),
	M(SHL, lift_shift),
	M(SHR, lift_shift),
	M(SAR, lift_shift),
	M(ROL, lift_shift),
	M(ROR, lift_shift),
	M(RCL, lift_shift),
	M(RCR, lift_shift),
	M(SHLD, lift_shift),
	M(SHRD, lift_shift),
	M(SHLX, lift_three),
	M(SHRX, lift_three),
	M(SARX, lift_three),
	M(RORX, lift_three),
	M(ANDN, lift_three),
	M(BEXTR, lift_three),
	M(BZHI, lift_three),
	M(PDEP, lift_three),
	M(PEXT, lift_three),
	M(BSF, lift_count),
	M(BSR, lift_count),
	M(TZCNT, lift_count),
	M(LZCNT, lift_count),
	M(POPCNT, lift_count),
	M(BLSI, lift_count),
	M(BLSMSK, lift_count),
	M(BLSR, lift_count),
	M(ADCX, lift_adx),
	M(ADOX, lift_adx),
	M(BT, lift_bit_test),
	M(BTS, lift_bit_test),
	M(BTR, lift_bit_test),
	M(BTC, lift_bit_test),
	M(MUL, lift_mul_wide),
	M(IMUL, lift_imul),
	M(MULX, lift_mulx),
	M(DIV, lift_div),
	M(IDIV, lift_div),
	M(CRC32, lift_crc32),
	M(CBW, lift_convert),
	M(CWDE, lift_convert),
	M(CDQE, lift_convert),
	M(CWD, lift_convert),
	M(CDQ, lift_convert),
	M(CQO, lift_convert),
	CC(CMOV, lift_cmov),
	CC(SET, lift_setcc),
	CC(J, lift_jcc),
	M(LAHF, lift_lahf),
	M(SAHF, lift_sahf),
	M(CLC, lift_carry_flag),
	M(STC, lift_carry_flag),
	M(CMC, lift_carry_flag),
	M(CLD, lift_nop),
	M(STD, lift_unsupported),
	M(PUSH, lift_push),
	M(POP, lift_pop),
	M(PUSHFQ, lift_pushf),
	M(POPFQ, lift_popf),
	M(LEAVE, lift_leave),
	M(ENTER, lift_enter),
	M(CALL, lift_call),
	M(RET, lift_ret),
	M(JMP, lift_jmp),
	M(LOOP, lift_loop),
	M(LOOPE, lift_loop),
	M(LOOPNE, lift_loop),
	M(JRCXZ, lift_jrcxz),
	M(JECXZ, lift_jrcxz),
	M(MOVSB, lift_string),
	M(MOVSW, lift_string),
	M(MOVSD, lift_string),
	M(MOVSQ, lift_string),
	M(STOSB, lift_string),
	M(STOSW, lift_string),
	M(STOSD, lift_string),
	M(STOSQ, lift_string),
	M(LODSB, lift_string),
	M(LODSW, lift_string),
	M(LODSD, lift_string),
	M(LODSQ, lift_string),
	M(SCASB, lift_string),
	M(SCASW, lift_string),
	M(SCASD, lift_string),
	M(SCASQ, lift_string),
	M(CMPSB, lift_string),
	M(CMPSW, lift_string),
	M(CMPSD, lift_string),
	M(CMPSQ, lift_string),
	M(XLAT, lift_xlat),
	M(NOP, lift_nop),
	M(ENDBR64, lift_nop),
	M(ENDBR32, lift_nop),
	M(PAUSE, lift_nop),
	M(LFENCE, lift_nop),
	M(SFENCE, lift_nop),
	M(MFENCE, lift_nop),
	M(VZEROUPPER, lift_nop),
	M(VZEROALL, lift_nop),
	M(EMMS, lift_nop),
	M(CLFLUSH, lift_nop),
	M(CLFLUSHOPT, lift_nop),
	M(CLWB, lift_nop),
	M(CLDEMOTE, lift_nop),
	M(FNOP, lift_nop),
	M(FWAIT, lift_nop),
	M(RDTSC, lift_unknown_registers),
	M(RDTSCP, lift_unknown_registers),
	M(RDPID, lift_unknown_registers),
	M(CPUID, lift_unknown_registers),
	M(XGETBV, lift_unknown_registers),
	M(RDRAND, lift_unknown_registers),
	M(RDSEED, lift_unknown_registers),
	M(RDFSBASE, lift_unknown_registers),
	M(RDGSBASE, lift_unknown_registers),
	M(RDSSPQ, lift_nop),
	M(RDSSPD, lift_nop),
};

lift_fn *lift_table_find(ZydisMnemonic m)
{
	lift_fn *fn = (unsigned)m <= ZYDIS_MNEMONIC_MAX_VALUE ? table[m] : NULL;

	return fn ? fn : lift_fallback;
}

int lift_condition(ZydisMnemonic m)
{
	switch (m) {
#define C(cc, n) \
	case ZYDIS_MNEMONIC_J##cc: \
	case ZYDIS_MNEMONIC_SET##cc: \
	case ZYDIS_MNEMONIC_CMOV##cc: \
		return n;
		C(O, 0)
		C(NO, 1)
		C(B, 2)
		C(NB, 3)
		C(Z, 4)
		C(NZ, 5)
		C(BE, 6)
		C(NBE, 7)
		C(S, 8)
		C(NS, 9)
		C(P, 10)
		C(NP, 11)
		C(L, 12)
		C(NL, 13)
		C(LE, 14)
		C(NLE, 15)
#undef C
	default:
		return -1;
	}
}
