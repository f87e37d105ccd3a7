/* SPDX-License-Identifier: MIT */
/* What the stream gets of an instruction. */
#ifndef ASSAY_DBI_RT_FIELDS_H
#define ASSAY_DBI_RT_FIELDS_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

struct stream_fields {
	uint16_t mask; /* EXACT_F_… */
	uint16_t used; /* registers that it names or uses */
	uint8_t result[2];
	/* the memory operand */
	uint8_t base, index, scale, size; /* size: 1, 2, 4, 8 bytes of the value */
	bool rip;			  /* disp is from the next instruction */
	int64_t disp;
};

/* Of the kinds that log_mode asks for. */
void stream_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op);
/* The general register that a register is, or is a part of; NO_REG for others. */
unsigned general_register(ZydisRegister r);

#endif
