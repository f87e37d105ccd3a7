/* SPDX-License-Identifier: MIT */
/*
 * Speedscope's own format (file-format-schema.json of speedscope): frames once each, and for each thread the stacks of its
 * samples, outermost first, with what each stands for.
 */
#include <inttypes.h>

#include "export/formats.h"
#include "report/calltree.h"

/* A frame is a procedure: speedscope adds up the time of one frame, and of no two with the same name. */
static void put_frames(const struct calltree *t, FILE *out)
{
	fputs("\"shared\":{\"frames\":[", out);
	for (size_t i = 0; i < t->nfunc; i++) {
		const struct calltree_func *f = &t->func[i];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		export_json_string(out, f->name);
		fputs(",\"file\":", out);
		export_json_string(out, f->file ? f->file : calltree_image(t, f->image));
		if (f->line > 0)
			fprintf(out, ",\"line\":%d", f->line);
		putc('}', out);
	}
	fputs("]},\n", out);
}

static double weight_of(const struct calltree *t, const struct stack_sample *s)
{
	return t->exact ? s->count : s->time;
}

static double total_of(const struct calltree *t, uint32_t thread)
{
	double total = 0;

	for (size_t i = 0; i < t->nsample; i++)
		total += t->sample[i].thread == thread ? weight_of(t, &t->sample[i]) : 0;
	return total;
}

static void put_samples(const struct calltree *t, uint32_t thread, FILE *out)
{
	uint32_t stack[CALLTREE_DEPTH];
	bool first = true;

	for (size_t i = 0; i < t->nsample; i++) {
		size_t n;

		if (t->sample[i].thread != thread)
			continue;
		n = calltree_stack(t, t->sample[i].frame, stack, CALLTREE_DEPTH);
		fputs(first ? "[" : ",\n[", out);
		for (size_t k = 0; k < n; k++)
			fprintf(out, "%s%" PRIu32, k ? "," : "",
				t->place[t->node[stack[k]].place].func);
		putc(']', out);
		first = false;
	}
}

static void put_weights(const struct calltree *t, uint32_t thread, FILE *out)
{
	bool first = true;

	for (size_t i = 0; i < t->nsample; i++) {
		if (t->sample[i].thread != thread)
			continue;
		fprintf(out, "%s%.0f", first ? "" : ",", weight_of(t, &t->sample[i]));
		first = false;
	}
}

static void put_thread(const struct calltree *t, uint32_t thread, bool first, FILE *out)
{
	char name[300];

	if (t->flat)
		snprintf(name, sizeof(name), "%s", t->thread[thread].comm);
	else
		snprintf(name, sizeof(name), "%s (%" PRIu32 "/%" PRIu32 ")", t->thread[thread].comm,
			 t->thread[thread].pid, t->thread[thread].tid);
	fputs(first ? "{\"type\":\"sampled\",\"name\":" : ",\n{\"type\":\"sampled\",\"name\":",
	      out);
	export_json_string(out, name);
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%.0f,\"samples\":[",
		t->exact ? "none" : "nanoseconds", total_of(t, thread));
	put_samples(t, thread, out);
	fputs("],\"weights\":[", out);
	put_weights(t, thread, out);
	fputs("]}", out);
}

static int write_speedscope(struct export *x, struct err *err)
{
	const struct run *run = x->profile->nrun ? &x->profile->run[0] : NULL;
	struct calltree t;
	bool first = true;

	if (calltree_open(&t, x->profile, err))
		return -1;
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n", x->out);
	fputs("\"exporter\":\"assay@" ASSAY_VERSION "\",\"name\":", x->out);
	export_json_string(x->out, run && run->command ? run->command : "assay");
	fputs(",\"activeProfileIndex\":0,\n", x->out);
	put_frames(&t, x->out);
	fputs("\"profiles\":[\n", x->out);
	for (uint32_t i = 0; i < t.nthread; i++) {
		if (total_of(&t, i) <= 0)
			continue;
		put_thread(&t, i, first, x->out);
		first = false;
	}
	fputs("]}\n", x->out);
	export_tell_flat(x, &t);
	calltree_close(&t);
	return 0;
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.what = "speedscope's JSON",
	.write = write_speedscope,
};
