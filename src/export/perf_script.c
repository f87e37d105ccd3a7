/* SPDX-License-Identifier: MIT */
/*
 * Writes the text of `perf script`, which many tools read: for each sample a line with thread, time
 * and event, then its stack from the innermost procedure on, then an empty line. Times are those of
 * the recording's buckets, over which a thread's samples are spread evenly: some readers take the time
 * to the next sample for what a sample stands for.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "report/calltree.h"

/* Readers split lines at blanks. */
static void put_word(const char *word, FILE *out)
{
	for (; *word; word++)
		putc(isspace((unsigned char)*word) || iscntrl((unsigned char)*word) ? '_' : *word,
		     out);
}

static void put_frame(const struct calltree *t, uint32_t node, FILE *out)
{
	const struct calltree_place *p = &t->place[t->node[node].place];
	const struct calltree_func *f = &t->func[p->func];

	fprintf(out, "\t%16" PRIx64 " %s", p->addr, f->name);
	if (f->inlined) {
		putc('\n', out);
		return;
	}
	if (f->start)
		fprintf(out, "+0x%" PRIx64, p->addr - f->start);
	fputs(" (", out);
	put_word(f->is_end ? "[unknown]" : t->profile->image[p->image]->path, out);
	fputs(")\n", out);
}

static void put_sample(const struct calltree *t, const struct stack_sample *s, uint64_t at,
		       FILE *out)
{
	const struct stack_thread *thread = &t->thread[s->thread];
	const struct run *run = &t->profile->run[thread->run < t->profile->nrun ? thread->run : 0];
	uint32_t stack[CALLTREE_DEPTH];
	size_t n = calltree_stack(t, s->frame, stack, CALLTREE_DEPTH);

	put_word(thread->comm, out);
	fprintf(out, " %" PRIu32 "/%" PRIu32 " %" PRIu64 ".%06" PRIu64 ": %10.0f %s: \n",
		thread->pid, thread->tid, at / 1000000000, at / 1000 % 1000000,
		s->count ? s->time / s->count : 0, run->event ? run->event : "cpu-clock");
	while (n)
		put_frame(t, stack[--n], out);
	putc('\n', out);
}

/* Writes the samples of one thread and bucket, from the first one on; returns the number after the
 * last. */
static size_t put_bucket(const struct calltree *t, const struct stack_sample *s, size_t first,
			 FILE *out)
{
	uint64_t count = 0, done = 0;
	size_t end = first;

	for (; end < t->nsample && s[end].thread == s[first].thread &&
	       s[end].bucket == s[first].bucket;
	     end++)
		count += s[end].count;
	for (size_t i = first; i < end; i++)
		for (uint32_t k = 0; k < s[i].count; k++, done++)
			put_sample(
				t, &s[i],
				s[i].bucket * t->width +
					(uint64_t)((double)t->width * (double)done / (double)count),
				out);
	return end;
}

static int put_samples(const struct calltree *t, FILE *out, struct err *err)
{
	struct stack_sample *sample = calloc(t->nsample + 1, sizeof(*sample));

	if (!sample)
		return err_no_memory(err, "the export");
	memcpy(sample, t->sample, t->nsample * sizeof(*sample));
	qsort(sample, t->nsample, sizeof(*sample), stack_samples_order);
	for (size_t i = 0; i < t->nsample;)
		i = put_bucket(t, sample, i, out);
	free(sample);
	return 0;
}

static int write_perf_script(struct export *x, struct err *err)
{
	struct calltree t;
	int rc;

	if (calltree_open(&t, x->profile, err))
		return -1;
	if (t.exact) {
		calltree_close(&t);
		err_set(err, ERR_FAILED,
			"perf-script has a paragraph for each sample: an exact "
			"recording counts executions instead");
		return err_hint(err, "export callgrind, pprof or folded");
	}
	rc = put_samples(&t, x->out, err);
	if (!rc)
		export_tell_flat(x, &t);
	calltree_close(&t);
	return rc;
}

const struct export_format export_perf_script = {
	.name = "perf-script",
	.what = "the text of `perf script`",
	.write = write_perf_script,
};
