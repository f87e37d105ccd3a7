/* SPDX-License-Identifier: MIT */
/* The co-processor: its operations, its buffer and traps; and the installed programs, against the same in plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "coproc/asm.h"
#include "coproc/lab.h"

static uint64_t state = 88172645463325252ull;

static uint64_t pick(uint64_t n)
{
	return random_below(&state, n);
}

static struct program *assemble(const char *text, const struct spec *s)
{
	struct err err;
	struct program *p = asm_text(text, "t.uc", s, NULL, 0, &err);

	if (!p)
		fail_msg("%s", err.msg);
	return p;
}

static struct program *installed(const char *name, const struct spec *s)
{
	struct err err;
	struct program *p = asm_file(name, s, NULL, 0, &err);

	if (!p)
		fail_msg("%s", err.msg);
	return p;
}

/* Operations. */

#define HEAD \
	"program test\n" \
	"sample pc = pc[0:32]\n" \
	"sample value = value\n" \
	"on load -> go\n" \
	"value a, b, c\n" \
	"index i : 4\n" \
	"index j : 4 wrap = 3\n" \
	"array t[8] : low:8, high:16\n"

static struct copro c;
static uint32_t cycles;

/* Runs the words once, with a value; the state is left in c. */
static enum copro_outcome once(const char *words, uint64_t value)
{
	struct sample s = { .source = { [SOURCE_PC] = 0x1234, [SOURCE_VALUE] = value } };
	char text[2048] = HEAD;
	struct program *p;
	enum copro_outcome o;

	copro_fini(&c);
	p = assemble(strcat(text, words), &spec_default);
	assert_int_equal(copro_init(&c, &spec_default), 0);
	copro_load(&c, p);
	o = copro_run(&c, &s, &cycles);
	if (o != COPRO_TRAP)
		free(p);
	return o;
}

static uint64_t a(void)
{
	return c.reg[0];
}

static unsigned index_of(unsigned n)
{
	return (unsigned)c.reg[WORD_INDEXES + n];
}

static void test_alu(void **s)
{
	(void)s;
	once("go: add a, value, 2 | done\n", 40);
	assert_int_equal(a(), 42);
	once("go: adds a, value, 2 | done\n", UINT64_MAX);
	assert_true(a() == UINT64_MAX && c.t);
	once("go: subs a, value, 2 | done\n", 1);
	assert_true(a() == 0 && c.t);
	once("go: shr a, value, 8 | done\n", 0x1234);
	assert_int_equal(a(), 0x12);
	once("go: tst value, 4 | done\n", 12);
	assert_true(c.t);
	/* all of a word read what was before it */
	once("go: mov a, 5\nmov b, 7\nmov a, b | mov i, 9\nmov b, a | add i, i, i | add j, i, zero "
	     "| done\n",
	     0);
	assert_int_equal(c.reg[1], 7);
	assert_int_equal(index_of(0), 15); /* saturates */
	assert_int_equal(index_of(1), 9);
	once("go: sub j, j, 4 | sub i, i, 1 | done\n", 0);
	assert_int_equal(index_of(1), 15); /* wraps */
	assert_int_equal(index_of(0), 0);
	assert_true(c.x && c.y);
}

static void test_memory(void **s)
{
	(void)s;
	once("go: mov i, 3\nst t[i].high, value\nst t[i].low, 254\nld a, t[i]\nbump t[i].low.high "
	     "| done\n",
	     0x12345);
	assert_int_equal(a(), 0x2345fe);
	assert_int_equal(c.data[3], 0x2346ff);
	assert_true(c.sat);
	once("go: mov i, 3\nbump t[i].low | br sat, go2\nld b, t[i].low | done\ngo2: done\n", 0);
	assert_int_equal(c.reg[1], 1);
}

static void test_match(void **s)
{
	(void)s;
	once("go: mov i, 5\nenter i, pc | mov i, 2\nenter i, pc\nmatch pc -> j | br !hit, no\ndrop "
	     "j\n"
	     "match pc -> i | br hit, yes\nno: interrupt\nyes: drop i\nmatch pc -> i | br !hit, "
	     "done\ninterrupt\n",
	     0);
	assert_int_equal(index_of(1), 2); /* the first of two */
	assert_int_equal(index_of(0), 5);
	assert_false(c.hit);
	assert_int_equal(c.trap, TRAP_NONE);
}

