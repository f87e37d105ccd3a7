/* SPDX-License-Identifier: MIT */
#include "stream/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *const schedule_kind_name[] = { "whole", "single", "periodic", "targeted" };

void schedule_fini(struct schedule *s)
{
	free(s->sample);
	s->sample = NULL;
	s->n = 0;
}

/* Parses a decimal number that takes all of [text, end). */
static bool number(const char *text, const char *end, double *v)
{
	static const char digits[] = "0123456789.+-eE";
	char *stop, copy[64];
	size_t n = (size_t)(end - text);

	if (!n || n >= sizeof(copy))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!text[i] || !strchr(digits, text[i]))
			return false;
	memcpy(copy, text, n);
	copy[n] = 0;
	*v = strtod(copy, &stop);
	return stop == copy + n && isfinite(*v);
}

/* Specification strings of targets. */

struct targets { /* state while a specification is read */
	struct schedule *to;
	double weight, multiplier;
	bool ended;
	const char *spec;
	unsigned column; /* column of the current item */
	int length;
};

static int bad(const struct targets *t, const char *what, struct err *err)
{
	err_set(err, ERR_USAGE, "target specification, column %u, \"%.*s\": %s", t->column,
		t->length, t->spec + t->column - 1, what);
	return err_hint(err,
			"for instance m1000:s500:w2:s1800:m1:e1874500; or one of: whole single "
			"periodic auto");
}

static int position(const struct targets *t, double v, uint64_t *at, struct err *err)
{
	v *= t->multiplier;
	if (v < 0)
		return bad(t, "less than no instructions", err);
	if (v > SCHEDULE_MOST)
		return bad(t, "more than 1e15 instructions", err);
	*at = (uint64_t)(v + 0.5);
	return 0;
}

static int add_sample(struct targets *t, double v, struct err *err)
{
	struct schedule *s = t->to;
	uint64_t start = 0;

	if (position(t, v, &start, err))
		return -1;
	if (s->n && start <= s->sample[s->n - 1].start)
		return bad(t, "a sample that does not begin behind the one before it", err);
	if (s->n == SCHEDULE_SAMPLES_MAX)
		return bad(t, "more than 65536 samples", err);
	if (!array_one_more(s->sample, s->n))
		return err_no_memory(err, "the schedule");
	s->sample[s->n++] = (struct schedule_sample){ start, t->weight, t->column };
	return 0;
}

static int set_end(struct targets *t, double v, struct err *err)
{
	if (t->ended)
		return bad(t, "a second end", err);
	if (position(t, v, &t->to->end, err))
		return -1;
	if (!t->to->end)
		return bad(t, "a benchmark without instructions", err);
	t->ended = true;
	return 0;
}

static int take_item(struct targets *t, struct err *err)
{
	const char *item = t->spec + t->column - 1;
	double v;

	if (!t->length)
		return bad(t, "an empty item", err);
	if (!strchr("wmse", *item))
		return bad(t, "no w, m, s or e", err);
	if (!number(item + 1, item + t->length, &v))
		return bad(t, "no number behind the letter", err);
	switch (*item) {
	case 'w':
		if (v <= 0)
			return bad(t, "a weight that is not more than 0", err);
		t->weight = v;
		return 0;
	case 'm':
		if (v <= 0)
			return bad(t, "a multiplier that is not more than 0", err);
		t->multiplier = v;
		return 0;
	case 's':
		return add_sample(t, v, err);
	default:
		return set_end(t, v, err);
	}
}

int schedule_parse_targets(struct schedule *s, const char *spec, struct err *err)
{
	struct targets t = { .to = s, .weight = 1, .multiplier = 1, .spec = spec };
	const char *at = spec;

	schedule_fini(s);
	for (;; at++) {
		const char *end = strchrnul(at, ':');

		t.column = (unsigned)(at - spec) + 1;
		t.length = (int)(end - at);
		if (take_item(&t, err))
			return -1;
		at = end;
		if (!*at)
			break;
	}
	t.column = (unsigned)(at - spec) + 1;
	t.length = 0;
	if (!s->n)
		return bad(&t, "no sample: there is no s in it", err);
	if (!t.ended)
		return bad(&t, "the size of the benchmark is missing: there is no e in it", err);
	s->kind = SCHEDULE_TARGETED;
	s->begins_given = true;
	return 0;
}

