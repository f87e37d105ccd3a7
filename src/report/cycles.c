/* SPDX-License-Identifier: MIT */
#include "report/cycles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/misses.h"
#include "report/place.h"

struct entry {
	uint32_t proc;
	uint64_t executions; /* executions of its instructions */
	uint64_t n[TIMING_PART_N];
};

struct table {
	struct reading *r;
	struct entry *v;
	size_t n;
	struct entry all;
};

/* Columns of a procedure, which combine several parts; JSON has each part. */
static const struct {
	const char *header;
	uint32_t parts;
} shown[] = {
#define P(name) (1u << TIMING_##name)
	{ "base", P(BASE) },
	{ "exec", P(EXECUTE) | P(UNIT) },
	{ "data", P(L2) | P(L3) | P(MEMORY) | P(DTLB) | P(STORES) },
	{ "code", P(ICACHE) | P(ITLB) },
	{ "branch", P(MISPREDICT) },
#undef P
};
#define SHOWN (sizeof(shown) / sizeof(shown[0]))

static int by_proc(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->proc > y->proc) - (x->proc < y->proc);
}

static int by_cycles(const void *a, const void *b)
{
	double x = cycles_total(((const struct entry *)a)->n),
	       y = cycles_total(((const struct entry *)b)->n);

	return x != y ? (x > y ? -1 : 1) : by_proc(a, b);
}

static void sum(struct entry *to, const struct entry *from)
{
	to->executions += from->executions;
	for (unsigned i = 0; i < TIMING_PART_N; i++)
		to->n[i] += from->n[i];
}

static int collect(struct table *t, const char *image)
{
	const struct view *v = &t->r->view;
	const struct profile *p = &t->r->profile;
	const struct site *s;
	const struct cycles *c;
	size_t k = 0;

	t->v = calloc(p->sites.n + 1, sizeof(*t->v));
	if (!t->v)
		return -1;
	CYCLES_EACH(p, s, c)
	{
		size_t at = place_index(v, s->id);
		struct entry *e = &t->v[t->n];

		if (at == SIZE_MAX || !view_image_matches(v, s->id.image, image))
			continue;
		e->proc = v->proc_of[at];
		e->executions = 0;
		memcpy(e->n, c->n, sizeof(e->n));
		t->n++;
	}
	if (!t->n)
		return 0;
	qsort(t->v, t->n, sizeof(*t->v), by_proc);
	for (size_t i = 1; i < t->n; i++)
		if (t->v[k].proc == t->v[i].proc)
			sum(&t->v[k], &t->v[i]);
		else
			t->v[++k] = t->v[i];
	t->n = k + 1;
	/* Counts executions also of instructions that took no time. */
	for (k = 0; k < t->n; k++) {
		t->v[k].executions = v->proc[t->v[k].proc].sum.observed;
		sum(&t->all, &t->v[k]);
	}
	qsort(t->v, t->n, sizeof(*t->v), by_cycles);
	return 0;
}

static double in_cycles(const uint64_t *n, uint32_t parts)
{
	uint64_t ticks = 0;

	for (unsigned i = 0; i < TIMING_PART_N; i++)
		ticks += parts >> i & 1 ? n[i] : 0;
	return (double)ticks / TIMING_TICKS;
}

static struct cell each(double cycles, uint64_t executions)
{
	return executions ? cell_real(cycles / (double)executions) : cell_none();
}

static void print_text(struct table *t, size_t rows)
{
	const struct view *v = &t->r->view;
	struct column column[SHOWN + 4] = {
		{ NULL, "cycles", "%", 6, EMIT_RIGHT, EMIT_SHARE },
		{ NULL, "CPI", NULL, 5, EMIT_RIGHT, EMIT_REAL },
	};
	double total = cycles_total(t->all.n);
	struct cell cell[SHOWN + 4];
	char name[1024];

	for (unsigned i = 0; i < SHOWN; i++)
		column[2 + i] =
			(struct column){ NULL, shown[i].header, NULL, 5, EMIT_RIGHT, EMIT_REAL };
	column[SHOWN + 2] = (struct column){ NULL, "image", NULL, 13, EMIT_LEFT, EMIT_TEXT };
	column[SHOWN + 3] = (struct column){ NULL, "procedure", NULL, 0, EMIT_LEFT, EMIT_TEXT };
	emit_table(&t->r->emit, "cycles", column, SHOWN + 4);
	for (size_t k = 0; k <= rows; k++) {
		const struct entry *e = k ? &t->v[k - 1] : &t->all;
		const struct view_proc *p = k ? &v->proc[e->proc] : NULL;
		double cycles = cycles_total(e->n);

		cell[0] = total > 0 ? cell_real(cycles / total) : cell_none();
		cell[1] = each(cycles, e->executions);
		for (unsigned i = 0; i < SHOWN; i++)
			cell[2 + i] = each(in_cycles(e->n, shown[i].parts), e->executions);
		cell[SHOWN + 2] = cell_text(p ? v->image[p->image].name : "all");
		cell[SHOWN + 3] = cell_text(p ? view_proc_name(p, name, sizeof(name)) : "");
		emit_row(&t->r->emit, cell);
	}
}

