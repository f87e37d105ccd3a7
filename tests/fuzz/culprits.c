/* SPDX-License-Identifier: MIT */
/*
 * The analysis that a recording keeps. Input: any bytes; what is read is written, and reads the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "culprit/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct culprit_program p, again;
	struct buffer b = { 0 };

	if (!culprit_program_read(&p, data, size, 4))
		return 0;
	for (size_t i = 0; i < p.ninsn; i++)
		if (p.insn[i].image >= 4 || p.insn[i].why >= 4 ||
		    p.insn[i].confidence >= CONFIDENCE_N)
			abort();
	if (!culprit_program_write(&p, &b) || !culprit_program_read(&again, b.p, b.n, 4) ||
	    again.ninsn != p.ninsn || again.nproc != p.nproc)
		abort();
	culprit_program_fini(&again);
	culprit_program_fini(&p);
	free(b.p);
	return 0;
}
