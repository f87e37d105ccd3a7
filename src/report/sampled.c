/* SPDX-License-Identifier: MIT */
#include "report/sampled.h"

#include <math.h>
#include <stdio.h>

#include "base/fmt.h"
#include "observe/sampled.h"

static uint64_t cut_samples(const struct sampled *s, bool dropped)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->sample[i].cut && s->sample[i].batch < s->nbatch &&
		     s->batch[s->sample[i].batch].dropped == dropped;
	return n;
}

/* Counts samples; the parts of a sample that was cut by a change of image or process count as
 * one. */
static uint64_t samples_of(const struct sampled *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += !i || s->sample[i].number != s->sample[i - 1].number ||
		     s->sample[i].pid != s->sample[i - 1].pid;
	return n;
}

static double share(const struct sampled *s)
{
	uint64_t all = s->instructions;

	return all ? 100.0 * (double)sampled_observed(s) / (double)all : 0;
}

static void doubts(struct reading *r, const struct sampled *s)
{
	char is[32], should[32];
	uint64_t dropped = cut_samples(s, true), cut = cut_samples(s, false);

	if (s->mismatch)
		emit_line(&r->emit, "another run than the targets are of: %s instructions, not %s",
			  fmt_count(s->instructions, is, sizeof(is)),
			  fmt_count(s->expected, should, sizeof(should)));
	if (dropped)
		emit_line(&r->emit, "the run ended within a sample, which is left out");
	if (cut)
		emit_line(&r->emit, "%lu sample%s ended early, with %s process%s",
			  (unsigned long)cut, cut == 1 ? "" : "s", cut == 1 ? "its" : "their",
			  cut == 1 ? "" : "es");
	if (!s->scaled)
		emit_line(&r->emit, "the recorder was killed: counts are those of samples alone");
}

void sampled_heading(struct reading *r)
{
	for (size_t i = 0; i < r->profile.nsampled; i++) {
		const struct sampled *s = r->profile.sampled[i];
		char n[32], all[32];

		emit_heading(&r->emit,
			     "observed: %.3g %% of %s instructions, in %s samples; counts are "
			     "estimates of all",
			     share(s), fmt_count(s->instructions, all, sizeof(all)),
			     fmt_count(samples_of(s), n, sizeof(n)));
		doubts(r, s);
	}
}

json_t *sampled_share_json(const struct reading *r)
{
	double observed = 0, all = 0;

	for (size_t i = 0; i < r->profile.nsampled; i++) {
		observed += (double)sampled_observed(r->profile.sampled[i]);
		all += (double)r->profile.sampled[i]->instructions;
	}
	return all > 0 ? json_real(observed / all) : json_null();
}

static json_t *samples_json(const struct sampled *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct sample *m = &s->sample[i];
		bool known = m->batch < s->nbatch;

		json_array_append_new(
			list, json_pack("{s:I,s:I,s:I,s:I,s:I,s:f,s:b,s:b}", "number",
					(json_int_t)m->number, "begin", (json_int_t)m->begin, "end",
					(json_int_t)m->end, "pid", (json_int_t)m->pid, "batch",
					(json_int_t)m->batch, "weight",
					known ? s->batch[m->batch].weight : 0.0, "cut", (int)m->cut,
					"dropped", known && s->batch[m->batch].dropped));
	}
	return list;
}

static json_t *batches_json(const struct sampled *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->nbatch; i++) {
		const struct sample_batch *b = &s->batch[i];
		json_t *o = json_pack("{s:f,s:b}", "weight", b->weight, "dropped", (int)b->dropped);

		for (unsigned k = 0; o && k < SAMPLED_N; k++)
			if (b->n[k])
				json_object_set_new(o, sampled_counter_name(k),
						    json_integer((json_int_t)b->n[k]));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *totals_json(const struct sampled *s)
{
	json_t *o = json_object();

	for (unsigned k = 0; k < SAMPLED_N; k++) {
		double error, total = sampled_total(s, k, &error);

		if (total > 0)
			json_object_set_new(o, sampled_counter_name(k),
					    json_pack("{s:f,s:o}", "total", total, "error",
						      error < 0 ? json_null() : json_real(error)));
	}
	return o;
}

static json_t *one_json(const struct sampled *s)
{
	return json_pack("{s:o,s:I,s:I,s:I,s:I,s:o,s:b,s:b,s:b,s:o,s:o,s:o}", "schedule",
			 emit_text_json(s->schedule), "size", (json_int_t)s->size, "warmup",
			 (json_int_t)s->warmup, "instructions", (json_int_t)s->instructions,
			 "observed", (json_int_t)sampled_observed(s), "expected",
			 s->expected ? json_integer((json_int_t)s->expected) : json_null(),
			 "mismatch", (int)s->mismatch, "killed", (int)s->killed, "scaled",
			 (int)s->scaled, "totals", totals_json(s), "batches", batches_json(s),
			 "samples", samples_json(s));
}

static const struct column total_columns[] = {
	{ NULL, "total", NULL, 17, EMIT_RIGHT, EMIT_COUNT },
	{ NULL, "+-", "%", 7, EMIT_RIGHT, EMIT_REAL },
	{ NULL, "counter", NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

static void print_totals(struct reading *r, const struct sampled *s)
{
	emit_line(&r->emit, "%s", "");
	emit_table(&r->emit, NULL, total_columns, 3);
	for (unsigned k = 0; k < SAMPLED_N; k++) {
		double error, total = sampled_total(s, k, &error);
		const struct cell cell[] = {
			cell_count((uint64_t)llround(total)),
			cell_real(error < 0 ? NAN : 100 * error / total),
			cell_text(sampled_counter_name(k)),
		};

		if (total > 0)
			emit_row(&r->emit, cell);
	}
}

void sampled_print(struct reading *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->profile.nsampled; i++) {
		const struct sampled *s = r->profile.sampled[i];
		char n[32], size[32], warmup[32];

		if (r->emit.json) {
			json_array_append_new(list, one_json(s));
			continue;
		}
		emit_line(&r->emit, "%s", "");
		emit_line(&r->emit, "schedule %s", s->schedule);
		emit_line(&r->emit, "%s samples of %s instructions, each warmed up by %s",
			  fmt_count(samples_of(s), n, sizeof(n)),
			  fmt_count(s->size, size, sizeof(size)),
			  fmt_count(s->warmup, warmup, sizeof(warmup)));
		print_totals(r, s);
	}
	if (json_array_size(list))
		emit_set(&r->emit, "schedules", list);
	else
		json_decref(list);
}