/* One cycle a word; a branch that goes another way than last time costs two more. */
static void test_cycles(void **s)
{
	struct sample sample = { 0 };
	struct program *p =
		assemble(HEAD "go: br always, skip\nskip: eq value, 1 | br t, done\nnop\ndone\n",
			 &spec_default);
	static const uint64_t values[] = { 0, 0, 1, 1, 0 }, wanted[] = { 4, 4, 4, 2, 6 };

	(void)s;
	copro_fini(&c);
	assert_int_equal(copro_init(&c, &spec_default), 0);
	copro_load(&c, p);
	for (unsigned i = 0; i < 5; i++) {
		sample.source[SOURCE_VALUE] = values[i];
		assert_int_equal(copro_run(&c, &sample, &cycles), COPRO_DONE);
		assert_int_equal(cycles, wanted[i]);
	}
	assert_int_equal(c.mispredicted, 2);
	free(p);
}

static void trapped(const char *words, const char *message)
{
	struct err err;

	assert_int_equal(once(words, 0), COPRO_TRAP);
	copro_trap(&c, &err);
	if (!strstr(err.msg, message))
		fail_msg("got: %s\nwanted: %s", err.msg, message);
	free((void *)c.p);
}

static void test_traps(void **s)
{
	(void)s;
	trapped("index k : 9 = 8\ngo: nop\nld a, t[k] | done\n",
		"program test, word 1 (source line 11): index 8 is beyond array t of 8");
	trapped("index k : 10 = 512\ngo: enter k, pc | done\n",
		"word 0 (source line 10): index 512 is beyond the associative array of 512");
	trapped("go: nop\nback: jump back\n",
		"word 1 (source line 10): a sample took 4096 words without reaching done");
}

/* The buffer. */

static int64_t no_host(void *arg, struct copro *co, int why, uint64_t now, struct err *err)
{
	(void)arg;
	(void)co;
	(void)why;
	(void)now;
	(void)err;
	return 0;
}

/* A sample each cycle, ten cycles for each: of n that come the buffer's and a tenth of n are taken. */
static void test_buffer(void **state_)
{
	struct spec s = spec_default;
	struct sample sample = { 0 };
	struct program *p;
	struct feed f;
	struct err err;
	const unsigned n = 1000;

	(void)state_;
	s.buffer = 96; /* eight of 12 bytes */
	s.bus = 16;
	p = assemble(HEAD "go: nop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\ndone\n", &s);
	copro_fini(&c);
	assert_int_equal(copro_init(&c, &s), 0);
	copro_load(&c, p);
	assert_int_equal(feed_init(&f, &c, (struct host){ .handle = no_host }, &err), 0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(feed_take(&f, &sample, 0, i, &err), 0);
	assert_int_equal(feed_end(&f, &err), 0);
	assert_int_equal(f.n.passed, n);
	assert_int_equal(f.n.done + f.n.dropped, n);
	assert_in_range(f.n.done, n / 10 + 5, n / 10 + 9);
	assert_int_equal(f.n.deepest, 96);
	assert_int_equal(f.n.busy, 10 * f.n.done);
	feed_fini(&f);
	free(p);
}

/* Values, against the algorithm of the appendix in plain C. */

#define SLOTS 32
#define LOADS 100

static struct slot {
	uint32_t pc, value, hits, misses, total;
	bool valid;
} slot[SLOTS];
static unsigned cand, failed, off, replaced;
static uint16_t lfsr;

static uint16_t next_random(void)
{
	unsigned bit = (lfsr ^ lfsr >> 2 ^ lfsr >> 3 ^ lfsr >> 5) & 1;

	return lfsr = (uint16_t)(lfsr >> 1 | bit << 15);
}

static void turn_off(struct slot *s)
{
	s->valid = false;
	off++;
}

static void plain_miss(struct slot *s, uint32_t value)
{
	s->misses++;
	s->total++;
	if (s->misses >= 255 || s->total >= 255) {
		turn_off(s);
		return;
	}
	if (s->misses <= 4 + 4 * s->hits)
		return;
	if (s->misses >= 64) {
		turn_off(s);
		return;
	}
	s->value = value;
	s->hits = s->misses = 0;
}

/* Returns whether the co-processor has to interrupt. */
static bool plain(uint32_t pc, uint32_t value)
{
	struct slot *s = slot;

	while (s < slot + SLOTS && (!s->valid || s->pc != pc))
		s++;
	if (s < slot + SLOTS) {
		unsigned before = off;

		if (s->value != value) {
			plain_miss(s, value);
		} else {
			s->hits++;
			s->total++;
			if (s->hits >= 255 || s->total >= 255)
				turn_off(s);
		}
		return off > before && before >= SLOTS / 4;
	}
	s = &slot[cand];
	if (s->total >= (next_random() & 63u))
		return failed++ >= SLOTS;
	*s = (struct slot){ .pc = pc, .value = value, .total = 1, .valid = true };
	failed -= failed > 0;
	cand = (cand + 1) % SLOTS;
	return ++replaced >= 4 * SLOTS;
}

static void compare(const struct copro *co, const struct program *p)
{
	const struct program_base *active = &p->base[program_base(p, "active")];
	const struct program_base *stats = &p->base[program_base(p, "stats")];

	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t w = co->data[stats->at + i];

		assert_int_equal(copro_is_valid(co, i), slot[i].valid);
		assert_int_equal(w & 255, slot[i].hits);
		assert_int_equal(w >> 8 & 255, slot[i].misses);
		assert_int_equal(w >> 16 & 255, slot[i].total);
		if (!slot[i].total)
			continue;
		assert_int_equal(co->entry[i], slot[i].pc);
		assert_int_equal(co->data[active->at + i], slot[i].value);
	}
	assert_int_equal(co->reg[WORD_INDEXES + program_index(p, "cand")], cand);
	assert_int_equal(co->reg[WORD_INDEXES + program_index(p, "failed")], failed);
	assert_int_equal(co->reg[WORD_INDEXES + program_index(p, "off")], off);
	assert_int_equal(co->reg[WORD_INDEXES + program_index(p, "replaced")], replaced);
}

