/* SPDX-License-Identifier: MIT */
#include "coproc/copro.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* A word in a form prepared for execution. */
struct copro_micro {
	struct word w;
	bool random, alu, x, y, cam, mem, branch;
	uint16_t to; /* target of a branch within the program */
	/* shift and width of the only field of ld and st; 64 bits: the whole word */
	uint8_t reg_shift, reg_bits;
	uint32_t base, size;
};

static uint64_t ones(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

int copro_init(struct copro *c, const struct spec *s)
{
	*c = (struct copro){ .s = *s, .lfsr = (uint16_t)s->seed };
	c->entry = calloc(s->entries, sizeof(*c->entry));
	c->data = calloc(s->data, sizeof(*c->data));
	c->valid = calloc(s->entries / 64 + 1, sizeof(*c->valid));
	c->ignore = calloc(s->ignore / 64 + 1, sizeof(*c->ignore));
	c->predicted = calloc(s->predictor + 1, 1);
	c->micro = calloc(s->words, sizeof(*c->micro));
	c->buckets = s->entries * 2;
	c->bucket = calloc(c->buckets, sizeof(*c->bucket));
	c->chain = calloc(s->entries, sizeof(*c->chain));
	if (c->entry && c->data && c->valid && c->ignore && c->predicted && c->micro && c->bucket &&
	    c->chain)
		return 0;
	copro_fini(c);
	return -1;
}

void copro_fini(struct copro *c)
{
	free(c->entry);
	free(c->data);
	free(c->valid);
	free(c->ignore);
	free(c->predicted);
	free(c->micro);
	free(c->bucket);
	free(c->chain);
	*c = (struct copro){ 0 };
}

/* The associative array. */

static uint32_t bucket_of(const struct copro *c, uint64_t v)
{
	return (uint32_t)hash_bits(v, 32) & (c->buckets - 1);
}

bool copro_is_valid(const struct copro *c, uint32_t entry)
{
	return c->valid[entry / 64] >> entry % 64 & 1;
}

static void drop(struct copro *c, uint32_t entry)
{
	uint32_t *link = &c->bucket[bucket_of(c, c->entry[entry])];

	if (!copro_is_valid(c, entry))
		return;
	while (*link != entry + 1)
		link = &c->chain[*link - 1];
	*link = c->chain[entry];
	c->valid[entry / 64] &= ~(1ull << entry % 64);
}

static void enter(struct copro *c, uint32_t entry, uint64_t v)
{
	uint32_t *link;

	drop(c, entry);
	v &= ones(c->s.entry_bits);
	link = &c->bucket[bucket_of(c, v)];
	c->entry[entry] = v;
	c->valid[entry / 64] |= 1ull << entry % 64;
	while (*link && *link < entry + 1) /* the first of equal entries stays first */
		link = &c->chain[*link - 1];
	c->chain[entry] = *link;
	*link = entry + 1;
}

/* Returns the number + 1 of the matching entry, or 0. */
static uint32_t match(const struct copro *c, uint64_t v)
{
	uint32_t at;

	v &= ones(c->s.entry_bits);
	at = c->bucket[bucket_of(c, v)];
	while (at && c->entry[at - 1] != v)
		at = c->chain[at - 1];
	return at;
}

/* Execution of words. */

static void advance_random(struct copro *c)
{
	unsigned bit = (c->lfsr ^ c->lfsr >> 2 ^ c->lfsr >> 3 ^ c->lfsr >> 5) & 1;

	c->lfsr = (uint16_t)(c->lfsr >> 1 | bit << 15);
	c->reg[WORD_RANDOM] = c->lfsr;
}

static uint64_t compute(const struct copro *c, const struct word_op *o, bool *flag)
{
	uint64_t a = c->reg[o->a], b = c->reg[o->b], r;

	switch (o->op) {
	case WORD_MOV:
		return a;
	case WORD_ADD:
	case WORD_ADDS:
		r = a + b;
		*flag = r < a;
		return o->op == WORD_ADDS && *flag ? UINT64_MAX : r;
	case WORD_SUB:
	case WORD_SUBS:
		*flag = a < b;
		return o->op == WORD_SUBS && *flag ? 0 : a - b;
	case WORD_EQ:
		*flag = a == b;
		return 0;
	case WORD_NE:
		*flag = a != b;
		return 0;
	case WORD_LT:
		*flag = a < b;
		return 0;
	case WORD_LE:
		*flag = a <= b;
		return 0;
	case WORD_TST:
		*flag = (a & b) != 0;
		return 0;
	case WORD_AND:
		r = a & b;
		break;
	case WORD_OR:
		r = a | b;
		break;
	case WORD_XOR:
		r = a ^ b;
		break;
	case WORD_SHL:
		r = a << (b & 63);
		break;
	default:
		r = a >> (b & 63);
		break;
	}
	*flag = r != 0;
	return r;
}

/* Computes an index ALU operation: results saturate or wrap at the width of the register. */
static uint64_t compute_index(const struct copro *c, const struct word_op *o, bool *flag)
{
	const struct program_index *x = &c->p->index[o->dst];
	uint64_t most = ones(x->bits), r = compute(c, o, flag);

	if (!word_alu_writes[o->op])
		return 0;
	if (o->op == WORD_ADD || o->op == WORD_SUB) {
		*flag = *flag || r > most;
		if (*flag && !x->wrap)
			return o->op == WORD_ADD ? most : 0;
	}
	return r & most;
}

static uint64_t load(const struct copro *c, const struct copro_micro *m, uint32_t at)
{
	return c->data[m->base + at] >> m->reg_shift & ones(m->reg_bits);
}

static void store(struct copro *c, const struct copro_micro *m, uint32_t at, uint64_t v)
{
	uint64_t mask = ones(m->reg_bits) << m->reg_shift, *to = &c->data[m->base + at];

	*to = ((*to & ~mask) | (v << m->reg_shift & mask)) & ones(c->s.data_bits);
}

static void bump(struct copro *c, const struct copro_micro *m, uint32_t at)
{
	const struct program_base *b = &c->p->base[m->w.mem.base];
	uint64_t *word = &c->data[m->base + at];

	c->sat = false;
	for (unsigned left = m->w.mem.mask; left; left &= left - 1) {
		const struct program_field *f = &b->field[__builtin_ctz(left)];
		uint64_t most = ones(f->bits), v = *word >> f->shift & most;

		if (v < most)
			*word += 1ull << f->shift;
		c->sat |= v + 1 >= most;
	}
}

static bool condition(const struct copro *c, unsigned cond)
{
	switch (cond) {
	case COND_NEVER:
		return false;
	case COND_ALWAYS:
		return true;
	case COND_T:
	case COND_NOT_T:
		return c->t == (cond == COND_T);
	case COND_X:
	case COND_NOT_X:
		return c->x == (cond == COND_X);
	case COND_Y:
	case COND_NOT_Y:
		return c->y == (cond == COND_Y);
	case COND_HIT:
	case COND_NOT_HIT:
		return c->hit == (cond == COND_HIT);
	default:
		return c->sat == (cond == COND_SAT);
	}
}

static bool trapped(struct copro *c, enum copro_trap trap, unsigned at, uint64_t index)
{
	c->trap = trap;
	c->trap_at = at;
	c->trap_index = index;
	return true;
}

/* Executes the associative array's operation. Returns true for a trap. */
static bool run_cam(struct copro *c, const struct copro_micro *m, unsigned at, uint32_t *found)
{
	const struct word *w = &m->w;
	uint64_t index = c->reg[WORD_INDEXES + w->cam.idx];

	if (w->cam.op == CAM_MATCH) {
		*found = match(c, c->reg[w->cam.src]);
		c->hit = *found;
		return false;
	}
	if (index >= c->s.entries)
		return trapped(c, TRAP_ENTRY, at, index);
	if (w->cam.op == CAM_ENTER)
		enter(c, (uint32_t)index, c->reg[w->cam.src]);
	else
		drop(c, (uint32_t)index);
	return false;
}

static bool run_mem(struct copro *c, const struct copro_micro *m, unsigned at, uint64_t *loaded)
{
	uint64_t index = c->reg[WORD_INDEXES + m->w.mem.idx];

	if (index >= m->size)
		return trapped(c, TRAP_ARRAY, at, index);
	if (m->w.mem.op == MEM_LOAD)
		*loaded = load(c, m, (uint32_t)index);
	else if (m->w.mem.op == MEM_STORE)
		store(c, m, (uint32_t)index, c->reg[m->w.mem.reg]);
	else
		bump(c, m, (uint32_t)index);
	return false;
}

static void write_loaded(struct copro *c, unsigned reg, uint64_t v)
{
	if (reg >= WORD_INDEXES)
		v &= ones(c->p->index[reg - WORD_INDEXES].bits);
	c->reg[reg] = v;
}

/* Executes one word: all its operations read before any of them writes. Returns true for a trap. */
static bool run_word(struct copro *c, const struct copro_micro *m, unsigned at)
{
	const struct word *w = &m->w;
	uint64_t alu = 0, x = 0, y = 0, loaded = 0;
	uint32_t found = 0;

	if (m->random)
		advance_random(c);
	if (m->alu)
		alu = compute(c, &w->alu, &c->t);
	if (m->x)
		x = compute_index(c, &w->x, &c->x);
	if (m->y)
		y = compute_index(c, &w->y, &c->y);
	if (m->mem && run_mem(c, m, at, &loaded))
		return true;
	if (m->cam && run_cam(c, m, at, &found))
		return true;
	if (found)
		write_loaded(c, WORD_INDEXES + w->cam.idx, found - 1);
	if (m->mem && w->mem.op == MEM_LOAD)
		write_loaded(c, w->mem.reg, loaded);
	if (m->alu && word_alu_writes[w->alu.op])
		c->reg[w->alu.dst] = alu;
	if (m->x && word_alu_writes[w->x.op])
		c->reg[WORD_INDEXES + w->x.dst] = x;
	if (m->y && word_alu_writes[w->y.op])
		c->reg[WORD_INDEXES + w->y.dst] = y;
	return false;
}

/* Returns the branch's additional cycles, and trains the predictor. */
static uint32_t predict(struct copro *c, unsigned at, bool taken)
{
	uint8_t *last;
	bool wrong;

	c->branches++;
	if (!c->s.predictor) {
		wrong = taken;
	} else {
		last = &c->predicted[at & (c->s.predictor - 1)];
		wrong = *last != taken;
		*last = taken;
	}
	c->mispredicted += wrong;
	return wrong ? c->s.stages - 1 : 0;
}

/* Extracts the fields that the program chose. */
static void extract(struct copro *c, const struct sample *sample)
{
	for (unsigned i = 0; i < c->p->nsample; i++) {
		const struct program_field *f = &c->p->sample[i];

		c->reg[WORD_FIELDS + i] = sample->source[f->source] >> f->shift & ones(f->bits);
	}
}

enum copro_outcome copro_run(struct copro *c, const struct sample *sample, uint32_t *cycles)
{
	unsigned at = (unsigned)c->p->start[sample->cls];
	struct copro_step step = { 0 };
	uint32_t spent = 0;

	c->samples++;
	extract(c, sample);
	for (uint32_t n = 0; n < c->s.limit; n++) {
		const struct copro_micro *m = &c->micro[at];
		bool taken, trap = run_word(c, m, at);
		uint32_t stall = 0;

		c->words++;
		*cycles = ++spent;
		if (trap)
			return COPRO_TRAP;
		taken = m->branch && condition(c, m->w.br.cond);
		if (m->branch && m->w.br.cond != COND_ALWAYS)
			stall = predict(c, at, taken);
		if (c->watch) {
			step = (struct copro_step){ spent, stall, (uint16_t)at, taken };
			c->watch(c->watch_arg, c, &step);
		}
		*cycles = spent += stall;
		if (!taken)
			at++;
		else if (m->w.br.kind >= BR_DONE)
			return m->w.br.kind == BR_DONE ? COPRO_DONE : COPRO_INTERRUPT;
		else
			at = m->to;
	}
	trapped(c, TRAP_ENDLESS, at, 0);
	return COPRO_TRAP;
}

int copro_trap(const struct copro *c, struct err *err)
{
	const struct program *p = c->p;
	const struct program_base *b = &p->base[p->word[c->trap_at].mem.base];
	char word[256];
	int n = snprintf(word, sizeof(word), "program %s, word %u (source line %u)", p->name,
			 c->trap_at, p->line[c->trap_at]);

	(void)n;
	if (c->trap == TRAP_ARRAY)
		return err_set(err, ERR_FAILED, "%s: index %llu is beyond array %s of %u", word,
			       (unsigned long long)c->trap_index, b->name, b->size);
	if (c->trap == TRAP_ENTRY)
		return err_set(err, ERR_FAILED,
			       "%s: index %llu is beyond the associative array of %u", word,
			       (unsigned long long)c->trap_index, c->s.entries);
	return err_set(err, ERR_FAILED,
		       "%s: a sample took %u words without reaching done or interrupt", word,
		       c->s.limit);
}

/* Access by the host. */

static uint64_t operations(const struct copro *c, uint64_t bytes)
{
	return (bytes + c->s.host_bus - 1) / c->s.host_bus;
}

static bool reads(const struct word_op *o, unsigned operand)
{
	return o->op != WORD_NOP && (o->a == operand || (o->op != WORD_MOV && o->b == operand));
}

static struct copro_micro prepare(const struct program *p, unsigned at)
{
	const struct word *w = &p->word[at];
	const struct program_base *b = &p->base[w->mem.base];
	struct copro_micro m = {
		.w = *w,
		.random = reads(&w->alu, WORD_RANDOM) || reads(&w->x, WORD_RANDOM) ||
			  reads(&w->y, WORD_RANDOM) ||
			  (w->cam.op != CAM_NOP && w->cam.src == WORD_RANDOM) ||
			  (w->mem.op == MEM_STORE && w->mem.reg == WORD_RANDOM),
		.alu = w->alu.op != WORD_NOP,
		.x = w->x.op != WORD_NOP,
		.y = w->y.op != WORD_NOP,
		.cam = w->cam.op != CAM_NOP,
		.mem = w->mem.op != MEM_NOP,
		.branch = w->br.cond != COND_NEVER,
		.reg_bits = 64,
		.base = b->at,
		.size = b->size,
	};

	if (m.mem && w->mem.op != MEM_BUMP && w->mem.mask) {
		const struct program_field *f = &b->field[__builtin_ctz(w->mem.mask)];

		m.reg_shift = f->shift;
		m.reg_bits = f->bits;
	}
	if (m.branch && w->br.kind == BR_RELATIVE)
		m.to = (uint16_t)((int)at + w->br.to);
	else if (m.branch && w->br.kind == BR_TARGET)
		m.to = p->target[w->br.to];
	return m;
}

void copro_load(struct copro *c, const struct program *p)
{
	c->p = p;
	memset(c->reg, 0, sizeof(c->reg));
	for (unsigned i = 0; i < p->n; i++)
		c->micro[i] = prepare(p, i);
	for (unsigned i = 0; i < p->nconstant; i++)
		c->reg[WORD_CONSTANTS + i] = p->constant[i];
	c->classes = 0;
	for (unsigned i = 0; i < CLASS_N; i++)
		c->classes |= (unsigned)(p->start[i] >= 0) << i;
	memset(c->predicted, 0, c->s.predictor + 1);
	c->t = c->x = c->y = c->hit = c->sat = false;
	c->bus += operations(c, 16ull * p->n) + operations(c, 8ull * p->nconstant) + p->nbase +
		  p->ntarget + p->nsample + CLASS_N;
	copro_reset_indexes(c);
	copro_invalidate(c);
	copro_clear(c);
	copro_write_filter(c, 0, 0);
	memset(c->ignore, 0, (c->s.ignore / 64 + 1) * sizeof(*c->ignore));
	c->bus++;
}

void copro_reset_indexes(struct copro *c)
{
	for (unsigned i = 0; i < c->p->nindex; i++)
		c->reg[WORD_INDEXES + i] = c->p->index[i].start;
	c->bus += operations(c, 2ull * c->p->nindex);
}

void copro_invalidate(struct copro *c)
{
	memset(c->valid, 0, (c->s.entries / 64 + 1) * sizeof(*c->valid));
	memset(c->bucket, 0, c->buckets * sizeof(*c->bucket));
	c->bus++;
}

void copro_clear(struct copro *c)
{
	memset(c->data, 0, c->s.data * sizeof(*c->data));
	c->bus++;
}

void copro_read_data(struct copro *c, uint32_t at, uint32_t n, uint64_t *to)
{
	memcpy(to, c->data + at, n * sizeof(*to));
	c->bus += operations(c, (uint64_t)n * c->s.data_bits / 8);
}

void copro_read_entries(struct copro *c, uint32_t at, uint32_t n, uint64_t *to)
{
	memcpy(to, c->entry + at, n * sizeof(*to));
	c->bus += operations(c, (uint64_t)n * c->s.entry_bits / 8);
}

uint16_t copro_read_index(struct copro *c, int index)
{
	c->bus++;
	return (uint16_t)c->reg[WORD_INDEXES + index];
}

void copro_write_index(struct copro *c, int index, uint16_t v)
{
	c->bus++;
	c->reg[WORD_INDEXES + index] = v & ones(c->p->index[index].bits);
}

void copro_write_filter(struct copro *c, uint64_t mask, uint64_t match_value)
{
	c->bus++;
	c->mask = mask;
	c->match = match_value;
}

void copro_ignore(struct copro *c, uint32_t hash, bool on)
{
	uint32_t bit = hash & (c->s.ignore - 1);

	c->bus++;
	if (on)
		c->ignore[bit / 64] |= 1ull << bit % 64;
	else
		c->ignore[bit / 64] &= ~(1ull << bit % 64);
}
