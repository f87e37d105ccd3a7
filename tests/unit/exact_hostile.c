/* SPDX-License-Identifier: MIT */
/* A program that writes what it likes into the memory that it shares with the recorder: the recording ends with an error,
 * or has what is left of it; the recorder lives, and comes to an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/engine.h"

#define ENDLESS 60 /* seconds, after which a test that takes none is dead */

struct hostile {
	struct engine g;
	uint64_t at;
	struct exact_process *p;
	struct exact_thread *t;
};

static void begin(struct hostile *h, enum engine_mode mode)
{
	struct err err;

	alarm(ENDLESS);
	assert_int_equal(engine_open(&h->g, mode, &err), 0);
	h->p = engine_process(&h->g, &h->at);
	h->t = engine_thread(&h->g, h->p);
	assert_non_null(h->t);
}

static int look(struct hostile *h)
{
	struct err err;

	engine_tell(&h->g, h->p);
	return exact_poll(h->g.e, true, &err);
}

static void end(struct hostile *h)
{
	engine_close(&h->g);
	alarm(0);
}

static void refused(struct hostile *h)
{
	assert_int_equal(look(h), -1);
	end(h);
}

static struct exact_block *block(struct hostile *h, uint32_t id, unsigned n)
{
	return engine_block(&h->g, h->p, id, n, NULL, 0);
}

static struct exact_block *block_of(struct hostile *h, uint32_t id, unsigned n,
				    struct exact_field f)
{
	return engine_block(&h->g, h->p, id, n, &f, 1);
}

static uint64_t head(uint32_t id, unsigned words)
{
	return id + 1 + ((uint64_t)words << EXACT_HEAD_BLOCKS);
}

/* The first half has n words and is full. */
static void fill(struct hostile *h, size_t n)
{
	struct exact_stream *s = engine_at(&h->g, h->t->stream);

	s->used[0] = (uint32_t)(8 * n);
	s->current = 1;
	s->full[0] = 1;
}

static const struct exact_field result = {
	.operand = OPERAND_RESULT, .word = 0, .from = 64, .to = 64
};

/* The header says that nothing is observed; the recorder knows better. */
static void test_mode(void **unused)
{
	const uint32_t last = 999;
	struct hostile h;
	const struct site *s;
	uint64_t *w;

	(void)unused;
	begin(&h, ENGINE_VALUES);
	block_of(&h, 0, 1, result);
	assert_int_equal(look(&h), 0);
	h.g.e->header->mode = EXACT_COUNTS;
	for (uint32_t i = 1; i <= last; i++)
		block_of(&h, i, 1, result);
	w = engine_half(&h.g, h.t, 0);
	w[0] = head(last, 1);
	w[1] = 77;
	fill(&h, 2);
	assert_int_equal(look(&h), 0);
	assert_int_equal(exact_flush(h.g.e, &(struct err){ 0 }), 0);
	s = sites_find(&h.g.profile.sites, (struct site_id){ .addr = 0x400000 + 0x1000ull * last });
	assert_non_null(s);
	assert_non_null(site_hot(s, OPERAND_RESULT));
	assert_int_equal(hot_total(site_hot(s, OPERAND_RESULT)), 1);
	end(&h);
}

/* The program claims in the header that values are observed, where the recorder asked for counts alone. */
static void test_mode_more(void **unused)
{
	struct hostile h;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	block(&h, 0, 1);
	assert_int_equal(look(&h), 0);
	h.g.e->header->mode = EXACT_COUNTS | EXACT_VALUES;
	for (uint32_t i = 1; i < 1000; i++)
		block(&h, i, 1);
	assert_int_equal(look(&h), 0);
	h.p->state = EXACT_ENDED;
	assert_int_equal(look(&h), 0);
	end(&h);
}