static void test_values(void **state_)
{
	struct spec s = spec_default;
	struct program *p;
	unsigned interrupts = 0;

	(void)state_;
	s.entries = SLOTS;
	s.data = 2 * SLOTS;
	p = installed("values", &s);
	copro_fini(&c);
	assert_int_equal(copro_init(&c, &s), 0);
	copro_load(&c, p);
	lfsr = (uint16_t)s.seed;
	for (unsigned i = 0; i < 200000; i++) {
		/* few loads are frequent; each has a value that it mostly loads */
		uint64_t load = pick(1 + pick(i % 20000 < 15000 ? LOADS : 4));
		uint64_t value = pick(10) < load % 11 ? load * 3 : pick(1000);
		struct sample sample = { .source = { [SOURCE_PC] = 0x400000 + 4 * load,
						     [SOURCE_VALUE] = value | 1ull << 40 } };
		enum copro_outcome o = copro_run(&c, &sample, &cycles);
		bool interrupt = plain((uint32_t)(0x400000 + 4 * load), (uint32_t)value);

		assert_int_equal(o, interrupt ? COPRO_INTERRUPT : COPRO_DONE);
		if (i % 97 == 0 || interrupt)
			compare(&c, p);
		if (!interrupt)
			continue;
		interrupts++;
		memset(slot, 0, sizeof(slot));
		cand = failed = off = replaced = 0;
		copro_invalidate(&c);
		copro_clear(&c);
		copro_reset_indexes(&c);
	}
	assert_true(interrupts > 10);
	free(p);
}

/* Programs that count, on streams that drop nothing, against counts in plain C. */

#define SITES 40
static uint64_t count[SITES][SITES][4];
static struct lab lab;
static struct program *loaded;
static uint64_t now;

static void begin(const char *name)
{
	struct lab_options o = { .spec = spec_default };
	struct err err;

	loaded = installed(name, &spec_default);
	o.program = loaded;
	now = 0;
	memset(count, 0, sizeof(count));
	assert_int_equal(lab_init(&lab, &o, &err), 0);
}

static uint64_t pc_of(uint64_t site)
{
	return 0x10000000 + 0x137 * site;
}

static void give(unsigned cls, struct sample s)
{
	struct err err;

	s.cls = (uint8_t)cls;
	now += 100;
	s.source[SOURCE_TIME] = now;
	if (lab_take(&lab, &s, copro_hash(s.source[SOURCE_PC]), 0, now, &err))
		fail_msg("%s", err.msg);
}

/* All counters are as counted: of pairs of sites, or of a site and a number below SITES. */
static void end(uint64_t (*second_of)(uint64_t), unsigned fields)
{
	uint64_t pairs = 0;
	struct err err;

	assert_int_equal(lab_end(&lab, &err), 0);
	assert_int_equal(lab.f.n.dropped, 0);
	for (unsigned i = 0; i < SITES; i++)
		for (unsigned k = 0; k < SITES; k++) {
			const struct counted_pair *p = host_counts_find(
				&lab.of_counts, i ? pc_of(i) : 0, k ? second_of(k) : 0);

			for (unsigned n = 0; n < fields; n++)
				assert_int_equal(p ? p->n[n] : 0, count[i][k][n]);
			pairs += p != NULL;
		}
	assert_int_equal(HASH_COUNT(lab.of_counts.pairs), pairs);
	assert_int_equal(lab.c.reg[WORD_INDEXES + program_index(loaded, "keep_clashes")], 0);
	lab_fini(&lab);
	free(loaded);
}

