/* SPDX-License-Identifier: MIT */
#include "cmd/exact_samples.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "observe/scale.h"

static const struct profile *counted(const struct exact_samples *s)
{
	return s->apart ? &s->part : s->to;
}

/* Counts for each site how many batches have observed it. */
static void note_sites(struct exact_samples *s)
{
	struct profile *p = s->apart ? &s->part : s->to;
	struct site *site;

	SITES_COUNTED(&p->sites, site)
	{
		uint64_t before = s->apart ? 0 : site->seen;

		site->windows = (s->apart ? 0 : site->windows) + (site->observed != before);
		site->seen = site->observed;
	}
}

/* Computes what has been counted since the last batch. */
static struct sample_batch *end_batch(struct exact_samples *s, double weight)
{
	struct sample_batch *b = sampled_batch(s->sampled);
	uint64_t now[SAMPLED_N];

	if (!b)
		return NULL;
	sampled_count(counted(s), now);
	for (unsigned i = 0; i < SAMPLED_N; i++)
		b->n[i] = now[i] - s->before[i];
	memcpy(s->before, now, sizeof(now));
	b->weight = weight;
	note_sites(s);
	return b;
}

static int add_rows(struct exact_samples *s, const struct exact_sample *list, size_t n,
		    struct err *err)
{
	uint32_t batch = (uint32_t)s->sampled->nbatch - 1;

	for (size_t i = 0; i < n; i++) {
		struct sample one = { .number = list[i].number,
				      .begin = list[i].begin,
				      .end = list[i].end,
				      .pid = list[i].pid,
				      .batch = batch,
				      .cut = list[i].cut };

		if (sampled_add(s->sampled, &one))
			return err_no_memory(err, "samples");
	}
	return 0;
}

/* Adds the part to the recording and empties the part. */
static int add_part(struct exact_samples *s, double weight, struct err *err)
{
	if (profile_move(s->to, &s->part, weight, err))
		return -1;
	profile_limit_windows(s->to);
	sites_forget_notes(&s->to->sites);
	memset(s->before, 0, sizeof(s->before));
	return 0;
}

static int closed(void *arg, const struct exact_sample *list, size_t n, struct err *err)
{
	struct exact_samples *s = arg;
	double weight = schedule_weight(s->schedule, list[n - 1].number);

	if (!end_batch(s, weight))
		return err_no_memory(err, "samples");
	if (add_rows(s, list, n, err))
		return -1;
	return s->apart ? add_part(s, weight, err) : 0;
}

int exact_samples_begin(struct exact_samples *s, const struct schedule *schedule, const char *text,
			struct profile *to, struct profile **observed, struct err *err)
{
	memset(s, 0, sizeof(*s));
	s->schedule = schedule;
	s->to = to;
	*observed = to;
	if (schedule->kind == SCHEDULE_WHOLE)
		return 0;
	s->sampled = sampled_new(to, text);
	if (!s->sampled)
		return err_no_memory(err, "samples");
	s->sampled->size = schedule->size;
	s->sampled->warmup = schedule->warmup;
	s->sampled->expected = schedule->end;
	s->sampling = (struct exact_sampling){ s, closed };
	s->apart = schedule->kind != SCHEDULE_PERIODIC;
	if (!s->apart)
		return 0;
	if (profile_init(&s->part, err))
		return -1;
	s->part.method = to->method;
	s->part.capacity = to->capacity;
	s->part.conflict_distance = to->conflict_distance;
	s->part.sites.noting = s->to->sites.noting = true;
	*observed = &s->part;
	return 0;
}

int exact_samples_start(struct exact_samples *s, struct exact *e, struct err *err)
{
	const struct schedule *from = s->schedule;
	bool periodic = from->kind == SCHEDULE_PERIODIC;
	struct exact_schedule to = { .kind = periodic ? EXACT_PERIODIC : EXACT_LISTED,
				     .first = from->skip,
				     .period = from->period,
				     .size = from->size,
				     .warmup = from->warmup,
				     .warming = from->warming == SCHEDULE_WARM_LINES };
	uint64_t *starts;
	int rc;

	if (!s->sampled)
		return 0;
	to.n = periodic ? 0 : from->kind == SCHEDULE_SINGLE ? 1 : from->n;
	starts = calloc(to.n + 1, sizeof(*starts));
	if (!starts)
		return err_no_memory(err, "samples");
	starts[0] = from->skip;
	for (size_t i = 0; i < from->n && from->kind == SCHEDULE_TARGETED; i++)
		starts[i] = from->sample[i].start;
	rc = exact_schedule(e, &to, starts, &s->sampling, err);
	free(starts);
	return rc;
}

static int judge(struct exact_samples *s, uint64_t position, bool allow, struct err *err)
{
	const struct schedule *p = s->schedule;

	if (schedule_matches(p, position))
		return 0;
	s->sampled->mismatch = true;
	if (allow || s->sampled->killed)
		return 0;
	err_set(err, ERR_FAILED,
		"the run had %lu instructions, and the samples are of one that has %lu, or up to "
		"%lu more or less: the recording is not written",
		(unsigned long)position, (unsigned long)p->end,
		(unsigned long)schedule_fuzz(p->end));
	return err_hint(err, "other targets for this run, or --allow-mismatch");
}

/* Adds the remainder at the run's end: samples that were cut short, and those of an incomplete batch. */
static int end_last(struct exact_samples *s, const struct exact *e, struct err *err)
{
	size_t n;
	const struct exact_sample *list = exact_samples(e, &n);
	double weight = schedule_weight(s->schedule, n ? list[n - 1].number : 0);
	struct sample_batch *b = end_batch(s, weight);
	bool complete = n && !list[n - 1].cut;

	if (!b)
		return err_no_memory(err, "samples");
	if (!n && !b->n[SAMPLED_INSTRUCTIONS]) {
		s->sampled->nbatch--;
		return 0;
	}
	if (add_rows(s, list, n, err))
		return -1;
	if (s->apart && complete)
		return add_part(s, weight, err);
	b->dropped = s->apart;
	return 0;
}

int exact_samples_end(struct exact_samples *s, const struct exact *e, int status, bool allow,
		      struct err *err)
{
	if (!s->sampled)
		return 0;
	s->sampled->instructions = exact_position(e);
	s->sampled->killed = WIFSIGNALED(status);
	if (judge(s, s->sampled->instructions, allow, err) || end_last(s, e, err))
		return -1;
	s->part.sites.noting = s->to->sites.noting = false;
	if (s->apart) { /* names of procedures, which are found at the end */
		profile_scale(&s->part, 0);
		if (profile_merge(s->to, &s->part, err))
			return -1;
	}
	profile_limit_windows(s->to);
	if (!s->apart)
		profile_scale(s->to, schedule_weight(s->schedule, 0));
	s->sampled->scaled = true;
	if (s->apart && s->sampled->nbatch && s->sampled->batch[s->sampled->nbatch - 1].dropped)
		log_warn("the run ended within a sample, after %lu of its %lu instructions: the "
			 "sample is "
			 "left out",
			 (unsigned long)s->sampled->batch[s->sampled->nbatch - 1].n[0],
			 (unsigned long)s->sampled->size);
	else if (!s->sampled->n)
		log_warn("the run ended after %lu instructions, before the first sample was "
			 "complete: "
			 "nothing was observed",
			 (unsigned long)s->sampled->instructions);
	return 0;
}

void exact_samples_fini(struct exact_samples *s)
{
	if (s->apart)
		profile_fini(&s->part);
}
