/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto, compressed by gzip: what `go tool pprof`, Pyroscope, Parca and Perfetto read. Mappings carry
 * build-ids; samples carry the thread, the process and the control group as labels, and values that add up: how many
 * samples, and the time they stand for (executions, in an exact recording).
 */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <zlib.h>

#include "export/formats.h"
#include "export/proto.h"
#include "report/calltree.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRINGS,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE
};
enum {
	TYPE_TYPE = 1,
	TYPE_UNIT
};
enum {
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES,
	SAMPLE_LABEL
};
enum {
	LABEL_KEY = 1,
	LABEL_TEXT,
	LABEL_NUMBER
};
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_FUNCTIONS,
	MAPPING_FILES,
	MAPPING_LINES
};
enum {
	LOCATION_ID = 1,
	LOCATION_MAPPING,
	LOCATION_ADDRESS,
	LOCATION_LINE
};
enum {
	LINE_FUNCTION = 1,
	LINE_LINE
};
enum {
	FUNCTION_ID = 1,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILE,
	FUNCTION_LINE
};

struct text {
	char *s;
	uint64_t number;
	UT_hash_handle hh;
};

struct pprof {
	const struct calltree *t;
	struct proto m;
	struct text *texts;
	uint64_t ntext;
};

/* Text 0 is "". */
static uint64_t text_number(struct pprof *w, const char *s)
{
	struct text *t;

	HASH_FIND_STR(w->texts, s, t);
	if (t)
		return t->number;
	t = calloc(1, sizeof(*t));
	if (!t || !(t->s = strdup(s))) {
		free(t);
		w->m.failed = true;
		return 0;
	}
	t->number = w->ntext;
	HASH_ADD_KEYPTR(hh, w->texts, t->s, strlen(t->s), t);
	if (!t->hh.tbl) {
		free(t->s);
		free(t);
		w->m.failed = true;
		return 0;
	}
	return w->ntext++;
}

static void put_type(struct pprof *w, unsigned field, const char *type, const char *unit)
{
	struct proto inner = { 0 };

	proto_uint(&inner, TYPE_TYPE, text_number(w, type));
	proto_uint(&inner, TYPE_UNIT, text_number(w, unit));
	proto_message(&w->m, field, &inner);
	proto_fini(&inner);
}

/* Image i is mapping i + 1, in a stretch of addresses of its own: where it was mapped is not recorded. */
#define MAPPING_STRIDE ((uint64_t)1 << 40)

static uint64_t base_of(const struct pprof *w, uint32_t image)
{
	return w->t->profile->image[image]->kind == IMAGE_FILE ? (image + 1) * MAPPING_STRIDE : 0;
}

static void put_mapping(struct pprof *w, uint32_t image)
{
	const struct profile_image *pi = w->t->profile->image[image];
	struct proto inner = { 0 };
	uint64_t base = base_of(w, image);

	proto_uint(&inner, MAPPING_ID, image + 1);
	proto_uint(&inner, MAPPING_START, base);
	proto_uint(&inner, MAPPING_LIMIT, base ? base + MAPPING_STRIDE : UINT64_MAX);
	proto_uint(&inner, MAPPING_FILE, text_number(w, pi->path));
	proto_uint(&inner, MAPPING_BUILD_ID,
		   text_number(w, strncmp(pi->build_id, "noid-", 5) ? pi->build_id : ""));
	proto_uint(&inner, MAPPING_FUNCTIONS, 1);
	proto_uint(&inner, MAPPING_FILES, 1);
	proto_uint(&inner, MAPPING_LINES, 1);
	proto_message(&w->m, PROFILE_MAPPING, &inner);
	proto_fini(&inner);
}

/* pprof takes the first one for the program: that is the file with most samples. */
static void put_mappings(struct pprof *w)
{
	const struct calltree *t = w->t;
	uint64_t *samples = calloc(t->profile->nimage, sizeof(*samples));
	uint32_t first = 0;

	if (!samples) {
		w->m.failed = true;
		return;
	}
	for (size_t i = 0; i < t->nsample; i++) {
		uint32_t place = t->node[t->sample[i].frame].place;

		if (place != CALLTREE_NOWHERE)
			samples[t->place[place].image] += t->sample[i].count;
	}
	for (uint32_t i = 0; i < t->profile->nimage; i++)
		if (t->profile->image[i]->kind == IMAGE_FILE &&
		    (!first || samples[i] > samples[first]))
			first = i;
	put_mapping(w, first);
	for (uint32_t i = 0; i < t->profile->nimage; i++)
		if (i != first)
			put_mapping(w, i);
	free(samples);
}

