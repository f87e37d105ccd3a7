/* SPDX-License-Identifier: MIT */
#include "report/coproc.h"

#include <stdlib.h>
#include <string.h>

#include "report/emit.h"

#define COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct column part_columns[] = {
	{ "structure", "structure", NULL, 24, EMIT_LEFT, EMIT_TEXT },
	{ "size", "size", NULL, 24, EMIT_LEFT, EMIT_TEXT },
	{ "reads", "reads", NULL, 5, EMIT_RIGHT, EMIT_COUNT },
	{ "writes", "writes", NULL, 6, EMIT_RIGHT, EMIT_COUNT },
	{ "bits", "bits", NULL, 6, EMIT_RIGHT, EMIT_COUNT },
	{ "transistors", "transistors", NULL, 0, EMIT_RIGHT, EMIT_COUNT },
};

static void put_part(struct emit *e, const struct spec_part *p)
{
	bool memory = p->bits != 0;
	const struct cell cell[] = {
		cell_text(p->name),
		cell_text(p->size),
		memory ? cell_count(p->reads) : cell_blank_if(true, cell_none()),
		memory ? cell_count(p->writes) : cell_blank_if(true, cell_none()),
		memory ? cell_count(p->bits) : cell_blank_if(true, cell_none()),
		cell_count(p->transistors),
	};

	emit_row(e, cell);
}

void coproc_print_info(const struct spec *s, bool json, struct err *err)
{
	struct spec_part part[SPEC_PARTS];
	unsigned n = spec_parts(s, part);
	uint64_t transistors = 0, bits = 0;
	struct emit e;

	emit_open(&e, "coproc", json, false, false);
	emit_table(&e, "structures", part_columns, COUNT_OF(part_columns));
	for (unsigned i = 0; i < n; i++) {
		put_part(&e, &part[i]);
		transistors += part[i].transistors;
		bits += part[i].bits;
	}
	emit_set(&e, "transistors", json_integer((json_int_t)transistors));
	emit_set(&e, "bits", json_integer((json_int_t)bits));
	emit_footer(
		&e,
		"%.1f KiB of storage, %.2f million transistors (an estimate); one cycle is %u of "
		"the main processor's.",
		(double)bits / 8192, (double)transistors / 1e6, s->ratio);
	emit_footer(&e, "%s", "`assay coproc info --description` prints all parameters.");
	emit_close(&e, err);
}

/* Draws a figure with its label. */
static void item(struct emit *e, const char *key, const char *label, enum emit_kind kind,
		 struct cell cell, const char *note)
{
	const char *unit = kind == EMIT_SHARE ? "%" : NULL;
	const struct column c = { key, label, unit, 24, EMIT_LEFT, kind };

	emit_item(e, &c, cell, note);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void put_run(struct emit *e, const struct lab *l, const struct coproc_totals *t)
{
	const struct feed_counts *n = &l->f.n;
	const struct copro *c = &l->c;

	item(e, "instructions", "instructions", EMIT_COUNT, cell_count(t->instructions), NULL);
	item(e, "cycles", "cycles", EMIT_COUNT, cell_count(t->cycles),
	     t->timed ? "by the core model" : "four instructions each");
	item(e, "offered", "of classes asked for", EMIT_COUNT, cell_count(n->offered), NULL);
	item(e, "passed", "passed by the filters", EMIT_COUNT, cell_count(n->passed), NULL);
	item(e, "dropped", "dropped, buffer full", EMIT_COUNT, cell_count(n->dropped), NULL);
	item(e, "unknown", "loads of unknown value", EMIT_COUNT, cell_count(l->unknown), NULL);
	item(e, "words", "microcode words", EMIT_COUNT, cell_count(c->words), NULL);
	item(e, "branches", "branches of microcode", EMIT_COUNT, cell_count(c->branches), NULL);
	item(e, "mispredicted", "of these mispredicted", EMIT_COUNT, cell_count(c->mispredicted),
	     NULL);
	item(e, "busy", "co-processor busy", EMIT_SHARE,
	     cell_real(ratio((double)n->busy, (double)t->cycles)), NULL);
	item(e, "deepest", "bytes in the buffer", EMIT_COUNT, cell_count(n->deepest), "at most");
	item(e, "interrupts", "interrupts", EMIT_COUNT, cell_count(n->interrupts), NULL);
	item(e, "timers", "timer interrupts", EMIT_COUNT, cell_count(n->timers), NULL);
	item(e, "bus", "bus operations", EMIT_COUNT, cell_count(n->bus), NULL);
	item(e, "overhead_cycles", "overhead, cycles", EMIT_COUNT, cell_count(n->overhead), NULL);
	item(e, "overhead", "overhead", EMIT_SHARE,
	     cell_real(ratio((double)n->overhead, (double)t->cycles)), NULL);
	item(e, "speed", "simulated a second", EMIT_COUNT,
	     cell_count((uint64_t)ratio((double)t->instructions, t->seconds)),
	     "instructions, by the recorder's CPU time");
}

static void put_values(struct emit *e, const struct lab *l)
{
	const struct host_values *h = &l->of_values;

	item(e, "loads", "loads in the table", EMIT_COUNT, cell_count(h->table.n), NULL);
	item(e, "records", "slots recorded", EMIT_COUNT, cell_count(h->records), NULL);
	item(e, "masked", "loads masked", EMIT_COUNT, cell_count(h->masked), NULL);
	item(e, "thrashes", "thrashing detected", EMIT_COUNT, cell_count(h->thrashes), NULL);
	item(e, "resampled", "loads sampled again", EMIT_COUNT, cell_count(h->resampled), NULL);
}

void coproc_print_run(const struct lab *l, const struct coproc_totals *t, bool json,
		      struct err *err)
{
	struct emit e;

