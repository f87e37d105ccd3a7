/* SPDX-License-Identifier: MIT */
/* Any bytes as instructions, one behind the other: what is remembered of a class is what decoding says. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact/classes.h"
#include "x86/insn.h"

#define ADDR 0x400000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(struct classes *c, const uint8_t *p)
{
	struct insn in;
	uint64_t target;
	int len = insn_decode(&in, p, INSN_MAX_LEN, ADDR);

	/* a length that is not the instruction's is that of what lies in its first bytes, if anything does */
	for (unsigned n = 1; n <= INSN_MAX_LEN; n++) {
		int want = insn_decode(&in, p, n, ADDR) ? in.cls : -1;

		if (classes_of(c, p, n, ADDR, &target) != want ||
		    target != (want < 0 ? 0 : in.target))
			abort();
	}
	if (len && classes_of(c, p, (unsigned)len, ADDR, &target) != in.cls)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* stays: what one input taught holds for the next */
	static struct classes known;
	struct classes *fresh = calloc(1, sizeof(*fresh));
	uint8_t p[INSN_MAX_LEN];

	if (!fresh)
		return 0;
	for (size_t i = 0; i < size; i++) {
		memset(p, 0, sizeof(p));
		memcpy(p, data + i, size - i < sizeof(p) ? size - i : sizeof(p));
		hold(&known, p);
		if (i < 8)
			hold(fresh, p);
	}
	free(fresh);
	return 0;
}
