/* SPDX-License-Identifier: MIT */
/* What the recorder makes of streams, against counts one by one: the test writes what an observed process would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "exact/exact_priv.h"
#include "observe/edges.h"

#define BLOCKS 40
#define INSNS 6
#define EXITS 2	  /* of each block, behind its second and its fourth instruction */
#define VALUES 12 /* different ones of a word: as many as are counted exactly */
#define PC 0x400000ull
#define WAYS 3 /* where every other block goes, at its end: it is counted there */
#define AWAY 0x800000ull

static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static unsigned pick(unsigned n)
{
	return (unsigned)(draw() >> 33) % n;
}

/* The observed process. */
static struct engine {
	struct profile profile;
	struct exact *e;
	char *file; /* the whole shared memory */
	struct exact_process *process;
	struct exact_log *log;
	struct exact_stream *stream;
	uint64_t *counters;
	struct block {
		unsigned id, words, nfield, before;
		struct exact_field field[12];
		uint64_t value[8][VALUES]; /* that its words have */
	} block[BLOCKS];
	/* what is to come of it */
	struct want {
		uint64_t value[VALUES * 2 + 2], times[VALUES * 2 + 2];
		unsigned n;
	} want[BLOCKS][INSNS][OPERAND_N];
	uint64_t taken[BLOCKS][INSNS], went[BLOCKS][WAYS];
} * g;

static void *piece(uint64_t size, uint64_t *at)
{
	*at = g->e->header->next;
	g->e->header->next += (size + 4095) & ~4095ull;
	return g->file + *at;
}

static void *record(unsigned kind, size_t size)
{
	struct exact_record *r = (void *)(g->log->data + g->log->used);

	r->size = (uint32_t)(size + 7) & ~7u;
	r->kind = kind;
	g->log->used += r->size;
	assert_true(g->log->used <= EXACT_LOG_DATA);
	return r;
}

static void make_field(struct exact_field *f, unsigned insn, unsigned words)
{
	static const uint8_t bits[] = { 8, 16, 32, 64 };
	unsigned from = pick(4), to = from + pick(4 - from);

	*f = (struct exact_field){ .insn = (uint8_t)insn,
				   .operand = (uint8_t)pick(OPERAND_ARG0),
				   .word = words ? (uint16_t)pick(words) : EXACT_CONSTANT,
				   .add = (int64_t)(pick(2) ? 0 : draw()),
				   .from = bits[from],
				   .to = bits[to] };
	if (f->operand == OPERAND_TARGET)
		f->operand = OPERAND_LOAD;
	if (f->word != EXACT_CONSTANT && !pick(8)) {
		f->from = EXACT_HIGH;
		f->add = 0;
		f->to = 8;
	}
	if (!pick(6))
		f->word = EXACT_CONSTANT;
}

/* The words that the fields of a block's first n instructions need. */
static unsigned words_of(const struct block *b, unsigned n)
{
	unsigned words = 0;

	for (unsigned i = 0; i < b->nfield; i++)
		if (b->field[i].insn < n && b->field[i].word != EXACT_CONSTANT &&
		    b->field[i].word >= words)
			words = b->field[i].word + 1u;
	return words;
}

/* Where control goes that leaves a block under that number. */
static uint64_t away(unsigned number)
{
	return AWAY + 16ull * number;
}

static void make_exit(const struct block *b, unsigned i)
{
	struct exact_exit *r = record(EXACT_EXIT, sizeof(*r));
	unsigned n = 2 * (i + 1), nfield = 0;

	while (nfield < b->nfield && b->field[nfield].insn < n)
		nfield++;
	*r = (struct exact_exit){ .r = r->r,
				  .id = b->id + 1 + i,
				  .of = b->id,
				  .n = (uint16_t)n,
				  .words = (uint16_t)words_of(b, n),
				  .nfield = (uint16_t)nfield,
				  .target = away(b->id + 1 + i) };
}

static bool is_indirect(unsigned id)
{
	return id % 2;
}

