/* SPDX-License-Identifier: MIT */
#include "report/targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "phase/judge.h"
#include "phase/spec.h"
#include "report/timeline.h"

/* share of the run that all samples together have, unless the user gives their length */
#define PART 0.02
/* silhouettes of phases that are far apart, and that are apart at all: Kaufman and Rousseeuw, "Finding groups in data", 1990 */
#define APART 0.7
#define LESS_APART 0.5
#define COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct term terms[] = {
	{ "weight",
	  "how many times a sample's counts stand for themselves, so that they sum up to the run" },
	{ "same code",
	  "share of the phase's instructions that its sample's blocks account for, in the sample's "
	  "proportions" },
	{ "far apart, apart, that overlap",
	  "how much closer intervals are to their own phase than to the next one: a silhouette of "
	  "at least 0.7, 0.5, or less (--json has it)" },
	{ "in the wrong blocks", "share of instructions that would have to move to other blocks to "
				 "make of the estimated run the "
				 "true one" },
	{ "targeted", "error of the samples' estimate, relative to the truth" },
	{ "systematic",
	  "root mean square error of as many intervals, evenly spaced, over all places to begin" },
	{ "+-",
	  "bound of systematic sampling with 95 % confidence, from the intervals' variation" },
	{ "wanted", "intervals that systematic sampling takes for +-3 % with 95 % confidence" },
	{ NULL, NULL },
};

struct plan {
	struct reading *r;
	const struct targets_options *o;
	const struct phases *p;
	struct clusters c;
	struct judgement j;
	struct spec spec;
	char *text; /* specification string */
};

static uint64_t shortest_sample(const struct plan *t)
{
	uint64_t least = UINT64_MAX;

	for (unsigned k = 0; k < t->c.k; k++) {
		const struct phase_interval *i = &t->p->interval[t->c.cluster[k].sample];

		if (i->end - i->start < least)
			least = i->end - i->start;
	}
	return least;
}

static uint64_t sample_size(const struct plan *t, size_t n)
{
	uint64_t size = shortest_sample(t);
	uint64_t most = (uint64_t)(PART * (double)t->c.instructions / (double)n);

	if (t->o->size > 0)
		return (uint64_t)t->o->size;
	if (size > most && most)
		size = most;
	return size;
}

/* Samples of a phase. */
static size_t samples_of(const struct plan *t, unsigned k)
{
	return t->o->spread ? spec_samples_of(&t->c, k, t->o->spread) : 1;
}

static size_t samples_in_all(const struct plan *t)
{
	size_t n = 0;

	if (t->o->systematic && t->o->samples)
		return t->o->samples;
	for (unsigned k = 0; k < t->c.k; k++)
		n += samples_of(t, k);
	return n;
}

static int make_spec(struct plan *t, struct err *err)
{
	size_t n = samples_in_all(t);
	uint64_t size = sample_size(t, n);
	uint64_t warmup = t->o->warmup < 0 ? size : (uint64_t)t->o->warmup;
	int rc = t->o->systematic
			 ? spec_systematic(&t->spec, t->c.instructions, n, size, warmup, err)
		 : t->o->spread
			 ? spec_spread(&t->spec, t->p, &t->c, t->o->spread, size, warmup, err)
			 : spec_targeted(&t->spec, t->p, &t->c, size, warmup, err);

	if (rc)
		return -1;
	t->text = spec_text(&t->spec);
	return t->text ? 0 : err_no_memory(err, "the report");
}

static void print_settings(const struct plan *t)
{
	struct emit *e = &t->r->emit;
	char *line = NULL;

	emit_set(e, "specification", json_string(t->text));
	emit_set(e, "sample_size", json_integer((json_int_t)t->spec.size));
	emit_set(e, "warmup_size", json_integer((json_int_t)t->spec.warmup));
	emit_set(e, "starts", json_integer((json_int_t)t->spec.n));
	if (e->json)
		return;
	if (t->o->spread && !t->o->settings) {
		emit_line(e,
			  "%zu samples are spread over the phases; the errors above are of one "
			  "interval",
			  t->spec.n);
		emit_line(e, "of each phase, as without --spread");
	}
	if (asprintf(&line, "ss_target_spec %s", t->text) >= 0)
		emit_whole(e, line);
	free(line);
	emit_line(e, "ss_sample_size %" PRIu64, t->spec.size);
	emit_line(e, "ss_warmup_size %" PRIu64, t->spec.warmup);
}

