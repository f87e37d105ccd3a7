/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what a hostile program does to the memory that it shares with the recorder of exact runs, in each way of
 * observing. The bytes are steps: mostly records, streams and counters as the engine would write them, so that the
 * recorder follows; some words of them are others. The recorder comes by in between; meanwhile, if the input says so, a
 * second thread writes there, what and where by the input's bytes.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/engine.h"

#define PROCESSES 8
#define BLOCKS 64
#define THREADS 4
#define POLLS 12
#define STEPS 600
#define OPS 1024
#define CHANGES 4000 /* of the second thread, while the recorder comes by once */
#define TOUCHED \
	65536 /* bytes of one access that are simulated, so that an input takes no more than its time */
#define IMAGE "/bin/true"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct thread {
	uint64_t counters, stream;
	uint32_t at[2]; /* bytes in each half */
	unsigned current;
};

struct known_process {
	struct exact_process *p;
	uint64_t at;
	uint32_t nblock, npair, nimage;
	struct known_block {
		uint32_t words, n, nfield;
	} block[BLOCKS];
	struct thread thread[THREADS];
	unsigned nthread;
	uint64_t logged, count;
};

struct fuzz {
	const uint8_t *data, *end;
	struct engine g;
	enum engine_mode mode;
	struct known_process process[PROCESSES], *now;
	unsigned nprocess, polls;
	bool meddle, stopped; /* stopped: the recorder has given up */
	uint64_t state;	      /* of the second thread's numbers */
	bool stop;
	struct order_consumer consumer;
	const struct order_consumer *under;
};

static unsigned byte(struct fuzz *f)
{
	return f->data < f->end ? *f->data++ : 0;
}

static unsigned pick(struct fuzz *f, unsigned n)
{
	return byte(f) % n;
}

static uint64_t word_of(uint64_t at, unsigned kind)
{
	static const uint64_t some[] = {
		0,	    1,		7,	    8,		15,	      16,
		255,	    4095,	4096,	    65535,	1ull << 18,   1ull << 22,
		UINT32_MAX, 1ull << 31, 1ull << 47, 1ull << 52, ~0ull - 4095, ~0ull - 1,
		~0ull,	    1ull << 63
	};

	return kind < 20 ? some[kind] : at * 0x9e3779b97f4a7c15ull >> (kind & 63);
}

static uint64_t wild_word(struct fuzz *f)
{
	unsigned kind = byte(f);

	return word_of(kind < 20 ? 0 : byte(f) + 1, kind);
}

/* Mostly leaves a record as it is. */
static void spoil(struct fuzz *f, void *record, size_t size)
{
	unsigned how = byte(f);
	uint64_t v;
	size_t at;

	if (how >= 12 || size < 8)
		return;
	v = wild_word(f);
	at = byte(f) * 8 % size;
	memcpy((char *)record + at, &v, how % 3 == 0 ? 2 : how % 3 == 1 ? 4 : 8);
}

static void done(struct fuzz *f, void *record)
{
	uint32_t size = ((struct exact_record *)record)->size;

	spoil(f, record, size);
	if (byte(f) % 4)
		engine_tell(&f->g, f->now->p);
	f->now->logged += size;
}

static void *record(struct fuzz *f, unsigned kind, size_t size)
{
	return engine_record(&f->g, f->now->p, kind, size);
}

/* Blocks. */

/* What a block ends with; the first is a return, the next two are calls. */
static const struct {
	uint8_t len, bytes[8];
} last[] = {
	{ 1, { 0xc3 } },			/* ret */
	{ 5, { 0xe8, 0x10, 0, 0, 0 } },		/* call */
	{ 2, { 0xff, 0xd0 } },			/* call rax */
	{ 2, { 0x74, 0x10 } },			/* je */
	{ 2, { 0xeb, 0x10 } },			/* jmp */
	{ 5, { 0xe9, 0, 0, 0, 0x10 } },		/* jmp, to another image */
	{ 2, { 0xff, 0xe0 } },			/* jmp rax */
	{ 3, { 0x48, 0x89, 0x07 } },		/* mov [rdi], rax */
	{ 3, { 0x48, 0x8b, 0x07 } },		/* mov rax, [rdi] */
	{ 2, { 0xf3, 0xaa } },			/* rep stosb */
	{ 7, { 0x48, 0x81, 0x07, 1, 0, 0, 0 } } /* add qword [rdi], 1 */
};

