/* SPDX-License-Identifier: MIT */
#include "phase/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEM 64 /* largest number of characters of a weight and a start */

static int by_start(const void *a, const void *b)
{
	const struct spec_sample *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int begin(struct spec *s, size_t n, uint64_t end, uint64_t size, uint64_t warmup,
		 struct err *err)
{
	*s = (struct spec){ .n = n, .size = size, .warmup = warmup, .end = end };
	s->sample = calloc(n + 1, sizeof(*s->sample));
	return s->sample ? 0 : err_no_memory(err, "phases");
}

/* Reports that the sample of phase k is longer than the interval it is to be taken from. */
static int too_long(struct spec *s, unsigned k, uint64_t size, uint64_t length, struct err *err)
{
	spec_fini(s);
	err_set(err, ERR_FAILED,
		"a sample of %" PRIu64 " instructions is longer than the interval that "
		"stands for phase %u, of %" PRIu64,
		size, k + 1, length);
	return err_hint(err, "--sample-size %" PRIu64 ", or record with a longer --interval",
			length);
}

int spec_targeted(struct spec *s, const struct phases *p, const struct clusters *c, uint64_t size,
		  uint64_t warmup, struct err *err)
{
	if (begin(s, c->k, c->instructions, size, warmup, err))
		return -1;
	for (unsigned k = 0; k < c->k; k++) {
		const struct phase_interval *i = &p->interval[c->cluster[k].sample];
		uint64_t length = i->end - i->start;

		if (length < size)
			return too_long(s, k, size, length, err);
		s->sample[k].start = i->start + (length - size) / 2;
		s->sample[k].weight = (double)c->cluster[k].instructions / (double)size;
	}
	qsort(s->sample, s->n, sizeof(*s->sample), by_start);
	return 0;
}

size_t spec_samples_of(const struct clusters *c, unsigned k, size_t spread)
{
	const struct cluster *one = &c->cluster[k];
	double unlike =
		c->within > 0 ? one->distance / c->within : 1; /* 1 in the mean of the run */
	double n = (double)spread * one->share * (1 + unlike) / 2 + 0.5;

	return n < 1 ? 1 : n < (double)one->intervals ? (size_t)n : one->intervals;
}

/* Adds n samples of one phase, spread evenly over those of its intervals that are long enough; room[] has the numbers
 * of these. */
static void spread_over(struct spec *s, const struct phases *p, const size_t *room, size_t nroom,
			size_t n, double instructions)
{
	for (size_t i = 0; i < n; i++) {
		const struct phase_interval *in = &p->interval[room[(2 * i + 1) * nroom / (2 * n)]];

		s->sample[s->n++] = (struct spec_sample){
			.start = in->start + (in->end - in->start - s->size) / 2,
			.weight = instructions / (double)n / (double)s->size,
		};
	}
}

int spec_spread(struct spec *s, const struct phases *p, const struct clusters *c, size_t spread,
		uint64_t size, uint64_t warmup, struct err *err)
{
	size_t *room = calloc(c->n + 1, sizeof(*room));

	if (!room)
		return err_no_memory(err, "phases");
	if (begin(s, c->n, c->instructions, size, warmup, err)) { /* no more than intervals */
		free(room);
		return -1;
	}
	s->n = 0;
	for (unsigned k = 0; k < c->k; k++) {
		size_t n = spec_samples_of(c, k, spread), nroom = 0;
		uint64_t longest = 0;

		for (size_t i = 0; i < c->n; i++) {
			uint64_t length = p->interval[i].end - p->interval[i].start;

			if (c->label[i] != k)
				continue;
			longest = length > longest ? length : longest;
			if (length >= size)
				room[nroom++] = i;
		}
		if (!nroom) {
			free(room);
			return too_long(s, k, size, longest, err);
		}
		spread_over(s, p, room, nroom, n < nroom ? n : nroom,
			    (double)c->cluster[k].instructions);
	}
	free(room);
	qsort(s->sample, s->n, sizeof(*s->sample), by_start);
	return 0;
}

int spec_systematic(struct spec *s, uint64_t end, size_t n, uint64_t size, uint64_t warmup,
		    struct err *err)
{
	if (!n || end / n < size) {
		err_set(err, ERR_USAGE,
			"%zu samples of %" PRIu64
			" instructions do not fit into the run's %" PRIu64,
			n, size, end);
		return err_hint(err, "fewer --samples, or a smaller --sample-size");
	}
	if (begin(s, n, end, size, warmup, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		s->sample[i].start =
			(uint64_t)((double)end / (double)n * (double)i) + (end / n - size) / 2;
		s->sample[i].weight = (double)end / (double)n / (double)size;
	}
	return 0;
}

void spec_fini(struct spec *s)
{
	free(s->sample);
	*s = (struct spec){ 0 };
}

char *spec_text(const struct spec *s)
{
	size_t room = (s->n + 2) * ITEM, n = 0;
	char *text = malloc(room);

	if (!text)
		return NULL;
	n += (size_t)snprintf(text, room, "m1");
	for (size_t i = 0; i < s->n; i++) {
		if (!i || s->sample[i].weight != s->sample[i - 1].weight)
			n += (size_t)snprintf(text + n, room - n, ":w%.10g", s->sample[i].weight);
		n += (size_t)snprintf(text + n, room - n, ":s%" PRIu64, s->sample[i].start);
	}
	snprintf(text + n, room - n, ":e%" PRIu64, s->end);
	return text;
}
