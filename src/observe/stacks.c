/* SPDX-License-Identifier: MIT */
#include "observe/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/varint.h"

#define FRAMES_FIRST 1024
#define SAMPLES_FIRST 4096

const char *const frame_kind_shown[FRAME_KIND_N] = {
#define X(id, name, shown) shown,
	FRAME_KINDS(X)
#undef X
};

struct stack_thread_key {
	char *text; /* everything that identifies a thread, as one text */
	uint32_t number;
	UT_hash_handle hh;
};

void stacks_fini(struct stacks *s)
{
	struct stack_thread_key *k = s->keys, *next;

	HASH_CLEAR(hh, s->keys);
	for (; k; k = next) {
		next = k->hh.next;
		free(k->text);
		free(k);
	}
	for (size_t i = 0; i < s->nthread; i++) {
		free(s->thread[i].comm);
		free(s->thread[i].cgroup);
	}
	free(s->thread);
	free(s->frame);
	free(s->sample);
	free(s->slot);
	*s = (struct stacks){ 0 };
}

/* Frames. */

static uint64_t hash_of(const struct frame *f)
{
	uint64_t h = hash_mix(f->addr);

	h = (h ^ h >> 29 ^ ((uint64_t)f->parent << 32 | f->image)) * 0xc2b2ae3d27d4eb4full;
	return hash_bits(h ^ h >> 32 ^ f->kind, 32);
}

/* The slot of the frame, or the empty one where it belongs. */
static uint32_t *slot_of(const struct stacks *s, const struct frame *f)
{
	size_t mask = s->nslot - 1, i = hash_of(f) & mask;

	while (s->slot[i] && memcmp(&s->frame[s->slot[i]], f, sizeof(*f)) != 0)
		i = (i + 1) & mask;
	return &s->slot[i];
}

static bool make_room(struct stacks *s)
{
	size_t room = s->frame_room ? 2 * s->frame_room : FRAMES_FIRST;
	struct frame *frame;
	uint32_t *slot;

	if (s->nframe < s->frame_room)
		return true;
	frame = reallocarray(s->frame, room, sizeof(*frame));
	if (!frame)
		return false;
	s->frame = frame;
	slot = calloc(2 * room, sizeof(*slot));
	if (!slot)
		return false;
	free(s->slot);
	s->slot = slot;
	s->nslot = 2 * room;
	s->frame_room = room;
	for (uint32_t i = 1; i < s->nframe; i++)
		*slot_of(s, &frame[i]) = i;
	if (!s->nframe)
		frame[s->nframe++] = (struct frame){ 0 };
	return true;
}

uint32_t stacks_frame(struct stacks *s, uint32_t parent, unsigned kind, uint32_t image,
		      uint64_t addr)
{
	struct frame f = { .addr = addr, .parent = parent, .image = image, .kind = kind };
	uint32_t *slot;

	if (s->nframe >= STACKS_FRAMES_MAX || !make_room(s))
		return 0;
	slot = slot_of(s, &f);
	if (!*slot) {
		*slot = (uint32_t)s->nframe;
		s->frame[s->nframe++] = f;
	}
	return *slot;
}

/* Threads. */

static char *thread_text(uint32_t run, uint32_t pid, uint32_t tid, const char *comm,
			 const char *cgroup)
{
	size_t n = strlen(comm) + strlen(cgroup) + 40;
	char *text = malloc(n);

	if (text)
		snprintf(text, n, "%x:%x:%x:%s:%s", run, pid, tid, cgroup, comm);
	return text;
}

static bool add_thread(struct stacks *s, struct stack_thread *t)
{
	if (!t->comm || !t->cgroup || !array_reserve(s->thread, s->thread_room, s->nthread + 1))
		return false;
	s->thread[s->nthread++] = *t;
	return true;
}

long stacks_thread(struct stacks *s, uint32_t run, uint32_t pid, uint32_t tid, const char *comm,
		   const char *cgroup)
{
	char *text = thread_text(run, pid, tid, comm, cgroup);
	struct stack_thread t = { run, pid, tid, NULL, NULL };
	struct stack_thread_key *k = NULL;

	if (!text)
		return -1;
	HASH_FIND_STR(s->keys, text, k);
	if (k) {
		free(text);
		return k->number;
	}
	k = calloc(1, sizeof(*k));
	t.comm = strdup(comm);
	t.cgroup = strdup(cgroup);
	if (!k || s->nthread >= STACKS_THREADS_MAX || !add_thread(s, &t)) {
		free(k);
		free(text);
		free(t.comm);
		free(t.cgroup);
		return -1;
	}
	k->text = text;
	k->number = (uint32_t)s->nthread - 1;
	HASH_ADD_KEYPTR(hh, s->keys, k->text, strlen(k->text), k);
	if (!k->hh.tbl) {
		free(k);
		free(text);
		return -1;
	}
	return k->number;
}

/* Samples. */