static unsigned an_end(struct fuzz *f)
{
	return pick(f, f->mode == ENGINE_CALLS ? 3 : sizeof(last) / sizeof(last[0]));
}

static void put_code(struct exact_block *b, unsigned end)
{
	unsigned len = last[end].len;

	b->len = (uint16_t)(b->n - 1 + len);
	memset(b->bytes, 0x90, b->len);
	memcpy(b->bytes + b->n - 1, last[end].bytes, len);
	memset(b->bytes + b->len, 1, b->n);
	b->bytes[b->len + b->n - 1] = (uint8_t)len;
}

static struct exact_field a_field(struct fuzz *f, unsigned insn)
{
	static const uint8_t bits[] = { 8, 16, 32, 64 };
	unsigned how = byte(f), from = how & 3, access = 1 + pick(f, EXACT_ACCESS_N - 1);
	struct exact_field x = { .insn = (uint8_t)insn,
				 .word = how & 0x40 ? EXACT_CONSTANT : (uint16_t)(how >> 2 & 3),
				 .from = bits[from],
				 .to = bits[from + (how >> 4 & 3) > 3 ? 3 : from + (how >> 4 & 3)],
				 .operand = (uint8_t)pick(f, OPERAND_N) };

	if (how >= 0xfc)
		x.from = EXACT_HIGH;
	if (how & 0x80)
		x.add = (int64_t)wild_word(f);
	x.access = (uint16_t)(access << EXACT_ACCESS_BITS | (1u << pick(f, 7)));
	return x;
}

static void make_fields(struct fuzz *f, struct exact_field *field, unsigned n, unsigned nfield,
			unsigned end)
{
	/* what a return has, and a call: where the return address lies, and what follows */
	static const uint8_t returns[] = { OPERAND_ADDRESS, OPERAND_LOAD, OPERAND_RETURN };
	static const uint8_t calls[] = { OPERAND_ADDRESS, OPERAND_TARGET, OPERAND_ARG0,
					 OPERAND_ARG5 };

	for (unsigned i = 0; i < nfield; i++) {
		field[i] = a_field(f, i * n / nfield);
		if (f->mode == ENGINE_CALLS) {
			field[i].insn = (uint8_t)(n - 1);
			field[i].operand = end ? calls[i % 4] : returns[i % 3];
		}
	}
}

static void put_exit(struct fuzz *f, uint32_t of, unsigned n)
{
	struct known_process *p = f->now;
	struct exact_exit *r = p->nblock < BLOCKS ? record(f, EXACT_EXIT, sizeof(*r)) : NULL;

	if (!r)
		return;
	r->of = of;
	r->id = p->nblock;
	r->n = (uint16_t)n;
	r->words = (uint16_t)p->block[of].words;
	r->nfield = (uint16_t)(n * p->block[of].nfield / p->block[of].n);
	r->target = 0x400000 + 16ull * byte(f);
	p->block[p->nblock++] = (struct known_block){ r->words, n, 0 };
	done(f, r);
}

static void step_block(struct fuzz *f)
{
	struct known_process *p = f->now;
	unsigned n = 1 + pick(f, 6),
		 nfield = f->mode == ENGINE_COUNTS || f->mode == ENGINE_PHASES ? 0 : pick(f, 8);
	unsigned exits = n > 1 && !pick(f, 4) ? 1 + pick(f, n - 1) : 0;
	struct exact_field field[8];
	struct exact_block *b;
	size_t room = n + 8;
	unsigned end = an_end(f);
	uint32_t id = p->nblock;

	if (id + 1 + exits > BLOCKS)
		return;
	make_fields(f, field, n, nfield, end);
	b = record(f, EXACT_BLOCK, sizeof(*b) + EXACT_BLOCK_FIELDS(room, n) + sizeof(field));
	if (!b)
		return;
	b->pc = 0x400000 + 16ull * byte(f);
	b->id = id;
	b->image = pick(f, 2) ? p->nimage : 0;
	b->n = (uint16_t)n;
	put_code(b, end);
	b->nfield = (uint16_t)nfield;
	for (unsigned i = 0; i < nfield; i++)
		if (field[i].word != EXACT_CONSTANT && field[i].word >= b->words)
			b->words = (uint16_t)(field[i].word + 1);
	memcpy(engine_fields(b), field, nfield * sizeof(*field));
	b->exits = (uint16_t)exits;
	b->before = (uint16_t)pick(f, exits + 1);
	p->block[p->nblock++] = (struct known_block){ b->words, n, nfield };
	done(f, b);
	for (unsigned i = 0; i < exits; i++)
		put_exit(f, id, i + 1);
}

