/* SPDX-License-Identifier: MIT */
#include "exact/classes.h"

#include "x86/insn.h"

/* Finds an instruction's class. `o`: the operands to be remembered, or NULL. */
static int decoded(struct classes *c, const uint8_t *p, unsigned len, uint64_t addr,
		   uint64_t *target, struct opcode *o)
{
	struct insn in;
	bool modrm;

	if (!insn_decode(&in, p, len, addr))
		return -1;
	*target = in.target;
	if (!o || in.len != len)
		return in.cls;
	modrm = in.z.attributes & ZYDIS_ATTRIB_HAS_MODRM;
	c->operand[o->number] = modrm ? OPCODE_MODRM : OPCODE_ALONE;
	if (!modrm || o->modrm || opcode_operand(o, p)) {
		c->of[o->key].cls = (uint8_t)(in.cls + 1);
		c->of[o->key].imm = in.z.raw.imm[0].size / 8;
	}
	return in.cls;
}

int classes_of(struct classes *c, const uint8_t *p, unsigned len, uint64_t addr, uint64_t *target)
{
	struct opcode o;
	int cls;

	*target = 0;
	opcode_begin(&o, p);
	if (!opcode_has_key(&o) || (c->operand[o.number] == OPCODE_MODRM && !opcode_operand(&o, p)))
		return decoded(c, p, len, addr, target, NULL);
	cls = c->of[o.key].cls - 1;
	if (c->operand[o.number] == OPCODE_UNKNOWN || cls < 0 || cls == INSN_CALL ||
	    cls == INSN_JUMP || cls == INSN_BRANCH || o.end + c->of[o.key].imm != len)
		return decoded(c, p, len, addr, target, &o);
	return cls;
}
