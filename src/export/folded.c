/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, for flamegraph.pl, inferno, speedscope: the thread's name and the procedures from the outermost to the
 * innermost with semicolons between, a blank, and how many samples (executions, in an exact recording) ended there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "report/calltree.h"

/* Semicolons and blanks in names would be taken for separators: ; becomes :, which no name begins or ends with. */
static void put_name(FILE *out, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? '?' : *name, out);
}

/* Samples in the order of thread and node. */
static int by_stack(const void *a, const void *b)
{
	const struct stack_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static void put_stack(const struct calltree *t, const struct stack_sample *s, uint64_t count,
		      FILE *out)
{
	uint32_t stack[CALLTREE_DEPTH];
	size_t n = calltree_stack(t, s->frame, stack, CALLTREE_DEPTH);

	put_name(out, t->thread[s->thread].comm);
	for (size_t i = 0; i < n; i++) {
		putc(';', out);
		put_name(out, t->func[t->place[t->node[stack[i]].place].func].name);
	}
	fprintf(out, " %" PRIu64 "\n", count);
}

static int write_folded(struct export *x, struct err *err)
{
	struct stack_sample *sample;
	struct calltree t;
	uint64_t count = 0;

	if (calltree_open(&t, x->profile, err))
		return -1;
	sample = malloc(t.nsample * sizeof(*sample));
	if (!sample) {
		calltree_close(&t);
		return err_set(err, ERR_FAILED, "no memory to export");
	}
	memcpy(sample, t.sample, t.nsample * sizeof(*sample));
	qsort(sample, t.nsample, sizeof(*sample), by_stack);
	for (size_t i = 0; i < t.nsample; i++) {
		count += sample[i].count;
		if (i + 1 < t.nsample && !by_stack(&sample[i], &sample[i + 1]))
			continue;
		put_stack(&t, &sample[i], count, x->out);
		count = 0;
	}
	free(sample);
	export_tell_flat(x, &t);
	calltree_close(&t);
	return 0;
}

const struct export_format export_folded = {
	.name = "folded",
	.what = "folded stacks (flamegraph.pl, inferno, speedscope)",
	.write = write_folded,
};