/* Of any block. */
static void step_exit(struct fuzz *f)
{
	uint32_t of = f->now->nblock ? pick(f, f->now->nblock) : 0;

	if (f->now->nblock)
		put_exit(f, of, 1 + pick(f, f->now->block[of].n));
}

/* The others. */

static uint64_t inode_of(const char *path)
{
	static uint64_t known;
	struct stat st;

	if (!known && !stat(path, &st))
		known = st.st_ino;
	return known;
}

static void step_image(struct fuzz *f)
{
	static const char *const paths[] = { IMAGE, "[vdso]", "", "/nowhere" };
	struct exact_image *r = record(f, EXACT_IMAGE, sizeof(*r));
	unsigned i = pick(f, 4);

	if (!r)
		return;
	r->number = ++f->now->nimage;
	r->start = 0x400000 + 4096ull * pick(f, 4);
	r->end = r->start + 4096ull * (1 + pick(f, 32));
	r->offset = 4096ull * pick(f, 8);
	r->inode = inode_of(IMAGE);
	strcpy(r->path, paths[i]);
	done(f, r);
}

static void step_inverted(struct fuzz *f)
{
	struct exact_inverted *r = record(f, EXACT_INVERTED, sizeof(*r));

	if (!r)
		return;
	r->id = pick(f, f->now->nblock + 1);
	done(f, r);
}

static void step_thread(struct fuzz *f)
{
	struct known_process *p = f->now;
	struct exact_thread *t = p->nthread < THREADS ? engine_thread(&f->g, p->p) : NULL;

	if (!t)
		return;
	t->tid = p->p->pid + pick(f, 2);
	p->thread[p->nthread++] = (struct thread){ .counters = t->counters, .stream = t->stream };
	done(f, t);
}

static void step_cut(struct fuzz *f)
{
	struct exact_cut *r = record(f, EXACT_CUT, sizeof(*r));

	if (!r)
		return;
	r->id = pick(f, f->now->nblock + 1);
	r->done = (uint16_t)pick(f, 8);
	r->counted = (uint16_t)pick(f, 2);
	done(f, r);
}

static void step_vector(struct fuzz *f)
{
	unsigned n = pick(f, 6);
	struct exact_vector *r = record(f, EXACT_VECTOR, sizeof(*r) + n * sizeof(r->entry[0]));

	if (!r)
		return;
	r->n = n;
	r->pairs = pick(f, 2);
	for (unsigned i = 0; i < n; i++) {
		r->entry[i].number = pick(f, r->pairs ? f->now->npair + 1 : f->now->nblock + 1);
		r->entry[i].times = byte(f) ? byte(f) : UINT32_MAX;
	}
	done(f, r);
}

static void step_interval(struct fuzz *f)
{
	struct exact_record *r = record(f, EXACT_INTERVAL, sizeof(*r));

	if (r)
		done(f, r);
}

static void step_pair(struct fuzz *f)
{
	struct exact_pair *r = record(f, EXACT_PAIR, sizeof(*r));

	if (!r)
		return;
	r->number = f->now->npair++;
	r->block = f->now->nblock ? pick(f, f->now->nblock) : 0;
	r->near = pick(f, 2) ? (uint32_t)byte(f) : UINT32_MAX - byte(f);
	r->to = (struct exact_place){ .pc = 0x400000 + byte(f), .image = pick(f, 3) };
	done(f, r);
}