static void test_edges(void **s)
{
	(void)s;
	begin("edges");
	for (unsigned i = 0; i < 300000; i++) {
		uint64_t from = 1 + pick(SITES / 2), to = 1 + pick(SITES - 1), taken = pick(3) > 0;
		struct sample sample = { .source = { [SOURCE_PC] = pc_of(from),
						     [SOURCE_TARGET] = pc_of(to),
						     [SOURCE_TAKEN] = taken } };

		if (from % 2) {
			give(CLASS_BRANCH, sample);
			count[from][0][taken]++;
		} else {
			sample.source[SOURCE_TAKEN] = 1;
			give(from % 4 ? CLASS_RETURN : CLASS_JUMP, sample);
			count[from][to][1]++;
		}
	}
	end(pc_of, 2);
}

static void test_pairs(void **s)
{
	uint64_t before = 0, taken_before = 0;

	(void)s;
	begin("pairs");
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t at = 1 + pick(10), taken = at % 3 ? taken_before : pick(2);

		give(CLASS_BRANCH,
		     (struct sample){
			     .source = { [SOURCE_PC] = pc_of(at), [SOURCE_TAKEN] = taken } });
		count[before][at][2 * taken_before + taken]++;
		before = at;
		taken_before = taken;
	}
	end(pc_of, 4);
}

static void test_contexts(void **s)
{
	uint64_t stack[64 + 2] = { 0 };
	unsigned depth = 2;

	(void)s;
	begin("contexts");
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t what = pick(6), at = 1 + pick(20), wrong = pick(2);

		if (what < 2 && depth < 60) {
			give(what ? CLASS_CALL : CLASS_ICALL,
			     (struct sample){ .source = { [SOURCE_PC] = pc_of(at) } });
			stack[depth++] = at;
		} else if (what == 2 && depth > 2) {
			give(CLASS_RETURN, (struct sample){ .source = { [SOURCE_PC] = 1 } });
			depth--;
		} else {
			give(CLASS_BRANCH,
			     (struct sample){
				     .source = {
					     [SOURCE_PC] = pc_of(at), [SOURCE_WRONG] = wrong } });
			count[stack[depth - 1]][stack[depth - 2]][0] += wrong;
		}
	}
	end(pc_of, 1);
}

/* Dependences are forgotten when the host has been called: here that is never before the end. */
static void test_dependences(void **s)
{
	uint64_t writer[200] = { 0 };

	(void)s;
	begin("dependences");
	for (unsigned i = 0; i < 30000; i++) {
		uint64_t at = 1 + pick(9), place = pick(200), kind = pick(3);
		struct sample sample = { .source = { [SOURCE_PC] = pc_of(at),
						     [SOURCE_ADDRESS] =
							     0x5000 + 8 * place + pick(8) } };

		give(kind == 0 ? CLASS_STORE : kind == 1 ? CLASS_LOAD : CLASS_MODIFY, sample);
		if (kind && writer[place])
			count[at][writer[place]][0]++;
		if (kind != 1)
			writer[place] = at;
	}
	end(pc_of, 1);
}

static uint64_t itself(uint64_t v)
{
	return v;
}

static void test_sets(void **s)
{
	uint64_t last[100] = { 0 };

	(void)s;
	begin("sets");
	for (unsigned i = 0; i < 30000; i++) {
		uint64_t at = 1 + pick(3), line = pick(100), missed = pick(2), set = 1 + line % 30;

		give(CLASS_LOAD,
		     (struct sample){ .source = { [SOURCE_PC] = pc_of(at),
						  [SOURCE_ADDRESS] = (line * 64 + set) << 6,
						  [SOURCE_MISSED] = missed } });
		if (!missed)
			continue;
		if (last[line] && now - last[line] < 5000)
			count[at][set][0]++;
		last[line] = now;
	}
	end(itself, 1);
}

static int fini(void **s)
{
	(void)s;
	copro_fini(&c);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alu),	    cmocka_unit_test(test_memory),
		cmocka_unit_test(test_match),	    cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_traps),	    cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_values),	    cmocka_unit_test(test_edges),
		cmocka_unit_test(test_pairs),	    cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_dependences), cmocka_unit_test(test_sets),
	};

	return cmocka_run_group_tests(tests, NULL, fini);
}
