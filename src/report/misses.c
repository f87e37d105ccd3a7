/* SPDX-License-Identifier: MIT */
#include "report/misses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "x86/insn.h"
#include "report/place.h"

struct entry {
	uint32_t proc;
	uint64_t n[MISS_KIND_N];
	uint64_t loads[MISS_KIND_N]; /* counts of instructions that load */
};

struct table {
	struct reading *r;
	struct entry *v;
	size_t n;
	uint64_t all[MISS_KIND_N];
};

/* Columns of a procedure; JSON has the rest. */
static const struct {
	enum miss_kind kind;
	const char *header;
} shown[] = {
	{ MISS_L1D, "L1d" },   { MISS_L2D, "L2d" }, { MISS_L3D, "L3d" },
	{ MISS_DTLB, "DTLB" }, { MISS_L1I, "L1i" }, { MISS_MISPREDICTED, "branch" },
};
#define SHOWN (sizeof(shown) / sizeof(shown[0]))

static int by_proc(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->proc > y->proc) - (x->proc < y->proc);
}

static uint64_t weight(const struct entry *e)
{
	return e->n[MISS_L1D] + e->n[MISS_L1I] + e->n[MISS_MISPREDICTED];
}

static int by_weight(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (weight(x) != weight(y))
		return weight(x) > weight(y) ? -1 : 1;
	return by_proc(a, b);
}

/* Whether the site loads; an instruction that only stores does not wait for its misses. */
static bool loads(const struct site *s)
{
	return s && s->cls != INSN_STORE && s->cls != INSN_CALL;
}

static int collect(struct table *t, const char *image)
{
	const struct view *v = &t->r->view;
	const struct profile *p = &t->r->profile;
	const struct site *s;
	const struct misses *m;
	size_t k = 0;

	t->v = calloc(p->sites.n + 1, sizeof(*t->v));
	if (!t->v)
		return -1;
	MISSES_EACH(p, s, m)
	{
		size_t at = place_index(v, s->id);

		if (at == SIZE_MAX || !view_image_matches(v, s->id.image, image))
			continue;
		t->v[t->n].proc = v->proc_of[at];
		memcpy(t->v[t->n].n, m->n, sizeof(m->n));
		memset(t->v[t->n].loads, 0, sizeof(m->n));
		if (loads(s))
			memcpy(t->v[t->n].loads, m->n, sizeof(m->n));
		t->n++;
		for (unsigned i = 0; i < MISS_KIND_N; i++)
			t->all[i] += m->n[i];
	}
	if (!t->n)
		return 0;
	qsort(t->v, t->n, sizeof(*t->v), by_proc);
	for (size_t i = 1; i < t->n; i++) {
		if (t->v[k].proc != t->v[i].proc) {
			t->v[++k] = t->v[i];
			continue;
		}
		for (unsigned m2 = 0; m2 < MISS_KIND_N; m2++) {
			t->v[k].n[m2] += t->v[i].n[m2];
			t->v[k].loads[m2] += t->v[i].loads[m2];
		}
	}
	t->n = k + 1;
	qsort(t->v, t->n, sizeof(*t->v), by_weight);
	return 0;
}

/* Counts of loads. */
static json_t *loads_json(const uint64_t *n)
{
	static const enum miss_kind kind[] = { MISS_ACCESSES, MISS_L1D,	 MISS_L2D,
					       MISS_L3D,      MISS_DTLB, MISS_DWALK };
	json_t *o = json_object();

	for (unsigned i = 0; i < sizeof(kind) / sizeof(kind[0]); i++)
		json_object_set_new(o, miss_kind_name[kind[i]],
				    json_integer((json_int_t)n[kind[i]]));
	return o;
}

static json_t *counts_json(const uint64_t *n)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < MISS_KIND_N; i++)
		json_object_set_new(o, miss_kind_name[i], json_integer((json_int_t)n[i]));
	return o;
}

/* Writes a count in six columns: 1,234 in full, then 12.3k, 4.56M. */
static char *short_count(uint64_t v, char *buf, size_t n)
{
	double d = (double)v;

	if (v < 10000)
		return fmt_count(v, buf, n);
	if (v < 1000000)
		snprintf(buf, n, "%.1fk", d / 1e3);
	else
		snprintf(buf, n, d < 1e9 ? "%.1fM" : "%.1fG", d / (d < 1e9 ? 1e6 : 1e9));
	return buf;
}