static unsigned pair_of(unsigned id, unsigned way)
{
	return id / 2 * WAYS + way;
}

static void make_pairs(const struct block *b, unsigned id)
{
	for (unsigned i = 0; i < WAYS; i++) {
		struct exact_pair *r = record(EXACT_PAIR, sizeof(*r));

		*r = (struct exact_pair){ .r = r->r,
					  .number = pair_of(id, i),
					  .block = b->id,
					  .near = pair_of(id, i) % 7,
					  .to.pc = away(b->id) + i };
	}
}

/* Often in a slot, which is some other pair's before. */
static void count_pair(unsigned pair)
{
	uint64_t *own = g->counters + EXACT_PAIRS_AT / 8;
	struct exact_near *near = (struct exact_near *)(g->counters + EXACT_NEAR_AT / 8) + pair % 7;

	if (near->pair == pair + 1) {
		near->count++;
		return;
	}
	own[pair]++;
	if (near->pair)
		own[near->pair - 1] += near->count;
	near->count = 0;
	near->pair = pair + 1;
}

static void make_block(unsigned id)
{
	struct block *b = &g->block[id];
	size_t fields = EXACT_BLOCK_FIELDS(INSNS, INSNS);
	struct exact_block *r;

	b->id = id * (1 + EXITS);
	b->before = is_indirect(id) ? EXITS : pick(1 + EXITS);
	b->words = id % 8;
	for (unsigned i = 0; i < INSNS * 2; i++) { /* one or two an instruction */
		make_field(&b->field[b->nfield], i / 2, b->words);
		if (i % 2 == 0 || b->field[b->nfield].operand != b->field[b->nfield - 1].operand)
			b->nfield++;
	}
	for (unsigned w = 0; w < b->words; w++)
		for (unsigned k = 0; k < VALUES; k++)
			b->value[w][k] = pick(2) ? draw() : pick(1000);
	r = record(EXACT_BLOCK, sizeof(*r) + fields + b->nfield * sizeof(b->field[0]));
	r->pc = PC + 16 * id;
	r->id = b->id;
	r->exits = EXITS;
	r->before = (uint16_t)b->before;
	r->image = 0;
	r->len = r->n = INSNS;
	r->words = (uint16_t)b->words;
	r->nfield = (uint16_t)b->nfield;
	memset(r->bytes, 0x90, INSNS);
	memset(r->bytes + INSNS, 1, INSNS);
	memcpy(r->bytes + fields, b->field, b->nfield * sizeof(b->field[0]));
	for (unsigned i = 0; i < EXITS; i++)
		make_exit(b, i);
	if (is_indirect(id))
		make_pairs(b, id);
}

static void setup(void)
{
	struct exact_thread *t;
	uint64_t at, counters, stream;
	struct err err;

	g = calloc(1, sizeof(*g));
	assert_int_equal(profile_init(&g->profile, &err), 0);
	g->e = exact_open(EXACT_COUNTS | EXACT_VALUES, NULL, NULL, &g->profile, &err);
	assert_non_null(g->e);
	g->file = mmap(NULL, 1u << 28, PROT_READ | PROT_WRITE, MAP_SHARED, g->e->fd, 0);
	assert_true(g->file != MAP_FAILED);
	g->process = piece(sizeof(*g->process), &g->e->header->process);
	g->process->pid = (uint32_t)getpid();
	g->log = piece(EXACT_LOG_SIZE, &at);
	g->process->log = at;
	g->counters = piece(EXACT_COUNTERS_SIZE, &counters);
	g->stream = piece(EXACT_STREAM_SIZE, &stream);
	g->stream->start[0] = 0x10000000; /* somewhere in the process */
	g->stream->start[1] = 0x20000000;
	g->stream->at = g->stream->start[0];
	t = record(EXACT_THREAD, sizeof(*t));
	t->counters = counters;
	t->stream = stream;
	for (unsigned i = 0; i < BLOCKS; i++)
		make_block(i);
}

