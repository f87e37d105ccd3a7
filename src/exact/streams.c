/* SPDX-License-Identifier: MIT */
/*
 * Turns streams into hot lists. Executions come in the order of the program; each goes to its
 * block's sink. A full sink is processed column by column, so that little work is done for each
 * value. At the end a column's hot list is copied to each field that shares the column.
 */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "exact/streams_priv.h"

#define SINKS_SIZE (512ul << 20)      /* memory for sinks larger than the first size */
#define COPIED 4		      /* words that are copied at a time */
#define AHEAD 256		      /* words ahead that are prefetched */
#define LINE 8			      /* words of a cache line */
#define LONGEST (1 + EXACT_WORDS_MAX) /* most words of an execution */

/* A unit of copying, in one register if the CPU has such wide ones. */
typedef uint64_t copied_words __attribute__((vector_size(8 * COPIED), aligned(8), may_alias));
typedef uint64_t two_words __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t one_word;

/* For each size of sinks: how many executions it has room for, and after how many emptyings the
 * block gets the next size. */
static const struct size {
	uint16_t room;
	uint8_t times;
} sizes[] = { { 0, 0 }, { 8, 4 }, { 64, 8 }, { VALUES_BATCH, 0 } };
#define OFTEN 2 /* the first size whose sinks lie in the memory for blocks that run often */
_Static_assert(sizeof(sizes) / sizeof(sizes[0]) == OFTEN + EXACT_OFTEN_SIZES, "");

bool streams_widen(struct process *p, uint32_t n)
{
	if (!array_widen(p->sink, p->sinks, n))
		return false;
	p->sink[0].head = ~0u; /* no block has this head: block 0 does not exist */
	return true;
}

static uint32_t low(const uint64_t *at)
{
	return (uint32_t)(uintptr_t)at;
}

static int empty(struct exact *e, struct process *p, uint32_t id)
{
	struct sink *s = &p->sink[id + 1];
	struct sink_room *r = &p->sink_room[id];
	size_t n = r->start ? (size_t)(s->at - r->start) : 0;

	if (!n)
		return 0;
	s->at = r->start;
	r->emptied += r->emptied < 255;
	return values_take(e, p, p->block[id], r->start, (unsigned)(n / p->block[id]->words));
}

/* Takes memory for sinks of blocks that run often: in large pages, because they are written to in
 * any order. NULL: there is no more. */
static uint64_t *often_room(struct exact *e, unsigned size, unsigned words)
{
	struct sink_free **f = &e->sinks_free[size - OFTEN][words];
	size_t n = ((sizes[size].room * (size_t)words + LINE) * sizeof(uint64_t) + 63) & ~63ul;
	char *at;

	if (*f) {
		at = (char *)*f;
		*f = (*f)->next;
		return (uint64_t *)(void *)at;
	}
	if (!e->sinks) {
		void *m = mmap(NULL, SINKS_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (m == MAP_FAILED)
			return NULL;
		madvise(m, SINKS_SIZE, MADV_HUGEPAGE);
		e->sinks = m;
	}
	if (n > SINKS_SIZE - e->sinks_used)
		return NULL;
	at = e->sinks + e->sinks_used;
	e->sinks_used += n;
	return (uint64_t *)(void *)at;
}

/* Keeps the memory for other blocks with as many words. */
static void free_room(struct exact *e, struct process *p, uint32_t id)
{
	struct sink_room *r = &p->sink_room[id];

	if (r->size >= OFTEN) {
		struct sink_free **f = &e->sinks_free[r->size - OFTEN][r->words];
		struct sink_free *room = (void *)r->start;

		room->next = *f;
		*f = room;
	} else {
		free(r->start);
	}
	p->sink[id + 1] = (struct sink){ 0 };
	*r = (struct sink_room){ 0 };
}

/* Makes room in a block's sink; more room than before if the sink is emptied often. */
static int make_room(struct exact *e, struct process *p, uint32_t id)
{
	struct sink_room *r = &p->sink_room[id];
	unsigned size = r->size + 1u, words = p->block[id]->words;
	size_t n;
	uint64_t *room;

	if (empty(e, p, id))
		return -1;
	if (size == sizeof(sizes) / sizeof(sizes[0]) || r->emptied < sizes[r->size].times)
		return 0;
	n = sizes[size].room * (size_t)words;
	room = size >= OFTEN ? often_room(e, size, words) : malloc((n + LINE) * sizeof(*room));
	if (!room)
		return size >= OFTEN ? 0 : -1;
	free_room(e, p, id);
	p->sink[id + 1] = (struct sink){ .at = room,
					 .head = (id + 1) | words << EXACT_HEAD_BLOCKS,
					 .end = low(room + n) };
	*r = (struct sink_room){ .start = room, .words = (uint16_t)words, .size = (uint8_t)size };
	return 0;
}

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
	if ((!s->head || low(s->at) == s->end) && make_room(e, p, id))
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

		if (head != s->head || low(to) == s->end)
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

/* Streams. */

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
		if (empty(e, p, i) || values_finish(e, p->block[i]))
			return err_no_memory(err, "the exact recording");
		free_room(e, p, i);
	}
	return 0;
}

void streams_free(struct exact *e, struct process *p)
{
	for (size_t i = 0; i < p->nthread; i++)
		if (p->thread[i]->stream)
			munmap(p->thread[i]->stream, EXACT_STREAM_SIZE + EXACT_STREAM_PAGE);
	for (uint32_t i = 0; i < p->nblock; i++)
		free_room(e, p, i);
	free(p->sink);
	free(p->sink_room);
}

void streams_close(struct exact *e)
{
	if (e->sinks)
		munmap(e->sinks, SINKS_SIZE);
}