static void print_samples(const struct plan *t)
{
	static const struct column column[] = {
		{ "phase", "phase", NULL, 5, EMIT_RIGHT, EMIT_COUNT },
		{ "share", "share", "%", 8, EMIT_RIGHT, EMIT_SHARE },
		{ "intervals", "intervals", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
		{ "sample", "sample in", NULL, 18, EMIT_RIGHT, EMIT_COUNT },
		{ "weight", "weight", NULL, 11, EMIT_RIGHT, EMIT_REAL },
		{ "same_code", "same code", "%", 12, EMIT_RIGHT, EMIT_SHARE },
		{ "distance", NULL, NULL, 0, EMIT_RIGHT, EMIT_REAL },
	};
	struct emit *e = &t->r->emit;

	emit_table(e, "phases", column, COUNT_OF(column));
	for (unsigned k = 0; k < t->c.k; k++) {
		const struct cluster *one = &t->c.cluster[k];

		emit_row(e, (struct cell[COUNT_OF(column)]){
				    cell_count(k + 1),
				    cell_real(one->share),
				    cell_count(one->intervals),
				    cell_count(t->p->interval[one->sample].start),
				    cell_real((double)one->instructions / (double)samples_of(t, k) /
					      (double)t->spec.size),
				    cell_real(one->held),
				    cell_real(one->distance),
			    });
	}
	emit_line(e, "%s", "");
}

static void print_fit(const struct plan *t)
{
	struct emit *e = &t->r->emit;
	char chosen[64];

	if (e->json) {
		json_t *bic = json_array();

		for (unsigned k = 1; k <= t->c.tried; k++)
			json_array_append_new(bic, json_real(t->c.bic[k]));
		emit_set(e, "bic", bic);
		emit_set(e, "within", json_real(t->c.within));
		emit_set(e, "between", json_real(t->c.between));
		emit_set(e, "silhouette", json_real(t->c.silhouette));
		emit_set(e, "same_code", json_real(t->c.held));
		emit_set(e, "last_sample", json_real(t->c.early_end));
		return;
	}
	if (t->c.tried)
		snprintf(chosen, sizeof(chosen), " chosen of up to %u", t->c.tried);
	else
		snprintf(chosen, sizeof(chosen), " as asked for");
	emit_heading(e, "%u phase%s%s, %s", t->c.k, plural(t->c.k), chosen,
		     t->c.silhouette >= APART	     ? "far apart"
		     : t->c.silhouette >= LESS_APART ? "apart"
						     : "that overlap");
	emit_heading(
		e, "samples have the same code as %.1f %% of the run; the last one ends at %.1f %%",
		100 * t->c.held, 100 * t->c.early_end);
	emit_line(e, "%s", "");
}

static void print_errors(const struct plan *t)
{
	static const struct column column[] = {
		{ "quantity", "per 1000 instructions", NULL, 22, EMIT_LEFT, EMIT_TEXT },
		{ "truth", "true", NULL, 8, EMIT_RIGHT, EMIT_REAL },
		{ "targeted_error", "targeted", "%", 10, EMIT_RIGHT, EMIT_SHARE },
		{ "systematic_error", "systematic", "%", 12, EMIT_RIGHT, EMIT_SHARE },
		{ "bound", "+-", "%", 7, EMIT_RIGHT, EMIT_SHARE },
		{ "wanted", "wanted", NULL, 7, EMIT_RIGHT, EMIT_COUNT },
		{ "variation", NULL, NULL, 0, EMIT_RIGHT, EMIT_REAL },
		{ "what", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	};
	struct emit *e = &t->r->emit;

	emit_table(e, "errors", column, COUNT_OF(column));
	for (int q = 0; q < JUDGE_QUANTITY_N; q++) {
		const struct judged *one = &t->j.of[q];

		emit_row(e, (struct cell[COUNT_OF(column)]){
				    cell_text(judge_quantity_key[q]), cell_real(one->truth),
				    cell_real(one->targeted), cell_real(one->systematic),
				    cell_real(one->bound), cell_count((uint64_t)one->wanted),
				    cell_real(one->variation), cell_text(judge_quantity_what[q]) });
	}
	emit_line(e, "%s", "");
}

/* Compares both choices by the estimates that the recording allows. */
static void print_choice(const struct plan *t)
{
	struct emit *e = &t->r->emit;
	const struct judgement *j = &t->j;
	bool targeted = j->targeted <= j->systematic;

	emit_set(e, "targeted", json_real(j->targeted));
	emit_set(e, "systematic", json_real(j->systematic));
	emit_set(e, "suits", json_string(targeted ? "targeted" : "systematic"));
	emit_set(e, "samples", json_integer((json_int_t)j->samples));
	emit_set(e, "spaced", json_integer((json_int_t)j->spaced));
	if (e->json)
		return;
	emit_heading(e,
		     "in the wrong blocks: %.2f %% by %zu targeted intervals, %.2f %% by %zu "
		     "evenly spaced",
		     100 * j->targeted, j->samples, 100 * j->systematic, j->spaced);
	emit_footer(
		e, "%s suits this program better: %s",
		targeted ? "targeted sampling" : "systematic sampling (--systematic)",
		targeted ? "its phases are uniform enough that one interval stands for each"
			 : "intervals of one phase differ more from each other than intervals that "
			   "are spread over the run do from the whole");
}

static void print_all(const struct plan *t)
{
	struct emit *e = &t->r->emit;

	reading_heading(t->r);
	timeline_heading(t->r, t->p);
	print_fit(t);
	timeline_draw(t->r, t->p, &t->c);
	print_samples(t);
	print_errors(t);
	print_choice(t);
	emit_line(e, "%s", "");
	print_settings(t);
	emit_terms(e, terms);
}

int targets_print(struct reading *r, const struct targets_options *o, struct err *err)
{
	struct plan t = { .r = r, .o = o, .p = timeline_process(r, o->process, err) };
	const struct clusters_options how = {
		.k = o->systematic ? 0 : o->samples,
		.most = o->most,
		.least = o->least / 100,
		.early = o->early,
		.sample = (uint64_t)o->size,
	};
	int rc;

	if (!t.p || clusters_find(&t.c, t.p, &how, err))
		return -1;
	rc = judge(&t.j, &r->profile, t.p, &t.c, o->systematic ? o->samples : 0, err) ||
			     make_spec(&t, err) ||
			     (o->svg && timeline_svg(r, o->svg, t.p, &t.c, err))
		     ? -1
		     : 0;
	if (!rc && o->settings && !r->emit.json)
		print_settings(&t);
	else if (!rc)
		print_all(&t);
	clusters_fini(&t.c);
	spec_fini(&t.spec);
	free(t.text);
	return rc;
}