/* Settings of other schedules. */

static const struct setting {
	const char *name, *line;
	size_t at;
	bool zero; /* the value may be 0 */
} settings[] = {
	{ "size", "ss_sample_size", offsetof(struct schedule, size), false },
	{ "warmup", "ss_warmup_size", offsetof(struct schedule, warmup), true },
	{ "period", "ss_sample_period", offsetof(struct schedule, period), false },
	{ "skip", "ss_skip", offsetof(struct schedule, skip), true },
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* Returns NULL, or what is wrong with the setting. */
static const char *put_setting(struct schedule *s, const struct setting *to, const char *text,
			       const char *end)
{
	double v;

	if (!number(text, end, &v))
		return "no number";
	if (v < 0 || v > SCHEDULE_MOST || v != floor(v))
		return "no whole number of instructions up to 1e15";
	if (!to->zero && v < 1)
		return "less than one instruction";
	*(uint64_t *)((char *)s + to->at) = (uint64_t)v;
	s->skip_given |= to->at == offsetof(struct schedule, skip);
	return NULL;
}

static size_t word(const char *text, const char *end)
{
	size_t n = 0;

	while (text + n < end && text[n] != ' ' && text[n] != '\t' && text[n] != '\r')
		n++;
	return n;
}

static const char *blank(const char *text, const char *end)
{
	while (text < end && (*text == ' ' || *text == '\t' || *text == '\r'))
		text++;
	return text;
}

static int take_line(struct schedule *s, const char *text, const char *end, const char *name,
		     unsigned line, struct err *err)
{
	const char *value, *why = "no setting of a schedule";
	size_t n, m;

	text = blank(text, end);
	if (text == end || *text == '#')
		return 0;
	n = word(text, end);
	value = blank(text + n, end);
	m = word(value, end);
	if (blank(value + m, end) != end)
		return err_set(err, ERR_USAGE, "%s, line %u: more than a name and a value", name,
			       line);
	if (n == strlen("ss_target_spec") && !memcmp(text, "ss_target_spec", n)) {
		char *spec = strndup(value, m);
		struct err inner;
		int rc;

		if (!spec)
			return err_no_memory(err, "the schedule");
		rc = schedule_parse_targets(s, spec, &inner);
		free(spec);
		return rc ? err_set(err, inner.code, "%s, line %u: %s", name, line, inner.msg) : 0;
	}
	for (size_t i = 0; i < SETTINGS; i++) {
		if (n != strlen(settings[i].line) || memcmp(text, settings[i].line, n))
			continue;
		why = put_setting(s, &settings[i], value, value + m);
		if (!why)
			return 0;
	}
	return err_set(err, ERR_USAGE, "%s, line %u, \"%.*s\": %s", name, line, (int)(end - text),
		       text, why);
}

int schedule_parse_lines(struct schedule *s, const char *text, size_t n, const char *name,
			 struct err *err)
{
	const char *end = text + n;
	unsigned line = 1;

	if (memchr(text, 0, n))
		return err_set(err, ERR_USAGE, "%s is no text", name);
	for (; text < end; line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		stop = stop ? stop : end;
		if (take_line(s, text, stop, name, line, err))
			return -1;
		text = stop < end ? stop + 1 : end;
	}
	return 0;
}

/* Parses the settings behind "periodic:" or "single:". */
static int take_settings(struct schedule *s, const char *all, const char *text, struct err *err)
{
	for (;; text++) {
		const char *end = strchrnul(text, ','),
			   *value = memchr(text, '=', (size_t)(end - text));
		const char *why = "no size=, warmup=, period= or skip=";

		for (size_t i = 0; value && i < SETTINGS; i++) {
			size_t n = strlen(settings[i].name);

			if ((size_t)(value - text) == n && !memcmp(text, settings[i].name, n))
				why = put_setting(s, &settings[i], value + 1, end);
		}
		if (why) {
			err_set(err, ERR_USAGE, "--schedule, column %u, \"%.*s\": %s",
				(unsigned)(text - all) + 1, (int)(end - text), text, why);
			return err_hint(err, "for instance periodic:size=10000,period=1e6");
		}
		text = end;
		if (!*text)
			return 0;
	}
}

int schedule_parse(struct schedule *s, const char *text, struct err *err)
{
	for (int kind = SCHEDULE_WHOLE; kind <= SCHEDULE_PERIODIC; kind++) {
		size_t n = strlen(schedule_kind_name[kind]);

		if (strncmp(text, schedule_kind_name[kind], n) || (text[n] && text[n] != ':'))
			continue;
		s->kind = kind;
		s->begins_given = true;
		if (!text[n])
			return 0;
		if (kind == SCHEDULE_WHOLE) {
			err_set(err, ERR_USAGE, "--schedule %s: whole has no settings", text);
			return err_hint(err, "--schedule whole");
		}
		return take_settings(s, text, text + n + 1, err);
	}
	return schedule_parse_targets(s, text, err);
}

/* Checks of the complete schedule. */

static int overlap(const struct schedule *s, size_t i, const char *what, struct err *err)
{
	err_set(err, ERR_USAGE,
		"target specification, column %u: the sample at %lu, of %lu instructions, %s",
		s->sample[i].column, (unsigned long)s->sample[i].start, (unsigned long)s->size,
		what);
	return err_hint(err, "smaller samples (--sample-size), or others");
}

static int check_targets(const struct schedule *s, struct err *err)
{
	for (size_t i = 0; i < s->n; i++) {
		uint64_t end = s->sample[i].start + s->size;

		if (i + 1 < s->n && end > s->sample[i + 1].start)
			return overlap(s, i, "overlaps the next one", err);
		if (end > s->end)
			return overlap(s, i, "goes on beyond the end of the benchmark", err);
	}
	return 0;
}

int schedule_settle(struct schedule *s, struct err *err)
{
	bool sized = s->size;

	if (!sized)
		s->size = SCHEDULE_SIZE_DEFAULT;
	if (!s->begins_given)
		s->kind = s->period > s->size	   ? SCHEDULE_PERIODIC
			  : sized || s->skip_given ? SCHEDULE_SINGLE
						   : SCHEDULE_WHOLE;
	if (s->kind == SCHEDULE_TARGETED)
		return check_targets(s, err);
	if (s->kind != SCHEDULE_PERIODIC)
		return 0;
	if (!s->period)
		s->period = SCHEDULE_PERIOD_DEFAULT > s->size ? SCHEDULE_PERIOD_DEFAULT : s->size;
	if (s->period < s->size) {
		err_set(err, ERR_USAGE, "samples of %lu instructions each %lu overlap",
			(unsigned long)s->size, (unsigned long)s->period);
		return err_hint(err, "a longer --sample-period, or a smaller --sample-size");
	}
	/* An unobserved stretch is split evenly between the samples before and after it. */
	if (!s->skip_given)
		s->skip = (s->period - s->size) / 2;
	return 0;
}

double schedule_weight(const struct schedule *s, uint64_t number)
{
	switch (s->kind) {
	case SCHEDULE_PERIODIC:
		return (double)s->period / (double)s->size;
	case SCHEDULE_TARGETED:
		return number < s->n ? s->sample[number].weight : 1;
	default:
		return 1;
	}
}

uint64_t schedule_fuzz(uint64_t end)
{
	uint64_t part = (uint64_t)((double)end * 4e-5);

	return part > 1000 ? part : 1000;
}

bool schedule_matches(const struct schedule *s, uint64_t instructions)
{
	uint64_t off = instructions > s->end ? instructions - s->end : s->end - instructions;

	return s->kind != SCHEDULE_TARGETED || off <= schedule_fuzz(s->end);
}
