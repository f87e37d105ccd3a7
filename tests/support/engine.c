/* SPDX-License-Identifier: MIT */
#include "support/engine.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdlib.h>

#include "exact/simulate.h"

#define PAGE 4096ull
#define NOP 0x90
#define STREAM_PLACE 0x10000000u /* where streams lie in the process */

static const unsigned modes[ENGINE_MODE_N] = {
	[ENGINE_COUNTS] = EXACT_COUNTS,
	[ENGINE_ADDRESSES] = EXACT_COUNTS | EXACT_ADDRESSES,
	[ENGINE_VALUES] = EXACT_COUNTS | EXACT_VALUES,
	[ENGINE_CALLS] = EXACT_COUNTS | EXACT_CALLS,
	[ENGINE_LINES] = EXACT_LINES,
	[ENGINE_PHASES] = EXACT_COUNTS | EXACT_PHASES,
	[ENGINE_CONFLICTS] = EXACT_COUNTS,
	[ENGINE_REUSE] = EXACT_COUNTS,
	[ENGINE_MISSES] = EXACT_COUNTS,
	[ENGINE_CYCLES] = EXACT_COUNTS,
};

/* Small, so that it is made quickly. */
static struct machine small_machine(void)
{
	static const struct machine_size caches = { 4096, 4 }, tlbs = { 16, 4 };
	struct machine m;
	struct err err;

	machine_this(&m);
	if (machine_parse(&m, "line=64,page=4096,policy=lru,window=16,buffer=4,fills=2,streams=2",
			  &err))
		abort();
	m.l1d = m.l1i = m.l2 = m.l3 = caches;
	m.dtlb = m.itlb = m.dtlb2 = m.itlb2 = tlbs;
	return m;
}

static int simulate(struct engine *g, enum engine_mode mode, struct err *err)
{
	struct machine m = small_machine();

	if (mode == ENGINE_CONFLICTS) {
		g->profile.conflict_distance = 64;
		g->consumer = simulate_conflicts(&g->profile);
	} else if (mode == ENGINE_REUSE) {
		g->consumer = simulate_reuse(&g->profile, 64);
	} else if (mode == ENGINE_MISSES) {
		g->consumer = simulate_misses(&g->profile, &m);
	} else if (mode == ENGINE_CYCLES) {
		g->consumer = simulate_cycles(&g->profile, &m);
	} else {
		return 0;
	}
	return g->consumer ? 0 : err_set(err, ERR_FAILED, "no memory");
}

int engine_open(struct engine *g, enum engine_mode mode, struct err *err)
{
	struct exact_lines lines = {
		.shift = 6, .unit = EXACT_INSTRUCTIONS, .snapshots = 8, .interval = 1000
	};

	*g = (struct engine){ .file = MAP_FAILED, .next = PAGE };
	if (profile_init(&g->profile, err))
		return -1;
	if (!profile_run(&g->profile)) {
		err_set(err, ERR_FAILED, "no memory");
		goto fail;
	}
	if (simulate(g, mode, err))
		goto fail;
	g->e = exact_open(modes[mode],
			  mode == ENGINE_LINES || mode == ENGINE_PHASES ? &lines : NULL,
			  g->consumer, &g->profile, err);
	if (g->e)
		g->file = mmap(NULL, ENGINE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, g->e->fd, 0);
	if (g->file != MAP_FAILED)
		return 0;
	if (g->e)
		err_set(err, ERR_FAILED, "no memory");
fail:
	engine_close(g);
	return -1;
}

void engine_close(struct engine *g)
{
	exact_close(g->e);
	simulate_free(g->consumer);
	profile_fini(&g->profile);
	if (g->file != MAP_FAILED)
		munmap(g->file, ENGINE_SIZE);
}

void *engine_piece(struct engine *g, uint64_t size, uint64_t *at)
{
	size = (size + PAGE - 1) & ~(PAGE - 1);
	if (size > ENGINE_SIZE - g->next)
		return NULL;
	*at = g->next;
	g->next += size;
	return g->file + *at;
}

void *engine_at(const struct engine *g, uint64_t at)
{
	return g->file + at;
}

struct exact_process *engine_process(struct engine *g, uint64_t *at)
{
	struct exact_header *h = engine_at(g, 0);
	struct exact_process *p = engine_piece(g, sizeof(*p), at);
	uint64_t log;