/* A child says that it has its parent's pair, but not the block that the pair is of. */
static void test_inherited_pair(void **unused)
{
	struct hostile h;
	struct exact_process *child;
	struct exact_thread *t;
	struct exact_pair *r;
	struct err err;
	uint64_t at;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	for (uint32_t i = 0; i < 1000; i++)
		block(&h, i, 1);
	r = engine_record(&h.g, h.p, EXACT_PAIR, sizeof(*r));
	r->block = 999;
	assert_int_equal(look(&h), 0);
	child = engine_process(&h.g, &at);
	child->parent = h.at;
	child->parent_log = engine_log(&h.g, h.p)->used;
	child->parent_blocks = child->parent_pairs = 1;
	t = engine_thread(&h.g, child);
	engine_tell(&h.g, child);
	*(uint64_t *)engine_at(&h.g, t->counters + EXACT_PAIRS_AT) = 1;
	assert_int_equal(exact_poll(h.g.e, true, &err), -1);
	end(&h);
}

static void length(enum engine_mode mode, uint8_t first, uint8_t second)
{
	struct hostile h;
	struct exact_block *b;

	begin(&h, mode);
	b = block(&h, 0, 40);
	b->n = 2;
	b->bytes[40] = first;
	b->bytes[41] = second;
	refused(&h);
}

static void test_lengths(void **unused)
{
	(void)unused;
	for (int mode = 0; mode < ENGINE_MODE_N; mode++) {
		length((enum engine_mode)mode, 0, 15);
		length((enum engine_mode)mode, 16, 15);
		length((enum engine_mode)mode, 15, 16);
		length((enum engine_mode)mode, 1, 1); /* less than the block has */
	}
}

static void test_seals(void **unused)
{
	const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct hostile h;
	struct stat st;
	uint64_t at, *p;
	int fd;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	fd = h.g.e->fd;
	assert_int_equal(fcntl(fd, F_GET_SEALS), all);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, (off_t)EXACT_SIZE * 2), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_size == (off_t)EXACT_SIZE);
	/* memory is still given back */
	p = engine_piece(&h.g, 4096, &at);
	*p = 1;
	exact_punch(h.g.e, at, 4096);
	assert_int_equal(*p, 0);
	block(&h, 0, 1);
	assert_int_equal(look(&h), 0);
	end(&h);
}

static struct exact_field access_of(unsigned kind, unsigned size, uint64_t add)
{
	return (struct exact_field){ .add = (int64_t)add,
				     .word = EXACT_CONSTANT,
				     .from = 64,
				     .to = 64,
				     .access = (uint16_t)(kind << EXACT_ACCESS_BITS | size) };
}

/* An access to no bytes. */
static void test_no_size(void **unused)
{
	(void)unused;
	for (unsigned kind = EXACT_LOAD; kind <= EXACT_PREFETCH; kind++)
		for (int mode = ENGINE_CONFLICTS; mode <= ENGINE_MISSES; mode++) {
			struct hostile h;

			begin(&h, (enum engine_mode)mode);
			block_of(&h, 0, 1, access_of(kind, 0, 0));
			engine_half(&h.g, h.t, 0)[0] = head(0, 0);
			fill(&h, 1);
			refused(&h);
		}
}

static uint64_t most, all, events;

static int note(void *arg, void *thread, const struct order_event *e, size_t n)
{
	(void)arg;
	(void)thread;
	for (size_t i = 0; i < n; i++) {
		most = e[i].size > most ? e[i].size : most;
		all += e[i].size;
		events++;
	}
	return 0;
}

/* How many elements a string instruction has is a word of the program's. */
static void test_repeats(void **unused)
{
	const unsigned n = 1000;
	struct hostile h;
	struct order_consumer own;
	struct exact_field f[3];
	struct exact_totals totals;
	uint64_t *w;

	(void)unused;
	begin(&h, ENGINE_REUSE);
	own = *h.g.consumer;
	own.take = note;
	h.g.e->consumer = &own;
	f[0] = access_of(EXACT_REPEATS, 64, 0);
	f[0].word = 0;
	f[1] = access_of(EXACT_LOAD, 64, 0x1000);
	f[2] = access_of(EXACT_STORE, 64, 0x2000);
	engine_block(&h.g, h.p, 0, 1, f, 3);
	w = engine_half(&h.g, h.t, 0);
	for (unsigned i = 0; i < n; i++) {
		w[2 * i] = head(0, 1);
		w[2 * i + 1] = i ? ~0ull >> (i % 20) : 4;
	}
	fill(&h, 2ul * n);
	most = all = events = 0;
	assert_int_equal(look(&h), 0);
	assert_int_equal(events, 2ul * n);
	assert_true(most <= 1ull << 32);
	assert_true(all <= 1ull << 37);
	assert_true(all > 1ull << 30);
	exact_totals(h.g.e, &totals);
	assert_true(totals.shortened > n);
	end(&h);
}