static void put_function(struct pprof *w, size_t i)
{
	const struct calltree_func *f = &w->t->func[i];
	struct proto inner = { 0 };
	char name[1024];

	proto_uint(&inner, FUNCTION_ID, i + 1);
	snprintf(name, sizeof(name), "%.*s", (int)calltree_plain(f), f->name);
	proto_uint(&inner, FUNCTION_NAME, text_number(w, name));
	proto_uint(&inner, FUNCTION_SYSTEM_NAME, text_number(w, name));
	proto_uint(&inner, FUNCTION_FILE, text_number(w, f->file ? f->file : ""));
	proto_uint(&inner, FUNCTION_LINE, f->line > 0 ? (uint64_t)f->line : 0);
	proto_message(&w->m, PROFILE_FUNCTION, &inner);
	proto_fini(&inner);
}

static void put_line(struct pprof *w, struct proto *location, const struct calltree_place *p)
{
	struct proto line = { 0 };

	proto_uint(&line, LINE_FUNCTION, p->func + 1);
	proto_uint(&line, LINE_LINE, p->line > 0 ? (uint64_t)p->line : 0);
	proto_message(location, LOCATION_LINE, &line);
	proto_fini(&line);
	if (p->outer != CALLTREE_NOWHERE)
		put_line(w, location, &w->t->place[p->outer]);
}

/* A location has a line for each procedure that its code was inlined into, the innermost one first. */
static void put_location(struct pprof *w, size_t i)
{
	const struct calltree_place *p = &w->t->place[i];
	struct proto inner = { 0 };

	if (p->is_outer)
		return;
	proto_uint(&inner, LOCATION_ID, i + 1);
	if (!w->t->func[p->func].is_end) {
		proto_uint(&inner, LOCATION_MAPPING, p->image + 1);
		proto_uint(&inner, LOCATION_ADDRESS, base_of(w, p->image) + p->addr);
	}
	put_line(w, &inner, p);
	proto_message(&w->m, PROFILE_LOCATION, &inner);
	proto_fini(&inner);
}

static void put_label(struct pprof *w, struct proto *sample, const char *key, const char *text,
		      uint64_t number)
{
	struct proto inner = { 0 };

	proto_uint(&inner, LABEL_KEY, text_number(w, key));
	if (text)
		proto_uint(&inner, LABEL_TEXT, text_number(w, text));
	else
		proto_uint(&inner, LABEL_NUMBER, number);
	proto_message(sample, SAMPLE_LABEL, &inner);
	proto_fini(&inner);
}

static void put_labels(struct pprof *w, struct proto *sample, const struct stack_thread *thread)
{
	if (w->t->flat)
		return;
	put_label(w, sample, "thread", thread->comm, 0);
	put_label(w, sample, "pid", NULL, thread->pid);
	put_label(w, sample, "tid", NULL, thread->tid);
	if (*thread->cgroup)
		put_label(w, sample, "cgroup", thread->cgroup, 0);
}

/* Samples of one thread and node, whenever they were, are one. */
static void put_sample(struct pprof *w, const struct stack_sample *s, uint64_t count, double time)
{
	uint64_t value[2] = { count, (uint64_t)(time + 0.5) }, location[CALLTREE_DEPTH];
	uint32_t stack[CALLTREE_DEPTH];
	size_t n = calltree_stack(w->t, s->frame, stack, CALLTREE_DEPTH), locations = 0;
	struct proto inner = { 0 };

	for (size_t i = n; i-- > 0;) {
		uint32_t place = w->t->node[stack[i]].place;

		if (!w->t->place[place].is_outer)
			location[locations++] = place + 1;
	}
	proto_packed(&inner, SAMPLE_LOCATIONS, location, locations);
	proto_packed(&inner, SAMPLE_VALUES, value, w->t->exact ? 1 : 2);
	put_labels(w, &inner, &w->t->thread[s->thread]);
	proto_message(&w->m, PROFILE_SAMPLE, &inner);
	proto_fini(&inner);
}