static void step_edge(struct fuzz *f)
{
	struct exact_edge *r = record(f, EXACT_EDGE, sizeof(*r));

	if (!r)
		return;
	r->kind = pick(f, 2);
	r->block = pick(f, f->now->nblock + 1);
	r->from = (struct exact_place){ .pc = 0x400000 + byte(f), .image = pick(f, 3) };
	r->to = (struct exact_place){ .pc = 0x400000 + byte(f), .image = pick(f, 3) };
	done(f, r);
}

static void step_native(struct fuzz *f)
{
	struct exact_native *r = record(f, EXACT_NATIVE, sizeof(*r));

	if (r)
		done(f, r);
}

/* A record of any kind, any bytes in it. */
static void step_raw(struct fuzz *f)
{
	size_t size = 8 + 8ull * pick(f, 40);
	struct exact_record *r = record(f, pick(f, EXACT_SNAPSHOT + 2), size);

	if (!r)
		return;
	for (size_t i = 8; i < size; i++)
		((uint8_t *)r)[i] = (uint8_t)byte(f);
	done(f, r);
}

/* Working sets. */

static void step_mapping(struct fuzz *f)
{
	static const char *const names[] = { "[heap]", "[stack]", "/lib/x", "" };
	struct exact_mapping *r = record(f, EXACT_MAPPING, sizeof(*r));
	unsigned i = byte(f);

	if (!r)
		return;
	r->first = i % 4 == 0;
	r->start = 0x100000ull * (i % 4);
	r->end = r->start + 0x100000;
	strcpy(r->name, names[i % 4]);
	done(f, r);
}

static void step_touched(struct fuzz *f)
{
	unsigned n = pick(f, 16);
	bool listed = pick(f, 2);
	struct exact_touched *r =
		record(f, EXACT_TOUCHED, sizeof(*r) + (listed ? 2 * n : EXACT_CHUNK / 8));

	if (!r)
		return;
	r->chunk = pick(f, 18);
	r->n = n;
	r->listed = listed;
	r->plane = (uint8_t)pick(f, 3);
	for (unsigned i = 0; i < (listed ? 2 * n : 16); i++)
		r->lines[i] = (uint8_t)byte(f);
	done(f, r);
}

static void step_ran(struct fuzz *f)
{
	struct exact_ran *r = record(f, EXACT_RAN, sizeof(*r) + 8);

	if (!r)
		return;
	r->first = 8 * pick(f, 3);
	r->bytes = pick(f, 9);
	for (unsigned i = 0; i < 8; i++)
		r->blocks[i] = (uint8_t)byte(f);
	done(f, r);
}

static void step_stack(struct fuzz *f)
{
	unsigned n = 8 * pick(f, 40);
	struct exact_stack *r = record(f, EXACT_STACK, sizeof(*r) + n);

	if (!r)
		return;
	r->pc = 0x401000 + 16ull * byte(f);
	r->reg[4] = r->reg[5] = 0x7ff000;
	for (unsigned i = 0; i + 8 <= n; i += 8)
		*(uint64_t *)(void *)(r->bytes + i) =
			pick(f, 2) ? 0x401000 + 16ull * byte(f) : 0x7ff000 + i;
	done(f, r);
}

static void step_snapshot(struct fuzz *f)
{
	struct exact_snapshot *r = record(f, EXACT_SNAPSHOT, sizeof(*r));

	if (!r)
		return;
	r->count = f->now->count += byte(f);
	r->cpu_ns = r->wall_ns = f->now->count;
	r->tid = f->now->p->pid;
	r->last = pick(f, 2);
	memset(r->name, 'a', sizeof(r->name));
	done(f, r);
}

/* Processes. */

static void begin_process(struct fuzz *f)
{
	struct known_process *p = &f->process[f->nprocess];

	if (f->nprocess == PROCESSES)
		return;
	*p = (struct known_process){ 0 };
	p->p = engine_process(&f->g, &p->at);
	if (!p->p)
		return;
	f->nprocess++;
	f->now = p;
}

