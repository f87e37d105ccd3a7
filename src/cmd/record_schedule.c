/* SPDX-License-Identifier: MIT */
/* Which parts of an exact run are observed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/record_priv.h"
#include "cmd/verbs.h"

#define AUTO_SIZE 20000 /* instructions of a sample */
#define SCHEDULE_FILE_MAX (4u << 20)

static int read_schedule_file(struct schedule *s, const char *path, struct err *err)
{
	struct stat st;
	int fd = file_open(path, &st, err), rc;
	char *text;
	ssize_t n;

	if (fd < 0)
		return -1;
	text = malloc(SCHEDULE_FILE_MAX);
	n = text ? read(fd, text, SCHEDULE_FILE_MAX) : -1;
	close(fd);
	if (n < 0)
		rc = err_sys(err, "cannot read %s", path);
	else if (n == SCHEDULE_FILE_MAX)
		rc = err_set(err, ERR_USAGE, "%s is longer than a schedule can be", path);
	else
		rc = schedule_parse_lines(s, text, (size_t)n, path, err);
	free(text);
	return rc;
}

static void set_given(uint64_t *to, const double *value)
{
	if (RECORD_OPTION(value))
		*to = (uint64_t)*value;
}

static int parse_schedule(struct schedule *s, struct err *err)
{
	const char *schedule = record_given.schedule;
	double part = record_observer()->part;

	if (schedule && !strcmp(schedule, "auto")) {
		s->kind = SCHEDULE_PERIODIC;
		s->begins_given = true;
		s->size = s->warmup = AUTO_SIZE;
		s->period = (uint64_t)(AUTO_SIZE * (part > 0 ? part : 1));
	} else if (schedule && schedule[0] == '@') {
		if (read_schedule_file(s, schedule + 1, err))
			return -1;
	} else if (schedule && schedule_parse(s, schedule, err)) {
		return -1;
	}
	set_given(&s->size, &record_given.sample_size);
	set_given(&s->warmup, &record_given.warmup_size);
	set_given(&s->period, &record_given.sample_period);
	set_given(&s->skip, &record_given.skip);
	s->skip_given |= !!RECORD_OPTION(&record_given.skip);
	return schedule_settle(s, err);
}

/* Only simulated machines have a state that needs warming up. */
static void set_warming(struct schedule *s)
{
	const char *warming = record_given.warming;

	if (!record_observer()->warms) {
		s->warmup = 0;
		return;
	}
	s->warming = !strcmp(warming, "none")  ? SCHEDULE_WARM_NONE
		     : !strcmp(warming, "all") ? SCHEDULE_WARM_ALL
					       : SCHEDULE_WARM_LINES;
	if (s->warming == SCHEDULE_WARM_ALL)
		s->warmup = (uint64_t)SCHEDULE_MOST;
}

/* The schedule as it was given, and what else makes simulated counts others: how it warms up, and how often code is
 * forgotten, where these are not the defaults. */
static int describe_schedule(struct session_options *o, struct err *err)
{
	const struct record_given *g = &record_given;
	bool other = strcmp(g->warming, "lines");
	static char *text;
	char room[32] = "";

	if (!RECORD_OPTION(&g->warming, &g->cache_kib))
		return 0;
	if (g->cache_kib != RECORD_CACHE_KIB)
		snprintf(room, sizeof(room), ", cache %u", g->cache_kib);
	free(text);
	if (asprintf(&text, "%s%s%s%s", o->schedule_text, other ? ", warming " : "",
		     other ? g->warming : "", room) < 0)
		return err_no_memory(err, "the command");
	o->schedule_text = text;
	return 0;
}

int record_schedule(struct session_options *o, struct err *err)
{
	const struct record_observer *observer = record_observer();
	struct schedule *s = &o->schedule;

	o->schedule_text = record_given.schedule;
	if (parse_schedule(s, err))
		return -1;
	if (s->kind == SCHEDULE_WHOLE)
		return 0;
	if (!o->schedule_text)
		o->schedule_text = schedule_kind_name[s->kind];
	if (observer->whole) {
		err_set(err, ERR_USAGE,
			"--observe %s is of a whole run: %s of a part of it cannot be scaled",
			observer->name, observer->whole);
		return err_hint(err, "leave --schedule out, or --observe misses");
	}
	if (o->sketch != HOT_SPACE_SAVING) {
		err_set(err, ERR_USAGE, "--sketch %s cannot be scaled, as --schedule needs it",
			record_given.sketch);
		return err_hint(err, "--sketch space-saving");
	}
	set_warming(s);
	return describe_schedule(o, err);
}
