/* SPDX-License-Identifier: MIT */
/* Text of micro-ops. */
#include <stdio.h>
#include <string.h>

#include "x86/lift.h"

static const char *const op_name[256] = {
#define N(x) [UOP_##x] = #x
	N(STOP),   N(NOP),   N(MOV),   N(SX),	  N(LEA),   N(LD),    N(ST),	 N(STU),
	N(INS),	   N(EXT),   N(CMOV),  N(SETCC),  N(ADD),   N(SUB),   N(ADC),	 N(SBB),
	N(AND),	   N(OR),    N(XOR),   N(ANDN),	  N(SHL),   N(SHR),   N(SAR),	 N(ROL),
	N(ROR),	   N(RCL),   N(RCR),   N(SHLD),	  N(SHRD),  N(MUL),   N(MULHU),	 N(MULHS),
	N(MULF),   N(DIVU),  N(DIVS),  N(BT),	  N(BTS),   N(BTR),   N(BTC),	 N(BSF),
	N(BSR),	   N(TZCNT), N(LZCNT), N(POPCNT), N(BSWAP), N(BLSI),  N(BLSMSK), N(BLSR),
	N(BEXTR),  N(BZHI),  N(PDEP),  N(PEXT),	  N(ADCX),  N(ADOX),  N(CRC32),	 N(GETFL),
	N(SETFL),  N(UNKFL), N(UNK),   N(BR),	  N(BRZ),   N(BRNZ),  N(BRCC),	 N(JCC),
	N(JMP),	   N(JIND),  N(ARGS),  N(ADDK),	  N(SUBK),  N(VLD),   N(VST),	 N(VLOGIC),
	N(VARITH), N(VCMP),  N(VBC),   N(VSHUF),  N(VSHB),  N(VPUT),  N(VGET),	 N(VBITS),
	N(VTEST),  N(VZ),    N(VUNK),  N(VFCMP),  N(VFINT), N(VINTF), N(KOP),	 N(KCAT),
	N(KSH),	   N(KTEST), N(REP),
#undef N
};

static const char *reg_name(unsigned r)
{
	static const char *const names[UR_N] = {
		"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",	 "r8",	 "r9",	"r10",
		"r11", "r12", "r13", "r14", "r15", "fs",  "gs",	 "bias", "zero", "ea",	"t0",
		"t1",  "t2",  "t3",  "t4",  "t5",  "t6",  "t7",	 "t8",	 "t9",	 "t10",
	};

	return names[r % UR_N];
}

static size_t put_record(const struct uop *u, char *buf, size_t n)
{
	static const char *const kind[4] = { "", "result", "load", "store" };
	unsigned a = u->rec >> 5 & 3, b = u->rec >> 12 & 3;
	char text[96] = " ; retire";
	size_t at = strlen(text);

	if (u->rec & UREC_EA)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " address");
	if (a)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %s=%s", kind[a],
				       reg_name(u->rec & 31));
	if (b)
		snprintf(text + at, sizeof(text) - at, " %s=%s", kind[b],
			 reg_name(u->rec >> 7 & 31));
	return (size_t)snprintf(buf, n, "%s", text);
}

char *uop_format(const struct uop *u, char *buf, size_t n)
{
	size_t at;

	at = (size_t)snprintf(buf, n, "%s.%d%s %s, %s, ", op_name[u->op] ? op_name[u->op] : "?",
			      8 << (u->flags & UF_WIDTH), u->flags & UF_FLAGS ? "f" : "",
			      reg_name(u->dst), reg_name(u->a));
	if (at < n)
		at += u->flags & UF_IMM
			      ? (size_t)snprintf(buf + at, n - at, "$%lld", (long long)u->imm)
			      : (size_t)snprintf(buf + at, n - at, "%s", reg_name(u->b));
	if (at < n && u->c)
		at += (size_t)snprintf(buf + at, n - at, ", %u", u->c);
	if (at < n && !(u->flags & UF_IMM) && u->imm)
		at += (size_t)snprintf(buf + at, n - at, ", %+lld", (long long)u->imm);
	if (at < n && u->flags & UF_RETIRE)
		put_record(u, buf + at, n - at);
	return buf;
}