static void teardown(void)
{
	exact_close(g->e);
	profile_fini(&g->profile);
	munmap(g->file, 1u << 28);
	free(g);
}

static uint64_t narrowed(uint64_t v, unsigned bits)
{
	return bits == EXACT_HIGH ? v >> 8 & 0xff : bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static void expect(unsigned id, const struct exact_field *f, const uint64_t *words)
{
	struct want *w = &g->want[id][f->insn][f->operand];
	uint64_t v = (uint64_t)f->add;

	if (f->word != EXACT_CONSTANT)
		v = narrowed(narrowed(words[f->word], f->from) + v, f->to);
	for (unsigned i = 0; i < w->n; i++)
		if (w->value[i] == v) {
			w->times[i]++;
			return;
		}
	assert_true(w->n < sizeof(w->value) / sizeof(w->value[0]));
	w->value[w->n] = v;
	w->times[w->n++] = 1;
}

/* Leaves the half to be read, and goes on in the other one, which has been. */
static void next_half(void)
{
	struct exact_stream *s = g->stream;
	unsigned now = s->current;
	struct err err;

	s->used[now] = (uint32_t)(s->at - s->start[now]);
	s->full[now] = 1;
	if (s->full[!now] || pick(2))
		assert_int_equal(exact_poll(g->e, pick(4) == 0, &err), 0);
	s->current = !now;
	s->at = s->start[!now];
}

/* The recorder comes by, now that an exit has been counted and the block that it left has not: no list may be given
 * less than nothing. */
static void come_between(void)
{
	const struct site *s;
	struct err err;

	assert_int_equal(exact_poll(g->e, true, &err), 0);
	assert_int_equal(exact_flush(g->e, &err), 0);
	SITES_EACH(&g->profile.sites, s)
	{
		for (unsigned o = 0; o < OPERAND_N; o++)
			assert_true(!site_hot(s, o) || (hot_total(site_hot(s, o)) > 0 &&
							hot_total(site_hot(s, o)) < 1u << 30));
	}
}

/* An execution: its words to the stream, what it shows to what is expected. */
static void execute(unsigned id, unsigned skew)
{
	struct block *b = &g->block[id];
	struct exact_stream *s = g->stream;
	unsigned done = pick(200) ? INSNS : 1 + pick(INSNS - 1), words = b->words;
	unsigned exit = pick(3) ? 0 : 1 + pick(EXITS), number = b->id + exit;
	uint64_t *to, w[8];

	if (exit) {
		done = 2 * exit;
		words = words_of(b, done);
		g->counters[2 * number]++;
		g->taken[id][done - 1]++;
		if (!pick(5000) || (!pick(10) && !s->used[0] && s->at < s->start[0] + 4096))
			come_between();
	}
	if (is_indirect(id) && done == INSNS) {
		unsigned way = pick(WAYS);

		g->went[id][way]++;
		count_pair(pair_of(id, way));
	}
	g->counters[2 * b->id] += !is_indirect(id) && (!exit || exit > b->before);
	if (done < INSNS && !exit) {
		struct exact_cut *c;

		if (g->log->used + sizeof(*c) > EXACT_LOG_DATA)
			return;
		c = record(EXACT_CUT, sizeof(*c));
		*c = (struct exact_cut){
			.r = c->r, .id = b->id, .done = (uint16_t)done, .counted = !is_indirect(id)
		};
		words = words_of(b, done);
	}
	for (unsigned i = 0; i < b->words; i++)
		w[i] = b->value[i][pick(skew) ? 0 : pick(VALUES)];
	for (unsigned i = 0; i < b->nfield; i++)
		if (b->field[i].insn < done)
			expect(id, &b->field[i], w);
	if (!b->words || (exit && !words))
		return;
	if (s->at + 8 * (words + 1) > s->start[s->current] + EXACT_HALF || !pick(20000))
		next_half();
	to = (uint64_t *)(void *)((char *)s + EXACT_STREAM_PAGE + s->current * (size_t)EXACT_HALF +
				  s->at - s->start[s->current]);
	to[0] = (number + 1) | (uint64_t)words << EXACT_HEAD_BLOCKS;
	if (done < INSNS && !exit)
		to[0] |= EXACT_HEAD_CUT | (uint64_t)done << 32;
	memcpy(to + 1, w, 8ul * words);
	s->at += 8ul * (words + 1);
}

static void check_edge(uint64_t from, uint64_t to, uint64_t count)
{
	const struct edge *e = edges_get(&g->profile, EDGE_WENT, (struct site_id){ .addr = from },
					 (struct site_id){ .addr = to });

	assert_non_null(e);
	assert_int_equal(e->count, count);
}

static void check_edges(void)
{
	for (unsigned id = 0; id < BLOCKS; id++) {
		const struct block *b = &g->block[id];
		uint64_t pc = PC + 16 * id;

		for (unsigned i = 0; i < EXITS; i++)
			check_edge(pc + 2 * i + 1, away(b->id + 1 + i), g->taken[id][2 * i + 1]);
		for (unsigned i = 0; i < WAYS && is_indirect(id); i++)
			check_edge(pc + INSNS - 1, away(b->id) + i, g->went[id][i]);
	}
}

static void check(void)
{
	check_edges();
	for (unsigned id = 0; id < BLOCKS; id++)
		for (unsigned i = 0; i < INSNS; i++) {
			struct site *site = profile_site_find(
				&g->profile, (struct site_id){ .addr = PC + 16 * id + i });

			assert_non_null(site);
			assert_int_equal(site->taken, g->taken[id][i]);
			for (unsigned o = 0; o < OPERAND_N; o++) {
				struct want *w = &g->want[id][i][o];
				const struct hot *h = site_hot(site, o);
				struct hot_value v[32];
				unsigned n;

				assert_int_equal(h != NULL, w->n != 0);
				if (!h)
					continue;
				assert_true(hot_exact(h));
				assert_int_equal(hot_total(h), site->observed);
				n = hot_top(h, v, 32);
				assert_int_equal(n, w->n);
				for (unsigned k = 0; k < n; k++) {
					unsigned x = 0;

					while (x < n && w->value[x] != v[k].value)
						x++;
					assert_true(x < n);
					assert_true(v[k].count == (double)w->times[x]);
					assert_true(v[k].low == v[k].count &&
						    v[k].high == v[k].count);
				}
			}
		}
}

static void test_values(void **unused)
{
	(void)unused;
	for (int round = 0; round < 12; round++) {
		struct err err;

		setup();
		for (int i = 0; i < 300000; i++) /* some blocks much more often */
			execute(pick(2) ? pick(4) : pick(BLOCKS), 1 + pick(3));
		g->process->state = EXACT_ENDED;
		if (round % 3)
			assert_int_equal(exact_poll(g->e, false, &err), 0);
		assert_int_equal(exact_finish(g->e, &err), 0);
		check();
		teardown();
	}
}

/* Whatever the program writes there ends in an error at worst. */
static void test_damage(void **unused)
{
	(void)unused;
	for (int round = 0; round < 60; round++) {
		struct err err;
		uint64_t *half;

		setup();
		for (int i = 0; i < 2000; i++)
			execute(pick(BLOCKS), 2);
		half = (uint64_t *)(void *)((char *)g->stream + EXACT_STREAM_PAGE);
		for (int i = 0; i < 20; i++)
			half[pick(4000)] = pick(2) ? draw() : draw() >> (33 + pick(30));
		if (round % 4 == 0)
			g->stream->at = draw();
		if (round % 4 == 1) {
			g->stream->full[0] = 1;
			g->stream->used[0] = (uint32_t)draw();
		}
		if (round % 8 == 2)
			for (size_t i = 0; i < 10; i++)
				g->log->data[pick((unsigned)g->log->used)] ^= (uint8_t)draw();
		g->process->state = EXACT_ENDED;
		exact_poll(g->e, true, &err);
		exact_finish(g->e, &err);
		teardown();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