	if (!p || g->nprocess == ENGINE_PROCESSES || !engine_piece(g, EXACT_LOG_SIZE, &log))
		return NULL;
	g->note[g->nprocess++] = (struct engine_note){ .process = p, .chunk = log };
	p->pid = (uint32_t)getpid();
	p->log = log;
	p->next = h->process;
	__atomic_store_n(&h->process, *at, __ATOMIC_RELEASE);
	return p;
}

static struct engine_note *note_of(struct engine *g, const struct exact_process *p)
{
	struct engine_note *n = g->note;

	while (n->process != p)
		n++;
	return n;
}

struct exact_log *engine_log(struct engine *g, const struct exact_process *p)
{
	return engine_at(g, note_of(g, p)->chunk);
}

void *engine_record(struct engine *g, struct exact_process *p, unsigned kind, size_t size)
{
	struct engine_note *n = note_of(g, p);
	struct exact_log *log = engine_log(g, p);
	struct exact_record *r;
	uint64_t at;

	size = (size + 7) & ~7ul;
	if (size > EXACT_LOG_DATA)
		return NULL;
	if (size > EXACT_LOG_DATA - n->used) {
		if (!engine_piece(g, EXACT_LOG_SIZE, &at))
			return NULL;
		engine_tell(g, p);
		__atomic_store_n(&log->next, at, __ATOMIC_RELEASE);
		n->chunk = at;
		n->used = 0;
		log = engine_at(g, at);
	}
	r = (void *)(log->data + n->used);
	memset(r, 0, size);
	r->size = (uint32_t)size;
	r->kind = kind;
	n->used += size;
	return r;
}

void engine_tell(struct engine *g, const struct exact_process *p)
{
	__atomic_store_n(&engine_log(g, p)->used, note_of(g, p)->used, __ATOMIC_RELEASE);
}

static bool thread_pieces(struct engine *g, uint64_t *counters, uint64_t *stream, uint64_t *firsts)
{
	struct exact_stream *s = NULL;

	if (g->e->mode & EXACT_COUNTS && !engine_piece(g, EXACT_COUNTERS_SIZE, counters))
		return false;
	if (g->e->mode & EXACT_LINES && !engine_piece(g, EXACT_FIRSTS_SIZE, firsts))
		return false;
	if (!(g->e->mode & EXACT_STREAM))
		return true;
	s = engine_piece(g, EXACT_STREAM_SIZE + EXACT_STREAM_PAGE, stream);
	if (!s)
		return false;
	s->at = s->start[0] = STREAM_PLACE;
	s->start[1] = 2 * STREAM_PLACE;
	return true;
}

struct exact_thread *engine_thread(struct engine *g, struct exact_process *p)
{
	uint64_t counters = 0, stream = 0, firsts = 0;
	struct exact_thread *t;

	if (!thread_pieces(g, &counters, &stream, &firsts))
		return NULL;
	t = engine_record(g, p, EXACT_THREAD, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = p->pid;
	t->counters = counters;
	t->stream = stream;
	t->firsts = firsts;
	return t;
}

uint64_t *engine_half(const struct engine *g, const struct exact_thread *t, unsigned half)
{
	return engine_at(g, t->stream + EXACT_STREAM_PAGE + half * (uint64_t)EXACT_HALF);
}

struct exact_block *engine_block(struct engine *g, struct exact_process *p, uint32_t id, unsigned n,
				 const struct exact_field *field, unsigned nfield)
{
	size_t at = EXACT_BLOCK_FIELDS(n, n);
	struct exact_block *b =
		engine_record(g, p, EXACT_BLOCK, sizeof(*b) + at + nfield * sizeof(*field));

	if (!b)
		return NULL;
	b->pc = 0x400000 + 0x1000ull * id;
	b->id = id;
	b->len = b->n = (uint16_t)n;
	b->nfield = (uint16_t)nfield;
	memset(b->bytes, NOP, n);
	memset(b->bytes + n, 1, n);
	for (unsigned i = 0; i < nfield; i++) {
		engine_fields(b)[i] = field[i];
		if (field[i].word != EXACT_CONSTANT && field[i].word >= b->words)
			b->words = (uint16_t)(field[i].word + 1);
	}
	return b;
}

struct exact_field *engine_fields(struct exact_block *b)
{
	return (void *)(b->bytes + EXACT_BLOCK_FIELDS(b->len, b->n));
}