static void print_text(struct table *t, size_t rows)
{
	const struct view *v = &t->r->view;
	struct column column[SHOWN + 2];
	struct cell cell[SHOWN + 2];
	char text[SHOWN][32], name[1024];

	for (unsigned i = 0; i < SHOWN; i++)
		column[i] =
			(struct column){ NULL, shown[i].header, NULL, 6, EMIT_RIGHT, EMIT_TEXT };
	column[SHOWN] = (struct column){ NULL, "image", NULL, 13, EMIT_LEFT, EMIT_TEXT };
	column[SHOWN + 1] = (struct column){ NULL, "procedure", NULL, 0, EMIT_LEFT, EMIT_TEXT };
	emit_table(&t->r->emit, "misses", column, SHOWN + 2);
	for (size_t k = 0; k <= rows; k++) {
		const uint64_t *n = k ? t->v[k - 1].n : t->all;
		const struct view_proc *p = k ? &v->proc[t->v[k - 1].proc] : NULL;

		for (unsigned i = 0; i < SHOWN; i++)
			cell[i] =
				cell_text(short_count(n[shown[i].kind], text[i], sizeof(text[i])));
		cell[SHOWN] = cell_text(p ? v->image[p->image].name : "all");
		cell[SHOWN + 1] = cell_text(p ? view_proc_name(p, name, sizeof(name)) : "");
		emit_row(&t->r->emit, cell);
	}
}

static const struct column json_columns[] = {
	{ "counts", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	{ "loads", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	{ "image", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "procedure", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "address", NULL, NULL, 0, EMIT_LEFT, EMIT_ADDR },
};

static void print_json(struct table *t, size_t rows)
{
	const struct view *v = &t->r->view;
	const char *machine = t->r->profile.nrun ? t->r->profile.run[0].machine : NULL;

	emit_table(&t->r->emit, "misses", json_columns, 5);
	for (size_t k = 0; k < rows; k++) {
		const struct view_proc *p = &v->proc[t->v[k].proc];
		char name[1024];
		const struct cell cell[] = {
			cell_json(counts_json(t->v[k].n)),
			cell_json(loads_json(t->v[k].loads)),
			cell_text(v->image[p->image].name),
			cell_text(view_proc_name(p, name, sizeof(name))),
			p->end ? cell_count(p->start) : cell_none(),
		};

		emit_row(&t->r->emit, cell);
	}
	emit_set(&t->r->emit, "misses_total", counts_json(t->all));
	emit_set(&t->r->emit, "machine", emit_text_json(machine));
}

static const struct term terms[] = {
	{ "L1d, L2, L3, L1i", "lines that were missed in the simulated cache" },
	{ "DTLB", "pages that were missed in the simulated TLB" },
	{ "branch", "branches that the simulated predictor mispredicted" },
	{ 0 },
};

void misses_machine(struct reading *r, const char *remark)
{
	const char *machine = r->profile.nrun ? r->profile.run[0].machine : NULL;
	char text[2048];
	size_t n = 0;

	/* The text is wrapped after commas, so that --machine accepts it. */
	for (const char *p = machine ? machine : "?"; *p && n + 3 < sizeof(text); p++) {
		text[n++] = *p;
		if (*p == ',')
			text[n++] = ' ';
	}
	text[n] = 0;
	emit_footer(&r->emit, "%s: %s.", remark, text);
}

int misses_print(struct reading *r, const char *image, unsigned n)
{
	struct table t = { .r = r };
	size_t rows;

	if (!r->profile.misses.chunks)
		return 0;
	if (collect(&t, image))
		return -1;
	rows = n && n < t.n ? n : t.n;
	emit_line(&r->emit, "%s", "");
	if (r->emit.json)
		print_json(&t, rows);
	else
		print_text(&t, rows);
	misses_machine(r, r->profile.cycles.chunks ? "Cycles and misses are simulated"
						   : "Misses are simulated");
	emit_footer(&r->emit, "`assay annotate` shows instructions'.");
	emit_terms(&r->emit, terms);
	free(t.v);
	return 0;
}

static void note(char *buf, size_t n, const char *what, uint64_t missed, uint64_t of)
{
	size_t len = strlen(buf);
	char share[16];

	if (!missed)
		return;
	snprintf(buf + len, n - len, "%s%s %s%%", len ? " " : "", what,
		 fmt_percent(of ? (double)missed / (double)of : 1, share, sizeof(share)));
}

char *misses_note(const struct misses *m, char *buf, size_t n)
{
	buf[0] = 0;
	if (!m)
		return buf;
	note(buf, n, "l1d", m->n[MISS_L1D], m->n[MISS_ACCESSES]);
	note(buf, n, "l2d", m->n[MISS_L2D], m->n[MISS_ACCESSES]);
	note(buf, n, "l3d", m->n[MISS_L3D], m->n[MISS_ACCESSES]);
	note(buf, n, "dtlb", m->n[MISS_DTLB], m->n[MISS_ACCESSES]);
	note(buf, n, "l1i", m->n[MISS_L1I], m->n[MISS_FETCHES]);
	note(buf, n, "mispredicted", m->n[MISS_MISPREDICTED], m->n[MISS_BRANCHES]);
	return buf;
}

json_t *misses_json(const struct misses *m)
{
	return m ? counts_json(m->n) : NULL;
}