static void step_process(struct fuzz *f)
{
	const struct known_process *from = f->now;
	struct known_process *p;
	unsigned how = byte(f);

	begin_process(f);
	p = f->now;
	if (p == from)
		return;
	if (how & 1) { /* a child */
		p->p->parent = from->at;
		p->p->parent_log = from->logged;
		p->nblock = p->p->parent_blocks =
			how & 8 ? from->nblock : pick(f, from->nblock + 1);
		p->nimage = p->p->parent_images = from->nimage;
		p->npair = p->p->parent_pairs = from->npair;
		memcpy(p->block, from->block, sizeof(p->block));
	} else if (how & 2) {
		p->p->replaces = from->at;
		p->p->same = how >> 2 & 1;
	}
	if (how & 16)
		p->p->pid = (uint32_t)wild_word(f);
	spoil(f, p->p, sizeof(*p->p));
}

static void step_switch(struct fuzz *f)
{
	f->now = &f->process[pick(f, f->nprocess)];
}

static void step_forks(struct fuzz *f)
{
	f->now->p->forks = pick(f, 4);
}

static void step_end(struct fuzz *f)
{
	engine_tell(&f->g, f->now->p);
	__atomic_store_n(&f->now->p->state, EXACT_ENDED, __ATOMIC_RELEASE);
}

/* Streams and counters. */

static struct thread *a_thread(struct fuzz *f)
{
	return f->now->nthread ? &f->now->thread[pick(f, f->now->nthread)] : NULL;
}

static void next_half(struct fuzz *f, struct thread *t)
{
	struct exact_stream *s = engine_at(&f->g, t->stream);

	s->used[t->current] = t->at[t->current];
	__atomic_store_n(&s->full[t->current], 1, __ATOMIC_RELEASE);
	t->current = !t->current;
	t->at[t->current] = 0;
	s->current = t->current;
	s->at = s->start[t->current];
}

static void execute(struct fuzz *f, struct thread *t)
{
	struct exact_stream *s = engine_at(&f->g, t->stream);
	uint64_t *w =
		engine_at(&f->g, t->stream + EXACT_STREAM_PAGE + t->current * (uint64_t)EXACT_HALF +
					 t->at[t->current]);
	unsigned how = byte(f), id = f->now->nblock ? pick(f, f->now->nblock) : 0, n = 0;
	uint32_t words = f->now->block[id].words;
	unsigned times = how & 32 ? 1 + pick(f, 200) : 1;
	uint64_t head = id + 1 + ((uint64_t)words << EXACT_HEAD_BLOCKS);

	if (how % 16 == 1)
		head |= EXACT_HEAD_CUT | (uint64_t)pick(f, 8) << 32;
	if (how == 2)
		head = wild_word(f);
	if (t->at[t->current] + times * (words + 1) * 8 > EXACT_HALF)
		return;
	for (unsigned k = 0; k < times; k++) {
		w[n++] = head;
		for (unsigned i = 0; i < words && i < 8; i++)
			w[n++] = k > 3 ? k : how & 64 ? wild_word(f) : 0x400000 + byte(f);
	}
	t->at[t->current] += 8 * n;
	s->at = s->start[t->current] + t->at[t->current];
	if (how & 128 && how & 16)
		next_half(f, t);
}

static void step_stream(struct fuzz *f)
{
	struct thread *t = a_thread(f);

	for (unsigned n = t && t->stream ? 1 + pick(f, 8) : 0; n-- > 0;)
		execute(f, t);
}

static void step_half(struct fuzz *f)
{
	struct thread *t = a_thread(f);

	if (t && t->stream)
		next_half(f, t);
}

static void step_counters(struct fuzz *f)
{
	struct thread *t = a_thread(f);
	struct exact_near *near;
	uint64_t *c;
	unsigned i = byte(f);

	if (!t || !t->counters)
		return;
	c = engine_at(&f->g, t->counters);
	c[i % (2 * BLOCKS)] += byte(f);
	c[EXACT_PAIRS_AT / 8 + i % 8] += pick(f, 4);
	near = (void *)(c + EXACT_NEAR_AT / 8);
	near[i].pair = pick(f, 8);
	near[i].count = byte(f);
	c[EXACT_INSIDE] = pick(f, BLOCKS);
}

