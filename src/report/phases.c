/* SPDX-License-Identifier: MIT */
#include "report/phases.h"

#include <stdlib.h>
#include <string.h>

#include "report/place.h"
#include "report/timeline.h"

#define COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct term terms[] = {
	{ "phase", "intervals that execute much the same blocks in the same proportions, numbered "
		   "by when they "
		   "first come" },
	{ "first at", "instructions executed before the phase first comes" },
	{ "share", "of a procedure: of the phase's instructions, those in its own code" },
	{ NULL, NULL },
};

static void print_phases(struct reading *r, const struct phases *p, const struct clusters *c)
{
	static const struct column column[] = {
		{ "phase", "phase", NULL, 5, EMIT_RIGHT, EMIT_COUNT },
		{ "share", "share", "%", 8, EMIT_RIGHT, EMIT_SHARE },
		{ "intervals", "intervals", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
		{ "instructions", "instructions", NULL, 18, EMIT_RIGHT, EMIT_COUNT },
		{ "first", "first at", NULL, 18, EMIT_RIGHT, EMIT_COUNT },
	};

	emit_table(&r->emit, "phases", column, COUNT_OF(column));
	for (unsigned k = 0; k < c->k; k++)
		emit_row(&r->emit, (struct cell[5]){
					   cell_count(k + 1),
					   cell_real(c->cluster[k].share),
					   cell_count(c->cluster[k].intervals),
					   cell_count(c->cluster[k].instructions),
					   cell_count(p->interval[c->cluster[k].first].start),
				   });
	emit_line(&r->emit, "%s", "");
}

/* Adds up the procedures of the view, and after them the rest: blocks whose instructions are not
 * in the recording. */
static int sum_procedures(const struct reading *r, const struct phases *p, const struct clusters *c,
			  uint64_t *sum, struct err *err)
{
	const struct view *v = &r->view;
	size_t n = v->nproc + 1, *proc = malloc((p->nblock + 1) * sizeof(*proc));

	if (!proc)
		return err_no_memory(err, "phases");
	for (size_t b = 0; b < p->nblock; b++) {
		size_t at = place_index(v, (struct site_id){ .image = p->block[b].image,
							     .addr = p->block[b].addr });

		proc[b] = at == SIZE_MAX ? v->nproc : v->proc_of[at];
	}
	for (size_t i = 0; i < c->n; i++)
		for (struct phases_walk w = phases_walk(&p->interval[i]); phases_next(&w);)
			sum[c->label[i] * n + proc[w.part.block]] += w.part.instructions;
	free(proc);
	return 0;
}

struct ranked {
	uint64_t instructions;
	size_t proc;
};

static int by_instructions(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->instructions != y->instructions)
		return x->instructions < y->instructions ? 1 : -1;
	return (x->proc > y->proc) - (x->proc < y->proc);
}

static void print_procedure(struct reading *r, const struct clusters *c, unsigned k,
			    const struct ranked *e, bool first)
{
	const struct view *v = &r->view;
	const struct view_proc *proc = e->proc < v->nproc ? &v->proc[e->proc] : NULL;
	char name[512];

	emit_row(&r->emit,
		 (struct cell[5]){
			 cell_blank_if(!first, cell_count(k + 1)),
			 cell_real((double)e->instructions / (double)c->cluster[k].instructions),
			 cell_count(e->instructions),
			 cell_text(proc ? v->image[proc->image].name : "[unknown]"),
			 cell_text(proc ? view_proc_name(proc, name, sizeof(name)) : "[unknown]"),
		 });
}

static int print_procedures(struct reading *r, const struct phases *p, const struct clusters *c,
			    unsigned rows, struct err *err)
{
	static const struct column column[] = {
		{ "phase", "phase", NULL, 5, EMIT_RIGHT, EMIT_COUNT },
		{ "share", "share", "%", 8, EMIT_RIGHT, EMIT_SHARE },
		{ "instructions", "instructions", NULL, 16, EMIT_RIGHT, EMIT_COUNT },
		{ "image", "image", NULL, 14, EMIT_LEFT, EMIT_TEXT },
		{ "procedure", "procedure", NULL, 0, EMIT_LEFT_NAME, EMIT_TEXT },
	};
	size_t n = r->view.nproc + 1;
	uint64_t *sum = calloc(n * c->k, sizeof(*sum));
	struct ranked *list = calloc(n, sizeof(*list));
	int rc = -1;

	if (!sum || !list) {
		free(sum);
		free(list);
		return err_no_memory(err, "phases");
	}
	rc = sum_procedures(r, p, c, sum, err);
	if (!rc)
		emit_table(&r->emit, "procedures", column, COUNT_OF(column));
	for (unsigned k = 0; k < c->k && !rc; k++) {
		for (size_t i = 0; i < n; i++)
			list[i] = (struct ranked){ sum[k * n + i], i };
		qsort(list, n, sizeof(*list), by_instructions);
		for (size_t i = 0; i < n && (!rows || i < rows) && list[i].instructions; i++)
			print_procedure(r, c, k, &list[i], !i);
	}
	free(sum);
	free(list);
	return rc;
}

int phases_print(struct reading *r, const struct phases_options *o, struct err *err)
{
	const struct phases *p = timeline_process(r, o->process, err);
	const struct clusters_options how = { .least = CLUSTERS_LEAST };
	struct clusters c;
	int rc;

	if (!p || clusters_find(&c, p, &how, err))
		return -1;
	rc = o->svg ? timeline_svg(r, o->svg, p, &c, err) : 0;
	if (!rc) {
		reading_heading(r);
		timeline_heading(r, p);
		emit_line(&r->emit, "%s", "");
		timeline_draw(r, p, &c);
		print_phases(r, p, &c);
		rc = print_procedures(r, p, &c, o->n, err);
		emit_terms(&r->emit, terms);
	}
	clusters_fini(&c);
	return rc;
}
