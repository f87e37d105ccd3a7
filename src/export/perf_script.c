/* SPDX-License-Identifier: MIT */
/*
 * Writes the text of `perf script`, which many tools read: for each sample a line with thread, time
 * and event, then its stack from the innermost procedure on, then an empty line. Times are those of
 * the recording's buckets; samples of one bucket follow one another at its beginning.
 */
#include <ctype.h>
#include <inttypes.h>

#include "export/formats.h"
#include "report/calltree.h"

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
	fprintf(out, " (%s)\n", f->is_end ? "[unknown]" : t->profile->image[p->image]->path);
}

/* perf pads names of threads; readers split lines at blanks. */
static void put_comm(const char *comm, FILE *out)
{
	for (; *comm; comm++)
		putc(isspace((unsigned char)*comm) || iscntrl((unsigned char)*comm) ? '_' : *comm,
		     out);
}

static void put_sample(const struct calltree *t, const struct stack_sample *s, FILE *out)
{
	const struct stack_thread *thread = &t->thread[s->thread];
	const struct run *run = &t->profile->run[thread->run < t->profile->nrun ? thread->run : 0];
	uint64_t at = s->bucket * t->width;
	uint32_t stack[CALLTREE_DEPTH];
	size_t n = calltree_stack(t, s->frame, stack, CALLTREE_DEPTH);

	put_comm(thread->comm, out);
	fprintf(out, " %" PRIu32 "/%" PRIu32 " %" PRIu64 ".%06" PRIu64 ": %10.0f %s: \n",
		thread->pid, thread->tid, at / 1000000000, at / 1000 % 1000000,
		s->count ? s->time / s->count : 0, run->event ? run->event : "cpu-clock");
	while (n)
		put_frame(t, stack[--n], out);
	putc('\n', out);
}

static int write_perf_script(struct export *x, struct err *err)
{
	struct calltree t;

	if (calltree_open(&t, x->profile, err))
		return -1;
	if (t.exact) {
		calltree_close(&t);
		err_set(err, ERR_FAILED,
			"perf-script has a paragraph for each sample: an exact "
			"recording counts executions instead");
		return err_hint(err, "export callgrind, pprof or folded");
	}
	for (size_t i = 0; i < t.nsample; i++)
		for (uint32_t k = 0; k < t.sample[i].count; k++)
			put_sample(&t, &t.sample[i], x->out);
	export_tell_flat(x, &t);
	calltree_close(&t);
	return 0;
}

const struct export_format export_perf_script = {
	.name = "perf-script",
	.what = "the text of `perf script`",
	.write = write_perf_script,
};
