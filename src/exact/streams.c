/* SPDX-License-Identifier: MIT */
/* Reads streams: copies each execution into its block's sink, or passes it to a consumer. */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exact/streams_priv.h"

#define COPIED 4		      /* words that are copied at a time */
#define AHEAD 256		      /* words ahead that are prefetched */
#define LINE 8			      /* words of a cache line */
#define LONGEST (1 + EXACT_WORDS_MAX) /* most words of an execution */
_Static_assert(LINE <= SINKS_SPARE, "");

/* A unit of copying, in one register if the CPU has such wide ones. */
typedef uint64_t copied_words __attribute__((vector_size(8 * COPIED), aligned(8), may_alias));
typedef uint64_t two_words __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t one_word;

/* Reads an execution that cannot simply be copied into a sink with room. Returns the number of
 * words read, or -1. */
static int take_odd(struct exact *e, struct process *p, uint64_t head, const uint64_t *w, size_t n,
		    struct err *err)
{
	uint32_t id = EXACT_HEAD_BLOCK(head) - 1, words = EXACT_HEAD_WORDS(head) & EXACT_WORDS_MAX;
	struct sink *s;

	if (id >= p->nblock && exact_read_log(e, p, err))
		return -1;
	if (words > n || id >= p->nblock || !p->block[id] || words > p->block[id]->words)
		return exact_bad(err);
	if (head & EXACT_HEAD_CUT) {
		if (values_take_cut(e, p->block[id], w, words, EXACT_HEAD_DONE(head)))
			return err_no_memory(err, "the exact recording");
		return (int)words;
	}
	if (words != p->block[id]->words || !words)
		return exact_bad(err);
	s = &p->sink[id + 1];
	if ((!s->head || sinks_low(s->at) == s->end) && sinks_make_room(e, p, id))
		return err_no_memory(err, "the exact recording");
	memcpy(s->at, w, words * sizeof(*w));
	s->at += words;
	return (int)words;
}

/*
 * Copies executions into sinks with room, as many as follow each other and begin before `end`,
 * behind which one more must fit. Returns where they end. Each word is read once, because the
 * program can change words meanwhile. A sink knows the only head that it takes, so nothing else
 * need be looked at. What is copied beyond an execution is overwritten by the next one, or lies in
 * the spare part of a sink beyond its end. The next line is prefetched, because sinks are not in
 * the cache when it is their turn. Where the next head lies is told by this one; but a branch to
 * code for that number of words is predicted, as the program's own branches are, so the next head
 * is read before this one has arrived. There are only four lengths, because a compiler turns more
 * of them into a table of jumps, and the recorder then takes a third longer where addresses are
 * observed.
 */
#define COPY_ONE(n, type) \
	case n: \
		*(type *)to = *(const type *)(w + 1); \
		s->at = to + (n); \
		w += 1 + (n); \
		__asm__("" : "+r"(w)); \
		break
static inline __attribute__((always_inline)) const uint64_t *copy_whole(struct sink *sinks,
									uint32_t n,
									const uint64_t *w,
									const uint64_t *end)
{
	const uint32_t mask = n - 1;

	while (w < end) {
		uint64_t head = __atomic_load_n(w, __ATOMIC_RELAXED);
		struct sink *s = &sinks[head & mask];
		uint64_t *to = s->at;
		size_t words;

		if (head != s->head || sinks_low(to) == s->end)
			break;
		words = (uint32_t)head >> EXACT_HEAD_BLOCKS;
		__builtin_prefetch(w + AHEAD);
		__builtin_prefetch(to + LINE, 1);
		switch (words) {
			COPY_ONE(1, one_word);
			COPY_ONE(2, two_words);
			COPY_ONE(3, copied_words);
			COPY_ONE(4, copied_words);
		default:
			s->at = to + words;
			for (size_t j = 0; j < words; j += LINE) {
				__builtin_prefetch(to + words + LINE + j, 1);
				*(copied_words *)(to + j) = *(const copied_words *)(w + 1 + j);
				*(copied_words *)(to + j + COPIED) =
					*(const copied_words *)(w + 1 + j + COPIED);
			}
			w += 1 + words;
		}
	}
	return w;
}
#undef COPY_ONE

static const uint64_t *copy_plain(struct sink *sinks, uint32_t n, const uint64_t *w,
				  const uint64_t *end)
{
	return copy_whole(sinks, n, w, end);
}

__attribute__((target("avx"))) static const uint64_t *copy_vectors(struct sink *sinks, uint32_t n,
								   const uint64_t *w,
								   const uint64_t *end)
{
	return copy_whole(sinks, n, w, end);
}

