/* SPDX-License-Identifier: MIT */
/*
 * The co-processor's assembler and machine. Input: a source. What assembles prints as a source that assembles to the
 * same words, registers and arrays; and runs on samples drawn from the source's bytes, to its end or to a trap.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coproc/asm.h"
#include "coproc/copro.h"
#include "coproc/lab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct program *again(const struct program *p, const struct spec *s, bool raw)
{
	struct program *q;
	struct err err;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		abort();
	asm_print(p, raw, f);
	fclose(f);
	q = asm_text(text, "again", s, NULL, 0, &err);
	if (!q) {
		fprintf(stderr, "%s\n%s", err.msg, text);
		abort();
	}
	free(text);
	return q;
}

/* All but the lines of the source. */
static void same(const struct program *p, struct program *q)
{
	memcpy(q->line, p->line, sizeof(q->line));
	if (memcmp(p, q, sizeof(*p)) != 0)
		abort();
	free(q);
}

static void run(const struct program *p, const struct spec *s, const uint8_t *data, size_t size)
{
	struct sample sample = { 0 };
	struct copro c;
	uint32_t cycles;

	if (copro_init(&c, s))
		return;
	copro_load(&c, p);
	for (size_t i = 0; i < 64; i++) {
		enum copro_outcome o;

		sample.cls = data[i % size] % CLASS_N;
		if (p->start[sample.cls] < 0)
			continue;
		for (unsigned k = 0; k < SOURCE_N; k++)
			sample.source[k] = data[(i * 7 + k) % size] * 0x0101010101010101ull;
		o = copro_run(&c, &sample, &cycles);
		if (!cycles || (o == COPRO_TRAP) != (c.trap != TRAP_NONE))
			abort();
		if (o == COPRO_TRAP)
			break;
	}
	copro_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spec s = spec_default;
	struct program *p;
	struct err err = { 0 };
	char *text = malloc(size + 1);

	if (!text || !size) {
		free(text);
		return 0;
	}
	memcpy(text, data, size);
	text[size] = 0;
	s.limit = 256;
	p = asm_text(text, "fuzz", &s, NULL, 0, &err);
	if (p) {
		same(p, again(p, &s, false));
		same(p, again(p, &s, true));
		run(p, &s, data, size);
	} else if (!err.code || !err.msg[0]) {
		abort();
	}
	free(p);
	err = (struct err){ 0 };
	if (spec_parse(&s, text, "fuzz", &err) && !err.code)
		abort();
	free(text);
	return 0;
}
