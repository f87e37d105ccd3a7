/* SPDX-License-Identifier: MIT */
/* Numbers of general registers, as instructions encode them. */
#ifndef ASSAY_ENGINE_CORE_REGISTERS_H
#define ASSAY_ENGINE_CORE_REGISTERS_H

enum reg {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15,
	NO_REG = 16
};

#endif
