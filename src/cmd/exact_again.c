/* SPDX-License-Identifier: MIT */
#include "cmd/exact_again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/log.h"
#include "base/text.h"
#include "observe/sampled.h"
#include "store/recording.h"

#define NEAR 10000 /* several times the least number of instructions that threads are granted */

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* Samples of the same number begin at the same instruction; with several threads, near it. */
static bool same_places(const struct sampled *a, const struct sampled *b)
{
	size_t n = a->n < b->n ? a->n : b->n;

	for (size_t i = 0; i < n && i < 2; i++) {
		uint64_t x = a->sample[i].begin, y = b->sample[i].begin;

		if (a->sample[i].number == b->sample[i].number && (x > y ? x - y : y - x) > NEAR)
			return false;
	}
	return a->expected == b->expected;
}

static bool comparable(const struct profile *p, const struct profile *old)
{
	const struct run *a = p->run, *b = old->run;
	const struct sampled *s, *t;

	if (old->nrun != 1 || p->nrun != 1 || !p->nsampled || !old->nsampled)
		return false;
	s = p->sampled[0];
	t = old->sampled[0];
	return a->finished && b->finished && !s->killed && !t->killed && s->scaled && t->scaled &&
	       same_text(a->command, b->command) && same_text(a->event, b->event) &&
	       same_text(a->machine, b->machine) && same_text(a->source, b->source) &&
	       same_text(s->schedule, t->schedule) && s->size == t->size &&
	       s->warmup == t->warmup && same_places(s, t);
}

static bool has_image(const struct profile *p, const struct profile_image *i)
{
	for (size_t k = 0; k < p->nimage; k++)
		if (p->image[k]->kind == i->kind && same_text(p->image[k]->path, i->path) &&
		    same_text(p->image[k]->build_id, i->build_id))
			return true;
	return false;
}

/* Whether both runs executed the same files. */
static bool same_code(const struct profile *p, const struct profile *old)
{
	for (size_t i = 0; i < old->nimage; i++)
		if (!has_image(p, old->image[i]))
			return false;
	return true;
}

static void say_difference(const struct sampled_difference *d, bool code, const char *old)
{
	char text[256] = "", where[128] = "", name[1024], a[32], b[32];

	if (d->instructions[0] != d->instructions[1])
		snprintf(text, sizeof(text), "%s instructions, then %s",
			 fmt_count(d->instructions[1], a, sizeof(a)),
			 fmt_count(d->instructions[0], b, sizeof(b)));
	else if (d->counter)
		snprintf(text, sizeof(text), "%s: %.0f, then %.0f", d->counter, d->total[1],
			 d->total[0]);
	else
		snprintf(text, sizeof(text), "%lu samples, then %lu", (unsigned long)d->samples[1],
			 (unsigned long)d->samples[0]);
	if (d->located)
		snprintf(where, sizeof(where), ", from the sample at %lu instructions on",
			 (unsigned long)d->begin);
	log_warn("counts are of this run alone: the same command counted otherwise the last time, "
		 "in %s (%s%s). %s",
		 text_copy(old, name, sizeof(name)), text, where,
		 code ? "Unless its input has changed, the program is not deterministic"
		      : "It executed other files then");
}

void exact_again(const struct profile *p, const char *path, bool quiet)
{
	struct sampled_difference d;
	struct profile before;
	char old[4096], name[1024];
	struct err err;

	if ((size_t)snprintf(old, sizeof(old), "%s.old", path) >= sizeof(old) ||
	    access(old, R_OK) || profile_init(&before, &err))
		return;
	if (!recording_read_samples(old, &before, &err) && comparable(p, &before)) {
		if (sampled_differ(p->sampled[0], before.sampled[0], &d))
			say_difference(&d, same_code(p, &before), old);
		else if (!quiet)
			fprintf(stderr,
				"[ the same counts as in %s: this run can be reproduced ]\n",
				text_copy(old, name, sizeof(name)));
	}
	profile_fini(&before);
}
