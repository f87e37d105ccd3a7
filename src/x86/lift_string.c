/* SPDX-License-Identifier: MIT */
/* String operations: one instruction becomes a loop of micro-ops. The direction flag is clear,
 * because the interpreter takes no other windows. */
#include "x86/lift_priv.h"

enum {
	MOVS,
	STOS,
	LODS,
	SCAS,
	CMPS
};

static int string_kind(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ:
		return MOVS;
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ:
		return STOS;
	case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_LODSW:
	case ZYDIS_MNEMONIC_LODSD:
	case ZYDIS_MNEMONIC_LODSQ:
		return LODS;
	case ZYDIS_MNEMONIC_SCASB:
	case ZYDIS_MNEMONIC_SCASW:
	case ZYDIS_MNEMONIC_SCASD:
	case ZYDIS_MNEMONIC_SCASQ:
		return SCAS;
	default:
		return CMPS;
	}
}

static void advance(struct lift *l, int reg, int w)
{
	lift_emit(l, UOP_LEA, 3, reg, reg, UR_ZERO, 0)->imm = 1 << w;
}

/* Emits one round; returns what it records if it is the only one. */
static uint16_t one_round(struct lift *l, int kind, int w)
{
	int x = lift_temp(l), y = lift_temp(l), scratch = lift_temp(l);
	uint16_t rec;

	switch (kind) {
	case MOVS:
		lift_load(l, w, x, lift_at(UR_RSI, 0));
		lift_store(l, w, x, lift_at(UR_RDI, 0));
		rec = (uint16_t)(UREC_A(x, UREC_LOAD) | UREC_B(x, UREC_STORE) | UREC_EA);
		break;
	case STOS:
		lift_emit(l, UOP_MOV, w, x, UR_ZERO, UR_RAX, 0);
		lift_store(l, w, x, lift_at(UR_RDI, 0));
		rec = (uint16_t)(UREC_A(x, UREC_STORE) | UREC_EA);
		break;
	case LODS:
		lift_load(l, w, x, lift_at(UR_RSI, 0));
		lift_write_reg(l, UR_RAX, w, false, x);
		rec = (uint16_t)(UREC_A(x, UREC_LOAD) | UREC_EA);
		break;
	case SCAS:
		lift_load(l, w, x, lift_at(UR_RDI, 0));
		lift_emit(l, UOP_SUB, w, scratch, UR_RAX, x, 0)->flags |= UF_FLAGS;
		rec = (uint16_t)(UREC_A(x, UREC_LOAD) | UREC_EA);
		break;
	default:
		lift_load(l, w, x, lift_at(UR_RSI, 0));
		lift_load(l, w, y, lift_at(UR_RDI, 0));
		lift_emit(l, UOP_SUB, w, scratch, x, y, 0)->flags |= UF_FLAGS;
		rec = (uint16_t)(UREC_A(x, UREC_LOAD) | UREC_B(y, UREC_LOAD) | UREC_EA);
		break;
	}
	if (kind == MOVS || kind == LODS || kind == CMPS)
		advance(l, UR_RSI, w);
	if (kind != LODS)
		advance(l, UR_RDI, w);
	return rec;
}

/* Repeated operations. again: REP (stos and movs); BRZ rcx, end; round; rcx--; BR again (repe: BRCC e, again);
 * end: NOP */
static void repeated(struct lift *l, int kind, int w)
{
	bool until = kind == SCAS || kind == CMPS;
	bool equal = l->in->z.attributes & ZYDIS_ATTRIB_HAS_REPE;
	int again = l->n, end, u;

	if (kind == STOS || kind == MOVS)
		lift_emit(l, UOP_REP, w, 0, 0, 0, kind == MOVS);
	end = l->n;
	lift_emit(l, UOP_BRZ, 3, 0, 0, UR_RCX, 0);
	one_round(l, kind, w);
	lift_emit(l, UOP_LEA, 3, UR_RCX, UR_RCX, UR_ZERO, 0)->imm = -1;
	u = l->n;
	lift_emit(l, until ? UOP_BRCC : UOP_BR, 0, 0, 0, 0, equal ? 4 : 5)->imm = again - u;
	l->out[end].imm = l->n - end;
	lift_emit(l, UOP_NOP, 0, 0, 0, 0, 0);
	lift_retire(l, UREC_EA);
}

void lift_string(struct lift *l)
{
	int kind = string_kind(l->in->z.mnemonic);
	int w;

	/* movsd and cmpsd may also be instructions of SSE2 */
	if (l->in->z.meta.category != ZYDIS_CATEGORY_STRINGOP) {
		lift_fallback(l);
		return;
	}
	switch (l->in->z.opcode & 1 ? l->in->z.operand_width : 8) {
	case 8:
		w = 0;
		break;
	case 16:
		w = 1;
		break;
	case 32:
		w = 2;
		break;
	default:
		w = 3;
		break;
	}
	if (l->in->z.address_width == 32 || l->in->z.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS ||
	    l->in->z.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS) {
		lift_stop(l, RA_STOP_UNSUPPORTED);
		return;
	}
	if (l->in->z.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		repeated(l, kind, w);
	else
		lift_retire(l, one_round(l, kind, w));
}

void lift_xlat(struct lift *l)
{
	int i = lift_temp(l), t = lift_temp(l);
	struct ea ea = { .a = UR_RBX, .b = (uint8_t)i };

	if (l->in->z.address_width == 32 || l->in->z.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS ||
	    l->in->z.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS) {
		lift_stop(l, RA_STOP_UNSUPPORTED);
		return;
	}
	lift_emit(l, UOP_MOV, 0, i, UR_ZERO, UR_RAX, 0);
	lift_load(l, 0, t, ea);
	lift_write_reg(l, UR_RAX, 0, false, t);
	lift_retire(l, UREC_A(t, UREC_LOAD) | UREC_EA);
}
