/* SPDX-License-Identifier: MIT */
/* The call tree and its samples as text. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "html/html.h"

/* The used procedures and images, each with a number in the page. Those with many nodes get short numbers. */
struct numbers {
	uint32_t *of;	/* by procedure, or image, of the tree */
	uint32_t *used; /* by number in the page */
	size_t n;
};

struct use {
	uint32_t what;
	size_t times;
};

static int often_first(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->times != y->times)
		return x->times > y->times ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

static bool number(struct numbers *to, struct use *use, size_t n)
{
	to->of = calloc(n + 1, sizeof(*to->of));
	to->used = calloc(n + 1, sizeof(*to->used));
	if (!to->of || !to->used)
		return false;
	qsort(use, n, sizeof(*use), often_first);
	for (; to->n < n && use[to->n].times; to->n++) {
		to->used[to->n] = use[to->n].what;
		to->of[use[to->n].what] = (uint32_t)to->n;
	}
	return true;
}

static void numbers_fini(struct numbers *n)
{
	free(n->of);
	free(n->used);
}

static struct use *uses_new(size_t n)
{
	struct use *use = calloc(n + 1, sizeof(*use));

	for (size_t i = 0; use && i < n; i++)
		use[i].what = (uint32_t)i;
	return use;
}

static bool number_funcs(const struct html_graph *g, struct numbers *funcs)
{
	struct use *use = uses_new(g->tree.nfunc);
	bool ok;

	for (size_t i = 1; use && i < g->n; i++)
		use[g->func[i]].times++;
	ok = use && number(funcs, use, g->tree.nfunc);
	free(use);
	return ok;
}

static bool number_images(const struct html_graph *g, const struct numbers *funcs,
			  struct numbers *images)
{
	struct use *use = uses_new(g->tree.profile->nimage);
	bool ok;

	for (size_t i = 0; use && i < funcs->n; i++)
		use[g->tree.func[funcs->used[i]].image].times++;
	ok = use && number(images, use, g->tree.profile->nimage);
	free(use);
	return ok;
}

static enum html_func kind_of(const struct html_graph *g, const struct calltree_func *f)
{
	if (f->is_end)
		return HTML_END;
	if (f->inlined)
		return HTML_INLINED;
	return g->tree.profile->image[f->image]->kind == IMAGE_KERNEL ? HTML_KERNEL : HTML_USER;
}

/* Writes a value, and a separator before each but the first. */
static void write_one(FILE *out, size_t i, json_t *value)
{
	fputs(i ? "," : "", out);
	html_json(out, value);
	json_decref(value);
}

static void write_funcs(const struct html_graph *g, const struct numbers *funcs,
			const struct numbers *images, FILE *out)
{
	fputs("\"images\":[", out);
	for (size_t i = 0; i < images->n; i++)
		write_one(out, i, emit_text_json(calltree_image(&g->tree, images->used[i])));
	fputs("],\n\"funcs\":[", out);
	for (size_t i = 0; i < funcs->n; i++) {
		const struct calltree_func *f = &g->tree.func[funcs->used[i]];

		write_one(out, i,
			  json_pack("[o,i,i]", emit_text_json(f->name), (int)images->of[f->image],
				    (int)kind_of(g, f)));
	}
	fputs("],\n", out);
}

static void write_threads(const struct html_graph *g, FILE *out)
{
	fputs("\"threads\":[", out);
	for (size_t i = 0; i < g->nthread; i++) {
		const struct html_thread *t = &g->thread[i];

		write_one(out, i,
			  json_pack("[I,I,o,i]", (json_int_t)t->pid, (json_int_t)t->tid,
				    emit_text_json(t->comm), (int)t->together));
	}
	fputs("],\n", out);
}

#define WRITE_COLUMN(name, n, value) \
	do { \
		fputs("\"" name "\":[", out); \
		for (size_t i = 0; i < (n); i++) \
			fprintf(out, "%s%" PRId64, i ? "," : "", (int64_t)(value)); \
		fputs("]", out); \
	} while (0)

static bool same_group(const struct stack_sample *a, const struct stack_sample *b)
{
	return a->thread == b->thread && a->bucket == b->bucket;
}

/* Samples are sorted by thread and time. Written for each thread at each time: the differences of thread and time from
 * the previous ones, and the number of samples. */
static void write_groups(const struct html_graph *g, FILE *out)
{
	struct stack_sample last = { 0 };
	size_t end;

	fputs("\"g\":[", out);
	for (size_t i = 0; i < g->nsample; i = end) {
		const struct stack_sample *s = &g->sample[i];

		for (end = i + 1; end < g->nsample && same_group(s, &g->sample[end]); end++)
			;
		fprintf(out, "%s%u,%" PRId64 ",%zu", i ? "," : "", s->thread - last.thread,
			(int64_t)s->bucket - last.bucket, end - i);
		last = *s;
	}
	fputs("],\n", out);
}

/* Most samples have a count of 1. Written for the others: the distance from the previous such sample, and the count. */
static void write_counts(const struct html_graph *g, FILE *out)
{
	size_t last = 0;

	fputs("\"c\":[", out);
	for (size_t i = 0; i < g->nsample; i++) {
		if (g->sample[i].count == 1)
			continue;
		fprintf(out, "%s%zu,%u", last ? "," : "", i + 1 - last, g->sample[i].count);
		last = i + 1;
	}
	fputs("]", out);
}

static void write_all(const struct html_graph *g, const struct numbers *funcs,
		      const struct numbers *images, FILE *out)
{
	write_funcs(g, funcs, images, out);
	write_threads(g, out);
	fputs("\"nodes\":{", out);
	/* distance from a node back to its parent */
	WRITE_COLUMN("p", g->n, i - g->parent[i]);
	fputs(",\n", out);
	WRITE_COLUMN("f", g->n, i ? (int64_t)funcs->of[g->func[i]] : -1);
	fprintf(out, "},\n\"buckets\":%zu,\"width\":%.6g,\"flat\":%s,\n\"samples\":{", g->buckets,
		g->width, g->tree.flat ? "true" : "false");
	write_groups(g, out);
	/* numbers close to the previous one are shorter as differences from it */
	WRITE_COLUMN("n", g->nsample,
		     (int64_t)g->sample[i].frame - (i ? g->sample[i - 1].frame : 0));
	fputs(",\n", out);
	write_counts(g, out);
	fputs("}", out);
}

int html_graph_write(const struct html_graph *g, FILE *out)
{
	struct numbers funcs = { 0 }, images = { 0 };
	int rc = -1;

	if (number_funcs(g, &funcs) && number_images(g, &funcs, &images)) {
		write_all(g, &funcs, &images, out);
		rc = 0;
	}
	numbers_fini(&funcs);
	numbers_fini(&images);
	return rc;
}
