/* SPDX-License-Identifier: MIT */
/* Writes the log that tells the recorder which blocks, edges and threads there are (engine/shared.h has its format). */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/mman.h>

#include "engine/translate/plan.h"
#include "engine/os/process.h"
#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/edges.h"
#include "engine/core/layout.h"
#include "engine/core/regions.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/publish.h"
#include "engine/os/sys.h"
#include "engine/shared.h"

_Static_assert(EXACT_COUNTERS_SIZE == T_COUNTERS_SIZE, "layout");
_Static_assert(T_COUNTERS + EXACT_PAIRS_AT == T_PAIRS, "layout");
_Static_assert(T_COUNTERS + EXACT_NEAR_AT == T_NEAR && !(T_NEAR % LARGE_PAGE), "layout");
_Static_assert(T_NEAR_SIZE == sizeof(struct exact_near) * EXACT_NEAR_SLOTS, "layout");
_Static_assert(EXACT_HALF == T_HALF_SIZE, "layout");
_Static_assert(EXACT_FIRSTS_SIZE == T_FIRSTS_SIZE, "layout");

struct timespec_k {
	int64_t s, ns;
};

int log_fd = -1;
uint64_t log_mode, log_observed;
uint64_t log_began;
bool log_main;
static const struct exact_header *header; /* shared by all processes of the recording */
static struct exact_process *process;
static uint64_t process_at;
static struct exact_log *chunk;
static uint64_t written; /* bytes of the log before this chunk */
static uint32_t images, pairs;
static int log_lock;
#define SIGNAL_SYS 31
#define BLOCK_NONE 0	/* SIG_BLOCK: nothing is added */
#define UNTOLD_MAX 1024 /* most instructions in the header's sum that a killed process loses */
static int64_t untold;	/* uncounted instructions that were not yet added to the header's number */

/* Maps the header for writing, for a moment only: a stray store of the program must not damage what other processes
 * record. NULL: a limit on memory or a filter of system calls forbids the mapping. */
static struct exact_header *open_header(void)
{
	long p = room_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED, log_fd, 0);

	return sys_failed(p) ? NULL : (struct exact_header *)p;
}

static void close_header(struct exact_header *h)
{
	sys(__NR_munmap, h, 4096);
}

static void *map_piece(uint64_t at, uint64_t n, void *where)
{
	const int prot = PROT_READ | PROT_WRITE;
	long p = where ? sys(__NR_mmap, where, n, prot, MAP_SHARED | MAP_FIXED, log_fd, at)
		       : room_map(n, prot, MAP_SHARED, log_fd, at);

	if (sys_failed(p))
		die("cannot map the recorder's memory: errno %ld", -p);
	return (void *)p;
}

static uint64_t take(uint64_t n)
{
	struct exact_header *h = map_piece(0, 4096, NULL);
	uint64_t at = __atomic_fetch_add(&h->next, n, __ATOMIC_RELAXED);

	close_header(h);
	if (at > EXACT_SIZE - n)
		die("the recorder's memory is used up");
	return at;
}

static void new_chunk(uint64_t at)
{
	struct exact_log *next = map_piece(at, EXACT_LOG_SIZE, NULL);

	if (chunk) {
		written += chunk->used;
		__atomic_store_n(&chunk->next, at, __ATOMIC_RELEASE);
		sys(__NR_munmap, chunk, EXACT_LOG_SIZE);
	} else {
		process->log = at;
	}
	chunk = next;
}

/* Makes room for a record of n bytes, with its head filled in. */
static void *begin(unsigned kind, size_t n)
{
	struct exact_record *r;

	n = (n + 7) & ~7ul;
	if (chunk->used + n > EXACT_LOG_DATA)
		new_chunk(take(EXACT_LOG_SIZE));
	r = (void *)(chunk->data + chunk->used);
	r->size = (uint32_t)n;
	r->kind = kind;
	return r;
}

static void end(const void *record)
{
	const struct exact_record *r = record;

	__atomic_store_n(&chunk->used, chunk->used + r->size, __ATOMIC_RELEASE);
}

void *log_open(unsigned kind, size_t n)
{
	lock(&log_lock);
	return begin(kind, n);
}

void log_close(const void *record)
{
	end(record);
	unlock(&log_lock);
}

