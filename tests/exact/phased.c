/* SPDX-License-Identifier: MIT */
/*
 * Whether phases add up: of each instruction, the sum of all intervals' vectors over the blocks that it is in has to be
 * how often it was executed. Differences are printed, and at last "N instructions, M intervals,
 * off by K" in all.
 *
 * Usage: phased RECORDING [COUNTS]   (COUNTS: another recording of the same work, whose executions are taken instead)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/recording.h"

static void die(const struct err *err)
{
	fprintf(stderr, "phased: %s\n", err->msg);
	exit(1);
}

static void read_file(struct profile *p, const char *path)
{
	struct err err;

	if (profile_init(p, &err) || recording_read(path, p, &err))
		die(&err);
}

/* Takes the executions of a block off its sites. */
static void take_block(struct profile *p, const struct profile *lengths,
		       const struct phase_block *b, uint64_t instructions)
{
	uint64_t addr = b->addr, times = instructions / b->n, rest = instructions % b->n;

	if (rest)
		printf("a block at %" PRIx64 " that ended early: %" PRIu64 "\n", addr, rest);
	for (uint32_t i = 0; i < b->n; i++) {
		struct site_id id = { .image = b->image, .addr = addr };
		const struct site *length = profile_site_find(lengths, id);
		struct site *s = profile_site(p, id);

		if (!length || !s) {
			printf("no instruction at %" PRIx64 "\n", addr);
			return;
		}
		s->observed -= times;
		addr += length->len;
	}
}

static void sum_up(const struct phases *ph, uint64_t *sum)
{
	for (size_t i = 0; i < ph->ninterval; i++)
		for (struct phases_walk w = phases_walk(&ph->interval[i]); phases_next(&w);)
			sum[w.part.block] += w.part.instructions;
}

int main(int argc, char **argv)
{
	struct profile p, counts;
	size_t intervals = 0;
	uint64_t n = 0;
	int64_t off = 0;
	struct site *s;

	if (argc < 2)
		return 2;
	read_file(&p, argv[1]);
	read_file(&counts, argv[argc - 1]);
	SITES_EACH(&counts.sites, s)
	{
		off -= (int64_t)s->observed;
	}
	for (size_t i = 0; i < p.nphases; i++) {
		const struct phases *ph = p.phases[i];
		uint64_t *sum = calloc(ph->nblock + 1, sizeof(*sum));

		if (!sum)
			return 1;
		sum_up(ph, sum);
		for (size_t b = 0; b < ph->nblock; b++)
			if (sum[b])
				take_block(&counts, &p, &ph->block[b], sum[b]);
		free(sum);
		intervals += ph->ninterval;
		n += phases_instructions(ph);
	}
	SITES_EACH(&counts.sites, s)
	{
		if (s->observed)
			printf("%s %" PRIx64 ": %" PRId64 " more than in intervals\n",
			       counts.image[s->id.image]->path, s->id.addr, (int64_t)s->observed);
	}
	printf("%" PRIu64 " instructions, %zu intervals, off by %" PRId64 "\n", n, intervals,
	       off + (int64_t)n);
	profile_fini(&p);
	profile_fini(&counts);
	return 0;
}