static void test_cut_behind_the_end(void **unused)
{
	struct hostile h;

	(void)unused;
	begin(&h, ENGINE_MISSES);
	block(&h, 0, 4);
	engine_half(&h.g, h.t, 0)[0] = head(0, 0) | EXACT_HEAD_CUT | 5ull << 32;
	fill(&h, 1);
	refused(&h);
}

/* Where nothing goes through streams a thread has one. */
static void test_stream_of_counts(void **unused)
{
	struct hostile h;
	struct exact_stream *s;
	uint64_t at;

	(void)unused;
	for (int mode = 0; mode < ENGINE_MODE_N; mode++) {
		if (mode != ENGINE_COUNTS && mode != ENGINE_LINES && mode != ENGINE_PHASES)
			continue;
		begin(&h, (enum engine_mode)mode);
		block(&h, 0, 1);
		s = engine_piece(&h.g, EXACT_STREAM_SIZE + EXACT_STREAM_PAGE, &at);
		s->full[0] = 1;
		s->used[0] = EXACT_HALF;
		h.t->stream = at;
		refused(&h);
	}
}

/* A stream is full before there is a block. */
static void test_stream_without_blocks(void **unused)
{
	(void)unused;
	for (int mode = ENGINE_ADDRESSES; mode < ENGINE_MODE_N; mode++) {
		struct hostile h;

		if (mode == ENGINE_LINES || mode == ENGINE_PHASES)
			continue;
		begin(&h, (enum engine_mode)mode);
		memset(engine_half(&h.g, h.t, 0), 0x11, EXACT_HALF);
		fill(&h, EXACT_HALF / 8);
		refused(&h);
	}
}

/* Code at the end of all addresses, behind which they begin again. */
static void test_last_address(void **unused)
{
	(void)unused;
	for (int mode = 0; mode < ENGINE_MODE_N; mode++) {
		struct hostile h;
		struct exact_block *b;

		begin(&h, (enum engine_mode)mode);
		b = block(&h, 0, 5);
		b->pc = ~0ull - 10;
		refused(&h);
	}
}

static void test_exits(void **unused)
{
	struct hostile h;
	struct exact_block *b;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	b = block(&h, 0, 4);
	b->exits = 4; /* the last instruction's is none */
	refused(&h);
	begin(&h, ENGINE_COUNTS);
	b = block(&h, 0, 4);
	b->exits = 1;
	b->before = 2;
	refused(&h);
}

/* An exit claims a field of an instruction that it does not have. */
static void test_fields_of_exit(void **unused)
{
	const struct exact_field second = {
		.operand = OPERAND_RESULT, .insn = 1, .word = 1, .from = 64, .to = 64
	};
	struct exact_exit *x;
	struct hostile h;

	(void)unused;
	begin(&h, ENGINE_VALUES);
	engine_block(&h.g, h.p, 0, 2, (const struct exact_field[]){ result, second }, 2)->exits = 1;
	x = engine_record(&h.g, h.p, EXACT_EXIT, sizeof(*x));
	x->id = 1;
	x->n = 1;
	x->words = x->nfield = 2;
	refused(&h);
}

static void test_many_instructions(void **unused)
{
	struct hostile h;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	block(&h, 0, EXACT_INSNS_MAX);
	assert_int_equal(look(&h), 0);
	block(&h, 1, EXACT_INSNS_MAX + 1);
	refused(&h);
}

static void test_fields(void **unused)
{
	struct exact_field bad[4] = { result, result, result, result };
	struct hostile h;

	(void)unused;
	bad[0].from = EXACT_HIGH; /* eight bits do not fit there */
	bad[0].to = 0;
	bad[1].from = 0;
	bad[2].insn = 1;
	bad[3].operand = OPERAND_N;
	for (int i = 0; i < 4; i++) {
		begin(&h, ENGINE_VALUES);
		block_of(&h, 0, 1, bad[i]);
		refused(&h);
	}
}