/* Begins the log of a process. replaces, same: the place and the pid of the process that this one continues, or 0. */
static void new_process(uint64_t parent, uint64_t parent_log, uint64_t replaces, uint32_t same)
{
	struct exact_header *h;

	process_at = take(4096 + EXACT_LOG_SIZE);
	process = map_piece(process_at, 4096, NULL);
	process->parent = parent;
	process->parent_log = parent_log;
	process->replaces = replaces;
	process->parent_blocks = parent ? nids : 0;
	process->parent_images = images;
	process->parent_pairs = pairs;
	process->pid = same ? same : (uint32_t)sys(__NR_getpid);
	process->same = same != 0;
	chunk = NULL;
	written = 0;
	new_chunk(process_at + 4096);
	h = map_piece(0, 4096, NULL);
	process->next = __atomic_load_n(&h->process, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&h->process, &process->next, process_at, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	close_header(h);
}

static uint64_t number(const char **at)
{
	uint64_t n = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		n = n * 10 + (uint64_t)(**at - '0');
	return n;
}

void log_init(const char *option)
{
	uint64_t replaces = 0;
	long p;

	log_fd = (int)number(&option);
	log_main = !*option;
	if (*option == ':') {
		option++;
		replaces = number(&option);
	}
	if (*option == ':') {
		option++;
		log_began = number(&option);
	}
	if (*option == ':') {
		option++;
		log_main = number(&option);
	}
	p = room_map(4096, PROT_READ, MAP_SHARED, log_fd, 0);
	if (sys_failed(p))
		die("cannot map the recorder's memory: errno %ld", -p);
	header = (const struct exact_header *)p;
	if (header->magic != EXACT_MAGIC)
		die("descriptor %ld is not the recorder's", (long)log_fd);
	log_mode = log_observed = header->mode;
	publish_limit(header->code_limit);
	new_process(0, 0, replaces, 0);
}

bool log_is_ours(void)
{
	return process && process->pid == (uint32_t)sys(__NR_getpid);
}

void log_exec_option(char *out, size_t size)
{
	if (log_fd < 0)
		format(out, size, "--exec");
	else
		format(out, size, "--exec=%ld:%ld:%ld:%ld", (long)log_fd,
		       log_is_ours() ? (long)process_at : 0, (long)schedule_position(self()),
		       (long)(log_is_ours() && process->main));
}

/* Bytes of shared memory that each thread takes. */
static uint64_t pieces_size(void)
{
	return (log_observed & EXACT_STREAM ? EXACT_STREAM_SIZE : 0) +
	       (lines_observed() ? EXACT_FIRSTS_SIZE : 0) +
	       (log_observed & EXACT_COUNTS ? EXACT_COUNTERS_SIZE + LARGE_PAGE : 0);
}

void log_thread(struct thread *t)
{
	struct exact_thread *r;
	uint64_t at = 0, stream = 0, firsts = 0, next;

	if (log_fd < 0)
		return;
	next = take(pieces_size());
	if (log_observed & EXACT_STREAM) {
		char *base = (char *)t;

		stream = next;
		next += EXACT_STREAM_SIZE;
		/* unmapped pages stay a guard that belongs to the engine: the program must not get any of them */
		sys(__NR_mmap, base + T_STREAM, T_SIZE - T_STREAM, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		map_piece(stream, EXACT_STREAM_PAGE, base + T_STREAM);
		map_piece(stream + EXACT_STREAM_PAGE, EXACT_HALF, base + T_HALF_0);
		map_piece(stream + EXACT_STREAM_PAGE + EXACT_HALF, EXACT_HALF, base + T_HALF_1);
		stream_of(t)->start[0] = stream_of(t)->at = (uint64_t)base + T_HALF_0;
		stream_of(t)->start[1] = (uint64_t)base + T_HALF_1;
	}
	if (lines_observed()) {
		firsts = next;
		map_piece(firsts, EXACT_FIRSTS_SIZE, (char *)t + T_FIRSTS);
	}
	if (log_observed &
	    /* the offset in the file is aligned like the address in memory, so that T_NEAR can be a
	     * large page */
	    EXACT_COUNTS) {
		at = (next + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
		map_piece(at, EXACT_COUNTERS_SIZE, (char *)t + T_COUNTERS);
		edges_thread(t);
	}
	lock(&log_lock);
	r = begin(EXACT_THREAD, sizeof(*r));
	r->tid = (uint32_t)t->tid;
	r->counters = at;
	r->stream = stream;
	r->firsts = firsts;
	end(r);
	unlock(&log_lock);
	__atomic_store_n(&t->mapped, true, __ATOMIC_RELEASE);
}

void log_thread_end(struct thread *t)
{
	log_tell();
	t->mapped = false;
	/* Keeps the addresses for the engine, so that the program does not get them. The memory is not written, so that
	 * it does not count as data (ulimit -d), but reads as zeros until another thread's counters are mapped there
	 * (edges_forget). */
	if (log_fd >= 0)
		sys(__NR_mmap, (char *)t + T_COUNTERS, T_RAN - T_COUNTERS, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void ring(void)
{
	struct exact_header *h = open_header();

	if (!h) /* the recorder polls as well, so an unrung bell costs time only */
		return;
	__atomic_fetch_add(&h->bell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&h->waits, __ATOMIC_SEQ_CST))
		sys(__NR_futex, &h->bell, FUTEX_WAKE, 1);
	close_header(h);
}

/* Whether the recorder has ended: it holds a lock on the file while it lives. */
static bool recorder_gone(void)
{
	static bool gone;
	struct flock l = { .l_type = F_RDLCK };

	if (!gone)
		gone = !__atomic_load_n(&header->reading, __ATOMIC_RELAXED) ||
		       (!sys(__NR_fcntl, log_fd, F_GETLK, &l) && l.l_type == F_UNLCK);
	return gone;
}

void log_next_half(struct thread *t, uint64_t end_at, size_t n)
{
	struct exact_stream *s = stream_of(t);
	uint32_t now = s->current & 1, next = !now;
	struct timespec_k wait = { 0, 100000000 };

	/* without a recorder the program must not wait forever */
	while (__atomic_load_n(&s->full[next], __ATOMIC_ACQUIRE) && !recorder_gone()) {
		__atomic_store_n(&s->waits, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&s->full[next], __ATOMIC_SEQ_CST))
			sys(__NR_futex, &s->full[next], FUTEX_WAIT, 1, &wait);
		__atomic_store_n(&s->waits, 0, __ATOMIC_RELAXED);
	}
	/* these bytes are copied before the half is given away */
	memcpy((void *)s->start[next], (const void *)end_at, n);
	s->used[now] = (uint32_t)(end_at - s->start[now]);
	s->at = s->start[next];
	__atomic_store_n(&s->current, next, __ATOMIC_RELEASE);
	__atomic_store_n(&s->full[now], 1, __ATOMIC_RELEASE);
	ring();
}

void log_before_fork(void)
{
	lock(&log_lock);
	if (process)
		__atomic_fetch_add(&process->forks, 1, __ATOMIC_RELAXED);
}

void log_after_fork(struct thread *t, long result)
{
	bool child = !result;

	if (sys_failed(result) && process)
		__atomic_fetch_sub(&process->forks, 1, __ATOMIC_RELAXED);
	if (child && log_fd >= 0) {
		uint64_t parent = process_at, log = written + chunk->used;

		sys(__NR_munmap, process, 4096);
		sys(__NR_munmap, chunk, EXACT_LOG_SIZE);
		untold = 0; /* the parent reports these instructions */
		new_process(parent, log, 0, 0);
	}
	unlock(&log_lock);
	if (child)
		log_thread(t);
}

uint32_t log_image(const struct region *g)
{
	struct exact_image *r;

	if (log_fd < 0)
		return 0;
	lock(&log_lock);
	r = begin(EXACT_IMAGE, sizeof(*r));
	r->number = ++images;
	r->prot = (uint32_t)g->prot;
	r->start = g->start;
	r->end = g->end;
	r->offset = g->offset;
	r->dev = g->dev;
	r->inode = g->inode;
	memcpy(r->path, g->path, sizeof(r->path));
	end(r);
	unlock(&log_lock);
	return images;
}

static void log_exits(const struct block *b, const struct plan *plan, const struct log_exits *exits)
{
	unsigned nfield = 0;

	for (unsigned i = 0; i < exits->n; i++) {
		const struct log_exit *x = &exits->exit[i];
		struct exact_exit *r = begin(EXACT_EXIT, sizeof(*r));

		while (nfield < plan->nfield && plan->field[nfield].insn <= x->insn)
			nfield++;
		r->id = b->id + 1 + i;
		r->of = b->id;
		r->n = x->insn + 1;
		r->words = x->words;
		r->nfield = (uint16_t)nfield;
		r->target = x->target;
		end(r);
	}
}

void log_block(struct block *b, uint32_t image, const uint8_t *lens, const struct plan *plan,
	       const struct log_exits *exits)
{
	struct exact_block *r;
	size_t fields, size;

	b->id = nids;
	nids += 1 + exits->n;
	if (log_fd < 0)
		return;
	fields = EXACT_BLOCK_FIELDS(b->len, b->n);
	size = plan->nfield * sizeof(plan->field[0]);
	lock(&log_lock);
	r = begin(EXACT_BLOCK, sizeof(*r) + fields + size);
	r->pc = b->pc;
	r->id = b->id;
	r->image = image;
	r->len = b->len;
	r->n = b->n;
	r->words = (uint16_t)plan->words;
	r->nfield = (uint16_t)plan->nfield;
	r->exits = (uint16_t)exits->n;
	r->before = (uint16_t)exits->before;
	memcpy(r->bytes, b->bytes, b->len);
	memcpy(r->bytes + b->len, lens, b->n);
	memcpy(r->bytes + fields, plan->field, size);
	end(r);
	log_exits(b, plan, exits);
	unlock(&log_lock);
}

void log_inverted(uint32_t id)
{
	struct exact_inverted *r;

	if (log_fd < 0)
		return;
	lock(&log_lock);
	r = begin(EXACT_INVERTED, sizeof(*r));
	r->id = id;
	end(r);
	unlock(&log_lock);
}

void log_pair(uint32_t number, uint32_t block, uint32_t near, uint64_t pc, uint32_t image)
{
	struct exact_pair *r;

	if (log_fd < 0)
		return;
	lock(&log_lock);
	r = begin(EXACT_PAIR, sizeof(*r));
	r->number = number;
	r->block = block;
	r->near = near;
	r->pad = 0;
	r->to = (struct exact_place){ .pc = pc, .image = image };
	pairs = number + 1;
	end(r);
	unlock(&log_lock);
}

void log_edge(unsigned kind, uint32_t block, uint64_t from, uint32_t from_image, uint64_t to,
	      uint32_t to_image)
{
	struct exact_edge *r;

	if (log_fd < 0)
		return;
	lock(&log_lock);
	r = begin(EXACT_EDGE, sizeof(*r));
	r->kind = kind;
	r->block = block;
	r->from = (struct exact_place){ .pc = from, .image = from_image };
	r->to = (struct exact_place){ .pc = to, .image = to_image };
	end(r);
	unlock(&log_lock);
}

void log_cut(uint32_t id, unsigned done, bool counted)
{
	struct exact_cut *r;

	if (log_fd < 0)
		return;
	lock(&log_lock);
	r = begin(EXACT_CUT, sizeof(*r));
	r->id = id;
	r->done = (uint16_t)done;
	r->counted = counted;
	end(r);
	unlock(&log_lock);
}

void log_native(const char *path)
{
	struct exact_native *r;
	size_t n = strlen(path);

	if (log_fd < 0)
		return;
	lock(&log_lock);
	r = begin(EXACT_NATIVE, sizeof(*r));
	memset(r->path, 0, sizeof(r->path));
	memcpy(r->path, path, n < sizeof(r->path) ? n : sizeof(r->path) - 1);
	end(r);
	unlock(&log_lock);
}

const struct exact_lines *log_lines(void)
{
	return &header->lines;
}

const struct exact_schedule *log_schedule(void)
{
	return &header->schedule;
}

const void *log_piece(uint64_t at, uint64_t n)
{
	long p = room_map(n, PROT_READ, MAP_SHARED, log_fd, at);

	if (sys_failed(p))
		die("cannot map the recorder's memory: errno %ld", -p);
	return (const void *)p;
}

void log_position(uint64_t position, unsigned phase, uint64_t length, bool main)
{
	if (log_fd < 0)
		return;
	__atomic_store_n(&process->position, position, __ATOMIC_RELAXED);
	process->main = main;
	__atomic_store_n(&process->phase_length, length, __ATOMIC_RELAXED);
	__atomic_store_n(&process->phase, phase, __ATOMIC_RELEASE);
}

void log_sampled(const struct exact_sampled *s)
{
	struct exact_sampled *r;

	lock(&log_lock);
	r = begin(EXACT_SAMPLED, sizeof(*r));
	r->number = s->number;
	r->begin = s->begin;
	r->end = s->end;
	r->cut = s->cut;
	r->gap = s->gap;
	end(r);
	unlock(&log_lock);
}

/*
 * Whether the bell may be rung. A filter of system calls may answer the engine's call with SIGSYS, which ends the
 * process if that signal is blocked, as in threads that block all signals.
 */
static bool may_ring(void)
{
	sig_set mask = 0;

	if (!__atomic_load_n(&process_restricted, __ATOMIC_RELAXED))
		return true;
	sys(__NR_rt_sigprocmask, BLOCK_NONE, NULL, &mask, sizeof(mask));
	return !(mask & sig_bit(SIGNAL_SYS));
}

/* Begins a half of the stream anew after the recorder has read it. */
static void empty_stream(struct thread *t)
{
	struct exact_stream *s = stream_of(t);

	s->at = s->start[s->current & 1];
}

void log_ask(void)
{
	struct timespec_k wait = { 0, 100000000 };
	uint32_t asked = process->asked + 1, seen;

	__atomic_store_n(&process->asked, asked, __ATOMIC_SEQ_CST);
	/* The recorder looks from time to time even without the bell. */
	if (may_ring())
		ring();
	while ((seen = __atomic_load_n(&process->answered, __ATOMIC_ACQUIRE)) != asked &&
	       !recorder_gone())
		sys(__NR_futex, &process->answered, FUTEX_WAIT, seen, &wait);
	for (struct thread *t = threads; log_observed & EXACT_STREAM && t; t = t->next)
		if (!t->ended && t->mapped)
			empty_stream(t);
}

void log_uncounted(int n)
{
	if (log_fd >= 0 && __atomic_add_fetch(&untold, n, __ATOMIC_RELAXED) >= UNTOLD_MAX)
		log_tell();
}

void log_tell(void)
{
	int64_t n = __atomic_exchange_n(&untold, 0, __ATOMIC_RELAXED);
	struct exact_header *h = n && log_fd >= 0 ? open_header() : NULL;

	if (!h)
		return;
	__atomic_fetch_add(&h->uncounted, (uint64_t)n, __ATOMIC_RELAXED);
	close_header(h);
}

void log_ended(void)
{
	log_tell();
	if (!log_is_ours())
		return;
	__atomic_store_n(&process->state, EXACT_ENDED, __ATOMIC_RELEASE);
	if (log_observed & EXACT_STREAM)
		ring();
}

void log_restart(void)
{
	struct exact_process *old = process;
	void *old_chunk = chunk;

	if (log_fd < 0)
		return;
	lock(&log_lock);
	images = pairs = 0;
	new_process(0, 0, process_at, old->pid);
	schedule_restart();
	/* only after the successor is logged: a process that ends without one counts as ended for good */
	__atomic_store_n(&old->state, EXACT_ENDED, __ATOMIC_RELEASE);
	sys(__NR_munmap, old, 4096);
	sys(__NR_munmap, old_chunk, EXACT_LOG_SIZE);
	unlock(&log_lock);
	if (log_observed & EXACT_STREAM)
		ring();
	for (struct thread *t = threads; t; t = t->next)
		if (!t->ended && t->tid != -1) /* a thread that is just beginning logs itself */
			log_thread(t);
}

void log_leave(struct thread *t)
{
	if (log_fd < 0)
		return;
	log_ended();
	sys(__NR_munmap, chunk, EXACT_LOG_SIZE);
	sys(__NR_munmap, process, 4096);
	sys(__NR_munmap, header, 4096);
	sys(__NR_munmap, (char *)t + T_COUNTERS, T_RAN - T_COUNTERS);
	sys(__NR_close, log_fd);
	log_fd = -1;
}
