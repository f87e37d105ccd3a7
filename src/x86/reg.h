/* SPDX-License-Identifier: MIT */
/*
 * Zydis's general registers as virtual registers.
 */
#ifndef ASSAY_X86_REG_H
#define ASSAY_X86_REG_H

#include <Zydis/Zydis.h>
#include <stdbool.h>

#include "x86/uop.h"

struct reg_part {
	int reg;   /* UR_RAX to UR_R15, or -1: no general register */
	int width; /* log2 of the width in bytes */
	bool high; /* it is ah, ch, dh or bh */
};

static inline struct reg_part reg_part(ZydisRegister r)
{
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
		return (struct reg_part){ (int)(r - ZYDIS_REGISTER_RAX), 3, false };
	if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D)
		return (struct reg_part){ (int)(r - ZYDIS_REGISTER_EAX), 2, false };
	if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W)
		return (struct reg_part){ (int)(r - ZYDIS_REGISTER_AX), 1, false };
	if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_BL)
		return (struct reg_part){ (int)(r - ZYDIS_REGISTER_AL), 0, false };
	if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH)
		return (struct reg_part){ (int)(r - ZYDIS_REGISTER_AH), 0, true };
	if (r >= ZYDIS_REGISTER_SPL && r <= ZYDIS_REGISTER_R15B)
		return (struct reg_part){ (int)(r - ZYDIS_REGISTER_SPL) + UR_RSP, 0, false };
	return (struct reg_part){ -1, 0, false };
}

#endif