/* Any word of what has been given out. */
static void step_poke(struct fuzz *f)
{
	uint64_t *page;
	unsigned at = byte(f) | byte(f) << 8;

	switch (pick(f, 4)) {
	case 0:
		page = engine_at(&f->g, 0);
		break;
	case 1:
		page = (void *)f->now->p;
		break;
	case 2:
		page = (void *)engine_log(&f->g, f->now->p);
		break;
	default:
		page = f->now->nthread ? engine_at(&f->g, f->now->thread[0].stream) : NULL;
		at %= 16;
		break;
	}
	if (page)
		__atomic_store_n(&page[at % 512], wild_word(f), __ATOMIC_RELAXED);
}

/* The recorder, and the second thread. */

static uint64_t draw(struct fuzz *f)
{
	f->state ^= f->state << 13;
	f->state ^= f->state >> 7;
	f->state ^= f->state << 17;
	return f->state * 0x2545f4914f6cdd1dull;
}

/* A place to be written to: mostly where there is something. */
static void *a_place(struct fuzz *f, uint64_t r)
{
	const struct known_process *p = &f->process[(r >> 4) % f->nprocess];
	const struct thread *t = p->nthread ? &p->thread[(r >> 8) % p->nthread] : NULL;
	uint64_t at = r >> 16;

	switch (r % 8) {
	case 0:
		return (uint64_t *)engine_at(&f->g, 0) + at % 16;
	case 1:
		return (uint64_t *)(void *)p->p + at % 10;
	case 2:
	case 3:
	case 4:
		return (char *)engine_log(&f->g, p->p) + (at % 4096 & ~7ull);
	case 5:
		return t && t->stream ? (uint64_t *)engine_at(&f->g, t->stream) + at % 8 : NULL;
	case 6:
		return t && t->stream
			       ? (uint64_t *)engine_at(&f->g, t->stream + EXACT_STREAM_PAGE) +
					 at % 64
			       : NULL;
	default:
		return t && t->counters ? (uint64_t *)engine_at(&f->g, t->counters) + at % 128
					: NULL;
	}
}