/* Reads complete executions. */
static int take_words(struct exact *e, struct process *p, const uint64_t *w, size_t n,
		      struct err *err)
{
	const bool vectors = __builtin_cpu_supports("avx");
	const uint64_t *end = w + n, *last = n < LONGEST ? w : end - LONGEST;

	for (;;) {
		int odd;

		if (w < last && p->sinks) /* only if there are blocks */
			w = (vectors ? copy_vectors : copy_plain)(p->sink, p->sinks, w, last);
		if (w >= end)
			return 0;
		odd = take_odd(e, p, __atomic_load_n(w, __ATOMIC_RELAXED), w + 1,
			       (size_t)(end - w - 1), err);
		if (odd < 0)
			return -1;
		w += 1 + odd;
	}
}

static int take_half(struct exact *e, struct process *p, struct counted *c, unsigned half,
		     uint32_t bytes, struct err *err)
{
	const uint64_t *from =
		(uint64_t *)((char *)c->stream + EXACT_STREAM_PAGE + half * (size_t)EXACT_HALF);
	size_t n = (bytes < EXACT_HALF ? bytes : EXACT_HALF) / 8;

	if (e->mode & EXACT_CALLS)
		return calls_take(e, p, c, from, n, err);
	return e->consumer ? order_take(e, p, c, from, n, err) : take_words(e, p, from, n, err);
}

static int take_full(struct exact *e, struct process *p, struct counted *c, unsigned half,
		     struct err *err)
{
	struct exact_stream *s = c->stream;

	if (!__atomic_load_n(&s->full[half], __ATOMIC_ACQUIRE))
		return 0;
	e->read_any = true;
	exact_note_phase(e, p);
	if (take_half(e, p, c, half, __atomic_load_n(&s->used[half], __ATOMIC_RELAXED), err))
		return -1;
	__atomic_store_n(&s->full[half], 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->waits, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->full[half], FUTEX_WAKE, 1, NULL, NULL, 0);
	return 0;
}

static struct exact_stream *map_stream(const struct exact *e, uint64_t at)
{
	/* the last copy may write beyond the last words */
	size_t n = EXACT_STREAM_SIZE + EXACT_STREAM_PAGE;
	void *m;

	if (at % EXACT_STREAM_PAGE || at > EXACT_SIZE - n)
		return NULL;
	m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, (off_t)at);
	return m == MAP_FAILED ? NULL : m;
}

static int read_stream(struct exact *e, struct process *p, struct counted *c, bool last,
		       struct err *err)
{
	struct exact_stream *s = c->stream;
	uint64_t at, start;

	/* the older half, which is not being filled, comes first */
	unsigned now = __atomic_load_n(&s->current, __ATOMIC_ACQUIRE) & 1;

	if (take_full(e, p, c, !now, err) || take_full(e, p, c, now, err))
		return -1;
	if (!last)
		return 0;
	now = __atomic_load_n(&s->current, __ATOMIC_RELAXED) & 1;
	at = __atomic_load_n(&s->at, __ATOMIC_RELAXED);
	start = __atomic_load_n(&s->start[now], __ATOMIC_RELAXED);
	exact_note_phase(e, p);
	return take_half(e, p, c, now, (uint32_t)(at - start), err);
}

int streams_read(struct exact *e, struct process *p, bool last, struct err *err)
{
	for (size_t t = 0; t < p->nthread; t++) {
		struct counted *c = p->thread[t];

		if (!c->stream_at)
			continue;
		if (!c->stream)
			c->stream = map_stream(e, c->stream_at);
		if (!c->stream)
			return err_set(err, ERR_FAILED, "cannot map a stream");
		if (read_stream(e, p, c, last, err))
			return -1;
	}
	return 0;
}

int streams_finish(struct exact *e, struct process *p, struct err *err)
{
	for (uint32_t i = 0; i < p->nblock; i++) {
		if (!p->block[i])
			continue;
		if (sinks_empty(e, p, i) || values_finish(e, p->block[i]))
			return err_no_memory(err, "the exact recording");
		sinks_drop(e, p, i);
	}
	return 0;
}

void streams_free(struct exact *e, struct process *p)
{
	for (size_t i = 0; i < p->nthread; i++)
		if (p->thread[i]->stream)
			munmap(p->thread[i]->stream, EXACT_STREAM_SIZE + EXACT_STREAM_PAGE);
	sinks_free(e, p);
}