	emit_open(&e, "coproc", json, false, false);
	emit_set(&e, "program", emit_text_json(l->o.program->name));
	put_run(&e, l, t);
	if (l->values)
		put_values(&e, l);
	else
		item(&e, "pairs", "pairs in the table", EMIT_COUNT,
		     cell_count(HASH_COUNT(l->of_counts.pairs)), NULL);
	emit_close(&e, err);
}

/* Tables of a study. */

static const struct column study_columns[] = {
	{ "profiler", "profiler", NULL, 14, EMIT_LEFT, EMIT_TEXT },
	{ "error", "RMS error", "%", 9, EMIT_RIGHT, EMIT_SHARE },
	{ "overhead", "overhead", "%", 8, EMIT_RIGHT, EMIT_SHARE },
	{ "overhead_cycles", "cycles", NULL, 11, EMIT_RIGHT, EMIT_COUNT },
	{ "samples", "samples", NULL, 11, EMIT_RIGHT, EMIT_COUNT },
	{ "interrupts", "interrupts", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
	{ "loads", "loads", NULL, 7, EMIT_RIGHT, EMIT_COUNT },
};

static void put_profiler(struct emit *e, const char *name, double error, uint64_t overhead,
			 uint64_t cycles, uint64_t samples, uint64_t interrupts, uint64_t loads)
{
	const struct cell cell[] = {
		cell_text(name),
		cell_real(error),
		cell_real(ratio((double)overhead, (double)cycles)),
		cell_count(overhead),
		cell_count(samples),
		cell_count(interrupts),
		cell_count(loads),
	};

	emit_row(e, cell);
}

static const struct column curve_columns[] = {
	{ "cycles", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
	{ "overhead_cycles", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
	{ "error", NULL, NULL, 0, EMIT_RIGHT, EMIT_REAL },
	{ "simple_overhead_cycles", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
	{ "simple_error", NULL, NULL, 0, EMIT_RIGHT, EMIT_REAL },
};

static void put_curve(struct emit *e, const struct lab *l)
{
	if (!e->json)
		return;
	emit_table(e, "curve", curve_columns, COUNT_OF(curve_columns));
	for (unsigned i = 0; i < l->npicture; i++) {
		const struct lab_picture *p = &l->picture[i];
		const struct cell cell[] = {
			cell_count(p->now),
			cell_count(p->overhead),
			cell_real(truth_error(&l->truth, p->estimate, p->n)),
			cell_count(p->simple_overhead),
			cell_real(truth_error(&l->truth, p->simple, p->simple_n)),
		};

		emit_row(e, cell);
	}
}

/* The number of loads that make up 99 % of the executions: the instruction working set. */
static int by_executions(const void *a, const void *b)
{
	const struct truth_load *x = a, *y = b;

	return x->n > y->n ? -1 : x->n < y->n;
}

static uint64_t working_set(const struct truth *t)
{
	struct truth_load *copy = malloc((t->nload + 1) * sizeof(*copy));
	uint64_t all = 0, sum = 0, n = 0;

	if (!copy)
		return 0;
	memcpy(copy, t->load, t->nload * sizeof(*copy));
	for (size_t i = 0; i < t->nload; i++)
		all += copy[i].n;
	qsort(copy, t->nload, sizeof(*copy), by_executions);
	while (n < t->nload && sum * 100 < all * 99)
		sum += copy[n++].n;
	free(copy);
	return n;
}

/* The values that contribute most to the error. */

#define WORST 10

static const struct column worst_columns[] = {
	{ "error", "of error", "%", 8, EMIT_RIGHT, EMIT_SHARE },
	{ "address", "load", NULL, 8, EMIT_RIGHT, EMIT_ADDR },
	{ "value", "value", NULL, 12, EMIT_RIGHT, EMIT_HEX },
	{ "executions", "times", NULL, 12, EMIT_RIGHT, EMIT_COUNT },
	{ "share", "true", "%", 6, EMIT_RIGHT, EMIT_SHARE },
	{ "estimate", "estimated", "%", 9, EMIT_RIGHT, EMIT_SHARE },
	{ "simple", "simple", "%", 6, EMIT_RIGHT, EMIT_SHARE },
};

struct worst {
	const struct truth_sum *s;
	uint32_t pc;
	double error, share, estimate;
};

static double estimated(const struct estimate *e, size_t n, uint32_t pc, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; e[i].pc == pc && k < e[i].n; k++)
			if (e[i].value[k] == value)
				return (double)e[i].share[k];
	return 0;
}

/* Inserts into the list of the worst, which stays sorted. */
static void insert(struct worst list[WORST], struct worst w)
{
	unsigned i = WORST;

	while (i > 0 && list[i - 1].error < w.error) {
		if (i < WORST)
			list[i] = list[i - 1];
		i--;
	}
	if (i < WORST)
		list[i] = w;
}

/* What a value adds to the weighted sum of squared errors if its share is estimated as `estimate`. */
static double excess(const struct truth_sum *s, double estimate)
{
	double share = s->squares / s->n;

	return s->n * (estimate - share) * (estimate - share);
}

static void find_worst(const struct lab *l, const struct lab_picture *p, struct worst list[WORST])
{
	for (size_t i = 0; i < l->truth.sums; i++) {
		const struct truth_sum *s = &l->truth.sum[i];
		struct worst w = { .s = s };

		/* no estimate can make the contribution larger than this */
		if (!s->key || s->n <= list[WORST - 1].error)
			continue;
		w.pc = l->truth.load[(s->key >> 32) - 1].pc;
		w.share = s->squares / s->n;
		w.estimate = estimated(p->estimate, p->n, w.pc, (uint32_t)s->key);
		w.error = excess(s, w.estimate);
		insert(list, w);
	}
}

static void put_worst(struct emit *e, const struct lab *l)
{
	const struct lab_picture *last = &l->picture[l->npicture - 1];
	double error = truth_error(&l->truth, last->estimate, last->n);
	struct worst list[WORST] = { 0 };

	find_worst(l, last, list);
	emit_line(e, "%s", "");
	emit_table(e, "worst", worst_columns, COUNT_OF(worst_columns));
	for (unsigned i = 0; i < WORST && list[i].s; i++) {
		uint32_t value = (uint32_t)list[i].s->key;
		const struct cell cell[] = {
			cell_real(ratio(list[i].error, error * error * l->truth.executions)),
			cell_count(list[i].pc),
			cell_count(value),
			cell_count((uint64_t)list[i].s->n),
			cell_real(list[i].share),
			cell_real(list[i].estimate),
			cell_real(estimated(last->simple, last->simple_n, list[i].pc, value)),
		};

		emit_row(e, cell);
	}
	emit_footer(
		e, "%s",
		"load: where the co-processor sees it, image number times 256 MiB and its address");
}

void coproc_print_study(const struct lab *l, const struct coproc_totals *t, bool json,
			struct err *err)
{
	const struct lab_picture *last = &l->picture[l->npicture - 1];
	struct emit e;

	emit_open(&e, "coproc", json, false, false);
	emit_table(&e, "profilers", study_columns, COUNT_OF(study_columns));
	put_profiler(&e, "co-processor", truth_error(&l->truth, last->estimate, last->n),
		     l->f.n.overhead, t->cycles, l->f.n.done, l->f.n.interrupts + l->f.n.timers,
		     l->of_values.table.n);
	put_profiler(&e, "simple", truth_error(&l->truth, last->simple, last->simple_n),
		     l->simple.overhead, t->cycles, l->simple.samples, l->simple.interrupts,
		     l->simple.table.n);
	emit_line(&e, "%s", "");
	item(&e, "loads", "loads", EMIT_COUNT, cell_count(l->truth.nload), "instructions that ran");
	item(&e, "working_set", "working set", EMIT_COUNT, cell_count(working_set(&l->truth)),
	     "of these make 99 % of executions");
	item(&e, "executions", "executions", EMIT_COUNT, cell_count((uint64_t)l->truth.executions),
	     "of loads");
	item(&e, "left_out", "left out", EMIT_COUNT, cell_count(l->truth.left_out),
	     "executions of values that were too many to count");
	put_run(&e, l, t);
	put_values(&e, l);
	put_worst(&e, l);
	put_curve(&e, l);
	emit_close(&e, err);
}