int stack_samples_order(const void *a, const void *b)
{
	const struct stack_sample *p = a, *q = b;

	if (p->thread != q->thread)
		return p->thread < q->thread ? -1 : 1;
	if (p->bucket != q->bucket)
		return p->bucket < q->bucket ? -1 : 1;
	return (p->frame > q->frame) - (p->frame < q->frame);
}

size_t stack_samples_fold(struct stack_sample *v, size_t nsample)
{
	size_t n = 0;

	if (nsample)
		qsort(v, nsample, sizeof(*v), stack_samples_order);
	for (size_t i = 0; i < nsample; i++) {
		struct stack_sample *to = n ? &v[n - 1] : NULL;

		if (to && !stack_samples_order(to, &v[i]) && to->count <= UINT32_MAX - v[i].count) {
			to->count += v[i].count;
			to->time += v[i].time;
			continue;
		}
		v[n++] = v[i];
	}
	return n;
}

void stacks_fold(struct stacks *s)
{
	s->nsample = s->folded = stack_samples_fold(s->sample, s->nsample);
	s->folds++;
}

void stacks_widen(struct stacks *s, uint64_t width)
{
	uint64_t factor;

	if (!s->width)
		s->width = STACKS_WIDTH;
	factor = width / s->width;
	if (factor < 2)
		return;
	for (size_t i = 0; i < s->nsample; i++)
		s->sample[i].bucket = (uint32_t)(s->sample[i].bucket / factor);
	s->width *= factor;
}

bool stacks_is_width(uint64_t width)
{
	uint64_t factor = width / STACKS_WIDTH;

	return factor && width % STACKS_WIDTH == 0 && !(factor & (factor - 1)) &&
	       width < 1ull << 53;
}

static bool sample_room(struct stacks *s)
{
	size_t room = s->sample_room ? 2 * s->sample_room : SAMPLES_FIRST;
	struct stack_sample *list;

	if (s->nsample < s->sample_room)
		return true;
	if (s->nsample > 2 * s->folded) {
		stacks_fold(s);
		if (s->nsample < s->sample_room / 2)
			return true;
	}
	list = reallocarray(s->sample, room, sizeof(*list));
	if (!list)
		return false;
	s->sample = list;
	s->sample_room = room;
	return true;
}

int stacks_add(struct stacks *s, uint32_t frame, uint32_t thread, uint64_t since, uint32_t count,
	       double time)
{
	if (!s->width)
		s->width = STACKS_WIDTH;
	while (since / s->width >= STACKS_BUCKETS)
		stacks_widen(s, 2 * s->width);
	if (!sample_room(s))
		return -1;
	s->sample[s->nsample++] = (struct stack_sample){ .frame = frame,
							 .thread = thread,
							 .bucket = (uint32_t)(since / s->width),
							 .count = count,
							 .time = time };
	return 0;
}

/* Merging. */

static uint32_t *merge_frames(struct stacks *dst, const struct stacks *src,
			      const uint32_t *image_map)
{
	uint32_t *map = calloc(src->nframe + 1, sizeof(*map));

	for (size_t i = 1; map && i < src->nframe; i++) {
		const struct frame *f = &src->frame[i];

		map[i] = stacks_frame(dst, map[f->parent], f->kind,
				      frame_is_end(f->kind) ? 0 : image_map[f->image], f->addr);
		if (!map[i]) {
			free(map);
			return NULL;
		}
	}
	return map;
}

static uint32_t *merge_threads(struct stacks *dst, const struct stacks *src, uint32_t first_run)
{
	uint32_t *map = calloc(src->nthread + 1, sizeof(*map));

	for (size_t i = 0; map && i < src->nthread; i++) {
		const struct stack_thread *t = &src->thread[i];
		long number =
			stacks_thread(dst, t->run + first_run, t->pid, t->tid, t->comm, t->cgroup);

		if (number < 0) {
			free(map);
			return NULL;
		}
		map[i] = (uint32_t)number;
	}
	return map;
}

static int merge_samples(struct stacks *dst, const struct stacks *src, const uint32_t *frame,
			 const uint32_t *thread)
{
	for (size_t i = 0; i < src->nsample; i++) {
		const struct stack_sample *one = &src->sample[i];

		if (stacks_add(dst, frame[one->frame], thread[one->thread],
			       one->bucket * src->width, one->count, one->time))
			return -1;
	}
	return 0;
}

int stacks_merge(struct stacks *dst, const struct stacks *src, const uint32_t *image_map,
		 uint32_t first_run)
{
	uint32_t *frame, *thread;
	int rc = -1;

	if (!src->nframe)
		return 0;
	stacks_widen(dst, src->width);
	frame = merge_frames(dst, src, image_map);
	thread = merge_threads(dst, src, first_run);
	if (frame && thread)
		rc = merge_samples(dst, src, frame, thread);
	free(frame);
	free(thread);
	return rc;
}

/* Readings. */

bool stacks_pass(const struct stacks *s, const struct stack_filter *f,
		 const struct stack_sample *one)
{
	uint64_t at = one->bucket * s->width;

	return !f ||
	       ((!f->thread || f->thread[one->thread]) && at >= f->from && (!f->to || at < f->to));
}
