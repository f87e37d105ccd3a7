/* SPDX-License-Identifier: MIT */
/* What the exact engine stores of a block, against what its instructions did: random blocks on a small machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/invariant.h"
#include "engine/translate/plan.c"

#define MEMORY 4096

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

static struct machine {
	uint64_t r[16];
	uint8_t memory[MEMORY];
} m;

static uint64_t load(uint64_t at, unsigned size)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)m.memory[(at + i) % MEMORY] << 8 * i;
	return v;
}

static void store(uint64_t at, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		m.memory[(at + i) % MEMORY] = (uint8_t)(v >> 8 * i);
}

static uint64_t address(unsigned base, unsigned index, unsigned scale, int64_t disp)
{
	return (base == NO_REG ? 0 : m.r[base]) + (index == NO_REG ? 0 : m.r[index] * scale) +
	       (uint64_t)disp;
}

/* What was observed: per instruction and operand. */
static struct seen {
	bool is;
	uint64_t v;
} seen[PLAN_INSNS][OPERAND_N];

static void see(unsigned insn, unsigned operand, uint64_t v)
{
	seen[insn][operand] = (struct seen){ true, v };
}

static uint8_t a_register(void)
{
	/* few of them, so that they meet */
	static const uint8_t some[] = { RAX, RCX, RDX, RSP, RBP, R12 };

	return some[pick(sizeof(some))];
}

static int64_t a_constant(void)
{
	static const int64_t some[] = { 0, 1, -1, 8, -8, 0x7fffffff, -0x80000000ll, 64 };

	return pick(3) ? some[pick(8)] : (int32_t)draw();
}

static void a_memory_operand(struct stream_fields *f)
{
	f->base = pick(8) ? a_register() : NO_REG;
	f->index = pick(3) ? NO_REG : a_register();
	if (f->index == RSP)
		f->index = NO_REG;
	f->scale = (uint8_t)(1u << pick(4));
	f->disp = a_constant();
	f->size = (uint8_t)(1u << pick(4));
	f->rip = f->base == NO_REG && f->index == NO_REG && pick(2);
	f->mask |= F_ADDRESS;
}

static uint64_t place(const struct stream_fields *f, uint64_t next)
{
	return address(f->base, f->index, f->scale, f->disp) + (f->rip ? next : 0);
}

static void result(struct stream_fields *f, unsigned n, unsigned reg, unsigned bits)
{
	f->result[n] = (uint8_t)reg;
	f->result_bits[n] = (uint8_t)bits;
	f->written |= (uint16_t)(1u << reg);
	if (reg != RSP)
		f->mask |= n ? F_RESULT2 : F_RESULT;
}

enum kind {
	CONSTANT,
	SUM,
	ZERO_EXTEND,
	LEA,
	LOAD,
	LOAD_SIGNED,
	UNKNOWN,
	PARTIAL,
	HIGH,
	COMPARE,
	STORE,
	STORE_CONSTANT,
	CHANGE,
	EXCHANGE_ADD,
	PUSH,
	POP,
	KINDS
};

/* An instruction: what is known of it. */
static enum kind make(struct stream_fields *f)
{
	enum kind k = (enum kind)pick(KINDS);
	unsigned bits = pick(3) ? 64 : 32;

	*f = (struct stream_fields){ .base = NO_REG,
				     .index = NO_REG,
				     .dest = NO_REG,
				     .stored = NO_REG,
				     .src_base = NO_REG,
				     .src_index = NO_REG,
				     .bits = (uint8_t)bits };
	if (k < PARTIAL) {
		f->dest = a_register();
		result(f, 0, f->dest, bits);
	}
	switch (k) {
	case CONSTANT:
		f->makes = MAKES_CONSTANT;
		f->imm = a_constant();
		break;
	case SUM:
		f->makes = MAKES_SUM;
		f->src_base = a_register();
		f->src_bits = (uint8_t)bits;
		f->imm = pick(2) ? 0 : a_constant();
		break;
	case ZERO_EXTEND:
		f->makes = MAKES_SUM;
		f->src_base = a_register();
		f->src_bits = (uint8_t)(pick(2) ? 8 : 16);
		break;
	case LEA:
		f->makes = MAKES_SUM;
		f->src_base = pick(8) ? a_register() : NO_REG;
		f->src_bits = 64;
		f->src_index = pick(3) ? NO_REG : (uint8_t)R12;
		f->src_scale = (uint8_t)(1u << pick(4));
		f->imm = a_constant();
		break;
	case LOAD:
		a_memory_operand(f);
		f->mask |= F_LOAD;
		f->makes = MAKES_LOAD;
		f->load_in_dest = true;
		if (f->size > bits / 8)
			f->size = (uint8_t)(bits / 8);
		f->src_bits = (uint8_t)(8 * f->size);
		break;
	case LOAD_SIGNED:
		a_memory_operand(f);
		f->mask |= F_LOAD;
		f->load_in_dest = true;
		f->size = (uint8_t)(1u << pick(2));
		break;
	case PARTIAL:
		result(f, 0, a_register(), pick(2) ? 8 : 16);
		break;
	case HIGH:
		result(f, 0, RAX, HIGH_BYTE);
		result(f, 1, RDX, 64);
		break;
	case COMPARE:
		a_memory_operand(f);
		f->mask |= F_LOAD;
		break;
	case STORE:
		a_memory_operand(f);
		f->mask |= F_STORE;
		f->stored = a_register();
		break;
	case STORE_CONSTANT:
		a_memory_operand(f);
		f->mask |= F_STORE;
		f->stores_imm = true;
		f->imm = a_constant();
		break;
	case CHANGE:
		a_memory_operand(f);
		f->mask |= F_LOAD | F_STORE;
		break;
	case EXCHANGE_ADD: /* its address is gone behind it */
		a_memory_operand(f);
		f->mask |= F_LOAD | F_STORE;
		result(f, 0, f->base != NO_REG ? f->base : (unsigned)RAX, 64);
		break;
	case PUSH:
		f->mask |= F_ADDRESS | F_STORE;
		f->base = RSP;
		f->disp = -8;
		f->size = 8;
		f->scale = 1;
		f->stack = -8;
		f->stored = a_register();
		break;
	case POP:
		f->mask |= F_ADDRESS | F_LOAD;
		f->base = RSP;
		f->size = 8;
		f->scale = 1;
		f->dest = pick(2) ? RAX : RBP;
		f->bits = 64;
		result(f, 0, f->dest, 64);
		f->makes = MAKES_LOAD;
		f->load_in_dest = true;
		f->src_bits = 64;
		f->stack = 8;
		break;
	default:
		break;
	}
	return k;
}

