/* SPDX-License-Identifier: MIT */
/*
 * What the host's handler of the co-processor's program "values" takes; see bench/handler.
 * Usage: handler scan|record LOADS HANDLERS   HANDLERS interrupts, each with all slots used; slots are of LOADS instructions,
 *        drawn at random. scan: no slot has enough samples to be recorded; record: all have.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "coproc/asm.h"
#include "coproc/host_values.h"

static struct copro c;
static struct host_values h;
static struct program *p;
static uint64_t state = 88172645463325252ull;

/* The slots of one interrupt: the random ones of a skewed distribution, as of a program's loads. */
static void fill(bool record, uint64_t loads)
{
	const struct program_base *active = &p->base[program_base(p, "active")];
	const struct program_base *stats = &p->base[program_base(p, "stats")];
	const struct program_field *hits = program_field(stats, "hits");
	const struct program_field *misses = program_field(stats, "misses");
	const struct program_field *total = program_field(stats, "total");

	for (uint32_t i = 0; i < c.s.entries; i++) {
		uint64_t n = record ? 33 + random_below(&state, 100) : 1;
		uint64_t hit = record ? random_below(&state, n) : 0;

		c.entry[i] = (uint32_t)(0x10001000 + 5 * random_below(&state, loads));
		c.data[active->at + i] = random_below(&state, 4);
		c.data[stats->at + i] =
			hit << hits->shift | (n - 1 - hit) << misses->shift | n << total->shift;
	}
	copro_write_index(&c, program_index(p, "replaced"), 1);
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	uint64_t loads = argc > 3 ? strtoull(argv[2], NULL, 0) : 0, now = 0;
	struct host host;

	if (!loads)
		return 2;
	p = asm_file("values", &spec_default, NULL, 0, &err);
	if (!p || copro_init(&c, &spec_default))
		return 1;
	copro_load(&c, p);
	if (host_values_init(&h, p, &spec_default, &err))
		return 1;
	host = host_values_host(&h);
	for (uint64_t i = strtoull(argv[3], NULL, 0); i; i--) {
		fill(!strcmp(argv[1], "record"), loads);
		if (host.handle(host.arg, &c, HOST_TIMER, now += 200000, &err) < 0)
			return 1;
	}
	printf("%llu recorded, %zu loads in the table\n", (unsigned long long)h.records, h.table.n);
	return 0;
}
