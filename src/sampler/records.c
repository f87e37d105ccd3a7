/* SPDX-License-Identifier: MIT */
/* Records of the ring buffer: what is done with each at once, and what later, when its window is observed. */
#include <errno.h>

#include "base/clock.h"
#include "observe/layouts.h"
#include "observe/reuses.h"
#include "sampler/decode.h"
#include "sampler/sampler_priv.h"

#define BACKLOG_TURN 16 /* records that are observed between two checks for urgent ones */
/* Longest time from an interrupt until its records are in the ring buffer. */
#define LATEST_NS 1000000

static void lift_missing(struct sampler *s, const struct sample *h)
{
	sampler_lift(s, h->stop_image, h->target - h->stop_bias);
}

/* Takes reuse times from the whole window; the window's other uses see the usual length only. */
static int note_reuses(struct sampler *s, struct window *w)
{
	if (reuses_window(s->profile, w, profile_window_weight(s->profile, w->start))) {
		s->failed = true;
		return err_no_memory(&s->sink_err, "the sampler");
	}
	if (w->n > s->o.burst)
		w->n = s->o.burst;
	return 0;
}

static struct window window_of(struct sampler *s, const struct sample *h)
{
	return (struct window){ .pid = h->pid,
				.tid = h->tid,
				.time = h->time,
				.weight = (double)h->period,
				.stop = h->stop,
				.rare = h->flags & SAMPLE_RARE,
				.stands = h->flags >> SAMPLE_STANDS_SHIFT,
				.start = { .image = h->image, .addr = h->ip - h->bias },
				.ri = s->ri };
}

static int observe_user(struct sampler *s, const struct sample *h, const uint64_t *words,
			uint32_t n)
{
	struct window w = window_of(s, h);

	w.stack = s->walker ? walker_frame(s->walker, h->tid, h->time) : 0;
	w.n = decode_window(&s->lifting.code, words, n, s->ri, RA_LONG_MAX);
	if (s->o.branches && w.n > s->o.burst)
		w.extra = w.n - s->o.burst;
	if (s->watches && w.n && note_reuses(s, &w))
		return -1;
	if (s->slots && slots_window(s->slots, &w)) {
		s->failed = true;
		return err_no_memory(&s->sink_err, "the policy");
	}
	return sampler_deliver(s, &w);
}

static int observe_kernel(struct sampler *s, const struct sample *h)
{
	struct window w = {
		.pid = h->pid, .tid = h->tid, .time = h->time, .weight = (double)h->period
	};

	return sampler_deliver_at(s, &w, s->kernel_image, h->ip);
}

static uint32_t words_behind(size_t bytes)
{
	return (uint32_t)((bytes - sizeof(struct sample)) / 8);
}

static int observe(struct sampler *s, const struct sample *h, size_t bytes)
{
	if (h->kind == SAMPLE_USER)
		return observe_user(s, h, (const uint64_t *)(h + 1), words_behind(bytes));
	return observe_kernel(s, h);
}

/* Does at once what cannot wait until the window is observed: the window's process may end, and the
 * next window may need the same code. */
static void supply_missing(struct sampler *s, const struct sample *h, const uint64_t *words,
			   uint32_t n)
{
	struct window w;

	if (h->stop == RA_STOP_MISS)
		lift_missing(s, h);
	if (h->stop == RA_STOP_UNMAPPED && sampler_may_sync(s, h))
		sampler_resolve_all(s, h);
	if (s->watches && h->flags & SAMPLE_PICK && watches_wanted(s->watches, h->tid)) {
		w = window_of(s, h);
		w.n = decode_window(&s->lifting.code, words, n, s->ri, RA_BURST_MAX);
		watches_pick(s->watches, &w);
	}
}