static uint64_t part(uint64_t v, unsigned bits)
{
	return bits == HIGH_BYTE ? v >> 8 & 0xff : narrow(v, bits);
}

/* Does what it says, and notes what can be observed. */
static void run(enum kind k, unsigned i, const struct stream_fields *f, uint64_t next)
{
	uint64_t at = place(f, next), v = 0, old = f->size ? load(at, f->size) : 0;

	if (f->mask & F_ADDRESS)
		see(i, OPERAND_ADDRESS, at);
	if (f->mask & F_LOAD)
		see(i, OPERAND_LOAD, old);
	switch (k) {
	case CONSTANT:
		v = (uint64_t)f->imm;
		break;
	case SUM:
	case ZERO_EXTEND:
	case LEA:
		v = (f->src_base == NO_REG ? 0 : part(m.r[f->src_base], f->src_bits)) +
		    (f->src_index == NO_REG ? 0 : m.r[f->src_index] * f->src_scale) +
		    (uint64_t)f->imm;
		break;
	case LOAD:
	case POP:
		v = old;
		break;
	case LOAD_SIGNED:
		v = f->size == 1 ? (uint64_t)(int64_t)(int8_t)old : (uint64_t)(int64_t)(int16_t)old;
		break;
	default:
		v = draw();
		break;
	}
	if (f->mask & F_STORE) {
		uint64_t w = f->stored != NO_REG ? m.r[f->stored]
			     : f->stores_imm	 ? (uint64_t)f->imm
						 : draw();

		store(at, w, f->size);
		see(i, OPERAND_STORE, load(at, f->size));
	}
	if (f->dest != NO_REG)
		m.r[f->dest] = part(v, f->bits);
	for (unsigned reg = 0; reg < 16; reg++)
		if (f->written & 1u << reg && reg != f->dest)
			m.r[reg] = draw();
	if (f->stack)
		m.r[RSP] += (uint64_t)(int64_t)f->stack;
	for (unsigned n = 0; n < 2; n++)
		if (f->mask & (n ? F_RESULT2 : F_RESULT))
			see(i, OPERAND_RESULT + n, part(m.r[f->result[n]], f->result_bits[n]));
}

static uint64_t word_value(const struct plan_word *w, const uint64_t *word)
{
	uint64_t at = address(w->base, w->index, w->scale, w->disp);

	switch (w->what) {
	case PLAN_REGISTER:
		return m.r[w->base];
	case PLAN_ADDRESS:
		return at;
	case PLAN_MEMORY:
		return load(at, w->size);
	default:
		return load(word[w->disp], w->size);
	}
}

static void test_random_blocks(void **unused)
{
	static struct stream_fields f[PLAN_INSNS];
	static enum kind kind[PLAN_INSNS];
	static struct plan p;
	static uint64_t word[EXACT_WORDS_MAX];
	unsigned long derived = 0, words = 0;

	(void)unused;
	for (int round = 0; round < 20000; round++) {
		unsigned n = 1 + pick(round % 100 ? 12 : PLAN_INSNS), at = 0;
		bool addresses = round % 4 == 0;

		memset(seen, 0, sizeof(seen));
		plan_begin(&p);
		for (unsigned i = 0; i < n; i++) {
			kind[i] = make(&f[i]);
			if (addresses)
				f[i].mask &= F_ADDRESS;
			plan_insn(&p, i, &f[i], 0x400000 + 8 * i);
		}
		assert_true(p.words <= EXACT_WORDS_MAX && p.nfield <= PLAN_FIELDS);
		for (unsigned i = 0; i < 16; i++)
			m.r[i] = pick(3) ? draw() : pick(100);
		for (unsigned i = 0; i < n; i++) {
			for (; at < p.words && p.word[at].insn == i && !p.word[at].after; at++)
				word[at] = word_value(&p.word[at], word);
			run(kind[i], i, &f[i], 0x400000 + 8 * i);
			for (; at < p.words && p.word[at].insn == i; at++)
				word[at] = word_value(&p.word[at], word);
		}
		assert_int_equal(at, p.words);
		for (unsigned i = 0; i < p.nfield; i++) {
			const struct exact_field *x = &p.field[i];
			struct seen *s = &seen[x->insn][x->operand];
			uint64_t v = (uint64_t)x->add;

			if (x->word != EXACT_CONSTANT) {
				assert_true(x->word < p.words && p.word[x->word].insn <= x->insn);
				assert_true(x->from == EXACT_HIGH || x->from <= x->to);
				v = part(part(word[x->word], x->from) + v, x->to);
			}
			assert_true(s->is);
			assert_int_equal(v, s->v);
			s->is = false; /* each once */
			derived++;
		}
		for (unsigned i = 0; i < n; i++)
			for (unsigned o = 0; o < OPERAND_N; o++)
				assert_false(seen[i][o].is);
		words += p.words;
	}
	assert_true(words < derived * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