/* Records of working sets, and counts of first touches, where none are observed. */
static void test_other_mode(void **unused)
{
	struct hostile h;
	struct exact_snapshot *s;
	uint64_t at;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	s = engine_record(&h.g, h.p, EXACT_SNAPSHOT, sizeof(*s));
	s->count = 1;
	refused(&h);
	begin(&h, ENGINE_COUNTS);
	engine_piece(&h.g, EXACT_FIRSTS_SIZE, &at);
	h.t->firsts = at;
	refused(&h);
}

static void test_pids(void **unused)
{
	static const uint32_t bad[] = { 0, ~0u, 1u << 31 };
	struct hostile h;

	(void)unused;
	for (unsigned i = 0; i < 3; i++) {
		begin(&h, ENGINE_COUNTS);
		h.p->pid = bad[i];
		refused(&h);
	}
}

static void test_circle_of_processes(void **unused)
{
	struct hostile h;
	struct exact_process *other;
	struct err err;
	uint64_t at;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	other = engine_process(&h.g, &at);
	h.p->next = at;
	assert_int_equal(other->next, h.at);
	assert_int_equal(exact_poll(h.g.e, true, &err), -1);
	assert_true(h.g.e->nprocess <= 2);
	end(&h);
}

/* Pieces that lie elsewhere than the engine puts them. */
static void test_places(void **unused)
{
	static const uint64_t bad[] = { 1, EXACT_SIZE, EXACT_SIZE - 4096, ~0ull - 4095 };

	(void)unused;
	for (unsigned i = 0; i < 8; i++) {
		struct hostile h;

		begin(&h, ENGINE_VALUES);
		*(i / 4 ? &h.t->stream : &h.t->counters) = bad[i % 4];
		refused(&h);
	}
}

/* So many threads that what the recorder keeps of each would fill its memory. */
static void test_threads(void **unused)
{
	struct hostile h;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	for (unsigned i = 0; i < EXACT_THREADS_MAX; i++)
		assert_non_null(engine_record(&h.g, h.p, EXACT_THREAD, sizeof(*h.t)));
	refused(&h);
}

/* The system maps no process's record until the file can be written to again. Meanwhile the process is unknown, so that
 * nothing reads through a record that is not there. */
static void test_record_not_mapped(void **unused)
{
	struct hostile h;
	struct err err;
	char path[64];
	int kept, readable;

	(void)unused;
	begin(&h, ENGINE_COUNTS);
	block(&h, 0, 1);
	((uint64_t *)engine_at(&h.g, h.t->counters))[0] = 7;
	kept = dup(h.g.e->fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", kept);
	readable = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(kept >= 0 && readable >= 0);
	assert_int_equal(dup2(readable, h.g.e->fd), h.g.e->fd);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(look(&h), -1);
		assert_int_equal(exact_flush(h.g.e, &err), 0);
		assert_int_equal(exact_finish(h.g.e, &err), -1);
		assert_int_equal(h.g.e->nprocess, 0);
	}
	assert_int_equal(dup2(kept, h.g.e->fd), h.g.e->fd);
	close(readable);
	close(kept);
	assert_int_equal(look(&h), 0);
	assert_int_equal(h.g.e->nprocess, 1);
	assert_int_equal(h.g.e->totals.processes, 1);
	assert_int_equal(
		sites_find(&h.g.profile.sites, (struct site_id){ .addr = 0x400000 })->observed, 7);
	end(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_mode_more),
		cmocka_unit_test(test_inherited_pair),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_seals),
		cmocka_unit_test(test_no_size),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_cut_behind_the_end),
		cmocka_unit_test(test_stream_of_counts),
		cmocka_unit_test(test_stream_without_blocks),
		cmocka_unit_test(test_last_address),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_fields_of_exit),
		cmocka_unit_test(test_many_instructions),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_other_mode),
		cmocka_unit_test(test_pids),
		cmocka_unit_test(test_circle_of_processes),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_record_not_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
