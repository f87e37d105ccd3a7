/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "x86/lift_simd.h"

#define M(x) ZYDIS_MNEMONIC_##x
#define PAIR(x) M(x), M(V##x)
static const struct entry {
	uint16_t mnemonic[2];
	struct simd_form f;
} entries[] = {
	{ { PAIR(MOVAPS) }, { K_MOVE, 2, 0 } },
	{ { PAIR(MOVUPS) }, { K_MOVE, 2, 0 } },
	{ { PAIR(MOVAPD) }, { K_MOVE, 3, 0 } },
	{ { PAIR(MOVUPD) }, { K_MOVE, 3, 0 } },
	{ { PAIR(MOVDQA) }, { K_MOVE, 0, 0 } },
	{ { PAIR(MOVDQU) }, { K_MOVE, 0, 0 } },
	{ { PAIR(LDDQU) }, { K_MOVE, 0, 0 } },
	{ { PAIR(MOVNTDQ) }, { K_MOVE, 0, 0 } },
	{ { PAIR(MOVNTDQA) }, { K_MOVE, 0, 0 } },
	{ { PAIR(MOVNTPS) }, { K_MOVE, 0, 0 } },
	{ { PAIR(MOVNTPD) }, { K_MOVE, 0, 0 } },
	{ { M(VMOVDQU8) }, { K_MOVE, 0, 0 } },
	{ { M(VMOVDQU16) }, { K_MOVE, 1, 0 } },
	{ { M(VMOVDQU32), M(VMOVDQA32) }, { K_MOVE, 2, 0 } },
	{ { M(VMOVDQU64), M(VMOVDQA64) }, { K_MOVE, 3, 0 } },
	{ { PAIR(MOVD) }, { K_MOVD, 2, 0 } },
	{ { PAIR(MOVQ) }, { K_MOVD, 3, 0 } },
	{ { PAIR(MOVSS) }, { K_MOVS, 2, 0 } },
	{ { PAIR(MOVSD) }, { K_MOVS, 3, 0 } },
	{ { PAIR(MOVLPS) }, { K_LOW, 0, 0 } },
	{ { PAIR(MOVLPD) }, { K_LOW, 0, 0 } },
	{ { PAIR(MOVHPS) }, { K_HIGH, 0, 0 } },
	{ { PAIR(MOVHPD) }, { K_HIGH, 0, 0 } },

	{ { PAIR(PAND) }, { K_LOGIC, 3, UV_AND } },
	{ { PAIR(PANDN) }, { K_LOGIC, 3, UV_ANDN } },
	{ { PAIR(POR) }, { K_LOGIC, 3, UV_OR } },
	{ { PAIR(PXOR) }, { K_LOGIC, 3, UV_XOR } },
	{ { PAIR(ANDPS) }, { K_LOGIC, 2, UV_AND } },
	{ { PAIR(ANDNPS) }, { K_LOGIC, 2, UV_ANDN } },
	{ { PAIR(ORPS) }, { K_LOGIC, 2, UV_OR } },
	{ { PAIR(XORPS) }, { K_LOGIC, 2, UV_XOR } },
	{ { PAIR(ANDPD) }, { K_LOGIC, 3, UV_AND } },
	{ { PAIR(ANDNPD) }, { K_LOGIC, 3, UV_ANDN } },
	{ { PAIR(ORPD) }, { K_LOGIC, 3, UV_OR } },
	{ { PAIR(XORPD) }, { K_LOGIC, 3, UV_XOR } },
	{ { M(VPANDD) }, { K_LOGIC, 2, UV_AND } },
	{ { M(VPANDND) }, { K_LOGIC, 2, UV_ANDN } },
	{ { M(VPORD) }, { K_LOGIC, 2, UV_OR } },
	{ { M(VPXORD) }, { K_LOGIC, 2, UV_XOR } },
	{ { M(VPANDQ) }, { K_LOGIC, 3, UV_AND } },
	{ { M(VPANDNQ) }, { K_LOGIC, 3, UV_ANDN } },
	{ { M(VPORQ) }, { K_LOGIC, 3, UV_OR } },
	{ { M(VPXORQ) }, { K_LOGIC, 3, UV_XOR } },
	{ { M(VPTERNLOGD) }, { K_TERNARY, 2, 0 } },
	{ { M(VPTERNLOGQ) }, { K_TERNARY, 3, 0 } },

	{ { PAIR(PADDB) }, { K_ARITH, 0, UVA_ADD } },
	{ { PAIR(PADDW) }, { K_ARITH, 1, UVA_ADD } },
	{ { PAIR(PADDD) }, { K_ARITH, 2, UVA_ADD } },
	{ { PAIR(PADDQ) }, { K_ARITH, 3, UVA_ADD } },
	{ { PAIR(PSUBB) }, { K_ARITH, 0, UVA_SUB } },
	{ { PAIR(PSUBW) }, { K_ARITH, 1, UVA_SUB } },
	{ { PAIR(PSUBD) }, { K_ARITH, 2, UVA_SUB } },
	{ { PAIR(PSUBQ) }, { K_ARITH, 3, UVA_SUB } },
	{ { PAIR(PMINUB) }, { K_ARITH, 0, UVA_MIN } },
	{ { PAIR(PMINUW) }, { K_ARITH, 1, UVA_MIN } },
	{ { PAIR(PMINUD) }, { K_ARITH, 2, UVA_MIN } },
	{ { M(VPMINUQ) }, { K_ARITH, 3, UVA_MIN } },
	{ { PAIR(PMAXUB) }, { K_ARITH, 0, UVA_MAX } },
	{ { PAIR(PMAXUW) }, { K_ARITH, 1, UVA_MAX } },
	{ { PAIR(PMAXUD) }, { K_ARITH, 2, UVA_MAX } },
	{ { M(VPMAXUQ) }, { K_ARITH, 3, UVA_MAX } },
	{ { PAIR(PMINSB) }, { K_ARITH, 0, UVA_MIN | UV_SIGNED } },
	{ { PAIR(PMINSW) }, { K_ARITH, 1, UVA_MIN | UV_SIGNED } },
	{ { PAIR(PMINSD) }, { K_ARITH, 2, UVA_MIN | UV_SIGNED } },
	{ { M(VPMINSQ) }, { K_ARITH, 3, UVA_MIN | UV_SIGNED } },
	{ { PAIR(PMAXSB) }, { K_ARITH, 0, UVA_MAX | UV_SIGNED } },
	{ { PAIR(PMAXSW) }, { K_ARITH, 1, UVA_MAX | UV_SIGNED } },
	{ { PAIR(PMAXSD) }, { K_ARITH, 2, UVA_MAX | UV_SIGNED } },
	{ { M(VPMAXSQ) }, { K_ARITH, 3, UVA_MAX | UV_SIGNED } },
	{ { PAIR(PCMPEQB) }, { K_ARITH, 0, UVA_EQ } },
	{ { PAIR(PCMPEQW) }, { K_ARITH, 1, UVA_EQ } },
	{ { PAIR(PCMPEQD) }, { K_ARITH, 2, UVA_EQ } },
	{ { PAIR(PCMPEQQ) }, { K_ARITH, 3, UVA_EQ } },
	{ { PAIR(PCMPGTB) }, { K_ARITH, 0, UVA_LT | UV_SIGNED } }, /* b < a */
	{ { PAIR(PCMPGTW) }, { K_ARITH, 1, UVA_LT | UV_SIGNED } },
	{ { PAIR(PCMPGTD) }, { K_ARITH, 2, UVA_LT | UV_SIGNED } },
	{ { PAIR(PCMPGTQ) }, { K_ARITH, 3, UVA_LT | UV_SIGNED } },
	{ { M(VPCMPB) }, { K_PCMP, 0, UV_SIGNED } },
	{ { M(VPCMPW) }, { K_PCMP, 1, UV_SIGNED } },
	{ { M(VPCMPD) }, { K_PCMP, 2, UV_SIGNED } },
	{ { M(VPCMPQ) }, { K_PCMP, 3, UV_SIGNED } },
	{ { M(VPCMPUB) }, { K_PCMP, 0, 0 } },
	{ { M(VPCMPUW) }, { K_PCMP, 1, 0 } },
	{ { M(VPCMPUD) }, { K_PCMP, 2, 0 } },
	{ { M(VPCMPUQ) }, { K_PCMP, 3, 0 } },
	{ { M(VPTESTMB) }, { K_TESTM, 0, 4 } },
	{ { M(VPTESTMW) }, { K_TESTM, 1, 4 } },
	{ { M(VPTESTMD) }, { K_TESTM, 2, 4 } },
	{ { M(VPTESTMQ) }, { K_TESTM, 3, 4 } },
	{ { M(VPTESTNMB) }, { K_TESTM, 0, 0 } },
	{ { M(VPTESTNMW) }, { K_TESTM, 1, 0 } },
	{ { M(VPTESTNMD) }, { K_TESTM, 2, 0 } },
	{ { M(VPTESTNMQ) }, { K_TESTM, 3, 0 } },

	{ { M(VPBROADCASTB) }, { K_BROADCAST, 0, 0 } },
	{ { M(VPBROADCASTW) }, { K_BROADCAST, 1, 0 } },
	{ { M(VPBROADCASTD), M(VBROADCASTSS) }, { K_BROADCAST, 2, 0 } },
	{ { M(VPBROADCASTQ), M(VBROADCASTSD) }, { K_BROADCAST, 3, 0 } },
	{ { M(VBROADCASTF128), M(VBROADCASTI128) }, { K_BROADCAST, 4, 0 } },
	{ { PAIR(PSHUFD) }, { K_SHUFFLE, 1, -1 } },
	{ { PAIR(SHUFPS) }, { K_SHUFFLE, 0, -1 } },
	{ { PAIR(SHUFPD) }, { K_SHUFPD, 0, 0 } },
	{ { PAIR(PUNPCKLBW) }, { K_INTERLEAVE, 0, 0 } },
	{ { PAIR(PUNPCKLWD) }, { K_INTERLEAVE, 1, 0 } },
	{ { PAIR(PUNPCKLDQ) }, { K_INTERLEAVE, 2, 0 } },
	{ { PAIR(UNPCKLPS) }, { K_INTERLEAVE, 2, 0 } },
	{ { PAIR(PUNPCKHBW) }, { K_INTERLEAVE, 0, 1 } },
	{ { PAIR(PUNPCKHWD) }, { K_INTERLEAVE, 1, 1 } },
	{ { PAIR(PUNPCKHDQ) }, { K_INTERLEAVE, 2, 1 } },
	{ { PAIR(UNPCKHPS) }, { K_INTERLEAVE, 2, 1 } },
	{ { PAIR(PUNPCKLQDQ) }, { K_SHUFFLE, 0, 0x44 } },
	{ { PAIR(PUNPCKHQDQ) }, { K_SHUFFLE, 0, 0xee } },
	{ { PAIR(UNPCKLPD) }, { K_SHUFFLE, 0, 0x44 } },
	{ { PAIR(UNPCKHPD) }, { K_SHUFFLE, 0, 0xee } },
	{ { PAIR(MOVLHPS) }, { K_SHUFFLE, 0, 0x44 } },
	{ { PAIR(PSLLDQ) }, { K_SHIFTB, 0, 0 } },
	{ { PAIR(PSRLDQ) }, { K_SHIFTB, 0, 1 } },
	{ { PAIR(PALIGNR) }, { K_ALIGN, 0, 0 } },
	{ { PAIR(PINSRB) }, { K_INSERT, 0, 0 } },
	{ { PAIR(PINSRW) }, { K_INSERT, 1, 0 } },
	{ { PAIR(PINSRD) }, { K_INSERT, 2, 0 } },
	{ { PAIR(PINSRQ) }, { K_INSERT, 3, 0 } },
	{ { PAIR(PEXTRB) }, { K_EXTRACT, 0, 0 } },
	{ { PAIR(PEXTRW) }, { K_EXTRACT, 1, 0 } },
	{ { PAIR(PEXTRD) }, { K_EXTRACT, 2, 0 } },
	{ { PAIR(PEXTRQ) }, { K_EXTRACT, 3, 0 } },
	{ { PAIR(PMOVMSKB) }, { K_BITS, 0, 0 } },
	{ { PAIR(MOVMSKPS) }, { K_BITS, 2, 0 } },
	{ { PAIR(MOVMSKPD) }, { K_BITS, 3, 0 } },
	{ { PAIR(PTEST) }, { K_TEST, 0, 0 } },
	{ { M(VZEROUPPER) }, { K_ZERO_UPPER, 0, 0 } },

	{ { PAIR(UCOMISS) }, { K_FCMP, 2, 0 } },
	{ { PAIR(COMISS) }, { K_FCMP, 2, 0 } },
	{ { PAIR(UCOMISD) }, { K_FCMP, 3, 0 } },
	{ { PAIR(COMISD) }, { K_FCMP, 3, 0 } },
	{ { PAIR(CVTTSS2SI) }, { K_FINT, 2, 0 } },
	{ { PAIR(CVTTSD2SI) }, { K_FINT, 3, 0 } },
	{ { PAIR(CVTSS2SI) }, { K_FINT, 2, 1 } },
	{ { PAIR(CVTSD2SI) }, { K_FINT, 3, 1 } },
	{ { PAIR(CVTSI2SS) }, { K_INTF, 2, 0 } },
	{ { PAIR(CVTSI2SD) }, { K_INTF, 3, 0 } },

#define WIDTHS(x, kind, imm) \
	{ { M(x##B) }, { kind, 0, imm } }, { { M(x##W) }, { kind, 1, imm } }, \
		{ { M(x##D) }, { kind, 2, imm } }, \
	{ \
		{ M(x##Q) }, \
		{ \
			kind, 3, imm \
		} \
	}
	WIDTHS(KMOV, K_KMOV, 0),
	WIDTHS(KORTEST, K_KTEST, 0),
	WIDTHS(KTEST, K_KTEST, 1),
	WIDTHS(KAND, K_KLOGIC, UV_AND),
	WIDTHS(KANDN, K_KLOGIC, UV_ANDN),
	WIDTHS(KOR, K_KLOGIC, UV_OR),
	WIDTHS(KXOR, K_KLOGIC, UV_XOR),
	WIDTHS(KXNOR, K_KLOGIC, UV_XNOR),
	WIDTHS(KNOT, K_KNOT, ~UV_A & 15),
	WIDTHS(KSHIFTL, K_KSHIFT, 1),
	WIDTHS(KSHIFTR, K_KSHIFT, -1),
#undef WIDTHS
	{ { M(KUNPCKBW) }, { K_KCAT, 1, 0 } },
	{ { M(KUNPCKWD) }, { K_KCAT, 2, 0 } },
	{ { M(KUNPCKDQ) }, { K_KCAT, 3, 0 } },
};
#undef PAIR
#undef M

const struct simd_form *lift_simd_form(ZydisMnemonic m)
{
	static struct simd_form by[ZYDIS_MNEMONIC_MAX_VALUE + 1];
	static bool ready;

	if (!ready) {
		for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
			for (int k = 0; k < 2; k++)
				if (entries[i].mnemonic[k])
					by[entries[i].mnemonic[k]] = entries[i].f;
		__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	}
	return &by[m];
}