/* Places a waiting sample by the process's present mappings. True if that completes the sample. */
static bool on_user(struct sampler *s, const struct sample *h, const uint64_t *words, uint32_t n)
{
	struct window w = window_of(s, h);

	sampler_note_devices(s, h);
	s->user_samples += !w.rare;
	s->large_pages.pid = (pid_t)h->pid;
	if (h->stop < RA_STOP_N && !w.rare)
		s->stop[h->stop]++;
	if ((h->flags & SAMPLE_VMA) && n * 8 >= sizeof(struct sample_vma)) {
		sampler_new_mapping(s, h, (const struct sample_vma *)words, &w);
		return true;
	}
	if (!h->image || h->image == PROC_NOIMAGE) {
		sampler_unplaced(s, h, &w);
		return true;
	}
	if (!w.rare && layouts_note(s->profile, h->image, h->stack)) {
		s->failed = true;
		err_no_memory(&s->sink_err, "samples");
		return true;
	}
	supply_missing(s, h, words, n);
	return false;
}

static void on_watch(struct sampler *s, const struct sample_watch *h)
{
	if (s->watches)
		watches_hit(s->watches, h->tid, h->addr, h->hits, h->running);
}

static uint64_t since(const struct sampler *s, uint64_t time)
{
	return time > s->enabled ? time - s->enabled : 0;
}

static int walked(struct sampler *s, int rc)
{
	if (!rc)
		return 0;
	s->failed = true;
	return err_no_memory(&s->sink_err, "call stacks");
}

static int on_frames(struct sampler *s, const struct unwind_frames *k, size_t bytes)
{
	return s->walker ? walked(s, walker_add_frames(s->walker, k, bytes, since(s, k->time))) : 0;
}

/* Done at once, because the process may end, and its mappings with it. The sample's window is
 * observed later. */
static int on_stack(struct sampler *s, const struct sample_stack *k, size_t bytes)
{
	return s->walker ? walked(s, walker_add(s->walker, k, bytes, since(s, k->time))) : 0;
}

static int on_record(void *ctx, const void *data, size_t size)
{
	const struct sample *h = data;
	struct sampler *s = ctx;

	if (size >= sizeof(struct sample_watch) && h->kind == SAMPLE_WATCH) {
		on_watch(s, data);
		return s->failed ? -1 : 0;
	}
	if (size >= offsetof(struct unwind_frames, frame) && h->kind == SAMPLE_FRAMES && !s->failed)
		return on_frames(s, data, size);
	if (size < sizeof(*h) || s->failed)
		return s->failed ? -1 : 0;
	if (h->kind == SAMPLE_STACK)
		return on_stack(s, data, size);
	if (h->kind == SAMPLE_USER && on_user(s, h, (const uint64_t *)(h + 1), words_behind(size)))
		return s->failed ? -1 : 0;
	if (!backlog_put(&s->backlog, data, size)) {
		s->failed = true;
		return err_no_memory(&s->sink_err, "samples");
	}
	/* the records that remain in the ring buffer are taken after these have been observed */
	return backlog_waiting(&s->backlog) < BACKLOG_FULL ? 0 : -EAGAIN;
}

int sampler_take_records(struct sampler *s, struct err *err)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC) - LATEST_NS;
	int n = ring_read(&s->ring, on_record, s);

	if (s->walker && n >= 0) /* no older records are left in the ring buffer */
		walker_advance(s->walker, before);
	if (s->watches)
		watches_expire(s->watches, clock_ns(CLOCK_MONOTONIC));
	if (s->npending)
		sampler_settle(s, false);
	if (s->failed) {
		*err = s->sink_err;
		return -1;
	}
	s->more = n == -EAGAIN;
	return n < 0 && n != -EAGAIN ? err_no_memory(err, "the ring buffer") : 0;
}

int sampler_observe(struct sampler *s, struct err *err)
{
	size_t left = backlog_waiting(&s->backlog), bytes, took = 0;
	const void *record;

	/* records that arrive meanwhile are observed the next time */
	for (unsigned i = 1; took < left; i++) {
		record = backlog_take(&s->backlog, &bytes);
		if (!record)
			break;
		took += 8 + (bytes + 7) / 8 * 8;
		if (observe(s, record, bytes)) {
			*err = s->sink_err;
			return -1;
		}
		if (i % BACKLOG_TURN == 0 && backlog_waiting(&s->backlog) < BACKLOG_FULL &&
		    sampler_take_records(s, err))
			return -1;
	}
	return 0;
}
