/* SPDX-License-Identifier: MIT */
/*
 * llvm-mca's answer. Input: any text; what it says of blocks 0 to 3 is taken or left.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "estimate/mca.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* add rax, rbx; inc rax; div rcx; jmp: and one that is no instruction in the middle */
	static const uint8_t code[] = { 0x48, 0x01, 0xd8, 0x48, 0xff, 0xc0,
					0x48, 0xf7, 0xf1, 0xeb, 0xf5 };
	static const uint8_t bad[] = { 0x90, 0x06, 0x90, 0x90 };
	struct schedule_insn insn[4][4];
	struct schedule_block v[4];
	struct err err = { 0 };

	for (unsigned i = 0; i < 4; i++) {
		v[i] = (struct schedule_block){ .code = i == 3 ? bad : code,
						.size = i == 3 ? sizeof(bad) : sizeof(code),
						.n = i + 1,
						.insn = insn[i] };
		schedule_by_table(&v[i]);
	}
	mca_parse((const char *)data, size, v, 4, &err);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < v[i].n; k++)
			if (!(insn[i][k].least >= 0) || insn[i][k].cause < -1 ||
			    insn[i][k].cause >= (int)v[i].n)
				abort();
	return 0;
}