static json_t *parts_json(const uint64_t *n)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < TIMING_PART_N; i++)
		json_object_set_new(o, cycle_part_name[i], json_real(in_cycles(n, 1u << i)));
	return o;
}

static const struct column json_columns[] = {
	{ "cycles", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	{ "executions", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	{ "cpi", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	{ "parts", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	{ "image", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "procedure", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "address", NULL, NULL, 0, EMIT_LEFT, EMIT_ADDR },
};

static void print_json(struct table *t, size_t rows, const char *machine)
{
	const struct view *v = &t->r->view;

	emit_table(&t->r->emit, "cycles", json_columns, 7);
	for (size_t k = 0; k < rows; k++) {
		const struct entry *e = &t->v[k];
		const struct view_proc *p = &v->proc[e->proc];
		char name[1024];
		const struct cell cell[] = {
			cell_real(cycles_total(e->n)),
			cell_count(e->executions),
			each(cycles_total(e->n), e->executions),
			cell_json(parts_json(e->n)),
			cell_text(v->image[p->image].name),
			cell_text(view_proc_name(p, name, sizeof(name))),
			p->end ? cell_count(p->start) : cell_none(),
		};

		emit_row(&t->r->emit, cell);
	}
	emit_set(&t->r->emit, "cycles_total",
		 json_pack("{s:f,s:I,s:o}", "cycles", cycles_total(t->all.n), "executions",
			   (json_int_t)t->all.executions, "parts", parts_json(t->all.n)));
	emit_set(&t->r->emit, "machine", emit_text_json(machine));
}

static const struct term terms[] = {
	{ "CPI", "simulated cycles an executed instruction; what follows are its parts" },
	{ "base", "instructions that retire at the core's full width" },
	{ "exec", "latencies of operations and of hits in the first level, and busy units" },
	{ "data", "data that the first level or the TLB did not have, and a full store buffer" },
	{ "code", "code that the first level or the TLB did not have" },
	{ "branch", "the front end's refill after mispredicted branches" },
	{ 0 },
};

int cycles_print(struct reading *r, const char *image, unsigned n)
{
	const char *machine = r->profile.nrun ? r->profile.run[0].machine : NULL;
	struct table t = { .r = r };
	size_t rows;

	if (!r->profile.cycles.chunks)
		return 0;
	if (collect(&t, image))
		return -1;
	rows = n && n < t.n ? n : t.n;
	emit_line(&r->emit, "%s", "");
	if (r->emit.json)
		print_json(&t, rows, machine);
	else
		print_text(&t, rows);
	if (!r->profile.misses.chunks)
		misses_machine(r, "Cycles are simulated");
	emit_terms(&r->emit, terms);
	free(t.v);
	return 0;
}

char *cycles_note(const struct cycles *c, uint64_t executions, char *buf, size_t n)
{
	double all = c && executions ? cycles_total(c->n) : 0;
	size_t len;

	buf[0] = 0;
	if (all <= 0 || in_cycles(c->n, 1u << TIMING_BASE) > all / 2)
		return buf;
	len = (size_t)snprintf(buf, n, "simulated %.2f cycles", all / (double)executions);
	for (unsigned i = 0; i < TIMING_PART_N && len < n; i++)
		if (in_cycles(c->n, 1u << i) > all / 10)
			len += (size_t)snprintf(buf + len, n - len, " %s %.0f%%",
						cycle_part_name[i],
						100 * in_cycles(c->n, 1u << i) / all);
	return buf;
}

json_t *cycles_json(const struct cycles *c)
{
	json_t *o = c ? parts_json(c->n) : NULL;

	if (o)
		json_object_set_new(o, "total", json_real(cycles_total(c->n)));
	return o;
}