static void *meddle(void *arg)
{
	struct fuzz *f = arg;

	for (unsigned i = 0; i < CHANGES && !__atomic_load_n(&f->stop, __ATOMIC_RELAXED); i++) {
		uint64_t r = draw(f), old, *at = a_place(f, r);

		if (!at)
			continue;
		old = __atomic_load_n(at, __ATOMIC_RELAXED);
		__atomic_store_n(at, word_of(r, (unsigned)(draw(f) >> 40) & 63), __ATOMIC_RELAXED);
		if (draw(f) >> 62) /* back, before the recorder looks again */
			__atomic_store_n(at, old, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void come_by(struct fuzz *f, int (*look)(struct fuzz *f))
{
	pthread_t t;
	bool with;

	if (f->stopped || f->polls++ >= POLLS)
		return;
	f->stop = false;
	with = f->meddle && !pthread_create(&t, NULL, meddle, f);
	f->stopped = look(f);
	__atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
	if (with)
		pthread_join(t, NULL);
}

static int poll_all(struct fuzz *f)
{
	struct err err;

	return exact_poll(f->g.e, true, &err);
}

static int poll_streams(struct fuzz *f)
{
	struct err err;

	exact_wait(f->g.e, 0);
	return exact_poll(f->g.e, false, &err);
}

static int flush(struct fuzz *f)
{
	struct err err;

	return exact_flush(f->g.e, &err);
}

static int finish(struct fuzz *f)
{
	struct exact_totals t;
	struct err err;
	int rc = exact_finish(f->g.e, &err);

	exact_totals(f->g.e, &t);
	return rc;
}

static void step_poll(struct fuzz *f)
{
	come_by(f, pick(f, 2) ? poll_all : poll_streams);
}

static void step_flush(struct fuzz *f)
{
	come_by(f, flush);
}

/* Between the recorder and what simulates: an event is as order.h says. */
static int take(void *arg, void *thread, const struct order_event *e, size_t n)
{
	struct fuzz *f = arg;
	struct order_event copy;

	for (size_t i = 0; i < n; i++) {
		copy = e[i];
		if (copy.kind <= ORDER_PREFETCH) {
			if (!copy.size || copy.size > ORDER_SIZE_MAX)
				abort();
			copy.size = copy.size < TOUCHED ? copy.size : TOUCHED;
		}
		if (f->under->take(f->under->arg, thread, &copy, 1))
			return -1;
	}
	return 0;
}

/* Likewise, of executions: their ops are as order.h says. Long accesses are made short, as above: by not repeating them. */
static void take_execution(void *arg, void *thread, const struct order_execution *x)
{
	struct fuzz *f = arg;
	struct order_op *op = x->code->op;

	for (uint32_t i = 0; i < x->code->n; i++) {
		if (op[i].kind <= ORDER_PREFETCH && !op[i].size)
			abort();
		if (x->whole && op[i].word != ORDER_NO_WORD && op[i].word >= x->words)
			abort();
		op[i].repeats = false;
	}
	f->under->execute(f->under->arg, thread, x);
}

#define THROUGH(name, ...) \
	return ((struct fuzz *)arg)->under->name(((struct fuzz *)arg)->under->arg, __VA_ARGS__)
static void *site(void *arg, struct site *s)
{
	THROUGH(site, s);
}

static void *process(void *arg, uint32_t pid)
{
	THROUGH(process, pid);
}

static void *thread(void *arg, void *of)
{
	THROUGH(thread, of);
}

static void *order_own(void *arg, const struct order_bytes *b)
{
	THROUGH(block, b);
}

static void control_end(void *arg, void *t, struct order_code *code, bool taken, uint64_t to)
{
	THROUGH(end, t, code, taken, to);
}

static void settle(void *arg)
{
	struct fuzz *f = arg;

	f->under->settle(f->under->arg);
}

static void thread_end(void *arg, void *t)
{
	THROUGH(thread_end, t);
}

static void process_end(void *arg, void *p)
{
	THROUGH(process_end, p);
}

static void put_between(struct fuzz *f)
{
	f->under = f->g.consumer;
	if (!f->under)
		return;
	f->consumer = *f->under;
	f->consumer.arg = f;
	f->consumer.site = site;
	f->consumer.process = process;
	f->consumer.thread = thread;
	f->consumer.take = f->under->take ? take : NULL;
	f->consumer.execute = f->under->execute ? take_execution : NULL;
	f->consumer.end = control_end;
	f->consumer.settle = f->under->settle ? settle : NULL;
	f->consumer.block = f->under->block ? order_own : NULL;
	f->consumer.thread_end = thread_end;
	f->consumer.process_end = process_end;
	f->g.e->consumer = &f->consumer;
}

/* More often: what most inputs need. */
static void (*const steps[])(struct fuzz *f) = {
	step_block,   step_block,   step_block,	   step_stream, step_stream,   step_stream,
	step_poll,    step_thread,  step_half,	   step_exit,	step_image,    step_inverted,
	step_cut,     step_pair,    step_edge,	   step_native, step_raw,      step_mapping,
	step_touched, step_touched, step_ran,	   step_stack,	step_snapshot, step_process,
	step_switch,  step_end,	    step_counters, step_poke,	step_flush,    step_forks,
	step_vector,  step_vector,  step_interval,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz f;
	struct err err;
	unsigned how;

	f = (struct fuzz){ .data = data, .end = data + size, .state = 1 };
	how = byte(&f);
	f.mode = (enum engine_mode)(how % ENGINE_MODE_N);
	f.meddle = how & 0x80;
	for (size_t i = 0; i < size; i++)
		f.state = (f.state ^ data[i]) * 0x100000001b3ull | 1;
	if (engine_open(&f.g, f.mode, &err))
		abort();
	put_between(&f);
	begin_process(&f);
	step_thread(&f);
	for (unsigned i = 0; i < STEPS && f.data < f.end; i++)
		steps[pick(&f, sizeof(steps) / sizeof(steps[0]))](&f);
	for (unsigned i = 0; i < f.nprocess; i++)
		engine_tell(&f.g, f.process[i].p);
	f.polls = 0;
	f.stopped = false; /* exact_finish is called after a failure, too */
	come_by(&f, finish);
	engine_close(&f.g);
	return 0;
}