static int by_stack(const void *a, const void *b)
{
	const struct stack_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static void put_samples(struct pprof *w)
{
	const struct calltree *t = w->t;
	struct stack_sample *sample = malloc(t->nsample * sizeof(*sample));
	uint64_t count = 0;
	double time = 0;

	if (!sample) {
		w->m.failed = true;
		return;
	}
	memcpy(sample, t->sample, t->nsample * sizeof(*sample));
	qsort(sample, t->nsample, sizeof(*sample), by_stack);
	for (size_t i = 0; i < t->nsample; i++) {
		count += sample[i].count;
		time += sample[i].time;
		if (i + 1 < t->nsample && !by_stack(&sample[i], &sample[i + 1]))
			continue;
		put_sample(w, &sample[i], count, time);
		count = 0;
		time = 0;
	}
	free(sample);
}

static int by_number(const struct text *a, const struct text *b)
{
	return (a->number > b->number) - (a->number < b->number);
}

static void put_texts(struct pprof *w)
{
	struct text *t, *next;

	HASH_SORT(w->texts, by_number);
	HASH_ITER (hh, w->texts, t, next) {
		proto_element(&w->m, PROFILE_STRINGS, t->s, strlen(t->s));
	}
}

static void put_run(struct pprof *w)
{
	const struct profile *p = w->t->profile;
	const struct run *run = p->nrun ? &p->run[0] : NULL;
	struct run_counters all;

	profile_counters(p, &all);
	proto_uint(&w->m, PROFILE_DURATION, all.elapsed_ns);
	if (!run)
		return;
	proto_uint(&w->m, PROFILE_TIME, run->started * 1000000000);
	proto_uint(&w->m, PROFILE_COMMENT, text_number(w, run->command ? run->command : ""));
	if (w->t->exact || run->rate <= 0)
		return;
	put_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	proto_uint(&w->m, PROFILE_PERIOD, (uint64_t)(1e9 / run->rate));
}

static void put_profile(struct pprof *w)
{
	const struct calltree *t = w->t;

	text_number(w, "");
	if (t->exact) {
		put_type(w, PROFILE_SAMPLE_TYPE, "executions", "count");
	} else {
		put_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
		put_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	}
	put_samples(w);
	put_mappings(w);
	for (size_t i = 0; i < t->nplace; i++)
		put_location(w, i);
	for (size_t i = 0; i < t->nfunc; i++)
		put_function(w, i);
	put_run(w);
	put_texts(w);
}

static int compress_to(FILE *out, const struct proto *m, struct err *err)
{
	z_stream z = { .next_in = m->p, .avail_in = (uInt)m->n };
	uint8_t piece[1 << 16];
	int rc;

	if (m->n > UINT32_MAX)
		return err_set(err, ERR_FAILED, "the profile is larger than 4 GiB");
	/* 16: with a header of gzip's */
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_no_memory(err, "the export");
	do {
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		rc = deflate(&z, Z_FINISH);
		fwrite(piece, 1, sizeof(piece) - z.avail_out, out);
	} while (rc == Z_OK);
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : err_set(err, ERR_FAILED, "zlib failed");
}

static int write_pprof(struct export *x, struct err *err)
{
	struct text *text, *next;
	struct calltree t;
	struct pprof w = { .t = &t };
	int rc;

	if (calltree_open(&t, x->profile, err))
		return -1;
	put_profile(&w);
	rc = w.m.failed ? err_no_memory(err, "the export") : compress_to(x->out, &w.m, err);
	HASH_ITER (hh, w.texts, text, next) {
		HASH_DEL(w.texts, text);
		free(text->s);
		free(text);
	}
	proto_fini(&w.m);
	export_tell_flat(x, &t);
	calltree_close(&t);
	return rc;
}

const struct export_format export_pprof = {
	.name = "pprof",
	.what = "pprof's profile.proto, compressed (go tool pprof, Pyroscope, Parca, Perfetto)",
	.write = write_pprof,
};
